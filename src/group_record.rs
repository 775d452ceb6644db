//! The metadata records of groups: what the log `__consumer_offsets` holds of a group's epoch, metadata hash and topology.
//!
//! Keys and values are Kafka's, byte for byte. A record's value is missing, a tombstone, when the group is gone. Values
//! of version 0 are all there are; fields that later versions of Kafka add as tagged fields are read over, as Kafka
//! does, and are not written again.
//!
//! Reading allocates nothing but the configurations of a streams group, after it has seen their bytes. Bytes that Kafka
//! would not have written (behind the end, tags out of order or twice, sizes that do not fit, text that is not UTF-8)
//! are refused. Deviation: Kafka's reader takes those that it can make sense of.

mod error;
mod format;
mod key;
mod streams;
mod value;

pub use error::{GroupIdTooLong, GroupRecordError};
pub use key::{GroupRecordKey, GroupRecordType};
pub use streams::{AssignmentConfig, StreamsGroupMetadataValue};
pub use value::{ConsumerGroupMetadataValue, ShareGroupMetadataValue};
