//! The log: record batches of format 2 in one file, named as Kafka names the segment that starts there.
//!
//! Where each batch stands is kept in memory, 40 bytes a batch. When the first records are dropped, those that stay are
//! copied into a new file, which has its name once it is whole.

use super::files;
use bytes::Bytes;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{Batch, Batches};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The bytes of a batch that tell how long it is.
const LENGTH_END: usize = 12;

/// What a file is called behind its number while it is written.
const NEW: &str = ".log.new";

/// A batch in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) epoch: i32,
    pub(crate) timestamp: Timestamp,
    position: u64,
}

impl Stored {
    pub(crate) const fn end_offset(&self) -> i64 {
        self.last_offset.saturating_add(1)
    }
}

/// The log's file and what is in it.
#[derive(Debug)]
pub(crate) struct Log {
    directory: PathBuf,
    file: File,
    start_offset: i64,
    batches: Vec<Stored>,
    /// The length of the file.
    bytes: u64,
}

impl Log {
    /// Opens the log, which is made if there is none, and cuts off what is no whole batch at its end. Gives how many
    /// bytes that was, too. `may_start_at` says whether records before an offset may be missing.
    pub(super) fn open(
        directory: &Path,
        may_start_at: impl Fn(i64) -> bool,
    ) -> io::Result<(Self, u64)> {
        let names = files::names(directory)?;
        for name in names.iter().filter(|name| name.ends_with(NEW)) {
            files::remove(&directory.join(name))?;
        }
        let mut segments: Vec<_> = names.iter().filter_map(|name| segment_offset(name)).collect();
        segments.sort_unstable();
        let start_offset = segments.pop().unwrap_or(0);
        if !may_start_at(start_offset) {
            let reason = format!("nothing has the records before {start_offset}");
            return Err(files::invalid(directory, reason));
        }
        for older in segments {
            // A crash has kept it from being deleted: all that counts of it is in the other one, or in a snapshot.
            files::remove(&segment(directory, older))?;
        }
        let mut log = Self::create(directory, start_offset)?;
        let length = log.file.metadata()?.len();
        log.read_index(length)?;
        let cut = length - log.bytes;
        if cut > 0 {
            log.file.set_len(log.bytes)?;
        }
        log.file.sync_all()?;
        Ok((log, cut))
    }

    fn create(directory: &Path, start_offset: i64) -> io::Result<Self> {
        let path = segment(directory, start_offset);
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).read(true).write(true).open(&path)?;
        if is_new {
            files::sync_directory(directory)?;
        }
        let directory = directory.to_owned();
        Ok(Self { directory, file, start_offset, batches: Vec::new(), bytes: 0 })
    }

    /// Reads the file up to the first batch that is not whole or does not continue the log.
    fn read_index(&mut self, length: u64) -> io::Result<()> {
        let mut buffer = Vec::new();
        while read_batch(&mut self.file, self.bytes, length, &mut buffer)? {
            let Some(Ok(batch)) = Batches::new(&buffer).next() else { break };
            if batch.base_offset != self.end_offset() {
                break;
            }
            self.note(&batch);
        }
        Ok(())
    }

    fn note(&mut self, batch: &Batch<'_>) {
        self.batches.push(Stored {
            base_offset: batch.base_offset,
            last_offset: batch.last_offset,
            epoch: batch.epoch,
            timestamp: batch.append_timestamp,
            position: self.bytes,
        });
        self.bytes += batch.bytes.len() as u64;
    }

    pub(crate) const fn start_offset(&self) -> i64 {
        self.start_offset
    }

    pub(crate) fn end_offset(&self) -> i64 {
        self.batches.last().map_or(self.start_offset, Stored::end_offset)
    }

    pub(crate) fn batches(&self) -> &[Stored] {
        &self.batches
    }

    /// The batch that holds an offset.
    pub(crate) fn batch_at(&self, offset: i64) -> Option<&Stored> {
        let place = self.place(offset);
        self.batches.get(place).filter(|batch| batch.base_offset <= offset)
    }

    /// The batch that ends at an offset, exclusive.
    pub(crate) fn batch_before(&self, end_offset: i64) -> Option<&Stored> {
        let place = self.place(end_offset).checked_sub(1)?;
        self.batches.get(place).filter(|batch| batch.end_offset() == end_offset)
    }

    /// The place of the first batch that ends behind an offset.
    fn place(&self, offset: i64) -> usize {
        self.batches.partition_point(|batch| batch.last_offset < offset)
    }

    fn end_position(&self, place: usize) -> u64 {
        self.batches.get(place + 1).map_or(self.bytes, |next| next.position)
    }

    /// Appends a batch, which is durable once [`flush`](Self::flush) says so.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut batches = Batches::new(bytes);
        let batch = match (batches.next(), batches.next()) {
            (Some(Ok(batch)), None) if batch.bytes.len() == bytes.len() => batch,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not one batch")),
        };
        if batch.base_offset != self.end_offset() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the next batch"));
        }
        self.file.seek(SeekFrom::Start(self.bytes))?;
        self.file.write_all(bytes)?;
        self.note(&batch);
        Ok(())
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whole batches, from the one on that holds `from`: up to `max_bytes`, but at least one.
    pub(crate) fn read(&mut self, from: i64, max_bytes: usize) -> io::Result<Bytes> {
        let first = self.place(from);
        let Some(start) = self.batches.get(first).map(|batch| batch.position) else {
            return Ok(Bytes::new());
        };
        let limit = start.saturating_add(max_bytes as u64);
        let rest = self.batches.get(first + 1..).unwrap_or_default();
        // Those that end within the limit: the next one starts there.
        let more = rest.partition_point(|batch| batch.position <= limit);
        let mut last = first + more;
        if last > first && self.end_position(last) > limit {
            last -= 1;
        }
        let length = self.end_position(last) - start;
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Cuts the log off: it ends there, or before, for batches go as a whole. Gives where it ends.
    pub(crate) fn truncate(&mut self, end_offset: i64) -> io::Result<i64> {
        let kept = self.place(end_offset);
        if let Some(first) = self.batches.get(kept) {
            self.bytes = first.position;
            self.batches.truncate(kept);
            self.file.set_len(self.bytes)?;
            self.file.sync_all()?;
        }
        Ok(self.end_offset())
    }

    /// Empties the log and lets it start there: a snapshot has what was before.
    pub(crate) fn restart_at(&mut self, start_offset: i64) -> io::Result<()> {
        let old = self.start_offset;
        *self = Self::create(&self.directory, start_offset)?;
        self.file.set_len(0)?;
        self.file.sync_all()?;
        self.delete_segment(old)
    }

    /// Drops the records before an offset at which a batch starts, or the log ends.
    pub(crate) fn delete_before(&mut self, start_offset: i64) -> io::Result<()> {
        let first = self.place(start_offset);
        let position = self.batches.get(first).map_or(self.bytes, |batch| batch.position);
        let path = segment(&self.directory, start_offset);
        let new = self.directory.join(format!("{start_offset:020}{NEW}"));
        let mut file =
            OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&new)?;
        self.file.seek(SeekFrom::Start(position))?;
        io::copy(&mut self.file, &mut file)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        files::sync_directory(&self.directory)?;
        self.file = file;
        self.bytes -= position;
        self.batches.drain(..first);
        for batch in &mut self.batches {
            batch.position -= position;
        }
        let old = std::mem::replace(&mut self.start_offset, start_offset);
        self.delete_segment(old)
    }

    fn delete_segment(&self, old: i64) -> io::Result<()> {
        if old == self.start_offset {
            return Ok(());
        }
        files::remove(&segment(&self.directory, old))?;
        files::sync_directory(&self.directory)
    }
}

/// Reads the bytes of a batch by its own word on its length. Gives whether they are there.
fn read_batch(file: &mut File, position: u64, end: u64, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut head = [0; LENGTH_END];
    let rest = end.saturating_sub(position);
    if rest < head.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(position))?;
    file.read_exact(&mut head)?;
    let length = head.last_chunk().map_or(0, |length| i32::from_be_bytes(*length));
    let Ok(length) = usize::try_from(length) else { return Ok(false) };
    if rest < (LENGTH_END + length) as u64 {
        return Ok(false);
    }
    buffer.clear();
    buffer.extend_from_slice(&head);
    buffer.resize(LENGTH_END + length, 0);
    file.read_exact(buffer.get_mut(LENGTH_END..).unwrap_or_default())?;
    Ok(true)
}

fn segment(directory: &Path, start_offset: i64) -> PathBuf {
    directory.join(format!("{start_offset:020}.log"))
}

/// Where the segment of that name starts.
fn segment_offset(name: &str) -> Option<i64> {
    let offset = name.strip_suffix(".log")?.parse().ok().filter(|offset| *offset >= 0)?;
    (name == format!("{offset:020}.log")).then_some(offset)
}
