//! The cluster, and the order in which things happen to it.

use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::disk::{Disk, Snapshot};
use crate::event::{Event, Events};
use crate::fault::Fault;
use crate::flight::Flights;
use crate::ledger::Ledger;
use crate::local::{Cause, check_books};
use crate::node::{Age, Machine, Node, config, key, static_voter, voter};
use crate::plan::{Home, Plan};
use crate::stuck::why_stuck;
use crate::transitions::{self, State};
use kafka_coordination::kraft::{
    ControlRecord, EpochState, EpochStateKind, KRaftVersion, OffsetAndEpoch, VoterSet,
};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Milliseconds in which a leader has to be found when the faults are over: ten of the longest election time-outs.
const ELECTION: i64 = 20_000;

/// What a run has shown.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) commits: u64,
    /// Milliseconds from the end of the faults to that of the run.
    pub(crate) recovery: i64,
    pub(crate) is_stuck: bool,
    pub(crate) coverage: Coverage,
}

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) plan: Plan,
    pub(crate) dice: Dice,
    pub(crate) events: Events,
    pub(crate) now: i64,
    pub(crate) is_healed: bool,
    /// Pairs of nodes that do not hear each other, one way.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// The node that has lost a disk.
    pub(crate) wiped: Option<usize>,
    pub(crate) ledger: Ledger,
    pub(crate) fault: Option<Fault>,
    pub(crate) faulty: usize,
    pub(crate) next_request: u64,
    pub(crate) next_value: u64,
    /// What is handed to a replica now.
    pub(crate) cause: Cause,
    /// The end of the log when the faults were over.
    pub(crate) goal: Option<i64>,
    has_led_since: bool,
    pub(crate) seen: Seen,
    trace: Option<Vec<String>>,
}

impl Cluster {
    pub(crate) fn new(seed: u64, fault: Option<Fault>, is_traced: bool) -> Self {
        let mut dice = Dice::new(seed);
        let plan = Plan::new(&mut dice);
        Self::with(plan, dice, fault, is_traced)
    }

    pub(crate) fn with(plan: Plan, mut dice: Dice, fault: Option<Fault>, is_traced: bool) -> Self {
        transitions::listen();
        let places = 0..plan.voters;
        let voters: VoterSet = if plan.home.is_static() {
            places.map(static_voter).collect()
        } else {
            places.map(|place| voter(place, plan.listeners_known)).collect()
        };
        let nodes: Vec<_> =
            (0..plan.nodes).map(|place| new_node(place, &voters, &plan, &mut dice)).collect();
        let mut cluster = Self {
            faulty: dice.below(nodes.len()),
            nodes,
            plan,
            dice,
            events: Events::default(),
            now: 0,
            is_healed: false,
            cut: BTreeSet::new(),
            wiped: None,
            ledger: Ledger::new(voters),
            fault,
            next_request: 0,
            next_value: 0,
            cause: Cause::Other,
            goal: None,
            has_led_since: false,
            seen: Seen::default(),
            trace: is_traced.then(Vec::new),
        };
        for node in 0..cluster.nodes.len() {
            let at = cluster.dice.millis(500);
            cluster.events.push(at, Event::Start { node });
        }
        let plan = &cluster.plan;
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
        let mut text = format!("{:#?}\n", self.plan);
        for line in self.trace.iter().flatten() {
            writeln!(text, "{line}").expect("a text takes lines");
        }
        text
    }

    pub(crate) fn note(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let line = format!("{:>6} {}", self.now, line(self));
            self.trace.get_or_insert_default().push(line);
        }
    }

    pub(crate) fn fault_of(&self, node: usize) -> Option<Fault> {
        self.fault.filter(|_| node == self.faulty)
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        while let Some((at, event)) = self.events.pop() {
            if at > self.plan.ends_at {
                break;
            }
            self.now = at;
            self.cause = Cause::Other;
            self.happen(event)?;
            if self.has_made_progress() {
                break;
            }
        }
        let has_own_books = self.fault.is_some_and(Fault::is_in_the_books);
        for node in self.nodes.iter().filter(|_| !has_own_books) {
            check_books(node)?;
        }
        self.ledger.check_kept(&self.nodes)?;
        self.seen.recovery = self.now - self.plan.healed_at;
        if self.has_made_progress() {
            return Ok(());
        }
        if let Some(reason) = why_stuck(&self.nodes) {
            self.seen.is_stuck = true;
            self.note(|_| format!("stuck   {reason}"));
            return Ok(());
        }
        let ends: Vec<_> = self.nodes.iter().map(|node| self.describe(node.place)).collect();
        Err(format!("no progress to {:?}: {ends:#?}", self.goal))
    }

    pub(crate) fn describe(&self, place: usize) -> String {
        let node = &self.nodes[place];
        let Some(replica) = &node.replica else { return format!("node {place} is down") };
        let state = replica.quorum().state();
        format!(
            "node {place} {:?} in {} of {:?}, log {}..{} of {} committed to {}, voters {:?}",
            state.kind(),
            state.epoch(),
            state.leader_id(),
            replica.log().start_offset(),
            replica.log().end_offset(),
            replica.log().last_fetched_epoch(),
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

    /// The nodes that lead, as far as they know, the latest last.
    pub(crate) fn leader(&self) -> Option<usize> {
        let leads = |node: &&Node| {
            let replica = node.replica.as_ref();
            replica.is_some_and(|it| matches!(it.quorum().state(), EpochState::Leader(_)))
        };
        let latest = |node: &&Node| node.replica.as_ref().map(|it| it.quorum().epoch());
        self.nodes.iter().filter(leads).max_by_key(latest).map(|node| node.place)
    }

    /// When the faults are over, a leader is found in time.
    fn check_leader(&mut self) -> Result<(), String> {
        self.has_led_since |= self.leader().is_some();
        let is_late = self.now - self.plan.healed_at > ELECTION;
        if self.is_healed && is_late && !self.has_led_since && why_stuck(&self.nodes).is_none() {
            let states = self.nodes.iter().map(|node| self.describe(node.place));
            return Err(format!("nobody leads: {:#?}", states.collect::<Vec<_>>()));
        }
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        let to = match event {
            Event::Wake { node } => Some(node),
            Event::Request { to, .. } | Event::Response { to, .. } => Some(to),
            _ => None,
        };
        if let Some(to) = to {
            let until = self.nodes[to].paused_until;
            if until > self.now {
                if matches!(event, Event::Wake { .. }) {
                    self.nodes[to].woken_at = Some(until);
                }
                self.events.push(until, event);
                return Ok(());
            }
        }
        match event {
            Event::Wake { node } => self.wake(node),
            Event::Request { from, to, life, correlation, request } => {
                self.request(from, to, life, correlation, request)
            }
            Event::Response { from, to, life, correlation, response } => {
                self.response(from, to, life, correlation, response)
            }
            Event::Flushed { node, life, end_offset } => self.flushed(node, life, end_offset),
            Event::Start { node } => self.start(node),
            Event::Fault => self.misfortune(),
            Event::Append => {
                self.check_leader()?;
                self.client_append()
            }
            Event::Change => self.administrator(),
            Event::Snapshot => self.snapshot(),
            Event::Heal => {
                self.has_led_since = false;
                self.heal()
            }
        }
    }
}

fn new_node(place: usize, voters: &VoterSet, plan: &Plan, dice: &mut Dice) -> Node {
    let static_voters = if plan.home.is_static() { voters.clone() } else { VoterSet::empty() };
    let mut disk = Disk::new(key(place), static_voters);
    if !plan.home.is_static() && (place < plan.voters || !plan.strangers) {
        let version = ControlRecord::KRaftVersion(KRaftVersion::LATEST);
        let control = vec![version, ControlRecord::Voters(voters.clone())];
        disk.snapshots.insert(OffsetAndEpoch::BOOTSTRAP, Snapshot { control, digest: 0 });
    }
    let skew = dice.millis(plan.skew) - i64::from(plan.skew) / 2;
    let mut config = config(place, plan.nodes, plan.listeners);
    config.auto_join = plan.auto_join;
    config.append_linger_ms = dice.number(30);
    let age = match dice.happens(plan.old) {
        true if plan.home == Home::Configuration => Age::WithoutDirectories,
        true => Age::WithoutPreVotes,
        false => Age::New,
    };
    Node {
        place,
        age,
        config,
        disk,
        lost: None,
        replica: None,
        life: 0,
        random: Pcg64Mcg::new(u128::from(dice.number(u32::MAX)) << 1 | 1),
        skew,
        origin: dice.millis(1_000_000),
        paused_until: 0,
        owed: BTreeMap::new(),
        flights: Flights::default(),
        machine: Machine::default(),
        prepared: Vec::new(),
        received: 0,
        woken_at: None,
        state: State { kind: EpochStateKind::Unattached, epoch: 0, leader: None },
        generation: 0,
        shown: None,
        unread: BTreeMap::new(),
        unread_below: 0,
    }
}
