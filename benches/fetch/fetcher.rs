//! The fetcher's side: one wish list, from the first partition to the plan.
//!
//! *Repeated* is the work of Kafka's `FetchSessionBenchmark`: the share that is updated went to the end of the list
//! before the first build, and the same list comes for ever. *Changing* alters that share on every build.
//!
//! Floor: for each partition a look-up in a plain hash table, a comparison and a mark.

use crate::ratio::paired;
use criterion::Criterion;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kafka_coordination::fetch::{
    AnsweredTopic, FetchParams, FetcherSession, PartitionRequest, ResponseHead,
};
use kafka_coordination::{ErrorCode, TopicId};
use std::hint::black_box;

const PARTITIONS_A_TOPIC: u32 = 10;
const SEED: u64 = 0x5eed;

/// Benches builds of three sizes with three shares of change.
pub(crate) fn bench(criterion: &mut Criterion) {
    for partitions in [10, 100, 1_000, 10_000] {
        for percent in [0, 10, 100] {
            let name = format!("fetcher/repeated/{partitions}/{percent}%");
            let list = repeated(partitions, percent);
            let mut floor = Floor::of(&list);
            let mut session = session(&wishes(partitions));
            build(&mut session, &list);
            paired(criterion, &name, || floor.run(&list), || build(&mut session, &list));
        }
        for percent in [10, 100] {
            let name = format!("fetcher/changing/{partitions}/{percent}%");
            let (mut floor_list, mut list) = (wishes(partitions), wishes(partitions));
            let mut floor = Floor::of(&list);
            let mut session = session(&list);
            let floor = || {
                change(&mut floor_list, percent);
                floor.run(&floor_list);
            };
            let case = || {
                change(&mut list, percent);
                build(&mut session, &list);
            };
            paired(criterion, &name, floor, case);
        }
    }
}

/// What a fetcher wants of one partition.
#[derive(Clone)]
struct Wish {
    id: TopicId,
    /// The topic's number, for the floor; the case gets the name.
    topic: u32,
    name: String,
    request: PartitionRequest,
}

fn wishes(partitions: u32) -> Vec<Wish> {
    let wish = |number: u32| {
        let topic = number / PARTITIONS_A_TOPIC;
        Wish {
            // Any odd factor spreads the ids.
            id: TopicId::from_u128(
                u128::from(topic + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
            ),
            topic,
            name: format!("topic-{topic}"),
            request: PartitionRequest {
                partition: i32::try_from(number % PARTITIONS_A_TOPIC).unwrap_or_default(),
                params: FetchParams {
                    fetch_offset: 0,
                    log_start_offset: 0,
                    max_bytes: 200,
                    leader_epoch: None,
                    last_fetched_epoch: None,
                },
            },
        }
    };
    (0..partitions).map(wish).collect()
}

/// The list that Kafka's benchmark repeats: updated partitions went to its end.
fn repeated(partitions: u32, percent: usize) -> Vec<Wish> {
    let mut list = wishes(partitions);
    change(&mut list, percent);
    list.sort_by_key(|wish| wish.request.params.fetch_offset);
    list
}

/// Moves the offset of a share of the partitions.
fn change(list: &mut [Wish], percent: usize) {
    if let Some(step) = 100_usize.checked_div(percent) {
        for wish in list.iter_mut().step_by(step) {
            wish.request.params.fetch_offset += 1;
        }
    }
}

/// A fetcher to whose first, full request for `list` the broker opened a session.
fn session(list: &[Wish]) -> FetcherSession {
    let mut session = FetcherSession::new(SEED);
    build(&mut session, list);
    let head =
        ResponseHead { version: 18, error: ErrorCode::None, session_id: 1, throttle_time_ms: 0 };
    let topics = list.iter().map(|wish| AnsweredTopic {
        id: wish.id,
        name: "",
        partitions: [wish.request.partition],
    });
    let verdict = session.handle_response(head, topics);
    assert!(verdict.is_processable(), "{verdict:?}");
    session
}

fn build(session: &mut FetcherSession, list: &[Wish]) {
    let mut wish = session.wish();
    for Wish { id, name, request, .. } in list {
        wish.add(*id, name, request);
    }
    black_box(wish.build().to_send().len());
}

/// A plain table of what is wanted, with the number of the round that wanted it last.
struct Floor {
    table: HashMap<(u32, i32), (FetchParams, u32), FixedState>,
    round: u32,
}

impl Floor {
    fn of(list: &[Wish]) -> Self {
        let mut table = HashMap::with_hasher(FixedState::with_seed(SEED));
        for wish in list {
            table.insert((wish.topic, wish.request.partition), (wish.request.params, 0));
        }
        Self { table, round: 0 }
    }

    fn run(&mut self, list: &[Wish]) {
        self.round += 1;
        let mut changed = 0;
        for Wish { topic, request, .. } in list {
            let Some((params, round)) = self.table.get_mut(&(*topic, request.partition)) else {
                continue;
            };
            *round = self.round;
            if *params != request.params {
                *params = request.params;
                changed += 1;
            }
        }
        black_box(changed);
    }
}
