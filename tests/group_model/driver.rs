//! Does operations on a coordinator, and shows each step.

use crate::operation::{Operation, delta};
use kafka_coordination::Monotonic;
use kafka_coordination::group::{
    GroupChange, GroupMetadata, GroupUpdate, MetadataHash, Subscriptions,
};
use kafka_coordination::metadata::ClusterImage;
use proptest::test_runner::TestCaseResult;
use std::collections::{BTreeMap, BTreeSet};

/// A coordinator, and beside it what its log holds.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) image: ClusterImage,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) groups: BTreeMap<&'static str, GroupMetadata>,
    /// What each group is subscribed to.
    pub(crate) names: BTreeMap<&'static str, BTreeSet<&'static str>>,
    pub(crate) now: i64,
    /// Whether a write failed so far.
    pub(crate) has_failed: bool,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// The cluster changed, and these groups were named.
    Changed {
        named: Vec<String>,
    },
    /// A group refreshed; its write failed.
    Refreshed {
        group: &'static str,
        update: GroupUpdate,
        failed: bool,
    },
    /// A heartbeat found nothing to do.
    Idle,
    Else,
}

/// Runs the operations and shows what each did, with the coordinator before and after.
pub(crate) fn run(
    operations: &[Operation],
    mut show: impl FnMut(&Driver, &Did, &mut Driver) -> TestCaseResult,
) -> TestCaseResult {
    let mut driver = Driver {
        image: ClusterImage::new(),
        subscriptions: Subscriptions::new(9),
        groups: BTreeMap::new(),
        names: BTreeMap::new(),
        now: 0,
        has_failed: false,
    };
    for operation in operations {
        let before = driver.clone();
        let did = driver.operate(operation);
        show(&before, &did, &mut driver)?;
    }
    Ok(())
}

impl Driver {
    pub(crate) fn now(&self) -> Monotonic {
        Monotonic::from_millis(self.now)
    }

    /// What a group is subscribed to.
    pub(crate) fn names(&self, group: &str) -> impl Iterator<Item = &'static str> {
        self.names.get(group).into_iter().flatten().copied()
    }

    fn operate(&mut self, operation: &Operation) -> Did {
        match operation {
            Operation::Delta(changes) => {
                let delta = delta(&self.image, changes);
                let changes = self.image.apply(&delta).unwrap();
                let named = self.subscriptions.on_image_changes(&changes, &self.image);
                let named = named.map(String::from).collect();
                self.wake(named)
            }
            Operation::Notice(name) => {
                let named = self.subscriptions.on_metadata_update([*name], &[], &self.image);
                let named = named.map(String::from).collect();
                self.wake(named)
            }
            Operation::Missed(changes) => {
                let delta = delta(&self.image, changes);
                self.image.apply(&delta).unwrap();
                let named = self.subscriptions.refresh_all(&self.image).map(String::from).collect();
                self.wake(named)
            }
            Operation::Subscribe { group, names, fails } => self.subscribe(group, names, *fails),
            Operation::Heartbeat { group, fails } => self.heartbeat(group, *fails),
            Operation::Leave { group } => self.leave(group),
            Operation::Reload => {
                let exported: Vec<_> = self.subscriptions.export().collect();
                self.subscriptions =
                    Subscriptions::import(self.now.cast_unsigned(), exported).unwrap();
                let none = self.subscriptions.on_metadata_update([], &[], &self.image).count();
                assert_eq!(none, 0);
                for metadata in self.groups.values_mut() {
                    *metadata = GroupMetadata::new(metadata.epoch(), metadata.metadata_hash());
                }
                Did::Else
            }
            Operation::Wait(ms) => {
                self.now += ms;
                Did::Else
            }
        }
    }

    fn wake(&mut self, named: Vec<String>) -> Did {
        for group in &named {
            self.groups.get_mut(group.as_str()).unwrap().request_refresh();
        }
        Did::Changed { named }
    }

    fn subscribe(&mut self, group: &'static str, names: &[&'static str], fails: bool) -> Did {
        let new = GroupMetadata::new(1, MetadataHash::NONE);
        let metadata = *self.groups.entry(group).or_insert(new);
        self.subscriptions.subscribe(group, names);
        let did = self.refresh(group, GroupChange::Changed, fails);
        if fails {
            let before = self.names.get(group).cloned().unwrap_or_default();
            self.subscriptions.roll_back(group, before);
            self.groups.get_mut(group).unwrap().load(metadata.epoch(), metadata.metadata_hash());
            self.has_failed = true;
        } else {
            self.names.insert(group, names.iter().copied().collect());
        }
        did
    }

    fn heartbeat(&mut self, group: &'static str, fails: bool) -> Did {
        let Some(&metadata) = self.groups.get(group) else { return Did::Else };
        if !metadata.has_expired(self.now()) {
            return Did::Idle;
        }
        let did = self.refresh(group, GroupChange::Unchanged, fails);
        if fails {
            self.groups.get_mut(group).unwrap().load(metadata.epoch(), metadata.metadata_hash());
        }
        did
    }

    fn refresh(&mut self, group: &'static str, change: GroupChange, failed: bool) -> Did {
        let now = self.now();
        let hash = self.subscriptions.metadata_hash(group, &self.image);
        let metadata = self.groups.get_mut(group).unwrap();
        let update = metadata.decide_refresh(hash, change, now).unwrap();
        metadata.commit(update).unwrap();
        Did::Refreshed { group, update, failed }
    }

    fn leave(&mut self, group: &'static str) -> Did {
        let Some(metadata) = self.groups.get_mut(group) else { return Did::Else };
        self.subscriptions.remove(group);
        self.names.remove(group);
        let update = metadata.decide_leave(Some(MetadataHash::NONE)).unwrap();
        metadata.commit(update).unwrap();
        Did::Else
    }
}
