//! Where everything is.

use super::Journal;
use kafka_coordination::TopicId;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The directory, of which this process has the lock.
#[derive(Debug)]
pub(super) struct DataDir {
    root: PathBuf,
    _lock: File,
}

impl DataDir {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let lock = File::create(root.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::Error(error) => error,
            fs::TryLockError::WouldBlock => {
                let text = format!("{}: another broker is using it", root.display());
                io::Error::new(io::ErrorKind::WouldBlock, text)
            }
        })?;
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    /// Opens the journal of that name; also its records.
    pub(super) fn journal(&self, name: &str) -> io::Result<(Journal, Vec<Value>)> {
        Journal::open(self.root.join(name).with_extension("journal"))
    }

    /// Where the log of a partition is.
    pub(super) fn partition(&self, topic: TopicId, partition: usize) -> PathBuf {
        self.topic(topic).join(partition.to_string())
    }

    /// The topics that have logs.
    pub(super) fn topics(&self) -> io::Result<Vec<TopicId>> {
        let entries = match fs::read_dir(self.root.join("topics")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut topics = Vec::new();
        for entry in entries {
            topics
                .extend(entry?.file_name().to_str().and_then(|name| name.parse::<TopicId>().ok()));
        }
        Ok(topics)
    }

    /// Deletes all logs of a topic.
    pub(super) fn delete_topic(&self, topic: TopicId) -> io::Result<()> {
        match fs::remove_dir_all(self.topic(topic)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn topic(&self, topic: TopicId) -> PathBuf {
        self.root.join("topics").join(topic.to_string())
    }
}
