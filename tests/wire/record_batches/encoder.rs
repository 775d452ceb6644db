//! The batches of another encoder.

use super::{read, seal};
use bytes::{Bytes, BytesMut};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{Batch, Content};
use kafka_coordination::wire::producer::RecordBatch;
use kafka_protocol::records::{
    Compression as Algorithm, Record, RecordBatchEncoder, RecordEncodeOptions,
    TimestampType as Type,
};
use proptest::prelude::*;

/// Records for one batch, as another encoder wants them.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let content = || prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
    let record = (content(), content(), -1_i64..i64::MAX / 2);
    let producer = prop_oneof![Just((-1, -1, -1)), (0..i64::MAX, 0..i16::MAX, 0..i32::MAX - 40)];
    let batch = (0..i64::MAX - 40, producer, any::<bool>(), any::<i32>());
    (batch, prop::collection::vec(record, 1..40)).prop_map(|(batch, contents)| {
        let (base_offset, (producer_id, producer_epoch, base_sequence), transactional, epoch) =
            batch;
        let records =
            contents.into_iter().zip(0..).map(|((key, value, timestamp), number)| Record {
                transactional,
                control: false,
                delete_horizon: false,
                partition_leader_epoch: epoch,
                producer_id,
                producer_epoch,
                timestamp_type: Type::Creation,
                offset: base_offset + i64::from(number),
                sequence: if base_sequence < 0 { -1 } else { base_sequence + number },
                timestamp,
                key: key.map(Bytes::from),
                value: value.map(Bytes::from),
                headers: [
                    ("header".into(), Some(Bytes::from_static(b"value"))),
                    ("null".into(), None),
                ]
                .into_iter()
                .take(usize::try_from(number).unwrap() % 3)
                .collect(),
            });
        records.collect()
    })
}

proptest! {
    #[test]
    fn batches_of_another_encoder_are_read(records in records()) {
        let first = &records[0];
        // The encoder joins records whose sequences go up with their offsets only.
        prop_assume!(first.producer_id >= 0 || records.len() == 1);
        let mut bytes = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Algorithm::None };
        RecordBatchEncoder::encode(&mut bytes, &records, &options).unwrap();
        let batch = RecordBatch::read(&bytes).unwrap();
        batch.check_checksum().unwrap();
        let expected = Batch {
            producer_id: first.producer_id,
            producer_epoch: first.producer_epoch,
            base_offset: first.offset,
            last_offset: records.last().unwrap().offset,
            content: Content::Data {
                base_sequence: first.sequence,
                max_timestamp: Timestamp::from_millis(records.iter().map(|it| it.timestamp).max().unwrap()),
                is_transactional: first.transactional,
            },
            position: None,
        };
        prop_assert_eq!(batch.producer_batch(), Ok(expected));
        prop_assert_eq!(batch.header().partition_leader_epoch, first.partition_leader_epoch);
        let read: Result<Vec<_>, _> = batch.records().unwrap().collect();
        let read = read.unwrap();
        prop_assert_eq!(read.len(), records.len());
        for (read, record) in read.iter().zip(&records) {
            prop_assert_eq!(first.offset + i64::from(read.offset_delta), record.offset);
            prop_assert_eq!(read.timestamp.as_millis(), record.timestamp);
            prop_assert_eq!((read.key, read.value), (record.key.as_deref(), record.value.as_deref()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        header in prop::collection::vec(any::<u8>(), 40),
        count in -1_i32..4,
        records in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = [&[0; 16][..], &[2, 0, 0, 0, 0], &header[..36], &count.to_be_bytes(), &records].concat();
        bytes[23..26].fill(0);
        let _ = read(&seal(bytes));
    }
}
