//! The cluster and its world.

use crate::checks::{Ledger, digest};
use crate::disk::{Disk, Snapshot};
use crate::event::{Event, Events};
use crate::fault::Fault;
use crate::message::{hand_in, response, summary};
use crate::node::{Machine, Node, Owed, config, directory, endpoints, id, key, place_of, voter};
use crate::plan::Plan;
use bytes::Bytes;
use kafka_coordination::Random;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, BatchContent, ControlRecord, Correlation, Effect, EpochState,
    EpochStateKind, KRaftVersion, LogBatch, OffsetAndEpoch, RemoveVoter, Replica, Request,
    RequestId, Response, VoterSet,
};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::num::NonZeroU32;

/// Lines of a trace that are kept if nobody asked for all.
const TRACE: usize = 60;

/// Calls at one moment after which a replica does not come to rest.
const RESTLESS: u32 = 200;

/// The world's randomness.
pub(crate) struct Dice(Pcg64Mcg);

impl Dice {
    /// A number from 0 up to `bound`, exclusive.
    pub(crate) fn number(&mut self, bound: u32) -> u32 {
        self.0.below(NonZeroU32::new(bound).expect("a bound above 0"))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).expect("a small bound");
        usize::try_from(self.number(bound)).expect("a small number")
    }

    fn happens(&mut self, of_a_thousand: u32) -> bool {
        self.number(1_000) < of_a_thousand
    }

    fn millis(&mut self, most: u32) -> i64 {
        i64::from(self.number(most + 1))
    }
}

/// What a run has shown.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) commits: u64,
    pub(crate) is_stuck: bool,
    pub(crate) transitions: BTreeSet<(String, String)>,
}

pub(crate) struct Cluster {
    nodes: Vec<Node>,
    plan: Plan,
    dice: Dice,
    events: Events,
    now: i64,
    is_healed: bool,
    /// Pairs of nodes that do not hear each other, one way.
    cut: BTreeSet<(usize, usize)>,
    ledger: Ledger,
    fault: Option<Fault>,
    faulty: usize,
    next_request: u64,
    next_value: u64,
    /// The end of the log when the faults were over.
    goal: Option<i64>,
    kinds: BTreeMap<usize, EpochStateKind>,
    seen: Seen,
    trace: Vec<String>,
    is_traced: bool,
}

impl Cluster {
    pub(crate) fn new(seed: u64, fault: Option<Fault>, is_traced: bool) -> Self {
        let state = u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let mut dice = Dice(Pcg64Mcg::new(state | 1));
        let plan = Plan::new(&mut dice);
        let set = VoterSet::new((0..plan.voters).map(voter));
        let control =
            vec![ControlRecord::KRaftVersion(KRaftVersion::LATEST), ControlRecord::Voters(set)];
        let bootstrap = Snapshot { control, digest: 0 };
        let nodes = (0..plan.nodes).map(|place| {
            let mut disk = Disk::default();
            disk.snapshots.insert(OffsetAndEpoch::BOOTSTRAP, bootstrap.clone());
            let skew = dice.millis(plan.skew) - i64::from(plan.skew) / 2;
            let mut config = config(place, plan.nodes);
            config.auto_join = plan.auto_join;
            config.append_linger_ms = dice.number(30);
            Node {
                place,
                config,
                disk,
                replica: None,
                life: 0,
                random: Pcg64Mcg::new(u128::from(dice.number(u32::MAX)) << 1 | 1),
                skew,
                origin: dice.millis(1_000_000),
                paused_until: 0,
                owed: BTreeMap::new(),
                machine: Machine::default(),
                received: 0,
                woken_at: None,
            }
        });
        let nodes: Vec<_> = nodes.collect();
        let mut cluster = Self {
            faulty: dice.below(nodes.len()),
            nodes,
            plan,
            dice,
            events: Events::default(),
            now: 0,
            is_healed: false,
            cut: BTreeSet::new(),
            ledger: Ledger::default(),
            fault,
            next_request: 0,
            next_value: 0,
            goal: None,
            kinds: BTreeMap::new(),
            seen: Seen::default(),
            trace: Vec::new(),
            is_traced,
        };
        for node in 0..cluster.nodes.len() {
            let at = cluster.dice.millis(500);
            cluster.events.push(at, Event::Start { node });
        }
        let plan = cluster.plan.clone();
        cluster.events.push(plan.fault_every, Event::Fault);
        cluster.events.push(plan.append_every, Event::Append);
        cluster.events.push(plan.change_every, Event::Change);
        cluster.events.push(plan.snapshot_every, Event::Snapshot);
        cluster.events.push(plan.healed_at, Event::Heal);
        cluster
    }

    pub(crate) fn into_seen(self) -> Seen {
        self.seen
    }

    /// What happened, the last of it last.
    pub(crate) fn trace(&self) -> String {
        let kept = if self.is_traced { usize::MAX } else { TRACE };
        let first = self.trace.len().saturating_sub(kept);
        let mut text = format!("{:?}\n", self.plan);
        for line in &self.trace[first..] {
            writeln!(text, "{line}").expect("a text takes lines");
        }
        text
    }

    fn note(&mut self, line: impl FnOnce(&Self) -> String) {
        if !self.is_traced && self.trace.len() > TRACE * 4 {
            self.trace.drain(..TRACE * 3);
        }
        let line = format!("{:>6} {}", self.now, line(self));
        self.trace.push(line);
    }

    fn fault_of(&self, node: usize) -> Option<Fault> {
        self.fault.filter(|_| node == self.faulty)
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        while let Some((at, event)) = self.events.pop() {
            if at > self.plan.ends_at {
                break;
            }
            self.now = at;
            self.happen(event)?;
            if self.has_made_progress() {
                break;
            }
        }
        for node in &self.nodes {
            if !self.has_faulty_books() {
                Ledger::check_books(node)?;
            }
        }
        if self.has_made_progress() {
            return Ok(());
        }
        if self.is_stuck_by_a_removal() {
            self.seen.is_stuck = true;
            return Ok(());
        }
        let ends: Vec<_> = self.nodes.iter().map(|node| self.describe(node.place)).collect();
        Err(format!("no progress to {:?}: {ends:#?}", self.goal))
    }

    /// Whether the longest log is that of a leader that was about to remove itself and crashed before anybody else had
    /// the record: it stands for no election any more, as it is no voter by its own log, and grants no vote, as the
    /// others' logs are behind. Replicas of Kafka get stuck in the same way; a voter that comes back with that record
    /// ends it.
    fn is_stuck_by_a_removal(&self) -> bool {
        let replicas = self.nodes.iter().filter_map(|node| Some((node, node.replica.as_ref()?)));
        let end = |(_, replica): &(&Node, &Replica)| replica.log().end();
        let by_themselves = |(node, replica): &(&Node, &Replica)| {
            replica.control_log().voters().is_voter(&key(node.place))
        };
        let (voters, others): (Vec<_>, Vec<_>) = replicas.partition(by_themselves);
        others.iter().map(end).max() > voters.iter().map(end).max()
    }

    fn has_faulty_books(&self) -> bool {
        matches!(
            self.fault,
            Some(Fault::NotTruncated | Fault::StaleVoters | Fault::SnapshotKeepsLog)
        )
    }

    fn describe(&self, place: usize) -> String {
        let node = &self.nodes[place];
        let Some(replica) = &node.replica else { return format!("node {place} is down") };
        let state = replica.quorum().state();
        format!(
            "node {place} {:?} in {} of {:?}, log {}..{} committed to {}, voters {:?}",
            state.kind(),
            state.epoch(),
            state.leader_id(),
            replica.log().start_offset(),
            replica.log().end_offset(),
            replica.log().high_watermark(),
            replica.control_log().voters().ids().collect::<Vec<_>>(),
        )
    }

    /// Whether, after the faults, every node has what was appended after them.
    fn has_made_progress(&self) -> bool {
        let Some(goal) = self.goal else { return false };
        self.ledger.committed() > goal
            && self.nodes.iter().all(|node| {
                node.replica.as_ref().is_some_and(|replica| replica.log().high_watermark() > goal)
            })
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Wake { node } => self.wake(node),
            Event::Request { from, to, life, correlation, request } => {
                if let Some(until) = self.pause_of(to) {
                    let event = Event::Request { from, to, life, correlation, request };
                    self.events.push(until, event);
                    return Ok(());
                }
                self.request(from, to, life, correlation, request)
            }
            Event::Response { to, life, correlation, response } => {
                if let Some(until) = self.pause_of(to) {
                    self.events.push(until, Event::Response { to, life, correlation, response });
                    return Ok(());
                }
                self.response(to, life, correlation, response)
            }
            Event::Flushed { node, life, end_offset } => self.flushed(node, life, end_offset),
            Event::Start { node } => self.start(node),
            Event::Fault => self.misfortune(),
            Event::Append => self.client_append(),
            Event::Change => self.administrator(),
            Event::Snapshot => self.snapshot(),
            Event::Heal => self.heal(),
        }
    }

    fn pause_of(&self, node: usize) -> Option<i64> {
        Some(self.nodes[node].paused_until).filter(|until| *until > self.now)
    }

    fn start(&mut self, place: usize) -> Result<(), String> {
        let fault = self.fault_of(place);
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.replica.is_some() {
            return Ok(());
        }
        node.life += 1;
        node.owed.clear();
        node.machine = Machine::default();
        node.received = 0;
        let storage = node.disk.storage(fault);
        let clock = node.clock(now);
        let replica = Replica::start(node.config.clone(), storage, &mut node.random, clock);
        node.replica =
            Some(replica.map_err(|error| format!("node {place} does not start: {error}"))?);
        self.kinds.remove(&place);
        self.note(|cluster| format!("start   {}", cluster.describe(place)));
        self.settle(place)
    }

    fn crash(&mut self, place: usize) {
        let fault = self.fault_of(place);
        let (dice, node) = (&mut self.dice, &mut self.nodes[place]);
        if node.replica.take().is_none() {
            return;
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
    }

    fn wake(&mut self, place: usize) -> Result<(), String> {
        if let Some(until) = self.pause_of(place) {
            self.nodes[place].woken_at = Some(until);
            self.events.push(until, Event::Wake { node: place });
            return Ok(());
        }
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

    fn request(
        &mut self,
        from: usize,
        to: usize,
        life: u64,
        correlation: Correlation,
        request: Request,
    ) -> Result<(), String> {
        let fault = self.fault_of(to);
        let (now, node) = (self.now, &mut self.nodes[to]);
        if node.replica.is_none() {
            let error = kafka_coordination::ErrorCode::BrokerNotAvailable;
            self.respond(to, from, life, correlation, &Response::Failed(error));
            return Ok(());
        }
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let answer = hand_in(node, id, &request, fault, now);
        let owed = Owed { sender: Some((from, life, correlation)), request: Some(request) };
        match answer {
            Some(answer) => self.respond(to, from, life, correlation, &answer),
            None => {
                node.owed.insert(id, owed);
            }
        }
        self.settle(to)
    }

    fn response(
        &mut self,
        to: usize,
        life: u64,
        correlation: Correlation,
        response: Response,
    ) -> Result<(), String> {
        let (now, node) = (self.now, &mut self.nodes[to]);
        if node.life != life {
            return Ok(());
        }
        let clock = node.clock(now);
        let Some(replica) = &mut node.replica else { return Ok(()) };
        replica.handle_response(correlation, response, &mut node.random, clock);
        self.settle(to)
    }

    fn flushed(&mut self, place: usize, life: u64, end_offset: i64) -> Result<(), String> {
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

    /// Carries out what a replica has decided, and everything that follows from it at this moment.
    fn settle(&mut self, place: usize) -> Result<(), String> {
        for _ in 0..RESTLESS {
            while let Some(effect) =
                self.nodes[place].replica.as_mut().and_then(Replica::poll_effect)
            {
                self.carry_out(place, effect)?;
            }
            self.look_at(place)?;
            let (now, node) = (self.now, &mut self.nodes[place]);
            let clock = node.clock(now);
            let Some(replica) = &mut node.replica else { return Ok(()) };
            let Some(deadline) = replica.next_deadline() else { return Ok(()) };
            if deadline > clock {
                let at = node.time(deadline, now);
                if node.woken_at.is_none_or(|woken_at| woken_at > at || woken_at <= now) {
                    node.woken_at = Some(at);
                    self.events.push(at, Event::Wake { node: place });
                }
                return Ok(());
            }
            replica.handle_timeout(&mut node.random, clock);
        }
        Err(format!("node {place} does not come to rest"))
    }

    fn look_at(&mut self, place: usize) -> Result<(), String> {
        self.ledger.check(&self.nodes[place], self.fault.is_some())?;
        let Some(replica) = &self.nodes[place].replica else { return Ok(()) };
        let kind = replica.quorum().state().kind();
        let before = self.kinds.insert(place, kind);
        if before == Some(kind) {
            return Ok(());
        }
        if let Some(before) = before {
            self.seen.transitions.insert((format!("{before:?}"), format!("{kind:?}")));
        }
        if kind == EpochStateKind::Leader {
            self.ledger.elected(&self.nodes[place])?;
        }
        self.note(|cluster| format!("state   {}", cluster.describe(place)));
        Ok(())
    }

    fn carry_out(&mut self, place: usize, effect: Effect) -> Result<(), String> {
        let fault = self.fault_of(place);
        let fails = !self.is_healed && self.dice.happens(self.plan.disk_errors);
        let is_write = matches!(
            effect,
            Effect::Persist(_) | Effect::Append(_) | Effect::Flush { .. } | Effect::Truncate { .. }
        );
        if fails && is_write {
            self.note(|_| format!("disk    error at node {place}"));
            self.crash(place);
            return Ok(());
        }
        let now = self.now;
        match effect {
            Effect::Persist(persist) => {
                self.ledger.persisted(place, &persist)?;
                if fault != Some(Fault::VoteNotPersisted)
                    || self.nodes[place].disk.election().is_none()
                {
                    self.nodes[place].disk.persist(&persist);
                }
            }
            Effect::Send { correlation, to, request } => {
                self.send(place, place_of(&to), correlation, &request);
            }
            Effect::Reply { request, reply } => {
                let owed = self.nodes[place].owed.remove(&request);
                let Some(owed) = owed else {
                    return Err(format!("node {place} answers {request:?} twice, or nobody"));
                };
                if let (Some((from, life, correlation)), Some(request)) =
                    (owed.sender, owed.request)
                {
                    let answer =
                        response(&self.nodes[place], &request, reply, fault, &mut self.dice);
                    self.respond(place, from, life, correlation, &answer);
                }
            }
            Effect::Append(batch) => {
                let batch = if fault == Some(Fault::TwoVotersAtOnce) {
                    with_two_voters(batch, self.nodes.len())
                } else {
                    batch
                };
                self.nodes[place].disk.append(batch);
            }
            Effect::Flush { end_offset } => {
                let at = now + self.dice.millis(self.plan.flush);
                let life = self.nodes[place].life;
                self.events.push(at, Event::Flushed { node: place, life, end_offset });
            }
            Effect::Truncate { end_offset } => {
                let node = &mut self.nodes[place];
                let clock = node.clock(now);
                let end_offset = if fault == Some(Fault::NotTruncated) {
                    end_offset
                } else {
                    node.disk.truncate(end_offset)
                };
                let replica = node.replica.as_mut().expect("it is up");
                replica.truncated(end_offset, &mut node.random, clock);
                self.note(|_| format!("log     node {place} cut off at {end_offset}"));
            }
            Effect::HighWatermark(offset) => {
                self.seen.commits += self.ledger.committed_at(&self.nodes[place], offset)?;
            }
            Effect::OpenSnapshot(_) | Effect::DropSnapshot => self.nodes[place].received = 0,
            Effect::WriteSnapshot(bytes) => self.nodes[place].received += bytes.len(),
            Effect::InstallSnapshot(id) => self.install(place, id)?,
            Effect::Deliver { from, to } => self.deliver(place, from, to)?,
            Effect::LoadSnapshot(id) => {
                let node = &mut self.nodes[place];
                let snapshot = node.disk.snapshots.get(&id);
                let snapshot =
                    snapshot.ok_or_else(|| format!("node {place} has no snapshot {id}"))?;
                node.machine.next_offset = id.offset;
                node.machine.digest = snapshot.digest;
                let clock = node.clock(now);
                let replica = node.replica.as_mut().expect("it is up");
                replica.applied(id.offset, &mut node.random, clock);
                self.ledger.applied(&self.nodes[place])?;
            }
            Effect::LeaderChanged { leader_id, epoch } => {
                let node = &mut self.nodes[place];
                let last = node.machine.leader.replace((leader_id, epoch));
                if let Some((last_leader, last_epoch)) = last {
                    let is_news = epoch > last_epoch
                        || epoch == last_epoch && last_leader.is_none() && leader_id.is_some();
                    if !is_news {
                        return Err(format!(
                            "node {place} is told of {leader_id:?} in {epoch} late"
                        ));
                    }
                }
            }
            Effect::StartEpoch { .. } => {}
            Effect::ShutdownCompleted { .. } => self.crash(place),
            effect => return Err(format!("{effect:?} is not known")),
        }
        Ok(())
    }

    fn deliver(&mut self, place: usize, from: i64, to: i64) -> Result<(), String> {
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.machine.next_offset != from {
            return Err(format!(
                "node {place} is at {}, and gets {from}",
                node.machine.next_offset
            ));
        }
        while node.machine.next_offset < to {
            let offset = node.machine.next_offset;
            let batch = node.disk.batch_at(offset).filter(|batch| batch.base_offset == offset);
            let batch = batch.ok_or_else(|| format!("node {place} has no batch at {offset}"))?;
            node.machine.digest = digest(node.machine.digest, batch);
            node.machine.next_offset = batch.last_offset + 1;
        }
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it is up");
        replica.applied(to, &mut node.random, clock);
        self.ledger.applied(&self.nodes[place])
    }

    fn install(&mut self, place: usize, id: OffsetAndEpoch) -> Result<(), String> {
        let fault = self.fault_of(place);
        let snapshot = self.ledger.snapshot(id).cloned();
        let snapshot = snapshot.ok_or_else(|| format!("nobody has made snapshot {id}"))?;
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.received != crate::message::SNAPSHOT_SIZE {
            return Err(format!("node {place} has {} bytes of a snapshot", node.received));
        }
        node.received = 0;
        let control = snapshot.control.clone();
        node.disk.snapshots.insert(id, snapshot);
        if fault != Some(Fault::SnapshotKeepsLog) {
            node.disk.restart_at(id);
        }
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it is up");
        replica.snapshot_installed(id, control, &mut node.random, clock);
        self.note(|_| format!("log     node {place} starts at snapshot {id}"));
        Ok(())
    }

    fn send(&mut self, from: usize, to: usize, correlation: Correlation, request: &Request) {
        self.note(|_| format!("send    {from} -> {to}: {}", summary(request)));
        let life = self.nodes[from].life;
        for at in self.arrivals(from, to) {
            let request = request.clone();
            self.events.push(at, Event::Request { from, to, life, correlation, request });
        }
    }

    fn respond(
        &mut self,
        from: usize,
        to: usize,
        life: u64,
        correlation: Correlation,
        response: &Response,
    ) {
        for at in self.arrivals(from, to) {
            let response = response.clone();
            self.events.push(at, Event::Response { to, life, correlation, response });
        }
    }

    /// When a message arrives: never, once or twice.
    fn arrivals(&mut self, from: usize, to: usize) -> Vec<i64> {
        let plan = &self.plan;
        if self.is_healed {
            return vec![self.now + 1 + self.dice.millis(plan.delay)];
        }
        if self.cut.contains(&(from, to)) || self.dice.happens(plan.lost) {
            return Vec::new();
        }
        let times = if self.dice.happens(plan.doubled) { 2 } else { 1 };
        let mut at = || {
            let factor = if self.dice.happens(50) { 20 } else { 1 };
            self.now + 1 + self.dice.millis(plan.delay) * factor
        };
        (0..times).map(|_| at()).collect()
    }

    /// A node that leads, as far as it knows.
    fn leader(&self) -> Option<usize> {
        let leads = |node: &&Node| {
            let replica = node.replica.as_ref();
            replica.is_some_and(|it| matches!(it.quorum().state(), EpochState::Leader(_)))
        };
        let latest = |node: &&Node| node.replica.as_ref().map(|it| it.quorum().epoch());
        self.nodes.iter().filter(leads).max_by_key(latest).map(|node| node.place)
    }

    fn client_append(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.append_every, Event::Append);
        let Some(place) = self.leader() else { return Ok(()) };
        let count = 1 + self.dice.below(3);
        let values = (0..count).map(|_| {
            self.next_value += 1;
            Bytes::copy_from_slice(&self.next_value.to_be_bytes())
        });
        let values: Vec<_> = values.collect();
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it leads");
        let epoch = replica.quorum().epoch();
        if replica.prepare_append(epoch, values, clock).is_ok() {
            replica.schedule_append(clock).expect("it leads");
        }
        self.settle(place)
    }

    /// Adds or removes a voter.
    fn administrator(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.change_every, Event::Change);
        if self.is_healed {
            return Ok(());
        }
        let Some(place) = self.leader() else { return Ok(()) };
        let target = self.dice.below(self.nodes.len());
        let request = RequestId(self.next_request);
        self.next_request += 1;
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        node.owed.insert(request, Owed { sender: None, request: None });
        let replica = node.replica.as_mut().expect("it leads");
        let voters = replica.control_log().voters();
        if voters.is_voter(&key(target)) {
            if voters.len() == 1 {
                node.owed.remove(&request);
                return Ok(());
            }
            let remove = RemoveVoter { cluster_id: None, voter: key(target) };
            replica.handle_remove_voter(request, &remove, &mut node.random, clock);
        } else {
            let add = AddVoter {
                cluster_id: None,
                voter: key(target),
                endpoints: endpoints(target),
                acknowledge: Acknowledge::Committed,
            };
            replica.handle_add_voter(request, &add, &mut node.random, clock);
        }
        self.note(|_| format!("change  at {place} of voter {}/{}", id(target), directory(target)));
        self.settle(place)
    }

    /// A node makes a snapshot of what its state machine has, and may delete what is before an older one.
    fn snapshot(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.snapshot_every, Event::Snapshot);
        let place = self.dice.below(self.nodes.len());
        let deletes = self.dice.happens(700);
        let node = &mut self.nodes[place];
        let Some(replica) = &mut node.replica else { return Ok(()) };
        let offset = node.machine.next_offset;
        let Some(epoch) = node.disk.epoch_of_end(offset) else { return Ok(()) };
        let id = OffsetAndEpoch::new(offset, epoch);
        if !replica.may_make_snapshot(id) {
            return Ok(());
        }
        let control = replica.control_log();
        let voters = control.voters_at(offset - 1).expect("it is read").cloned();
        let version = control.kraft_version_at(offset - 1).expect("it is read");
        let mut records = vec![ControlRecord::KRaftVersion(version)];
        records.extend(voters.map(ControlRecord::Voters));
        let snapshot = Snapshot { control: records, digest: node.machine.digest };
        self.ledger.snapshot_made(id, &snapshot)?;
        node.disk.snapshots.insert(id, snapshot);
        if !replica.snapshot_made(id) {
            return Err(format!("node {place} may make snapshot {id} and may not"));
        }
        if deletes && replica.delete_before(id) {
            node.disk.delete_before(id);
        }
        self.note(|_| format!("log     node {place} makes snapshot {id}, deletes: {deletes}"));
        Ok(())
    }

    /// Something goes wrong, or right again.
    fn misfortune(&mut self) -> Result<(), String> {
        if self.is_healed {
            return Ok(());
        }
        self.events
            .push(self.now + 1 + self.dice.millis(2) * self.plan.fault_every / 2, Event::Fault);
        let place = self.dice.below(self.nodes.len());
        match self.dice.number(8) {
            0 | 1 => self.crash(place),
            2 => {
                let until = self.now + self.dice.millis(4_000);
                self.nodes[place].paused_until = until;
                self.note(|_| format!("pause   node {place} until {until}"));
            }
            3 => {
                let half: BTreeSet<_> =
                    (0..self.nodes.len()).filter(|_| self.dice.happens(500)).collect();
                for one in 0..self.nodes.len() {
                    for other in 0..self.nodes.len() {
                        if half.contains(&one) != half.contains(&other) {
                            self.cut.insert((one, other));
                        }
                    }
                }
                self.note(|_| format!("network split off {half:?}"));
            }
            4 => {
                let other = self.dice.below(self.nodes.len());
                self.cut.insert((place, other));
                self.note(|_| format!("network cut {place} -> {other}"));
            }
            5 | 6 => {
                self.cut.clear();
                self.note(|_| String::from("network whole"));
            }
            _ => {
                let (now, node) = (self.now, &mut self.nodes[place]);
                let clock = node.clock(now);
                if let Some(replica) = &mut node.replica {
                    replica.shut_down(3_000, clock);
                    self.note(|_| format!("leave   node {place}"));
                    return self.settle(place);
                }
            }
        }
        if self.fault.is_none() && self.dice.happens(200) {
            for node in &self.nodes {
                Ledger::check_books(node)?;
            }
        }
        Ok(())
    }

    fn heal(&mut self) -> Result<(), String> {
        self.is_healed = true;
        self.cut.clear();
        let ends = self.nodes.iter().map(|node| node.disk.end_offset());
        self.goal = ends.max();
        self.note(|_| String::from("healed"));
        for place in 0..self.nodes.len() {
            self.nodes[place].paused_until = 0;
            if self.nodes[place].replica.is_none() {
                self.start(place)?;
            }
            self.nodes[place].woken_at = None;
            self.settle(place)?;
        }
        Ok(())
    }
}

/// The batch with another node among the voters that it names.
fn with_two_voters(batch: LogBatch, nodes: usize) -> LogBatch {
    let BatchContent::Control(records) = batch.content else { return batch };
    let records = records.into_iter().map(|record| match record {
        ControlRecord::Voters(voters) if voters.len() > 1 => {
            let other = (0..nodes).map(voter).find(|other| voters.get(other.key.id).is_none());
            let both = other.and_then(|other| voters.add_voter(other).ok());
            ControlRecord::Voters(both.unwrap_or(voters))
        }
        record => record,
    });
    LogBatch { content: BatchContent::Control(records.collect()), ..batch }
}
