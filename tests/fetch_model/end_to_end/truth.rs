//! What is true of partitions, which both sides should come to agree on.

use crate::reading::Reading;
use kafka_coordination::{ErrorCode, TopicId, TopicName};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(crate) const TOPICS: [&str; 2] = ["a", "b"];
pub(crate) const PARTITIONS: i32 = 2;

/// The topics of a broker: their ids, and the offsets of their partitions.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    topics: BTreeMap<String, TopicId>,
    offsets: BTreeMap<(String, i32), (i64, i64)>,
    next_id: u128,
}

/// How the truth changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// High watermark and log start offset.
    Offsets(usize, i32, i64, i64),
    /// Deleted, or if it is not there created under a new id.
    Topic(usize),
}

impl Truth {
    pub(crate) fn new() -> Self {
        let mut truth = Self { topics: BTreeMap::new(), offsets: BTreeMap::new(), next_id: 1 };
        (0..TOPICS.len()).for_each(|topic| truth.apply(Change::Topic(topic)));
        truth
    }

    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Offsets(topic, partition, high_watermark, log_start) => {
                let place = (TOPICS[topic].to_owned(), partition);
                self.offsets.insert(place, (high_watermark, log_start));
            }
            Change::Topic(topic) => {
                if self.topics.remove(TOPICS[topic]).is_none() {
                    self.topics.insert(TOPICS[topic].to_owned(), TopicId::from_u128(self.next_id));
                    self.next_id += 1;
                }
            }
        }
    }

    pub(crate) fn id_of(&self, name: &str) -> Option<TopicId> {
        self.topics.get(name).copied()
    }

    pub(crate) fn name_of(&self, id: TopicId) -> Option<TopicName> {
        let mut topics = self.topics.iter();
        topics.find(|(_, it)| **it == id).map(|(name, _)| TopicName::from(name.as_str()))
    }

    /// What a read finds of a partition; the id is zero if the request is by name.
    pub(crate) fn read(&self, id: TopicId, name: Option<&str>, partition: i32) -> Reading {
        let Some(name) = name else { return Reading::failed(ErrorCode::UnknownTopicId) };
        let Some(own_id) = self.id_of(name) else {
            return Reading::failed(ErrorCode::UnknownTopicOrPartition);
        };
        if !id.is_zero() && id != own_id {
            return Reading::failed(ErrorCode::InconsistentTopicId);
        }
        let offsets = self.offsets.get(&(name.to_owned(), partition));
        let (high_watermark, log_start) = offsets.copied().unwrap_or_default();
        Reading::of(high_watermark, log_start)
    }
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..TOPICS.len(), 0..PARTITIONS, 0..4_i64, 0..2_i64).prop_map(
            |(topic, partition, high_watermark, log_start)| {
                Change::Offsets(topic, partition, high_watermark, log_start)
            },
        ),
        1 => (0..TOPICS.len()).prop_map(Change::Topic),
    ]
}
