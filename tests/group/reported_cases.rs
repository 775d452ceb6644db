//! Public bug reports of brokers and clients, as transcripts.

use crate::coordinator::{Coordinator, ORDERS, PAYMENTS};
use kafka_coordination::TopicId;
use kafka_coordination::group::{GroupChange, MetadataHash, TopicHash};
use kafka_coordination::metadata::{ClusterImage, ImageDelta};

const ORDERS_HASH: i64 = 6_643_931_155_295_618_906;
const ORDERS_GROUP: i64 = -6_423_155_369_827_150_768;

/// KAFKA-17747, KAFKA-12257: a topic that does not exist must be left out of the hash, and one that was created anew is
/// another.
#[test]
fn topics_that_are_missing_deleted_or_created_anew() {
    let mut it = Coordinator::with_orders();
    assert_eq!(it.topic("orders"), ORDERS_HASH);
    it.subscribe("g", &["orders"]);
    assert_eq!(it.stored("g"), ORDERS_GROUP);
    it.subscribe("g", &["orders", "missing"]);
    assert_eq!(it.stored("g"), ORDERS_GROUP, "as if it were not asked for");

    it.subscribe("g", &["orders", "payments"]);
    assert_eq!(it.create(PAYMENTS, "payments", &[&[1], &[2]]), ["g"], "woken by name");
    assert_eq!(it.topic("payments"), -1_737_168_066_708_982_439);
    assert!(it.bumps("g"));
    assert_eq!(it.stored("g"), -8_648_979_997_876_992_893);

    assert_eq!(it.change(|delta| _ = delta.delete_topic(PAYMENTS)), ["g"]);
    assert!(it.bumps("g"));
    assert_eq!(it.stored("g"), ORDERS_GROUP, "not 3365725198124668963, which has a 0 in it");

    let again = TopicId::from_u128(PAYMENTS.as_u128() + 1);
    assert_eq!(it.create(again, "payments", &[&[1], &[2]]), ["g"]);
    assert!(it.bumps("g"));
    assert_eq!(it.topic("payments"), 4_816_749_868_783_341_504);
    assert_eq!(it.stored("g"), 8_282_854_506_957_021_239);

    it.change(|delta| _ = delta.delete_topic(again));
    it.create(PAYMENTS, "payments", &[&[1], &[2]]);
    it.subscribe("g", &["payments"]);
    assert_eq!(it.stored("g"), 7_053_253_581_673_733_099);
    for topics in [&[][..], &["missing"], &["missing", "missing too"]] {
        it.subscribe("g", topics);
        assert_eq!(it.stored("g"), 0);
    }
}

/// KAFKA-17747: a topic that is deleted and created within one change of the cluster.
#[test]
fn a_topic_created_anew_at_once_wakes_its_groups_once() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    let again = TopicId::from_u128(77);
    let woken = it.change(|delta| {
        let delta = delta.delete_topic(ORDERS).create_topic(again, "orders");
        delta.add_partition(again, 0, &[1, 2]).add_partition(again, 1, &[2, 3]).add_partition(
            again,
            2,
            &[3, 1],
        );
    });
    assert_eq!(woken, ["g"]);
    assert!(it.bumps("g"), "the id alone differs");
    assert_ne!(it.stored("g"), ORDERS_GROUP);
}

/// KAFKA-17747: hashes go by the order of names, which themselves do not count.
#[test]
fn a_groups_hash_sees_hashes_in_the_order_of_names() {
    let hash = |topics: [(&str, i64); 2]| {
        MetadataHash::of(topics.map(|(name, hash)| (name, TopicHash::from_i64(hash)))).as_i64()
    };
    let expected = 1_482_712_172_080_382_793;
    assert_eq!(hash([("bar", 123), ("foo", 456)]), expected);
    assert_eq!(hash([("foo", 456), ("bar", 123)]), expected);
    assert_eq!(hash([("a", 123), ("z", 456)]), expected);
    assert_eq!(hash([("bar", 456), ("foo", 123)]), 3_576_632_854_778_799_618);
}

/// The hash of topic t with partitions in these racks.
fn racks(partitions: &[&[&str]]) -> i64 {
    let id = TopicId::from_u128((1 << 64) + 2);
    let mut delta = ImageDelta::new(1);
    delta.create_topic(id, "t");
    let mut broker = 0;
    for (partition, racks) in (0..).zip(partitions) {
        let first = broker;
        for &rack in *racks {
            delta.register_broker(broker, Some(rack));
            broker += 1;
        }
        delta.add_partition(id, partition, &(first..broker).collect::<Vec<_>>());
    }
    let mut image = ClusterImage::new();
    image.apply(&delta).unwrap();
    TopicHash::of(&image, "t").unwrap().as_i64()
}

/// KAFKA-17747, review of PR 19523: racks that look alike when they are joined.
#[test]
fn racks_that_look_alike_when_joined_differ() {
    assert_eq!(racks(&[&["a", "bc"]]), -6_033_148_284_094_079_832);
    assert_eq!(racks(&[&["ab", "c"]]), -1_339_003_650_759_289_649);
    assert_eq!(racks(&[&["abc"]]), 8_297_777_625_665_833_393);
    assert_eq!(racks(&[&[",,", ",,,"]]), 6_801_370_249_946_862_282);
    assert_eq!(racks(&[&[",,,", ",,"]]), 6_801_370_249_946_862_282);
    assert_eq!(racks(&[&[",", ",,,,"]]), -2_572_294_485_839_739_241);
    assert_eq!(racks(&[&["a"], &[]]), 8_954_412_624_702_156_087);
    assert_eq!(racks(&[&[], &["a"]]), -7_546_174_148_148_146_068);
}

/// KIP-1101's sample drops hashes by testing the wrong collection; KAFKA-17747 (PR 19761), aiokafka 108: what is shared
/// is computed once, and dropped in time.
#[test]
fn topic_hashes_are_shared_and_dropped() {
    let mut it = Coordinator::new();
    let (foo, bar) = (TopicId::from_u128(1), TopicId::from_u128(2));
    it.create(foo, "foo", &[&[1]]);
    it.create(bar, "bar", &[&[2]]);
    it.subscribe("g1", &["foo"]);
    it.subscribe("g2", &["foo"]);
    it.subscribe("g3", &["bar"]);
    assert_eq!(it.subscriptions.computed_hashes(), 2, "foo once for both");

    it.leave("g1", &[]);
    assert!(it.known("foo").is_some(), "g2 has it still");
    it.leave("g2", &[]);
    assert_eq!(it.known("foo"), None);
    it.change(|delta| _ = delta.add_partition(foo, 1, &[2]));
    it.subscribe("g1", &["foo"]);
    it.subscribe("g2", &["foo"]);
    assert_eq!(it.known("foo"), Some(it.topic("foo")), "of the image of that moment");
    assert_eq!(it.subscriptions.computed_hashes(), 3);

    assert_eq!(it.change(|delta| _ = delta.add_partition(foo, 2, &[3])), ["g1", "g2"]);
    assert_eq!(it.known("foo"), None);
    assert!(it.bumps("g1") && it.bumps("g2") && !it.bumps("g3"));
    assert_eq!(it.subscriptions.computed_hashes(), 4);
    assert_eq!(it.create(TopicId::from_u128(3), "baz", &[&[1]]), [] as [&str; 0]);
    assert_eq!(it.change(|delta| _ = delta.delete_topic(bar)), ["g3"], "by its name before");

    assert_eq!(it.notice(&["foo"]), ["g1", "g2"]);
    assert!(!it.bumps("g1") && !it.bumps("g2"), "an equal hash");
    assert_eq!(it.subscriptions.computed_hashes(), 5);
}

/// KAFKA-17747: the rack of a broker that is not told with any topic. Kafka goes on with 6643931155295618906.
#[test]
fn the_rack_of_a_broker_changes_and_no_topic() {
    let mut it = Coordinator::with_orders();
    it.create(PAYMENTS, "payments", &[&[1], &[3]]);
    it.subscribe("g", &["orders"]);
    it.subscribe("h", &["payments"]);
    assert_eq!(it.change(|delta| _ = delta.register_broker(2, Some("eu-2b"))), ["g"]);
    assert!(
        it.known("orders").is_none() && it.known("payments").is_some(),
        "only what broker 2 holds"
    );
    assert!(it.bumps("g") && !it.bumps("h"));
    assert_eq!(it.known("orders"), Some(4_447_117_463_861_274_824));
}

/// KAFKA-20778, PR 19611, librdkafka 4742: brokers that go and come back.
#[test]
fn a_rolling_restart_is_not_a_rebalance() {
    let mut it = Coordinator::with_orders();
    it.subscribe("g", &["orders"]);
    for _ in 0..2 {
        // Fenced, and back: leaders and ISRs change, the registration stays or is made anew.
        it.change(|delta| _ = delta.register_broker(2, Some("eu-1b")));
        assert_eq!(it.notice(&["orders"]), ["g"]);
        assert!(!it.bumps("g"));
        assert_eq!((it.topic("orders"), it.stored("g")), (ORDERS_HASH, ORDERS_GROUP));
    }

    assert_eq!(it.change(|delta| _ = delta.unregister_broker(2)), ["g"]);
    assert!(it.bumps("g"));
    assert_eq!(it.topic("orders"), -4_084_918_471_558_011_492);
    assert_eq!(it.stored("g"), 3_445_557_729_512_758_306);
    assert_eq!(it.change(|delta| _ = delta.register_broker(2, Some("eu-1b"))), ["g"]);
    assert!(it.bumps("g"));
    assert_eq!((it.topic("orders"), it.stored("g")), (ORDERS_HASH, ORDERS_GROUP));

    assert_eq!(it.change(|delta| _ = delta.add_partition(ORDERS, 3, &[1, 2])), ["g"]);
    assert!(it.bumps("g"));
    assert_eq!(it.topic("orders"), 6_272_548_018_913_059_620);
    assert_eq!(it.stored("g"), -3_659_924_302_462_763_846);
}

/// KAFKA-18687, kafka-python 1174, franz-go 1259: the first heartbeat after a group was loaded or converted.
#[test]
fn a_group_whose_hash_is_that_of_the_image_is_not_bumped() {
    let mut it = Coordinator::with_orders();
    it.load("converted", 7, ORDERS_GROUP, &["orders"]);
    it.load("loaded", 10, ORDERS_GROUP, &["orders"]);
    for group in ["converted", "loaded"] {
        let epoch = it.epoch(group);
        assert!(it.groups[group].has_expired(it.now()));
        let update = it.heartbeat(group).unwrap();
        assert!(!update.is_bump());
        assert_eq!((it.epoch(group), it.stored(group)), (epoch, ORDERS_GROUP));
        assert!(!it.bumps(group));
    }
    it.load("before 4.1", 10, 0, &["orders"]);
    assert!(it.bumps("before 4.1"));
    assert_eq!((it.epoch("before 4.1"), it.stored("before 4.1")), (11, ORDERS_GROUP));
    it.load("without topics", 10, 0, &["missing"]);
    assert!(!it.bumps("without topics"));
}

/// KAFKA-18687: the epoch that a target belongs to comes with the hash that made it due.
#[test]
fn epoch_and_hash_change_in_one_update() {
    let mut it = Coordinator::with_orders();
    it.load("g", 10, ORDERS_GROUP, &["orders"]);
    it.change(|delta| _ = delta.add_partition(ORDERS, 3, &[1, 2]));
    let update = it.decide("g", GroupChange::Changed);
    assert_eq!((update.epoch(), update.metadata_hash().as_i64()), (11, -3_659_924_302_462_763_846));
    assert_eq!((it.epoch("g"), it.stored("g")), (10, ORDERS_GROUP), "nothing before it is written");
    it.metadata("g").commit(update).unwrap();
    assert_eq!((it.epoch("g"), it.stored("g")), (11, -3_659_924_302_462_763_846));
    assert!(!it.bumps("g"), "a member that changes its client id only");
}
