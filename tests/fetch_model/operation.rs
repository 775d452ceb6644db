//! What fetchers and hosts do, as plans that are made concrete when their turn comes.

use crate::model::{Limits, Setup};
use crate::reading::Reading;
use crate::universe::{NOTHING, NameMap};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{Change, FetchParams};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Which session a request names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionPlan {
    /// None.
    Zero,
    /// One of those that live.
    Live(u8),
    /// One of those that have lived.
    Ever(u8),
    /// An id that a hostile client made up.
    MadeUp(i32),
}

/// Which epoch a request carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EpochPlan {
    /// The one that the session expects.
    Expected,
    Final,
    Initial,
    /// The expected one and so much.
    Off(i32),
    MadeUp(i32),
}

/// Which version a request has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VersionPlan {
    /// One of those that name topics as the session does.
    Fitting(u8),
    Any(i16),
}

/// A topic and a partition, by their numbers; by id the second number counts, by name the first.
pub(crate) type KeyPlan = (u8, u8, i32);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlan {
    pub(crate) session: SessionPlan,
    pub(crate) epoch: EpochPlan,
    pub(crate) version: VersionPlan,
    pub(crate) is_follower: bool,
    pub(crate) read_committed: bool,
    pub(crate) host_profile: u64,
    pub(crate) principal: u64,
    pub(crate) wanted: Vec<(KeyPlan, FetchParams)>,
    pub(crate) forgotten: Vec<KeyPlan>,
    pub(crate) names: NameMap,
}

/// How the reads of a visit are handed in.
#[derive(Clone, Debug)]
pub(crate) struct ReadsPlan {
    /// The readings, dealt out to the partitions in turn.
    pub(crate) readings: Vec<Reading>,
    /// A bit for each partition that is left out.
    pub(crate) omitted: u16,
    /// Partitions in error come last, as Kafka has them.
    pub(crate) errors_last: bool,
    pub(crate) is_reversed: bool,
    /// The first is handed in a second time.
    pub(crate) is_repeated: bool,
}

/// One step of a test.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Begin(RequestPlan),
    /// A context that is open is visited again.
    Visit(u8),
    Finish(u8, ReadsPlan),
    Throttle(u8, i32),
    Drop(u8),
    /// A request that is answered at once.
    Fetch(RequestPlan, ReadsPlan),
    /// A live session's epoch is put so far from its wrap-around.
    NearWrap(u8, i32),
    Mark(KeyPlan, Change),
    MarkAll,
}

/// What happens, and by how many milliseconds the clock moves before.
pub(crate) type TimedOperation = (i64, Operation);

pub(crate) fn operations(length: usize) -> impl Strategy<Value = Vec<TimedOperation>> {
    vec(timed_operation(), 1..length)
}

pub(crate) fn timed_operation() -> impl Strategy<Value = TimedOperation> {
    (clock(), operation())
}

fn clock() -> impl Strategy<Value = i64> {
    prop_oneof![
        80 => Just(0),
        80 => 1..60_i64,
        // So that sums come to the eviction threshold, and to one more.
        60 => select(&[1, 25, 50, 100, 101]),
        20 => 60..250_i64,
        20 => -120..0_i64,
        1 => select(&[i64::MIN, i64::MAX]),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => request().prop_map(Operation::Begin),
        12 => (request(), reads()).prop_map(|(request, reads)| Operation::Fetch(request, reads)),
        1 => any::<u8>().prop_map(Operation::Visit),
        5 => (any::<u8>(), reads()).prop_map(|(at, reads)| Operation::Finish(at, reads)),
        1 => (any::<u8>(), 1..500_i32).prop_map(|(at, ms)| Operation::Throttle(at, ms)),
        1 => any::<u8>().prop_map(Operation::Drop),
        1 => (any::<u8>(), 0..3_i32).prop_map(|(at, off)| Operation::NearWrap(at, off)),
        2 => (key(), change()).prop_map(|(key, change)| Operation::Mark(key, change)),
        1 => Just(Operation::MarkAll),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    select(&[
        Change::Appended,
        Change::HighWatermark,
        Change::LastStableOffset,
        Change::LogStartOffset,
        Change::Leadership,
        Change::FollowerState,
        Change::Unspecified,
    ])
}

fn request() -> impl Strategy<Value = RequestPlan> {
    let session = prop_oneof![
        4 => Just(SessionPlan::Zero),
        9 => any::<u8>().prop_map(SessionPlan::Live),
        1 => any::<u8>().prop_map(SessionPlan::Ever),
        1 => select(&[-1, i32::MIN, i32::MAX, i32::MAX - 7, 268_435_455, 1, 2, 3])
            .prop_map(SessionPlan::MadeUp),
    ];
    let epoch = prop_oneof![
        10 => Just(EpochPlan::Expected),
        5 => Just(EpochPlan::Initial),
        1 => Just(EpochPlan::Final),
        1 => (-1..=1_i32).prop_map(EpochPlan::Off),
        1 => select(&[-2, i32::MIN, i32::MAX, 1]).prop_map(EpochPlan::MadeUp),
    ];
    let version = prop_oneof![
        6 => any::<u8>().prop_map(VersionPlan::Fitting),
        1 => (4..=18_i16).prop_map(VersionPlan::Any),
    ];
    let who = (any::<bool>(), prop::bool::weighted(0.1), 0..2_u64, 0..3_u64);
    let lists = (
        prop_oneof![
            40 => vec((key(), params()), 0..5),
            1 => vec((any_key(), params()), 0..60),
        ],
        prop_oneof![
            40 => vec(key(), 0..1),
            20 => vec(key(), 0..5),
            1 => vec(any_key(), 0..250),
        ],
        names(),
    );
    (session, epoch, version, who, lists).prop_map(|(session, epoch, version, who, lists)| {
        let (is_follower, read_committed, host_profile, principal) = who;
        let (wanted, forgotten, names) = lists;
        RequestPlan {
            session,
            epoch,
            version,
            is_follower,
            read_committed,
            host_profile,
            principal,
            wanted,
            forgotten,
            names,
        }
    })
}

/// One of few.
fn key() -> impl Strategy<Value = KeyPlan> {
    (0..3_u8, 0..4_u8, partition())
}

/// One of all that there are, for lists that fill a session and empty it.
fn any_key() -> impl Strategy<Value = KeyPlan> {
    (0..12_u8, 0..13_u8, partition())
}

fn partition() -> impl Strategy<Value = i32> {
    prop_oneof![8 => 0..3_i32, 1 => Just(64), 1 => select(&[-1, i32::MIN, i32::MAX])]
}

fn names() -> impl Strategy<Value = NameMap> {
    prop_oneof![
        4 => Just(core::array::from_fn(|id| u8::try_from(id).ok())),
        1 => Just(NOTHING),
        3 => prop::array::uniform12(option::of(0..3_u8)),
    ]
}

fn params() -> impl Strategy<Value = FetchParams> {
    let epoch =
        || prop_oneof![2 => Just(None), 2 => (0..3_i32).prop_map(Some), 1 => Just(Some(-1))];
    (0..4_i64, -1..2_i64, 0..3_i32, epoch(), epoch()).prop_map(
        |(fetch_offset, log_start_offset, max_bytes, leader_epoch, last_fetched_epoch)| {
            FetchParams {
                fetch_offset,
                log_start_offset,
                max_bytes,
                leader_epoch,
                last_fetched_epoch,
            }
        },
    )
}

fn reads() -> impl Strategy<Value = ReadsPlan> {
    let omitted = prop_oneof![4 => Just(0), 1 => any::<u16>()];
    let flags = (any::<bool>(), prop::bool::weighted(0.1), prop::bool::weighted(0.05));
    (vec(reading(), 1..6), omitted, flags).prop_map(|(readings, omitted, flags)| {
        let (errors_last, is_reversed, is_repeated) = flags;
        ReadsPlan { readings, omitted, errors_last, is_reversed, is_repeated }
    })
}

fn reading() -> impl Strategy<Value = Reading> {
    let error = select(&[
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::UnknownTopicId,
        ErrorCode::UnknownServerError,
    ])
    .prop_map(Reading::failed);
    let tiered = (0..3_i64, 0..2_i64).prop_map(|(high_watermark, log_start)| Reading {
        error: ErrorCode::OffsetMovedToTieredStorage,
        ..Reading::of(high_watermark, log_start)
    });
    let records = prop_oneof![4 => Just(0_u32), 2 => 1..100_u32, 1 => 100..300_u32];
    let plain = (-1..3_i64, -1..2_i64, records).prop_map(|(high_watermark, log_start, records)| {
        Reading { records, ..Reading::of(high_watermark, log_start) }
    });
    let more = || prop::bool::weighted(0.1);
    let extras = (
        more(),
        more(),
        more(),
        more(),
        option::weighted(0.3, prop_oneof![0..3_u32, Just(130_u32)]),
    );
    let base = prop_oneof![8 => plain, 2 => error, 1 => tiered];
    (base, extras).prop_map(|(base, extras)| Reading {
        has_preferred_replica: extras.0,
        has_diverging_epoch: extras.1,
        has_current_leader: extras.2,
        has_snapshot_id: extras.3,
        aborted: extras.4,
        ..base
    })
}

/// A cache that is small enough to be full.
pub(crate) fn setup() -> impl Strategy<Value = Setup> {
    let shards = prop_oneof![4 => Just(1_u32), 2 => Just(2), 1 => Just(8)];
    let first_shard = prop_oneof![3 => Just(0), 1 => Just(i32::MAX), 1 => Just(i32::MIN + 1)];
    let session_partitions = prop_oneof![6 => Just(1000_u32), 1 => 1..5_u32];
    let cached_partitions = prop_oneof![6 => Just(u64::MAX), 1 => 1..12_u64];
    let principal_sessions = prop_oneof![6 => Just(u32::MAX), 1 => 0..3_u32];
    let limits = (session_partitions, cached_partitions, principal_sessions);
    (shards, prop_oneof![1 => Just(0_u32), 9 => 1..4_u32], first_shard, limits).prop_map(
        |(shards, slots, first_shard, limits)| Setup {
            shards,
            // Not all of them a multiple of the shards.
            slots: slots * shards + slots % shards,
            eviction_ms: 100,
            first_shard,
            limits: Limits {
                session_partitions: limits.0,
                cached_partitions: limits.1,
                principal_sessions: limits.2,
            },
        },
    )
}
