//! The coordination logic of a Kafka broker, as pure state machines.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod fetch;
pub mod metadata;
#[cfg(feature = "wire")]
#[cfg_attr(docsrs, doc(cfg(feature = "wire")))]
pub mod wire;

mod error_code;
mod random;
mod time;
mod topic;

pub use error_code::{ErrorCode, UnknownErrorName};
pub use random::Random;
#[cfg(feature = "std")]
pub use time::SystemClock;
pub use time::{Clock, ManualClock, Monotonic, Timestamp};
pub use topic::{ParseTopicIdError, TopicId, TopicIdPartition, TopicName, TopicPartition};
