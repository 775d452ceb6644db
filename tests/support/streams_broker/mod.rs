//! A broker that coordinates one shard of streams groups: a log that commits when told, a plugin that answers when told,
//! and no more of a group coordinator than the stored topology epoch needs.

mod group;
mod log;
mod plugin;
mod requests;

pub(crate) use group::Group;
pub(crate) use plugin::{Behaviour, CallNumber};

use group::Shard;
use kafka_coordination::topology::{
    Atomicity, Belief, BeliefWrite, Effect, GetEnding, Heartbeat, OperationId, StoredEpoch,
    TopologyConfig, TopologyEpoch, TopologyManager, answered,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use log::Log;
use plugin::ScriptedPlugin;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

/// The number of a request, given by whoever sends it.
pub(crate) type RequestNumber = u32;

/// What a request is answered, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// With the message of a plugin that did not take it.
    Push {
        error: ErrorCode,
        message: Option<String>,
    },
    Heartbeat {
        error: ErrorCode,
        gate: Option<Gate>,
        is_asked: bool,
    },
    DeleteGroups {
        results: BTreeMap<String, ErrorCode>,
    },
    /// Of all others, the error is the answer.
    Other {
        error: ErrorCode,
    },
    CleanupSkipped,
}

/// Epoch, stored and failed epoch of a written record; `None` for a tombstone.
pub(crate) type Written = Option<(i32, i32, i32)>;

/// What happens to log and plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A batch was handed to the log, with these records of streams groups.
    Append {
        error: ErrorCode,
        records: BTreeMap<String, Written>,
    },
    Set {
        call: CallNumber,
        group_id: String,
        epoch: i32,
        behaviour: Behaviour,
    },
    Delete {
        call: CallNumber,
        group_id: String,
        behaviour: Behaviour,
    },
}

/// What goes on when a write is committed, or failed.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    Operation(OperationId),
    Heartbeat {
        request: RequestNumber,
        group_id: String,
        beat: Beat,
    },
    /// Other parts of the coordinator delete their groups first.
    DeleteGroups {
        request: RequestNumber,
        group_ids: Vec<String>,
    },
    Tombstones {
        request: RequestNumber,
        results: BTreeMap<String, ErrorCode>,
    },
    Sweep {
        request: RequestNumber,
    },
    Join,
}

/// The group's topology after a heartbeat, and what was believed before it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) current: Option<TopologyEpoch>,
    pub(crate) belief: Belief,
}

/// What the gate wants to know of a heartbeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    pub(crate) version: i16,
    pub(crate) member_epoch: i32,
    pub(crate) error: ErrorCode,
    pub(crate) gate: Option<Gate>,
}

/// No jitter is drawn in these tests; whatever is asked gets the least.
#[derive(Clone, Debug)]
pub(crate) struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Broker {
    config: TopologyConfig,
    pub(crate) manager: TopologyManager,
    leader_epoch: i32,
    is_loaded: bool,
    /// Why nothing can be read or written while the shard is not loaded.
    pub(crate) unloaded_error: ErrorCode,
    pub(crate) log: Log,
    pub(crate) plugin: ScriptedPlugin,
    pub(crate) now: Monotonic,
    /// Which request an operation answers.
    requests: BTreeMap<OperationId, RequestNumber>,
    ready: VecDeque<(Then, Result<(), ErrorCode>)>,
    pub(crate) events: Vec<Event>,
    pub(crate) responses: BTreeMap<RequestNumber, Response>,
}

impl Broker {
    /// A broker that has loaded these groups, all of them committed.
    pub(crate) fn new(config: TopologyConfig, groups: BTreeMap<String, Group>) -> Self {
        let mut broker = Self {
            manager: TopologyManager::new(config.clone()),
            config,
            leader_epoch: 0,
            is_loaded: false,
            unloaded_error: ErrorCode::NotCoordinator,
            plugin: ScriptedPlugin::holding(&groups),
            log: Log::new(Shard(groups)),
            now: Monotonic::from_millis(0),
            requests: BTreeMap::new(),
            ready: VecDeque::new(),
            events: Vec::new(),
            responses: BTreeMap::new(),
        };
        broker.load();
        broker
    }

    pub(crate) const fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// The shard comes, with all that is in the log.
    pub(crate) fn load(&mut self) {
        self.log.reload();
        self.manager.loaded(self.leader_epoch, self.now).expect("it was away");
        self.leader_epoch += 1;
        self.is_loaded = true;
        for (group_id, group) in &self.log.latest.0 {
            self.manager.observe(group_id, group.streams().as_ref());
        }
    }

    /// The shard goes; whoever waits for the log is told.
    pub(crate) fn unload(&mut self) {
        self.is_loaded = false;
        self.manager.unloaded();
        for then in self.log.take_waiting() {
            self.ready.push_back((then, Err(ErrorCode::NotCoordinator)));
        }
        self.run();
    }

    /// The process dies, and another one loads what the log kept.
    pub(crate) fn restart(&mut self, keeps_uncommitted: bool) {
        self.log.take_waiting();
        if !keeps_uncommitted {
            self.log.cut();
        }
        self.manager = TopologyManager::new(self.config.clone());
        self.plugin.lose_calls();
        self.requests.clear();
        self.ready.clear();
        self.load();
    }

    /// Everything that was appended is committed now.
    pub(crate) fn commit(&mut self) {
        self.ready.extend(self.log.commit().into_iter().map(|then| (then, Ok(()))));
        self.run();
    }

    /// Time goes by; writes that wait for longer than that fail, but stay in the log.
    pub(crate) fn advance(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
        for then in self.log.overdue(self.now) {
            self.ready.push_back((then, Err(ErrorCode::RequestTimedOut)));
        }
        self.run();
    }

    /// The manager's deadlines are looked at.
    pub(crate) fn tick(&mut self) {
        self.manager.handle_timeout(&self.log.groups(), &mut Least, self.now);
        self.run();
    }

    /// The plugin says that it holds nothing of this epoch, be that true or not.
    pub(crate) fn miss(&mut self, group_id: &str, epoch: TopologyEpoch) {
        self.manager.described(group_id, epoch, GetEnding::Missing, &self.log.groups());
        self.run();
    }

    /// A pending call of the plugin ends; without a call of that number nothing does.
    pub(crate) fn end_call(&mut self, call: CallNumber, behaviour: Behaviour) {
        if let Some(call) = self.plugin.end(call, behaviour) {
            self.report(call, behaviour);
        }
        self.run();
    }

    /// Appends these states of groups, or waits for what was appended before.
    fn write(&mut self, changes: Vec<(String, Option<Group>)>, then: Then) {
        if !self.is_loaded {
            return self.ready.push_back((then, Err(self.unloaded_error)));
        }
        if changes.is_empty() {
            return self.ready.extend(self.log.await_commit(then, self.now).map(|it| (it, Ok(()))));
        }
        let error = self.log.next_error();
        let records = self.log.records(&changes);
        if !records.is_empty() {
            self.events.push(Event::Append { error, records });
        }
        if !error.is_none() {
            return self.ready.push_back((then, Err(error)));
        }
        let streams = |group: &Option<Group>| group.as_ref().and_then(Group::streams);
        let observed: Vec<_> = changes.iter().map(|(id, it)| (id.clone(), streams(it))).collect();
        let done = self.log.append(changes, then, self.now);
        for (group_id, streams) in &observed {
            self.manager.observe(group_id, streams.as_ref());
        }
        self.ready.extend(done.into_iter().map(|then| (then, Ok(()))));
    }

    /// Writes the first record of several in a batch of its own.
    fn write_part(&mut self, write: &BeliefWrite) {
        let group = self.log.latest.0.get(&*write.group_id);
        let mut group = group.cloned().expect("beliefs are written of groups");
        group.belief = write.belief;
        self.manager.observe(&write.group_id, group.streams().as_ref());
        self.log.append_part(vec![(write.group_id.to_string(), Some(group))]);
    }

    /// Goes on until nothing can go on.
    fn run(&mut self) {
        loop {
            while let Some(effect) = self.manager.poll_effect() {
                self.carry_out(effect);
            }
            let Some((then, result)) = self.ready.pop_front() else { return };
            self.go_on(then, result);
        }
    }

    fn go_on(&mut self, then: Then, result: Result<(), ErrorCode>) {
        match (then, result) {
            (Then::Operation(operation), result) => {
                let groups = self.log.groups();
                self.manager.written(operation, result, &groups, &mut Least, self.now);
            }
            (Then::Heartbeat { request, group_id, beat }, Ok(())) => {
                let is_asked = self.ask(&group_id, beat);
                let Beat { error, gate, .. } = beat;
                self.respond(request, Response::Heartbeat { error, gate, is_asked });
            }
            (Then::Heartbeat { request, .. }, Err(error)) => {
                let error = answered(error);
                self.respond(request, Response::Heartbeat { error, gate: None, is_asked: false });
            }
            (Then::DeleteGroups { request, group_ids }, Ok(())) => {
                let groups = self.log.groups();
                let ids = group_ids.iter().map(String::as_str);
                let operation = self.manager.delete_groups(ids, &groups, self.now);
                self.requests.insert(operation, request);
            }
            (Then::DeleteGroups { request, group_ids }, Err(error)) => {
                let results = group_ids.into_iter().map(|id| (id, answered(error))).collect();
                self.respond(request, Response::DeleteGroups { results });
            }
            (Then::Tombstones { request, results }, Ok(())) => {
                self.respond(request, Response::DeleteGroups { results });
            }
            (Then::Tombstones { request, mut results }, Err(error)) => {
                // Groups that were refused before the write keep their own answer.
                let kept = ErrorCode::GroupDeletionFailed;
                let failed = results.values_mut().filter(|it| **it != kept);
                failed.for_each(|it| *it = answered(error));
                self.respond(request, Response::DeleteGroups { results });
            }
            (Then::Sweep { request }, result) => {
                let error = result.map_or_else(answered, |()| ErrorCode::None);
                self.respond(request, Response::Other { error });
            }
            (Then::Join, _) => {}
        }
    }

    fn ask(&mut self, group_id: &str, beat: Beat) -> bool {
        let heartbeat = Heartbeat {
            group_id,
            version: beat.version,
            member_epoch: beat.member_epoch,
            error: beat.error,
            statuses: &[],
            current: beat.gate.and_then(|it| it.current),
            belief: beat.gate.map(|it| it.belief).unwrap_or_default(),
        };
        self.manager.heartbeat(&heartbeat, &self.log.groups(), &mut Least, self.now)
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Write { operation, mut beliefs, atomicity } => {
                if self.log.splits && atomicity == Atomicity::Split && beliefs.len() > 1 {
                    self.write_part(&beliefs.remove(0));
                }
                let changes = beliefs.into_iter().map(|it| {
                    let group = self.log.latest.0.get(&*it.group_id);
                    let mut group = group.cloned().expect("beliefs are written of groups");
                    group.belief = it.belief;
                    (it.group_id.to_string(), Some(group))
                });
                let changes = changes.collect();
                self.write(changes, Then::Operation(operation));
            }
            Effect::AwaitCommit { operation } => self.write(Vec::new(), Then::Operation(operation)),
            Effect::Set { call, .. } => {
                let (group_id, epoch) = (call.group_id().to_string(), call.epoch().get());
                self.check_barrier(&group_id);
                let (call, behaviour, ended) = self.plugin.set(call);
                self.events.push(Event::Set { call, group_id, epoch, behaviour });
                if let Some(call) = ended {
                    self.report(call, behaviour);
                }
            }
            Effect::Delete(call) => {
                let group_id = call.group_id().to_string();
                self.check_barrier(&group_id);
                let (call, behaviour, ended) = self.plugin.delete(call);
                self.events.push(Event::Delete { call, group_id, behaviour });
                if let Some(call) = ended {
                    self.report(call, behaviour);
                }
            }
            Effect::AnswerPush { operation, result } => {
                let (error, message) = match result {
                    Ok(()) => (ErrorCode::None, None),
                    Err(error) => (error.code(), error.message()),
                };
                let message =
                    message.filter(|_| error == ErrorCode::StreamsTopologyDescriptionUpdateFailed);
                self.answer(operation, Response::Push { error, message });
            }
            Effect::DeleteGroups { operation, failed, remaining } => {
                let request = self.requests.remove(&operation).unwrap_or_default();
                self.tombstone(request, &failed, &remaining);
            }
            Effect::RefuseDeleteGroups { operation, code } => {
                let request = self.requests.get(&operation).copied().unwrap_or_default();
                let requested = self.log.requested.remove(&request).unwrap_or_default();
                let results = requested.into_iter().map(|id| (id, code)).collect();
                self.answer(operation, Response::DeleteGroups { results });
            }
            Effect::Join { operation, group_id } => {
                let request = self.requests.remove(&operation).unwrap_or_default();
                self.join(request, &group_id);
            }
            Effect::RefuseJoin { operation, code } => {
                self.answer(operation, Response::Other { error: code });
            }
            Effect::CleanupEnded { operation } => {
                self.answer(operation, Response::Other { error: ErrorCode::None });
            }
            other => panic!("an effect that this broker does not know: {other:?}"),
        }
    }

    /// TB-5: when the plugin is called, uncertainty is committed, and nothing else was written since.
    fn check_barrier(&self, group_id: &str) {
        for shard in [&self.log.latest, &self.log.committed] {
            let stored = shard.streams(group_id).map(|group| group.belief.stored);
            assert_eq!(stored, Some(StoredEpoch::Uncertain), "TB-5: a call about {group_id}");
        }
    }

    fn report(&mut self, call: plugin::Call, behaviour: Behaviour) {
        let groups = self.log.groups();
        let ending = behaviour.ending();
        match call {
            plugin::Call::Set(call) => {
                self.manager.set_ended(&call, ending, &groups, &mut Least, self.now);
            }
            plugin::Call::Delete(call) => {
                self.manager.delete_ended(&call, ending, &groups, &mut Least, self.now);
            }
        }
    }

    fn answer(&mut self, operation: OperationId, response: Response) {
        if let Some(request) = self.requests.remove(&operation) {
            self.respond(request, response);
        }
    }

    fn respond(&mut self, request: RequestNumber, response: Response) {
        self.responses.insert(request, response);
    }
}
