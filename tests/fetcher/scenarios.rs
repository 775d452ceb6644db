//! The scenarios of Kafka's `FetchSessionHandlerTest` and `ReplicaFetcherThreadTest`, named after them.
//!
//! Two of them have no counterpart: that a second build of one wish list fails is a matter of types here, and the set
//! difference behind `findMissing` is not exposed.

use crate::fixture::{
    NO_ID, VERSIONS, X, Y, at, hear, hear_error, held, id_at, key, keys, metadata, plan, sent,
};
use kafka_coordination::fetch::{FetchMetadata, FetcherSession, Mismatch, Verdict};
use kafka_coordination::{ErrorCode, TopicId};

const SEED: u64 = 7;

#[test]
fn sessionless() {
    for version in VERSIONS {
        let foo = id_at(version, "foo");
        let wishes = [(foo, "foo", 0, at(0)), (foo, "foo", 1, at(10))];
        let all = [key(foo, "foo", 0), key(foo, "foo", 1)];
        let mut session = FetcherSession::new(SEED);
        for _ in 0..2 {
            let plan = plan(&mut session, &wishes);
            assert_eq!(plan.metadata(), FetchMetadata::INITIAL);
            assert_eq!((sent(plan), held(plan)), (all.to_vec(), all.to_vec()));
            assert_eq!(hear(&mut session, version, 0, &all), Verdict::Sessionless);
        }
    }
}

#[test]
fn incrementals() {
    for version in VERSIONS {
        let (foo, bar) = (id_at(version, "foo"), id_at(version, "bar"));
        let mut session = FetcherSession::new(SEED);
        let mut wishes = vec![(foo, "foo", 0, at(0)), (foo, "foo", 1, at(10))];
        let _ = plan(&mut session, &wishes);
        let all = [key(foo, "foo", 0), key(foo, "foo", 1)];
        assert_eq!(hear(&mut session, version, 123, &all), Verdict::Opened);

        wishes[1].3.fetch_offset = 20;
        wishes.push((bar, "bar", 0, at(20)));
        let incremental = plan(&mut session, &wishes);
        assert_eq!(incremental.metadata(), metadata(123, 1));
        assert_eq!(sent(incremental), [key(bar, "bar", 0), key(foo, "foo", 1)], "additions first");
        let all = [key(foo, "foo", 0), key(foo, "foo", 1), key(bar, "bar", 0)];
        assert_eq!(held(incremental), all);
        assert_eq!(hear(&mut session, version, 123, &all[1..2]), Verdict::Continued);

        let idle = plan(&mut session, &wishes);
        assert_eq!(idle.metadata(), metadata(123, 2));
        assert_eq!(sent(idle), []);
        let error = ErrorCode::InvalidFetchSessionEpoch;
        assert_eq!(hear_error(&mut session, version, error), Verdict::Failed(error));

        let full = plan(&mut session, &wishes);
        assert_eq!(full.metadata(), metadata(123, 0));
        assert_eq!(sent(full), all);
    }
}

#[test]
fn incremental_partition_removal() {
    for version in VERSIONS {
        let (foo, bar) = (id_at(version, "foo"), id_at(version, "bar"));
        let mut session = FetcherSession::new(SEED);
        let wishes = [(foo, "foo", 0, at(0)), (foo, "foo", 1, at(10)), (bar, "bar", 0, at(20))];
        let _ = plan(&mut session, &wishes);
        let all = [key(foo, "foo", 0), key(foo, "foo", 1), key(bar, "bar", 0)];
        assert_eq!(hear(&mut session, version, 123, &all), Verdict::Opened);

        let incremental = plan(&mut session, &wishes[1..2]);
        assert_eq!(incremental.metadata(), metadata(123, 1));
        assert_eq!(sent(incremental), []);
        assert_eq!(keys(incremental.to_forget()), [key(foo, "foo", 0), key(bar, "bar", 0)]);
        assert_eq!(held(incremental), all[1..2]);

        let error = ErrorCode::FetchSessionIdNotFound;
        assert_eq!(hear_error(&mut session, version, error), Verdict::Failed(error));
        let full = plan(&mut session, &wishes[1..2]);
        assert_eq!(full.metadata(), FetchMetadata::INITIAL);
        assert_eq!(sent(full), all[1..2]);
    }
}

#[test]
fn topic_id_usage_granted_on_id_upgrade() {
    for (topic, partition) in [("foo", 0), ("foo", 1)] {
        let mut session = opened(NO_ID, 12);
        let wishes = [(X, topic, partition, at(0))];
        let plan = plan(&mut session, &wishes);
        assert_eq!(plan.metadata(), metadata(123, 1));
        assert_eq!(keys(plan.to_replace()), []);
        // The new partition drops the old one, which can be forgotten by name only.
        assert_eq!(plan.can_use_topic_ids(), partition == 0);
        let forgotten = if partition == 0 { vec![] } else { vec![key(NO_ID, "foo", 0)] };
        assert_eq!(keys(plan.to_forget()), forgotten);
    }
}

#[test]
fn id_usage_revoked_on_id_downgrade() {
    for partition in [0, 1] {
        let mut session = opened(X, 18);
        let plan = plan(&mut session, &[(NO_ID, "foo", partition, at(0))]);
        assert_eq!(plan.metadata(), metadata(123, 1));
        assert!(!plan.can_use_topic_ids());
        assert_eq!(plan.version(18), 12);
    }
}

#[test]
fn topic_id_replaced() {
    for (old, new) in [(X, Y), (X, NO_ID), (NO_ID, Y), (NO_ID, NO_ID)] {
        let mut session = opened(old, 18);
        let plan = plan(&mut session, &[(new, "foo", 0, at(0))]);
        assert_eq!(plan.metadata(), metadata(123, 1));
        let replaced = if (old, new) == (X, Y) { vec![key(X, "foo", 0)] } else { vec![] };
        assert_eq!(keys(plan.to_replace()), replaced);
        let changed = if old == new { vec![] } else { vec![key(new, "foo", 0)] };
        assert_eq!(sent(plan), changed);
        assert_eq!(keys(plan.to_forget()), []);
        assert_eq!(plan.can_use_topic_ids(), new == Y);
        let names: Vec<_> = plan.topic_names().map(|(id, name)| (id, name.to_string())).collect();
        let known = if new == Y { vec![(Y, "foo".to_owned())] } else { vec![] };
        assert_eq!(names, known);
    }
}

#[test]
fn session_epoch_when_mixed_usage_of_topic_ids() {
    let mut session = opened(X, 18);
    let plan = plan(&mut session, &[(X, "foo", 0, at(10)), (NO_ID, "bar", 1, at(0))]);
    assert_eq!(plan.metadata(), metadata(123, 1));
    assert!(!plan.can_use_topic_ids());
}

#[test]
fn id_usage_with_all_forgotten_partitions() {
    for (id, version) in [(X, 18), (NO_ID, 12)] {
        let mut session = opened(id, version);
        let plan = plan(&mut session, &[]);
        assert_eq!(keys(plan.to_forget()), [key(id, "foo", 0)]);
        assert_eq!(plan.can_use_topic_ids(), id == X);
        assert!(!plan.is_empty(), "there is something to forget");
    }
}

#[test]
fn ok_to_add_new_id_after_topic_removed_from_session() {
    let mut session = opened(X, 18);
    let _ = plan(&mut session, &[]);
    assert_eq!(hear(&mut session, 18, 123, &[]), Verdict::Continued);
    let plan = plan(&mut session, &[(Y, "foo", 0, at(0))]);
    assert_eq!(plan.metadata(), metadata(123, 2));
    assert!(plan.can_use_topic_ids());
    assert_eq!(keys(plan.to_replace()), []);
    assert_eq!(sent(plan), [key(Y, "foo", 0)]);
}

#[test]
fn verify_full_fetch_response_partitions() {
    for version in VERSIONS {
        let (foo, bar) = (id_at(version, "foo"), id_at(version, "bar"));
        let all = [key(foo, "foo", 0), key(foo, "foo", 1), key(bar, "bar", 0)];
        let mut session = FetcherSession::new(SEED);
        let Verdict::Invalid(mismatch) = hear(&mut session, version, 5, &all) else {
            panic!("nothing was asked for yet");
        };
        // By id the partitions of an unknown topic cannot even be named.
        let extra = (mismatch.extra_partitions, mismatch.extra_topic_ids);
        assert_eq!(extra, if version < 13 { (3, 0) } else { (0, 3) });

        let wishes = [(foo, "foo", 0, at(0)), (foo, "foo", 1, at(10)), (bar, "bar", 0, at(20))];
        let _ = plan(&mut session, &wishes);
        let Verdict::Invalid(mismatch) = hear(&mut session, version, 5, &all[..2]) else {
            panic!("one is missing");
        };
        assert_eq!(only_missing(mismatch), Some(1));
        assert_eq!(session.next_metadata(), FetchMetadata::INITIAL);
        assert_eq!(hear(&mut session, version, 5, &all), Verdict::Opened);
    }
}

#[test]
fn verify_full_fetch_response_partitions_with_topic_ids() {
    let mut session = FetcherSession::new(SEED);
    let _ = plan(&mut session, &[(X, "foo", 0, at(0)), (X, "foo", 1, at(10))]);
    let asked = [key(X, "foo", 0), key(X, "foo", 1)];
    let extra = [asked.as_slice(), &[key(Y, "bar", 0)]].concat();
    let Verdict::Invalid(mismatch) = hear(&mut session, 18, 5, &extra) else {
        panic!("a topic was not asked for");
    };
    assert_eq!((mismatch.extra_topic_ids, mismatch.missing_partitions), (1, 0));
    assert_eq!(hear(&mut session, 18, 5, &asked), Verdict::Opened);
}

#[test]
fn top_level_error_resets_metadata() {
    let mut session = opened(X, 18);
    let plan = plan(&mut session, &[(X, "foo", 0, at(0))]);
    assert_eq!(plan.metadata(), metadata(123, 1));
    let error = ErrorCode::UnknownTopicId;
    let verdict = hear_error(&mut session, 18, error);
    assert_eq!(verdict, Verdict::Failed(error));
    assert!(!verdict.is_processable());
    assert_eq!(session.next_metadata(), metadata(123, 0));
}

#[test]
fn build_fetch_of_a_replica_fetcher() {
    let third = TopicId::from_u128(0x3333);
    let mut session = FetcherSession::new(SEED);
    let _ = plan(
        &mut session,
        &[(X, "one", 0, at(150)), (Y, "two", 0, at(160)), (third, "three", 0, at(170))],
    );
    let all = [key(X, "one", 0), key(Y, "two", 0), key(third, "three", 0)];
    assert_eq!(hear(&mut session, 18, 123, &all), Verdict::Opened);

    let new = TopicId::from_u128(0x4444);
    let plan = plan(&mut session, &[(new, "two", 0, at(160)), (third, "three", 0, at(170))]);
    assert_eq!(sent(plan), [key(new, "two", 0)]);
    assert_eq!(keys(plan.to_replace()), [key(Y, "two", 0)]);
    assert_eq!(keys(plan.to_forget()), [key(X, "one", 0)]);
}

/// Session 123 with one partition of one topic, `foo`.
fn opened(id: TopicId, version: i16) -> FetcherSession {
    let mut session = FetcherSession::new(SEED);
    let _ = plan(&mut session, &[(id, "foo", 0, at(0))]);
    let version = if id == NO_ID { 12 } else { version };
    assert_eq!(hear(&mut session, version, 123, &[key(id, "foo", 0)]), Verdict::Opened);
    session
}

/// How many partitions are missing, if that is all that is wrong.
fn only_missing(mismatch: Mismatch) -> Option<usize> {
    let is_all = mismatch.extra_partitions == 0 && mismatch.extra_topic_ids == 0;
    is_all.then_some(mismatch.missing_partitions)
}
