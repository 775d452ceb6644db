//! A push, a crash, a heal and a delete, step by step: what the broker believes, what the plugin holds, and what the
//! broker does next.
//!
//! `cargo run --example topology`

#![allow(clippy::panic, reason = "a program that shows one way through, and no other")]

use core::num::NonZeroU32;
use kafka_coordination::topology::{
    Belief, Describe, Described, Description, Effect, Ending, Fencing, Groups, Heartbeat,
    InMemoryPlugin, Life, Plugin, PushRequest, SetCall, StoredEpoch, StreamsGroup, TopologyConfig,
    TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};

const GROUP: &str = "word-count";
const MEMBER: &str = "member-1";
const DESCRIPTION: &str = "source -> count -> sink";

/// Windows of the same length, whenever this is run.
struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

/// The host's groups: one, or none. All that is written is committed at once.
#[derive(Clone, Copy)]
struct Log(Option<StreamsGroup>);

impl Groups for Log {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        self.0
    }

    fn committed(&self, _: &str) -> Option<StreamsGroup> {
        self.0
    }

    fn has_member(&self, _: &str, member_id: &str) -> bool {
        member_id == MEMBER && self.0.is_some_and(|group| group.life == Life::Live)
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

struct Broker {
    manager: TopologyManager,
    log: Log,
    plugin: InMemoryPlugin<&'static str>,
    leader_epoch: i32,
    now: Monotonic,
}

fn main() {
    println!("{:<34} {:<12} {:<8} what the broker does", "what happens", "belief", "plugin");
    println!("{}", "-".repeat(100));
    let mut broker = Broker {
        manager: manager(),
        log: Log(None),
        plugin: InMemoryPlugin::new(0),
        leader_epoch: 0,
        now: Monotonic::from_millis(0),
    };
    broker.load();

    let topology = TopologyEpoch::new(3);
    broker.log =
        Log(Some(StreamsGroup { current: topology, belief: Belief::NEW, life: Life::Live }));
    broker.observe();
    broker.heartbeat("a member joins with topology 3");
    broker.push("it pushes the description");
    let (set, _) = broker.write_barrier("the log commits the barrier");
    broker.plugin.set(&set, DESCRIPTION);
    broker.row("the plugin takes it", "");

    broker.crash("the broker dies before it knows");
    broker.describe("somebody describes the group");

    broker.heartbeat("the member's next heartbeat");
    broker.push("it pushes again");
    let (set, groups) = broker.write_barrier("it was uncertain already");
    broker.plugin.set(&set, DESCRIPTION);
    broker.manager.set_ended(&set, Ending::Done, &groups, &mut Least, broker.now);
    broker.drain("the plugin takes it, and answers");
    broker.describe("somebody describes the group");

    if let Some(group) = &mut broker.log.0 {
        group.life = Life::Empty;
    }
    broker.observe();
    broker.row("the member leaves", "");
    broker.manager.delete_groups([GROUP], &broker.log, broker.now);
    broker.drain("an operator deletes the group");
    println!("{}", "-".repeat(100));
    let nothing_left = broker.log.0.is_none() && broker.plugin.epoch(GROUP).is_none();
    println!("nothing is left: {nothing_left}");
    assert!(nothing_left, "neither of the group nor in the plugin");
}

fn manager() -> TopologyManager {
    TopologyManager::new(TopologyConfig::default().with_plugin(Plugin::Present(Fencing::Tokens)))
}

impl Broker {
    /// One line of the table.
    fn row(&self, happens: &str, does: &str) {
        let belief = match self.log.0.map(|group| group.belief.stored) {
            None => String::from("no group"),
            Some(StoredEpoch::None) => String::from("nothing"),
            Some(StoredEpoch::Uncertain) => String::from("uncertain"),
            Some(StoredEpoch::Held(epoch)) => format!("holds {}", epoch.get()),
        };
        let held = self.plugin.epoch(GROUP).map(|epoch| epoch.get().to_string());
        let plugin = held.as_deref().unwrap_or("-");
        println!("{happens:<34} {belief:<12} {plugin:<8} {does}");
    }

    fn load(&mut self) {
        self.manager.loaded(self.leader_epoch, self.now).unwrap_or_else(|error| panic!("{error}"));
        self.leader_epoch += 1;
        self.observe();
    }

    fn observe(&mut self) {
        self.manager.observe(GROUP, self.log.0.as_ref());
    }

    /// A new process loads what the log has.
    fn crash(&mut self, happens: &str) {
        self.manager = manager();
        self.load();
        self.row(happens, "loads the log again");
    }

    fn heartbeat(&mut self, happens: &str) {
        let group = self.log.0;
        let heartbeat = Heartbeat {
            group_id: GROUP,
            version: 1,
            member_epoch: 1,
            error: ErrorCode::None,
            statuses: &[],
            current: group.and_then(|it| it.current),
            belief: group.map(|it| it.belief).unwrap_or_default(),
        };
        let is_asked = self.manager.heartbeat(&heartbeat, &self.log, &mut Least, self.now);
        self.row(happens, if is_asked { "asks for the description" } else { "does not ask" });
    }

    fn push(&mut self, happens: &str) {
        let request = PushRequest {
            group_id: GROUP,
            member_id: MEMBER,
            topology_epoch: 3,
            description: Description::WellFormed,
        };
        self.manager.push(&request, &self.log, &mut Least, self.now);
        self.row(happens, "checks it, and writes the barrier first");
    }

    /// Goes on to the call of the plugin, and stops there.
    fn write_barrier(&mut self, happens: &str) -> (SetCall, Log) {
        let mut happens = happens;
        loop {
            match self.manager.poll_effect() {
                Some(Effect::Set { call, .. }) => {
                    self.row(happens, "calls the plugin: set 3");
                    return (call, self.log);
                }
                Some(effect) => {
                    self.carry_out(happens, effect);
                    happens = "";
                }
                None => panic!("the push ends in a call"),
            }
        }
    }

    /// Carries out all there is.
    fn drain(&mut self, happens: &str) {
        let mut happens = happens;
        while let Some(effect) = self.manager.poll_effect() {
            self.carry_out(happens, effect);
            happens = "";
        }
    }

    fn carry_out(&mut self, happens: &str, effect: Effect) {
        match effect {
            Effect::Write { operation, beliefs, .. } => {
                if let (Some(group), Some(write)) = (&mut self.log.0, beliefs.first()) {
                    group.belief = write.belief;
                }
                self.observe();
                self.row(happens, "commits a record with this belief");
                self.manager.written(operation, Ok(()), &self.log, &mut Least, self.now);
            }
            Effect::AwaitCommit { operation } => {
                self.manager.written(operation, Ok(()), &self.log, &mut Least, self.now);
            }
            Effect::Delete(call) => {
                self.row(happens, "calls the plugin: delete");
                self.plugin.delete(&call);
                self.row("the plugin deletes it", "");
                self.manager.delete_ended(&call, Ending::Done, &self.log, &mut Least, self.now);
            }
            Effect::AnswerPush { result, .. } => {
                self.row(
                    happens,
                    if result.is_ok() { "answers the push" } else { "refuses the push" },
                );
            }
            Effect::DeleteGroups { .. } => {
                if self.manager.may_remove(GROUP, self.log.0.as_ref()) {
                    self.log = Log(None);
                    self.observe();
                    self.row(happens, "writes the tombstones, and answers");
                }
            }
            other => panic!("nothing here leads to {other:?}"),
        }
    }

    fn describe(&self, happens: &str) {
        let described = Described {
            is_requested: true,
            error: ErrorCode::None,
            current: self.log.0.and_then(|group| group.current),
            stored: self.log.0.map(|group| group.belief.stored),
        };
        let answer = match self.manager.describe(&described) {
            Describe::Answer(status) => status.name().to_owned(),
            Describe::Ask(epoch) => {
                let description = self.plugin.get(GROUP, epoch);
                format!("serves \"{}\"", description.copied().unwrap_or_default())
            }
        };
        self.row(happens, &answer);
    }
}
