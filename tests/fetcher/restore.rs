//! A session leaves and enters, and what cannot enter.

use crate::fixture::{NO_ID, X, Y, at, metadata};
use kafka_coordination::fetch::{FetchMetadata, FetcherSession, RestoreError, SessionPartition};
use kafka_coordination::{TopicId, TopicName};

fn restore(
    next: FetchMetadata,
    partitions: &[(TopicId, &str, i32)],
    names: &[(TopicId, &str)],
) -> Result<FetcherSession, RestoreError> {
    let partitions: Vec<_> = partitions
        .iter()
        .map(|(id, topic, partition)| (*id, TopicName::from(*topic), *partition))
        .collect();
    let names: Vec<_> = names.iter().map(|(id, topic)| (*id, TopicName::from(*topic))).collect();
    let partitions = partitions.iter().map(|(id, topic, partition)| SessionPartition {
        id: *id,
        topic,
        partition: *partition,
        params: at(0),
    });
    FetcherSession::restore(1, next, partitions, names.iter().map(|(id, topic)| (*id, topic)))
}

#[test]
fn every_broken_invariant_has_its_error() {
    let next = metadata(5, 3);
    let foo = || TopicName::from("foo");
    let epoch = |next| RestoreError::Epoch { next };
    let cases = [
        (restore(metadata(5, -2), &[], &[]), epoch(metadata(5, -2))),
        (restore(metadata(0, 1), &[], &[]), epoch(metadata(0, 1))),
        (
            restore(next, &[(X, "foo", 1), (Y, "foo", 1)], &[]),
            RestoreError::DuplicatePartition { topic: foo(), partition: 1 },
        ),
        (
            restore(next, &[(X, "foo", 1)], &[(NO_ID, "foo")]),
            RestoreError::ZeroTopicId { topic: foo() },
        ),
        (
            restore(next, &[(X, "foo", 1)], &[(X, "foo"), (X, "foo")]),
            RestoreError::DuplicateTopicId { id: X },
        ),
        (restore(next, &[], &[(X, "foo")]), RestoreError::UnusedTopicId { id: X, topic: foo() }),
        (
            restore(next, &[(X, "foo", 1), (Y, "foo", 2)], &[(X, "foo")]),
            RestoreError::UnnamedTopicId { id: Y, topic: foo(), partition: 2 },
        ),
    ];
    for (result, error) in cases {
        assert_eq!(result.err(), Some(error));
    }
}

#[test]
fn states_that_a_session_can_have_enter() {
    for next in
        [metadata(0, 0), metadata(0, -1), metadata(-7, 0), metadata(5, -1), metadata(5, i32::MAX)]
    {
        // Without the use of ids no id is known, whether partitions have them or not.
        let partitions = [(X, "foo", 0), (NO_ID, "foo", 1)];
        assert_eq!(restore(next, &partitions, &[]).map(|it| it.next_metadata()), Ok(next));
        // Two names may share an id, of which the first counts.
        let partitions = [(X, "foo", 0), (X, "bar", 0)];
        assert_eq!(
            restore(next, &partitions, &[(X, "bar")]).map(|it| it.next_metadata()),
            Ok(next)
        );
    }
}
