//! Invariants 1 to 7: the cache and its eviction.

use super::{after_each_step, created};
use crate::driver::Did;
use crate::operation::{operations, setup};
use crate::request::Request;
use crate::settings::cases;
use crate::twin::Twin;
use kafka_coordination::fetch::{
    ChangeTracking, ContextKind, FetchMetadata, FetcherKind, Profile, SessionState,
};
use kafka_coordination::{ErrorCode, Monotonic};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// How long a session must be idle to be stale, in the setups of these tests.
const EVICTION_MS: i64 = 100;

fn is_stale(session: &SessionState, now: Monotonic) -> bool {
    now.millis_since(session.last_used) > EVICTION_MS
}

/// A request that names a session and nothing else.
fn bare(session: &SessionState, epoch: i32) -> Request {
    Request {
        version: if session.uses_topic_ids { 13 } else { 12 },
        metadata: FetchMetadata { session_id: session.id, epoch },
        fetcher: session.fetcher,
        profile: Profile::default(),
        principal: 0,
        wanted: Vec::new(),
        forgotten: Vec::new(),
        names: crate::universe::NOTHING,
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// The sorted maps themselves are the model's: it evicts as the cache does, and these are the
    /// maps by which it does.
    #[test]
    fn fs_01_sessions_are_in_the_maps_that_they_belong_to(
        setup in setup(),
        operations in operations(60),
    ) {
        let mut twin = Twin::new(&setup);
        crate::driver::run(&setup, ChangeTracking::Off, &operations, |_, step| {
            twin.follow(step)?;
            let model = &twin.model;
            for (number, shard) in model.shards.iter().enumerate() {
                let (first, end) = model.ids(number);
                let sessions = &step.after.state.sessions;
                let of_shard = || sessions.iter().filter(|it| (first..end).contains(&it.id));
                let ids: BTreeSet<i32> = of_shard().map(|it| it.id).collect();
                prop_assert!(ids.len() <= (setup.slots / setup.shards) as usize);
                prop_assert_eq!(shard.orders.last_used.len(), ids.len());
                let size: usize = of_shard().map(|it| it.partitions.len()).sum();
                prop_assert_eq!(shard.partitions, size as i64);
                let orders = &shard.orders;
                prop_assert!(orders.evictable_by_all.is_subset(&orders.evictable_by_privileged));
                for worth in &orders.evictable_by_privileged {
                    prop_assert!(ids.contains(&worth.2));
                    prop_assert!(!worth.0 || orders.evictable_by_all.contains(worth));
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn fs_02_the_keys_of_the_maps_are_those_of_their_sessions(
        setup in setup(),
        operations in operations(60),
    ) {
        let mut twin = Twin::new(&setup);
        crate::driver::run(&setup, ChangeTracking::Off, &operations, |_, step| {
            twin.follow(step)?;
            for shard in &twin.model.shards {
                for &(used, id) in &shard.orders.last_used {
                    let session = step.after.session(id).unwrap();
                    prop_assert_eq!(session.last_used.as_millis(), used);
                }
                for &(is_privileged, size, id) in &shard.orders.evictable_by_privileged {
                    let session = step.after.session(id).unwrap();
                    prop_assert_eq!(session.fetcher == FetcherKind::Follower, is_privileged);
                    prop_assert_eq!(session.partitions.len() as i64, size);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn fs_03_the_cached_sizes_are_those_of_the_sessions() {
    after_each_step(|| {
        |_, step| {
            let sizes = step.after.state.sessions.iter();
            let sizes: usize = sizes.map(|session| session.partitions.len()).sum();
            prop_assert_eq!(step.after.stats.partitions, sizes as u64);
            prop_assert_eq!(step.after.stats.sessions, step.after.state.sessions.len() as u64);
            Ok(())
        }
    });
}

#[test]
fn fs_04_every_live_id_is_found_and_no_two_are_equal() {
    after_each_step(|| {
        |driver, step| {
            let mut ids = BTreeSet::new();
            for session in &step.after.state.sessions {
                prop_assert!(session.id > 0 && ids.insert(session.id));
                // An epoch that it does not expect, so that looking changes nothing.
                let request = bare(session, session.epoch.wrapping_add(1).max(2));
                let request = if request.metadata.epoch == session.epoch {
                    bare(session, i32::MIN)
                } else {
                    request
                };
                let context = request.begin(&mut driver.cache, step.now);
                prop_assert_eq!(context.error(), ErrorCode::InvalidFetchSessionEpoch);
            }
            if let Some(id) = created(step) {
                let sessions = step.before.state.sessions.iter();
                prop_assert!(sessions.map(|it| it.id).all(|other| other != id));
            }
            Ok(())
        }
    });
}

#[test]
fn fs_05_a_consumer_never_displaces_a_follower_that_is_not_stale() {
    after_each_step(|| {
        |_, step| {
            let Some(id) = created(step) else { return Ok(()) };
            let session = step.after.session(id).unwrap();
            if session.fetcher == FetcherKind::Consumer {
                for victim in &step.before.state.sessions {
                    let is_gone = step.after.session(victim.id).is_none();
                    let is_protected =
                        victim.fetcher == FetcherKind::Follower && !is_stale(victim, step.now);
                    prop_assert!(!(is_gone && is_protected), "{}", victim.id);
                }
            }
            Ok(())
        }
    });
}

#[test]
fn fs_06_a_creation_removes_at_most_one_session_and_a_refusal_none() {
    after_each_step(|| {
        |_, step| {
            let Did::Finished(finished) = &step.did else { return Ok(()) };
            let gone: Vec<i32> = step
                .before
                .state
                .sessions
                .iter()
                .map(|session| session.id)
                .filter(|&id| step.after.session(id).is_none())
                .collect();
            let evicted = finished.answer.evicted.map(|it| it.session_id);
            prop_assert_eq!(gone, Vec::from_iter(evicted));
            if finished.answer.session_id == 0 {
                prop_assert_eq!(evicted, None);
            }
            Ok(())
        }
    });
}

#[test]
fn fs_07_evictions_are_the_creations_that_removed_a_session() {
    after_each_step(|| {
        |_, step| {
            let evicted = match &step.did {
                Did::Finished(finished) => u64::from(finished.answer.evicted.is_some()),
                _ => 0,
            };
            let counted = step.after.stats.evictions() - step.before.stats.evictions();
            prop_assert_eq!(counted, evicted);
            if let Did::Begun(begun) = &step.did {
                let gone = step.before.stats.sessions - step.after.stats.sessions;
                let closed = step.after.stats.closed - step.before.stats.closed;
                let over = step.after.stats.over_limit - step.before.stats.over_limit;
                prop_assert_eq!(gone, closed + over, "{:?}", begun.kind);
                prop_assert!(begun.kind != ContextKind::Error || gone == 0);
            }
            Ok(())
        }
    });
}
