//! What a node keeps over a crash.

use crate::fault::Fault;
use kafka_coordination::kraft::{
    BatchContent, ControlLog, ControlRecord, ElectionState, LogBatch, LogIndex, OffsetAndEpoch,
    Persist, ReplicaKey, Storage, VoterSet,
};
use std::collections::BTreeMap;

/// A snapshot: what control records it has, and what the state machine was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) control: Vec<ControlRecord>,
    pub(crate) digest: u64,
}

/// A disk, of which a crash takes what was not flushed.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// The voters of the configuration.
    static_voters: VoterSet,
    /// Whose disk it is.
    own_key: ReplicaKey,
    election: Option<String>,
    pub(crate) log: Vec<LogBatch>,
    /// Batches of the log that are durable.
    flushed: usize,
    start_offset: i64,
    pub(crate) snapshots: BTreeMap<OffsetAndEpoch, Snapshot>,
}

/// The control records of a batch.
pub(crate) fn control_records(batch: &LogBatch) -> Option<&[ControlRecord]> {
    match &batch.content {
        BatchContent::Control(records) | BatchContent::Encoded { control: Some(records), .. } => {
            Some(records)
        }
        BatchContent::Records(_) | BatchContent::Encoded { control: None, .. } => None,
    }
}

impl Disk {
    pub(crate) const fn new(own_key: ReplicaKey, static_voters: VoterSet) -> Self {
        Self {
            static_voters,
            own_key,
            election: None,
            log: Vec::new(),
            flushed: 0,
            start_offset: 0,
            snapshots: BTreeMap::new(),
        }
    }

    pub(crate) fn persist(&mut self, persist: &Persist) {
        self.election = Some(persist.election.to_file(persist.version));
    }

    pub(crate) fn election(&self) -> Option<ElectionState> {
        let file = self.election.as_ref()?;
        Some(ElectionState::from_file(file.as_bytes()).expect("it was written by the crate"))
    }

    /// The election state as a replica reads it when it starts.
    fn stored_election(&self, fault: Option<Fault>) -> Option<ElectionState> {
        let stored = self.election()?;
        // Whose vote it was, the file of a leader does not say.
        let has_led = stored.leader_id() == Some(self.own_key.id);
        if !has_led || fault != Some(Fault::LeadsAgain) {
            return Some(stored);
        }
        let voters = stored.voters().iter().copied();
        let stood = ElectionState::with_voted_candidate(stored.epoch(), self.own_key, voters);
        Some(stood.expect("an id"))
    }

    pub(crate) fn end_offset(&self) -> i64 {
        self.log.last().map_or(self.start_offset, |batch| batch.last_offset + 1)
    }

    /// Appends a batch that continues the log.
    pub(crate) fn append(&mut self, batch: LogBatch) -> Result<(), String> {
        if batch.base_offset != self.end_offset() {
            return Err(format!("{batch:?} does not continue a log up to {}", self.end_offset()));
        }
        self.log.push(batch);
        Ok(())
    }

    pub(crate) fn flush(&mut self, end_offset: i64) {
        let flushed = self.log.partition_point(|batch| batch.last_offset < end_offset);
        self.flushed = self.flushed.max(flushed);
    }

    /// Cuts the log off. Gives where it ends.
    pub(crate) fn truncate(&mut self, end_offset: i64) -> i64 {
        self.log.retain(|batch| batch.last_offset < end_offset);
        self.flushed = self.flushed.min(self.log.len());
        self.end_offset()
    }

    pub(crate) const fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// Where a crash may not cut.
    pub(crate) fn flushed_end(&self) -> i64 {
        self.log.get(self.flushed).map_or_else(|| self.end_offset(), |batch| batch.base_offset)
    }

    /// Batches that a crash may take.
    pub(crate) fn unflushed(&self) -> usize {
        self.log.len() - self.flushed
    }

    /// A crash takes so many batches.
    pub(crate) fn lose(&mut self, batches: usize) {
        let kept = self.log.len() - batches;
        self.log.truncate(kept);
        self.flushed = kept;
    }

    /// The log starts at the end of this snapshot, which is ahead of it.
    pub(crate) fn restart_at(&mut self, snapshot: OffsetAndEpoch) {
        self.log.clear();
        self.flushed = 0;
        self.start_offset = snapshot.offset;
        self.snapshots.retain(|id, _| *id >= snapshot);
    }

    pub(crate) fn delete_before(&mut self, snapshot: OffsetAndEpoch) {
        let deleted = self.log.partition_point(|batch| batch.last_offset < snapshot.offset);
        self.log.drain(..deleted);
        self.flushed -= deleted.min(self.flushed);
        self.start_offset = snapshot.offset;
        self.snapshots.retain(|id, _| *id >= snapshot);
    }

    /// The batch that holds an offset.
    pub(crate) fn batch_at(&self, offset: i64) -> Option<&LogBatch> {
        let place = self.log.partition_point(|batch| batch.last_offset < offset);
        self.log.get(place).filter(|batch| batch.base_offset <= offset)
    }

    /// Whether a batch ends there, and in which epoch.
    pub(crate) fn epoch_of_end(&self, end_offset: i64) -> Option<i32> {
        let batch = self.log.iter().find(|batch| batch.last_offset + 1 == end_offset)?;
        Some(batch.epoch)
    }

    /// What a replica finds that starts on this disk. A log that ends before the latest snapshot starts at its end.
    pub(crate) fn open(&mut self, fault: Option<Fault>) -> Storage {
        let epoch = self.log.last().map_or(0, |batch| batch.epoch);
        let end = OffsetAndEpoch::new(self.end_offset(), epoch);
        let latest = self.snapshots.last_key_value().map(|(id, _)| *id);
        if let Some(latest) = latest.filter(|latest| *latest > end && !self.log.is_empty()) {
            self.restart_at(latest);
        }
        let mut log = LogIndex::new();
        if self.start_offset > 0 {
            let first = self.snapshots.keys().find(|id| id.offset >= self.start_offset);
            log = LogIndex::after_snapshot(*first.expect("the log's start has a snapshot"));
        }
        for snapshot in self.snapshots.keys() {
            log.add_snapshot(*snapshot);
        }
        for batch in &self.log {
            log.append(batch.last_offset, batch.epoch);
        }
        Storage { election: self.stored_election(fault), control: self.control_log(fault), log }
    }

    /// What the control records of the disk say.
    pub(crate) fn control_log(&self, fault: Option<Fault>) -> ControlLog {
        let mut control = ControlLog::new(self.static_voters.clone());
        let latest = self.snapshots.last_key_value();
        let mut from = 0;
        if let Some((id, snapshot)) = latest.filter(|(id, _)| id.offset >= self.start_offset) {
            // Of what the log has as well the log is read.
            from = id.offset;
            control.load_snapshot(from, snapshot.control.iter().cloned()).expect("it is sound");
        }
        control.next_read(latest.map(|(id, _)| *id), self.start_offset, self.end_offset());
        let last_voters = self.log.iter().rposition(|batch| {
            let records = control_records(batch).unwrap_or_default();
            records.iter().any(|record| matches!(record, ControlRecord::Voters(_)))
        });
        for (place, batch) in self.log.iter().enumerate() {
            if batch.base_offset < from {
                continue;
            }
            let is_overlooked = fault == Some(Fault::StaleVoters) && last_voters == Some(place);
            let records = control_records(batch).filter(|_| !is_overlooked);
            let read = match records {
                Some(records) => control.on_control_batch(batch.base_offset, records),
                None => control.on_data(batch.base_offset, batch.last_offset),
            };
            read.expect("the log is read in order");
        }
        control
    }
}
