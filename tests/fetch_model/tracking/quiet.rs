//! What a cache knows of partitions that it does not show: since when a follower is caught up.
//! The cases in which it was lost or told too early, each by itself.

use crate::reading::Reading;
use crate::request::{Key, Request};
use kafka_coordination::fetch::{
    CacheConfig, Change, ChangeTracking, FetchCache, FetchContext, FetchMetadata, FetchParams,
    FetcherKind, Profile,
};
use kafka_coordination::{Monotonic, TopicId};
use rand_pcg::Pcg64Mcg;

/// A follower's session by name with partitions 0 and 1 of a topic, and a clock that counts its
/// requests.
struct Session {
    cache: FetchCache,
    metadata: FetchMetadata,
    now: i64,
}

const fn at(ms: i64) -> Monotonic {
    Monotonic::from_millis(ms)
}

impl Session {
    fn new() -> Self {
        let config = CacheConfig::default().with_change_tracking(ChangeTracking::On);
        let mut session =
            Self { cache: FetchCache::new(config), metadata: FetchMetadata::INITIAL, now: 0 };
        let context = session.begin(&[0, 1]);
        session.visit(&context);
        let session_id = session.finish(context, &[(0, Reading::of(5, 0)), (1, Reading::of(5, 0))]);
        session.metadata = FetchMetadata::new_incremental(session_id);
        session
    }

    fn begin(&mut self, partitions: &[i32]) -> FetchContext {
        self.now += 1;
        let params = FetchParams {
            fetch_offset: 5,
            log_start_offset: 0,
            max_bytes: 100,
            leader_epoch: None,
            last_fetched_epoch: None,
        };
        let key = |&partition: &i32| Key { id: TopicId::ZERO, name: "a".to_owned(), partition };
        let request = Request {
            version: 12,
            metadata: self.metadata,
            fetcher: FetcherKind::Follower,
            profile: Profile::default(),
            principal: 0,
            wanted: partitions.iter().map(|it| (key(it), params)).collect(),
            forgotten: Vec::new(),
            names: crate::universe::NOTHING,
        };
        if !self.metadata.is_full() {
            self.metadata = self.metadata.next_incremental();
        }
        request.begin(&mut self.cache, Monotonic::from_millis(self.now))
    }

    fn visit(&mut self, context: &FetchContext) -> Vec<i32> {
        self.cache.visit(context).map(|it| it.partition).collect()
    }

    fn finish(&mut self, context: FetchContext, readings: &[(i32, Reading)]) -> i32 {
        let mut slots = self.cache.slots(&context);
        let reads = readings.iter().map(|(partition, reading)| {
            reading.at(slots.find(TopicId::ZERO, "a", *partition).unwrap())
        });
        let mut reads: Vec<_> = reads.collect();
        let now = Monotonic::from_millis(self.now);
        self.cache.finish(context, &mut reads, &mut Pcg64Mcg::new(1), now).session_id
    }

    /// A request that visits these partitions and finds them unchanged.
    fn fetch(&mut self, visited: &[i32]) {
        let context = self.begin(&[]);
        assert_eq!(self.visit(&context), visited);
        let readings: Vec<_> = visited.iter().map(|&it| (it, Reading::of(5, 0))).collect();
        self.finish(context, &readings);
    }

    fn mark(&mut self, partition: i32) -> Option<Monotonic> {
        let mut quiet_at = None;
        self.cache.mark(TopicId::ZERO, "a", partition, Change::Appended, |it| {
            quiet_at = it.quiet_at;
        });
        quiet_at
    }

    fn quiet_at(&self, partition: i32) -> Option<Monotonic> {
        self.cache.quiet_at(self.metadata.session_id, TopicId::ZERO, "a", partition)
    }
}

#[test]
fn a_partition_is_quiet_from_the_first_request_on_that_does_not_visit_it() {
    let mut session = Session::new();
    session.fetch(&[0, 1]);
    assert_eq!(session.quiet_at(0), None);
    session.fetch(&[]);
    assert_eq!((session.quiet_at(0), session.quiet_at(1)), (Some(at(3)), Some(at(3))));
    session.fetch(&[]);
    assert_eq!(session.quiet_at(0), Some(at(4)));
    assert_eq!(session.mark(0), Some(at(4)));
    assert_eq!((session.quiet_at(0), session.quiet_at(1)), (None, Some(at(4))));
}

#[test]
fn what_a_request_lists_is_asked_for_before() {
    let mut session = Session::new();
    session.fetch(&[0, 1]);
    session.fetch(&[]);
    assert_eq!(session.quiet_at(1), Some(at(3)));
    let context = session.begin(&[1]);
    assert_eq!((session.quiet_at(0), session.quiet_at(1)), (Some(at(3)), None));
    assert_eq!(session.visit(&context), [1]);
    assert_eq!(session.quiet_at(0), Some(at(4)));
}

#[test]
fn what_a_whole_visit_shows_is_asked_for_during_it() {
    let mut session = Session::new();
    session.fetch(&[0, 1]);
    session.fetch(&[]);
    session.cache.mark_all();
    let context = session.begin(&[]);
    assert_eq!(session.visit(&context), [0, 1]);
    assert_eq!(session.quiet_at(0), Some(at(3)));
    session.finish(context, &[(0, Reading::of(5, 0)), (1, Reading::of(5, 0))]);
    assert_eq!(session.quiet_at(0), None);
}

#[test]
fn a_partition_that_an_answer_leaves_quiet_was_not_so_when_the_request_came() {
    let mut session = Session::new();
    session.fetch(&[0, 1]);
    session.fetch(&[]);
    assert_eq!(session.mark(0), Some(at(3)));
    session.fetch(&[0]);
    assert_eq!((session.quiet_at(0), session.quiet_at(1)), (None, Some(at(4))));
    assert_eq!(session.mark(0), None);
    session.fetch(&[0]);
    session.fetch(&[]);
    assert_eq!(session.quiet_at(0), Some(at(6)));
}

#[test]
fn a_whole_visit_does_not_make_it_quiet_either() {
    let mut session = Session::new();
    session.fetch(&[0, 1]);
    session.fetch(&[]);
    session.mark(0);
    session.fetch(&[0]);
    session.cache.mark_all();
    let context = session.begin(&[]);
    assert_eq!(session.visit(&context), [0, 1]);
    assert_eq!((session.quiet_at(0), session.quiet_at(1)), (None, Some(at(4))));
}
