//! An append-only file of records: one JSON value a line, behind the checksum of its bytes.
//!
//! What was appended outlives the process, whenever it is killed; a last line that is not whole is cut off. A wrong line
//! before others is no crash but damage, of which a person must be told.

use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A journal is not rewritten while it is smaller, in bytes.
const SMALL: u64 = 1 << 20;
/// How many times the size it had when it was rewritten last a journal may grow to.
const GROWTH: u64 = 4;

/// A journal, open at its end.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_rewritten: u64,
    /// A line that was written in part could not be taken back.
    is_broken: bool,
}

impl Journal {
    /// Opens a journal, or makes an empty one; also its records.
    pub(crate) fn open(path: PathBuf) -> io::Result<(Self, Vec<Value>)> {
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let (records, bytes) = read(&path, &text)?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.set_len(bytes)?;
        Ok((Self { path, file, bytes, bytes_rewritten: bytes, is_broken: false }, records))
    }

    /// Appends a record: all of it or, with the error, nothing.
    pub(crate) fn append(&mut self, record: &Value) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("the journal is broken"));
        }
        let line = line(record);
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            self.is_broken = self.file.set_len(self.bytes).is_err();
            return Err(error);
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Whether most of it is out of date, most likely.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes > SMALL && self.bytes / GROWTH > self.bytes_rewritten
    }

    /// Puts these records in the place of all.
    pub(crate) fn rewrite(&mut self, records: impl Iterator<Item = Value>) -> io::Result<()> {
        let text: String = records.map(|record| line(&record)).collect();
        let new = self.path.with_extension("new");
        fs::write(&new, &text)?;
        fs::rename(&new, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.bytes = text.len() as u64;
        self.bytes_rewritten = self.bytes;
        self.is_broken = false;
        Ok(())
    }
}

fn line(record: &Value) -> String {
    let record = record.to_string();
    format!("{:08x} {record}\n", crc32c::crc32c(record.as_bytes()))
}

/// The records, and how many bytes they take.
fn read(path: &Path, text: &[u8]) -> io::Result<(Vec<Value>, u64)> {
    let mut records = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let len = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(len);
        match parse(line) {
            Some(record) => records.push(record),
            None if behind.is_empty() => break,
            None => {
                let text = format!("{}: line {} is damaged", path.display(), records.len() + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        rest = behind;
    }
    Ok((records, (text.len() - rest.len()) as u64))
}

fn parse(line: &[u8]) -> Option<Value> {
    let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (checksum, record) = line.split_once(' ')?;
    let is_right = u32::from_str_radix(checksum, 16).ok()? == crc32c::crc32c(record.as_bytes());
    serde_json::from_str(record).ok().filter(|_| is_right)
}
