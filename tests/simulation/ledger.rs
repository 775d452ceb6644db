//! What has to hold of a cluster, whatever happens.
//!
//! - One leader an epoch; one vote a replica and epoch, over restarts; a leader has the votes of a majority.
//! - Two logs that have one batch in common are the same up to there.
//! - What is committed a majority of the voters has made durable; it is committed for good, the same everywhere; every
//!   later leader has it, and a voter as long as the cluster lives.
//! - Voters that follow each other in the committed log differ in one, and the level of `kraft.version` does not go down.
//! - State machines all come to the same state, and so do snapshots.

use crate::disk::{Snapshot, control_records};
use crate::node::Node;
use bytes::Bytes;
use kafka_coordination::kraft::{
    BatchContent, ControlRecord, ElectionState, EpochState, KRaftVersion, LogBatch, OffsetAndEpoch,
    Persist, ReplicaKey, VoterSet,
};
use std::collections::BTreeMap;

/// What the cluster as a whole has agreed on.
#[derive(Default)]
pub(crate) struct Ledger {
    leaders: BTreeMap<i32, i32>,
    votes: BTreeMap<(ReplicaKey, i32), ReplicaKey>,
    /// The last election state that each replica has made durable.
    elections: BTreeMap<ReplicaKey, ElectionState>,
    high_watermarks: BTreeMap<ReplicaKey, (u64, i64)>,
    /// Of the batches that were ever appended, by their last offset and epoch: what the log is up to there.
    prefixes: BTreeMap<(i64, i32), u64>,
    pub(crate) committed: Vec<LogBatch>,
    /// Of each of them, the epoch in which it was.
    committed_in: Vec<i32>,
    /// What the state machine is at the ends of the committed batches.
    digests: BTreeMap<i64, u64>,
    snapshots: BTreeMap<OffsetAndEpoch, Snapshot>,
    voters: VoterSet,
    version: KRaftVersion,
}

/// Whether two keys mean one replica, of which one may say no directory: older versions do not.
fn is_one(one: &ReplicaKey, other: &ReplicaKey) -> bool {
    one.matches(other) || other.matches(one)
}

/// How many voters come or go; where directories are not known, by their ids.
fn difference(one: &VoterSet, other: &VoterSet) -> usize {
    let lacks = |set: &VoterSet, key: &ReplicaKey| !set.keys().any(|voter| is_one(&voter, key));
    let goes = one.keys().filter(|key| lacks(other, key));
    let comes = other.keys().filter(|key| lacks(one, key));
    goes.count() + comes.count()
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
    /// Of a cluster with these first voters.
    pub(crate) fn new(voters: VoterSet) -> Self {
        Self { voters, ..Self::default() }
    }

    pub(crate) fn committed(&self) -> i64 {
        self.committed.last().map_or(0, |batch| batch.last_offset + 1)
    }

    /// A replica has made this election state durable.
    pub(crate) fn persisted(&mut self, node: &Node, persist: &Persist) -> Result<(), String> {
        let (place, election) = (node.place, &persist.election);
        let (epoch, leader, voted) = (election.epoch(), election.leader_id(), election.voted_key());
        let last = self.elections.insert(node.key(), election.clone());
        if let Some(last) = last {
            if last.epoch() > epoch {
                return Err(format!(
                    "node {place} goes back from epoch {} to {epoch}",
                    last.epoch()
                ));
            }
            let is_same_epoch = last.epoch() == epoch;
            if is_same_epoch && last.leader_id().is_some() && last.leader_id() != leader {
                return Err(format!("node {place} forgets who leads epoch {epoch}"));
            }
            let leads = leader == Some(node.id());
            if is_same_epoch && last.voted_key().is_some() && voted.is_none() && !leads {
                return Err(format!("node {place} forgets its vote in epoch {epoch}"));
            }
        }
        if let Some(key) = voted {
            let known = self.votes.entry((node.key(), epoch)).or_insert(key);
            if !is_one(known, &key) {
                return Err(format!("node {place} votes for {known} and {key} in epoch {epoch}"));
            }
        }
        leader.map_or(Ok(()), |leader| self.led_by(epoch, leader))
    }

    /// A vote is granted: it is durable.
    pub(crate) fn granted(
        &self,
        node: &Node,
        epoch: i32,
        candidate: &ReplicaKey,
    ) -> Result<(), String> {
        let vote = self.votes.get(&(node.key(), epoch));
        let on_disk = node.disk.election().filter(|election| election.epoch() == epoch);
        let on_disk = on_disk.and_then(|election| election.voted_key());
        if [vote, on_disk.as_ref()].iter().all(|vote| vote.is_some_and(|it| is_one(it, candidate)))
        {
            return Ok(());
        }
        Err(format!(
            "node {} grants {candidate} its vote in epoch {epoch}, and {on_disk:?} is durable",
            node.place
        ))
    }

    pub(crate) fn led_by(&mut self, epoch: i32, leader: i32) -> Result<(), String> {
        let known = *self.leaders.entry(epoch).or_insert(leader);
        if known == leader {
            return Ok(());
        }
        Err(format!("epoch {epoch} is led by {known} and by {leader}"))
    }

    /// A replica was elected: by a majority, and it has everything that was committed in earlier epochs. A vote may come so
    /// late that there are later ones.
    pub(crate) fn elected(&self, node: &Node) -> Result<(), String> {
        let replica = node.replica.as_ref().expect("it is up");
        let EpochState::Leader(leader) = replica.quorum().state() else { return Ok(()) };
        let (place, epoch) = (node.place, leader.epoch());
        let has_voted = |id: &i32| {
            let mut votes = self.votes.iter().filter(|((voter, _), _)| voter.id == *id);
            votes.any(|((_, given), vote)| *given == epoch && is_one(vote, &node.key()))
        };
        let votes = leader.granting_voters();
        if let Some(id) = votes.iter().find(|id| !has_voted(id)) {
            return Err(format!("leader {place} of epoch {epoch} has no vote of {id}"));
        }
        if votes.len() < leader.voters().majority() {
            return Err(format!(
                "leader {place} of epoch {epoch} has the votes of {votes:?} alone"
            ));
        }
        let start = node.disk.start_offset();
        let first = self.committed.partition_point(|batch| batch.base_offset < start);
        let end = self.committed_in.partition_point(|committed| *committed < epoch).max(first);
        for batch in &self.committed[first..end] {
            let held = node.disk.batch_at(batch.base_offset);
            if !held.is_some_and(|held| is_same(held, batch)) {
                return Err(format!(
                    "leader {place} misses what is committed: {batch:?}, has {held:?}"
                ));
            }
        }
        let committed = self.committed[..end].last().map_or(0, |batch| batch.last_offset + 1);
        if node.disk.end_offset() < committed {
            return Err(format!("leader {place} ends before what is committed"));
        }
        Ok(())
    }

    /// A replica has appended a batch to its log.
    pub(crate) fn appended(&mut self, node: &Node) -> Result<(), String> {
        let mut log = node.disk.log.iter().rev();
        let (Some(batch), last) = (log.next(), log.next()) else { return Ok(()) };
        let place = |batch: &LogBatch| (batch.last_offset + 1, batch.epoch);
        let before = last.map(place).or_else(|| {
            let first = node.disk.snapshots.keys().find(|id| id.offset == node.disk.start_offset());
            first.map(|id| (id.offset, id.epoch))
        });
        let before = before.and_then(|end| self.prefixes.get(&end)).copied().unwrap_or(0);
        let (offset, epoch) = place(batch);
        if last.is_some_and(|last| last.epoch > epoch) {
            return Err(format!("node {} appends {batch:?} behind {last:?}", node.place));
        }
        let prefix = digest(before ^ u64::from(epoch.unsigned_abs()), batch);
        let known = *self.prefixes.entry((offset, epoch)).or_insert(prefix);
        if known == prefix {
            return Ok(());
        }
        Err(format!("the log of node {} is another one up to {offset} in {epoch}", node.place))
    }

    /// A leader counts its log as committed up to here: a majority of its voters has made it durable.
    pub(crate) fn counted(nodes: &[Node], node: &Node, offset: i64) -> Result<(), String> {
        let replica = node.replica.as_ref().expect("it is up");
        let EpochState::Leader(leader) = replica.quorum().state() else { return Ok(()) };
        if offset <= leader.epoch_start_offset() {
            return Err(format!("leader {} counts before its epoch: {offset}", node.place));
        }
        let voters = replica.control_log().voters();
        let disks = nodes.iter().flat_map(|node| {
            let now = (node.key(), node.disk.flushed_end());
            // What was on a disk that is lost has counted before that.
            [Some(now), node.lost].into_iter().flatten()
        });
        let have = disks.filter(|(key, end)| voters.is_voter(key) && *end >= offset);
        let have = have.count();
        if have >= voters.majority() {
            return Ok(());
        }
        Err(format!("leader {} counts {offset}, which {have} voters have", node.place))
    }

    /// What is committed is not lost: a voter has it.
    pub(crate) fn check_kept(&self, nodes: &[Node]) -> Result<(), String> {
        let end = self.committed();
        let Some(last) = self.committed.last() else { return Ok(()) };
        let has = |node: &Node| {
            self.voters.is_voter(&node.key())
                && (node.disk.start_offset() >= end
                    || node.disk.batch_at(last.base_offset).is_some_and(|held| is_same(held, last)))
        };
        if nodes.iter().any(has) {
            return Ok(());
        }
        Err(format!("no voter of {:?} has {last:?}, which is committed", self.voters))
    }

    /// A replica says that its log is committed up to here. Gives how many records that is news of.
    pub(crate) fn committed_at(&mut self, node: &Node, offset: i64) -> Result<u64, String> {
        let place = node.place;
        let epoch = node.replica.as_ref().expect("it is up").quorum().epoch();
        let last = self.high_watermarks.entry(node.key()).or_insert((node.life, 0));
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
                    self.commit(batch.clone(), epoch)?;
                }
            }
        }
        Ok(news)
    }

    fn commit(&mut self, batch: LogBatch, epoch: i32) -> Result<(), String> {
        if batch.base_offset != self.committed() {
            return Err(format!("{batch:?} is committed, and what is before it is not"));
        }
        for record in control_records(&batch).unwrap_or_default() {
            match record {
                ControlRecord::Voters(voters) => {
                    let change = difference(&self.voters, voters);
                    let overlaps = self.voters.has_overlapping_majority(voters);
                    // Voters that get their directories are the same ones.
                    if change > 1 || change == 1 && !overlaps {
                        return Err(format!("{voters:?} follows {:?}", self.voters));
                    }
                    self.voters = voters.clone();
                }
                ControlRecord::KRaftVersion(version) => {
                    if *version < self.version {
                        return Err(format!("{version:?} follows {:?}", self.version));
                    }
                    self.version = *version;
                }
                _ => {}
            }
        }
        let state = self.digests.last_key_value().map_or(0, |(_, state)| *state);
        self.digests.insert(batch.last_offset + 1, digest(state, &batch));
        self.committed.push(batch);
        self.committed_in.push(epoch);
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
}
