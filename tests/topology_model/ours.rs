//! The crate's own manager.

use crate::coordinator::{Call, Coordinator, End, GROUP, Ranks, View, Wish};
use kafka_coordination::topology::{
    BackoffConfig, ClassicJoin, DeleteCall, Description, Effect, Ending, Fencing, OperationId,
    Plugin, PushRequest, SetCall, Token, TopologyConfig, TopologyEpoch, TopologyManager,
};
use kafka_coordination::{ErrorCode, Monotonic, Random};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

const NOW: Monotonic = Monotonic::from_millis(0);

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

#[derive(Clone, Debug)]
pub(crate) struct Ours {
    manager: TopologyManager,
    /// What the world calls by number and token.
    operations: BTreeMap<u64, OperationId>,
    calls: BTreeMap<Token, Made>,
    /// Joins that were let in at once.
    wishes: VecDeque<Wish>,
}

impl Coordinator for Ours {
    fn new(leader_epoch: i32, view: View) -> Self {
        // Without windows, of which a model has no need.
        let backoff = BackoffConfig::default().with_initial_ms(0);
        let plugin = Plugin::Present(Fencing::Tokens);
        let config = TopologyConfig::default().with_plugin(plugin).with_backoff(backoff);
        let mut ours = Self {
            manager: TopologyManager::new(config),
            operations: BTreeMap::new(),
            calls: BTreeMap::new(),
            wishes: VecDeque::new(),
        };
        ours.manager.loaded(leader_epoch, NOW).expect("it is new");
        ours.observe(view);
        ours
    }

    fn moves(&mut self, leader_epoch: i32, view: View) {
        self.manager.unloaded();
        self.operations.clear();
        self.manager.loaded(leader_epoch, NOW).expect("it was away");
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
        let operation = self.manager.push(&push, &view, &mut Least, NOW);
        self.operations.insert(operation.number(), operation);
    }

    fn cleanup(&mut self, view: View) {
        let _ = self.manager.start_cleanup(&view, NOW);
    }

    fn delete_groups(&mut self, view: View) {
        self.manager.delete_groups([GROUP], &view, NOW);
    }

    fn classic_join(&mut self, view: View) {
        if self.manager.classic_join(GROUP, &view, NOW) == ClassicJoin::Admitted {
            self.wishes.push_back(Wish::Convert);
        }
    }

    fn scheduled(&self) -> Vec<u64> {
        Vec::new()
    }

    fn step(&mut self, _: u64, _: View) {}

    fn written(&mut self, operation: u64, is_committed: bool, view: View) {
        let result = if is_committed { Ok(()) } else { Err(ErrorCode::RequestTimedOut) };
        if let Some(operation) = self.operations.get(&operation) {
            self.manager.written(*operation, result, &view, &mut Least, NOW);
        }
    }

    fn ended(&mut self, call: Call, end: End, view: View) {
        let ending = match end {
            End::Done => Ending::Done,
            End::Refused => Ending::Refused(None),
            End::Failed => Ending::Failed(None),
        };
        match self.calls.remove(&call.token) {
            Some(Made::Set(call)) => {
                self.manager.set_ended(&call, ending, &view, &mut Least, NOW);
            }
            Some(Made::Delete(call)) => {
                self.manager.delete_ended(&call, ending, &view, &mut Least, NOW);
            }
            None => {}
        }
    }

    fn observe(&mut self, view: View) {
        self.manager.observe(GROUP, view.latest.streams().as_ref());
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
        ranks
    }
}
