//! The coordination logic of a Kafka broker, as pure state machines to embed.
//!
//! The host, a broker, owns sockets, files, threads and clocks, and calls plain methods; the crate
//! decides. What a decision depends on is an argument: the request, the time ([`Monotonic`]), a
//! source of randomness ([`Random`]), what the metadata knows ([`metadata`]). Equal inputs give
//! equal outputs. Answers are Apache Kafka's, byte for byte where there are bytes; where Kafka is
//! wrong and its clients would not notice the repair, the docs say `Deviation:` and why.
//!
//! | module | decides | Kafka's classes |
//! | --- | --- | --- |
//! | [`fetch`] | which partitions a fetch reads and which its response carries; sessions and their eviction; the fetcher's own side | `FetchManager`, `FetchSession`, `FetchSessionCacheShard`, `FetchSessionHandler` |
//! | [`kraft`] | who votes in the metadata quorum, who leads it, what is committed, and how its voters change | `KafkaRaftClient`, `QuorumState`, `LeaderState`, `VoterSet`, `KRaftControlRecordStateMachine` |
//! | [`producer`] | whether a batch is new, a duplicate or an error; open transactions, the last stable offset, expiry, snapshots | `ProducerStateManager`, `ProducerAppendInfo` |
//! | [`group`] | the hash of what a group consumes, and when a change of the cluster must rebalance it | `GroupMetadataManager`, `ModernGroup`, `Utils.computeTopicHash` |
//! | [`group_record`] | nothing: it reads and writes the metadata records of groups | `ConsumerGroupMetadataValue`, … |
//! | [`topology`] | what the broker believes that a plugin stores for a streams group, kept true through crashes and races | `StreamsGroupTopologyDescriptionManager`, `StreamsGroupTopologyDescriptionBackoff` |
//! | [`metadata`] | nothing: it holds topics, partitions, brokers and racks for those that decide | `MetadataImage` |
#![cfg_attr(
    feature = "wire",
    doc = "| [`wire`] | nothing: it converts to and from the messages of the crate `kafka-protocol`, and checks lengths before they are believed | |"
)]
//!
//! # How calls are shaped
//!
//! 1. **Ask**: `&self`, a value comes back.
//! 2. **Decide, then commit**: where the host does I/O between a decision and its effect. The
//!    decision is an owned value that borrows nothing; dropping it is a clean abort. A fetch is
//!    begun, the host reads its logs, the fetch is finished: see [`fetch`]. An append is begun, the
//!    host writes its log, the append is committed: see [`producer`]. A group's refresh is decided, its
//!    record is written, the refresh is committed: see [`group`].
//! 3. **Effects**: where several I/Os must happen in an order. Inputs are requests and the ends of
//!    I/O; effects are polled, in the order in which they must take effect: see [`topology`] and
//!    [`kraft::Replica`].
//!
//! Under the machines stand their kernels, functions of plain values for hosts that keep state
//! elsewhere ([`fetch::inclusion`], [`fetch::retention`], [`producer::judge`], [`group::TopicHasher`],
//! [`topology::mark`]), and a machine's whole state can leave and enter
//! ([`fetch::FetchCache::export`], [`producer::ProducerStates::export`],
//! [`group::Subscriptions::export`], [`topology::TopologyManager::export`]).
//!
//! No input from a peer, a file or metadata panics, overflows, or takes more memory than it brings
//! bytes; a call that is rejected changes nothing.
//!
//! # Features
//!
//! - `std`, on by default: `SystemClock`, the bytes of producer snapshots and of the quorum's batches,
//!   quorum-state files, and the topic hash of KIP-1101's first draft. Without it the crate needs
//!   `alloc` only.
//! - `wire`: conversions to and from the crate `kafka-protocol`.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod fetch;
pub mod group;
pub mod group_record;
pub mod kraft;
pub mod metadata;
pub mod producer;
pub mod topology;
#[cfg(feature = "wire")]
#[cfg_attr(docsrs, doc(cfg(feature = "wire")))]
pub mod wire;

mod error_code;
mod id_text;
mod random;
mod time;
mod topic;

pub use error_code::{ErrorCode, UnknownErrorName};
pub use random::Random;
#[cfg(feature = "std")]
pub use time::SystemClock;
pub use time::{Clock, ManualClock, Monotonic, Timestamp};
pub use topic::{ParseTopicIdError, TopicId, TopicIdPartition, TopicName, TopicPartition};

/// The example in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
