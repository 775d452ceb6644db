//! What a replica is told: time, messages, outcomes, and that it starts or is no more.

use crate::bug;
use crate::cases::First;
use crate::cluster::Cluster;
use crate::disk::Disk;
use crate::event::Event;
use crate::fault::Fault;
use crate::flight::{Expectation, Flights};
use crate::local::Cause;
use crate::meaning::{self, Meaning};
use crate::message::hand_in;
use crate::node::{Machine, Node, Owed, directory};
use crate::transitions::{self, State};
use kafka_coordination::kraft::EpochStateKind::{Candidate, Follower, Resigned, Unattached};
use kafka_coordination::kraft::{
    Correlation, Effect, ElectionState, Replica, Request, RequestId, Response, Storage, VoterSet,
};
use kafka_coordination::{ErrorCode, Monotonic};

impl Cluster {
    pub(crate) fn start(&mut self, place: usize) -> Result<(), String> {
        let fault = self.fault_of(place);
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.replica.is_some() {
            return Ok(());
        }
        node.life += 1;
        node.owed.clear();
        node.flights = Flights::default();
        node.machine = Machine::default();
        node.prepared.clear();
        (node.received, node.unread_below) = (0, 0);
        let storage = node.disk.open(fault);
        let clock = node.clock(now);
        let (first, state) = first_state(node, &storage);
        let replica = Replica::start(node.config.clone(), storage, &mut node.random, clock);
        let replica = replica.map_err(|error| format!("node {place} does not start: {error}"))?;
        // The start itself may make transitions.
        (node.state, node.generation, node.shown) = (state, 0, None);
        node.replica = Some(replica);
        self.seen.coverage.start(first);
        self.note(|cluster| format!("start   {}", cluster.describe(place)));
        self.settle(place)
    }

    pub(crate) fn crash(&mut self, place: usize) -> Result<(), String> {
        let fault = self.fault_of(place);
        let (dice, node) = (&mut self.dice, &mut self.nodes[place]);
        if node.replica.take().is_none() {
            return Ok(());
        }
        let mut lost = dice.below(node.disk.unflushed() + 1);
        if fault == Some(Fault::LosesLastBatch) {
            lost = (node.disk.unflushed() + 1).min(node.disk.log.len());
        }
        node.disk.lose(lost);
        let down = dice.millis(3_000);
        let at = if self.is_healed { self.now } else { self.now + down };
        self.events.push(at, Event::Start { node: place });
        self.note(|_| format!("crash   node {place}, {lost} batches lost"));
        self.ledger.check_kept(&self.nodes)
    }

    /// A node loses its disk, and gets another one. The voters can do without it, and no other change is under way.
    pub(crate) fn wipe(&mut self, place: usize) -> Result<(), String> {
        let key = self.nodes[place].key();
        let can_be_spared = |node: &Node| {
            let control = node.disk.control_log(None);
            let voters = control.voters();
            !voters.is_voter(&key) || voters.len() >= 3
        };
        if self.wiped.is_some() || !self.nodes.iter().all(can_be_spared) {
            return Ok(());
        }
        self.crash(place)?;
        self.wiped = Some(place);
        let node = &mut self.nodes[place];
        node.lost = Some((key, node.disk.flushed_end()));
        node.config.quorum.local_directory_id = directory(place, 1);
        node.disk = Disk::new(node.key(), VoterSet::empty());
        self.note(|_| format!("disk    node {place} has another one"));
        self.ledger.check_kept(&self.nodes)
    }

    pub(crate) fn wake(&mut self, place: usize) -> Result<(), String> {
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.woken_at != Some(now) {
            return Ok(());
        }
        node.woken_at = None;
        let clock = node.clock(now);
        let Some(replica) = &mut node.replica else { return Ok(()) };
        replica.handle_timeout(&mut node.random, clock);
        self.settle(place)
    }

    pub(crate) fn request(
        &mut self,
        from: usize,
        to: usize,
        life: u64,
        correlation: Correlation,
        mut request: Request,
    ) -> Result<(), String> {
        let (fault, age) = (self.fault_of(to), self.nodes[from].age.min(self.nodes[to].age));
        let (now, node) = (self.now, &mut self.nodes[to]);
        if node.replica.is_none() {
            let error = ErrorCode::BrokerNotAvailable;
            self.respond(to, from, life, correlation, &Response::Failed(error));
            return Ok(());
        }
        if let Some(fault) = fault {
            bug::request(fault, node, &mut request);
        }
        if matches!(request, Request::EndQuorumEpoch(_)) {
            self.cause = Cause::LeaderAnswers;
        }
        let meaning = meaning::of_request(node, &request);
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let answer = hand_in(node, id, &request, age, now);
        let since = node.clock(now);
        let owed = Owed { sender: Some((from, life, correlation)), request: Some(request), since };
        match answer {
            Some(answer) => self.respond(to, from, life, correlation, &answer),
            None => {
                node.owed.insert(id, owed);
            }
        }
        self.understood(to, &meaning)?;
        if fault == Some(Fault::CommitsByCount)
            && let Some(offset) = bug::counted(&self.nodes[to])
        {
            self.carry_out(to, Effect::HighWatermark(offset))?;
        }
        self.settle(to)
    }

    pub(crate) fn response(
        &mut self,
        from: usize,
        to: usize,
        life: u64,
        correlation: Correlation,
        mut response: Response,
    ) -> Result<(), String> {
        let fault = self.fault_of(to);
        let (now, node) = (self.now, &mut self.nodes[to]);
        if node.life != life || node.replica.is_none() {
            return Ok(());
        }
        let (clock, timeout_ms) = (node.clock(now), node.config.request_timeout_ms);
        if fault == Some(Fault::OverlooksVoters) {
            bug::overlook(node, &mut response);
        }
        let leader_answers = matches!(
            response,
            Response::Fetch(_) | Response::FetchSnapshot(_) | Response::UpdateVoter { .. }
        );
        if leader_answers {
            self.cause = Cause::LeaderAnswers;
        }
        let node = &mut self.nodes[to];
        match node.flights.answered(correlation, clock, timeout_ms) {
            Expectation::Yes(request) => {
                let meaning = meaning::of_answer(node, &request, &response);
                let again = response.clone();
                node.take(correlation, response, clock);
                self.understood(to, &meaning)?;
                let node = &mut self.nodes[to];
                if fault == Some(Fault::CountsVotesTwice)
                    && let Some(other) = bug::other_vote(node, &again)
                {
                    let _ = node.flights.answered(other, clock, timeout_ms);
                    node.take(other, again, clock);
                }
            }
            Expectation::Perhaps => node.take(correlation, response, clock),
            Expectation::No => {
                let before = node.replica.as_ref().and_then(Replica::next_deadline);
                let bug = fault.and_then(|fault| bug::late(fault, node, from, &response));
                if let Some((correlation, response)) = bug {
                    let _ = node.flights.answered(correlation, clock, timeout_ms);
                    node.take(correlation, response, clock);
                    return self.settle(to);
                }
                node.take(correlation, response, clock);
                let replica = node.replica.as_mut().expect("it is up");
                let entered = transitions::take();
                let is_moved = replica.next_deadline() != before || !entered.is_empty();
                if is_moved || replica.poll_effect().is_some() {
                    return Err(format!("node {to} takes an answer that it does not wait for"));
                }
            }
        }
        self.settle(to)
    }

    /// A message has been handed in: the replica has done what it had to.
    fn understood(&mut self, place: usize, meaning: &Meaning) -> Result<(), String> {
        meaning.rows.iter().for_each(|row| self.seen.coverage.message(*row));
        let entered = self.observe(place)?;
        if meaning.forecast.is_met(&entered) {
            return Ok(());
        }
        Err(format!("node {place} enters {entered:?}, but {meaning:?}"))
    }

    pub(crate) fn flushed(
        &mut self,
        place: usize,
        life: u64,
        end_offset: i64,
    ) -> Result<(), String> {
        let fault = self.fault_of(place);
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.life != life {
            return Ok(());
        }
        let clock = node.clock(now);
        let Some(replica) = &mut node.replica else { return Ok(()) };
        // What was cut off meanwhile is not made durable.
        let end_offset = end_offset.min(node.disk.end_offset());
        if fault != Some(Fault::FlushLies) {
            node.disk.flush(end_offset);
        }
        replica.flushed(end_offset, &mut node.random, clock);
        self.settle(place)
    }
}

impl Node {
    fn take(&mut self, correlation: Correlation, response: Response, clock: Monotonic) {
        let replica = self.replica.as_mut().expect("it is up");
        replica.handle_response(correlation, response, &mut self.random, clock);
    }
}

/// What a replica has to start as, from what is on its disk.
fn first_state(node: &Node, storage: &Storage) -> (First, State) {
    let epoch_of_log = storage.log.last_fetched_epoch();
    let stored = storage.election.as_ref();
    let epoch = stored.map_or(0, ElectionState::epoch);
    let leader = stored.and_then(ElectionState::leader_id);
    let voted = stored.and_then(ElectionState::voted_key);
    let (key, voters) = (node.key(), storage.control.voters());
    let state = |kind, leader| State { kind, epoch, leader };
    if epoch < epoch_of_log {
        return (First::OfLog, State { epoch: epoch_of_log, ..state(Unattached, None) });
    }
    match (leader, voted) {
        (Some(leader), _) if leader == key.id => (First::Led, state(Resigned, Some(leader))),
        (Some(leader), _) if voters.endpoints(leader).is_empty() => {
            (First::FollowedSomebody, state(Unattached, Some(leader)))
        }
        (Some(leader), _) => (First::Followed, state(Follower, Some(leader))),
        (None, Some(voted)) if voted.matches(&key) && voters.is_voter(&key) => {
            (First::Stood, state(Candidate, None))
        }
        (None, Some(_)) => (First::Voted, state(Unattached, None)),
        (None, None) => (First::Plain, state(Unattached, None)),
    }
}
