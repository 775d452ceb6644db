//! A replica of the model: its log, its epoch and, if it leads, the crate's own leader and changes.

use crate::universe::{endpoints, key, listener, voter, voter_set};
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ChangeConfig, ChangeEffect, ControlRecord, Election, KRaftVersion,
    Leader, LogVoters, PendingChange, ProbeOutcome, RemoveVoter, RequestId, SupportedVersions,
    VoterChanges, VoterSet,
};

/// Time stands still, but for what is given up.
const NOW: Monotonic = Monotonic::from_millis(0);
const LATER: Monotonic = Monotonic::from_millis(1 << 40);

/// A record: who leads from here on, or who votes, as one bit a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) epoch: u8,
    pub(crate) voters: Option<u8>,
}

pub(crate) type Log = Vec<Entry>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Replica {
    pub(crate) log: Log,
    pub(crate) epoch: u8,
    pub(crate) leading: Option<Box<Leading>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leading {
    pub(crate) leader: Leader,
    pub(crate) changes: VoterChanges,
    /// Voters that are queued for the log.
    pub(crate) queued: Option<u8>,
}

/// A request to a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Add(usize),
    Remove(usize),
}

impl Replica {
    pub(crate) fn new(voters: u8) -> Self {
        Self { log: vec![Entry { epoch: 0, voters: Some(voters) }], epoch: 0, leading: None }
    }

    pub(crate) fn end(&self) -> i64 {
        i64::try_from(self.log.len()).unwrap()
    }

    /// The last voters in the log, and where they are.
    pub(crate) fn voters(&self) -> (i64, u8) {
        let place = self.log.iter().rposition(|entry| entry.voters.is_some()).unwrap();
        (i64::try_from(place).unwrap(), self.log[place].voters.unwrap())
    }

    /// Whether a candidate with this log may have this replica's vote.
    pub(crate) fn is_behind_or_level(&self, candidate: &Log) -> bool {
        let last = |log: &Log| (log.last().unwrap().epoch, log.len());
        last(candidate) >= last(&self.log)
    }

    /// Becomes the leader of `epoch`.
    pub(crate) fn lead(&mut self, id: usize, epoch: u8) {
        self.epoch = epoch;
        let (_, voters) = self.voters();
        let election = Election {
            local: voter(id),
            epoch: i32::from(epoch),
            epoch_start_offset: self.end(),
            voters: voter_set(voters),
            kraft_version: KRaftVersion::V1,
            granting_voters: Vec::new(),
            fetch_timeout_ms: 1,
        };
        self.leading = Some(Box::new(Leading {
            leader: Leader::new(election, NOW).unwrap(),
            changes: VoterChanges::new(ChangeConfig::new("cluster", listener())),
            queued: None,
        }));
        self.append(Entry { epoch, voters: None });
    }

    /// Writes a record and flushes it. Says whether the high watermark moved.
    fn append(&mut self, entry: Entry) -> bool {
        self.log.push(entry);
        let (end, voters) = (self.end(), voter_set(self.voters().1));
        let Some(leading) = &mut self.leading else { return false };
        let appended = leading.leader.appended(end, &voters).unwrap();
        let flushed = leading.leader.flushed(end).unwrap();
        self.settle();
        appended.or(flushed).is_some()
    }

    /// A replica fetched from here: it has everything below `offset`.
    pub(crate) fn fetched(&mut self, replica: usize, offset: i64) {
        let Some(leading) = &mut self.leading else { return };
        if leading.leader.fetched(key(replica), offset, NOW).unwrap().is_some() {
            self.settle();
        }
    }

    /// Up to where this leader knows a replica to have its log.
    pub(crate) fn known_end(&self, replica: usize) -> Option<i64> {
        self.leading.as_ref()?.leader.replica(&key(replica))?.end_offset()
    }

    /// Tells the changes of the high watermark.
    fn settle(&mut self) {
        let (offset, voters) = self.voters();
        let (set, Some(leading)) = (voter_set(voters), &mut self.leading) else { return };
        leading.changes.high_watermark_moved(&mut leading.leader, log(&set, offset));
        while leading.changes.poll_effect().is_some() {}
    }

    /// Takes up a change, whose voter answers at once; says whether a record was queued.
    pub(crate) fn change(&mut self, change: Change) -> bool {
        let (offset, voters) = self.voters();
        let (end, set) = (self.end(), voter_set(voters));
        let Some(leading) = &mut self.leading else { return false };
        let Leading { leader, changes, queued } = leading.as_mut();
        let log = log(&set, offset);
        let request = RequestId(0);
        match change {
            Change::Add(id) => {
                let add = AddVoter {
                    cluster_id: None,
                    voter: key(id),
                    endpoints: endpoints(),
                    acknowledge: Acknowledge::Committed,
                };
                changes.add_voter(request, &add, leader, log, NOW);
            }
            Change::Remove(id) => {
                let remove = RemoveVoter { cluster_id: None, voter: key(id) };
                changes.remove_voter(request, &remove, leader, log, NOW);
            }
        }
        let mut is_queued = false;
        while let Some(effect) = changes.poll_effect() {
            match effect {
                ChangeEffect::Probe { id, .. } => {
                    let supports = ProbeOutcome::Supports(Some(SupportedVersions::ALL));
                    let _ = changes.probed(id, supports, leader, log, NOW);
                }
                ChangeEffect::Append { id, records } => {
                    let [ControlRecord::Voters(voters)] = records.as_slice() else {
                        panic!("{records:?}")
                    };
                    assert_eq!(*queued, None, "two records are queued");
                    *queued = Some(crate::universe::bits(voters));
                    is_queued = true;
                    changes.appended(id, end, leader);
                }
                _ => {}
            }
        }
        is_queued
    }

    /// Appends what is queued.
    pub(crate) fn write(&mut self) {
        let queued = self.leading.as_mut().and_then(|leading| leading.queued.take());
        if let Some(voters) = queued {
            self.append(Entry { epoch: self.epoch, voters: Some(voters) });
        }
    }

    /// The time of the change under way is over; says whether there was one.
    pub(crate) fn expire(&mut self) -> bool {
        let Some(leading) = &mut self.leading else { return false };
        let Leading { leader, changes, .. } = leading.as_mut();
        if changes.pending() == PendingChange::No {
            return false;
        }
        changes.handle_timeout(leader, LATER);
        while changes.poll_effect().is_some() {}
        true
    }
}

pub(crate) fn log(voters: &VoterSet, offset: i64) -> LogVoters<'_> {
    LogVoters { voters, offset: Some(offset), kraft_version: KRaftVersion::V1 }
}
