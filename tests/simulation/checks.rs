//! What has to hold in every state of a cluster.
//!
//! - One leader an epoch, one vote a replica and epoch.
//! - What is committed once is committed for good, the same everywhere, and every later leader has it.
//! - Voters that follow each other in the committed log have overlapping majorities.
//! - A replica's high watermark and epoch never go back, and its view of voters is that of its log.
//! - State machines are fed without gaps, and all come to the same state.

use crate::disk::{Snapshot, control_records};
use crate::node::Node;
use bytes::Bytes;
use kafka_coordination::kraft::{
    BatchContent, ControlRecord, EpochState, LogBatch, OffsetAndEpoch, Persist, ReplicaKey,
    VoterSet,
};
use std::collections::BTreeMap;

/// What the cluster as a whole has agreed on.
#[derive(Default)]
pub(crate) struct Ledger {
    leaders: BTreeMap<i32, i32>,
    votes: BTreeMap<(usize, i32), ReplicaKey>,
    epochs: BTreeMap<usize, i32>,
    high_watermarks: BTreeMap<usize, (u64, i64)>,
    committed: Vec<LogBatch>,
    /// What the state machine is at the ends of the committed batches.
    digests: BTreeMap<i64, u64>,
    snapshots: BTreeMap<OffsetAndEpoch, Snapshot>,
    voters: Option<VoterSet>,
}

/// The values of a batch, joined.
fn values(batch: &LogBatch) -> Bytes {
    match &batch.content {
        BatchContent::Records(values) => Bytes::from(values.concat()),
        BatchContent::Control(_) => Bytes::new(),
        BatchContent::Encoded { bytes, .. } => bytes.clone(),
    }
}

fn is_same(one: &LogBatch, other: &LogBatch) -> bool {
    let place = |batch: &LogBatch| (batch.base_offset, batch.last_offset, batch.epoch);
    place(one) == place(other)
        && values(one) == values(other)
        && control_records(one) == control_records(other)
}

/// What a state machine becomes by a batch.
pub(crate) fn digest(state: u64, batch: &LogBatch) -> u64 {
    let values = values(batch);
    let offset = batch.base_offset.to_be_bytes();
    let bytes = offset.iter().chain(values.iter());
    bytes.fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Ledger {
    pub(crate) fn committed(&self) -> i64 {
        self.committed.last().map_or(0, |batch| batch.last_offset + 1)
    }

    /// A replica has made this election state durable.
    pub(crate) fn persisted(&mut self, place: usize, persist: &Persist) -> Result<(), String> {
        let election = &persist.election;
        let epoch = election.epoch();
        let last = self.epochs.entry(place).or_insert(epoch);
        if *last > epoch {
            return Err(format!("node {place} goes back from epoch {last} to {epoch}"));
        }
        *last = epoch;
        if let Some(key) = election.voted_key() {
            let voted = self.votes.entry((place, epoch)).or_insert(key);
            if *voted != key {
                return Err(format!("node {place} votes for {voted} and {key} in epoch {epoch}"));
            }
        }
        if let Some(leader) = election.leader_id() {
            self.led_by(epoch, leader)?;
        }
        Ok(())
    }

    fn led_by(&mut self, epoch: i32, leader: i32) -> Result<(), String> {
        let known = *self.leaders.entry(epoch).or_insert(leader);
        if known == leader {
            return Ok(());
        }
        Err(format!("epoch {epoch} is led by {known} and by {leader}"))
    }

    /// A replica was elected: it has everything that is committed.
    pub(crate) fn elected(&self, node: &Node) -> Result<(), String> {
        let log = &node.disk.log;
        let start = log.first().map_or_else(|| node.disk.end_offset(), |batch| batch.base_offset);
        for batch in self.committed.iter().filter(|batch| batch.base_offset >= start) {
            let held = node.disk.batch_at(batch.base_offset);
            if !held.is_some_and(|held| is_same(held, batch)) {
                let place = node.place;
                return Err(format!(
                    "leader {place} misses what is committed: {batch:?}, has {held:?}"
                ));
            }
        }
        if node.disk.end_offset() < self.committed() {
            return Err(format!("leader {} ends before what is committed", node.place));
        }
        Ok(())
    }

    /// A replica says that its log is committed up to here. Gives how many records that is news of.
    pub(crate) fn committed_at(&mut self, node: &Node, offset: i64) -> Result<u64, String> {
        let place = node.place;
        let last = self.high_watermarks.entry(place).or_insert((node.life, 0));
        if last.0 == node.life && last.1 > offset {
            return Err(format!(
                "the high watermark of node {place} goes from {} to {offset}",
                last.1
            ));
        }
        let from = if last.0 == node.life { last.1 } else { 0 };
        *last = (node.life, offset);
        let mut news = 0;
        for batch in &node.disk.log {
            if batch.last_offset < from {
                continue;
            }
            if batch.base_offset >= offset {
                break;
            }
            if batch.last_offset >= offset {
                return Err(format!("node {place} commits {offset}, in the middle of {batch:?}"));
            }
            let known =
                self.committed.partition_point(|known| known.last_offset < batch.base_offset);
            match self.committed.get(known) {
                Some(known) if is_same(known, batch) => {}
                Some(known) => {
                    return Err(format!(
                        "node {place} commits {batch:?}, where {known:?} is committed"
                    ));
                }
                None => {
                    news += u64::try_from(batch.last_offset - batch.base_offset).unwrap_or(0) + 1;
                    self.commit(batch.clone())?;
                }
            }
        }
        Ok(news)
    }

    fn commit(&mut self, batch: LogBatch) -> Result<(), String> {
        if batch.base_offset != self.committed() {
            return Err(format!("{batch:?} is committed, and what is before it is not"));
        }
        for record in control_records(&batch).unwrap_or_default() {
            if let ControlRecord::Voters(voters) = record {
                let overlaps =
                    self.voters.as_ref().is_none_or(|last| last.has_overlapping_majority(voters));
                if !overlaps {
                    return Err(format!("{voters:?} does not overlap with {:?}", self.voters));
                }
                self.voters = Some(voters.clone());
            }
        }
        let state = self.digests.last_key_value().map_or(0, |(_, state)| *state);
        self.digests.insert(batch.last_offset + 1, digest(state, &batch));
        self.committed.push(batch);
        Ok(())
    }

    /// The state machine of a node is at `offset`.
    pub(crate) fn applied(&self, node: &Node) -> Result<(), String> {
        let (offset, state) = (node.machine.next_offset, node.machine.digest);
        match self.digests.get(&offset) {
            Some(expected) if *expected != state => {
                Err(format!("the state machine of node {} differs at {offset}", node.place))
            }
            None if offset > 0 => Err(format!(
                "the state machine of node {} is at {offset}, which is not committed",
                node.place
            )),
            _ => Ok(()),
        }
    }

    /// A snapshot was made, which is the same whoever makes it.
    pub(crate) fn snapshot_made(
        &mut self,
        id: OffsetAndEpoch,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        let known = self.snapshots.entry(id).or_insert_with(|| snapshot.clone());
        if known == snapshot {
            return Ok(());
        }
        Err(format!("snapshot {id} is {known:?} and {snapshot:?}"))
    }

    pub(crate) fn snapshot(&self, id: OffsetAndEpoch) -> Option<&Snapshot> {
        self.snapshots.get(&id)
    }

    /// What holds of a replica by itself.
    pub(crate) fn check(&mut self, node: &Node, fault: bool) -> Result<(), String> {
        let Some(replica) = &node.replica else { return Ok(()) };
        let place = node.place;
        if let Some(fatal) = replica.fatal() {
            return Err(format!("node {place} has stopped: {fatal}"));
        }
        let state = replica.quorum().state();
        if let Some(leader) = state.leader_id() {
            self.led_by(state.epoch(), leader)?;
        }
        let is_durable =
            node.disk.election().is_some_and(|election| election == node_election(node));
        if !is_durable && !fault {
            let (disk, memory) = (node.disk.election(), replica.quorum().election());
            return Err(format!("node {place} is {memory:?}, and {disk:?} is durable"));
        }
        match state {
            EpochState::Follower(follower)
                if follower.leader_endpoints().is_empty() || follower.leader_id() == node.id() =>
            {
                return Err(format!("node {place} follows {}", follower.leader_id()));
            }
            EpochState::Leader(leader) => {
                let start = leader.epoch_start_offset();
                if leader.high_watermark().is_some_and(|offset| offset <= start) {
                    return Err(format!("leader {place} commits nothing of its own epoch"));
                }
            }
            _ => {}
        }
        let log = replica.log();
        if !(log.start_offset() <= log.high_watermark() && log.high_watermark() <= log.end_offset())
        {
            return Err(format!("the log of node {place} is {log:?}"));
        }
        Ok(())
    }

    /// What a replica knows of its log is what its disk says. Costly.
    pub(crate) fn check_books(node: &Node) -> Result<(), String> {
        let Some(replica) = &node.replica else { return Ok(()) };
        let place = node.place;
        let ends = (node.disk.end_offset(), replica.log().end_offset());
        if ends.0 != ends.1 {
            return Err(format!(
                "the log of node {place} ends at {} and not at {}",
                ends.0, ends.1
            ));
        }
        let scratch = node.disk.control_log(None);
        let books = replica.control_log();
        let view = |log: &kafka_coordination::kraft::ControlLog| {
            (log.voters().clone(), log.kraft_version(), log.next_offset())
        };
        if view(&scratch) != view(books) {
            return Err(format!(
                "node {place} reads {:?}, its log says {:?}",
                view(books),
                view(&scratch)
            ));
        }
        Ok(())
    }
}

/// The state as a file of the same version would keep it.
fn node_election(node: &Node) -> kafka_coordination::kraft::ElectionState {
    let replica = node.replica.as_ref().expect("it is up");
    let file = replica.quorum().election();
    let stored = node.disk.election().expect("the start persists");
    // Files of version 1 hold no voters, and those of version 0 may hold older ones.
    let leader = file.leader_id();
    let voters = stored.voters().iter().copied();
    match (leader, file.voted_key()) {
        (Some(leader), key) => kafka_coordination::kraft::ElectionState::with_elected_leader(
            file.epoch(),
            leader,
            key,
            voters,
        ),
        (None, Some(key)) => kafka_coordination::kraft::ElectionState::with_voted_candidate(
            file.epoch(),
            key,
            voters,
        ),
        (None, None) => {
            Ok(kafka_coordination::kraft::ElectionState::with_unknown_leader(file.epoch(), voters))
        }
    }
    .expect("ids are not negative")
}
