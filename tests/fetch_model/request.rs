//! A fetch request that owns what it lists.

use crate::universe::{NameMap, look_up};
use kafka_coordination::fetch::{
    FetchCache, FetchContext, FetchMetadata, FetchParams, FetchRequest, FetcherKind,
    ForgottenTopic, PartitionRequest, Profile, RequestTopic,
};
use kafka_coordination::metadata::TopicNames;
use kafka_coordination::{Monotonic, TopicId};

/// A partition as requests name it: by id or by name, whichever the version uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) id: TopicId,
    pub(crate) name: String,
    pub(crate) partition: i32,
}

impl Key {
    /// Whether both name one partition of a session by id, or by name.
    pub(crate) fn is_same(&self, other: &Self, uses_topic_ids: bool) -> bool {
        let is_same_topic =
            if uses_topic_ids { self.id == other.id } else { self.name == other.name };
        is_same_topic && self.partition == other.partition
    }
}

/// A fetch request, and what the metadata knew of topic ids when it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) version: i16,
    pub(crate) metadata: FetchMetadata,
    pub(crate) fetcher: FetcherKind,
    pub(crate) profile: Profile,
    pub(crate) principal: u64,
    pub(crate) wanted: Vec<(Key, FetchParams)>,
    pub(crate) forgotten: Vec<Key>,
    pub(crate) names: NameMap,
}

impl Request {
    pub(crate) const fn uses_topic_ids(&self) -> bool {
        self.version >= 13
    }

    /// Gives it to a cache. Adjacent partitions of a topic share an element, as on the wire.
    pub(crate) fn begin(&self, cache: &mut FetchCache, now: Monotonic) -> FetchContext {
        self.begin_with(cache, &|id| look_up(self.names, id), now)
    }

    /// The same, with names from elsewhere.
    pub(crate) fn begin_with(
        &self,
        cache: &mut FetchCache,
        names: &impl TopicNames,
        now: Monotonic,
    ) -> FetchContext {
        let partition = |(key, params): &(Key, FetchParams)| PartitionRequest {
            partition: key.partition,
            params: *params,
        };
        let is_same_topic =
            |left: &Key, right: &Key| left.id == right.id && left.name == right.name;
        let runs = || self.wanted.chunk_by(|left, right| is_same_topic(&left.0, &right.0));
        let lists: Vec<Vec<_>> = runs().map(|run| run.iter().map(partition).collect()).collect();
        let topics: Vec<_> = runs()
            .zip(&lists)
            .map(|(run, partitions)| RequestTopic {
                id: run[0].0.id,
                name: &run[0].0.name,
                partitions,
            })
            .collect();
        let runs = || self.forgotten.chunk_by(|left, right| is_same_topic(left, right));
        let lists: Vec<Vec<_>> =
            runs().map(|run| run.iter().map(|key| key.partition).collect()).collect();
        let forgotten: Vec<_> = runs()
            .zip(&lists)
            .map(|(run, partitions)| ForgottenTopic {
                id: run[0].id,
                name: &run[0].name,
                partitions,
            })
            .collect();
        let request = FetchRequest {
            version: self.version,
            metadata: self.metadata,
            fetcher: self.fetcher,
            profile: self.profile,
            principal: self.principal,
            topics: &topics,
            forgotten: &forgotten,
        };
        cache.begin(&request, names, now)
    }
}
