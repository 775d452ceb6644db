//! Conversions to and from the messages of the [`kafka_protocol`] crate (feature `wire`).
//!
//! [`decode_request`] and [`decode_response`] decode what a client or a peer sent without letting it
//! choose how much memory that takes; [`fetch`] and [`kraft`] convert between messages and the inputs
//! and outputs of [`crate::fetch`] and [`crate::kraft`], [`producer`] reads record batches for
//! [`crate::producer`].
//! Records and other byte strings are moved or shared, never copied.

pub mod fetch;
pub mod kraft;
pub mod producer;

mod decode;
mod error;
mod guard;

pub use decode::{
    MAX_AMPLIFICATION, Preamble, decode_fetch_response, decode_request, decode_response,
};
pub use error::WireError;
pub use guard::{supported_response_versions, supported_versions};
