//! Those who fetch from the simulated broker, and what they may ask of it.

use super::log::FOLLOWERS;
use super::read::Who;
use super::world::{Event, FEW, PARTITIONS, TOPICS, World, event};
use crate::request::Key;
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{FetchMetadata, FetchParams, FetcherKind, Profile};
use proptest::collection::vec;
use proptest::prelude::*;

/// How many fetchers there are: both followers and two consumers.
pub(crate) const FETCHERS: usize = 4;

/// Where a fetcher wants to read from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OffsetPlan {
    /// Where it was.
    Same,
    End,
    HighWatermark,
    Start,
    Back,
}

/// A partition that a request lists. Topics beyond those of the world are one that never exists
/// and the one that is created next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedPlan {
    pub(crate) topic: usize,
    pub(crate) partition: i32,
    pub(crate) offset: OffsetPlan,
    pub(crate) names_leader_epoch: bool,
    /// How far behind the epoch of the last record is.
    pub(crate) last_epoch_behind: Option<i32>,
}

/// How a fetch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Answer,
    Throttle,
    /// Its connection is lost.
    Drop,
}

/// A request of a fetcher, in its session if it has one.
#[derive(Clone, Debug)]
pub(crate) struct FetchPlan {
    pub(crate) fetcher: usize,
    /// It is another one's to send.
    pub(crate) sender: Option<usize>,
    pub(crate) restarts: bool,
    pub(crate) by_id: bool,
    pub(crate) wanted: Vec<WantedPlan>,
    pub(crate) forgotten: Vec<(usize, i32)>,
    /// Whether it goes on from the records that it was answered.
    pub(crate) advances: bool,
    /// A follower learns its new epoch; a consumer reads another way.
    pub(crate) renews: Option<u8>,
    pub(crate) min_bytes: i64,
    pub(crate) max_bytes: i64,
    pub(crate) waits: bool,
    /// It does not wait for the answer to the one before.
    pub(crate) overtakes: bool,
    /// What happens between the read and the answer.
    pub(crate) during: Option<Event>,
    pub(crate) end: End,
}

/// One step of a simulation.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Fetch(FetchPlan),
    Event(Event),
    /// The time of a waiting fetch is up.
    Expire(u8, End),
}

/// A fetcher, as far as it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    pub(crate) who: Who,
    pub(crate) metadata: FetchMetadata,
    pub(crate) by_id: bool,
    pub(crate) offsets: Vec<(Key, i64)>,
    /// Where it goes on, after the records that it was answered.
    pub(crate) next: Vec<(Key, i64)>,
}

impl Fetcher {
    pub(crate) const fn new(number: usize) -> Self {
        let who = match number {
            0 | 1 => Who::Follower { broker: FOLLOWERS[number], broker_epoch: 0 },
            2 => Who::Consumer { read_committed: true, rack: Some(0), principal: 0 },
            _ => Who::Consumer { read_committed: false, rack: None, principal: 1 },
        };
        Self {
            who,
            metadata: FetchMetadata::INITIAL,
            by_id: true,
            offsets: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Reads another way from now on.
    pub(crate) fn renew(&mut self, world: &World, how: u8) {
        self.who = match self.who {
            Who::Follower { broker, .. } => {
                Who::Follower { broker, broker_epoch: world.broker_epochs[&broker] }
            }
            Who::Consumer { .. } => Who::Consumer {
                read_committed: how & 1 != 0,
                rack: [None, Some(0), Some(1), Some(0)][usize::from(how >> 1 & 3)],
                principal: how >> 3 & 1,
            },
        };
    }

    pub(crate) fn offset_of(&self, key: &Key) -> Option<i64> {
        let mut offsets = self.offsets.iter();
        offsets.find(|(it, _)| it.is_same(key, self.by_id)).map(|(_, offset)| *offset)
    }

    pub(crate) fn set_offset(&mut self, key: &Key, offset: i64) {
        let by_id = self.by_id;
        match self.offsets.iter_mut().find(|(it, _)| it.is_same(key, by_id)) {
            Some(known) => known.1 = offset,
            None => self.offsets.push((key.clone(), offset)),
        }
    }

    pub(crate) fn forget(&mut self, key: &Key) {
        let by_id = self.by_id;
        self.offsets.retain(|(it, _)| !it.is_same(key, by_id));
        self.next.retain(|(it, _)| !it.is_same(key, by_id));
    }

    /// Goes on without a session.
    pub(crate) fn restart(&mut self) {
        self.metadata.epoch = FetchMetadata::INITIAL_EPOCH;
        self.offsets.clear();
        self.next.clear();
    }
}

impl Who {
    pub(crate) const fn kind(self) -> FetcherKind {
        match self {
            Self::Follower { .. } => FetcherKind::Follower,
            Self::Consumer { .. } => FetcherKind::Consumer,
        }
    }

    /// All of it, folded into what the cache compares.
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Follower { broker, broker_epoch } => Profile {
                read_committed: false,
                host: 1 << 32 | (broker as u64) << 16 | broker_epoch,
            },
            Self::Consumer { read_committed, rack, principal } => Profile {
                read_committed,
                host: rack.map_or(0, |rack| u64::from(rack) + 1) << 8 | u64::from(principal),
            },
        }
    }
}

/// The number of a topic that is never there; the one after it is what the next topic will be.
const NEVER: usize = TOPICS.len();

/// A partition as this world's fetchers name it now.
pub(crate) fn key(world: &World, topic: usize, partition: i32) -> Key {
    let (id, name) = match topic {
        _ if topic < TOPICS.len() => {
            let id = world.topics.get(TOPICS[topic]).copied();
            (id.unwrap_or(TopicId::from_u128(u128::MAX)), TOPICS[topic])
        }
        NEVER => (TopicId::from_u128(u128::MAX - 1), "never"),
        _ => (world.next_topic_id(), TOPICS[0]),
    };
    Key { id, name: name.to_owned(), partition }
}

/// The parameters of a partition that a request lists.
pub(crate) fn params(world: &World, key: &Key, offset: i64, plan: &WantedPlan) -> FetchParams {
    let log = world.logs.get(&(key.name.clone(), key.partition));
    let epoch = log.map_or(0, |log| log.leader_epoch);
    FetchParams {
        fetch_offset: offset,
        log_start_offset: -1,
        max_bytes: 45,
        leader_epoch: plan.names_leader_epoch.then_some(epoch),
        last_fetched_epoch: plan.last_epoch_behind.map(|behind| (epoch - behind).max(0)),
    }
}

/// The offset that a plan means.
pub(crate) fn offset(world: &World, fetcher: &Fetcher, key: &Key, plan: OffsetPlan) -> i64 {
    let known = fetcher.offset_of(key).unwrap_or(0);
    let Some(log) = world.logs.get(&(key.name.clone(), key.partition)) else { return known };
    match plan {
        OffsetPlan::Same => known,
        OffsetPlan::End => log.end,
        OffsetPlan::HighWatermark => log.high_watermark,
        OffsetPlan::Start => log.start,
        OffsetPlan::Back => (known - 1).max(0),
    }
}

/// What happens, and by how many milliseconds the clock moves before.
pub(crate) type TimedOperation = (i64, Operation);

pub(crate) fn operations(
    topics: usize,
    length: usize,
) -> impl Strategy<Value = Vec<TimedOperation>> {
    vec(timed_operation(topics), 1..length)
}

/// What is done to the first so many topics. Requests list some of them; if there are many, now and
/// then nearly all of them.
pub(crate) fn timed_operation(topics: usize) -> impl Strategy<Value = TimedOperation> {
    let end = prop_oneof![8 => Just(End::Answer), 1 => Just(End::Throttle), 1 => Just(End::Drop)];
    let operation = prop_oneof![
        12 => fetch(topics).prop_map(Operation::Fetch),
        6 => event(topics).prop_map(Operation::Event),
        1 => (any::<u8>(), end).prop_map(|(at, end)| Operation::Expire(at, end)),
    ];
    (1..40_i64, operation)
}

fn fetch(topics: usize) -> impl Strategy<Value = FetchPlan> {
    let topic = prop_oneof![16 => 0..topics, 1 => NEVER..NEVER + 2];
    let many = u32::from(topics > FEW);
    let gone = prop_oneof![2 => 0..topics, 1 => Just(NEVER)];
    let partition = || prop_oneof![24 => 0..PARTITIONS, 1 => Just(PARTITIONS)];
    let offset = prop_oneof![
        2 => Just(OffsetPlan::Same),
        4 => Just(OffsetPlan::End),
        4 => Just(OffsetPlan::HighWatermark),
        1 => Just(OffsetPlan::Start),
        1 => Just(OffsetPlan::Back),
    ];
    let behind = prop_oneof![9 => Just(None), 1 => (0..3_i32).prop_map(Some)];
    let wanted = (topic, partition(), offset, prop::bool::weighted(0.1), behind).prop_map(
        |(topic, partition, offset, names_leader_epoch, last_epoch_behind)| WantedPlan {
            topic,
            partition,
            offset,
            names_leader_epoch,
            last_epoch_behind,
        },
    );
    let who = (
        0..FETCHERS,
        prop_oneof![60 => Just(None), 1 => (0..FETCHERS).prop_map(Some)],
        prop::bool::weighted(0.02),
        prop::bool::weighted(0.7),
        prop_oneof![6 => Just(None), 1 => any::<u8>().prop_map(Some)],
    );
    let lists = (
        prop_oneof![
            24 => Just(Vec::new()),
            8 => vec(wanted.clone(), 0..5),
            4 * many => vec(wanted, 0..40),
        ],
        prop_oneof![
            28 => Just(Vec::new()),
            2 => vec((gone.clone(), partition()), 1..3),
            2 * many => vec((gone, partition()), 20..160),
        ],
        prop::bool::weighted(0.9),
    );
    let how = (
        prop_oneof![4 => Just(1_i64), 1 => Just(50), 1 => Just(1000)],
        prop_oneof![3 => Just(1000_i64), 1 => Just(40), 1 => Just(0)],
        (prop::bool::weighted(0.4), prop::bool::weighted(0.2)),
        prop_oneof![5 => Just(None), 1 => event(topics).prop_map(Some)],
        prop_oneof![8 => Just(End::Answer), 1 => Just(End::Throttle), 1 => Just(End::Drop)],
    );
    (who, lists, how).prop_map(|(who, lists, how)| FetchPlan {
        fetcher: who.0,
        sender: who.1,
        restarts: who.2,
        by_id: who.3,
        renews: who.4,
        wanted: lists.0,
        forgotten: lists.1,
        advances: lists.2,
        min_bytes: how.0,
        max_bytes: how.1,
        waits: how.2.0,
        overtakes: how.2.1,
        during: how.3,
        end: how.4,
    })
}
