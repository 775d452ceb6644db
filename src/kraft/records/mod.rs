//! Control records and their bytes: equal to Kafka's, both ways.

#[cfg(feature = "std")]
mod batch;
mod control_record;
mod control_type;
mod error;
mod messages;
mod reader;
#[cfg(feature = "std")]
mod snapshot;
mod snapshot_header;
mod voters_record;
mod writer;

#[cfg(feature = "wire")]
pub(crate) use reader::Reader;

#[cfg(feature = "std")]
pub use batch::{
    Batch, BatchError, Batches, ControlBatch, encode_control_batch, encode_data_batch,
    encode_log_batch,
};
pub use control_record::{ControlMessage, ControlRecord, InvalidControlRecord, LeaderChange};
pub use control_type::ControlRecordType;
pub use error::{EncodeError, RecordError};
pub use messages::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord,
};
#[cfg(feature = "std")]
pub use snapshot::{SnapshotError, SnapshotReader, encode_snapshot_footer, encode_snapshot_header};
pub use snapshot_header::SnapshotHeader;
pub use voters_record::{
    InvalidVoter, RecordEndpoint, RecordEndpoints, RecordVoter, VotersRecord, encode_voters,
};
