//! Does operations on a state and on the model beside it, and shows each step.

use crate::operation::{DataChoice, Fate, GuardChoice, MarkerChoice, Operation, SequenceChoice};
use crate::oracle::{Answer, Oracle, Terms};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    AppendError, Batch, CompletedTransaction, Content, EndMarker, Guard, MAX_SEQUENCE, Origin,
    PartitionState, ProducerConfig, ProducerStates, TransactionVersion, Verdict, VerificationError,
    Verify,
};
use proptest::test_runner::TestCaseResult;

pub(crate) const EXPIRATION_MS: i32 = 100;

/// A state and its model.
pub(crate) struct Driver {
    pub(crate) states: ProducerStates,
    pub(crate) oracle: Oracle,
    pub(crate) now: i64,
    /// All that was written, in order.
    pub(crate) log: Vec<Batch>,
    /// What the transaction index holds: each ended transaction with its last stable offset.
    pub(crate) index: Vec<(CompletedTransaction, i64)>,
}

/// One push, with what both sides said.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) batch: Batch,
    pub(crate) terms: Terms,
    pub(crate) verdict: Result<Verdict, AppendError>,
    pub(crate) expected: Answer,
    /// Whether the state before the append told of an open transaction of this producer.
    pub(crate) was_open: bool,
}

/// What was done.
#[derive(Debug)]
pub(crate) enum Did {
    Appended {
        pushes: Vec<Push>,
        fate: Fate,
    },
    Verified {
        producer: i64,
        answer: Result<Option<Guard>, VerificationError>,
        expected: Result<Option<u64>, kafka_coordination::ErrorCode>,
    },
    Expired {
        forgotten: usize,
    },
    Snapshot(Option<i64>),
    Else,
}

/// A step with the states around it.
pub(crate) struct Step {
    pub(crate) before: PartitionState,
    pub(crate) did: Did,
    pub(crate) after: PartitionState,
}

pub(crate) fn config(verify: Verify) -> ProducerConfig {
    let config = ProducerConfig::default().with_verification(verify).with_hash_seed(11);
    config.with_expiration_ms(EXPIRATION_MS).unwrap()
}

/// Runs the operations and shows each step.
pub(crate) fn run(
    verify: Verify,
    operations: &[Operation],
    mut show: impl FnMut(&mut Driver, &Step) -> TestCaseResult,
) -> Result<Driver, proptest::test_runner::TestCaseError> {
    let mut driver = Driver {
        states: ProducerStates::new(config(verify)),
        oracle: Oracle::new(EXPIRATION_MS.into(), verify),
        now: 1_000,
        log: Vec::new(),
        index: Vec::new(),
    };
    for operation in operations {
        let before = driver.states.export();
        let did = driver.operate(operation);
        let after = driver.states.export();
        show(&mut driver, &Step { before, did, after })?;
    }
    Ok(driver)
}

impl Driver {
    fn operate(&mut self, operation: &Operation) -> Did {
        match operation {
            Operation::Append { origin, guard, batches, fate } => {
                let producer = batches.first().map_or(0, |choice| choice.producer);
                let guard = self.guard(*guard, producer);
                let terms = Terms { origin: *origin, guard, version: 0 };
                self.append(terms, *fate, batches, data)
            }
            Operation::Marker { origin, choice, version, fate } => {
                let terms = Terms { origin: *origin, guard: None, version: *version };
                self.append(terms, *fate, &[*choice], marker)
            }
            Operation::Verify { producer, epoch, sequence, bump } => {
                let epoch = self.epoch(*producer, *epoch);
                let sequence = sequence_of(&self.oracle, *producer, *sequence).0;
                let now = Timestamp::from_millis(self.now);
                let answer = self.states.start_verification(*producer, sequence, epoch, *bump, now);
                let expected = self.oracle.verify(*producer, sequence, epoch, *bump, self.now);
                Did::Verified { producer: *producer, answer, expected }
            }
            Operation::Confirm => {
                self.confirm_all();
                Did::Else
            }
            Operation::HighWatermark(ahead) => {
                let oracle = &mut self.oracle;
                oracle.high_watermark = (oracle.high_watermark + ahead).min(oracle.end);
                self.states.on_high_watermark(oracle.high_watermark);
                Did::Else
            }
            Operation::Expire => {
                self.oracle.expire(self.now);
                let forgotten = self.states.expire(Timestamp::from_millis(self.now));
                Did::Expired { forgotten }
            }
            Operation::Wait(ms) => {
                self.now += ms;
                Did::Else
            }
            Operation::Snapshot => {
                let due = self.states.snapshot_due();
                if let Some(offset) = due {
                    self.states.snapshot_written(offset);
                }
                Did::Snapshot(due)
            }
        }
    }

    fn append<C: Copy>(
        &mut self,
        terms: Terms,
        fate: Fate,
        choices: &[C],
        choose: impl Fn(&Oracle, C, i64) -> Batch,
    ) -> Did {
        let version = TransactionVersion::new(terms.version);
        let guard = terms.guard.map(guard_of);
        let mut append = self.states.begin(terms.origin).with_guard(guard);
        if terms.origin != Origin::Replication {
            append = append.with_transaction_version(version);
        }
        let mut staged = self.oracle.clone();
        let mut pushes = Vec::new();
        for &choice in choices {
            let batch = choose(&staged, choice, self.now);
            let was_open = self
                .states
                .producer(batch.producer_id)
                .is_some_and(|entry| entry.is_in_transaction(batch.producer_epoch));
            let expected = staged.judge(&batch, terms);
            let verdict = self.states.push(&mut append, &batch);
            if verdict == Ok(Verdict::New) {
                staged.write(&batch);
            }
            pushes.push(Push { batch, terms, verdict, expected, was_open });
        }
        if fate == Fate::Drop {
            drop(append);
            return Did::Appended { pushes, fate };
        }
        self.states.commit(append, Timestamp::from_millis(self.now)).unwrap();
        self.oracle = staged;
        let written = pushes.iter().filter(|push| push.verdict == Ok(Verdict::New));
        self.log.extend(written.map(|push| push.batch));
        if fate == Fate::Commit {
            self.confirm_all();
        }
        Did::Appended { pushes, fate }
    }

    fn confirm_all(&mut self) {
        while let Some(completed) = self.states.next_completed() {
            self.index.push(completed);
            self.states.confirm_completed();
            self.oracle.confirmed += 1;
        }
        // What the high watermark has passed already is released by its next change.
        self.states.on_high_watermark(self.oracle.high_watermark);
    }

    fn guard(&self, choice: GuardChoice, producer: i64) -> Option<u64> {
        match choice {
            GuardChoice::None => None,
            GuardChoice::Pending => self.oracle.pending.get(&producer).map(|it| it.guard),
            GuardChoice::Number(number) => Some(number),
        }
    }

    fn epoch(&self, producer: i64, above: i16) -> i16 {
        epoch_of(&self.oracle, producer, above)
    }
}

/// So far above the known epoch. One producer starts near the highest there is.
fn epoch_of(oracle: &Oracle, producer: i64, above: i16) -> i16 {
    let first = if producer == 2 { i16::MAX - 1 } else { 0 };
    oracle.known(producer).map_or(first, |it| it.epoch).saturating_add(above).max(0)
}

pub(crate) fn guard_of(number: u64) -> Guard {
    Guard::new(number.try_into().unwrap())
}

/// A sequence, and how many records the batch has if it is one that was there.
fn sequence_of(oracle: &Oracle, producer: i64, choice: SequenceChoice) -> (i32, Option<i64>) {
    let known = oracle.known(producer);
    let batches = known.map(|it| it.batches).unwrap_or_default();
    let next = batches.last().map_or(0, |it| (it.1 + 1).rem_euclid(1 << 31));
    let small = |number: i64| i32::try_from(number.rem_euclid(1 << 31)).unwrap();
    match choice {
        SequenceChoice::Next => (small(next), None),
        SequenceChoice::Zero => (0, None),
        SequenceChoice::Again(back) => match batches.iter().rev().nth(back) {
            Some((first, _, batch)) if *first >= 0 => {
                (small(*first), Some(i64::from(batch.offset_delta) + 1))
            }
            _ => (small(next), None),
        },
        SequenceChoice::Off(off) => (small(next + off), None),
        SequenceChoice::Wrap => (MAX_SEQUENCE - 1, None),
        SequenceChoice::Without => (-1, None),
    }
}

fn data(oracle: &Oracle, choice: DataChoice, now: i64) -> Batch {
    let (base_sequence, records) = sequence_of(oracle, choice.producer, choice.sequence);
    let records = records.unwrap_or(choice.records);
    Batch {
        producer_id: choice.producer,
        producer_epoch: epoch_of(oracle, choice.producer, choice.epoch),
        base_offset: oracle.end,
        last_offset: oracle.end + records - 1,
        content: Content::Data {
            base_sequence,
            max_timestamp: Timestamp::from_millis(now + choice.timestamp),
            is_transactional: choice.is_transactional,
        },
        position: None,
    }
}

fn marker(oracle: &Oracle, choice: MarkerChoice, now: i64) -> Batch {
    let coordinator = oracle.known(choice.producer).map_or(0, |it| it.coordinator_epoch);
    let coordinator = coordinator + choice.coordinator;
    Batch {
        producer_id: choice.producer,
        producer_epoch: epoch_of(oracle, choice.producer, choice.epoch),
        base_offset: oracle.end,
        last_offset: oracle.end,
        content: Content::Marker(EndMarker {
            kind: choice.kind,
            coordinator_epoch: coordinator.max(0),
            timestamp: Timestamp::from_millis(now),
        }),
        position: None,
    }
}
