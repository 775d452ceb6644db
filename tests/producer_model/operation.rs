//! Random operations. They name what they do by what is there: the next sequence, the last but two.

use kafka_coordination::producer::{EpochBump, MarkerKind, Origin, Verify};
use proptest::prelude::*;

/// Producers 0 to this less one.
pub(crate) const PRODUCERS: i64 = 3;

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Append { origin: Origin, guard: GuardChoice, batches: Vec<DataChoice>, fate: Fate },
    Marker { origin: Origin, choice: MarkerChoice, version: u8, fate: Fate },
    Verify { producer: i64, epoch: i16, sequence: SequenceChoice, bump: EpochBump },
    Confirm,
    HighWatermark(i64),
    Expire,
    Wait(i64),
    Snapshot,
}

/// What becomes of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Commit,
    /// Committed, but an ended transaction is not confirmed yet.
    CommitOnly,
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardChoice {
    None,
    /// That of the producer's pending verification.
    Pending,
    /// One that is or was another's.
    Number(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DataChoice {
    pub(crate) producer: i64,
    /// Above the known one.
    pub(crate) epoch: i16,
    pub(crate) sequence: SequenceChoice,
    pub(crate) records: i64,
    pub(crate) is_transactional: bool,
    /// After now.
    pub(crate) timestamp: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum SequenceChoice {
    Next,
    Zero,
    /// The whole batch that is so many back.
    Again(usize),
    /// So far from the next.
    Off(i64),
    /// Two before the wrap.
    Wrap,
    Without,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkerChoice {
    pub(crate) producer: i64,
    pub(crate) epoch: i16,
    pub(crate) coordinator: i32,
    pub(crate) kind: MarkerKind,
}

fn epoch() -> impl Strategy<Value = i16> {
    prop_oneof![8 => Just(0), 2 => Just(1), 1 => Just(-1), 1 => Just(2)]
}

fn sequence() -> impl Strategy<Value = SequenceChoice> {
    prop_oneof![
        10 => Just(SequenceChoice::Next),
        2 => Just(SequenceChoice::Zero),
        4 => (0_usize..7).prop_map(SequenceChoice::Again),
        1 => (-3_i64..4).prop_map(SequenceChoice::Off),
        1 => Just(SequenceChoice::Wrap),
        1 => Just(SequenceChoice::Without),
    ]
}

fn data() -> impl Strategy<Value = DataChoice> {
    (0..PRODUCERS, epoch(), sequence(), 1_i64..4, any::<bool>(), -60_i64..20).prop_map(
        |(producer, epoch, sequence, records, is_transactional, timestamp)| DataChoice {
            producer,
            epoch,
            sequence,
            records,
            is_transactional,
            timestamp,
        },
    )
}

fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        8 => Just(Origin::Client),
        2 => Just(Origin::Coordinator),
        1 => Just(Origin::RaftLeader),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![8 => Just(Fate::Commit), 1 => Just(Fate::CommitOnly), 1 => Just(Fate::Drop)]
}

fn guard() -> impl Strategy<Value = GuardChoice> {
    prop_oneof![
        6 => Just(GuardChoice::Pending),
        1 => Just(GuardChoice::None),
        1 => (1_u64..5).prop_map(GuardChoice::Number),
    ]
}

fn append() -> impl Strategy<Value = Operation> {
    let batches = prop_oneof![
        4 => prop::collection::vec(data(), 1),
        1 => prop::collection::vec(data(), 2..6),
    ];
    (origin(), guard(), batches, fate()).prop_map(|(origin, guard, batches, fate)| {
        Operation::Append { origin, guard, batches, fate }
    })
}

fn marker() -> impl Strategy<Value = Operation> {
    let choice = (0..PRODUCERS, epoch(), -1_i32..2, any::<bool>()).prop_map(
        |(producer, epoch, coordinator, commits)| MarkerChoice {
            producer,
            epoch,
            coordinator,
            kind: if commits { MarkerKind::Commit } else { MarkerKind::Abort },
        },
    );
    let origin = prop_oneof![9 => Just(Origin::Coordinator), 1 => origin()];
    (origin, choice, 0_u8..3, fate()).prop_map(|(origin, choice, version, fate)| {
        Operation::Marker { origin, choice, version, fate }
    })
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let bump = prop_oneof![Just(EpochBump::Supported), Just(EpochBump::Unsupported)];
    let verify =
        (0..PRODUCERS, epoch(), sequence(), bump).prop_map(|(producer, epoch, sequence, bump)| {
            Operation::Verify { producer, epoch, sequence, bump }
        });
    prop_oneof![
        12 => append(),
        4 => marker(),
        5 => verify,
        1 => Just(Operation::Confirm),
        2 => (0_i64..6).prop_map(Operation::HighWatermark),
        1 => Just(Operation::Expire),
        2 => (0_i64..60).prop_map(Operation::Wait),
        1 => Just(Operation::Snapshot),
    ]
}

pub(crate) fn operations(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(), 0..most)
}

pub(crate) fn verify() -> impl Strategy<Value = Verify> {
    prop_oneof![2 => Just(Verify::On), 1 => Just(Verify::Off)]
}
