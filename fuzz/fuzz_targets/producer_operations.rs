//! Any operations on producer states, with any numbers: nothing panics, what is refused changes nothing, and every state
//! that is reached can leave and enter, and be saved.
#![no_main]

use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    Batch, Content, EndMarker, EpochBump, Guard, MarkerKind, Origin, ProducerConfig,
    ProducerStates, Snapshot, TransactionVersion, Verdict,
};
use libfuzzer_sys::fuzz_target;

/// Numbers from the input; 0 when it is used up.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        byte
    }

    fn wide(&mut self) -> i64 {
        i64::from_be_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Mostly small, sometimes any.
    fn number(&mut self) -> i64 {
        match self.byte() {
            255 => self.wide(),
            254 => i64::from(i32::MAX) - i64::from(self.byte()),
            small => i64::from(small) - 2,
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "any number will do")]
fn batch(input: &mut Input<'_>, end: i64) -> Batch {
    let kind = input.byte();
    let base_offset = if kind & 8 == 0 { end } else { input.number() };
    let length = input.number();
    let timestamp = Timestamp::from_millis(input.number());
    let content = match kind & 7 {
        0 => Content::EmptiedMarker { max_timestamp: timestamp },
        1 | 2 => Content::Marker(EndMarker {
            kind: if kind & 1 == 0 { MarkerKind::Abort } else { MarkerKind::Commit },
            coordinator_epoch: input.number() as i32,
            timestamp,
        }),
        kind => Content::Data {
            base_sequence: input.number() as i32,
            max_timestamp: timestamp,
            is_transactional: kind & 1 == 0,
        },
    };
    Batch {
        producer_id: input.number() % 8,
        producer_epoch: input.number() as i16,
        base_offset,
        last_offset: base_offset.wrapping_add(length),
        content,
        position: None,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let config = ProducerConfig::default().with_expiration_ms(100).unwrap();
    let config = config.with_producers_max(5).unwrap();
    let mut states = ProducerStates::new(config.clone());
    while !input.0.is_empty() {
        let before = states.export();
        match input.byte() % 12 {
            0..=5 => {
                let origin =
                    [Origin::Client, Origin::Coordinator, Origin::Replication, Origin::RaftLeader];
                let head = input.byte();
                let guard = std::num::NonZeroU64::new(u64::from(head >> 4)).map(Guard::new);
                let mut append = states.begin(origin[usize::from(head & 3)]).with_guard(guard);
                if head & 4 != 0 {
                    append = append.with_transaction_version(TransactionVersion::new(head >> 6));
                }
                let mut end = states.map_end_offset();
                for _ in 0..=input.byte() % 4 {
                    let batch = batch(&mut input, end);
                    if let Ok(Verdict::New | Verdict::NoProducer) = states.push(&mut append, &batch)
                    {
                        end = batch.last_offset + 1;
                    }
                }
                assert_eq!(states.export(), before);
                if head & 8 == 0 {
                    states.commit(append, Timestamp::from_millis(input.number())).unwrap();
                }
            }
            6 => {
                let bump = if input.byte() & 1 == 0 {
                    EpochBump::Supported
                } else {
                    EpochBump::Unsupported
                };
                let (producer, sequence) = (input.number() % 8, input.number() as i32);
                let (epoch, now) = (input.number() as i16, Timestamp::from_millis(input.number()));
                let _ = states.start_verification(producer, sequence, epoch, bump, now);
            }
            7 => states.confirm_completed(),
            8 => states.on_high_watermark(input.number()),
            9 => {
                states.expire(Timestamp::from_millis(input.number()));
            }
            10 => {
                let start = input.number().max(0);
                let end = input.number().max(start);
                let _ = states.truncate(start, end);
            }
            _ => {
                if let Some(offset) = states.snapshot_due() {
                    states.snapshot_written(offset);
                }
                states.has_late_transaction(Timestamp::from_millis(input.number()));
                states.last_stable_offset(input.number(), input.number());
            }
        }
        let state = states.export();
        let entered = ProducerStates::import(config.clone(), &state).unwrap();
        assert_eq!(entered.export(), state);
        let mut bytes = Vec::new();
        states.encode_snapshot(&mut bytes);
        assert_eq!(Snapshot::parse(&bytes).unwrap().len(), states.producer_count());
    }
});
