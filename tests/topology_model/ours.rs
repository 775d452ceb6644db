//! The crate's own manager, of the one group alone or with another one beside it, for which every cleanup and
//! `DeleteGroups` has to wait: the plugin answers about that one when its turn comes, and never deletes it.

use crate::coordinator::{Call, Coordinator, End, GROUP, Ranks, View, Wish};
use kafka_coordination::topology::{
    BackoffConfig, Belief, ClassicJoin, DeleteCall, Description, Effect, Ending, Fencing,
    GetEnding, Groups, Life, OperationId, Plugin, PushRequest, SetCall, StoredEpoch, StreamsGroup,
    Token, TopologyConfig, TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

/// How long a call lives, if the plugin does not fence.
const LIFETIME_MS: u8 = 1;

struct Least;

impl Random for Least {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

#[derive(Clone, Debug)]
enum Made {
    Set(SetCall),
    Delete(DeleteCall),
}

/// The group beside the one.
const OTHER: &str = "other";

/// What a manager sees.
struct Seen<const BESIDE: bool>(View);

impl<const BESIDE: bool> Seen<BESIDE> {
    fn of(group_id: &str, group: Option<StreamsGroup>) -> Option<StreamsGroup> {
        if group_id == GROUP {
            return group;
        }
        let belief = Belief { stored: StoredEpoch::Uncertain, failed: None };
        BESIDE.then_some(StreamsGroup { current: None, belief, life: Life::Empty })
    }
}

impl<const BESIDE: bool> Groups for Seen<BESIDE> {
    fn latest(&self, group_id: &str) -> Option<StreamsGroup> {
        Self::of(group_id, self.0.latest.streams())
    }

    fn committed(&self, group_id: &str) -> Option<StreamsGroup> {
        Self::of(group_id, self.0.committed.streams())
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        self.0.latest.streams().is_some_and(|group| group.life == Life::Live)
    }

    fn has_offsets(&self, _: &str) -> bool {
        false
    }
}

/// The manager of the one group.
pub(crate) type Ours = Own<false, true>;
/// The manager of two groups.
pub(crate) type Beside = Own<true, true>;
/// The manager of the one group, with a plugin that does not fence.
pub(crate) type Unfenced = Own<false, false>;

#[derive(Clone, Debug)]
pub(crate) struct Own<const BESIDE: bool, const FENCES: bool> {
    manager: TopologyManager,
    now: Monotonic,
    /// What the world calls by number and token.
    operations: BTreeMap<u64, OperationId>,
    calls: BTreeMap<Token, Made>,
    /// Calls about the other group, each as the turn that answers it.
    others: BTreeMap<u64, DeleteCall>,
    turns: u64,
    /// Joins that were let in at once.
    wishes: VecDeque<Wish>,
}

impl<const BESIDE: bool, const FENCES: bool> Coordinator for Own<BESIDE, FENCES> {
    const FENCES: bool = FENCES;

    fn new(leader_epoch: i32, view: View) -> Self {
        // Without windows, of which a model has no need.
        let backoff = BackoffConfig::default().with_initial_ms(0);
        let lifetime = Fencing::Lifetime { lifetime_ms: LIFETIME_MS.into() };
        let plugin = Plugin::Present(if FENCES { Fencing::Tokens } else { lifetime });
        let config = TopologyConfig::default().with_plugin(plugin).with_backoff(backoff);
        let mut ours = Self {
            manager: TopologyManager::new(config),
            now: Monotonic::from_millis(0),
            operations: BTreeMap::new(),
            calls: BTreeMap::new(),
            others: BTreeMap::new(),
            turns: 0,
            wishes: VecDeque::new(),
        };
        ours.manager.loaded(leader_epoch, ours.now).expect("it is new");
        ours.observe(view);
        ours
    }

    fn moves(&mut self, leader_epoch: i32, view: View) {
        self.manager.unloaded();
        self.operations.clear();
        self.manager.loaded(leader_epoch, self.now).expect("it was away");
        self.observe(view);
    }

    fn push(&mut self, view: View) {
        let current = view.latest.streams().and_then(|group| group.current);
        let push = PushRequest {
            group_id: GROUP,
            member_id: "m",
            topology_epoch: current.map_or(-1, TopologyEpoch::get),
            description: Description::WellFormed,
        };
        let operation = self.manager.push(&push, &Seen::<BESIDE>(view), &mut Least, self.now);
        self.operations.insert(operation.number(), operation);
    }

    fn cleanup(&mut self, view: View) {
        let _ = self.manager.start_cleanup(&Seen::<BESIDE>(view), self.now);
    }

    fn delete_groups(&mut self, view: View) {
        let group_ids = [GROUP, OTHER].into_iter().take(if BESIDE { 2 } else { 1 });
        self.manager.delete_groups(group_ids, &Seen::<BESIDE>(view), self.now);
    }

    fn classic_join(&mut self, view: View) {
        if self.manager.classic_join(GROUP, &Seen::<BESIDE>(view), self.now)
            == ClassicJoin::Admitted
        {
            self.wishes.push_back(Wish::Convert);
        }
    }

    fn scheduled(&self) -> Vec<u64> {
        self.others.keys().copied().collect()
    }

    fn step(&mut self, turn: u64, view: View) {
        if let Some(call) = self.others.remove(&turn) {
            let (groups, ending) = (Seen::<BESIDE>(view), Ending::Failed(None));
            self.manager.delete_ended(&call, ending, &groups, &mut Least, self.now);
        }
    }

    fn written(&mut self, operation: u64, is_committed: bool, view: View) {
        let result = if is_committed { Ok(()) } else { Err(ErrorCode::RequestTimedOut) };
        if let Some(operation) = self.operations.get(&operation) {
            self.manager.written(*operation, result, &Seen::<BESIDE>(view), &mut Least, self.now);
        }
    }

    fn ended(&mut self, call: Call, end: End, view: View) {
        let ending = match end {
            End::Done => Ending::Done,
            End::Refused => Ending::Refused(None),
            End::Failed => Ending::Failed(None),
        };
        let groups = Seen::<BESIDE>(view);
        match self.calls.remove(&call.token) {
            Some(Made::Set(call)) => {
                self.manager.set_ended(&call, ending, &groups, &mut Least, self.now);
            }
            Some(Made::Delete(call)) => {
                self.manager.delete_ended(&call, ending, &groups, &mut Least, self.now);
            }
            None => {}
        }
    }

    fn observe(&mut self, view: View) {
        let groups = Seen::<BESIDE>(view);
        for group_id in [GROUP, OTHER] {
            self.manager.observe(group_id, groups.latest(group_id).as_ref());
        }
    }

    fn poll(&mut self) -> Option<Wish> {
        if let Some(wish) = self.wishes.pop_front() {
            return Some(wish);
        }
        loop {
            return Some(match self.manager.poll_effect()? {
                Effect::Write { operation, beliefs, .. } => {
                    self.operations.insert(operation.number(), operation);
                    assert_eq!(beliefs.len(), 1, "there is one group");
                    Wish::Write { operation: operation.number(), belief: beliefs[0].belief }
                }
                Effect::AwaitCommit { operation } => {
                    self.operations.insert(operation.number(), operation);
                    Wish::Await { operation: operation.number() }
                }
                Effect::Set { call, .. } => {
                    let (token, sets) = (call.token(), Some(call.epoch()));
                    self.calls.insert(token, Made::Set(call));
                    Wish::Call(Call { token, sets })
                }
                Effect::Delete(call) if &**call.group_id() == OTHER => {
                    self.others.insert(self.turns, call);
                    self.turns += 1;
                    continue;
                }
                Effect::Delete(call) => {
                    let token = call.token();
                    self.calls.insert(token, Made::Delete(call));
                    Wish::Call(Call { token, sets: None })
                }
                Effect::DeleteGroups { remaining, .. } if !remaining.is_empty() => Wish::Tombstone,
                Effect::Join { .. } => Wish::Convert,
                _ => continue,
            });
        }
    }

    fn may_remove(&self, view: View) -> bool {
        self.manager.may_remove(GROUP, view.latest.streams().as_ref())
    }

    fn may_expire(&self, view: View) -> bool {
        self.may_remove(view)
    }

    fn miss(&mut self, view: View) {
        if let Some(group) = view.latest.streams()
            && let StoredEpoch::Held(epoch) = group.belief.stored
        {
            let groups = Seen::<BESIDE>(view);
            self.manager.described(GROUP, epoch, GetEnding::Missing, &groups);
        }
    }

    fn wait(&mut self) {
        self.now = self.now.saturating_add(LIFETIME_MS.into());
    }

    fn operations(&self) -> usize {
        self.manager.operation_count()
    }

    fn identify(
        &self,
        mut operations: Vec<u64>,
        mut tokens: Vec<Token>,
        state: &mut impl Hasher,
    ) -> Ranks {
        let known = self.manager.export().expect("effects are carried out at once");
        operations.extend(known.operations.iter().map(|(id, _)| id.number()));
        tokens.extend(known.calls.iter().map(|call| call.token));
        let ranks = Ranks::new(operations, tokens);
        for (id, operation) in &known.operations {
            (ranks.operation(id.number()), operation).hash(state);
        }
        for call in &known.calls {
            (ranks.token(call.token), ranks.operation(call.operation.number())).hash(state);
        }
        known.cycle.map(|id| ranks.operation(id.number())).hash(state);
        known.uncleaned.hash(state);
        self.others.len().hash(state);
        ranks
    }
}
