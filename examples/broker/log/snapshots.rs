//! Writing batches to segments, and when snapshots of the producers are taken and deleted.

use super::Log;
use super::files::Files;
use std::io;

/// How many batches are appended, at most, without a snapshot. It bounds what is replayed after a crash.
const BATCHES: usize = 10_000;

impl Log {
    /// Writes a batch to the last segment, or to a new one if that is full.
    pub(super) fn write(&mut self, batch: &[u8]) -> io::Result<()> {
        if self.files.as_ref().is_some_and(|files| files.is_full(batch.len())) {
            // The batch that makes the segment full is not in the snapshot: it is the first of the next segment.
            self.producers.set_map_end_offset(self.end);
            self.take_snapshot()?;
            self.files.as_mut().map_or(Ok(()), |files| files.roll(self.end))?;
        }
        let end = self.end;
        self.files.as_mut().map_or(Ok(()), |files| files.append(end, batch))
    }

    /// Deletes the segments that retention has emptied, with their snapshots, and takes a snapshot if it is time.
    pub(super) fn tidy(&mut self, start_moved: bool) -> io::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        if start_moved {
            let mut snapshots = files.delete_before(self.start)?;
            snapshots.retain(|segment| self.producers.forget_snapshot(*segment));
            self.delete_snapshots(&snapshots)?;
        }
        self.batches_since_snapshot += 1;
        if self.batches_since_snapshot >= BATCHES {
            self.take_snapshot()?;
            self.drop_stray_snapshots()?;
        }
        Ok(())
    }

    /// Takes a snapshot, unless the last one covers as much.
    fn take_snapshot(&mut self) -> io::Result<()> {
        self.producers.snapshot_due().map_or(Ok(()), |offset| self.write_snapshot(offset))
    }

    pub(super) fn write_snapshot(&mut self, offset: i64) -> io::Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let mut bytes = Vec::new();
        self.producers.encode_snapshot(&mut bytes);
        files.write_snapshot(offset, &bytes)?;
        self.producers.snapshot_written(offset);
        self.batches_since_snapshot = 0;
        Ok(())
    }

    /// Keeps of the snapshots that belong to no segment the newest.
    pub(super) fn drop_stray_snapshots(&mut self) -> io::Result<()> {
        let segments = self.files.as_ref().map_or(&[][..], Files::segments).to_vec();
        let stray = self.producers.forget_stray_snapshots(segments);
        self.delete_snapshots(&stray)
    }

    pub(super) fn delete_snapshots(&self, offsets: &[i64]) -> io::Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.delete_snapshots(offsets))
    }
}
