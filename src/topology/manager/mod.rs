//! The one place where a host's coordinator meets all of this.

mod answers;
mod calls;
mod deletion;
mod describe;
mod life;
mod push;
mod triggers;

pub(super) use calls::{Calls, PendingCall};
pub use life::LoadError;
pub use triggers::{ClassicJoin, Cleanup};

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use tracing::trace;

use super::backoff::{Backoff, Window};
use super::call::Token;
use super::config::TopologyConfig;
use super::counters::TopologyCounters;
use super::gate::Heartbeat;
use super::group::{Groups, StreamsGroup};
use super::operation::{
    Atomicity, BeliefWrite, DeletionStep, Effect, Kind, Operation, OperationId, Progress,
};
use crate::random::Random;
use crate::time::Monotonic;

/// Keeps what one shard of the group coordinator believes of the plugin true: Kafka's
/// `StreamsGroupTopologyDescriptionManager` and the plugin operations of `GroupCoordinatorService`.
///
/// See the [module](super) for how a host drives it. It holds what is under way, the windows, and the
/// ids of groups that may need cleanup; of all other groups nothing.
#[derive(Clone, Debug)]
pub struct TopologyManager {
    pub(super) config: TopologyConfig,
    /// Present while the shard is loaded.
    pub(super) shard: Option<Shard>,
    /// The token of the next call.
    pub(super) next_token: Token,
    pub(super) next_operation: u64,
    /// By group, keyed by the current epoch.
    pub(super) pushes: Backoff,
    /// By group, keyed by the number of [`StoredEpoch::Uncertain`](super::StoredEpoch::Uncertain).
    /// Kafka has one window a group for both, and each replaces the other.
    pub(super) conversions: Backoff,
    pub(super) operations: BTreeMap<OperationId, Operation>,
    /// The operation that has a group to itself.
    pub(super) busy: HashMap<Arc<str>, OperationId, FixedState>,
    /// Groups that the plugin deleted for an operation which still waits for others: who comes now need
    /// not wait for those. With the operation, and their place in it.
    pub(super) yielded: HashMap<Arc<str>, (OperationId, usize), FixedState>,
    pub(super) calls: Calls,
    /// Groups at which a cleanup looks: all that want it, and some that do no more.
    pub(super) uncleaned: HashSet<Arc<str>, FixedState>,
    pub(super) cycle: Option<OperationId>,
    pub(super) counters: TopologyCounters,
    effects: VecDeque<Effect>,
}

/// What holds while the shard is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shard {
    /// From when on the plugin may be called.
    pub(super) calls_from: Monotonic,
    pub(super) cleanup_due: Monotonic,
}

impl TopologyManager {
    /// A manager of a shard that is not loaded.
    pub fn new(config: TopologyConfig) -> Self {
        let hasher = FixedState::with_seed(config.hash_seed);
        let backoff = Backoff::new(config.backoff, config.hash_seed);
        Self {
            pushes: backoff.clone(),
            conversions: backoff,
            shard: None,
            next_token: Token::new(-1, 0),
            next_operation: 0,
            operations: BTreeMap::new(),
            busy: HashMap::with_hasher(hasher.clone()),
            yielded: HashMap::with_hasher(hasher.clone()),
            calls: Calls::default(),
            uncleaned: HashSet::with_hasher(hasher),
            cycle: None,
            counters: TopologyCounters::default(),
            effects: VecDeque::new(),
            config,
        }
    }

    /// The next thing to do. Carry effects out in their order, all of them after each call, before
    /// anything else changes a group of the shard.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether effects wait to be polled.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// How it works.
    pub const fn config(&self) -> &TopologyConfig {
        &self.config
    }

    /// Whether the answer to a heartbeat sets `TopologyDescriptionRequired`; then a window starts in
    /// which no other member is asked. To be called once the heartbeat's records are committed.
    ///
    /// O(1), and nothing is looked up for a group that has what it needs; allocates for the first
    /// window of a group.
    #[inline]
    pub fn heartbeat(
        &mut self,
        heartbeat: &Heartbeat<'_>,
        groups: &impl Groups,
        random: &mut (impl Random + ?Sized),
        now: Monotonic,
    ) -> bool {
        if !self.is_active() {
            return false;
        }
        let Some(epoch) = heartbeat.wanted() else {
            return false;
        };
        let group_id = heartbeat.group_id;
        let may_call = self.may_call(now);
        // The group may have gone since, and nothing is kept of groups that are not there.
        let is_allowed = || may_call && groups.latest(group_id).is_some();
        self.pushes.arm_if(is_allowed, group_id, epoch.get(), random, now)
    }

    /// Whether the group may be removed or converted by records that are written now, as far as its
    /// description is concerned: `latest` is its latest state, `None` if it is no streams group.
    /// O(1).
    ///
    /// To be asked in the write that removes it, by `DeleteGroups`, the expiration of groups and the
    /// conversion to a classic group. If it may not, `DeleteGroups` answers 134, expiration leaves the
    /// group to the next cleanup, a classic join answers 27.
    ///
    /// Deviation: Kafka asks only when groups expire, and not for operations under way: what the
    /// plugin holds may then be left for ever.
    pub fn may_remove(&self, group_id: &str, latest: Option<&StreamsGroup>) -> bool {
        !self.config.has_plugin()
            || (latest.is_none_or(|group| !group.belief.stored.blocks_expiry())
                && !self.busy.contains_key(group_id))
    }

    /// Takes the latest state of a group, `None` if there is no streams group of that id any more.
    /// O(1).
    ///
    /// To be called whenever emptiness or belief of a streams group change, or it comes or goes, by
    /// which path ever: records that are written, loaded, replayed or taken back.
    pub fn observe(&mut self, group_id: &str, latest: Option<&StreamsGroup>) {
        if !self.is_active() {
            return;
        }
        let Some(latest) = latest else {
            self.uncleaned.remove(group_id);
            self.pushes.clear_group(group_id);
            self.conversions.clear_group(group_id);
            return;
        };
        // A group that wants it no more is left to the next cleanup, which asks what is committed.
        if latest.wants_cleanup() && !self.uncleaned.contains(group_id) {
            self.uncleaned.insert(group_id.into());
        }
    }

    /// Whether an operation has this group to itself. O(1).
    pub fn is_busy(&self, group_id: &str) -> bool {
        self.busy.contains_key(group_id)
    }

    /// The window in which the group is not asked for its description.
    pub fn push_window(&self, group_id: &str) -> Option<&Window> {
        self.pushes.get(group_id)
    }

    /// The window in which the group is not converted.
    pub fn conversion_window(&self, group_id: &str) -> Option<&Window> {
        self.conversions.get(group_id)
    }

    /// How many operations are under way, those of a shard that left among them.
    pub fn operation_count(&self) -> usize {
        self.operations.len()
    }

    /// How many groups the next cleanup looks at: those that have no members and of which the plugin may
    /// hold something, and those of which that was so at some time since the last.
    pub fn uncleaned_count(&self) -> usize {
        self.uncleaned.len()
    }

    /// What happened so far: Kafka's metrics.
    pub const fn counters(&self) -> &TopologyCounters {
        &self.counters
    }

    /// Whether there is a plugin, and a shard.
    pub(super) const fn is_active(&self) -> bool {
        self.config.has_plugin() && self.shard.is_some()
    }

    /// Whether the plugin may be called already.
    fn may_call(&self, now: Monotonic) -> bool {
        self.shard.is_some_and(|shard| now >= shard.calls_from)
    }

    fn new_operation(&mut self) -> OperationId {
        let operation = OperationId(self.next_operation);
        self.next_operation += 1;
        operation
    }

    /// Begins an operation, which has its groups to itself from now on.
    fn begin(&mut self, id: OperationId, kind: Kind) {
        let operation = Operation { kind, is_lost: false };
        for group_id in operation.held() {
            self.overtake(&group_id);
            self.busy.insert(group_id, id);
        }
        trace!(operation = id.0, "operation on topology descriptions begun");
        self.operations.insert(id, operation);
    }

    /// Takes a group from an operation that gave it free before it was through.
    fn overtake(&mut self, group_id: &str) {
        if let Some((id, index)) = self.yielded.remove(group_id)
            && let Some(Operation { kind: Kind::Deletion(deletion), .. }) =
                self.operations.get_mut(&id)
            && let DeletionStep::Calling { groups, .. } = &mut deletion.step
            && let Some(group) = groups.get_mut(index)
        {
            group.progress = Progress::Overtaken;
        }
    }

    /// Gives a group free; if its shard left, it may be another operation's by now.
    fn free(&mut self, group_id: &str, id: OperationId) {
        if self.busy.get(group_id) == Some(&id) {
            self.busy.remove(group_id);
        }
    }

    /// Ends an operation, and gives the groups free that it had.
    fn finish(&mut self, id: OperationId, held: &[Arc<str>]) {
        for group_id in held {
            self.free(group_id, id);
        }
        if self.cycle == Some(id) {
            self.cycle = None;
        }
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// Asks for a write, which may turn out to be a mere wait.
    fn write(&mut self, operation: OperationId, atomicity: Atomicity, beliefs: Vec<BeliefWrite>) {
        self.effect(if beliefs.is_empty() {
            Effect::AwaitCommit { operation }
        } else {
            Effect::Write { operation, beliefs, atomicity }
        });
    }

    /// The token of a new call.
    fn call(&mut self, operation: OperationId, index: usize, now: Monotonic) -> Token {
        let token = self.next_token;
        self.next_token = Token::new(token.leader_epoch(), token.number().saturating_add(1));
        let ends = now.saturating_add(i64::from(self.config.timeout_ms()));
        self.calls.insert(token, PendingCall { operation, index, ends });
        token
    }
}
