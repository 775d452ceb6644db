//! Any operations on a manager, made of any bytes, by a host that keeps no order: it polls when it likes, reports what it
//! likes, changes groups without asking, and lets states enter that it made up. What a manager promises such a host is
//! that nothing panics, that no deadline stays behind, that no call is awaited which nobody makes, and that each operation
//! is answered once.

use kafka_coordination::topology::{
    Belief, ClassicJoin, Cleanup, DeleteCall, Description, Effect, Ending, Fencing, GetEnding,
    Groups, Heartbeat, Life, OperationId, Plugin, PushRequest, SetCall, StreamsGroup, Token,
    TopologyConfig, TopologyEpoch, TopologyManager, TopologyState,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

const IDS: [&str; 3] = ["a", "b", "c"];
const END: Monotonic = Monotonic::from_millis(i64::MAX);

/// Numbers from the input; 0 when it is used up.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        byte
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Below `bound`, which is small; 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// Mostly small, sometimes any.
    fn number(&mut self) -> i64 {
        match self.byte() {
            255 => i64::from_be_bytes(std::array::from_fn(|_| self.byte())),
            254 => i64::MAX - i64::from(self.byte()),
            253 => i64::from(i32::MAX) - i64::from(self.byte()),
            small => i64::from(small) - 2,
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "any number will do")]
    fn short(&mut self) -> i32 {
        self.number() as i32
    }

    fn id(&mut self) -> &'static str {
        IDS[self.below(IDS.len())]
    }

    fn time(&mut self) -> Monotonic {
        Monotonic::from_millis(self.number())
    }
}

impl Random for Input<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        u32::from(self.byte()) % bound
    }
}

/// The groups, by the latest and by the committed state.
#[derive(Clone, Default)]
struct Both([BTreeMap<&'static str, StreamsGroup>; 2]);

impl Groups for Both {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        self.0[0].get(group_id).copied()
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        self.0[1].get(group_id).copied()
    }

    fn has_member(&self, _: &str, member_id: &str) -> bool {
        member_id == "m"
    }

    fn has_offsets(&self, group_id: &str) -> bool {
        group_id == "c"
    }
}

enum Call {
    Set(SetCall),
    Delete(DeleteCall),
}

struct Host<'a> {
    input: Input<'a>,
    manager: TopologyManager,
    groups: Both,
    now: Monotonic,
    writes: Vec<OperationId>,
    calls: Vec<Call>,
    /// The tokens of all calls that there were.
    given: BTreeSet<Token>,
    /// Requests that wait for their answer.
    waiting: BTreeSet<OperationId>,
}

/// Lets a host do what the bytes say, and then lets all come to its end.
pub(crate) fn follow(bytes: &[u8]) {
    let mut input = Input(bytes);
    let plugin = match input.below(8) {
        0 => Plugin::Absent,
        1 | 2 => Plugin::Present(Fencing::Lifetime { lifetime_ms: input.byte().into() }),
        _ => Plugin::Present(Fencing::Tokens),
    };
    let mut config = TopologyConfig::default().with_plugin(plugin);
    if input.flag() {
        config = config.with_call_timeout_ms(u32::from(input.byte()));
    }
    let mut host = Host {
        input,
        manager: TopologyManager::new(config),
        groups: Both::default(),
        now: Monotonic::from_millis(0),
        writes: Vec::new(),
        calls: Vec::new(),
        given: BTreeSet::new(),
        waiting: BTreeSet::new(),
    };
    while !host.input.0.is_empty() {
        host.step();
        host.check();
    }
    host.settle();
}

impl Host<'_> {
    fn step(&mut self) {
        match self.input.below(20) {
            0 | 1 => self.push(),
            2 => self.delete_groups(),
            3 => {
                let join = self.manager.classic_join(self.input.id(), &self.groups, self.now);
                if let ClassicJoin::Pending(operation) = join {
                    self.begin(operation);
                }
            }
            4 => {
                let cleanup = self.manager.start_cleanup(&self.groups, self.now);
                if let Cleanup::Started(operation) = cleanup {
                    self.begin(operation);
                }
            }
            5 => self.heartbeat(),
            6 => self.describe(),
            7 | 8 => self.change_group(),
            9 | 10 => {
                for _ in 0..=self.input.below(4) {
                    self.poll();
                }
            }
            11 | 12 => self.report_write(),
            13 | 14 => self.report_call(),
            15 => {
                self.now = self.now.saturating_add(self.input.number());
                self.tick();
            }
            16 => {
                let now = self.input.time();
                self.manager.handle_timeout(&self.groups, &mut self.input, now);
            }
            17 => self.manager.unloaded(),
            18 => drop(self.manager.loaded(self.input.short(), self.now)),
            _ => self.move_on(),
        }
    }

    fn begin(&mut self, operation: OperationId) {
        assert!(self.waiting.insert(operation), "{operation:?} is under way");
    }

    fn push(&mut self) {
        let group_id = self.input.id();
        let current = self.groups.latest(group_id).and_then(|group| group.current);
        let request = PushRequest {
            group_id,
            member_id: if self.input.byte() == 0 { "" } else { "m" },
            topology_epoch: match current {
                Some(epoch) if self.input.byte() != 0 => epoch.get(),
                _ => self.input.short(),
            },
            description: Description::WellFormed,
        };
        let operation = self.manager.push(&request, &self.groups, &mut self.input, self.now);
        self.begin(operation);
    }

    fn delete_groups(&mut self) {
        let ids: Vec<_> = (0..self.input.below(4)).map(|_| self.input.id()).collect();
        let operation = self.manager.delete_groups(ids, &self.groups, self.now);
        self.begin(operation);
    }

    fn heartbeat(&mut self) {
        let group_id = self.input.id();
        let known = self.groups.latest(group_id);
        let heartbeat = Heartbeat {
            group_id,
            version: 1,
            member_epoch: 1,
            error: ErrorCode::None,
            statuses: &[],
            current: known.and_then(|group| group.current),
            belief: known.map(|group| group.belief).unwrap_or_default(),
        };
        self.manager.heartbeat(&heartbeat, &self.groups, &mut self.input, self.now);
    }

    fn describe(&mut self) {
        let endings =
            [GetEnding::Found, GetEnding::Missing, GetEnding::Failed, GetEnding::Unreadable];
        let (group_id, ending) = (self.input.id(), endings[self.input.below(4)]);
        if let Some(epoch) = TopologyEpoch::new(self.input.short()) {
            self.manager.described(group_id, epoch, ending, &self.groups);
        }
    }

    /// Whether the manager would let it or not.
    fn change_group(&mut self) {
        let group_id = self.input.id();
        if self.input.byte() < 32 {
            self.groups.0[0].remove(group_id);
        } else if let Ok(belief) = Belief::from_record(self.input.short(), self.input.short()) {
            let life = if self.input.flag() { Life::Live } else { Life::Empty };
            let current = TopologyEpoch::new(self.input.short());
            self.groups.0[0].insert(group_id, StreamsGroup { current, belief, life });
        }
        if self.input.flag() {
            self.groups.0[1] = self.groups.0[0].clone();
        }
        if self.input.byte() != 0 {
            self.manager.observe(group_id, self.groups.latest(group_id).as_ref());
        }
    }

    fn poll(&mut self) {
        let answered = match self.manager.poll_effect() {
            None => return,
            Some(Effect::Write { operation, beliefs, .. }) => {
                for write in beliefs {
                    let known = IDS.iter().find(|id| ***id == *write.group_id).expect("an id");
                    if let Some(group) = self.groups.0[0].get_mut(known) {
                        group.belief = write.belief;
                    }
                    let latest = self.groups.latest(known);
                    self.manager.observe(known, latest.as_ref());
                }
                return self.writes.push(operation);
            }
            Some(Effect::AwaitCommit { operation }) => return self.writes.push(operation),
            Some(Effect::Set { call, .. }) => {
                self.given.insert(call.token());
                return self.calls.push(Call::Set(call));
            }
            Some(Effect::Delete(call)) => {
                self.given.insert(call.token());
                return self.calls.push(Call::Delete(call));
            }
            // Cycles may have begun by a timer.
            Some(Effect::CleanupEnded { operation }) => {
                self.waiting.remove(&operation);
                return;
            }
            Some(
                Effect::AnswerPush { operation, .. }
                | Effect::DeleteGroups { operation, .. }
                | Effect::RefuseDeleteGroups { operation, .. }
                | Effect::Join { operation, .. }
                | Effect::RefuseJoin { operation, .. },
            ) => operation,
            Some(other) => panic!("an effect that this host does not know: {other:?}"),
        };
        assert!(self.waiting.remove(&answered), "{answered:?} is answered twice");
    }

    fn report_write(&mut self) {
        if self.writes.is_empty() {
            return;
        }
        let at = self.input.below(self.writes.len());
        // Some are reported twice.
        let operation =
            if self.input.byte() == 0 { self.writes[at] } else { self.writes.remove(at) };
        let result = match self.input.below(4) {
            0 => Err(ErrorCode::NotEnoughReplicas),
            1 => Err(ErrorCode::GroupIdNotFound),
            _ => Ok(()),
        };
        if result.is_ok() {
            self.groups.0[1] = self.groups.0[0].clone();
        }
        self.manager.written(operation, result, &self.groups, &mut self.input, self.now);
    }

    fn report_call(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let at = self.input.below(self.calls.len());
        let ending = match self.input.below(8) {
            0 => Ending::Refused(None),
            1 => Ending::Failed(Some("no".into())),
            2 => Ending::FailedWithoutCause,
            3 => Ending::NotCalled,
            _ => Ending::Done,
        };
        let is_reported_twice = self.input.byte() == 0;
        self.end(at, ending);
        if !is_reported_twice {
            self.calls.remove(at);
        }
    }

    fn end(&mut self, at: usize, ending: Ending) {
        let (groups, random, now) = (&self.groups, &mut self.input, self.now);
        match &self.calls[at] {
            Call::Set(call) => self.manager.set_ended(call, ending, groups, random, now),
            Call::Delete(call) => self.manager.delete_ended(call, ending, groups, random, now),
        }
    }

    fn tick(&mut self) {
        self.manager.handle_timeout(&self.groups, &mut self.input, self.now);
        let next = self.manager.next_deadline();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} at {:?}", self.now);
    }

    /// The manager leaves and enters, perhaps not as it was.
    fn move_on(&mut self) {
        let Some(mut state) = self.manager.export() else { return };
        change(&mut state, &mut self.input);
        let config = self.manager.config().clone();
        if let Ok(manager) = TopologyManager::import(config, &state) {
            self.manager = manager;
            // Nobody waits for what was left out.
            let is_there = |id: &OperationId| state.operations.iter().any(|it| it.0 == *id);
            self.waiting.retain(is_there);
            self.given.extend(state.calls.iter().map(|call| call.token));
        }
    }

    fn check(&self) {
        if let Some(state) = self.manager.export() {
            let is_there = |id: &OperationId| state.operations.iter().any(|it| it.0 == *id);
            assert!(self.waiting.iter().all(is_there), "{:?} is forgotten", self.waiting);
            let is_given = state.calls.iter().all(|call| self.given.contains(&call.token));
            assert!(is_given, "a call is awaited that nobody makes: {:?}", state.calls);
            let config = self.manager.config().clone();
            let entered = TopologyManager::import(config, &state).expect("it is its own");
            assert_eq!(entered.export(), Some(state));
        }
    }

    /// Everything that was begun comes to its end.
    fn settle(&mut self) {
        self.now = END;
        for _ in 0..100 {
            while self.manager.has_effects() {
                self.poll();
            }
            for operation in std::mem::take(&mut self.writes) {
                self.manager.written(operation, Ok(()), &self.groups, &mut self.input, self.now);
            }
            while !self.calls.is_empty() {
                self.end(0, Ending::Done);
                self.calls.remove(0);
            }
            self.tick();
            if !self.manager.has_effects() && self.manager.operation_count() == 0 {
                assert!(self.waiting.is_empty(), "never answered: {:?}", self.waiting);
                assert!(IDS.iter().all(|id| !self.manager.is_busy(id)));
                return;
            }
        }
        panic!("it goes on for ever");
    }
}

/// Changes a number of a state, if any.
fn change(state: &mut TopologyState, input: &mut Input<'_>) {
    let kind = input.below(16);
    let at = input.below(4);
    match kind {
        0 => state.next_operation = count(input),
        1 => state.next_token = Token::new(input.short(), count(input)),
        2 => state.counters.sets = u64::MAX - u64::from(input.byte()),
        3 => state.counters.cleanup_eligible = u64::MAX,
        4 => state.cycle = None,
        5 => {
            if let Some(shard) = &mut state.shard {
                shard.cleanup_due = input.time();
                shard.calls_from = input.time();
            }
        }
        6 => {
            if let Some(call) = state.calls.get_mut(at) {
                call.ends = input.time();
            }
        }
        7 => {
            if let Some(call) = state.calls.get_mut(at) {
                call.token = Token::new(input.short(), count(input));
            }
        }
        8 => {
            if let Some(call) = state.calls.get_mut(at) {
                call.index = input.below(8);
            }
        }
        9 => {
            if let Some((_, window)) = state.push_windows.get_mut(at) {
                (window.attempts, window.epoch, window.ends) =
                    (input.short(), input.short(), input.time());
            }
        }
        10 if at < state.operations.len() => drop(state.operations.swap_remove(at)),
        11 if at < state.calls.len() => drop(state.calls.drain(at..=at)),
        12 => state.shard = None,
        _ => {}
    }
}

/// A number that is refused, or is so far from the highest one that is not that none of these hosts counts up to it.
#[allow(clippy::cast_sign_loss, reason = "negative numbers become high ones")]
fn count(input: &mut Input<'_>) -> u64 {
    let number = input.number();
    if number < 0 { number as u64 } else { number.min(1 << 62) as u64 }
}
