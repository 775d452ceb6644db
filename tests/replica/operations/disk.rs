//! What a host keeps over a crash.

use kafka_coordination::kraft::{
    BatchContent, ControlLog, ControlRecord, ElectionState, LogBatch, LogIndex, OffsetAndEpoch,
    Storage, VoterSet,
};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Disk {
    pub(super) election: Option<ElectionState>,
    pub(super) log: Vec<LogBatch>,
    /// Up to where it is durable.
    pub(super) flushed: i64,
    pub(super) snapshots: BTreeMap<OffsetAndEpoch, Vec<ControlRecord>>,
    pub(super) start_offset: i64,
}

impl Disk {
    pub(super) fn end_offset(&self) -> i64 {
        self.log.last().map_or(self.start_offset, |batch| batch.last_offset + 1)
    }

    pub(super) fn truncate(&mut self, end_offset: i64) {
        self.log.retain(|batch| batch.last_offset < end_offset);
        self.flushed = self.flushed.min(self.end_offset());
    }

    pub(super) fn delete_before(&mut self, snapshot: OffsetAndEpoch) {
        self.log.retain(|batch| batch.last_offset >= snapshot.offset);
        self.start_offset = snapshot.offset;
        self.snapshots.retain(|id, _| *id >= snapshot);
    }

    pub(super) fn control_log(&self) -> ControlLog {
        let mut control = ControlLog::new(VoterSet::empty());
        let (id, records) = self.snapshots.last_key_value().expect("there is one");
        control.load_snapshot(id.offset, records.iter().cloned()).expect("it was read before");
        for batch in self.log.iter().filter(|batch| batch.base_offset >= id.offset) {
            let read = match control_of(batch) {
                Some(records) => control.on_control_batch(batch.base_offset, records),
                None => control.on_data(batch.base_offset, batch.last_offset),
            };
            read.expect("it was read before");
        }
        control
    }

    pub(super) fn end(&self) -> OffsetAndEpoch {
        let epoch = self.log.last().map_or(0, |batch| batch.epoch);
        OffsetAndEpoch::new(self.end_offset(), epoch)
    }

    /// A log that ends before the latest snapshot starts at its end.
    pub(super) fn open(&mut self) -> Storage {
        let latest = self.snapshots.last_key_value().map(|(id, _)| *id);
        if let Some(latest) = latest.filter(|latest| *latest > self.end()) {
            self.delete_before(latest);
            self.flushed = self.end_offset();
        }
        let mut log = LogIndex::new();
        if self.start_offset > 0 {
            let first = self.snapshots.keys().find(|id| id.offset == self.start_offset);
            log = LogIndex::after_snapshot(*first.expect("the log's start has a snapshot"));
        }
        self.snapshots.keys().for_each(|id| log.add_snapshot(*id));
        self.log.iter().for_each(|batch| log.append(batch.last_offset, batch.epoch));
        Storage { election: self.election.clone(), log, control: self.control_log() }
    }
}

pub(super) fn control_of(batch: &LogBatch) -> Option<&[ControlRecord]> {
    match &batch.content {
        BatchContent::Control(records) | BatchContent::Encoded { control: Some(records), .. } => {
            Some(records)
        }
        _ => None,
    }
}
