//! A manager of one group, or of a few alike, step by step.

use kafka_coordination::topology::{
    Belief, DeleteCall, Description, Effect, Fencing, Groups, Heartbeat, Life, OperationId, Plugin,
    PushError, PushRequest, SetCall, StreamsGroup, TopologyConfig, TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::num::NonZeroU32;

pub(crate) const PUSH: PushRequest<'static> = PushRequest {
    group_id: "g",
    member_id: "m",
    topology_epoch: 3,
    description: Description::WellFormed,
};

/// Of a group at epoch 3 of which nothing is stored.
pub(crate) fn heartbeat() -> Heartbeat<'static> {
    Heartbeat {
        group_id: "g",
        version: 1,
        member_epoch: 1,
        error: ErrorCode::None,
        statuses: &[],
        current: TopologyEpoch::new(3),
        belief: Belief::NEW,
    }
}

pub(crate) struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

/// A group `g`, if it is there, whose records are committed at once.
#[derive(Clone, Copy)]
pub(crate) struct One(pub(crate) Option<StreamsGroup>);

impl One {
    pub(crate) fn new(stored: i32, life: Life) -> Self {
        let belief = Belief::from_record(stored, -1).unwrap();
        Self(Some(StreamsGroup { current: TopologyEpoch::new(3), belief, life }))
    }
}

impl Groups for One {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        self.0.filter(|_| group_id == "g")
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        self.latest(group_id)
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

/// Groups of any id, all of them in this state.
#[derive(Clone, Copy)]
pub(crate) struct Alike(pub(crate) StreamsGroup);

impl Groups for Alike {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        Some(self.0)
    }

    fn committed(&self, _: &str) -> Option<StreamsGroup> {
        Some(self.0)
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

pub(crate) const fn at(ms: i64) -> Monotonic {
    Monotonic::from_millis(ms)
}

pub(crate) fn manager(fencing: Fencing, timeout_ms: Option<u32>) -> TopologyManager {
    let mut config = TopologyConfig::default().with_plugin(Plugin::Present(fencing));
    if let Some(timeout_ms) = timeout_ms {
        config = config.with_call_timeout_ms(timeout_ms);
    }
    let mut manager = TopologyManager::new(config);
    manager.loaded(0, at(0)).unwrap();
    manager
}

/// Commits what is written, and gives the calls and the answers.
pub(crate) fn drain(manager: &mut TopologyManager, group: &mut One, now: Monotonic) -> Drained {
    let mut drained = Drained::default();
    while let Some(effect) = manager.poll_effect() {
        match effect {
            Effect::Write { operation, beliefs, .. } => {
                group.0.as_mut().unwrap().belief = beliefs[0].belief;
                manager.observe("g", group.0.as_ref());
                manager.written(operation, Ok(()), group, &mut Least, now);
            }
            Effect::AwaitCommit { operation } => {
                manager.written(operation, Ok(()), group, &mut Least, now);
            }
            Effect::Set { call, .. } => drained.sets.push(call),
            Effect::Delete(call) => drained.deletes.push(call),
            Effect::AnswerPush { operation, result } => drained.pushes.push((operation, result)),
            other => drained.others.push(other),
        }
    }
    drained
}

#[derive(Default)]
pub(crate) struct Drained {
    pub(crate) sets: Vec<SetCall>,
    pub(crate) deletes: Vec<DeleteCall>,
    pub(crate) pushes: Vec<(OperationId, Result<(), PushError>)>,
    pub(crate) others: Vec<Effect>,
}
