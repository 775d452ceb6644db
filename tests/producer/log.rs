//! A partition's log of few words: batches are written where they say, and their fate is told.

use kafka_coordination::producer::{
    Batch, CompletedTransaction, Content, EndMarker, EpochBump, Guard, MarkerKind, Origin,
    ProducerConfig, ProducerStates, SnapshotEntry, TransactionVersion, Verdict, Window,
};
use kafka_coordination::{ErrorCode, Timestamp};

/// What becomes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    /// With the first and last offset that are known.
    Duplicate(i64, i64),
    Refused(ErrorCode),
}

pub(crate) const OUT_OF_ORDER: Fate = Fate::Refused(ErrorCode::OutOfOrderSequenceNumber);
pub(crate) const FENCED: Fate = Fate::Refused(ErrorCode::InvalidProducerEpoch);
pub(crate) const INVALID_STATE: Fate = Fate::Refused(ErrorCode::InvalidTxnState);

pub(crate) struct Log {
    pub(crate) states: ProducerStates,
    pub(crate) now: i64,
}

impl Log {
    pub(crate) fn new(config: ProducerConfig) -> Self {
        Self { states: ProducerStates::new(config), now: 0 }
    }

    pub(crate) fn append(&mut self, origin: Origin, guard: Option<Guard>, batch: &Batch) -> Fate {
        let version = TransactionVersion::V0;
        self.append_at(origin, guard, version, batch)
    }

    fn append_at(
        &mut self,
        origin: Origin,
        guard: Option<Guard>,
        version: TransactionVersion,
        batch: &Batch,
    ) -> Fate {
        let before = self.states.export();
        let append = self.states.begin(origin).with_guard(guard);
        let mut append = append.with_transaction_version(version);
        let fate = match self.states.push(&mut append, batch) {
            Ok(Verdict::New | Verdict::NoProducer) => {
                self.states.commit(append, Timestamp::from_millis(self.now)).unwrap();
                return Fate::Accepted;
            }
            Ok(Verdict::Duplicate(known)) => {
                Fate::Duplicate(known.first_offset(), known.last_offset)
            }
            Err(error) => Fate::Refused(error.code()),
        };
        drop(append);
        assert_eq!(before, self.states.export(), "{fate:?} changes nothing");
        fate
    }

    pub(crate) fn client(&mut self, batch: &Batch) -> Fate {
        self.append(Origin::Client, None, batch)
    }

    pub(crate) fn replicated(&mut self, batch: &Batch) -> Fate {
        self.append(Origin::Replication, None, batch)
    }

    /// A marker of a coordinator.
    pub(crate) fn marker(&mut self, version: TransactionVersion, batch: &Batch) -> Fate {
        self.append_at(Origin::Coordinator, None, version, batch)
    }

    pub(crate) fn verify(
        &mut self,
        producer: i64,
        sequence: i32,
        epoch: i16,
        bump: EpochBump,
    ) -> Guard {
        let now = Timestamp::from_millis(self.now);
        let started = self.states.start_verification(producer, sequence, epoch, bump, now);
        started.unwrap().unwrap()
    }

    /// Confirms what ended.
    pub(crate) fn confirm(&mut self) -> Vec<(CompletedTransaction, i64)> {
        let mut ended = Vec::new();
        while let Some(completed) = self.states.next_completed() {
            ended.push(completed);
            self.states.confirm_completed();
        }
        ended
    }

    pub(crate) fn expire(&mut self, now: i64) -> usize {
        self.states.expire(Timestamp::from_millis(now))
    }

    /// First and last offset of the batches that are known of a producer.
    pub(crate) fn offsets(&self, producer: i64) -> Vec<(i64, i64)> {
        let window = self.states.producer(producer).map_or(Window::EMPTY, |it| *it.window());
        window.iter().map(|batch| (batch.first_offset(), batch.last_offset)).collect()
    }
}

/// A batch of a producer and epoch with the sequences `first..=last` at that offset.
pub(crate) fn data(producer: i64, epoch: i16, first: i32, last: i32, offset: i64) -> Batch {
    Batch {
        producer_id: producer,
        producer_epoch: epoch,
        base_offset: offset,
        last_offset: offset + i64::from(last) - i64::from(first),
        content: Content::Data {
            base_sequence: first,
            max_timestamp: Timestamp::from_millis(0),
            is_transactional: false,
        },
        position: None,
    }
}

/// The same within a transaction.
pub(crate) fn transactional(batch: Batch) -> Batch {
    let Content::Data { base_sequence, max_timestamp, .. } = batch.content else {
        panic!("no data: {batch:?}");
    };
    let content = Content::Data { base_sequence, max_timestamp, is_transactional: true };
    Batch { content, ..batch }
}

/// The same with a timestamp.
pub(crate) fn timed(batch: Batch, timestamp: i64) -> Batch {
    let Content::Data { base_sequence, is_transactional, .. } = batch.content else {
        panic!("no data: {batch:?}");
    };
    let max_timestamp = Timestamp::from_millis(timestamp);
    Batch { content: Content::Data { base_sequence, max_timestamp, is_transactional }, ..batch }
}

pub(crate) fn marker(
    producer: i64,
    epoch: i16,
    kind: MarkerKind,
    coordinator: i32,
    offset: i64,
) -> Batch {
    let timestamp = Timestamp::from_millis(0);
    Batch {
        producer_id: producer,
        producer_epoch: epoch,
        base_offset: offset,
        last_offset: offset,
        content: Content::Marker(EndMarker { kind, coordinator_epoch: coordinator, timestamp }),
        position: None,
    }
}

/// The header of a marker whose record was removed.
pub(crate) fn emptied(producer: i64, epoch: i16, offset: i64) -> Batch {
    let max_timestamp = Timestamp::from_millis(-1);
    let content = Content::EmptiedMarker { max_timestamp };
    Batch { content, ..data(producer, epoch, 0, 0, offset) }
}

/// Moves a batch, as the log does that gives it other offsets when it comes again.
pub(crate) trait At {
    fn at(self, offset: i64) -> Self;
}

impl At for Batch {
    fn at(self, offset: i64) -> Self {
        let last_offset = offset + (self.last_offset - self.base_offset);
        Self { base_offset: offset, last_offset, ..self }
    }
}

/// What a snapshot holds of these producers. With the feature `std`, after it was bytes.
pub(crate) fn saved(states: &ProducerStates) -> Vec<SnapshotEntry> {
    let entries: Vec<_> =
        states.producers().map(|(id, entry)| SnapshotEntry::new(id, entry)).collect();
    #[cfg(feature = "std")]
    {
        let mut bytes = Vec::new();
        states.encode_snapshot(&mut bytes);
        let parsed = kafka_coordination::producer::Snapshot::parse(&bytes).unwrap();
        assert!(parsed.iter().eq(entries.iter().copied()));
        bytes[20] ^= 1;
        assert!(kafka_coordination::producer::Snapshot::parse(&bytes).is_err());
    }
    entries
}
