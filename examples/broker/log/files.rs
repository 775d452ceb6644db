//! The files of a log: segments, with their transaction indexes, and snapshots of the producers. Names and bytes are
//! Kafka's.
//!
//! They are written through: a file stays open for appending, and what was written is there after the process has died.

use super::aborted::Aborted;
use bytes::Bytes;
use kafka_coordination::producer::{snapshot_file_name, snapshot_offset};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files of one log.
#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    segment_bytes: u64,
    /// The base offsets of the segments, ascending. The last one is appended to.
    segments: Vec<i64>,
    last: Option<Open>,
    /// A batch that was written in part could not be taken back.
    is_broken: bool,
}

/// A segment that is appended to.
#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

impl Files {
    /// Looks for the files in a directory, which is made with the first batch; also the offsets of the snapshots.
    pub(super) fn open(directory: PathBuf, segment_bytes: u64) -> io::Result<(Self, Vec<i64>)> {
        let (mut segments, mut snapshots) = (Vec::new(), Vec::new());
        for name in names(&directory)? {
            if let Some(offset) = snapshot_offset(&name) {
                snapshots.push(offset);
            } else if let Some(offset) = segment_offset(&name) {
                segments.push(offset);
            } else if name.strip_suffix(".new").is_some() {
                remove(&directory.join(name))?;
            }
        }
        segments.sort_unstable();
        let files = Self { directory, segment_bytes, segments, last: None, is_broken: false };
        Ok((files, snapshots))
    }

    pub(super) fn segments(&self) -> &[i64] {
        &self.segments
    }

    /// Whether a new segment is due before so many bytes are written.
    pub(super) fn is_full(&self, more: usize) -> bool {
        let bytes = self.last.as_ref().map_or(0, |open| open.bytes);
        bytes > 0 && bytes + more as u64 > self.segment_bytes
    }

    /// Starts the next segment.
    pub(super) fn roll(&mut self, base_offset: i64) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let path = self.path(base_offset, "log");
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        self.last = Some(Open { file, bytes });
        if self.segments.last() != Some(&base_offset) {
            self.segments.push(base_offset);
        }
        Ok(())
    }

    /// Appends a batch: all of it or, with the error, nothing.
    pub(super) fn append(&mut self, base_offset: i64, batch: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("the log is broken"));
        }
        if self.last.is_none() {
            self.roll(self.segments.last().copied().unwrap_or(base_offset))?;
        }
        let open = self.last.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if let Err(error) = open.file.write_all(batch) {
            self.is_broken = open.file.set_len(open.bytes).is_err();
            return Err(error);
        }
        open.bytes += batch.len() as u64;
        Ok(())
    }

    /// The bytes of a segment.
    pub(super) fn read(&self, segment: i64) -> io::Result<Bytes> {
        fs::read(self.path(segment, "log")).map(Bytes::from)
    }

    /// Cuts the log off behind so many bytes of a segment.
    pub(super) fn cut(&mut self, segment: i64, bytes: usize) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(segment, "log"))?;
        file.set_len(bytes as u64)?;
        while let Some(&last) = self.segments.last().filter(|last| **last > segment) {
            self.delete(last)?;
            self.segments.pop();
        }
        Ok(())
    }

    /// Deletes the segments that hold nothing from this offset on; their base offsets.
    pub(super) fn delete_before(&mut self, offset: i64) -> io::Result<Vec<i64>> {
        let mut deleted = Vec::new();
        while let [first, next, ..] = *self.segments
            && next <= offset
        {
            self.delete(first)?;
            self.segments.remove(0);
            deleted.push(first);
        }
        Ok(deleted)
    }

    fn delete(&self, segment: i64) -> io::Result<()> {
        remove(&self.path(segment, "txnindex"))?;
        remove(&self.path(segment, "log"))
    }

    /// Enters a transaction into the index of the last segment.
    pub(super) fn append_aborted(&self, aborted: &Aborted) -> io::Result<()> {
        let segment = self.segments.last().ok_or(io::ErrorKind::NotFound)?;
        let path = self.path(*segment, "txnindex");
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // What a failure has left of an entry must not shift the next one.
        let bytes = file.metadata()?.len();
        file.set_len(bytes - bytes % Aborted::SIZE as u64)?;
        file.write_all(&aborted.encode())
    }

    /// The index of a segment.
    pub(super) fn read_aborted(&self, segment: i64) -> io::Result<Vec<Aborted>> {
        let bytes = match fs::read(self.path(segment, "txnindex")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let (entries, _) = bytes.as_chunks::<{ Aborted::SIZE }>();
        entries.iter().map(|entry| Aborted::decode(entry)).collect::<Option<_>>().ok_or_else(|| {
            let text = format!("the transaction index of segment {segment} is damaged");
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// Takes the transactions out of the indexes whose markers are not below an offset.
    pub(super) fn cut_aborted(&self, offset: i64) -> io::Result<()> {
        // All segments but the last one before the offset are below or above it as a whole.
        let first = self.segments.partition_point(|segment| *segment <= offset).saturating_sub(1);
        for &segment in self.segments.iter().skip(first) {
            let entries = self.read_aborted(segment)?;
            let kept = entries.partition_point(|aborted| aborted.last_offset < offset);
            if kept < entries.len() {
                let index = OpenOptions::new().write(true).open(self.path(segment, "txnindex"))?;
                index.set_len((kept * Aborted::SIZE) as u64)?;
            }
        }
        Ok(())
    }

    pub(super) fn read_snapshot(&self, offset: i64) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join(snapshot_file_name(offset)))
    }

    pub(super) fn write_snapshot(&self, offset: i64, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let path = self.directory.join(snapshot_file_name(offset));
        let new = path.with_extension("new");
        fs::write(&new, bytes)?;
        fs::rename(new, path)
    }

    pub(super) fn delete_snapshots(&self, offsets: &[i64]) -> io::Result<()> {
        let paths = offsets.iter().map(|offset| self.directory.join(snapshot_file_name(*offset)));
        paths.into_iter().try_for_each(|path| remove(&path))
    }

    fn path(&self, segment: i64, extension: &str) -> PathBuf {
        self.directory.join(format!("{segment:020}.{extension}"))
    }
}

/// The base offset of the segment of that name.
fn segment_offset(file_name: &str) -> Option<i64> {
    let digits = file_name.strip_suffix(".log")?;
    let offset = digits.parse().ok().filter(|offset| (0..i64::MAX).contains(offset))?;
    (digits == format!("{offset:020}")).then_some(offset)
}

/// The names of the files in a directory, if it is there.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Deletes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
