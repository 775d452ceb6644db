//! The control record that ends a transaction.

use super::RecordBatchError;
use super::record::{Reader, Record};
use crate::producer::{EndMarker, MarkerKind};

const KEY: &str = "control record key";
const VALUE: &str = "end transaction marker";

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// The end of a transaction that a control record of a producer tells: Kafka's
/// `EndTransactionMarker`.
///
/// Key: version 0, type. Value: version 0, coordinator epoch. Later versions add to them at their end:
/// what follows is not looked at.
pub(super) fn end_marker(record: &Record<'_>) -> Result<EndMarker, RecordBatchError> {
    let mut key = versioned(record.key, KEY)?;
    let kind = match key.int16(KEY)? {
        ABORT => MarkerKind::Abort,
        COMMIT => MarkerKind::Commit,
        control_type => return Err(RecordBatchError::ControlType { control_type }),
    };
    let mut value = versioned(record.value, VALUE)?;
    let coordinator_epoch = value.int32(VALUE)?;
    Ok(EndMarker { kind, coordinator_epoch, timestamp: record.timestamp })
}

/// What follows the version.
fn versioned<'a>(
    bytes: Option<&'a [u8]>,
    field: &'static str,
) -> Result<Reader<'a>, RecordBatchError> {
    let mut reader = Reader(bytes.ok_or(RecordBatchError::Missing { field })?);
    let version = reader.int16(field)?;
    if version < 0 {
        return Err(RecordBatchError::ControlVersion { field, version });
    }
    Ok(reader)
}
