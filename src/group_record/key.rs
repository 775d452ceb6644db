//! The keys of groups' records.

use super::error::{GroupIdTooLong, GroupRecordError};
use super::format::Reader;
use alloc::vec::Vec;

/// Of what type a group's record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GroupRecordType {
    /// `ConsumerGroupMetadata`: the value is a [`ConsumerGroupMetadataValue`](super::ConsumerGroupMetadataValue).
    ConsumerGroupMetadata,
    /// `ConsumerGroupPartitionMetadata`, in which Kafka 4.0 kept what the metadata hash replaced: only tombstones are
    /// written.
    ConsumerGroupPartitionMetadata,
    /// `ShareGroupMetadata`: the value is a [`ShareGroupMetadataValue`](super::ShareGroupMetadataValue).
    ShareGroupMetadata,
    /// `StreamsGroupMetadata`: the value is a [`StreamsGroupMetadataValue`](super::StreamsGroupMetadataValue).
    StreamsGroupMetadata,
}

impl GroupRecordType {
    const fn number(self) -> i16 {
        match self {
            Self::ConsumerGroupMetadata => 3,
            Self::ConsumerGroupPartitionMetadata => 4,
            Self::ShareGroupMetadata => 11,
            Self::StreamsGroupMetadata => 17,
        }
    }
}

/// The key of a group's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "all that Kafka's keys hold")]
pub struct GroupRecordKey<'a> {
    /// The record's type.
    pub record_type: GroupRecordType,
    /// The group's id.
    pub group_id: &'a str,
}

impl<'a> GroupRecordKey<'a> {
    /// Appends the key's bytes to `out`.
    ///
    /// # Errors
    /// [`GroupIdTooLong`].
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), GroupIdTooLong> {
        let bytes = self.group_id.len();
        let length = i16::try_from(bytes).map_err(|_| GroupIdTooLong { bytes })?;
        out.extend_from_slice(&self.record_type.number().to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(self.group_id.as_bytes());
        Ok(())
    }

    /// Reads a key.
    ///
    /// # Errors
    /// [`GroupRecordError`]; `KeyType` for every other record of that log.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, GroupRecordError> {
        let mut reader = Reader(bytes);
        let record_type = match i16::from_be_bytes(reader.array()?) {
            3 => GroupRecordType::ConsumerGroupMetadata,
            4 => GroupRecordType::ConsumerGroupPartitionMetadata,
            11 => GroupRecordType::ShareGroupMetadata,
            17 => GroupRecordType::StreamsGroupMetadata,
            key_type => return Err(GroupRecordError::KeyType { key_type }),
        };
        let length = i16::from_be_bytes(reader.array()?);
        let length = usize::try_from(length).map_err(|_| GroupRecordError::Length)?;
        let group_id = reader.text(length)?;
        reader.end()?;
        Ok(Self { record_type, group_id })
    }
}
