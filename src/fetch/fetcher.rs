//! The fetcher's own side of a session: what a consumer or a follower remembers of its session with one broker.
//!
//! Kafka: `FetchSessionHandler` (KIP-227, KIP-516, KAFKA-13079, KAFKA-13111).

mod changes;
mod diff;
mod entries;
mod known_ids;
mod plan;
mod response;
mod restore;
#[cfg(test)]
mod tests;
mod topics;
mod wish;

pub use plan::{
    FetchPlan, ForgottenPartition, ForgottenPartitions, PlannedPartitions, PlannedTopic,
    SessionPartition,
};
pub use response::{AnsweredTopic, LeakedSession, Mismatch, ResponseHead, Verdict};
pub use restore::RestoreError;
pub use wish::WishList;

use super::request::{FetchMetadata, FetchParams};
use crate::topic::{TopicId, TopicName};
use alloc::vec::Vec;
use changes::Changes;
use entries::{Entries, Pending, Want};
use foldhash::fast::FixedState;
use known_ids::KnownIds;
use topics::Topics;

/// A fetcher's side of its session with one broker.
///
/// A round is: open a wish list with [`FetcherSession::wish`], add *every* partition that is to be fetched,
/// [`build`](WishList::build) the plan of the request, send it, and hand the response to
/// [`FetcherSession::handle_response`]. One request is under way at a time. Where one was built but not sent, or its
/// response was lost, [`FetcherSession::handle_error`] takes the response's place: a build changes what the session
/// holds, so that the next plan would otherwise leave out what the broker never heard of.
///
/// # Cost
///
/// Holds 64 bytes a partition, a 4-byte index entry and 4 bytes of order; each topic's name once; and 56 bytes for each
/// partition that a plan changed, for as many as there were in one plan so far. Buffers are reused: a round that adds no partition and no topic allocates nothing. Memory follows the largest wish list so far.
///
/// # Example
///
/// ```
/// use kafka_coordination::fetch::{
///     AnsweredTopic, FetchParams, FetcherSession, PartitionRequest, ResponseHead, Verdict,
/// };
/// use kafka_coordination::{ErrorCode, TopicId};
///
/// let id = TopicId::from_u128(0xfeed);
/// let request = |fetch_offset| PartitionRequest {
///     partition: 0,
///     params: FetchParams {
///         fetch_offset,
///         log_start_offset: -1,
///         max_bytes: 1 << 20,
///         leader_epoch: Some(3),
///         last_fetched_epoch: None,
///     },
/// };
/// let mut session = FetcherSession::new(0x5eed);
///
/// let mut wish = session.wish();
/// wish.add(id, "orders", &request(100));
/// let plan = wish.build();
/// assert!(plan.metadata().is_full() && plan.can_use_topic_ids());
/// assert_eq!(plan.topics(13).count(), 1);
///
/// // The broker opens session 7.
/// let head = ResponseHead { version: 13, error: ErrorCode::None, session_id: 7, throttle_time_ms: 0 };
/// let answer = AnsweredTopic { id, name: "", partitions: [0] };
/// assert_eq!(session.handle_response(head, [answer]), Verdict::Opened);
///
/// // Nothing changed: the next request names no partition at all.
/// let mut wish = session.wish();
/// wish.add(id, "orders", &request(100));
/// let plan = wish.build();
/// assert_eq!((plan.metadata().session_id, plan.metadata().epoch), (7, 1));
/// assert_eq!(plan.to_send().len(), 0);
/// ```
///
/// # What a plan says of a partition
///
/// The session's map is keyed by topic *name* and partition, also where requests name topics by id.
///
/// | id in the session | id in the wish list | the rest | the partition is | topic ids can be used |
/// | --- | --- | --- | --- | --- |
/// | none | none | equal | implied | no |
/// | none | X | any | altered: sent | if all others have ids |
/// | X | none | any | altered: sent | no |
/// | X | X | equal | implied | yes |
/// | X | X | differs | altered: sent | yes |
/// | X | Y | any | replaced: sent, and X is forgotten from version 13 on | yes |
/// | – | any | | added: sent | if it has an id |
/// | X | – | | removed: forgotten | as without it |
/// | none | – | | removed: forgotten | no, it can only be forgotten by name (KAFKA-13079) |
///
/// # What a response does to the metadata of the next request
///
/// With (i, e) the metadata of the request that was answered, the first line that fits counts:
///
/// | request | response | verdict | next |
/// | --- | --- | --- | --- |
/// | any | error 70 | [`Failed`](Verdict::Failed) | (0, 0) |
/// | any | another error | [`Failed`](Verdict::Failed) | (i, 0) |
/// | full | throttled, no partitions (KIP-219) | [`Throttled`](Verdict::Throttled) | (0, 0) |
/// | full | not exactly the session's partitions, or unknown ids | [`Invalid`](Verdict::Invalid) | (0, 0), see [`LeakedSession`] |
/// | full | session id 0 | [`Sessionless`](Verdict::Sessionless) | (0, 0) |
/// | full | session id s | [`Opened`](Verdict::Opened) | (s, 1) |
/// | incremental | foreign partitions or unknown ids | [`Invalid`](Verdict::Invalid) | (i, 0) |
/// | incremental | session id 0 | [`Closed`](Verdict::Closed) | (0, 0) |
/// | incremental | any other session id | [`Continued`](Verdict::Continued) | (i, the epoch after e) |
///
/// Kafka: `FetchSessionHandler`.
#[derive(Clone, Debug)]
pub struct FetcherSession {
    next: FetchMetadata,
    leaked_session: LeakedSession,
    entries: Entries,
    topics: Topics,
    known_ids: KnownIds,
    /// The session's partitions, as slots of `entries`, in its order.
    order: Vec<u32>,
    /// Whether the slots in `order` ascend, so that the order of two entries is that of their slots.
    order_ascends: bool,
    /// The number of the last wish list or response; entries that it named bear it.
    generation: u32,
    /// Whether a wish list was opened and not built.
    is_open: bool,
    /// While a wish list is open: the slots that it added (all that it names, if the request is full). Afterwards, of an
    /// incremental request: the slots that it sends.
    wished: Vec<u32>,
    /// While a wish list is open: which of the session's entries it changed.
    changes: Changes,
    /// What the last plan forgets, then what it replaces.
    dropped: Vec<Dropped>,
    /// While a plan is made: what it replaces.
    replaced: Vec<Dropped>,
    /// How many of `dropped` are forgotten.
    forgotten: usize,
}

/// A partition that left the session, or that remains under another topic id.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    id: TopicId,
    topic: u32,
    partition: i32,
    /// The next one of the same topic and id.
    next: u32,
    /// Whether none of the same topic and id comes before.
    leads: bool,
}

impl FetcherSession {
    /// A fetcher that has no session: its next request is full and asks for one.
    ///
    /// `hash_seed` seeds the hash tables. No output depends on it; a seed that others cannot guess keeps them from
    /// choosing topic names that collide.
    pub fn new(hash_seed: u64) -> Self {
        let hasher = FixedState::with_seed(hash_seed);
        Self {
            next: FetchMetadata::INITIAL,
            leaked_session: LeakedSession::default(),
            entries: Entries::new(hasher.clone()),
            topics: Topics::new(hasher.clone()),
            known_ids: KnownIds::new(hasher),
            order: Vec::new(),
            order_ascends: true,
            generation: 0,
            is_open: false,
            wished: Vec::new(),
            changes: Changes::default(),
            dropped: Vec::new(),
            replaced: Vec::new(),
            forgotten: 0,
        }
    }

    /// Sets what becomes of a session that the broker opened with a response that does not fit.
    #[must_use]
    pub fn with_leaked_session(mut self, leaked_session: LeakedSession) -> Self {
        self.leaked_session = leaked_session;
        self
    }

    /// The metadata that the next request will carry.
    pub fn next_metadata(&self) -> FetchMetadata {
        self.next
    }

    /// The session's partitions in its order, as the plan built last left them. O(1) a step.
    pub fn partitions(&self) -> PlannedPartitions<'_> {
        PlannedPartitions::new(self, &self.order)
    }

    /// What the request built last asks, or implies, of this partition. O(1).
    pub fn params(&self, topic: &str, partition: i32) -> Option<FetchParams> {
        let slot = self.entries.find(self.topics.find(topic)?, partition)?;
        let is_new = self.entries.get(slot).pending == Pending::NEW;
        (!is_new).then(|| self.held(slot).params())
    }

    /// The name under which the request built last knows the topic `id`: how a response of version 13 or above is read.
    /// Where an id was added under several names the first counts. O(1).
    pub fn topic_name(&self, id: TopicId) -> Option<&TopicName> {
        let topic = self.known_ids.topic(id)?;
        Some(self.topics.name(topic))
    }

    /// All ids that the request built last knows, each once, with their names; none if it cannot use topic ids.
    pub fn topic_names(&self) -> impl Iterator<Item = (TopicId, &TopicName)> {
        let known = self.known_ids.iter();
        known.map(|(id, topic)| (id, self.topics.name(topic)))
    }

    /// The request that was built could not be sent, or its response was lost: the next one is full, under the same
    /// session id, so that the broker closes the session.
    pub fn handle_error(&mut self) {
        self.next = self.next.next_close_existing_attempt_new();
    }

    /// The next request closes the session (KAFKA-7109): build it from an empty wish list.
    ///
    /// Without a session it is a plain full request, which asks for none.
    pub fn notify_close(&mut self) {
        self.next = self.next.next_close_existing();
    }

    /// What the session holds of an entry; a wish list that was dropped unbuilt may have left something else in it.
    fn held(&self, slot: u32) -> &Want {
        let entry = self.entries.get(slot);
        entry.noted(slot, &self.changes).unwrap_or(&entry.want)
    }

    /// The number of a new wish list or response, which no entry bears yet.
    fn next_generation(&mut self) -> u32 {
        if self.generation == u32::MAX {
            self.entries.reset_seen();
            self.known_ids.renumber(1);
            self.generation = 1;
        }
        self.generation += 1;
        self.generation
    }
}
