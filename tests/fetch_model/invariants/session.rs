//! Invariants 8 to 13 and 24: a session and what requests make of it.

use super::after_each_step;
use crate::driver::{Did, View};
use crate::request::Key;
use crate::twin::keys;
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{
    CacheConfig, ContextKind, FetchCache, FetchMetadata, FetchParams, FetchRequest, FetcherKind,
    PartitionRead, PartitionRequest, Profile, RequestTopic,
};
use kafka_coordination::{Monotonic, TopicId};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;

#[test]
fn fs_08_no_session_is_empty_after_a_request_and_epochs_are_positive() {
    after_each_step(|| {
        |_, step| {
            for session in &step.after.state.sessions {
                prop_assert!(session.epoch >= 1);
            }
            if let Did::Begun(begun) = &step.did {
                // Also if the request emptied it, for then it is closed.
                let is_full = begun.request.metadata.is_full();
                let session = step.after.session(begun.request.metadata.session_id);
                if let (false, ErrorCode::None, Some(session)) = (is_full, begun.error, session) {
                    prop_assert!(!session.partitions.is_empty());
                }
            }
            Ok(())
        }
    });
}

#[test]
fn fs_09_a_replayed_request_is_refused_and_changes_nothing() {
    after_each_step(|| {
        |driver, step| {
            let Did::Begun(begun) = &step.did else { return Ok(()) };
            let is_accepted = begun.kind == ContextKind::Incremental;
            if !is_accepted || step.after.session(begun.session_id).is_none() {
                return Ok(());
            }
            let context = begun.request.begin(&mut driver.cache, step.now);
            prop_assert_eq!(context.error(), ErrorCode::InvalidFetchSessionEpoch);
            prop_assert_eq!(&driver.cache.export(), &step.after.state);
            Ok(())
        }
    });
}

#[test]
fn fs_10_a_refused_request_changes_nothing() {
    after_each_step(|| {
        |_, step| {
            let Did::Begun(begun) = &step.did else { return Ok(()) };
            if begun.kind == ContextKind::Error {
                prop_assert!(matches!(begun.error.code(), 70 | 71 | 106));
                prop_assert_eq!(&step.before.state, &step.after.state);
            }
            Ok(())
        }
    });
}

#[test]
fn fs_11_a_request_adds_at_the_end_then_removes_and_moves_nothing() {
    after_each_step(|| {
        |_, step| {
            let Did::Begun(begun) = &step.did else { return Ok(()) };
            let (before, after) =
                (step.before.session(begun.session_id), step.after.session(begun.session_id));
            let (ContextKind::Incremental, Some(before), Some(after)) = (begun.kind, before, after)
            else {
                return Ok(());
            };
            let by_id = before.uses_topic_ids;
            let has = |list: &[Key], key: &Key| list.iter().any(|it| it.is_same(key, by_id));
            let mut expected = keys(before);
            for (key, _) in &begun.request.wanted {
                if !has(&expected, key) {
                    expected.push(key.clone());
                }
            }
            expected.retain(|key| !has(&begun.request.forgotten, key));
            let actual = keys(after);
            prop_assert_eq!(expected.len(), actual.len());
            for (expected, actual) in expected.iter().zip(&actual) {
                prop_assert!(expected.is_same(actual, by_id), "{:?} {:?}", expected, actual);
            }
            Ok(())
        }
    });
}

#[test]
fn fs_12_a_name_is_learnt_once_and_kept() {
    after_each_step(|| {
        |_, step| {
            for after in &step.after.state.sessions {
                let Some(before) = step.before.session(after.id) else { continue };
                // Forgotten and added again in one request is not possible: it ends forgotten.
                for (now, key) in after.partitions.iter().zip(keys(after)) {
                    let earlier = keys(before);
                    let at = earlier.iter().position(|it| it.is_same(&key, after.uses_topic_ids));
                    let Some(at) = at else { continue };
                    let then = &before.partitions[at].topic;
                    prop_assert!(then.is_none() || *then == now.topic);
                }
            }
            Ok(())
        }
    });
}

#[test]
fn fs_13_sessions_by_name_have_names_and_no_ids() {
    after_each_step(|| {
        |_, step| {
            for session in &step.after.state.sessions {
                for partition in session.partitions.iter().filter(|_| !session.uses_topic_ids) {
                    prop_assert!(partition.topic_id.is_zero() && partition.topic.is_some());
                }
            }
            Ok(())
        }
    });
}

#[test]
fn fs_24_epochs_go_from_the_greatest_to_one() {
    let params = FetchParams {
        fetch_offset: 0,
        log_start_offset: -1,
        max_bytes: 1,
        leader_epoch: None,
        last_fetched_epoch: None,
    };
    let partitions = [PartitionRequest { partition: 0, params }];
    let topics = [RequestTopic { id: TopicId::from_u128(1), name: "", partitions: &partitions }];
    let mut request = FetchRequest {
        version: 13,
        metadata: FetchMetadata::INITIAL,
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        topics: &topics,
        forgotten: &[],
    };
    let now = Monotonic::from_millis(0);
    let mut cache = FetchCache::new(CacheConfig::default());
    let mut random = Pcg64Mcg::new(1);
    let mut fetch = |cache: &mut FetchCache, request: &FetchRequest<'_>| {
        let context = cache.begin(request, &|_| None, now);
        let slots: Vec<_> = cache.visit(&context).map(|it| it.slot).collect();
        let mut reads: Vec<_> = slots.iter().map(|&slot| PartitionRead::new(slot, 1, 0)).collect();
        cache.finish(context, &mut reads, &mut random, now)
    };
    let session_id = fetch(&mut cache, &request).session_id;
    cache.set_session_epoch(session_id, i32::MAX - 1);
    request.topics = &[];
    for epoch in [i32::MAX - 1, i32::MAX, 1, 2] {
        assert_eq!(View::of(&cache).session(session_id).unwrap().epoch, epoch);
        request.metadata = FetchMetadata { session_id, epoch };
        let answer = fetch(&mut cache, &request);
        assert_eq!((answer.error, answer.session_id), (ErrorCode::None, session_id));
    }
}
