//! Invariants 21 to 23: a fetcher and a broker over a channel that loses requests and responses
//! and delivers requests again, late, while sessions are evicted.

mod broker;
mod truth;

use crate::reading::Reading;
use crate::request::{Key, Request};
use crate::settings::cases;
use broker::{Broker, Response};
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{
    AnsweredTopic, ContextKind, FetchParams, FetcherKind, FetcherSession, PartitionRequest,
    Profile, Verdict,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};
use std::collections::{BTreeMap, BTreeSet};
use truth::{Change, PARTITIONS, TOPICS, Truth, change};

/// What becomes of a request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Whole,
    /// The request arrives twice, and its second answer is dropped.
    Twice,
    RequestLost,
    ResponseLost,
    Throttled,
}

/// One step.
#[derive(Clone, Debug)]
enum Operation {
    /// The fetcher asks for what it wants.
    Fetch(Delivery),
    /// The fetcher wants a partition, reads it from there, or wants it no more.
    Want(usize, i32, i64),
    Drop(usize, i32),
    /// The fetcher learns a topic's id, or forgets it.
    Learn(usize),
    Unlearn(usize),
    Change(Change),
    /// A request that was sent before arrives once more.
    Again(u8),
    /// Another session is created.
    Crowd,
    Close,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let at = || (0..TOPICS.len(), 0..PARTITIONS);
    let delivery = prop_oneof![
        12 => Just(Delivery::Whole),
        1 => Just(Delivery::Twice),
        1 => Just(Delivery::RequestLost),
        1 => Just(Delivery::ResponseLost),
        1 => Just(Delivery::Throttled),
    ];
    let operation = prop_oneof![
        10 => delivery.prop_map(Operation::Fetch),
        5 => (at(), 0..3_i64).prop_map(|((topic, partition), offset)| {
            Operation::Want(topic, partition, offset)
        }),
        2 => at().prop_map(|(topic, partition)| Operation::Drop(topic, partition)),
        2 => (0..TOPICS.len()).prop_map(Operation::Learn),
        1 => (0..TOPICS.len()).prop_map(Operation::Unlearn),
        5 => change().prop_map(Operation::Change),
        1 => any::<u8>().prop_map(Operation::Again),
        1 => Just(Operation::Crowd),
        1 => Just(Operation::Close),
    ];
    vec(operation, 1..80)
}

/// Which of the invariants a run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invariant {
    SameKeys,
    SameState,
    Heals,
}

struct Run {
    truth: Truth,
    broker: Broker,
    session: FetcherSession,
    wanted: BTreeMap<(String, i32), i64>,
    ids: BTreeMap<String, TopicId>,
    /// What the fetcher was last told of each partition.
    told: BTreeMap<(String, i32), Reading>,
    sent: Vec<Request>,
    invariant: Invariant,
    processed: usize,
}

impl Run {
    fn new(slots: u32, invariant: Invariant) -> Self {
        Self {
            truth: Truth::new(),
            broker: Broker::new(slots),
            session: FetcherSession::new(1),
            wanted: BTreeMap::new(),
            ids: BTreeMap::new(),
            told: BTreeMap::new(),
            sent: Vec::new(),
            invariant,
            processed: 0,
        }
    }

    fn step(&mut self, operation: &Operation) -> TestCaseResult {
        self.broker.pass(30);
        match *operation {
            Operation::Fetch(delivery) => drop(self.fetch(delivery)?),
            Operation::Want(topic, partition, offset) => {
                self.wanted.insert((TOPICS[topic].to_owned(), partition), offset);
            }
            Operation::Drop(topic, partition) => {
                self.wanted.remove(&(TOPICS[topic].to_owned(), partition));
            }
            Operation::Learn(topic) => {
                if let Some(id) = self.truth.id_of(TOPICS[topic]) {
                    self.ids.insert(TOPICS[topic].to_owned(), id);
                }
            }
            Operation::Unlearn(topic) => drop(self.ids.remove(TOPICS[topic])),
            Operation::Change(change) => self.truth.apply(change),
            Operation::Again(at) => {
                if let Some(at) = usize::from(at).checked_rem(self.sent.len()) {
                    let request = self.sent[at].clone();
                    self.broker.answer(&self.truth, &request, 0);
                }
            }
            Operation::Crowd => self.broker.crowd(&self.truth),
            Operation::Close => self.session.notify_close(),
        }
        Ok(())
    }

    /// The next request, and the partitions that it lists or implies.
    fn plan(&mut self) -> (Request, BTreeSet<Key>) {
        let mut wish = self.session.wish();
        for ((name, partition), offset) in &self.wanted {
            let id = self.ids.get(name).copied().unwrap_or(TopicId::ZERO);
            let params = FetchParams {
                fetch_offset: *offset,
                log_start_offset: -1,
                max_bytes: 100,
                leader_epoch: None,
                last_fetched_epoch: None,
            };
            wish.add(id, name, &PartitionRequest { partition: *partition, params });
        }
        let plan = wish.build();
        let version = plan.version(17);
        let key = |id, name: &str, partition| Key {
            id: if version >= 13 { id } else { TopicId::ZERO },
            name: if version >= 13 { String::new() } else { name.to_owned() },
            partition,
        };
        let mut wanted = Vec::new();
        for topic in plan.topics(version) {
            for it in topic.partitions {
                wanted.push((key(topic.id, topic.name, it.partition), it.params));
            }
        }
        let mut forgotten = Vec::new();
        for topic in plan.forgotten(version) {
            for partition in topic.partitions {
                forgotten.push(key(topic.id, topic.name, partition));
            }
        }
        let request = Request {
            version,
            metadata: plan.metadata(),
            fetcher: FetcherKind::Consumer,
            profile: Profile::default(),
            principal: 0,
            wanted,
            forgotten,
            names: crate::universe::NOTHING,
        };
        let all = plan.partitions().map(|it| key(it.id, it.topic, it.partition));
        (request, all.collect())
    }

    fn fetch(&mut self, delivery: Delivery) -> Result<Option<Verdict>, TestCaseError> {
        let (request, asked) = self.plan();
        if delivery == Delivery::RequestLost {
            self.session.handle_error();
            return Ok(None);
        }
        self.sent.push(request.clone());
        let throttle = if delivery == Delivery::Throttled { 50 } else { 0 };
        let (kind, response) = self.broker.answer(&self.truth, &request, throttle);
        if kind == ContextKind::Incremental && self.invariant == Invariant::SameKeys {
            let session = self.broker.session(request.metadata.session_id).unwrap();
            let keys = session.partitions.iter().map(|it| Key {
                id: it.topic_id,
                name: match &it.topic {
                    Some(name) if !session.uses_topic_ids => name.as_str().to_owned(),
                    _ => String::new(),
                },
                partition: it.partition,
            });
            prop_assert_eq!(&keys.collect::<BTreeSet<_>>(), &asked);
        }
        if delivery == Delivery::Twice {
            self.broker.answer(&self.truth, &request, 0);
        }
        if delivery == Delivery::ResponseLost {
            self.session.handle_error();
            return Ok(None);
        }
        let verdict = self.receive(&response);
        let tells_all = verdict.is_processable() && throttle == 0;
        if tells_all && self.invariant == Invariant::SameState {
            self.processed += 1;
            self.compare()?;
        }
        Ok(Some(verdict))
    }

    fn receive(&mut self, response: &Response) -> Verdict {
        let topics = response.partitions.iter().map(|(key, _)| AnsweredTopic {
            id: key.id,
            name: &key.name,
            partitions: [key.partition],
        });
        let name_of = |session: &FetcherSession, key: &Key| {
            let name = session.topic_name(key.id).map(|name| name.as_str().to_owned());
            if response.head.version >= 13 { name } else { Some(key.name.clone()) }
        };
        let names = response.partitions.iter().map(|(key, _)| name_of(&self.session, key));
        let names: Vec<_> = names.collect();
        let verdict = self.session.handle_response(response.head, topics);
        if verdict.is_processable() {
            if matches!(verdict, Verdict::Opened | Verdict::Sessionless) {
                self.told.clear();
            }
            for ((key, reading), name) in response.partitions.iter().zip(names) {
                if let Some(name) = name {
                    self.told.insert((name, key.partition), *reading);
                }
            }
        }
        verdict
    }

    /// What a fetcher without a session would be told now, against what this one was told so far.
    fn compare(&self) -> TestCaseResult {
        for it in self.session.partitions() {
            let uses_topic_ids = self.session.topic_names().next().is_some();
            let id = if uses_topic_ids { it.id } else { TopicId::ZERO };
            let name = match self.truth.name_of(id) {
                Some(name) if uses_topic_ids => Some(name.as_str().to_owned()),
                _ if uses_topic_ids => None,
                _ => Some(it.topic.as_str().to_owned()),
            };
            let place = (it.topic.as_str().to_owned(), it.partition);
            let told = self.told.get(&place);
            let now = self.truth.read(id, name.as_deref(), it.partition);
            prop_assert!(told.is_some(), "{:?} was never told", place);
            let told = told.unwrap();
            // Which error it is depends on what the broker knew of the id when it first saw it.
            let state = |it: &Reading| (it.high_watermark, it.log_start, it.error.code() != 0);
            prop_assert_eq!(state(told), state(&now), "{:?}", place);
        }
        Ok(())
    }

    /// A session that goes on by name may be refused in the round trip after, when all partitions
    /// have ids; so what counts is that one of the two is answered as it should be.
    fn heal(&mut self) -> TestCaseResult {
        self.wanted.insert((TOPICS[0].to_owned(), 0), 0);
        let mut verdicts = Vec::new();
        for _ in 0..2 {
            let verdict = self.fetch(Delivery::Whole)?;
            let next = self.session.next_metadata();
            let epoch = self.broker.session(next.session_id).map(|it| it.epoch);
            match verdict {
                Some(Verdict::Sessionless) if self.broker.is_full() => return Ok(()),
                Some(Verdict::Opened | Verdict::Continued) if epoch == Some(next.epoch) => {
                    return Ok(());
                }
                other => verdicts.push(other),
            }
        }
        Err(TestCaseError::fail(format!("{verdicts:?}")))
    }
}

fn run(slots: u32, operations: &[Operation], invariant: Invariant) -> Result<Run, TestCaseError> {
    let mut run = Run::new(slots, invariant);
    for operation in operations {
        run.step(operation)?;
    }
    Ok(run)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn fs_21_both_sides_hold_the_same_partitions(
        slots in 0..3_u32,
        operations in operations(),
    ) {
        run(slots, &operations, Invariant::SameKeys)?;
    }

    #[test]
    fn fs_22_what_was_told_is_what_a_fetcher_without_session_sees(
        slots in 0..3_u32,
        operations in operations(),
    ) {
        run(slots, &operations, Invariant::SameState)?;
    }

    #[test]
    fn fs_23_two_round_trips_bring_back_a_session(
        slots in 0..3_u32,
        operations in operations(),
    ) {
        run(slots, &operations, Invariant::Heals)?.heal()?;
    }
}
