//! How a plan is laid out in a request, and what public bug reports ask of it.

use crate::fixture::{Key, NO_ID, X, Y, at, hear, key, plan};
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{FetchParams, FetchPlan, FetcherSession, Verdict};

/// A topic element: id, name, partitions.
type Element = (TopicId, String, Vec<i32>);

fn element(id: TopicId, name: &str, partitions: &[i32]) -> Element {
    (id, name.to_owned(), partitions.to_vec())
}

fn topics(plan: FetchPlan<'_>, version: i16) -> Vec<Element> {
    let topics = plan.topics(version);
    let partitions = topics.map(|topic| {
        (topic.id, topic.name.to_string(), topic.partitions.map(|it| it.partition).collect())
    });
    partitions.collect()
}

fn forgotten(plan: FetchPlan<'_>, version: i16) -> Vec<Element> {
    let topics = plan.forgotten(version);
    topics.map(|topic| (topic.id, topic.name.to_string(), topic.partitions.collect())).collect()
}

/// A session with these partitions, all at offset 0.
fn opened(partitions: &[Key]) -> FetcherSession {
    let mut session = FetcherSession::new(3);
    let wishes: Vec<_> = partitions
        .iter()
        .map(|(id, name, partition)| (*id, name.as_str(), *partition, at(0)))
        .collect();
    let version = if plan(&mut session, &wishes).can_use_topic_ids() { 13 } else { 12 };
    assert_eq!(hear(&mut session, version, 9, partitions), Verdict::Opened);
    session
}

#[test]
fn to_replace_with_different_versions() {
    let mut session = opened(&[key(X, "foo", 0), key(X, "foo", 1)]);
    let plan = plan(&mut session, &[(Y, "foo", 0, at(0))]);
    for version in 7..=18 {
        assert_eq!(topics(plan, version), [element(Y, "foo", &[0])], "version {version}");
        // Below version 13 what is replaced has the key of what is sent.
        let partitions: &[i32] = if version < 13 { &[1] } else { &[1, 0] };
        assert_eq!(forgotten(plan, version), [element(X, "foo", partitions)], "version {version}");
    }
}

#[test]
fn neighbours_of_one_topic_share_an_element_and_order_is_kept() {
    let mut session = FetcherSession::new(3);
    let wishes =
        [(X, "foo", 1, at(0)), (X, "foo", 0, at(0)), (Y, "bar", 0, at(0)), (X, "foo", 2, at(0))];
    let plan = plan(&mut session, &wishes);
    let expected = [element(X, "foo", &[1, 0]), element(Y, "bar", &[0]), element(X, "foo", &[2])];
    assert_eq!(topics(plan, 12), expected);
    assert_eq!(topics(plan, 13), expected);
}

#[test]
fn two_ids_under_one_name_are_two_elements() {
    let mut session = FetcherSession::new(3);
    let plan = plan(&mut session, &[(X, "foo", 0, at(0)), (Y, "foo", 1, at(0))]);
    assert_eq!(topics(plan, 13), [element(X, "foo", &[0]), element(Y, "foo", &[1])]);
    assert_eq!(topics(plan, 12), [element(X, "foo", &[0, 1])], "the wire has the name only");
}

#[test]
fn removed_and_replaced_partitions_of_one_name_keep_their_ids() {
    let (third, bar) = (TopicId::from_u128(0x3333), TopicId::from_u128(0x4444));
    let mut session =
        opened(&[key(X, "foo", 0), key(Y, "foo", 1), key(bar, "bar", 0), key(X, "foo", 2)]);
    let plan = plan(&mut session, &[(third, "foo", 1, at(0)), (third, "foo", 2, at(0))]);
    let expected = [
        element(X, "foo", &[0]),
        element(bar, "bar", &[0]),
        element(Y, "foo", &[1]),
        element(X, "foo", &[2]),
    ];
    assert_eq!(forgotten(plan, 13), expected);
    assert_eq!(forgotten(plan, 12), [element(X, "foo", &[0]), element(bar, "bar", &[0])]);
}

/// KAFKA-13079: a partition without an id can only be forgotten by name.
#[test]
fn forgetting_a_partition_without_id_is_never_sent_by_id() {
    let mut session = opened(&[key(NO_ID, "foo", 0), key(NO_ID, "bar", 0)]);
    let plan = plan(&mut session, &[(X, "bar", 0, at(0))]);
    assert!(!plan.can_use_topic_ids());
    assert_eq!(plan.version(18), 12);
    assert_eq!(forgotten(plan, plan.version(18)), [element(NO_ID, "foo", &[0])]);
}

/// KAFKA-9338, from the fetcher's side: an epoch that appears, changes or vanishes is sent.
#[test]
fn every_parameter_of_a_partition_is_sent_when_it_changes() {
    let changes: [fn(&mut FetchParams); 7] = [
        |params| params.fetch_offset = 20,
        |params| params.max_bytes = 777,
        |params| params.log_start_offset = 3,
        |params| params.leader_epoch = Some(6),
        |params| params.leader_epoch = None,
        |params| params.last_fetched_epoch = Some(0),
        |params| params.last_fetched_epoch = None,
    ];
    let mut session = opened(&[key(X, "foo", 0)]);
    let mut params = at(0);
    for change in changes {
        change(&mut params);
        let altered = plan(&mut session, &[(X, "foo", 0, params)]);
        assert_eq!(altered.to_send().map(|sent| sent.params).collect::<Vec<_>>(), [params]);
        assert_eq!(plan(&mut session, &[(X, "foo", 0, params)]).to_send().len(), 0);
    }
}

#[test]
fn a_negative_epoch_counts_as_absent() {
    let mut session = opened(&[key(X, "foo", 0)]);
    let mut params = at(0);
    params.leader_epoch = Some(-1);
    params.last_fetched_epoch = Some(i32::MIN);
    assert_eq!(plan(&mut session, &[(X, "foo", 0, params)]).to_send().len(), 0);
    params.leader_epoch = Some(4);
    let sent = plan(&mut session, &[(X, "foo", 0, params)]);
    params.last_fetched_epoch = None;
    assert_eq!(sent.to_send().map(|sent| sent.params).collect::<Vec<_>>(), [params]);
}

#[test]
fn partitions_of_one_topic_are_forgotten_together() {
    let foo = |partition| key(X, "foo", partition);
    let bar = |partition| key(Y, "bar", partition);
    let mut session = opened(&[foo(2), bar(0), foo(0), bar(1), foo(1)]);
    let plan = plan(&mut session, &[(Y, "bar", 1, at(0))]);
    let expected = [element(X, "foo", &[2, 0, 1]), element(Y, "bar", &[0])];
    assert_eq!(forgotten(plan, 12), expected);
    assert_eq!(forgotten(plan, 13), expected);
}
