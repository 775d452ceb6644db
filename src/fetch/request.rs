//! A fetch request as the host decoded it, and the algebra of session epochs.

use crate::topic::TopicId;

/// The first version of the Fetch API that names topics by id instead of by name.
pub(super) const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 13;

/// What a fetch request says of its session.
///
/// Versions below 7 carry no session fields: they are [`FetchMetadata::LEGACY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "two wire fields, constructed by hosts")]
pub struct FetchMetadata {
    /// The session's id; 0 for none.
    pub session_id: i32,
    /// The session's epoch: 0 asks for a new session, -1 ends one, 1 and above continue one.
    pub epoch: i32,
}

impl FetchMetadata {
    /// "No session" as an id.
    pub const INVALID_SESSION_ID: i32 = 0;
    /// The epoch of a full request that asks for a session.
    pub const INITIAL_EPOCH: i32 = 0;
    /// The epoch of a full request that closes its session.
    pub const FINAL_EPOCH: i32 = -1;
    /// A full request that asks for a new session.
    pub const INITIAL: Self = Self { session_id: 0, epoch: Self::INITIAL_EPOCH };
    /// A full request that neither has nor wants a session.
    pub const LEGACY: Self = Self { session_id: 0, epoch: Self::FINAL_EPOCH };

    /// Whether the request's partitions are the whole wish list: the epoch is 0 or -1, whatever
    /// the id.
    pub const fn is_full(self) -> bool {
        self.epoch == Self::INITIAL_EPOCH || self.epoch == Self::FINAL_EPOCH
    }

    /// The epoch that follows `epoch`: -1 after every negative one, 1 after 2147483647 (never 0).
    pub const fn next_epoch(epoch: i32) -> i32 {
        if epoch < 0 {
            Self::FINAL_EPOCH
        } else if epoch == i32::MAX {
            1
        } else {
            epoch + 1
        }
    }

    /// The first incremental request of a session.
    pub const fn new_incremental(session_id: i32) -> Self {
        Self { session_id, epoch: 1 }
    }

    /// The incremental request after this one.
    #[must_use]
    pub const fn next_incremental(self) -> Self {
        Self { session_id: self.session_id, epoch: Self::next_epoch(self.epoch) }
    }

    /// The request that closes this session.
    #[must_use]
    pub const fn next_close_existing(self) -> Self {
        Self { session_id: self.session_id, epoch: Self::FINAL_EPOCH }
    }

    /// The request that closes this session and asks for a new one.
    #[must_use]
    pub const fn next_close_existing_attempt_new(self) -> Self {
        Self { session_id: self.session_id, epoch: Self::INITIAL_EPOCH }
    }
}

/// Who fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "Kafka has these two")]
pub enum FetcherKind {
    /// A consumer: its replica id is negative.
    Consumer,
    /// A follower broker: its replica id is 0 or above. Its sessions are privileged.
    Follower,
}

/// What a fetcher asks of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct FetchParams {
    /// The offset to read from.
    pub fetch_offset: i64,
    /// The fetcher's own log start offset; -1 from consumers and below version 5.
    pub log_start_offset: i64,
    /// The most bytes to return for this partition.
    pub max_bytes: i32,
    /// The leader epoch that the fetcher knows; a negative one counts as absent.
    pub leader_epoch: Option<i32>,
    /// The epoch of the last record that the fetcher has; a negative one counts as absent.
    pub last_fetched_epoch: Option<i32>,
}

/// One partition of a fetch request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct PartitionRequest {
    /// The partition's index.
    pub partition: i32,
    /// What is asked of it.
    pub params: FetchParams,
}

/// The partitions that a request names under one topic.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct RequestTopic<'a> {
    /// The topic's id: what counts from version 13 on, ignored below.
    pub id: TopicId,
    /// The topic's name: what counts below version 13, ignored from there on.
    pub name: &'a str,
    /// The partitions, in the order of the wire.
    pub partitions: &'a [PartitionRequest],
}

/// The partitions that a request removes from its session, under one topic.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct ForgottenTopic<'a> {
    /// The topic's id: what counts from version 13 on, ignored below.
    pub id: TopicId,
    /// The topic's name: what counts below version 13, ignored from there on.
    pub name: &'a str,
    /// The partitions, in the order of the wire.
    pub partitions: &'a [i32],
}

/// What, beside the partition's own parameters, a read may depend on.
///
/// A session whose profile differs from that of its previous request is visited whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts")]
pub struct Profile {
    /// Whether the fetcher reads committed records only.
    pub read_committed: bool,
    /// A number that the host derives from all else that its reads depend on: replica id and
    /// epoch, rack and client metadata, listener, principal, the version of its access rules.
    pub host: u64,
}

/// A fetch request, borrowed from whatever the host decoded it into.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "constructed by hosts")]
pub struct FetchRequest<'a> {
    /// The version of the Fetch API. From 13 on topics are named by id.
    pub version: i16,
    /// Session id and epoch.
    pub metadata: FetchMetadata,
    /// Who fetches.
    pub fetcher: FetcherKind,
    /// What reads depend on beside the partitions.
    pub profile: Profile,
    /// A number for the principal, against which the limit of sessions a principal counts.
    pub principal: u64,
    /// The partitions wanted, added or altered, in the order of the wire.
    pub topics: &'a [RequestTopic<'a>],
    /// The partitions to remove from the session, in the order of the wire.
    pub forgotten: &'a [ForgottenTopic<'a>],
}

impl FetchRequest<'_> {
    /// Whether this version names topics by id.
    pub const fn uses_topic_ids(&self) -> bool {
        self.version >= FIRST_VERSION_WITH_TOPIC_IDS
    }
}
