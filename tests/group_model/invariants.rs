//! What must hold after each step.

use crate::driver::{Did, Driver, run};
use crate::operation::{GROUPS, NAMES, operations};
use crate::scratch;
use crate::settings::cases;
use kafka_coordination::TopicName;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, MetadataHash, REFRESH_INTERVAL_MS, Subscriptions,
};
use kafka_coordination::metadata::MetadataImage;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The metadata hash of a group, from nothing.
fn scratch(driver: &Driver, group: &str) -> i64 {
    scratch::metadata_hash(&driver.image, driver.names(group))
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn gs_4_known_hashes_are_those_of_the_image(operations in operations()) {
        run(&operations, |_, _, driver| {
            for (name, hash) in driver.subscriptions.topic_hashes() {
                prop_assert_eq!(Some(hash.as_i64()), scratch::topic_hash(&driver.image, name));
            }
            Ok(())
        })?;
    }

    #[test]
    fn gs_5_hashes_are_known_of_existing_topics_with_groups(operations in operations()) {
        run(&operations, |_, _, driver| {
            for (name, _) in driver.subscriptions.topic_hashes() {
                prop_assert!(driver.image.topic_by_name(name).is_some());
                let has_group = driver.subscriptions.groups(name).next().is_some();
                prop_assert!(has_group || driver.has_failed, "{}", name);
            }
            Ok(())
        })?;
    }

    #[test]
    fn gs_6_groups_by_topics_mirror_topics_by_groups(operations in operations()) {
        run(&operations, |_, _, driver| {
            for name in NAMES {
                let expected = GROUPS.iter().copied().filter(|group| driver.names(group).any(|it| it == name));
                let groups: BTreeSet<_> = driver.subscriptions.groups(name).collect();
                prop_assert_eq!(groups, expected.collect::<BTreeSet<_>>());
                prop_assert_eq!(driver.subscriptions.groups(name).count(), driver.subscriptions.groups(name).collect::<BTreeSet<_>>().len());
            }
            for group in GROUPS {
                let topics: Vec<_> = driver.subscriptions.topics(group).map(TopicName::as_str).collect();
                let mut expected: Vec<_> = driver.names(group).collect();
                expected.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
                prop_assert_eq!(topics, expected);
            }
            let subscribed = GROUPS.iter().filter(|group| driver.names(group).next().is_some());
            prop_assert_eq!(driver.subscriptions.group_count(), subscribed.count());
            Ok(())
        })?;
    }

    #[test]
    fn gs_7_a_heartbeat_bumps_once_with_another_hash_or_leaves_all_alone(operations in operations()) {
        run(&operations, |before, did, driver| {
            let Did::Refreshed { group, update, failed: false } = did else { return Ok(()) };
            let Some(old) = before.groups.get(group) else { return Ok(()) };
            let new = driver.groups[group];
            let is_subscription = before.names.get(group) != driver.names.get(group);
            if update.is_bump() {
                prop_assert_eq!(new.epoch(), old.epoch() + 1);
            } else {
                prop_assert_eq!((new.epoch(), new.metadata_hash()), (old.epoch(), old.metadata_hash()));
                prop_assert!(!is_subscription);
            }
            Ok(())
        })?;
    }

    #[test]
    fn gs_8_a_refresh_lasts_up_to_its_deadline(operations in operations()) {
        run(&operations, |_, did, driver| {
            let Did::Refreshed { group, failed: false, .. } = did else { return Ok(()) };
            let metadata = driver.groups[group];
            prop_assert!(!metadata.has_expired(driver.now()));
            let deadline = metadata.deadline().unwrap();
            prop_assert_eq!(deadline.at.millis_since(driver.now()), REFRESH_INTERVAL_MS);
            prop_assert!(!metadata.has_expired(deadline.at.saturating_add(-1)));
            prop_assert!(metadata.has_expired(deadline.at));
            Ok(())
        })?;
    }

    #[test]
    fn gs_9_what_was_taken_back_has_expired_until_it_is_computed_anew(operations in operations()) {
        run(&operations, |_, did, driver| {
            let Did::Refreshed { group, update, failed: true } = did else { return Ok(()) };
            if !update.is_bump() {
                return Ok(());
            }
            let mut metadata = driver.groups[group];
            for now in [i64::MIN, 0, driver.now] {
                prop_assert!(metadata.has_expired(kafka_coordination::Monotonic::from_millis(now)));
            }
            // Leaves that carry the hash on do not hide it.
            for _ in 0..2 {
                metadata.commit(metadata.decide_leave(None).unwrap()).unwrap();
                prop_assert!(metadata.has_expired(driver.now()));
            }
            let hash = MetadataHash::from_i64(1);
            metadata.commit(metadata.decide_leave(Some(hash)).unwrap()).unwrap();
            prop_assert!(!metadata.has_expired(driver.now()));
            Ok(())
        })?;
    }

    #[test]
    fn gs_10_a_group_from_its_record_bumps_only_if_the_image_changed(operations in operations()) {
        run(&operations, |_, did, driver| {
            let Did::Refreshed { group, failed: false, .. } = did else { return Ok(()) };
            let stored = driver.groups[group];
            let mut subscriptions = Subscriptions::new(1);
            subscriptions.subscribe(group, driver.names(group));
            let loaded = GroupMetadata::new(stored.epoch(), stored.metadata_hash());
            prop_assert!(loaded.has_expired(driver.now()));
            let hash = subscriptions.metadata_hash(group, &driver.image);
            let update = loaded.decide_refresh(hash, GroupChange::Unchanged, driver.now()).unwrap();
            prop_assert!(!update.is_bump());
            Ok(())
        })?;
    }

    #[test]
    fn gs_11_the_hash_is_0_if_and_only_if_no_topic_exists(operations in operations()) {
        run(&operations, |_, _, driver| {
            for group in GROUPS {
                let exists = driver.names(group).any(|name| driver.image.topic_by_name(name).is_some());
                let hash = driver.subscriptions.metadata_hash(group, &driver.image);
                prop_assert_eq!(hash == MetadataHash::NONE, !exists);
            }
            Ok(())
        })?;
    }

    #[test]
    fn gs_12_the_hash_is_the_one_from_nothing(operations in operations()) {
        run(&operations, |_, did, driver| {
            if let Did::Refreshed { group, update, failed: false } = did {
                prop_assert_eq!(update.metadata_hash().as_i64(), scratch(driver, group));
            }
            // A group that finds nothing to do has it too.
            for (group, metadata) in &driver.groups {
                if !metadata.has_expired(driver.now()) {
                    prop_assert_eq!(metadata.metadata_hash().as_i64(), scratch(driver, group), "{}", group);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn gs_13_each_group_that_a_change_concerns_is_named_once(operations in operations()) {
        run(&operations, |before, did, driver| {
            let Did::Changed { named } = did else { return Ok(()) };
            let once: BTreeSet<&str> = named.iter().map(String::as_str).collect();
            prop_assert_eq!(once.len(), named.len());
            for group in GROUPS {
                let mut names = driver.names(group);
                let differs = names.any(|name| scratch::topic_hash(&before.image, name) != scratch::topic_hash(&driver.image, name));
                prop_assert!(!differs || once.contains(group), "{} was not named", group);
            }
            Ok(())
        })?;
    }
}
