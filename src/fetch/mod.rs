//! Fetch sessions (KIP-227, KIP-516, KAFKA-13111).

mod request;

pub use request::{
    FetchMetadata, FetchParams, FetchRequest, FetcherKind, ForgottenTopic, PartitionRequest,
    Profile, RequestTopic,
};
