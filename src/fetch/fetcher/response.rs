//! Responses: whether they fit the request, and what request follows.

use super::FetcherSession;
use super::entries::Pending;
use crate::error_code::ErrorCode;
use crate::fetch::request::{FIRST_VERSION_WITH_TOPIC_IDS, FetchMetadata};
use crate::topic::TopicId;
use core::fmt;

/// A fetch response but for its topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct ResponseHead {
    /// The version of the Fetch API that the response was decoded at.
    pub version: i16,
    /// The top-level error; [`ErrorCode::None`] below version 7.
    pub error: ErrorCode,
    /// The session's id; 0 below version 7.
    pub session_id: i32,
    /// How long the fetcher is to wait before its next request, in milliseconds; 0 for not at all.
    pub throttle_time_ms: i32,
}

/// The partitions that a fetch response names under one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the wire's fields, constructed by hosts")]
pub struct AnsweredTopic<'a, P> {
    /// The topic's id: what counts from version 13 on, ignored below.
    pub id: TopicId,
    /// The topic's name: what counts below version 13, ignored from there on.
    pub name: &'a str,
    /// The indexes of the partitions.
    pub partitions: P,
}

/// What becomes of a session that the broker opened with a full response that does not fit the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeakedSession {
    /// Nothing: the next request is (0, 0), and the session remains in the broker's cache until it is evicted. What
    /// Kafka does.
    #[default]
    Leave,
    /// The next request bears the id that the response carried, so that the broker closes the session.
    ///
    /// Deviation: Kafka leaves it.
    Close,
}

/// How a response differs from what the request allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Mismatch {
    /// Partitions of the session that a full response leaves out.
    pub missing_partitions: usize,
    /// Partitions of the response that are not in the session, repetitions included.
    pub extra_partitions: usize,
    /// Topics of the response whose id the request does not know, repetitions included.
    pub extra_topic_ids: usize,
}

impl Mismatch {
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} partitions missing, {} partitions and {} topic ids not asked for",
            self.missing_partitions, self.extra_partitions, self.extra_topic_ids
        )
    }
}

/// What a response means for the session. [`FetcherSession::next_metadata`] is set accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "the partitions of a response may be processed only if the verdict says so"]
pub enum Verdict {
    /// A full response; the broker opened a session.
    Opened,
    /// A full response; the broker opened no session.
    Sessionless,
    /// An incremental response; the session goes on.
    Continued,
    /// An incremental response; the broker closed the session.
    Closed,
    /// A full response without partitions, because the broker throttles the fetcher (KIP-219). Not processable.
    Throttled,
    /// A top-level error. Not processable. Errors 70, 71 and 106 are the normal course of things: the next request is
    /// full.
    Failed(ErrorCode),
    /// The response does not fit the request. Not processable.
    Invalid(Mismatch),
}

impl Verdict {
    /// Whether the partitions of the response may be processed.
    pub const fn is_processable(self) -> bool {
        matches!(self, Self::Opened | Self::Sessionless | Self::Continued | Self::Closed)
    }
}

impl FetcherSession {
    /// Handles the response to the request built last: says whether its partitions may be processed, and sets the
    /// metadata of the next request. [`FetcherSession`] has the table.
    ///
    /// `topics` is what the response lists, in any order; topics and partitions may be repeated. It is not read if there
    /// is an error. O(partitions in the response).
    pub fn handle_response<'t, P: IntoIterator<Item = i32>>(
        &mut self,
        head: ResponseHead,
        topics: impl IntoIterator<Item = AnsweredTopic<'t, P>>,
    ) -> Verdict {
        self.abandon_open_wish();
        let (verdict, next) = if head.error == ErrorCode::None {
            let contents = self.read(head.version, topics);
            if self.next.is_full() {
                self.judge_full(head, contents)
            } else {
                self.judge_incremental(head, contents)
            }
        } else if head.error == ErrorCode::FetchSessionIdNotFound {
            (Verdict::Failed(head.error), FetchMetadata::INITIAL)
        } else {
            let next = self.next.next_close_existing_attempt_new();
            (Verdict::Failed(head.error), next)
        };
        if !verdict.is_processable() {
            tracing::debug!(
                session_id = self.next.session_id,
                epoch = self.next.epoch,
                ?verdict,
                "fetch response is not processed"
            );
        }
        self.next = next;
        verdict
    }

    fn judge_full(&self, head: ResponseHead, contents: Contents) -> (Verdict, FetchMetadata) {
        if contents.partitions == 0 && head.throttle_time_ms > 0 {
            return (Verdict::Throttled, FetchMetadata::INITIAL);
        }
        let mismatch =
            Mismatch { missing_partitions: self.order.len() - contents.known, ..contents.extra };
        if !mismatch.is_none() {
            let next = match self.leaked_session {
                LeakedSession::Leave => FetchMetadata::INITIAL,
                LeakedSession::Close => FetchMetadata {
                    session_id: head.session_id,
                    epoch: FetchMetadata::INITIAL_EPOCH,
                },
            };
            return (Verdict::Invalid(mismatch), next);
        }
        if head.session_id == FetchMetadata::INVALID_SESSION_ID {
            return (Verdict::Sessionless, FetchMetadata::INITIAL);
        }
        let next = FetchMetadata::new_incremental(head.session_id);
        (Verdict::Opened, next)
    }

    fn judge_incremental(
        &self,
        head: ResponseHead,
        contents: Contents,
    ) -> (Verdict, FetchMetadata) {
        if !contents.extra.is_none() {
            let next = self.next.next_close_existing_attempt_new();
            return (Verdict::Invalid(contents.extra), next);
        }
        if head.session_id == FetchMetadata::INVALID_SESSION_ID {
            return (Verdict::Closed, FetchMetadata::INITIAL);
        }
        (Verdict::Continued, self.next.next_incremental())
    }

    /// Looks up what a response lists.
    fn read<'t, P: IntoIterator<Item = i32>>(
        &mut self,
        version: i16,
        topics: impl IntoIterator<Item = AnsweredTopic<'t, P>>,
    ) -> Contents {
        let generation = self.next_generation();
        let mut contents = Contents::default();
        for AnsweredTopic { id, name, partitions } in topics {
            let topic = if version < FIRST_VERSION_WITH_TOPIC_IDS {
                self.topics.find(name)
            } else {
                let topic = self.known_ids.topic(id);
                if topic.is_none() {
                    // The zero id is passed over, also with partitions under it.
                    contents.extra.extra_topic_ids += usize::from(!id.is_zero());
                    continue;
                }
                topic
            };
            for partition in partitions {
                contents.partitions += 1;
                let slot = topic.and_then(|topic| self.entries.find(topic, partition));
                let Some(slot) = slot else {
                    contents.extra.extra_partitions += 1;
                    continue;
                };
                let entry = self.entries.get_mut(slot);
                contents.known += usize::from(entry.seen != generation);
                entry.seen = generation;
                debug_assert!(entry.pending != Pending::NEW, "no wish list is open");
            }
        }
        contents
    }
}

/// What a response lists.
#[derive(Clone, Copy, Debug, Default)]
struct Contents {
    /// Partitions whose topic has a name, repetitions included.
    partitions: usize,
    /// Partitions of the session, each once.
    known: usize,
    extra: Mismatch,
}
