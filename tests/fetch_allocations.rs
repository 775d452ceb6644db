//! What the session cache allocates: nothing in a steady state, and never more the longer it runs.
//!
//! Counts, not times: they are the same on every machine.

#![allow(clippy::expect_used, reason = "what a test does not expect fails it")]

use core::num::NonZeroU32;
use kafka_coordination::fetch::{
    CacheConfig, Change, ChangeTracking, FetchAnswer, FetchCache, FetchMetadata, FetchParams,
    FetchPartition, FetchRequest, FetcherKind, PartitionRead, PartitionRequest, Profile,
    RequestTopic,
};
use kafka_coordination::{ErrorCode, Monotonic, Random, TopicId, TopicName};

const MODES: [ChangeTracking; 2] = [ChangeTracking::Off, ChangeTracking::On];

/// So many rounds are counted, after as many as lead to a steady state.
const COUNTED: i32 = 20;

/// Session ids in ascending order.
#[derive(Default)]
struct Ascending(u32);

impl Random for Ascending {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        self.0 = (self.0 + 1) % bound;
        self.0
    }
}

const fn partition(partition: i32, fetch_offset: i64) -> PartitionRequest {
    let params = FetchParams {
        fetch_offset,
        log_start_offset: -1,
        max_bytes: 1 << 20,
        leader_epoch: Some(1),
        last_fetched_epoch: None,
    };
    PartitionRequest { partition, params }
}

fn request<'a>(session_id: i32, epoch: i32, topics: &'a [RequestTopic<'a>]) -> FetchRequest<'a> {
    FetchRequest {
        version: 18,
        metadata: FetchMetadata { session_id, epoch },
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        topics,
        forgotten: &[],
    }
}

fn ten_partitions() -> [PartitionRequest; 10] {
    core::array::from_fn(|index| partition(i32::try_from(index).expect("below ten"), 100))
}

fn topic(number: usize, partitions: &[PartitionRequest]) -> RequestTopic<'_> {
    RequestTopic { id: TopicId::from_u128(number as u128 + 1), name: "", partitions }
}

/// A cache and its host, which reuses what it needs for a fetch.
struct Host {
    cache: FetchCache,
    random: Ascending,
    name: TopicName,
    now: Monotonic,
    reads: Vec<PartitionRead>,
}

impl Host {
    fn new(config: CacheConfig) -> Self {
        Self {
            cache: FetchCache::new(config),
            random: Ascending::default(),
            name: TopicName::from("a-topic"),
            now: Monotonic::from_millis(0),
            reads: Vec::new(),
        }
    }

    fn tracking(tracking: ChangeTracking) -> Self {
        Self::new(CacheConfig::default().with_change_tracking(tracking))
    }

    fn serve(
        &mut self,
        request: &FetchRequest<'_>,
        row: impl Fn(&FetchPartition<'_>) -> PartitionRead,
    ) -> FetchAnswer {
        let name = &self.name;
        let context = self.cache.begin(request, &|_| Some(name.clone()), self.now);
        self.reads.clear();
        let visited = self.cache.visit(&context);
        self.reads.extend(visited.map(|it| row(&it)));
        let size = self.cache.response_size(&context, &self.reads);
        assert!(size >= 16);
        self.cache.finish(context, &mut self.reads, &mut self.random, self.now)
    }

    fn quiet(&mut self, request: &FetchRequest<'_>) -> FetchAnswer {
        self.serve(request, |it| PartitionRead::new(it.slot, 100, 0))
    }

    /// A session of that many partitions, ten a topic.
    fn open(&mut self, partitions: usize) -> i32 {
        let ten = ten_partitions();
        let topics: Vec<_> = (0..partitions / 10).map(|number| topic(number, &ten)).collect();
        let answer = self.quiet(&request(0, 0, &topics));
        assert_ne!(answer.session_id, 0);
        answer.session_id
    }
}

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// Bytes that are still allocated after the work and were not before.
fn growth(work: impl FnOnce()) -> i64 {
    allocation_counter::measure(work).bytes_current
}

/// The allocations of rounds after so many others.
fn allocations_after(warm_up: i32, mut round: impl FnMut(i32)) -> u64 {
    (1..=warm_up).for_each(&mut round);
    allocations(|| (warm_up + 1..=warm_up + COUNTED).for_each(&mut round))
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(vec![1_u8; 100])), 1);
    let mut kept: Vec<u8> = Vec::new();
    assert_eq!(growth(|| kept.reserve_exact(100)), 100);
    assert!(kept.is_empty());
}

#[test]
fn an_idle_fetch_allocates_nothing() {
    for tracking in MODES {
        for partitions in [10, 10_000] {
            let mut host = Host::tracking(tracking);
            let id = host.open(partitions);
            let count = allocations_after(5, |epoch| {
                let answer = host.quiet(&request(id, epoch, &[]));
                assert_eq!(answer.error, ErrorCode::None);
                assert!(!host.reads.iter().any(PartitionRead::is_included) || epoch == 1);
            });
            assert_eq!(count, 0, "{tracking:?}, {partitions}");
        }
    }
}

#[test]
fn a_fetch_of_which_a_hundredth_changed_allocates_nothing() {
    for tracking in MODES {
        let mut host = Host::tracking(tracking);
        let id = host.open(10_000);
        // One partition each of every tenth topic, two that take turns.
        let (one, other) = ([partition(3, 200)], [partition(4, 200)]);
        let tenth = (0..1000).step_by(10);
        let ones: Vec<_> = tenth.clone().map(|number| topic(number, &one)).collect();
        let others: Vec<_> = tenth.map(|number| topic(number, &other)).collect();
        // Those that are served leave holes in the order, which are closed every hundred rounds.
        let count = allocations_after(150, |epoch| {
            let (turn, topics) = if epoch % 2 == 0 { (3, &ones) } else { (4, &others) };
            for topic in topics {
                host.cache.mark(topic.id, "a-topic", turn, Change::HighWatermark, |_| {});
            }
            let answer = host.serve(&request(id, epoch, topics), |it| {
                let is_served = it.params.fetch_offset == 200 && it.partition == turn;
                let records = if is_served { 1000 } else { 0 };
                PartitionRead::new(it.slot, 100, 0).with_records(records)
            });
            assert_eq!(answer.error, ErrorCode::None);
            let included = host.reads.iter().filter(|read| read.is_included());
            assert_eq!(included.count(), 100);
        });
        assert_eq!(count, 0, "{tracking:?}");
    }
}

#[test]
fn a_fetch_of_which_everything_changed_allocates_nothing() {
    for tracking in MODES {
        let mut host = Host::tracking(tracking);
        let id = host.open(1000);
        let count = allocations_after(5, |epoch| {
            let answer = host.serve(&request(id, epoch, &[]), |it| {
                PartitionRead::new(it.slot, i64::from(epoch), 0).with_records(7)
            });
            assert_eq!(answer.error, ErrorCode::None);
            assert!(host.reads.iter().all(PartitionRead::is_included));
        });
        assert_eq!(count, 0, "{tracking:?}");
    }
}

#[test]
fn a_session_in_place_of_the_one_that_its_request_closes_allocates_nothing() {
    let ten = ten_partitions();
    let topics: Vec<_> = (0..10).map(|number| topic(number, &ten)).collect();
    let mut host = Host::tracking(ChangeTracking::Off);
    let mut id = 0;
    let count = allocations_after(20, |_| {
        let answer = host.quiet(&request(id, 0, &topics));
        assert!(![0, id].contains(&answer.session_id));
        id = answer.session_id;
    });
    assert_eq!(count, 0);
    assert_eq!((host.cache.stats().sessions, host.cache.stats().partitions), (1, 100));
}

#[test]
fn a_small_session_does_not_keep_the_memory_of_the_big_one_in_whose_place_it_came() {
    let ten = ten_partitions();
    let mut host = Host::tracking(ChangeTracking::Off);
    let grown = growth(|| {
        let big = host.open(10_000);
        host.quiet(&request(big, 0, &[topic(0, &ten)]));
        host.reads = Vec::new();
    });
    assert_eq!((host.cache.stats().sessions, host.cache.stats().partitions), (1, 10));
    assert!(grown < 10_000, "{grown}");
}

#[test]
fn a_mark_allocates_nothing() {
    let mut host = Host::tracking(ChangeTracking::On);
    let ids: Vec<i32> = (0..20).map(|_| host.open(1000)).collect();
    let count = allocations_after(5, |epoch| {
        let mut marked = 0;
        for number in 0..100_u128 {
            let id = TopicId::from_u128(number + 1);
            host.cache.mark(id, "a-topic", 3, Change::HighWatermark, |_| marked += 1);
        }
        assert_eq!(marked, 100 * ids.len());
        host.cache.mark(TopicId::ZERO, "another", 0, Change::HighWatermark, |_| marked += 1);
        assert_eq!(marked, 100 * ids.len());
        for &id in &ids {
            host.quiet(&request(id, epoch, &[]));
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn a_fetch_among_ten_thousand_sessions_allocates_nothing() {
    let config = CacheConfig::default().with_slots(10_000).expect("in range");
    let mut host = Host::new(config.with_change_tracking(ChangeTracking::On));
    let ids: Vec<i32> = (0..10_000).map(|_| host.open(10)).collect();
    let mut round = |epoch: i32, now: i64| {
        host.now = Monotonic::from_millis(now);
        for &id in &ids {
            let answer = host.quiet(&request(id, epoch, &[]));
            assert_eq!(answer.error, ErrorCode::None);
        }
    };
    round(1, 10);
    round(2, 20);
    assert_eq!(allocations(|| round(3, 30)), 0);
    // They pass the age at which they may be displaced, once.
    round(4, 120_011);
    assert_eq!(allocations(|| round(5, 120_012)), 0);
}

#[test]
fn a_refused_or_throttled_fetch_allocates_nothing() {
    let mut host = Host::tracking(ChangeTracking::On);
    let id = host.open(1000);
    let names = |_: TopicId| None;
    let count = allocations_after(5, |epoch| {
        for (refused, version) in [
            (request(id + 1, 1, &[]), 18),
            (request(id, -7, &[]), 18),
            (request(id, epoch, &[]), 12),
        ] {
            let refused = FetchRequest { version, ..refused };
            let context = host.cache.begin(&refused, &names, host.now);
            let answer = host.cache.finish(context, &mut [], &mut host.random, host.now);
            assert_ne!(answer.error, ErrorCode::None);
        }
        let context = host.cache.begin(&request(id, epoch, &[]), &names, host.now);
        let answer = host.cache.throttle(context, 10);
        assert_eq!(answer.error, ErrorCode::None);
    });
    assert_eq!(count, 0);
}

#[test]
fn an_idle_fetch_visits_nothing_however_big_its_session_is() {
    for partitions in [10, 1000, 100_000] {
        let mut host = Host::tracking(ChangeTracking::On);
        let id = host.open(partitions);
        host.quiet(&request(id, 1, &[]));
        assert_eq!(host.reads.len(), partitions, "all of it once");
        host.quiet(&request(id, 2, &[]));
        assert_eq!(host.reads.len(), 0, "{partitions}");
    }
}

/// Opens a session by name of two topics that no other session has, and leaves a fetch of it
/// unanswered.
fn throw_away(host: &mut Host, number: u32) {
    let names = [format!("topic-{number}"), format!("other-{number}")];
    let ten = ten_partitions();
    let topics =
        names.each_ref().map(|name| RequestTopic { id: TopicId::ZERO, name, partitions: &ten });
    let version = 12;
    let principal = u64::from(number);
    host.now = Monotonic::from_millis(i64::from(number) * 10);
    let full = FetchRequest { version, principal, ..request(0, 0, &topics[..1]) };
    let id = host.quiet(&full).session_id;
    if id != 0 {
        let grown = FetchRequest { version, ..request(id, 1, &topics[1..]) };
        let unanswered = host.cache.begin(&grown, &|_| None, host.now);
        drop(unanswered);
    }
}

#[test]
fn a_flood_of_throw_away_sessions_costs_bounded_memory() {
    for (slots, eviction_ms, sessions) in [(80, 1000, 100_000), (400, 50, 40_000)] {
        let config = CacheConfig::default()
            .with_slots(slots)
            .and_then(|it| it.with_eviction_ms(eviction_ms))
            .expect("in range")
            .with_principal_sessions_max(10)
            .with_change_tracking(ChangeTracking::On);
        let mut host = Host::new(config);
        let filling = growth(|| (0..sessions / 5).for_each(|number| throw_away(&mut host, number)));
        let flood =
            growth(|| (sessions / 5..sessions).for_each(|number| throw_away(&mut host, number)));
        let stats = host.cache.stats();
        assert!(stats.sessions <= u64::from(slots));
        assert!(stats.partitions <= 20 * u64::from(slots));
        assert_eq!(stats.created + stats.refused, u64::from(sessions));
        assert!(stats.evictions() > 0);
        // What comes and goes differs by less than a tenth of what is held.
        assert!(flood < filling / 10, "{slots}: {flood} after {filling}");
    }
}

#[test]
fn a_session_that_exchanges_its_topics_for_ever_costs_bounded_memory() {
    use kafka_coordination::fetch::ForgottenTopic;
    for tracking in MODES {
        let mut host = Host::tracking(tracking);
        let id = host.open(10);
        let partitions = [partition(0, 0), partition(1, 0), partition(2, 0)];
        let mut exchange = |epoch: i32| {
            let number = usize::try_from(epoch).expect("positive");
            let topics = [topic(number, &partitions)];
            let before = TopicId::from_u128(number as u128);
            let forgotten = [ForgottenTopic { id: before, name: "", partitions: &[0, 1, 2] }];
            let request = FetchRequest { forgotten: &forgotten, ..request(id, epoch, &topics) };
            let answer = host.quiet(&request);
            assert_eq!(answer.error, ErrorCode::None);
        };
        (1..5000).for_each(&mut exchange);
        let grown = growth(|| (5000..20_000).for_each(&mut exchange));
        assert!(grown <= 1024, "{tracking:?}: {grown}");
    }
}

#[test]
fn marks_and_answers_in_any_order_cost_bounded_memory() {
    let mut host = Host::tracking(ChangeTracking::On);
    let id = host.open(10);
    let names = |_: TopicId| None;
    let mut round = |epoch: i32| {
        let context = host.cache.begin(&request(id, epoch, &[]), &names, host.now);
        host.reads.clear();
        let visited = host.cache.visit(&context);
        host.reads.extend(visited.map(|it| PartitionRead::new(it.slot, 100, 0)));
        host.cache.mark_all();
        let answer = host.cache.finish(context, &mut host.reads, &mut host.random, host.now);
        assert_eq!(answer.error, ErrorCode::None);
        for partition in 0..10 {
            host.cache.mark(
                TopicId::from_u128(1),
                "a-topic",
                partition,
                Change::HighWatermark,
                |_| {},
            );
        }
    };
    (1..100).for_each(&mut round);
    let grown = growth(|| (100..5000).for_each(&mut round));
    assert!(grown <= 64, "{grown}");
}

#[test]
fn contexts_that_are_dropped_leave_no_memory_behind() {
    let mut host = Host::tracking(ChangeTracking::On);
    let id = host.open(1000);
    let ten = ten_partitions();
    let topics: Vec<_> = (0..100).map(|number| topic(number, &ten)).collect();
    let names = |_: TopicId| None;
    let grown = growth(|| {
        for epoch in 1..50 {
            drop(host.cache.begin(&request(0, 0, &topics), &names, host.now));
            drop(host.cache.begin(&request(0, -1, &topics), &names, host.now));
            let context = host.cache.begin(&request(id, epoch, &[]), &names, host.now);
            let _visited = host.cache.visit(&context).count();
        }
    });
    assert_eq!(grown, 0);
}

/// Bytes that the work allocates, freed or not.
fn traffic(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).bytes_total
}

#[test]
fn a_request_costs_what_it_lists_in_a_session_of_any_size() {
    use kafka_coordination::fetch::ForgottenTopic;
    for tracking in MODES {
        let mut host = Host::tracking(tracking);
        let many: Vec<_> = (0..100_000).map(|number| partition(number, 100)).collect();
        let id = host.quiet(&request(0, 0, &[topic(0, &many)])).session_id;
        let passing = [partition(0, 0)];
        let topics: Vec<_> = (1..100).map(|number| topic(number, &passing)).collect();
        let forgotten: Vec<_> = topics
            .iter()
            .map(|topic| ForgottenTopic { id: topic.id, name: "", partitions: &[0] })
            .collect();
        let names = |_: TopicId| None;
        let mut pass = |epoch| {
            let request = FetchRequest { forgotten: &forgotten, ..request(id, epoch, &topics) };
            let context = host.cache.begin(&request, &names, host.now);
            assert_eq!(host.cache.throttle(context, 1).error, ErrorCode::None);
        };
        pass(1);
        let bytes = traffic(|| (2..20).for_each(&mut pass));
        // The session's partitions take some 8,000,000.
        assert!(bytes < 1_000_000, "{tracking:?}: {bytes}");
    }
}

#[test]
fn sessions_that_are_closed_leave_no_names_behind() {
    let mut host = Host::tracking(ChangeTracking::On);
    let one = [partition(0, 0)];
    let names: Vec<String> = (0..1000).map(|number| format!("{number:01000}")).collect();
    let topics: Vec<_> = names
        .iter()
        .map(|name| RequestTopic { id: TopicId::ZERO, name, partitions: &one })
        .collect();
    let grown = growth(|| {
        for _ in 0..20 {
            let full = FetchRequest { version: 12, ..request(0, 0, &topics) };
            let id = host.quiet(&full).session_id;
            host.cache.close(id);
        }
        host.reads = Vec::new();
    });
    assert!(grown < 10_000, "{grown}");
}
