//! The fetcher's side.

use crate::allocations;
use kafka_coordination::fetch::{
    AnsweredTopic, FetchParams, FetchPlan, FetcherSession, PartitionRequest, ResponseHead, Verdict,
};
use kafka_coordination::{ErrorCode, TopicId};

const PARTITIONS: i32 = 10;
const ROUNDS: i64 = 50;
const VERSION: i16 = 18;

fn id(topic: &str) -> TopicId {
    TopicId::from_u128(topic.bytes().fold(1, |id, byte| (id << 8) | u128::from(byte)))
}

fn request(partition: i32, fetch_offset: i64) -> PartitionRequest {
    PartitionRequest {
        partition,
        params: FetchParams {
            fetch_offset,
            log_start_offset: -1,
            max_bytes: 1 << 20,
            leader_epoch: Some(1),
            last_fetched_epoch: None,
        },
    }
}

/// Reads everything that a plan says.
fn read(plan: FetchPlan<'_>) -> usize {
    let topics = plan.topics(VERSION).map(|topic| topic.partitions.len());
    let forgotten = plan.forgotten(VERSION).map(|topic| topic.partitions.count());
    topics.sum::<usize>()
        + forgotten.sum::<usize>()
        + plan.partitions().count()
        + plan.topic_names().count()
}

/// One round: the wish list, the plan, a response that names `answered`.
fn round(
    session: &mut FetcherSession,
    wishes: impl Iterator<Item = (&'static str, PartitionRequest)>,
    answered: &[(&'static str, i32)],
) -> usize {
    let mut wish = session.wish();
    for (topic, request) in wishes {
        wish.add(id(topic), topic, &request);
    }
    let read = read(wish.build());
    let head = ResponseHead {
        version: VERSION,
        error: ErrorCode::None,
        session_id: 7,
        throttle_time_ms: 0,
    };
    let topics = answered.iter().map(|(topic, partition)| AnsweredTopic {
        id: id(topic),
        name: "",
        partitions: [*partition],
    });
    let verdict = session.handle_response(head, topics);
    assert!(matches!(verdict, Verdict::Opened | Verdict::Continued), "{verdict:?}");
    read
}

/// All partitions of three topics.
fn all() -> impl Iterator<Item = (&'static str, i32)> {
    ["bar", "foo", "a rather long name of a topic"]
        .into_iter()
        .flat_map(|topic| (0..PARTITIONS).map(move |partition| (topic, partition)))
}

/// A session after a full request for all partitions.
fn opened() -> (FetcherSession, Vec<(&'static str, i32)>) {
    let mut session = FetcherSession::new(1);
    let every: Vec<_> = all().collect();
    round(&mut session, all().map(|(topic, partition)| (topic, request(partition, 0))), &every);
    (session, every)
}

#[test]
fn a_round_that_changes_nothing_allocates_nothing() {
    let (mut session, _) = opened();
    let count = allocations(|| {
        for _ in 0..ROUNDS {
            let wishes = all().map(|(topic, partition)| (topic, request(partition, 0)));
            let read = round(&mut session, wishes, &[]);
            assert_eq!(read, 33, "30 partitions and 3 names");
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn a_round_that_alters_every_partition_allocates_nothing() {
    let (mut session, every) = opened();
    let mut rounds = |offsets: core::ops::Range<i64>| {
        for offset in offsets {
            let wishes = all().map(|(topic, partition)| (topic, request(partition, offset)));
            let read = round(&mut session, wishes, &every);
            assert_eq!(read, 63, "as many are sent");
        }
    };
    // The first rounds size the buffers.
    rounds(1..3);
    assert_eq!(allocations(|| rounds(3..ROUNDS)), 0);
}

#[test]
fn partitions_that_come_and_go_in_any_order_allocate_nothing() {
    let (mut session, _) = opened();
    let mut rounds = |shifts: core::ops::Range<i64>| {
        for shift in shifts {
            // A window of two thirds that moves, so that a third comes, a third goes and the order differs.
            let shift = usize::try_from(shift * 10).unwrap_or_default() % 30;
            let wishes = all().chain(all()).skip(shift).take(20);
            let wishes = wishes.map(|(topic, partition)| (topic, request(partition, 0)));
            let read = round(&mut session, wishes, &[]);
            assert!(read >= 22, "20 partitions and 2 names");
        }
    };
    // The first rounds size the buffers.
    rounds(0..12);
    let topic_names = u64::try_from(ROUNDS - 12).unwrap_or_default();
    let count = allocations(|| rounds(12..ROUNDS));
    assert!(count <= topic_names, "{count}: no more than the name of the topic that comes");
}

#[test]
fn a_full_request_after_an_error_allocates_nothing() {
    let (mut session, every) = opened();
    let mut rounds = |count| {
        for _ in 0..count {
            session.handle_error();
            let wishes = all().map(|(topic, partition)| (topic, request(partition, 0)));
            let read = round(&mut session, wishes, &every);
            assert_eq!(read, 63, "all are sent");
        }
    };
    rounds(2);
    assert_eq!(allocations(|| rounds(ROUNDS)), 0);
}
