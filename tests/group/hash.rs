//! The hashes, beside others that a reader of the KIP might compute.

use kafka_coordination::TopicId;
use kafka_coordination::group::{MetadataHash, TopicHash, TopicHasher};
use kafka_coordination::metadata::{ClusterImage, ImageDelta, MetadataImage, TopicView};

const ID: TopicId = TopicId::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);

/// Broker n is in rack n, but for broker 9, which has none.
fn cluster() -> ClusterImage {
    let mut delta = ImageDelta::new(1);
    for broker in 0..9 {
        delta.register_broker(broker, Some(&format!("rack{broker}")));
    }
    delta.register_broker(9, None);
    let mut image = ClusterImage::new();
    image.apply(&delta).unwrap();
    image
}

fn hash(id: TopicId, name: &str, replicas: &[&[i32]]) -> i64 {
    let partitions: Vec<Vec<i32>> = replicas.iter().map(|replicas| replicas.to_vec()).collect();
    let topic = TopicView::new(id, name, &partitions);
    TopicHasher::new().topic_hash(&cluster(), topic).as_i64()
}

/// The same over bytes that are put together here.
fn by_hand(bytes: &[&[u8]]) -> i64 {
    twox_hash::XxHash3_64::oneshot(&bytes.concat()).cast_signed()
}

fn text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
    bytes.chain(int(units.len())).collect()
}

fn int(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap().to_le_bytes()
}

fn rack(name: &str) -> Vec<u8> {
    [int(name.encode_utf16().count()).to_vec(), text(name)].concat()
}

#[test]
fn a_topic_hash_is_that_of_the_bytes_in_the_documented_order() {
    let (high, low) =
        (0x0102_0304_0506_0708_u64.to_le_bytes(), 0x090a_0b0c_0d0e_0f10_u64.to_le_bytes());
    let [r0, r1, r2] = ["rack0", "rack1", "rack2"].map(rack);
    let (foo, count) = (text("foo"), int(2));
    let p0 = [&int(0)[..], &r0, &r1].concat();
    let p1 = [&int(1)[..], &r1, &r2].concat();
    let expected = by_hand(&[&[0], &high, &low, &foo, &count, &p0, &p1]);
    assert_eq!(expected, -7_881_643_745_322_667_710);
    assert_eq!(hash(ID, "foo", &[&[0, 1], &[1, 2]]), expected);
    assert_eq!(hash(ID, "foo", &[&[1, 0], &[2, 1]]), expected, "whatever the order of replicas");

    let unsorted = [&int(0)[..], &r1, &r0].concat();
    let others = [
        ("another magic byte", by_hand(&[&[1], &high, &low, &foo, &count, &p0, &p1])),
        ("the halves of the id swapped", by_hand(&[&[0], &low, &high, &foo, &count, &p0, &p1])),
        ("the partitions reversed", by_hand(&[&[0], &high, &low, &foo, &count, &p1, &p0])),
        (
            "racks in the order of replicas",
            by_hand(&[&[0], &high, &low, &foo, &count, &unsorted, &p1]),
        ),
    ];
    for (what, other) in others {
        assert_ne!(other, expected, "{what}");
    }
}

#[test]
fn each_part_of_a_topic_counts() {
    let foo = hash(ID, "foo", &[&[0, 1], &[1, 2]]);
    let others = [
        hash(TopicId::from_u128(1), "foo", &[&[0, 1], &[1, 2]]),
        hash(ID, "bar", &[&[0, 1], &[1, 2]]),
        hash(ID, "foo", &[&[0, 1]]),
        hash(ID, "foo", &[&[0, 1], &[1, 2], &[]]),
        hash(ID, "foo", &[&[0, 1], &[1]]),
        hash(ID, "foo", &[&[0, 1], &[1, 2, 2]]),
        hash(ID, "foo", &[&[1, 2], &[0, 1]]),
        hash(ID, "foo", &[&[9, 9], &[9, 9]]),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(*other, foo, "{at}");
    }
}

#[test]
fn brokers_without_rack_or_registration_count_for_nothing() {
    let alone = hash(ID, "foo", &[&[0], &[]]);
    assert_eq!(hash(ID, "foo", &[&[9, 0, 77], &[77, -5, i32::MIN]]), alone);
}

#[test]
fn a_topic_that_does_not_exist_has_no_hash() {
    assert_eq!(TopicHash::of(&cluster(), "unknown"), None);
}

/// The hasher feeds large topics in chunks, which must not show.
#[test]
fn large_topics_hash_as_if_at_once() {
    let image = cluster();
    for count in [400, 862, 863, 5_000] {
        let partitions: Vec<Vec<i32>> = (0..count)
            .map(|partition| {
                let first = partition % 9;
                vec![first, (first + 1) % 9, (first + 4) % 9]
            })
            .collect();
        let mut bytes = vec![0];
        bytes.extend(0x0102_0304_0506_0708_u64.to_le_bytes());
        bytes.extend(0x090a_0b0c_0d0e_0f10_u64.to_le_bytes());
        bytes.extend(text("foo"));
        bytes.extend(int(partitions.len()));
        for (partition, replicas) in partitions.iter().enumerate() {
            bytes.extend(int(partition));
            let mut racks: Vec<_> = replicas.iter().map(|broker| format!("rack{broker}")).collect();
            racks.sort();
            bytes.extend(racks.iter().flat_map(|name| rack(name)));
        }
        let topic = TopicView::new(ID, "foo", &partitions);
        let hash = TopicHasher::new().topic_hash(&image, topic);
        assert_eq!(hash.as_i64(), by_hand(&[&bytes]), "{count} partitions");
    }
}

/// Up to four racks are remembered by their numbers; of five, the last four are not enough.
#[test]
fn many_replicas_that_differ_in_the_first_are_told_apart() {
    let image = cluster();
    for count in 2..=8 {
        let with = |first: i32| -> Vec<i32> { core::iter::once(first).chain(1..count).collect() };
        let mut hasher = TopicHasher::new();
        let mut hasher = hasher.with_image(&image);
        let both = vec![with(0), with(8)];
        let both = hasher.topic_hash(TopicView::new(ID, "foo", &both));
        let twice = vec![with(0), with(0)];
        assert_ne!(both, hasher.topic_hash(TopicView::new(ID, "foo", &twice)), "{count} replicas");
    }
}

/// Combinations of racks are remembered, a few at a time, which must not show.
#[test]
fn many_combinations_of_racks_hash_as_if_each_were_the_first() {
    let name = |broker: usize| format!("{broker:0>width$}", width = 1 + broker * 37 % 90);
    let mut delta = ImageDelta::new(1);
    for broker in 0..60 {
        delta.register_broker(i32::try_from(broker).unwrap(), Some(&name(broker)));
    }
    let mut image = ClusterImage::new();
    image.apply(&delta).unwrap();
    let brokers =
        |partition: usize| (0..partition % 7).map(move |at| (partition * 7 + at * 11) % 60);
    let mut bytes = vec![0];
    bytes.extend(0x0102_0304_0506_0708_u64.to_le_bytes());
    bytes.extend(0x090a_0b0c_0d0e_0f10_u64.to_le_bytes());
    bytes.extend(text("foo"));
    bytes.extend(int(3_000));
    for partition in 0..3_000 {
        bytes.extend(int(partition));
        let mut racks: Vec<_> = brokers(partition).map(name).collect();
        racks.sort();
        bytes.extend(racks.iter().flat_map(|name| rack(name)));
    }
    let partitions: Vec<Vec<i32>> = (0..3_000)
        .map(|partition| brokers(partition).map(|broker| i32::try_from(broker).unwrap()).collect())
        .collect();
    let topic = TopicView::new(ID, "foo", &partitions);
    let mut hasher = TopicHasher::new();
    let mut hasher = hasher.with_image(&image);
    for _ in 0..2 {
        assert_eq!(hasher.topic_hash(topic).as_i64(), by_hand(&[&bytes]));
    }
}

/// Broker ids are looked up in a table of 1024 places, which must not show either.
#[test]
fn brokers_that_share_a_place_are_told_apart() {
    let brokers = [0, 1024, 2048, -1024, i32::MAX, i32::MIN, 1023];
    let mut delta = ImageDelta::new(1);
    for (at, broker) in brokers.iter().enumerate().filter(|(_, broker)| **broker >= 0) {
        delta.register_broker(*broker, Some(["a", "b", "c", "d", "e", "f", "g"][at]));
    }
    let mut image = ClusterImage::new();
    image.apply(&delta).unwrap();
    let partitions = vec![brokers.to_vec(), brokers.iter().rev().copied().collect()];
    let topic = TopicView::new(ID, "foo", &partitions);
    let hash = TopicHasher::new().topic_hash(&image, topic);
    let racks: Vec<u8> = ["a", "b", "c", "e", "g"].into_iter().flat_map(rack).collect();
    let (high, low) =
        (0x0102_0304_0506_0708_u64.to_le_bytes(), 0x090a_0b0c_0d0e_0f10_u64.to_le_bytes());
    let expected =
        by_hand(&[&[0], &high, &low, &text("foo"), &int(2), &int(0), &racks, &int(1), &racks]);
    assert_eq!(hash.as_i64(), expected);
}

/// A hasher that is used again must not remember the racks of another image.
#[test]
fn a_hasher_forgets_racks() {
    let partitions = vec![vec![0, 1]];
    let topic = TopicView::new(ID, "foo", &partitions);
    let mut other = ClusterImage::new();
    let mut delta = ImageDelta::new(1);
    delta.register_broker(0, Some("elsewhere"));
    other.apply(&delta).unwrap();
    let mut hasher = TopicHasher::new();
    let here = hasher.topic_hash(&cluster(), topic);
    let there = hasher.topic_hash(&other, topic);
    assert_ne!(here, there);
    assert_eq!(there, TopicHasher::new().topic_hash(&other, topic));
    assert_eq!(hasher.topic_hash(&cluster(), topic), here);
}

/// The weakness that is kept, because what Kafka stored has to compare equal: racks are not counted, so control
/// characters in their names can pass for the next partition.
#[test]
fn racks_with_control_characters_may_collide() {
    let mut delta = ImageDelta::new(1);
    delta.register_broker(0, Some("\u{2}\0"));
    let mut image = ClusterImage::new();
    image.apply(&delta).unwrap();
    let hash = |partitions: Vec<Vec<i32>>| {
        TopicHasher::new().topic_hash(&image, TopicView::new(ID, "foo", &partitions))
    };
    let one = hash(vec![vec![], vec![], vec![0]]);
    assert_eq!(one, hash(vec![vec![], vec![0], vec![]]));
}

#[test]
fn no_topics_hash_to_zero_and_one_not_to_itself() {
    assert_eq!(MetadataHash::of([]), MetadataHash::NONE);
    let one = MetadataHash::of([("a", TopicHash::from_i64(0))]);
    assert_eq!(one.as_i64(), -4_072_596_861_322_023_719);
}

/// An image may be asked through a trait object.
#[test]
fn images_may_be_objects() {
    let image = cluster();
    let object: &dyn MetadataImage = &image;
    assert_eq!(TopicHash::of(object, "unknown"), None);
}

#[cfg(feature = "std")]
mod draft {
    use super::{ID, cluster, hash};
    use kafka_coordination::group::DraftTopicHash;
    use kafka_coordination::metadata::TopicView;

    fn draft(replicas: &[&[i32]]) -> i64 {
        let partitions: Vec<Vec<i32>> = replicas.iter().map(|replicas| replicas.to_vec()).collect();
        DraftTopicHash::of(&cluster(), TopicView::new(ID, "foo", &partitions)).as_i64()
    }

    /// By the formula, with the canonical hashes of the parts.
    #[test]
    fn the_draft_is_the_documented_sum() {
        let foo = 1_549_004_116_575_605_779_i64;
        let count = {
            let mut bytes = &0_i32.to_be_bytes()[..];
            i64::from_le_bytes(
                *murmur3::murmur3_x64_128(&mut bytes, 104_729)
                    .unwrap()
                    .to_le_bytes()
                    .first_chunk()
                    .unwrap(),
            )
        };
        let head = 16_i64
            .wrapping_mul(63)
            .wrapping_add(foo)
            .wrapping_mul(63)
            .wrapping_add(count)
            .wrapping_mul(63);
        assert_eq!(draft(&[]), head);
    }

    #[test]
    fn racks_that_change_places_are_invisible_to_the_draft() {
        let layouts: [&[&[i32]]; 4] =
            [&[&[0], &[1]], &[&[1], &[0]], &[&[0, 1], &[]], &[&[], &[0, 1]]];
        for layout in layouts {
            assert_eq!(draft(layout), draft(layouts[0]), "{layout:?}");
        }
        let mut released = layouts.map(|layout| hash(ID, "foo", layout)).to_vec();
        released.sort_unstable();
        released.dedup();
        assert_eq!(released.len(), 4, "the released hash sees each");
    }

    #[test]
    fn a_rack_counts_once_a_partition_in_the_draft() {
        assert_eq!(draft(&[&[0, 0]]), draft(&[&[0]]));
        assert_ne!(hash(ID, "foo", &[&[0, 0]]), hash(ID, "foo", &[&[0]]));
    }

    #[test]
    fn the_draft_is_not_what_is_stored() {
        assert_ne!(draft(&[&[0, 1], &[1, 2]]), hash(ID, "foo", &[&[0, 1], &[1, 2]]));
    }
}
