//! An image that holds what a vector says, whether a cluster could have it or not.

use crate::fields::{Fields, integer};
use crate::value::optional_text;
use kafka_coordination::TopicId;
use kafka_coordination::metadata::{MetadataImage, Partitions, TopicView};
use serde_json::Value;
use std::collections::BTreeMap;

/// Topics and brokers.
#[derive(Clone, Default)]
pub(crate) struct Image {
    pub(crate) offset: i64,
    pub(crate) topics: BTreeMap<String, Topic>,
    /// The registered brokers, each with its rack.
    pub(crate) brokers: BTreeMap<i32, Option<String>>,
}

/// A topic, whose partitions may leave numbers out.
#[derive(Clone)]
pub(crate) struct Topic {
    pub(crate) id: TopicId,
    pub(crate) replicas: BTreeMap<i32, Vec<i32>>,
}

impl Partitions for Topic {
    fn count(&self) -> i32 {
        i32::try_from(self.replicas.len()).expect("few partitions")
    }

    fn replicas(&self, partition: i32) -> Option<&[i32]> {
        self.replicas.get(&partition).map(Vec::as_slice)
    }
}

impl MetadataImage for Image {
    fn offset(&self) -> i64 {
        self.offset
    }

    fn topic_by_id(&self, id: TopicId) -> Option<TopicView<'_>> {
        let (name, topic) = self.topics.iter().find(|(_, topic)| topic.id == id)?;
        Some(TopicView::new(id, name, topic))
    }

    fn topic_by_name(&self, name: &str) -> Option<TopicView<'_>> {
        let (name, topic) = self.topics.get_key_value(name)?;
        Some(TopicView::new(topic.id, name, topic))
    }

    fn rack(&self, broker: i32) -> Option<&str> {
        self.brokers.get(&broker)?.as_deref()
    }
}

impl Image {
    /// Registers a broker of a vector, whose state but for its rack does not matter.
    pub(crate) fn register(&mut self, broker: &Fields<'_>) -> Result<(), String> {
        let rack = optional_text(broker.value("rack")?)?.map(str::to_owned);
        broker.boolean("fenced")?;
        self.brokers.insert(broker.integer("id")?, rack);
        Ok(())
    }
}

/// A topic id as its 32 hexadecimal digits, with hyphens or without.
pub(crate) fn topic_id(text: &str) -> Result<TopicId, String> {
    let digits = text.replace('-', "");
    let bits = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32);
    bits.map(TopicId::from_u128).ok_or_else(|| format!("not a topic id: {text}"))
}

/// A list of broker ids.
pub(crate) fn replicas(value: &Value) -> Result<Vec<i32>, String> {
    let list = value.as_array().ok_or_else(|| format!("not replicas: {value}"))?;
    list.iter().map(integer).collect()
}
