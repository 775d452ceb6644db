//! Reads of the state machine, which Kafka's controllers do not serve: `Fetch` by the topic's name.
//!
//! Every node answers it, with what its own state machine has: record after record from the offset on, counted without
//! the control records.

use super::{METADATA_TOPIC, Node};
use crate::api;
use kafka_coordination::kraft::encode_data_batch;
use kafka_coordination::{Clock, ErrorCode};
use kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use kafka_protocol::protocol::StrBytes;

/// Bytes of records that an answer carries at most, the last record not counted.
const MAX_READ: usize = 1 << 20;

impl Node {
    pub(super) fn read_machine(&self, request: &FetchRequest) -> FetchResponse {
        let records = self.machine.records();
        let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
        let mut partition = PartitionData::default()
            .with_high_watermark(count)
            .with_last_stable_offset(count)
            .with_log_start_offset(0);
        match self.records_from(request) {
            Ok(bytes) => partition.records = Some(bytes.into()),
            Err(error) => partition.error_code = error.code(),
        }
        let topic = FetchableTopicResponse::default()
            .with_topic(StrBytes::from_static_str(METADATA_TOPIC).into())
            .with_partitions(vec![partition]);
        FetchResponse::default().with_responses(vec![topic])
    }

    /// A batch of the records from the offset on that a request names; nothing at their end.
    fn records_from(&self, request: &FetchRequest) -> Result<Vec<u8>, ErrorCode> {
        let offset = api::read_from(request).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let first = usize::try_from(offset).map_err(|_| ErrorCode::OffsetOutOfRange)?;
        let rest = self.machine.records().get(first..).ok_or(ErrorCode::OffsetOutOfRange)?;
        let mut size = 0;
        let fits = |record: &&bytes::Bytes| {
            let is_first = size == 0;
            size += record.len();
            is_first || size <= MAX_READ
        };
        let records: Vec<_> = rest.iter().take_while(fits).collect();
        let mut bytes = Vec::new();
        if !records.is_empty() {
            encode_data_batch(offset, 0, self.clock.timestamp(), records, &mut bytes)
                .map_err(|_| ErrorCode::UnknownServerError)?;
        }
        Ok(bytes)
    }
}
