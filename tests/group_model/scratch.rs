//! Hashes from nothing: no table, no memory, the bytes put together in the plainest way.

use kafka_coordination::TopicId;
use kafka_coordination::metadata::MetadataImage;
use uuid::Uuid;

/// The code units of a text and how many they are.
fn text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    bytes.extend(i32::try_from(units.len()).unwrap().to_le_bytes());
    bytes
}

/// The hash of a topic with these racks for each partition.
pub(crate) fn hash_of(id: TopicId, name: &str, partitions: &[Vec<&str>]) -> i64 {
    let (high, low) = Uuid::from(id).as_u64_pair();
    let mut bytes = vec![0];
    bytes.extend(high.to_le_bytes());
    bytes.extend(low.to_le_bytes());
    bytes.extend(text(name));
    bytes.extend(i32::try_from(partitions.len()).unwrap().to_le_bytes());
    for (partition, racks) in (0_i32..).zip(partitions) {
        let mut racks = racks.clone();
        racks.sort_by_key(|rack| rack.encode_utf16().collect::<Vec<_>>());
        bytes.extend(partition.to_le_bytes());
        for rack in racks {
            bytes.extend(i32::try_from(rack.encode_utf16().count()).unwrap().to_le_bytes());
            bytes.extend(text(rack));
        }
    }
    twox_hash::XxHash3_64::oneshot(&bytes).cast_signed()
}

/// The hash of a topic of an image, if it exists.
pub(crate) fn topic_hash(image: &impl MetadataImage, name: &str) -> Option<i64> {
    let topic = image.topic_by_name(name)?;
    let partitions: Vec<Vec<&str>> = (0..topic.partition_count())
        .map(|partition| {
            let replicas = topic.replicas(partition).unwrap_or_default();
            replicas.iter().filter_map(|&broker| image.rack(broker)).collect()
        })
        .collect();
    Some(hash_of(topic.id(), name, &partitions))
}

/// The metadata hash of these topics.
pub(crate) fn metadata_hash<'a>(
    image: &impl MetadataImage,
    names: impl IntoIterator<Item = &'a str>,
) -> i64 {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
    names.dedup();
    let hashes = names.into_iter().filter_map(|name| topic_hash(image, name));
    let bytes: Vec<u8> = hashes.flat_map(i64::to_le_bytes).collect();
    if bytes.is_empty() { 0 } else { twox_hash::XxHash3_64::oneshot(&bytes).cast_signed() }
}
