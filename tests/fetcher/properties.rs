//! The fetcher's side against a plain model, over random lists of operations.

use crate::fixture::{Key, NO_ID, X, Y, at, keys};
use crate::model::{Model, Plan};
use kafka_coordination::fetch::{
    AnsweredTopic, FetchParams, FetchPlan, FetcherSession, LeakedSession, PartitionRequest,
    ResponseHead,
};
use kafka_coordination::{ErrorCode, TopicId};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Operation {
    /// A wish list, added one by one, built.
    Build(Vec<(Key, FetchParams)>),
    /// A wish list, added a topic at a time, built.
    BuildByTopic(Vec<(TopicId, String, Vec<i32>)>),
    /// The wish list before, once more, in another order or with a small change.
    Repeat {
        rotation: usize,
        altered: usize,
        dropped: usize,
    },
    /// A wish list that is dropped.
    Abandon(Vec<(Key, FetchParams)>),
    /// A response that lists just these.
    Hear {
        version: i16,
        error: ErrorCode,
        session_id: i32,
        throttle: i32,
        topics: Vec<(TopicId, String, Vec<i32>)>,
    },
    /// A response that lists all partitions of the session, as the broker would give it.
    HearAll {
        session_id: i32,
        by_id: bool,
    },
    Error,
    Close,
    /// The session is exported and restored with another seed.
    Restore {
        seed: u64,
    },
}

fn topic_ids() -> impl Strategy<Value = TopicId> {
    prop_oneof![1 => Just(NO_ID), 6 => Just(X), 3 => Just(Y)]
}

fn names() -> impl Strategy<Value = String> {
    select(vec!["a", "bar", "foo-bar", "a-longer-name", "a name of more than sixteen bytes"])
        .prop_map(String::from)
}

fn wishes() -> impl Strategy<Value = Vec<(Key, FetchParams)>> {
    let params = (0..3_i64, prop::option::of(-1..2_i32)).prop_map(|(offset, epoch)| FetchParams {
        leader_epoch: epoch.filter(|epoch| *epoch >= 0),
        ..at(offset)
    });
    prop::collection::vec(((topic_ids(), names(), 0..4_i32), params), 0..12)
}

fn topics() -> impl Strategy<Value = Vec<(TopicId, String, Vec<i32>)>> {
    prop::collection::vec((topic_ids(), names(), prop::collection::vec(0..4_i32, 0..4)), 0..5)
}

fn operations() -> impl Strategy<Value = Operation> {
    let errors = select(vec![
        ErrorCode::None,
        ErrorCode::None,
        ErrorCode::None,
        ErrorCode::FetchSessionIdNotFound,
        ErrorCode::InvalidFetchSessionEpoch,
    ]);
    let hear = (select(vec![6_i16, 12, 13, 18]), errors, 0..3_i32, 0..2_i32, topics());
    prop_oneof![
        4 => wishes().prop_map(Operation::Build),
        2 => topics().prop_map(Operation::BuildByTopic),
        6 => (0..8_usize, 0..8_usize, 0..12_usize)
            .prop_map(|(rotation, altered, dropped)| Operation::Repeat { rotation, altered, dropped }),
        1 => wishes().prop_map(Operation::Abandon),
        2 => hear.prop_map(|(version, error, session_id, throttle, topics)| {
            Operation::Hear { version, error, session_id, throttle, topics }
        }),
        6 => (prop_oneof![1 => Just(0), 9 => 1..4_i32], any::<bool>())
            .prop_map(|(session_id, by_id)| Operation::HearAll { session_id, by_id }),
        1 => Just(Operation::Error),
        1 => Just(Operation::Close),
        1 => any::<u64>().prop_map(|seed| Operation::Restore { seed }),
    ]
}

/// The crate's session and the model, side by side.
struct Pair {
    session: FetcherSession,
    model: Model,
    last: Vec<(Key, FetchParams)>,
}

impl Pair {
    fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Build(wishes) => self.build(wishes),
            Operation::BuildByTopic(topics) => self.build_by_topic(&topics),
            Operation::Repeat { rotation, altered, dropped } => {
                let mut wishes = self.last.clone();
                if dropped < wishes.len() {
                    wishes.remove(dropped);
                }
                if let Some((_, params)) = wishes.get_mut(altered) {
                    params.fetch_offset += 1;
                }
                if rotation < wishes.len() {
                    wishes.rotate_left(rotation);
                }
                self.build(wishes);
            }
            Operation::Abandon(wishes) => {
                let mut list = self.session.wish();
                for ((id, name, partition), params) in wishes {
                    list.add(id, &name, &PartitionRequest { partition, params });
                }
            }
            Operation::Hear { version, error, session_id, throttle, topics } => {
                self.hear(version, error, session_id, throttle, &topics);
            }
            Operation::HearAll { session_id, by_id } => {
                let partitions = self.model.partitions.iter();
                let topics: Vec<_> = partitions
                    .map(|((name, partition), (id, _))| (*id, name.clone(), vec![*partition]))
                    .collect();
                self.hear(if by_id { 13 } else { 12 }, ErrorCode::None, session_id, 0, &topics);
            }
            Operation::Error => {
                self.session.handle_error();
                self.model.next.epoch = 0;
            }
            Operation::Close => {
                self.session.notify_close();
                self.model.next.epoch = -1;
            }
            Operation::Restore { seed } => {
                let (next, session) = (self.session.next_metadata(), &self.session);
                let restored = FetcherSession::restore(
                    seed,
                    next,
                    session.partitions(),
                    session.topic_names(),
                );
                self.session = restored
                    .expect("every state of a session can be restored")
                    .with_leaked_session(self.model.leaked_session);
            }
        }
        self.compare();
    }

    fn build(&mut self, wishes: Vec<(Key, FetchParams)>) {
        let expected = self.model.build(&wishes);
        let mut list = self.session.wish();
        for ((id, name, partition), params) in &wishes {
            let (partition, params) = (*partition, *params);
            list.add(*id, name, &PartitionRequest { partition, params });
        }
        assert_eq!(read(list.build()), expected);
        self.last = wishes;
    }

    fn build_by_topic(&mut self, topics: &[(TopicId, String, Vec<i32>)]) {
        let params = at(1);
        let mut wishes = Vec::new();
        let mut list = self.session.wish();
        for (id, name, partitions) in topics {
            let requests = partitions
                .iter()
                .map(|partition| PartitionRequest { partition: *partition, params });
            list.add_topic(*id, name, requests);
            wishes.extend(
                partitions.iter().map(|partition| ((*id, name.clone(), *partition), params)),
            );
        }
        assert_eq!(read(list.build()), self.model.build(&wishes));
        self.last = wishes;
    }

    fn hear(
        &mut self,
        version: i16,
        error: ErrorCode,
        session_id: i32,
        throttle: i32,
        topics: &[(TopicId, String, Vec<i32>)],
    ) {
        let head = ResponseHead { version, error, session_id, throttle_time_ms: throttle };
        let answered = topics.iter().map(|(id, name, partitions)| AnsweredTopic {
            id: *id,
            name,
            partitions: partitions.iter().copied(),
        });
        let verdict = self.session.handle_response(head, answered);
        let expected = self.model.hear(version, error, session_id, throttle, topics);
        assert_eq!(verdict.is_processable(), expected, "{verdict:?}");
    }

    /// Everything that a session shows.
    fn compare(&self) {
        let (session, model) = (&self.session, &self.model);
        assert_eq!(session.next_metadata(), model.next);
        let held = session
            .partitions()
            .map(|held| ((held.topic.to_string(), held.partition), (held.id, held.params)));
        assert_eq!(held.collect::<Vec<_>>(), model.partitions);
        let names: Vec<_> = session.topic_names().collect();
        assert_eq!(names.len(), model.names.len());
        let names: BTreeMap<_, _> =
            names.iter().map(|(id, name)| (*id, name.to_string())).collect();
        assert_eq!(names, model.names);
        for id in [X, Y, NO_ID] {
            assert_eq!(
                session.topic_name(id).map(ToString::to_string),
                model.names.get(&id).cloned()
            );
        }
        for name in ["bar", "a-longer-name"] {
            for partition in 0..4 {
                let held = model
                    .partitions
                    .iter()
                    .find(|((topic, index), _)| topic == name && *index == partition);
                assert_eq!(session.params(name, partition), held.map(|(_, (_, params))| *params));
            }
        }
    }
}

/// What a plan says, also through its topic lists.
fn read(plan: FetchPlan<'_>) -> Plan {
    let send: Vec<_> = plan
        .to_send()
        .map(|sent| ((sent.id, sent.topic.to_string(), sent.partition), sent.params))
        .collect();
    let mut listed = Vec::new();
    for topic in plan.topics(13) {
        let key = |partition| (topic.id, topic.name.to_string(), partition);
        listed.extend(topic.partitions.map(|request| (key(request.partition), request.params)));
    }
    assert_eq!(listed, send, "the wire has the order of the plan");

    let (forget, replace) = (keys(plan.to_forget()), keys(plan.to_replace()));
    let mut dropped = [forget.as_slice(), &replace].concat();
    let mut only_forgotten = forget.clone();
    for (version, expected) in [(12, &mut only_forgotten), (13, &mut dropped)] {
        let mut listed = Vec::new();
        for topic in plan.forgotten(version) {
            listed.extend(
                topic.partitions.map(|partition| (topic.id, topic.name.to_string(), partition)),
            );
        }
        listed.sort();
        expected.sort();
        assert_eq!(listed, *expected, "version {version}");
    }
    Plan { send, forget, replace, can_use_topic_ids: plan.can_use_topic_ids() }
}

proptest! {
    #[test]
    fn a_session_does_what_the_model_does(
        seed: u64,
        closes_leaked in any::<bool>(),
        operations in prop::collection::vec(operations(), 1..40),
    ) {
        let leaked_session = if closes_leaked { LeakedSession::Close } else { LeakedSession::Leave };
        let mut pair = Pair {
            session: FetcherSession::new(seed).with_leaked_session(leaked_session),
            model: Model::new(leaked_session),
            last: Vec::new(),
        };
        for operation in operations {
            pair.run(operation);
        }
    }
}

#[test]
fn sessions_are_send_and_sync() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<FetcherSession>();
    is_send_and_sync::<FetchPlan<'_>>();
}
