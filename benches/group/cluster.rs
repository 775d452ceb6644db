//! The cluster of the benches: brokers in three racks whose names have eight letters.

use kafka_coordination::TopicId;
use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage};

pub(crate) const RACKS: [&str; 3] = ["rack-aaa", "rack-bbb", "rack-ccc"];

/// A topic's name of 25 letters.
pub(crate) fn name(topic: u32) -> String {
    format!("topic-with-a-name-{topic:07}")
}

pub(crate) fn id(topic: u32) -> TopicId {
    TopicId::from_u128(0x0102_0304_0506_0708_0000_0000_0000_0000 + u128::from(topic) + 1)
}

/// The brokers of a partition, each in another rack, spread as Kafka spreads them: leaders in turn, and the others
/// further on with each turn.
pub(crate) fn replicas(partition: i32, brokers: i32) -> [i32; 3] {
    let racks = brokers / 3;
    let (leader, shift) = (partition % brokers, partition / brokers % racks);
    [leader, (leader + 1 + 3 * shift) % brokers, (leader + 2 + 3 * shift) % brokers]
}

/// A cluster of so many brokers without topics.
pub(crate) fn cluster(brokers: i32) -> ClusterImage {
    let mut delta = ImageDelta::new(1);
    for (broker, rack) in (0..brokers).zip(RACKS.into_iter().cycle()) {
        delta.register_broker(broker, Some(rack));
    }
    let mut image = ClusterImage::new();
    image.apply(&delta).expect("a legal delta");
    image
}

/// Adds topics with so many partitions each.
pub(crate) fn add_topics(image: &mut ClusterImage, topics: u32, partitions: i32, brokers: i32) {
    let mut delta = ImageDelta::new(image.offset() + 1);
    for topic in 0..topics {
        delta.create_topic(id(topic), name(topic));
        for partition in 0..partitions {
            delta.add_partition(id(topic), partition, &replicas(partition, brokers));
        }
    }
    image.apply(&delta).expect("a legal delta");
}
