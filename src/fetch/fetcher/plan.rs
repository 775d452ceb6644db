//! The plan of a request: what it says of which partition, and how that is laid out on the wire.

use super::{Dropped, FetcherSession};
use crate::fetch::request::{
    FIRST_VERSION_WITH_TOPIC_IDS, FetchMetadata, FetchParams, PartitionRequest,
};
use crate::topic::{TopicId, TopicName};
use core::slice;

/// A partition of the session, with what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_structs,
    reason = "what a session knows of a partition; hosts construct it to restore one"
)]
pub struct SessionPartition<'a> {
    /// The topic's id; [`TopicId::ZERO`] if the fetcher does not know it.
    pub id: TopicId,
    /// The topic's name.
    pub topic: &'a TopicName,
    /// The partition's index.
    pub partition: i32,
    /// What is asked of it.
    pub params: FetchParams,
}

/// A partition that the broker is to drop from the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForgottenPartition<'a> {
    /// The id under which the broker knows the topic.
    pub id: TopicId,
    /// The topic's name.
    pub topic: &'a TopicName,
    /// The partition's index.
    pub partition: i32,
}

/// Partitions of one topic, as a request lists them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedTopic<'a, P> {
    /// The topic's id: what the wire carries from version 13 on.
    pub id: TopicId,
    /// The topic's name: what the wire carries below version 13.
    pub name: &'a TopicName,
    /// The partitions, in the order of the wire.
    pub partitions: P,
}

/// What the next request says; borrowed from the session that it was built from.
///
/// The session already holds what the plan says. If no such request is sent, call [`FetcherSession::handle_error`].
#[derive(Clone, Copy, Debug)]
#[must_use = "the session counts on the request to be sent, or on `handle_error`"]
pub struct FetchPlan<'a> {
    session: &'a FetcherSession,
    can_use_topic_ids: bool,
}

impl<'a> FetchPlan<'a> {
    pub(super) fn new(session: &'a FetcherSession, can_use_topic_ids: bool) -> Self {
        Self { session, can_use_topic_ids }
    }

    /// The session id and epoch of the request.
    pub fn metadata(&self) -> FetchMetadata {
        self.session.next
    }

    /// Whether every partition that the request names has a topic id. If not, only versions below 13 can carry it.
    pub fn can_use_topic_ids(&self) -> bool {
        self.can_use_topic_ids
    }

    /// The version to send the request at, if the broker and the fetcher share all versions up to `latest`.
    pub fn version(&self, latest: i16) -> i16 {
        if self.can_use_topic_ids { latest } else { latest.min(FIRST_VERSION_WITH_TOPIC_IDS - 1) }
    }

    /// Whether neither the session nor the forgotten list holds anything. A follower sends no such request.
    pub fn is_empty(&self) -> bool {
        self.session.order.is_empty() && self.session.forgotten == 0
    }

    /// The partitions that the request carries: all of them if it is full; else those that were added, in the order of
    /// the wish list, then those that were altered or replaced, in the order of the session.
    pub fn to_send(&self) -> PlannedPartitions<'a> {
        PlannedPartitions::new(self.session, self.slots_to_send())
    }

    /// The partitions that left the wish list, in the order of the session, with the ids that they had.
    pub fn to_forget(&self) -> ForgottenPartitions<'a> {
        let (forgotten, _) = self.dropped();
        self.forgotten_partitions(forgotten)
    }

    /// The partitions whose topic id changed from one to another, in the order of the session, with their *old* ids.
    /// They join the list of forgotten ones from version 13 on.
    pub fn to_replace(&self) -> ForgottenPartitions<'a> {
        let (_, replaced) = self.dropped();
        self.forgotten_partitions(replaced)
    }

    /// All partitions of the session, sent or implied, in its order.
    pub fn partitions(&self) -> PlannedPartitions<'a> {
        self.session.partitions()
    }

    /// All topic ids that the request knows, each once, with their names; none if it cannot use topic ids.
    pub fn topic_names(&self) -> impl Iterator<Item = (TopicId, &'a TopicName)> {
        self.session.topic_names()
    }

    /// The topics of the request at `version`, in the order of the wire: neighbours in [`to_send`](Self::to_send) with the
    /// same name (and, from version 13 on, the same id) share an element.
    pub fn topics(
        &self,
        version: i16,
    ) -> impl Iterator<
        Item = PlannedTopic<'a, impl ExactSizeIterator<Item = PartitionRequest> + use<'a>>,
    > + use<'a> {
        let session = self.session;
        let entries = &session.entries;
        let by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS;
        let groups = self.slots_to_send().chunk_by(move |one, other| {
            let (one, other) = (entries.get(*one), entries.get(*other));
            one.topic == other.topic && (!by_id || one.want.id == other.want.id)
        });
        groups.filter_map(move |slots| {
            let first = entries.get(*slots.first()?);
            Some(PlannedTopic {
                id: first.want.id,
                name: session.topics.name(first.topic),
                partitions: slots.iter().map(|slot| entries.get(*slot).want.request()),
            })
        })
    }

    /// The topics that the request forgets at `version`, in the order of their first partitions: what was removed and, from
    /// version 13 on, what was replaced. Partitions of one name and id share an element, unless one of that name and
    /// another id lies between them.
    ///
    /// Below version 13 what was replaced must not be listed: the broker would drop the partition that it was just sent.
    ///
    /// Deviation: Kafka puts all partitions of a name under the first one's id, also those that had another id.
    pub fn forgotten(
        &self,
        version: i16,
    ) -> impl Iterator<Item = PlannedTopic<'a, impl Iterator<Item = i32> + use<'a>>> + use<'a> {
        let session = self.session;
        let listed = if version >= FIRST_VERSION_WITH_TOPIC_IDS {
            &session.dropped[..]
        } else {
            self.dropped().0
        };
        let leaders = listed.iter().filter(|dropped| dropped.leads);
        leaders.map(move |leader| PlannedTopic {
            id: leader.id,
            name: session.topics.name(leader.topic),
            partitions: core::iter::successors(Some(leader), |dropped| {
                listed.get(dropped.next as usize)
            })
            .map(|dropped| dropped.partition),
        })
    }

    fn slots_to_send(&self) -> &'a [u32] {
        if self.session.next.is_full() { &self.session.order } else { &self.session.wished }
    }

    /// What is forgotten, and what is replaced.
    fn dropped(&self) -> (&'a [Dropped], &'a [Dropped]) {
        let dropped = &self.session.dropped;
        dropped.split_at_checked(self.session.forgotten).unwrap_or_default()
    }

    fn forgotten_partitions(&self, dropped: &'a [Dropped]) -> ForgottenPartitions<'a> {
        ForgottenPartitions { session: self.session, dropped: dropped.iter() }
    }
}

/// Partitions of a session.
#[derive(Clone, Debug)]
pub struct PlannedPartitions<'a> {
    session: &'a FetcherSession,
    slots: slice::Iter<'a, u32>,
}

impl<'a> PlannedPartitions<'a> {
    pub(super) fn new(session: &'a FetcherSession, slots: &'a [u32]) -> Self {
        let slots = slots.iter();
        Self { session, slots }
    }
}

impl<'a> Iterator for PlannedPartitions<'a> {
    type Item = SessionPartition<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let slot = *self.slots.next()?;
        let held = self.session.held(slot);
        Some(SessionPartition {
            id: held.id,
            topic: self.session.topics.name(self.session.entries.get(slot).topic),
            partition: held.partition,
            params: held.params(),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.slots.size_hint()
    }
}

impl ExactSizeIterator for PlannedPartitions<'_> {}

/// Partitions that are to leave the broker's session.
#[derive(Clone, Debug)]
pub struct ForgottenPartitions<'a> {
    session: &'a FetcherSession,
    dropped: slice::Iter<'a, Dropped>,
}

impl<'a> Iterator for ForgottenPartitions<'a> {
    type Item = ForgottenPartition<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let dropped = self.dropped.next()?;
        Some(ForgottenPartition {
            id: dropped.id,
            topic: self.session.topics.name(dropped.topic),
            partition: dropped.partition,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.dropped.size_hint()
    }
}

impl ExactSizeIterator for ForgottenPartitions<'_> {}
