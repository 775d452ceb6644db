//! The values of consumer and share groups' records.

use super::error::GroupRecordError;
use super::format::{Reader, put_head, put_tag, put_uvarint};
use alloc::vec::Vec;

/// The value of a consumer group's metadata record.
///
/// ```
/// use kafka_coordination::group_record::{ConsumerGroupMetadataValue, GroupRecordError};
///
/// let value = ConsumerGroupMetadataValue { epoch: 11, metadata_hash: 1 };
/// let mut bytes = Vec::new();
/// value.encode(&mut bytes);
/// assert_eq!(bytes, [0, 0, 0, 0, 0, 11, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
/// assert_eq!(ConsumerGroupMetadataValue::decode(&bytes), Ok(value));
/// // As a broker before Kafka 4.1 wrote it.
/// assert_eq!(ConsumerGroupMetadataValue::decode(&bytes[..6]), Err(GroupRecordError::Truncated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the only version")]
pub struct ConsumerGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// The metadata hash; 0, which is not written, for none.
    pub metadata_hash: i64,
}

impl ConsumerGroupMetadataValue {
    /// Appends the value's bytes to `out`, its version first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_head(out, self.epoch);
        let hash = (self.metadata_hash != 0).then_some(self.metadata_hash.to_be_bytes());
        put_uvarint(out, u32::from(hash.is_some()));
        if let Some(hash) = hash {
            put_tag(out, 0, &hash);
        }
    }

    /// Reads a value, its version first.
    ///
    /// # Errors
    /// [`GroupRecordError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, GroupRecordError> {
        let mut reader = Reader(bytes);
        let mut value = Self { epoch: reader.head()?, metadata_hash: 0 };
        reader.tags(|tag, field| {
            if tag == 0 {
                value.metadata_hash = i64::from_be_bytes(field.array()?);
            }
            Ok(tag == 0)
        })?;
        reader.end()?;
        Ok(value)
    }
}

/// The value of a share group's metadata record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the only version")]
pub struct ShareGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// The metadata hash; 0 for none.
    pub metadata_hash: i64,
}

impl ShareGroupMetadataValue {
    /// Appends the value's bytes to `out`, its version first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_head(out, self.epoch);
        out.extend_from_slice(&self.metadata_hash.to_be_bytes());
        put_uvarint(out, 0);
    }

    /// Reads a value, its version first.
    ///
    /// # Errors
    /// [`GroupRecordError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, GroupRecordError> {
        let mut reader = Reader(bytes);
        let epoch = reader.head()?;
        let metadata_hash = i64::from_be_bytes(reader.array()?);
        reader.tags(|_, _| Ok(false))?;
        reader.end()?;
        Ok(Self { epoch, metadata_hash })
    }
}
