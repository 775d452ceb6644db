//! The offsets that groups have committed.

use kafka_coordination::{ErrorCode, TopicName};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Included, Unbounded};

/// What an offset takes beside its texts, roughly.
const OVERHEAD: usize = 160;

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: Option<Box<str>>,
}

/// A partition and the offset to commit for it.
pub(crate) type Commit = (TopicName, i32, Committed);

/// All committed offsets.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    /// Invariant: no group without an offset.
    by_group: HashMap<String, Partitions>,
    count: usize,
    bytes: usize,
}

type Partitions = BTreeMap<(TopicName, i32), Committed>;

impl Offsets {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The memory that they take, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The groups that have committed something.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.by_group.keys().map(String::as_str)
    }

    /// Commits an offset, if there is room for it.
    pub(crate) fn commit(
        &mut self,
        group: &str,
        (topic, partition, committed): Commit,
        (max_count, max_bytes): (usize, usize),
    ) -> Result<(), ErrorCode> {
        let key = (topic, partition);
        let old = self.by_group.get(group).and_then(|partitions| partitions.get(&key));
        let count = self.count + usize::from(old.is_none());
        let freed = old.map_or(0, |old| size(&key, old));
        let bytes = self.bytes - freed + size(&key, &committed);
        if count > max_count || bytes > max_bytes {
            return Err(ErrorCode::InvalidCommitOffsetSize);
        }
        (self.count, self.bytes) = (count, bytes);
        match self.by_group.get_mut(group) {
            Some(partitions) => partitions.insert(key, committed),
            None => self.by_group.entry(group.to_owned()).or_default().insert(key, committed),
        };
        Ok(())
    }

    pub(crate) fn get(&self, group: &str, topic: &TopicName, partition: i32) -> Option<&Committed> {
        self.by_group.get(group)?.get(&(topic.clone(), partition))
    }

    /// All offsets of a group, by topic and partition.
    pub(crate) fn of_group(
        &self,
        group: &str,
    ) -> impl Iterator<Item = (&TopicName, i32, &Committed)> {
        let partitions = self.by_group.get(group).into_iter().flatten();
        partitions.map(|((topic, partition), committed)| (topic, *partition, committed))
    }

    /// Forgets a topic that is deleted: its successor of the same name starts from the beginning.
    pub(crate) fn forget_topic(&mut self, topic: &TopicName) {
        let Self { by_group, count, bytes } = self;
        by_group.retain(|_, partitions| {
            let from = (topic.clone(), i32::MIN);
            let of_topic = partitions
                .range((Included(from), Unbounded))
                .take_while(|((name, _), _)| name == topic);
            for key in of_topic.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                if let Some(forgotten) = partitions.remove(&key) {
                    *count -= 1;
                    *bytes -= size(&key, &forgotten);
                }
            }
            !partitions.is_empty()
        });
    }
}

fn size((topic, _): &(TopicName, i32), committed: &Committed) -> usize {
    OVERHEAD + topic.len() + committed.metadata.as_ref().map_or(0, |metadata| metadata.len())
}
