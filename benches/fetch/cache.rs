//! The broker's side: a fetch from its request to the choice of what its response carries.
//!
//! The host is an array of what its logs hold, so that what is measured is the crate's part.

use crate::floor::{Changed, Floor, Lru, Sessions};
use crate::ratio::paired;
use criterion::Criterion;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::fetch::{
    CacheConfig, Change, ChangeTracking, FetchCache, FetchContext, FetchMetadata, FetchParams,
    FetchRequest, FetcherKind, PartitionRead, PartitionRequest, Profile, RequestTopic,
};
use kafka_coordination::{Monotonic, TopicId, TopicName};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use std::hint::black_box;

pub(crate) const PARTITIONS_A_TOPIC: usize = 10;
const VERSION: i16 = 18;
/// How many other sessions the cache holds.
const OTHERS: usize = 100;

/// What the host's log of a partition holds for a fetch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    pub(crate) high_watermark: i64,
    pub(crate) start_offset: i64,
    pub(crate) records: u32,
}

pub(crate) fn bench(criterion: &mut Criterion) {
    for partitions in [10, 100, 1_000, 10_000] {
        idle_by_changes(criterion, partitions);
        for percent in [1, 10, 100] {
            if partitions * percent >= 100 {
                changed(criterion, partitions, percent);
            }
        }
        for percent in [0, 1, 100] {
            // One in a hundred of ten is none.
            if percent == 0 || partitions * percent >= 100 {
                visited(criterion, partitions, percent, ComesBack::ByPlace);
            }
        }
        for percent in [0, 100] {
            visited(criterion, partitions, percent, ComesBack::ByKey);
        }
        created(criterion, partitions);
        marked(criterion, partitions);
    }
    for sessions in [1_000, 10_000] {
        created_with_eviction(criterion, sessions);
        accepted(criterion, sessions);
    }
}

/// Nothing changed, and the host said so.
fn idle_by_changes(criterion: &mut Criterion, partitions: usize) {
    let mut host = Host::new(partitions, ChangeTracking::On);
    let mut floor = Changed::new(partitions);
    let name = format!("cache/idle by changes/{partitions}");
    let logs = vec![Log::default(); partitions];
    paired(criterion, &name, || floor.run(&[], &logs), || host.fetch());
}

/// A share of the partitions returns records each time, and only these are visited.
fn changed(criterion: &mut Criterion, partitions: usize, percent: usize) {
    let mut host = Host::new(partitions, ChangeTracking::On);
    let slots: Vec<u32> = (0..partitions).step_by(100 / percent).map(|it| it as u32).collect();
    for &slot in &slots {
        host.logs[slot as usize].records = 1_000;
        host.mark(slot as usize);
    }
    let mut floor = Changed::new(partitions);
    let mut floor_logs = host.logs.clone();
    let name = format!("cache/changed {percent}%/{partitions}");
    let mut floor_watermark = 0;
    let mut watermark = 0;
    let floor_slots = slots.clone();
    paired(
        criterion,
        &name,
        || {
            floor_watermark += 1;
            for &slot in &floor_slots {
                floor_logs[slot as usize].high_watermark = floor_watermark;
            }
            floor.run(&floor_slots, &floor_logs);
        },
        || {
            watermark += 1;
            for &slot in &slots {
                host.logs[slot as usize].high_watermark = watermark;
            }
            host.fetch();
        },
    );
}

/// How the host names what it has read.
#[derive(Clone, Copy)]
enum ComesBack {
    ByPlace,
    ByKey,
}

/// The host visits every partition, and a share of them returns records each time.
fn visited(criterion: &mut Criterion, partitions: usize, percent: usize, comes_back: ComesBack) {
    let mut host = Host::new(partitions, ChangeTracking::Off);
    let mut floor = Floor::new(partitions);
    let mut floor_logs = host.logs.clone();
    let step = 100_usize.checked_div(percent).unwrap_or(usize::MAX);
    let (mut floor_watermark, mut watermark) = (0, 0);
    let by_key = match comes_back {
        ComesBack::ByPlace => "",
        ComesBack::ByKey => " by key",
    };
    let name = format!("cache/visited{by_key} {percent}%/{partitions}");
    paired(
        criterion,
        &name,
        || {
            floor_watermark += 1;
            advance(&mut floor_logs, step, floor_watermark);
            match comes_back {
                ComesBack::ByPlace => floor.run(&floor_logs),
                ComesBack::ByKey => floor.run_by_key(&floor_logs),
            }
        },
        || {
            watermark += 1;
            advance(&mut host.logs, step, watermark);
            match comes_back {
                ComesBack::ByPlace => host.fetch(),
                ComesBack::ByKey => host.fetch_by_key(),
            }
        },
    );
}

fn advance(logs: &mut [Log], step: usize, watermark: i64) {
    if step == usize::MAX {
        return;
    }
    for log in logs.iter_mut().step_by(step) {
        *log = Log { high_watermark: watermark, start_offset: 0, records: 1_000 };
    }
}

/// A full fetch closes the session and creates the next.
fn created(criterion: &mut Criterion, partitions: usize) {
    let mut host = Host::new(partitions, ChangeTracking::Off);
    let mut floor = Floor::new(partitions);
    let name = format!("cache/created/{partitions}");
    paired(criterion, &name, || floor.rebuild(), || host.recreate());
}

/// One partition is marked.
fn marked(criterion: &mut Criterion, partitions: usize) {
    let mut host = Host::new(partitions, ChangeTracking::On);
    let mut random = Pcg64Mcg::new(1);
    let mut floor = Floor::new(partitions);
    let mut floor_random = Pcg64Mcg::new(1);
    let name = format!("cache/marked/{partitions}");
    paired(
        criterion,
        &name,
        || floor.find(floor_random.next_u32() as usize % partitions),
        || host.mark(random.next_u32() as usize % partitions),
    );
}

/// The cache is full: the stalest session goes. Ten partitions each.
fn created_with_eviction(criterion: &mut Criterion, sessions: usize) {
    let mut crowd = Crowd::new(sessions);
    let mut floor = Sessions::new(sessions);
    // The first eviction of a cache that has filled up orders all of its sessions, once.
    crowd.replace_stalest();
    let name = format!("cache/created with eviction/{sessions}");
    paired(criterion, &name, || floor.replace_stalest(), || crowd.replace_stalest());
}

/// A request of one of many sessions is accepted.
fn accepted(criterion: &mut Criterion, sessions: usize) {
    let mut crowd = Crowd::new(sessions);
    let mut floor = Lru::new(sessions);
    let (mut floor_random, mut random) = (Pcg64Mcg::new(1), Pcg64Mcg::new(1));
    let name = format!("cache/accepted/{sessions}");
    paired(
        criterion,
        &name,
        || {
            let id = floor.id(floor_random.next_u32() as usize % sessions);
            floor.touch(id);
        },
        || crowd.accept(random.next_u32() as usize % sessions),
    );
}

/// The topic of the partition with that number.
pub(crate) fn topic_id(partition: usize) -> TopicId {
    let topic = (partition / PARTITIONS_A_TOPIC) as u128 + 1;
    TopicId::from_u128(topic.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

fn partition_request(partition: usize) -> PartitionRequest {
    PartitionRequest {
        partition: (partition % PARTITIONS_A_TOPIC) as i32,
        params: FetchParams {
            fetch_offset: 0,
            log_start_offset: -1,
            max_bytes: 1 << 20,
            leader_epoch: Some(1),
            last_fetched_epoch: None,
        },
    }
}

/// A broker, and one session of it.
struct Host {
    cache: FetchCache,
    random: Pcg64Mcg,
    now: i64,
    next: FetchMetadata,
    wanted: Vec<RequestTopic<'static>>,
    names: HashMap<TopicId, TopicName, FixedState>,
    logs: Vec<Log>,
    reads: Vec<PartitionRead>,
    keys: Vec<(TopicId, i32)>,
}

impl Host {
    fn new(partitions: usize, tracking: ChangeTracking) -> Self {
        let ids = (0..partitions).step_by(PARTITIONS_A_TOPIC).map(topic_id);
        let mut host = Self {
            cache: FetchCache::new(CacheConfig::default().with_change_tracking(tracking)),
            random: Pcg64Mcg::new(7),
            now: 0,
            next: FetchMetadata::INITIAL,
            wanted: Vec::new(),
            names: ids.map(|id| (id, TopicName::from(id.to_string().as_str()))).collect(),
            logs: vec![Log::default(); partitions.max(PARTITIONS_A_TOPIC)],
            reads: Vec::new(),
            keys: Vec::new(),
        };
        // Others have sessions too, of another topic.
        host.wanted = topics(PARTITIONS_A_TOPIC);
        for topic in &mut host.wanted {
            topic.id = TopicId::from_u128(1);
        }
        for _ in 0..OTHERS {
            host.next = FetchMetadata::INITIAL;
            host.recreate();
        }
        host.next = FetchMetadata::INITIAL;
        host.wanted = topics(partitions);
        host.recreate();
        // The first fetch of a session visits everything.
        host.fetch();
        host
    }

    fn recreate(&mut self) {
        self.next = self.next.next_close_existing_attempt_new();
        let wanted = core::mem::take(&mut self.wanted);
        let context = self.begin(&wanted);
        self.wanted = wanted;
        self.read_and_finish(context);
    }

    fn fetch(&mut self) {
        let context = self.begin(&[]);
        self.read_and_finish(context);
    }

    fn begin(&mut self, topics: &[RequestTopic<'_>]) -> FetchContext {
        self.now += 1;
        let names = |id: TopicId| self.names.get(&id).cloned();
        self.cache.begin(&request(self.next, topics), &names, Monotonic::from_millis(self.now))
    }

    fn read_and_finish(&mut self, context: FetchContext) {
        let Self { cache, logs, reads, .. } = self;
        reads.clear();
        reads.extend(cache.visit(&context).map(|partition| {
            let params = partition.params;
            black_box((partition.topic_id, partition.partition, params.fetch_offset));
            black_box((params.max_bytes, params.leader_epoch));
            let log = logs[partition.slot.as_usize()];
            let read = PartitionRead::new(partition.slot, log.high_watermark, log.start_offset);
            read.with_records(log.records)
        }));
        self.finish(context);
    }

    fn fetch_by_key(&mut self) {
        let context = self.begin(&[]);
        self.keys.clear();
        self.reads.clear();
        self.keys.extend(self.cache.visit(&context).map(|it| (it.topic_id, it.partition)));
        let mut slots = self.cache.slots(&context);
        for (&(id, partition), &log) in self.keys.iter().zip(&self.logs) {
            if let Some(slot) = slots.find(id, "", partition) {
                let read = PartitionRead::new(slot, log.high_watermark, log.start_offset);
                self.reads.push(read.with_records(log.records));
            }
        }
        self.finish(context);
    }

    fn finish(&mut self, context: FetchContext) {
        black_box(self.cache.response_size(&context, &self.reads));
        let now = Monotonic::from_millis(self.now);
        let answer = self.cache.finish(context, &mut self.reads, &mut self.random, now);
        assert_ne!(answer.session_id, 0);
        self.next = if answer.session_id == self.next.session_id {
            self.next.next_incremental()
        } else {
            FetchMetadata::new_incremental(answer.session_id)
        };
        black_box(&self.reads);
    }

    fn mark(&mut self, partition: usize) {
        let index = (partition % PARTITIONS_A_TOPIC) as i32;
        self.cache.mark(topic_id(partition), "", index, Change::Unspecified, |marked| {
            black_box(marked);
        });
    }
}

/// A wish list, as the host decoded it. It lives as long as the program.
fn topics(partitions: usize) -> Vec<RequestTopic<'static>> {
    let wanted: &[_] = (0..partitions).map(partition_request).collect::<Vec<_>>().leak();
    let topics = wanted.chunks(PARTITIONS_A_TOPIC).enumerate();
    topics
        .map(|(topic, partitions)| RequestTopic {
            id: topic_id(topic * PARTITIONS_A_TOPIC),
            name: "",
            partitions,
        })
        .collect()
}

fn request<'a>(metadata: FetchMetadata, topics: &'a [RequestTopic<'a>]) -> FetchRequest<'a> {
    FetchRequest {
        version: VERSION,
        metadata,
        fetcher: FetcherKind::Consumer,
        profile: Profile::default(),
        principal: 0,
        topics,
        forgotten: &[],
    }
}

/// A broker with many sessions of ten partitions each.
struct Crowd {
    cache: FetchCache,
    random: Pcg64Mcg,
    now: i64,
    sessions: Vec<FetchMetadata>,
    /// The session that was used last the longest ago.
    stalest: usize,
    wanted: Vec<RequestTopic<'static>>,
    reads: Vec<PartitionRead>,
    name: TopicName,
}

impl Crowd {
    fn new(sessions: usize) -> Self {
        let config = CacheConfig::default()
            .with_shards(1)
            .and_then(|it| it.with_slots(sessions as u32))
            .and_then(|it| it.with_eviction_ms(sessions as i64 - 2))
            .expect("a legal configuration");
        let mut crowd = Self {
            cache: FetchCache::new(config),
            random: Pcg64Mcg::new(7),
            now: 0,
            sessions: Vec::new(),
            stalest: 0,
            wanted: topics(PARTITIONS_A_TOPIC),
            reads: Vec::new(),
            name: TopicName::from("a-topic-of-eighteen"),
        };
        for _ in 0..sessions {
            let created = crowd.create();
            crowd.sessions.push(created);
        }
        crowd
    }

    fn create(&mut self) -> FetchMetadata {
        self.now += 1;
        let now = Monotonic::from_millis(self.now);
        let request = request(FetchMetadata::INITIAL, &self.wanted);
        let context = self.cache.begin(&request, &|_| Some(self.name.clone()), now);
        self.reads.clear();
        let visit = self.cache.visit(&context);
        self.reads.extend(visit.map(|it| PartitionRead::new(it.slot, 0, 0)));
        black_box(self.cache.response_size(&context, &self.reads));
        let answer = self.cache.finish(context, &mut self.reads, &mut self.random, now);
        assert_ne!(answer.session_id, 0);
        FetchMetadata::new_incremental(answer.session_id)
    }

    fn replace_stalest(&mut self) {
        let created = self.create();
        self.sessions[self.stalest] = created;
        self.stalest = (self.stalest + 1) % self.sessions.len();
    }

    fn accept(&mut self, session: usize) {
        self.now += 1;
        let now = Monotonic::from_millis(self.now);
        let next = &mut self.sessions[session];
        let context = self.cache.begin(&request(*next, &[]), &|_| None, now);
        *next = next.next_incremental();
        black_box(&context);
    }
}
