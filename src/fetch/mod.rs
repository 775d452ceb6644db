//! Fetch sessions (KIP-227) by topic id (KIP-516) and by name, with partitions whose id is not
//! known yet (KAFKA-13111).
//!
//! A fetch request without a session lists every partition, and its answer lists every partition.
//! With a session, requests list what changes of the wishes and answers carry what changes of the
//! partitions. [`FetchCache`] is the broker's side, [`FetcherSession`] the side of a consumer or
//! follower. Fetch v4 to v18; below v7 there are no sessions on the wire.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | full request | its epoch is 0 or -1: it lists all that is wanted, and closes the session that it names |
//! | incremental request | any other: it lists what to add, alter and forget in its session |
//! | by id, by name | a session made from version 13 on knows topics by id, one made below by name; it stays so |
//! | unresolved | a partition whose topic id the metadata did not know: answered with 100, kept until it resolves |
//! | privileged | a session made by a follower |
//! | context | what a request was classified as: [`ContextKind`] |
//!
//! # A fetch in four steps
//!
//! ```
//! use kafka_coordination::fetch::{
//!     CacheConfig, ContextKind, FetchCache, FetchMetadata, FetchParams, FetchRequest, FetcherKind,
//!     PartitionRead, PartitionRequest, Profile, RequestTopic,
//! };
//! use kafka_coordination::{ErrorCode, Monotonic, Random, TopicId, TopicName};
//! # use core::num::NonZeroU32;
//! # struct Dice;
//! # impl Random for Dice {
//! #     fn below(&mut self, _bound: NonZeroU32) -> u32 { 4 }
//! # }
//!
//! let orders = TopicId::from_u128(7);
//! let names = |id: TopicId| (id == orders).then(|| TopicName::from("orders"));
//! let mut cache = FetchCache::new(CacheConfig::default());
//!
//! // The request as the host decoded it: a new session is asked for.
//! let params = FetchParams {
//!     fetch_offset: 0,
//!     log_start_offset: -1,
//!     max_bytes: 1 << 20,
//!     leader_epoch: None,
//!     last_fetched_epoch: None,
//! };
//! let partitions = [PartitionRequest { partition: 0, params }];
//! let topics = [RequestTopic { id: orders, name: "", partitions: &partitions }];
//! let mut request = FetchRequest {
//!     version: 18,
//!     metadata: FetchMetadata::INITIAL,
//!     fetcher: FetcherKind::Consumer,
//!     profile: Profile::default(),
//!     principal: 0,
//!     topics: &topics,
//!     forgotten: &[],
//! };
//!
//! // 1. Classify. 2. Read what it visits. 3. Ask for the size, if there are quotas. 4. Answer.
//! let now = Monotonic::from_millis(0);
//! let context = cache.begin(&request, &names, now);
//! assert_eq!(context.kind(), ContextKind::Full);
//! let mut reads: Vec<PartitionRead> = cache
//!     .visit(&context)
//!     .map(|wanted| match wanted.topic {
//!         Some(_) => PartitionRead::new(wanted.slot, 100, 0).with_records(512),
//!         None => PartitionRead::failed(wanted.slot, ErrorCode::UnknownTopicId),
//!     })
//!     .collect();
//! assert!(cache.response_size(&context, &reads) > 512);
//! let answer = cache.finish(context, &mut reads, &mut Dice, now);
//! assert!(reads[0].is_included());
//!
//! // The next request of the session lists nothing; nothing new is there, so nothing is carried.
//! request.metadata = FetchMetadata::new_incremental(answer.session_id);
//! request.topics = &[];
//! let context = cache.begin(&request, &names, now);
//! let visited = cache.visit(&context);
//! let mut reads: Vec<_> =
//!     visited.map(|wanted| PartitionRead::new(wanted.slot, 100, 0)).collect();
//! cache.finish(context, &mut reads, &mut Dice, now);
//! assert!(!reads[0].is_included());
//! ```
//!
//! # What an incremental answer carries
//!
//! | read | carried | remembered high watermark | moved to the end |
//! | --- | --- | --- | --- |
//! | has records | yes | the read's | yes |
//! | high watermark or log start offset differ from what was told | yes | the read's | no |
//! | preferred replica, diverging epoch | yes, each time | the read's | no |
//! | error | yes, each time | -1, so that recovery is told | only with records |
//! | none of these | no | as it was | no |
//!
//! # Changes instead of visits
//!
//! A fetch of a session costs a visit of each of its partitions, though most have nothing new. With
//! [`ChangeTracking::On`] the host tells the cache what changes ([`FetchCache::mark`]), and a fetch
//! visits only what may have something to answer: with the same answers, in the same order. What
//! to mark for whom:
//!
//! | event on a partition | [`Change`] | followers | consumers |
//! | --- | --- | --- | --- |
//! | records appended | `Appended` | yes | no |
//! | high watermark moved | `HighWatermark` | yes | yes |
//! | last stable offset moved | `LastStableOffset` | no | if they read committed records |
//! | log start offset moved | `LogStartOffset` | yes | yes |
//! | log truncated, replaced, moved | `Truncated` | yes | yes |
//! | leader, epoch, replicas, directory | `Leadership` | yes | yes |
//! | topic or partition created, deleted, created again; id learnt | `Metadata` | yes | yes |
//! | access rules, or all else that a session's reads depend on | [`FetchCache::mark_all`], or another [`Profile`] | all | all |
//! | in-sync replicas, broker epoch, fencing of the follower | `FollowerState` | yes | no |
//! | what a replica selector looks at | `ReplicaSelection` | no | yes |
//!
//! What a request lists is marked by itself. A partition stays marked while an answer returned
//! data, withheld some ([`PartitionRead::with_revisit`]), had an error or sent the fetcher
//! elsewhere, and whenever the answer was not generated: throttled, overtaken or dropped.
//!
//! # Invariants
//!
//! Each is a property test of its number.
//!
//! - **FS-1** A shard has at most as many sessions as room; while it keeps the orders of eviction, each
//!   is in the order by use, and in the orders by worth that it belongs to; cached partitions add up.
//! - **FS-2** What the orders hold of a session is what the session holds.
//! - **FS-3** A session's cached size is the number of its partitions when it was last used.
//! - **FS-4** Every live id is in its shard's range, is found, and is unique and positive.
//! - **FS-5** A consumer's session never displaces a follower's that is not stale.
//! - **FS-6** A creation removes at most one session; a refused one none.
//! - **FS-7** Evictions count the creations that removed a session; closing is none.
//! - **FS-8** No session is empty once a request of it was accepted; epochs are 1 to 2147483647.
//! - **FS-9** An accepted request, replayed, is answered 71 and changes nothing.
//! - **FS-10** A request answered 70, 71 or 106 changes nothing.
//! - **FS-11** A request leaves its session with what it had and what was listed, without what was
//!   forgotten; what was there keeps its order, what is new follows in the order of the request.
//! - **FS-12** A name is learnt once and never changes.
//! - **FS-13** In a session by name every id is zero and every partition has a name.
//! - **FS-14** The size is that of the encoded answer; asking for it changes nothing.
//! - **FS-15** The same reads, answered again, carry what has records, an error, a preferred replica
//!   or a divergence.
//! - **FS-16** What an incremental answer carries is in the order of the reads.
//! - **FS-17** What is left out has no records, no error, and nothing that was not told.
//! - **FS-18** The first answer of a partition after an error is carried.
//! - **FS-19** What returned records moves to the end in the order of the reads, nothing else moves.
//! - **FS-20** A throttled answer tells nothing and moves nothing; the epoch has moved on.
//! - **FS-21** When a request is accepted, both sides hold the same partitions.
//! - **FS-22** Folding all answers gives what a fetcher without a session sees.
//! - **FS-23** Two round trips without loss lead from any state back into a session.
//! - **FS-24** 1 follows 2147483647.
//! - **FS-25** Visiting what was marked gives the same answers and sessions as visiting everything.

mod cache;
mod change;
mod config;
mod context;
mod counters;
mod detached;
mod eviction;
mod fetcher;
mod inclusion;
mod order;
mod partition;
mod request;
mod response;
mod router;
mod session;
mod shard;
mod size;
mod state;
mod table;
mod topics;
mod visit;
mod watch;

pub use cache::FetchCache;
pub use change::{Change, Marked};
pub use config::{CacheConfig, ChangeTracking, ConfigError};
pub use context::{ContextKind, FetchContext};
pub use counters::CacheStats;
pub use fetcher::{
    AnsweredTopic, FetchPlan, FetcherSession, ForgottenPartition, ForgottenPartitions,
    LeakedSession, Mismatch, PlannedPartitions, PlannedTopic, ResponseHead, RestoreError,
    SessionPartition, Verdict, WishList,
};
pub use inclusion::{Reported, Retention, inclusion, retention};
pub use partition::FetchPartition;
pub use request::{
    FetchMetadata, FetchParams, FetchRequest, FetcherKind, ForgottenTopic, PartitionRequest,
    Profile, RequestTopic,
};
pub use response::{Evicted, EvictionReason, FetchAnswer, PartitionRead, Slot};
pub use router::ShardRouter;
pub use state::{CacheState, PartitionState, SessionState, StateError};
pub use visit::{SlotFinder, Visit};
