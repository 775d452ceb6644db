//! A broker that answers each request at once.

use super::truth::Truth;
use crate::driver::visit;
use crate::reading::Reading;
use crate::request::{Key, Request};
use kafka_coordination::Monotonic;
use kafka_coordination::fetch::{
    CacheConfig, ContextKind, FetchCache, FetchMetadata, FetcherKind, Profile, ResponseHead,
    SessionState,
};
use rand_pcg::Pcg64Mcg;

/// A response as it travels.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) head: ResponseHead,
    pub(crate) partitions: Vec<(Key, Reading)>,
}

/// A session cache, and what its host needs besides.
pub(crate) struct Broker {
    cache: FetchCache,
    slots: u32,
    random: Pcg64Mcg,
    now: i64,
}

impl Broker {
    pub(crate) fn new(slots: u32) -> Self {
        let config = CacheConfig::default()
            .with_shards(1)
            .and_then(|it| it.with_slots(slots))
            .and_then(|it| it.with_eviction_ms(100));
        Self { cache: FetchCache::new(config.unwrap()), slots, random: Pcg64Mcg::new(3), now: 0 }
    }

    pub(crate) fn pass(&mut self, ms: i64) {
        self.now += ms;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.cache.stats().sessions == u64::from(self.slots)
    }

    pub(crate) fn session(&self, id: i32) -> Option<SessionState> {
        self.cache.export().sessions.into_iter().find(|session| session.id == id)
    }

    /// Answers a request, and says how it was classified.
    pub(crate) fn answer(
        &mut self,
        truth: &Truth,
        request: &Request,
        throttle_time_ms: i32,
    ) -> (ContextKind, Response) {
        let now = Monotonic::from_millis(self.now);
        let names = |id| truth.name_of(id);
        let context = request.begin_with(&mut self.cache, &names, now);
        let kind = context.kind();
        let visited = visit(&mut self.cache, &context);
        let mut slots = self.cache.slots(&context);
        let (partitions, mut reads): (Vec<_>, Vec<_>) = visited
            .into_iter()
            .map(|it| {
                let name = it.is_named.then_some(it.key.name.as_str());
                let reading = truth.read(it.key.id, name, it.key.partition);
                let slot = slots.find(it.key.id, &it.key.name, it.key.partition).unwrap();
                ((it.key, reading), reading.at(slot))
            })
            .unzip();
        let answer = if throttle_time_ms > 0 {
            self.cache.throttle(context, throttle_time_ms)
        } else {
            self.cache.finish(context, &mut reads, &mut self.random, now)
        };
        let included = partitions.into_iter().zip(&reads);
        let response = Response {
            head: ResponseHead {
                version: request.version,
                error: answer.error,
                session_id: answer.session_id,
                throttle_time_ms,
            },
            partitions: included
                .filter(|(_, read)| read.is_included())
                .map(|(partition, _)| partition)
                .collect(),
        };
        (kind, response)
    }

    /// A follower asks for a session of its own, which may cost another its place.
    pub(crate) fn crowd(&mut self, truth: &Truth) {
        let request = Request {
            version: 12,
            metadata: FetchMetadata::INITIAL,
            fetcher: FetcherKind::Follower,
            profile: Profile::default(),
            principal: 0,
            wanted: Vec::new(),
            forgotten: Vec::new(),
            names: crate::universe::NOTHING,
        };
        self.answer(truth, &request, 0);
    }
}
