//! A log, a plugin and a coordinator between them: every step that can happen.

use crate::coordinator::{Call, Coordinator, End, Group, View, Wish};
use kafka_coordination::topology::{Belief, Life, StreamsGroup, Token, TopologyEpoch};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// What may happen how often, and what kind of plugin there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) pushes: u8,
    pub(crate) cleanups: u8,
    pub(crate) deletes: u8,
    pub(crate) joins_classic: u8,
    pub(crate) joins: u8,
    pub(crate) leaves: u8,
    pub(crate) advances: u8,
    /// Gets that find nothing, though there is something.
    pub(crate) misses: u8,
    /// Calls that are reported failed.
    pub(crate) failed_calls: u8,
    /// Writes that fail or time out.
    pub(crate) failed_writes: u8,
    /// Crashes, and moves of the shard.
    pub(crate) crashes: u8,
    /// Whether calls of a coordinator that is gone, and of which the answer was lost, may land at any time.
    pub(crate) has_zombies: bool,
}

impl Budget {
    /// Nothing happens.
    pub(crate) const NONE: Self = Self {
        pushes: 0,
        cleanups: 0,
        deletes: 0,
        joins_classic: 0,
        joins: 0,
        leaves: 0,
        advances: 0,
        misses: 0,
        failed_calls: 0,
        failed_writes: 0,
        crashes: 0,
        has_zombies: false,
    };
}

/// What is planted around the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    /// The host removes groups without asking.
    GateIgnored,
    /// The host reports writes as committed when they are appended.
    CommitNotAwaited,
    /// The plugin takes calls in any order.
    TokensIgnored,
    /// Calls live on when a coordinator has waited for their end.
    CallsLiveLonger,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Join,
    Leave,
    /// The members change to the next topology.
    Advance,
    Miss,
    Push,
    Cleanup,
    DeleteGroups,
    ClassicJoin,
    Expire,
    /// A scheduled operation has its turn.
    Turn(u64),
    /// The oldest batch of the log is committed.
    Commit,
    /// The next append will be refused.
    RefuseNext,
    /// A write is reported failed, but stays in the log.
    TimeOut(u64),
    /// A call takes effect at the plugin.
    Land(usize),
    /// The end of a call is reported.
    Report(usize, End),
    /// A call is reported failed, and is still on its way.
    Lose(usize),
    ZombieLands(usize),
    ZombieDies(usize),
    /// The process dies; of the batches that are not committed, so many are kept.
    Crash(usize),
    /// The shard leaves and comes back, with all of its log.
    Move,
    /// So much time has gone by since the coordinator began that no call of an earlier one can land.
    Wait,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    pub(crate) group: Group,
    pub(crate) waiting: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flight {
    pub(crate) call: Call,
    pub(crate) has_landed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct World<C> {
    pub(crate) coordinator: C,
    pub(crate) latest: Group,
    pub(crate) committed: Group,
    pub(crate) pending: VecDeque<Batch>,
    refuses_next: bool,
    pub(crate) held: Option<TopologyEpoch>,
    fence: Option<Token>,
    /// Calls whose end was not reported.
    pub(crate) flights: Vec<Flight>,
    /// Calls whose end nobody waits for, and which may still land.
    pub(crate) zombies: Vec<Call>,
    leader_epoch: i32,
    /// Whether a coordinator whose calls are not fenced has just begun.
    is_new: bool,
    left: Budget,
    fault: Option<Fault>,
}

impl<C: Coordinator> World<C> {
    pub(crate) fn new(budget: Budget, fault: Option<Fault>) -> Self {
        let view = View { latest: Group::Absent, committed: Group::Absent };
        Self {
            coordinator: C::new(0, view),
            latest: Group::Absent,
            committed: Group::Absent,
            pending: VecDeque::new(),
            refuses_next: false,
            held: None,
            fence: None,
            flights: Vec::new(),
            zombies: Vec::new(),
            leader_epoch: 0,
            is_new: !C::FENCES,
            left: budget,
            fault,
        }
    }

    pub(crate) fn view(&self) -> View {
        View { latest: self.latest, committed: self.committed }
    }

    /// Calls that may still take effect.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = Call> + '_ {
        let flights = self.flights.iter().filter(|it| !it.has_landed).map(|it| it.call);
        flights.chain(self.zombies.iter().copied()).filter(|call| self.is_let_in(*call))
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pending.is_empty()
            && self.flights.is_empty()
            && self.coordinator.scheduled().is_empty()
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn is_let_in(&self, call: Call) -> bool {
        !C::FENCES
            || self.has(Fault::TokensIgnored)
            || self.fence.is_none_or(|fence| fence <= call.token)
    }

    pub(crate) fn actions(&self, actions: &mut Vec<Action>) {
        let left = &self.left;
        if !self.zombies.is_empty() && !left.has_zombies {
            // Each takes effect before the next coordinator begins, or never.
            for at in 0..self.zombies.len() {
                actions.extend([Action::ZombieLands(at), Action::ZombieDies(at)]);
            }
            return;
        }
        let group = self.latest.streams();
        let is_live = group.is_some_and(|it| it.life == Life::Live);
        let is_empty = self.latest.is_empty_streams();
        let mut allow = |is_allowed: bool, action| {
            if is_allowed {
                actions.push(action);
            }
        };
        allow(left.joins > 0 && (is_empty || self.latest == Group::Absent), Action::Join);
        allow(left.leaves > 0 && is_live, Action::Leave);
        allow(left.advances > 0 && is_live, Action::Advance);
        allow(left.misses > 0 && group.is_some(), Action::Miss);
        allow(left.pushes > 0 && is_live, Action::Push);
        allow(left.cleanups > 0 && group.is_some(), Action::Cleanup);
        allow(left.deletes > 0 && group.is_some(), Action::DeleteGroups);
        allow(left.joins_classic > 0 && is_empty, Action::ClassicJoin);
        allow(is_empty && self.coordinator.may_expire(self.view()), Action::Expire);
        allow(!self.pending.is_empty(), Action::Commit);
        allow(left.failed_writes > 0 && !self.refuses_next, Action::RefuseNext);
        for operation in self.coordinator.scheduled() {
            allow(true, Action::Turn(operation));
        }
        for operation in self.pending.iter().flat_map(|batch| &batch.waiting) {
            allow(left.failed_writes > 0, Action::TimeOut(*operation));
        }
        for (at, flight) in self.flights.iter().enumerate() {
            let may_fail = left.failed_calls > 0;
            allow(!flight.has_landed, Action::Land(at));
            allow(flight.has_landed, Action::Report(at, End::Done));
            // A call that a new coordinator knows is an old one's, and may be given up.
            allow(may_fail || self.is_new, Action::Report(at, End::Failed));
            let is_set = flight.call.sets.is_some();
            allow(may_fail && is_set && !flight.has_landed, Action::Report(at, End::Refused));
            let may_be_lost = may_fail && left.has_zombies && C::FENCES;
            allow(may_be_lost && !flight.has_landed, Action::Lose(at));
        }
        for at in 0..self.zombies.len() {
            allow(true, Action::ZombieLands(at));
            allow(true, Action::ZombieDies(at));
        }
        let is_past = self.zombies.is_empty() && self.flights.iter().all(|it| it.has_landed);
        allow(self.is_new && (is_past || self.has(Fault::CallsLiveLonger)), Action::Wait);
        if left.crashes > 0 {
            for kept in 0..=self.pending.len() {
                allow(true, Action::Crash(kept));
            }
            allow(true, Action::Move);
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        let view = self.view();
        match action {
            Action::Join => {
                self.left.joins -= 1;
                let first = TopologyEpoch::new(1);
                let new = StreamsGroup { current: first, belief: Belief::NEW, life: Life::Live };
                let known = self.latest.streams();
                let group = known.map_or(new, |it| StreamsGroup { life: Life::Live, ..it });
                self.append(Group::Streams(group), None);
            }
            Action::Leave => {
                self.left.leaves -= 1;
                self.change(|group| group.life = Life::Empty);
            }
            Action::Advance => {
                self.left.advances -= 1;
                let next = |epoch: TopologyEpoch| TopologyEpoch::new(epoch.get() + 1);
                self.change(|group| group.current = group.current.and_then(next));
            }
            Action::Miss => {
                self.left.misses -= 1;
                self.coordinator.miss(view);
            }
            Action::Push => {
                self.left.pushes -= 1;
                self.coordinator.push(view);
            }
            Action::Cleanup => {
                self.left.cleanups -= 1;
                self.coordinator.cleanup(view);
            }
            Action::DeleteGroups => {
                self.left.deletes -= 1;
                self.coordinator.delete_groups(view);
            }
            Action::ClassicJoin => {
                self.left.joins_classic -= 1;
                self.coordinator.classic_join(view);
            }
            Action::Expire => self.append(Group::Absent, None),
            Action::Turn(operation) => self.coordinator.step(operation, view),
            Action::Commit => self.commit(),
            Action::RefuseNext => {
                self.left.failed_writes -= 1;
                self.refuses_next = true;
            }
            Action::TimeOut(operation) => {
                self.left.failed_writes -= 1;
                for batch in &mut self.pending {
                    batch.waiting.retain(|it| *it != operation);
                }
                self.coordinator.written(operation, false, view);
            }
            Action::Land(at) => {
                self.flights[at].has_landed = true;
                self.land(self.flights[at].call);
            }
            Action::Report(at, end) => {
                let is_given_up = self.is_new && end == End::Failed;
                self.left.failed_calls -= u8::from(end != End::Done && !is_given_up);
                let flight = self.flights.remove(at);
                self.coordinator.ended(flight.call, end, view);
            }
            Action::Lose(at) => {
                self.left.failed_calls -= 1;
                let flight = self.flights.remove(at);
                self.zombies.push(flight.call);
                self.coordinator.ended(flight.call, End::Failed, view);
            }
            Action::ZombieLands(at) => {
                let call = self.zombies.remove(at);
                self.land(call);
            }
            Action::ZombieDies(at) => drop(self.zombies.remove(at)),
            Action::Crash(kept) => {
                self.left.crashes -= 1;
                self.reload(kept);
                let lost = self.flights.drain(..).filter(|it| !it.has_landed);
                self.zombies.extend(lost.map(|it| it.call));
                self.coordinator = C::new(self.leader_epoch, self.view());
            }
            Action::Move => {
                self.left.crashes -= 1;
                self.reload(self.pending.len());
                self.coordinator.moves(self.leader_epoch, self.view());
            }
            Action::Wait => {
                self.is_new = false;
                self.coordinator.wait();
            }
        }
        self.zombies.sort_unstable();
        self.run();
    }

    fn run(&mut self) {
        while let Some(wish) = self.coordinator.poll() {
            match wish {
                Wish::Write { operation, belief } => {
                    self.append(self.latest.with_belief(belief), Some(operation));
                }
                Wish::Await { operation } => {
                    let is_awaited = !self.has(Fault::CommitNotAwaited);
                    match self.pending.back_mut().filter(|_| is_awaited) {
                        Some(batch) => batch.waiting.push(operation),
                        None => self.coordinator.written(operation, true, self.view()),
                    }
                }
                Wish::Call(call) => self.flights.push(Flight { call, has_landed: false }),
                Wish::Tombstone => {
                    if self.latest.is_empty_streams() && self.may_remove() {
                        self.append(Group::Absent, None);
                    }
                }
                Wish::Convert => {
                    if self.latest.is_empty_streams() && self.may_remove() {
                        self.append(Group::Classic, None);
                    }
                }
            }
        }
    }

    fn may_remove(&self) -> bool {
        self.has(Fault::GateIgnored) || self.coordinator.may_remove(self.view())
    }

    fn change(&mut self, change: impl FnOnce(&mut StreamsGroup)) {
        if let Some(mut group) = self.latest.streams() {
            change(&mut group);
            self.append(Group::Streams(group), None);
        }
    }

    fn append(&mut self, group: Group, operation: Option<u64>) {
        if let Some(operation) = operation
            && self.refuses_next
        {
            self.refuses_next = false;
            return self.coordinator.written(operation, false, self.view());
        }
        self.latest = group;
        self.coordinator.observe(self.view());
        let is_awaited = !self.has(Fault::CommitNotAwaited);
        let waiting = operation.filter(|_| is_awaited).into_iter().collect();
        self.pending.push_back(Batch { group, waiting });
        if let Some(operation) = operation.filter(|_| !is_awaited) {
            self.coordinator.written(operation, true, self.view());
        }
    }

    fn commit(&mut self) {
        if let Some(batch) = self.pending.pop_front() {
            self.committed = batch.group;
            for operation in batch.waiting {
                self.coordinator.written(operation, true, self.view());
            }
        }
    }

    fn land(&mut self, call: Call) {
        if self.is_let_in(call) {
            self.fence = self.fence.max(Some(call.token));
            self.held = call.sets;
        }
    }

    /// Loads what is committed, and so many of the batches that are not.
    fn reload(&mut self, kept: usize) {
        self.pending.truncate(kept);
        self.committed = self.pending.back().map_or(self.committed, |batch| batch.group);
        self.latest = self.committed;
        self.pending.clear();
        self.refuses_next = false;
        self.leader_epoch += 1;
        self.is_new = !C::FENCES;
    }

    /// Gives the world what it needs for one more of everything.
    pub(crate) fn allow_all(&mut self) {
        self.left = Budget { pushes: 9, cleanups: 9, joins: 9, leaves: 9, ..Budget::NONE };
        self.refuses_next = false;
    }
}

impl<C: Coordinator> Hash for World<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let operations = self.pending.iter().flat_map(|batch| batch.waiting.iter().copied());
        let calls = self.flights.iter().map(|it| it.call).chain(self.zombies.iter().copied());
        let tokens = calls.map(|call| call.token).chain(self.fence);
        let ranks = self.coordinator.identify(operations.collect(), tokens.collect(), state);
        (self.latest, self.committed, self.held, self.refuses_next, self.left).hash(state);
        self.is_new.hash(state);
        for batch in &self.pending {
            batch.group.hash(state);
            let waiting = batch.waiting.iter().map(|it| ranks.operation(*it));
            waiting.collect::<Vec<_>>().hash(state);
        }
        for Flight { call, has_landed } in &self.flights {
            (ranks.token(call.token), call.sets, has_landed).hash(state);
        }
        for call in &self.zombies {
            (ranks.token(call.token), call.sets, "zombie").hash(state);
        }
        self.fence.map(|fence| ranks.token(fence)).hash(state);
    }
}
