//! The limits of all groups together.

use super::Coordinator;
use crate::groups::classic::{Claim, Join, Joined, Protocol};
use crate::groups::{Commit, Committed, GroupConfig};
use crate::topics::Topics;
use bytes::Bytes;
use kafka_coordination::{ErrorCode, Monotonic, TopicName};
use tokio::sync::oneshot;

const NOW: Monotonic = Monotonic::from_millis(0);
const ANYBODY: Claim<'static> = Claim { member_id: "", instance_id: None, generation: -1 };

fn coordinator() -> Coordinator {
    let config =
        GroupConfig { max_groups: 2, max_offsets: 3, max_bytes: 20_000, ..GroupConfig::default() };
    Coordinator::new(config, Topics::default(), 7)
}

fn join(coordinator: &mut Coordinator, group: &str, bytes: usize) -> Option<Joined> {
    let (reply, mut answer) = oneshot::channel();
    let protocol = Protocol { name: "range".to_owned(), metadata: Bytes::from(vec![0; bytes]) };
    let join = Join {
        client_id: "client".to_owned(),
        client_host: "host".to_owned(),
        member_id: String::new(),
        new_member_id: format!("{group}-member"),
        instance_id: None,
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".to_owned(),
        protocols: vec![protocol],
        must_know_id: false,
        can_skip_assignment: false,
    };
    coordinator.join(group, join, reply, NOW);
    answer.try_recv().ok()
}

fn commit(topic: &str, metadata: usize) -> Commit {
    let metadata = Some("m".repeat(metadata).into());
    (TopicName::from(topic), 0, Committed { offset: 1, leader_epoch: 0, metadata })
}

#[test]
fn groups_are_bounded_in_number() {
    let mut coordinator = coordinator();
    assert_eq!(join(&mut coordinator, "a", 1), None, "it waits");
    assert_eq!(join(&mut coordinator, "b", 1), None);
    let refused = join(&mut coordinator, "c", 1).unwrap();
    assert_eq!(refused.error, ErrorCode::GroupMaxSizeReached);
    // The initial delay is over, then the sessions: the groups are gone, and with them what they took.
    for ms in [3_000, 13_000, 400_000] {
        coordinator.handle_timeout(Monotonic::from_millis(ms));
    }
    assert_eq!((coordinator.counts().groups, coordinator.bytes), (0, 0));
    assert_eq!((coordinator.next_deadline(), coordinator.deadlines.len()), (None, 0));
    assert_eq!(join(&mut coordinator, "c", 1), None);
}

#[test]
fn groups_are_bounded_in_memory() {
    let mut coordinator = coordinator();
    assert_eq!(join(&mut coordinator, "a", 8_000), None);
    let refused = join(&mut coordinator, "b", 8_000).unwrap();
    assert_eq!(refused.error, ErrorCode::GroupMaxSizeReached);
    let large = coordinator
        .commit("c", ANYBODY, vec![commit("foo", 4_000), commit("bar", 4_000)], NOW)
        .unwrap();
    let expected = [ErrorCode::None, ErrorCode::InvalidCommitOffsetSize];
    assert_eq!(large, expected, "offsets share the memory with groups");
    let refused = join(&mut coordinator, "b", 10).unwrap();
    assert_eq!(refused.error, ErrorCode::GroupMaxSizeReached);
}

#[test]
fn offsets_are_bounded_in_number_and_size() {
    let mut coordinator = coordinator();
    let commits = ["a", "b", "c", "d", "a"].map(|topic| commit(topic, 1));
    let committed = coordinator.commit("group", ANYBODY, commits.into(), NOW).unwrap();
    let (ok, too_many) = (ErrorCode::None, ErrorCode::InvalidCommitOffsetSize);
    assert_eq!(committed, [ok, ok, ok, too_many, ok], "the last is of a topic that has one");
    let committed = coordinator.commit("group", ANYBODY, vec![commit("a", 4_097)], NOW).unwrap();
    assert_eq!(committed, [ErrorCode::OffsetMetadataTooLarge]);
    for topic in ["a", "b", "c"] {
        coordinator.offsets.forget_topic(&TopicName::from(topic));
    }
    assert_eq!((coordinator.offsets.count(), coordinator.offsets.bytes()), (0, 0));
}

#[test]
fn names_of_groups_are_bounded() {
    let mut coordinator = coordinator();
    for name in ["", &"g".repeat(250)] {
        assert_eq!(join(&mut coordinator, name, 1).unwrap().error, ErrorCode::InvalidGroupId);
        let refused = coordinator.commit(name, ANYBODY, Vec::new(), NOW);
        assert_eq!(refused, Err(ErrorCode::InvalidGroupId));
    }
}
