//! Opening a log from its files after the process has died.
//!
//! 1. The segments are read, batch after batch, up to the first one that is not whole, where the log is cut off.
//! 2. [`Rebuild`](kafka_coordination::producer::Rebuild) says what to do for the producers, step by step: which snapshot
//!    to load, which part of the log to replay, and which snapshots to write or to delete.

use super::files::Files;
use super::{Log, LogConfig, Stored};
use bytes::Bytes;
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{MissingSnapshots, Origin, RebuildStep, Snapshot};
use kafka_coordination::wire::producer::RecordBatch;
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// What it took to open logs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovered {
    /// Batches that were read again because no snapshot knew of them.
    pub(crate) batches_replayed: usize,
    pub(crate) snapshots_loaded: usize,
    /// Bytes that were no whole batch.
    pub(crate) bytes_cut: usize,
}

impl Log {
    /// Opens the log that is in this directory, or is to be.
    pub(crate) fn open(
        config: &LogConfig,
        directory: PathBuf,
        now: Timestamp,
    ) -> io::Result<(Self, Recovered)> {
        let (files, snapshots) = Files::open(directory, config.segment_bytes)?;
        let mut log = Self { files: Some(files), ..Self::new(config) };
        let mut recovered = Recovered { bytes_cut: log.read_segments()?, ..Recovered::default() };
        log.producers.list_snapshots(snapshots);
        log.drop_stray_snapshots()?;
        log.rebuild_producers(now, &mut recovered)?;
        // There is one replica, and it has everything.
        log.producers.on_high_watermark(log.end);
        Ok((log, recovered))
    }

    /// Reads the segments, each once, and cuts off what is not whole; how many bytes that was.
    fn read_segments(&mut self) -> io::Result<usize> {
        let Some(mut files) = self.files.take() else { return Ok(0) };
        self.start = files.segments().first().copied().unwrap_or(0);
        self.end = self.start;
        let (mut whole, mut bytes_cut) = (None, 0);
        for &segment in files.segments() {
            // If one does not continue the log, the one before it was cut off once.
            if segment != self.end {
                break;
            }
            let bytes = files.read(segment)?;
            let read = self.read_batches(&bytes);
            self.retain();
            whole = Some((segment, read));
            bytes_cut = bytes.len() - read;
            if bytes_cut > 0 {
                break;
            }
        }
        if let Some((segment, bytes)) = whole {
            files.cut(segment, bytes)?;
        }
        // What a crash has kept from being deleted.
        files.delete_before(self.start)?;
        // Entries whose markers are gone go too.
        files.cut_aborted(self.end)?;
        for &segment in files.segments() {
            files.read_aborted(segment)?.into_iter().for_each(|aborted| self.aborted.push(aborted));
        }
        self.files = Some(files);
        Ok(bytes_cut)
    }

    /// Takes the batches from the start of a segment that are whole; how many bytes they have.
    fn read_batches(&mut self, segment: &Bytes) -> usize {
        let mut rest = segment.clone();
        while let Ok((batch, _)) = RecordBatch::read_first(&rest)
            && batch.check_checksum().is_ok()
            && batch.header().base_offset == self.end
        {
            let (header, size) = (*batch.header(), batch.bytes().len());
            self.store(&header, rest.split_to(size));
        }
        segment.len() - rest.len()
    }

    fn rebuild_producers(&mut self, now: Timestamp, recovered: &mut Recovered) -> io::Result<()> {
        let segments = self.files.as_ref().map_or(&[][..], Files::segments).to_vec();
        let (start, end, from) = (self.start, self.end, self.reload_from());
        let mut rebuild =
            self.producers.rebuild(segments, start, end, MissingSnapshots::Scan, from);
        let mut replays = false;
        while let Some(step) = rebuild.next_step(&mut self.producers) {
            match step {
                RebuildStep::Delete(offsets) => self.delete_snapshots(&offsets)?,
                RebuildStep::Load(offset) => {
                    recovered.snapshots_loaded += usize::from(self.load_snapshot(offset, now)?);
                }
                RebuildStep::Write(offset) => self.write_snapshot(offset)?,
                RebuildStep::Replay { from, until, .. } => {
                    if !replays {
                        // What is replayed is entered into the index again.
                        self.cut_aborted(from)?;
                        replays = true;
                    }
                    recovered.batches_replayed += self.replay(from, until, now)?;
                }
                step => return Err(io::Error::other(format!("no such step: {step:?}"))),
            }
        }
        Ok(())
    }

    /// Loads a snapshot, or deletes it if it is damaged; whether it was loaded.
    fn load_snapshot(&mut self, offset: i64, now: Timestamp) -> io::Result<bool> {
        let bytes = self.files.as_ref().map_or(Ok(Vec::new()), |it| it.read_snapshot(offset))?;
        let is_loaded = Snapshot::parse(&bytes).is_ok_and(|snapshot| {
            self.producers.load_snapshot(offset, snapshot.iter(), now).is_ok()
        });
        if !is_loaded {
            self.producers.forget_snapshot(offset);
            self.delete_snapshots(&[offset])?;
        }
        Ok(is_loaded)
    }

    /// Tells the producers' states what they wrote in a part of the log; how many batches that was.
    fn replay(&mut self, from: i64, until: i64, now: Timestamp) -> io::Result<usize> {
        let first = self.batches.partition_point(|batch| batch.base < from);
        let last = self.batches.partition_point(|batch| batch.next <= until);
        for number in first..last {
            let Some(Stored { bytes, .. }) = self.batches.get(number) else { break };
            let batch = RecordBatch::read(bytes).and_then(|batch| batch.producer_batch());
            let batch = batch.map_err(damaged)?;
            let mut append = self.producers.begin(Origin::Replication);
            self.producers.push(&mut append, &batch).map_err(damaged)?;
            self.producers.commit(append, now).map_err(damaged)?;
            self.complete_transactions()?;
        }
        Ok(last.saturating_sub(first))
    }

    fn cut_aborted(&mut self, offset: i64) -> io::Result<()> {
        self.aborted.forget_from(offset);
        self.files.as_ref().map_or(Ok(()), |files| files.cut_aborted(offset))
    }
}

fn damaged(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
