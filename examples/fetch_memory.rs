//! What a cached partition takes: bytes allocated by a session cache, over the partitions it holds.
//!
//! Ten partitions a topic, names shared with the metadata, as in the broker's own image.
//!
//! `cargo run --release --example fetch_memory`

use core::num::NonZeroU32;
use kafka_coordination::fetch::{
    CacheConfig, ChangeTracking, FetchCache, FetchMetadata, FetchParams, FetchRequest, FetcherKind,
    PartitionRead, PartitionRequest, Profile, RequestTopic,
};
use kafka_coordination::{Monotonic, Random, TopicId, TopicName};

const PARTITIONS_A_TOPIC: i32 = 10;
const SESSIONS: u32 = 100;

struct Ascending(u32);

impl Random for Ascending {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        self.0 = (self.0 + 1) % bound;
        self.0
    }
}

fn main() {
    println!(
        "{:>10} {:>10} {:>22} {:>22}",
        "sessions", "partitions", "bytes a partition", "changes tracked"
    );
    for topics in [1, 10, 100, 1_000] {
        let [off, on] =
            [ChangeTracking::Off, ChangeTracking::On].map(|it| bytes_a_partition(topics, it));
        let partitions = topics * u128::from(PARTITIONS_A_TOPIC.cast_unsigned());
        println!("{SESSIONS:>10} {partitions:>10} {off:>22} {on:>22}");
    }
}

/// Of sessions that hold that many topics each and have been used.
fn bytes_a_partition(topics: u128, tracking: ChangeTracking) -> String {
    let name = TopicName::from("a-topic-of-eighteen");
    let partitions: Vec<_> = (0..PARTITIONS_A_TOPIC).map(partition).collect();
    let wanted: Vec<_> = (1..=topics)
        .map(|id| RequestTopic { id: TopicId::from_u128(id), name: "", partitions: &partitions })
        .collect();
    let mut cache = FetchCache::new(CacheConfig::default().with_change_tracking(tracking));
    let allocated = allocation_counter::measure(|| {
        let mut random = Ascending(0);
        for _ in 0..SESSIONS {
            let mut next = FetchMetadata::INITIAL;
            let mut request = request(&wanted);
            // Created, then used twice.
            for _ in 0..3 {
                request.metadata = next;
                let context = cache.begin(&request, &|_| Some(name.clone()), Monotonic::default());
                let mut reads: Vec<_> =
                    cache.visit(&context).map(|it| PartitionRead::new(it.slot, 1, 0)).collect();
                let answer = cache.finish(context, &mut reads, &mut random, Monotonic::default());
                next = match next {
                    FetchMetadata::INITIAL => FetchMetadata::new_incremental(answer.session_id),
                    next => next.next_incremental(),
                };
                request.topics = &[];
            }
        }
    });
    let bytes = u64::try_from(allocated.bytes_current).unwrap_or_default();
    let tenths = 10 * bytes / cache.stats().partitions;
    format!("{}.{}", tenths / 10, tenths % 10)
}

const fn request<'a>(topics: &'a [RequestTopic<'a>]) -> FetchRequest<'a> {
    FetchRequest {
        version: 18,
        metadata: FetchMetadata::INITIAL,
        fetcher: FetcherKind::Consumer,
        profile: Profile { read_committed: false, host: 0 },
        principal: 0,
        topics,
        forgotten: &[],
    }
}

const fn partition(partition: i32) -> PartitionRequest {
    let params = FetchParams {
        fetch_offset: 0,
        log_start_offset: -1,
        max_bytes: 1 << 20,
        leader_epoch: Some(200),
        last_fetched_epoch: None,
    };
    PartitionRequest { partition, params }
}
