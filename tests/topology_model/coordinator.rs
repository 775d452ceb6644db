//! What the world knows of a coordinator.

use kafka_coordination::topology::{Belief, Life, StreamsGroup, Token, TopologyEpoch};
use std::fmt::Debug;
use std::hash::Hasher;

/// The one group.
pub(crate) const GROUP: &str = "g";

/// Its state, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Absent,
    Classic,
    Streams(StreamsGroup),
}

impl Group {
    pub(crate) const fn streams(&self) -> Option<StreamsGroup> {
        match self {
            Self::Streams(group) => Some(*group),
            _ => None,
        }
    }

    pub(crate) const fn with_belief(self, belief: Belief) -> Self {
        match self {
            Self::Streams(group) => Self::Streams(StreamsGroup { belief, ..group }),
            other => other,
        }
    }

    pub(crate) fn is_empty_streams(&self) -> bool {
        self.streams().is_some_and(|group| group.life == Life::Empty)
    }
}

/// Both states of the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) latest: Group,
    pub(crate) committed: Group,
}

/// A call of the plugin, as the plugin sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Call {
    pub(crate) token: Token,
    /// The epoch that is set; `None` for a delete.
    pub(crate) sets: Option<TopologyEpoch>,
}

/// How a call ends, as the coordinator is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Done,
    Refused,
    Failed,
}

/// What a coordinator wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    Write {
        operation: u64,
        belief: Belief,
    },
    Await {
        operation: u64,
    },
    Call(Call),
    /// `DeleteGroups` has come to its last step.
    Tombstone,
    /// A classic join has come to its last step.
    Convert,
}

/// A coordinator of the group.
pub(crate) trait Coordinator: Clone + Debug {
    /// Whether the plugin fences its calls. If not, it calls nothing for a while after it began, and by the end of that
    /// no call of an earlier one can land.
    const FENCES: bool = true;

    /// With the shard loaded.
    fn new(leader_epoch: i32, view: View) -> Self;
    /// The shard leaves and comes back to the same process.
    fn moves(&mut self, leader_epoch: i32, view: View);
    fn push(&mut self, view: View);
    fn cleanup(&mut self, view: View);
    fn delete_groups(&mut self, view: View);
    fn classic_join(&mut self, view: View);
    /// Operations whose next step waits for its turn on the shard.
    fn scheduled(&self) -> Vec<u64>;
    fn step(&mut self, operation: u64, view: View);
    fn written(&mut self, operation: u64, is_committed: bool, view: View);
    fn ended(&mut self, call: Call, end: End, view: View);
    fn observe(&mut self, view: View);
    fn poll(&mut self) -> Option<Wish>;
    /// Whether the last step of `DeleteGroups` or a conversion may go on.
    fn may_remove(&self, view: View) -> bool;
    /// Whether the group may expire.
    fn may_expire(&self, view: View) -> bool;
    /// How many operations are under way.
    fn operations(&self) -> usize;
    /// The plugin is said to hold nothing, be that true or not.
    fn miss(&mut self, _: View) {}
    /// The while is over.
    fn wait(&mut self) {}
    /// Feeds all that decides what comes next to a hasher, with operations and tokens as their ranks among its own
    /// and these of the world.
    fn identify(&self, operations: Vec<u64>, tokens: Vec<Token>, state: &mut impl Hasher) -> Ranks;
}

/// Operations and tokens are counted up for ever; only their order matters.
pub(crate) struct Ranks {
    operations: Vec<u64>,
    tokens: Vec<Token>,
}

impl Ranks {
    pub(crate) fn new(mut operations: Vec<u64>, mut tokens: Vec<Token>) -> Self {
        operations.sort_unstable();
        operations.dedup();
        tokens.sort_unstable();
        tokens.dedup();
        Self { operations, tokens }
    }

    pub(crate) fn operation(&self, operation: u64) -> usize {
        self.operations.binary_search(&operation).expect("it was named")
    }

    pub(crate) fn token(&self, token: Token) -> usize {
        self.tokens.binary_search(&token).expect("it was named")
    }
}
