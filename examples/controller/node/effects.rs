//! What the replica asks for, carried out.
//!
//! Each effect has taken effect before the next one is looked at: a vote is on the disk before its answer is on the way.

use super::{Failure, Node};
use crate::say;
use bytes::Bytes;
use kafka_coordination::Clock;
use kafka_coordination::kraft::{
    Batches, Effect, LogBatch, OffsetAndEpoch, SnapshotReader, encode_log_batch,
};

/// Bytes of the log that are handed to the state machine at a time.
const DELIVERY: usize = 1 << 20;

impl Node {
    pub(super) fn carry_out(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Persist(persist) => self.disk.persist(&persist)?,
            Effect::Send { correlation, to, request } => self.peers.send(correlation, &to, request),
            Effect::Reply { request, reply } => self.reply(request, &reply)?,
            Effect::Append(batch) => self.append(&batch)?,
            Effect::Flush { end_offset } => {
                self.disk.log.flush()?;
                self.replica.flushed(end_offset, &mut self.random, self.clock.monotonic());
            }
            Effect::Truncate { end_offset } => {
                let end_offset = self.disk.log.truncate(end_offset)?;
                self.replica.truncated(end_offset, &mut self.random, self.clock.monotonic());
            }
            Effect::OpenSnapshot(id) => self.disk.snapshots.open_part(id)?,
            Effect::WriteSnapshot(bytes) => self.disk.snapshots.write_part(&bytes)?,
            Effect::DropSnapshot => self.disk.snapshots.drop_part()?,
            Effect::InstallSnapshot(id) => self.install(id)?,
            Effect::Deliver { from, to } => self.deliver(from, to)?,
            Effect::LoadSnapshot(id) => self.load(id)?,
            Effect::LeaderChanged { leader_id: Some(leader_id), epoch } => {
                say(&format!("leader {leader_id} in epoch {epoch}"));
            }
            Effect::LeaderChanged { leader_id: None, epoch } => {
                say(&format!("no leader in epoch {epoch}"));
            }
            Effect::ShutdownCompleted { is_graceful } => self.is_over = Some(is_graceful),
            // Which epochs there are is read from the batches at the start, and what is committed is asked of the replica.
            Effect::StartEpoch { .. } | Effect::HighWatermark(_) => {}
            effect => return Err(format!("no such effect: {effect:?}").into()),
        }
        Ok(())
    }

    fn append(&mut self, batch: &LogBatch) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        encode_log_batch(batch, self.clock.timestamp(), &mut bytes)?;
        Ok(self.disk.log.append(&bytes)?)
    }

    /// A snapshot was received. If it is ahead of the log, it takes the log's place.
    fn install(&mut self, id: OffsetAndEpoch) -> Result<(), Failure> {
        self.disk.snapshots.complete_part()?;
        if self.replica.log().is_behind(id) {
            self.disk.restart_at(id)?;
        }
        let bytes = self.disk.snapshots.read(id)?;
        let records = SnapshotReader::open(&bytes)?.control_records()?;
        let now = self.clock.monotonic();
        self.replica.snapshot_installed(id, records, &mut self.random, now);
        Ok(())
    }

    /// A snapshot replaces what the state machine has. What is in the bootstrap checkpoint was never committed: it is for
    /// the first leader's state machine to write it, and the one here has nothing to say.
    fn load(&mut self, id: OffsetAndEpoch) -> Result<(), Failure> {
        if id != OffsetAndEpoch::BOOTSTRAP {
            let bytes = self.disk.snapshots.read(id)?;
            self.machine.load(id, &bytes).map_err(|error| error.to_string())?;
        }
        self.replica.applied(id.offset, &mut self.random, self.clock.monotonic());
        Ok(())
    }

    fn deliver(&mut self, from: i64, to: i64) -> Result<(), Failure> {
        let mut next = from;
        while next < to {
            let bytes: Bytes = self.disk.log.read(next, DELIVERY)?;
            for batch in Batches::new(&bytes) {
                let batch = batch?;
                if batch.base_offset >= to {
                    break;
                }
                self.machine.apply(&batch).map_err(|error| error.to_string())?;
                next = batch.last_offset.saturating_add(1);
            }
            if bytes.is_empty() {
                return Err(format!("the log has no record {next}").into());
            }
        }
        self.replica.applied(to, &mut self.random, self.clock.monotonic());
        Ok(())
    }
}
