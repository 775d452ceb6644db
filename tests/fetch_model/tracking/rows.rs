//! The rules by which a partition is visited, each left out once: it must be noticed, or the
//! comparison of the two caches would prove nothing about it.

use super::row::Row;
use super::{FEW, Twins, operations};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{
    CacheConfig, FetchCache, FetchParams, FetcherKind, PartitionRead, Reported, Retention, Slot,
    inclusion, retention,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// In how many lists of operations a rule's absence must be noticed.
const LISTS: usize = 400;

/// The first difference without the rule, if there is one.
fn difference_without(row: Row, lists: usize) -> Option<String> {
    let mut runner = TestRunner::deterministic();
    (0..lists).find_map(|_| {
        let operations = operations(FEW, 150).new_tree(&mut runner).unwrap().current();
        Twins::new(Some(row)).run(&operations).err()
    })
}

macro_rules! noticed {
    ($($test:ident: $row:ident;)*) => {$(
        #[test]
        fn $test() {
            assert!(
                difference_without(Row::$row, LISTS).is_some(),
                "no difference in {LISTS} lists of operations"
            );
        }
    )*};
}

noticed! {
    row_e1_off_is_noticed: E1;
    row_e2_off_is_noticed: E2;
    row_e3_off_is_noticed: E3;
    row_e4_off_is_noticed: E4;
    row_e5_off_is_noticed: E5;
    row_e6_off_is_noticed: E6;
    row_e7_off_is_noticed: E7;
    row_e8_off_is_noticed: E8;
    row_e9_off_is_noticed: E9;
    row_e10_off_is_noticed: E10;
    row_e11_off_is_noticed: E11;
    row_e12_off_is_noticed: E12;
    row_e13_off_is_noticed: E13;
    row_r1_returned_off_is_noticed: R1Returned;
    row_r1_withheld_off_is_noticed: R1Withheld;
    row_r2_off_is_noticed: R2;
    row_r3_off_is_noticed: R3;
    row_r5_off_is_noticed: R5;
    row_r6_off_is_noticed: R6;
}

/// What the tests above see is the rule's absence, and not the way in which it is left out.
#[test]
fn leaving_nothing_out_is_not_noticed() {
    assert_eq!(difference_without(Row::Nothing, 100), None);
}

/// R4 keeps a partition of which the fetcher was told something else than what was read. After an
/// answer that is so only of an error, which R2 keeps already: an answer carries whatever differs
/// and tells it. So its absence shows in no run, and it is the rule itself that is held here, for
/// hosts that ask it about answers of their own.
#[test]
fn row_r4_off_is_noticed() {
    let slot = any_slot();
    let read = PartitionRead::new(slot, 7, 3);
    let told = |high_watermark, log_start_offset| Reported { high_watermark, log_start_offset };
    assert_eq!(retention(told(7, 3), &read), None);
    assert_eq!(retention(told(-1, 3), &read), Some(Retention::Untold));
    assert_eq!(retention(told(7, 2), &read), Some(Retention::Untold));

    for high_watermark in -1..2 {
        for log_start in -1..2 {
            let plain = PartitionRead::new(slot, high_watermark, log_start);
            let failed = plain.with_error(ErrorCode::OffsetMovedToTieredStorage);
            for before in [told(-1, -1), told(0, 1), told(1, 0)] {
                assert_eq!(retention(inclusion(before, &plain).1, &plain), None);
                let kept = retention(inclusion(before, &failed).1, &failed);
                assert_eq!(kept, Some(Retention::Error));
            }
        }
    }
}

fn any_slot() -> Slot {
    use crate::request::{Key, Request};
    use kafka_coordination::fetch::{FetchMetadata, Profile};
    use kafka_coordination::{Monotonic, TopicId};
    let key = Key { id: TopicId::ZERO, name: "a".to_owned(), partition: 0 };
    let params = FetchParams {
        fetch_offset: 0,
        log_start_offset: -1,
        max_bytes: 0,
        leader_epoch: None,
        last_fetched_epoch: None,
    };
    let request = Request {
        version: 12,
        metadata: FetchMetadata::LEGACY,
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        wanted: vec![(key, params)],
        forgotten: Vec::new(),
        names: crate::universe::NOTHING,
    };
    let mut cache = FetchCache::new(CacheConfig::default());
    let context = request.begin(&mut cache, Monotonic::from_millis(0));
    cache.visit(&context).next().unwrap().slot
}
