//! A simulated broker: what it knows of the cluster, what its logs hold, and how both change.

use super::log::{FOLLOWERS, Log, Throttled};
use super::row::Row;
use kafka_coordination::fetch::Change;
use kafka_coordination::{TopicId, TopicName};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};

/// The topics; each has two partitions while it exists.
pub(crate) const TOPICS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
/// So many of them that things collide.
pub(crate) const FEW: usize = 2;
pub(crate) const PARTITIONS: i32 = 2;

/// Everything that reads depend on.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// The topics that the metadata knows.
    pub(crate) topics: BTreeMap<String, TopicId>,
    /// The replicas that this broker holds.
    pub(crate) logs: BTreeMap<(String, i32), Log>,
    /// Which principals may not read which topics.
    pub(crate) denied: BTreeSet<(u8, String)>,
    pub(crate) followers_are_authorised: bool,
    pub(crate) broker_epochs: BTreeMap<i32, u64>,
    next_id: u128,
}

/// Something that happens to the broker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Append(usize, i32, u8),
    /// To the log's end less so much; the last stable offset goes along or stays.
    HighWatermark(usize, i32, u8, bool),
    /// To the high watermark less so much.
    LastStable(usize, i32, u8),
    /// To the high watermark less so much; the remote tier holds so much beyond it.
    LogStart(usize, i32, u8, u8),
    Truncate(usize, i32, u8),
    Leader(usize, i32, LeaderEvent),
    Create(usize, bool),
    Delete(usize),
    /// Deleted and created in one change of the metadata.
    Recreate(usize, bool),
    /// Whether a principal may read a topic.
    Access(u8, usize, bool),
    /// Whether followers may fetch at all.
    FollowerAccess(bool),
    /// Whether a follower is in sync.
    InSync(usize, i32, usize, bool),
    BrokerEpoch(usize),
    CloserReplica(usize, i32, Option<u8>),
    Throttle(usize, i32, Throttled),
    RemoteReady(usize, i32, bool),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LeaderEvent {
    Resign,
    /// With the next epoch, which starts at the log's end.
    Lead,
    Directory(bool),
    Replica(usize, bool),
}

/// A change that the host has to mark, and the row of the table that says so.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) row: Row,
    /// `None`: of all partitions.
    pub(crate) partition: Option<(TopicId, String, i32)>,
    pub(crate) change: Change,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            topics: BTreeMap::new(),
            logs: BTreeMap::new(),
            denied: BTreeSet::new(),
            followers_are_authorised: true,
            broker_epochs: FOLLOWERS.iter().map(|&broker| (broker, 0)).collect(),
            next_id: 1,
        };
        for topic in TOPICS {
            world.create(topic, true);
        }
        world
    }

    pub(crate) fn name_of(&self, id: TopicId) -> Option<TopicName> {
        let mut topics = self.topics.iter();
        topics.find(|(_, it)| **it == id).map(|(name, _)| TopicName::from(name.as_str()))
    }

    pub(crate) fn log(&self, topic: usize, partition: i32) -> Option<&Log> {
        self.logs.get(&(TOPICS[topic].to_owned(), partition))
    }

    /// The id that the next topic will have.
    pub(crate) const fn next_topic_id(&self) -> TopicId {
        TopicId::from_u128(self.next_id)
    }

    fn create(&mut self, topic: &str, is_hosted: bool) {
        let id = self.next_topic_id();
        self.next_id += 1;
        self.topics.insert(topic.to_owned(), id);
        for partition in (0..PARTITIONS).filter(|_| is_hosted) {
            self.logs.insert((topic.to_owned(), partition), Log::new(id));
        }
    }

    fn delete(&mut self, topic: &str) {
        self.topics.remove(topic);
        self.logs.retain(|(name, _), _| name != topic);
    }

    /// The marks that an event asks for, by the table of events. They are made before it happens,
    /// so that what they tell of the past is put down against the log as it was.
    pub(crate) fn marks(&self, event: Event) -> Vec<Mark> {
        let of_log = |topic: usize, partition: i32, row: Row, change: Change| {
            let log = self.log(topic, partition)?;
            let partition = Some((log.topic_id, TOPICS[topic].to_owned(), partition));
            Some(Mark { row, partition, change })
        };
        let of_all = |row| Mark { row, partition: None, change: Change::Unspecified };
        match event {
            Event::Append(topic, partition, _) => {
                of_log(topic, partition, Row::E1, Change::Appended).into_iter().collect()
            }
            Event::HighWatermark(topic, partition, _, _) => {
                // The last stable offset cannot stay above it.
                let marks = [
                    of_log(topic, partition, Row::E2, Change::HighWatermark),
                    of_log(topic, partition, Row::E3, Change::LastStableOffset),
                ];
                marks.into_iter().flatten().collect()
            }
            Event::LastStable(topic, partition, _) => {
                of_log(topic, partition, Row::E3, Change::LastStableOffset).into_iter().collect()
            }
            Event::LogStart(topic, partition, _, _) => {
                of_log(topic, partition, Row::E4, Change::LogStartOffset).into_iter().collect()
            }
            Event::Truncate(topic, partition, _) => {
                of_log(topic, partition, Row::E5, Change::Truncated).into_iter().collect()
            }
            Event::Leader(topic, partition, _) => {
                of_log(topic, partition, Row::E6, Change::Leadership).into_iter().collect()
            }
            Event::Create(topic, _) | Event::Delete(topic) | Event::Recreate(topic, _) => {
                // The topic that was there, and the one that will be.
                let old = self.topics.get(TOPICS[topic]).copied();
                let ids = [old, Some(self.next_topic_id())];
                let marks = ids.into_iter().flatten().flat_map(|id| {
                    (0..PARTITIONS).map(move |partition| Mark {
                        row: Row::E7,
                        partition: Some((id, TOPICS[topic].to_owned(), partition)),
                        change: Change::Metadata,
                    })
                });
                marks.collect()
            }
            Event::Access(..) | Event::FollowerAccess(_) => vec![of_all(Row::E8)],
            Event::InSync(topic, partition, _, _) => {
                of_log(topic, partition, Row::E11, Change::FollowerState).into_iter().collect()
            }
            Event::BrokerEpoch(_) => {
                let logs = self.logs.iter();
                let marks = logs.map(|((name, partition), log)| Mark {
                    row: Row::E11,
                    partition: Some((log.topic_id, name.clone(), *partition)),
                    change: Change::FollowerState,
                });
                marks.collect()
            }
            Event::CloserReplica(topic, partition, _) => {
                of_log(topic, partition, Row::E12, Change::ReplicaSelection).into_iter().collect()
            }
            // What these may release is visited again because it was withheld.
            Event::Throttle(..) | Event::RemoteReady(..) => Vec::new(),
        }
    }

    /// Lets an event happen.
    pub(crate) fn apply(&mut self, event: Event) {
        match event {
            Event::Create(topic, is_hosted) => {
                if !self.topics.contains_key(TOPICS[topic]) {
                    self.create(TOPICS[topic], is_hosted);
                }
            }
            Event::Delete(topic) => self.delete(TOPICS[topic]),
            Event::Recreate(topic, is_hosted) => {
                self.delete(TOPICS[topic]);
                self.create(TOPICS[topic], is_hosted);
            }
            Event::Access(principal, topic, is_allowed) => {
                set(&mut self.denied, (principal, TOPICS[topic].to_owned()), !is_allowed);
            }
            Event::FollowerAccess(is_allowed) => self.followers_are_authorised = is_allowed,
            Event::BrokerEpoch(follower) => {
                *self.broker_epochs.entry(FOLLOWERS[follower]).or_insert(0) += 1;
            }
            Event::Append(topic, partition, _)
            | Event::HighWatermark(topic, partition, _, _)
            | Event::LastStable(topic, partition, _)
            | Event::LogStart(topic, partition, _, _)
            | Event::Truncate(topic, partition, _)
            | Event::Leader(topic, partition, _)
            | Event::InSync(topic, partition, _, _)
            | Event::CloserReplica(topic, partition, _)
            | Event::Throttle(topic, partition, _)
            | Event::RemoteReady(topic, partition, _) => {
                if let Some(log) = self.logs.get_mut(&(TOPICS[topic].to_owned(), partition)) {
                    apply_to_log(log, event);
                }
            }
        }
    }
}

fn apply_to_log(log: &mut Log, event: Event) {
    match event {
        Event::Append(_, _, count) => log.end += i64::from(count),
        Event::HighWatermark(_, _, below, takes_last_stable) => {
            log.high_watermark = (log.end - i64::from(below)).max(log.start);
            if takes_last_stable {
                log.last_stable = log.high_watermark;
            }
            log.last_stable = log.last_stable.min(log.high_watermark);
        }
        Event::LastStable(_, _, below) => {
            log.last_stable = (log.high_watermark - i64::from(below)).max(log.start);
        }
        Event::LogStart(_, _, below, remote) => {
            log.start = (log.high_watermark - i64::from(below)).max(0);
            log.remote_end = (log.start + i64::from(remote)).min(log.high_watermark);
            log.last_stable = log.last_stable.max(log.start);
        }
        Event::Truncate(_, _, below) => log.truncate(log.end - i64::from(below)),
        Event::Leader(_, _, change) => match change {
            LeaderEvent::Resign => log.is_leader = false,
            LeaderEvent::Lead => {
                log.is_leader = true;
                log.leader_epoch += 1;
                log.epoch_start = log.end;
            }
            LeaderEvent::Directory(is_online) => log.is_offline = !is_online,
            LeaderEvent::Replica(follower, is_one) => {
                set(&mut log.replicas, FOLLOWERS[follower], is_one);
            }
        },
        Event::InSync(_, _, follower, is_in) => set(&mut log.in_sync, FOLLOWERS[follower], is_in),
        Event::CloserReplica(_, _, rack) => log.closer_in = rack,
        Event::Throttle(_, _, throttled) => log.throttled = throttled,
        Event::RemoteReady(_, _, is_ready) => log.is_remote_ready = is_ready,
        _ => {}
    }
}

fn set<T: Ord>(set: &mut BTreeSet<T>, it: T, is_in: bool) {
    if is_in {
        set.insert(it);
    } else {
        set.remove(&it);
    }
}

/// Events of the first so many topics, of which those that let fetches fail are undone soon.
pub(crate) fn event(topics: usize) -> impl Strategy<Value = Event> {
    let at = move || (0..topics, 0..PARTITIONS);
    let throttled = select(&[Throttled::Nobody, Throttled::OutOfSync, Throttled::Followers]);
    let mostly = || prop::bool::weighted(0.7);
    let leader = prop_oneof![
        1 => Just(LeaderEvent::Resign),
        4 => Just(LeaderEvent::Lead),
        2 => mostly().prop_map(LeaderEvent::Directory),
        2 => (0..2_usize, mostly()).prop_map(|(at, is_one)| LeaderEvent::Replica(at, is_one)),
    ];
    prop_oneof![
        18 => (at(), 1..4_u8).prop_map(|((topic, partition), n)| {
            Event::Append(topic, partition, n)
        }),
        16 => (at(), select(&[0, 0, 0, 1, 2]), any::<bool>()).prop_map(
            |((topic, partition), below, along)| {
                Event::HighWatermark(topic, partition, below, along)
            },
        ),
        6 => (at(), select(&[0, 0, 1, 2])).prop_map(|((topic, partition), below)| {
            Event::LastStable(topic, partition, below)
        }),
        6 => (at(), 0..4_u8, select(&[0, 0, 1, 3])).prop_map(
            |((topic, partition), below, remote)| {
                Event::LogStart(topic, partition, below, remote)
            },
        ),
        3 => (at(), 1..3_u8).prop_map(|((topic, partition), below)| {
            Event::Truncate(topic, partition, below)
        }),
        5 => (at(), leader).prop_map(|((topic, partition), change)| {
            Event::Leader(topic, partition, change)
        }),
        4 => (0..topics, mostly()).prop_map(|(topic, is_hosted)| {
            Event::Create(topic, is_hosted)
        }),
        1 => (0..topics).prop_map(Event::Delete),
        1 => (0..topics, mostly()).prop_map(|(topic, is_hosted)| {
            Event::Recreate(topic, is_hosted)
        }),
        2 => (0..2_u8, 0..topics, mostly()).prop_map(|(principal, topic, is_allowed)| {
            Event::Access(principal, topic, is_allowed)
        }),
        2 => mostly().prop_map(Event::FollowerAccess),
        6 => (at(), 0..2_usize, mostly()).prop_map(|((topic, partition), follower, is_in)| {
            Event::InSync(topic, partition, follower, is_in)
        }),
        1 => (0..2_usize).prop_map(Event::BrokerEpoch),
        4 => (at(), select(&[None, None, Some(0), Some(1)])).prop_map(
            |((topic, partition), rack)| Event::CloserReplica(topic, partition, rack),
        ),
        6 => (at(), throttled).prop_map(|((topic, partition), throttled)| {
            Event::Throttle(topic, partition, throttled)
        }),
        5 => (at(), any::<bool>()).prop_map(|((topic, partition), is_ready)| {
            Event::RemoteReady(topic, partition, is_ready)
        }),
    ]
}
