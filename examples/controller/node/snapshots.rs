//! When to make a snapshot, and when to delete what it has.

use super::{Failure, Node};
use kafka_coordination::Clock;
use kafka_coordination::kraft::OffsetAndEpoch;

impl Node {
    /// Makes a snapshot of what the state machine has, once there are enough records behind the last one. The log keeps
    /// what is behind the one before: a follower that is a little behind need not take a snapshot.
    pub(super) fn maybe_snapshot(&mut self) -> Result<(), Failure> {
        let offset = self.machine.next_offset();
        let ids = self.disk.snapshots.ids();
        let last = ids.last().copied().unwrap_or(OffsetAndEpoch::BOOTSTRAP);
        let due = last.offset.saturating_add_unsigned(self.snapshot_records);
        if self.snapshot_records == 0 || offset < due {
            return Ok(());
        }
        let Some(batch) = self.disk.log.batch_before(offset) else { return Ok(()) };
        let (epoch, timestamp) = (batch.epoch, batch.timestamp);
        let id = OffsetAndEpoch::new(offset, epoch);
        if !self.replica.may_make_snapshot(id) {
            return Ok(());
        }
        let header = self.replica.control_log().snapshot_header(offset, timestamp)?;
        let bytes = self.machine.snapshot(&header, epoch, self.clock.timestamp())?;
        self.disk.snapshots.write(id, &bytes)?;
        self.replica.snapshot_made(id);
        if last != OffsetAndEpoch::BOOTSTRAP && self.replica.delete_before(last) {
            self.disk.delete_before(last)?;
        }
        Ok(())
    }
}
