//! What the host of a replica does: it looks at it, and carries out what it has decided.

use crate::bug;
use crate::cluster::Cluster;
use crate::coverage::Cell;
use crate::event::Event;
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::local::{
    check, check_answered, check_asked, check_leader_change, check_rest, check_step, show,
};
use crate::message::{refuse, response};
use crate::node::{place_of, voter};
use crate::transitions::{self, State};
use kafka_coordination::kraft::{
    Effect, Endpoints, EpochState, EpochStateKind, Replica, Reply, Request, RequestId,
};

/// Calls at one moment after which a replica does not come to rest.
const RESTLESS: u32 = 200;

impl Cluster {
    /// Takes down the transitions that a replica has made since the last time: each is one that may be made, and the
    /// last one leads to the state that it shows.
    pub(crate) fn observe(&mut self, place: usize) -> Result<Vec<State>, String> {
        let entered = transitions::take();
        let node = &mut self.nodes[place];
        let Some(replica) = &node.replica else { return Ok(entered) };
        let state = replica.quorum().state();
        let made = replica.quorum().generation() - node.generation;
        if usize::try_from(made) != Ok(entered.len()) {
            return Err(format!("node {place} makes {made} transitions, and tells of {entered:?}"));
        }
        let is_observer = !node.is_voter();
        let was_observer = node.shown.as_ref().is_none_or(|shown| shown.is_observer);
        let endpoints = state.leader_endpoints().map_or(0, Endpoints::len);
        let known = node.shown.as_ref().map_or(0, |shown| shown.endpoints);
        for to in &entered {
            let from = node.state;
            let cell = Cell::of(from, *to);
            let cell = cell.ok_or_else(|| format!("node {place} goes from {from:?} to {to:?}"))?;
            if cell.is_about_endpoints() && entered.len() == 1 && endpoints <= known {
                return Err(format!("node {place} follows again with {endpoints} endpoints"));
            }
            if !cell.is_vote() {
                node.flights.forget();
            }
            self.seen.coverage.transition(cell, is_observer && was_observer);
            if to.kind == EpochStateKind::Leader {
                node.prepared.clear();
            }
            node.state = *to;
        }
        node.generation += made;
        let is_shown = State::of(state) == node.state;
        if !is_shown {
            return Err(format!("node {place} shows {state:?}, and tells of {:?}", node.state));
        }
        Ok(entered)
    }

    /// Carries out what a replica has decided, and everything that follows from it at this moment.
    pub(crate) fn settle(&mut self, place: usize) -> Result<(), String> {
        for _ in 0..RESTLESS {
            self.observe(place)?;
            while let Some(effect) =
                self.nodes[place].replica.as_mut().and_then(Replica::poll_effect)
            {
                self.carry_out(place, effect)?;
            }
            self.look_at(place)?;
            let goes_on = self.fault_of(place) == Some(Fault::RemovedLeaderGoesOn)
                && bug::goes_on(&self.nodes[place]);
            let (now, node) = (self.now, &mut self.nodes[place]);
            let clock = node.clock(now);
            let Some(replica) = &mut node.replica else { return Ok(()) };
            let deadline = replica.next_deadline();
            if deadline.is_none_or(|deadline| deadline > clock) || goes_on {
                return self.rest(place);
            }
            replica.handle_timeout(&mut node.random, clock);
        }
        Err(format!("node {place} does not come to rest"))
    }

    /// A replica has nothing to do: to ask it again changes nothing, until it is to be woken.
    fn rest(&mut self, place: usize) -> Result<(), String> {
        let asks = self.dice.happens(100);
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let Some(replica) = &mut node.replica else { return Ok(()) };
        let deadline = replica.next_deadline();
        // When a replica tells of itself it looks up when something else is due, as Kafka's do.
        let may_tell = match replica.quorum().state() {
            EpochState::Follower(follower) => follower.update_voter_due(clock),
            _ => false,
        };
        if asks && deadline.is_some() && !may_tell {
            // News that are none make it look at everything.
            match replica.quorum().state().kind() {
                EpochStateKind::Leader => replica.schedule_append(clock).expect("it leads"),
                _ => replica.flushed(0, &mut node.random, clock),
            }
            replica.handle_timeout(&mut node.random, clock);
            let effect = replica.poll_effect();
            let again = replica.next_deadline();
            let is_early = again.is_some_and(|again| Some(again) < deadline);
            if effect.is_some() || is_early || !transitions::take().is_empty() {
                return Err(format!(
                    "node {place} has nothing to do until {deadline:?}, and does {effect:?} until {again:?}"
                ));
            }
        }
        let (node, replica) = (&self.nodes[place], self.nodes[place].replica.as_ref());
        check_rest(node, replica.expect("it is up"), clock)?;
        let Some(deadline) = deadline else { return Ok(()) };
        let at = node.time(deadline, now);
        let node = &mut self.nodes[place];
        if node.woken_at.is_none_or(|woken_at| woken_at > at || woken_at <= now) {
            node.woken_at = Some(at);
            self.events.push(at, Event::Wake { node: place });
        }
        Ok(())
    }

    fn look_at(&mut self, place: usize) -> Result<(), String> {
        let now = self.now;
        let is_persisting = self.fault != Some(Fault::VoteNotPersisted);
        let node = &self.nodes[place];
        check(node, &mut self.ledger, is_persisting)?;
        let Some(replica) = &node.replica else { return Ok(()) };
        let shown = show(node, replica, node.clock(now));
        check_step(node, &shown, self.cause)?;
        let state = shown.state;
        let before = self.nodes[place].shown.replace(shown);
        if before.is_some_and(|before| before.state == state) {
            return Ok(());
        }
        if state.kind == EpochStateKind::Leader {
            self.ledger.elected(&self.nodes[place])?;
        }
        self.note(|cluster| format!("state   {}", cluster.describe(place)));
        Ok(())
    }

    pub(crate) fn carry_out(&mut self, place: usize, effect: Effect) -> Result<(), String> {
        let fault = self.fault_of(place);
        let fails = !self.is_healed && self.dice.happens(self.plan.disk_errors);
        let is_write = matches!(
            effect,
            Effect::Persist(_) | Effect::Append(_) | Effect::Flush { .. } | Effect::Truncate { .. }
        );
        if fails && is_write {
            self.note(|_| format!("disk    error at node {place}"));
            return self.crash(place);
        }
        let effect = match fault {
            Some(fault) => {
                let others: Vec<_> = (0..self.nodes.len()).map(|place| voter(place, 1)).collect();
                bug::effect(fault, &mut self.nodes[place], &others, effect)
            }
            None => effect,
        };
        let now = self.now;
        match effect {
            Effect::Persist(persist) => {
                self.ledger.persisted(&self.nodes[place], &persist)?;
                if fault != Some(Fault::VoteNotPersisted)
                    || self.nodes[place].disk.election().is_none()
                {
                    self.nodes[place].disk.persist(&persist);
                }
            }
            Effect::Send { correlation, to, request } => {
                let node = &mut self.nodes[place];
                if fault != Some(Fault::VoteNotPersisted) {
                    check_asked(node, &request)?;
                }
                let (clock, timeout_ms) = (node.clock(now), node.config.request_timeout_ms);
                // A resigned replica says so once more, and leaves the epoch in the same breath.
                let is_over = matches!(&request, Request::EndQuorumEpoch(end)
                    if end.epoch < node.state.epoch);
                if !is_over {
                    node.flights
                        .sent(to.id, correlation, &request, clock, timeout_ms)
                        .map_err(|clash| format!("node {place}: {clash}"))?;
                }
                self.send(place, place_of(&to), correlation, request);
            }
            Effect::Reply { request, reply } => self.reply(place, request, reply)?,
            Effect::Append(batch) => self.append(place, batch)?,
            Effect::Flush { end_offset } => {
                let at = now + self.dice.millis(self.plan.flush);
                let life = self.nodes[place].life;
                self.events.push(at, Event::Flushed { node: place, life, end_offset });
            }
            Effect::Truncate { end_offset } => self.truncate(place, end_offset)?,
            Effect::HighWatermark(offset) => {
                Ledger::counted(&self.nodes, &self.nodes[place], offset)?;
                self.seen.commits += self.ledger.committed_at(&self.nodes[place], offset)?;
            }
            Effect::OpenSnapshot(_) | Effect::DropSnapshot => self.nodes[place].received = 0,
            Effect::WriteSnapshot(bytes) => self.nodes[place].received += bytes.len(),
            Effect::InstallSnapshot(id) => self.install(place, id)?,
            Effect::Deliver { from, to } => self.deliver(place, from, to)?,
            Effect::LoadSnapshot(id) => self.load(place, id)?,
            Effect::LeaderChanged { leader_id, epoch } => {
                check_leader_change(&self.nodes[place], leader_id, epoch)?;
                self.nodes[place].machine.leader = Some((leader_id, epoch));
            }
            Effect::StartEpoch { .. } => {}
            Effect::ShutdownCompleted { .. } => self.crash(place)?,
            effect => return Err(format!("{effect:?} is not known")),
        }
        Ok(())
    }

    fn reply(&mut self, place: usize, id: RequestId, reply: Reply) -> Result<(), String> {
        let owed = self.nodes[place].owed.remove(&id);
        let owed = owed.ok_or_else(|| format!("node {place} answers {id:?} twice, or nobody"))?;
        let (Some((from, life, correlation)), Some(request)) = (owed.sender, owed.request) else {
            return Ok(());
        };
        let fault = self.fault_of(place);
        let mut answer = response(&self.nodes[place], &request, reply, fault, &mut self.dice);
        if fault != Some(Fault::VoteNotPersisted) {
            check_answered(&self.nodes[place], &self.ledger, &request, &answer)?;
        }
        if !self.is_healed && self.dice.happens(self.plan.refused) {
            refuse(&mut answer, &mut self.dice);
        }
        self.respond(place, from, life, correlation, &answer);
        Ok(())
    }
}
