//! Replies of every version: byte for byte what Kafka writes.

use super::kafka::{self, Versions};
use super::{answer, bytes, preamble};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, ChangeError, FetchedRecords, FetchedSnapshot, OffsetAndEpoch, ReadRecords,
    ReadSnapshot, Reply,
};
use kafka_coordination::wire::WireError;
use kafka_coordination::wire::kraft::{Received, ReplyTo, served_versions};

const FETCH: i16 = 1;
const VOTE: i16 = 52;
const BEGIN: i16 = 53;
const END: i16 = 54;
const FETCH_SNAPSHOT: i16 = 59;
const ADD: i16 = 80;
const REMOVE: i16 = 81;

/// The first version of `Fetch` that is answered with endpoints.
const FETCH_TELLS: i16 = 17;

fn each(api_key: i16, expected: Versions, carried: &Bytes, reply: impl Fn(i16) -> Reply) {
    for (version, expected) in expected {
        let reply_to = ReplyTo::new(preamble(api_key, *version));
        let encoded = reply_to.encode_reply(&reply(*version), carried.clone()).unwrap();
        assert_eq!(encoded, bytes(expected), "api {api_key}, version {version}");
    }
}

fn each_error(api_key: i16, expected: Versions, error: ErrorCode) {
    for (version, expected) in expected {
        let encoded = ReplyTo::new(preamble(api_key, *version)).encode_error(error).unwrap();
        assert_eq!(encoded, bytes(expected), "api {api_key}, version {version}");
    }
}

#[test]
fn votes_are_granted_refused_and_not_looked_at() {
    let none = Bytes::new();
    each(VOTE, kafka::VOTE_GRANTED, &none, |_| {
        Reply::Vote(answer(ErrorCode::None, None, true, true))
    });
    // Where a version has no place for endpoints they are left out.
    each(VOTE, kafka::VOTE_FENCED, &none, |_| {
        Reply::Vote(answer(ErrorCode::FencedLeaderEpoch, Some(3), false, true))
    });
    each(VOTE, kafka::VOTE_OTHER_CLUSTER, &none, |_| {
        Reply::Vote(Answer::failed(ErrorCode::InconsistentClusterId))
    });
    each_error(VOTE, kafka::VOTE_OTHER_CLUSTER, ErrorCode::InconsistentClusterId);
}

#[test]
fn leaders_messages_are_answered_for_the_partition_or_at_the_top() {
    let none = Bytes::new();
    each(BEGIN, kafka::BEGUN, &none, |_| {
        Reply::BeginQuorumEpoch(answer(ErrorCode::InvalidVoterKey, Some(3), (), true))
    });
    each(END, kafka::ENDED, &none, |_| {
        Reply::EndQuorumEpoch(answer(ErrorCode::None, Some(3), (), true))
    });
    each_error(BEGIN, kafka::BEGIN_INVALID, ErrorCode::InvalidRequest);
    each_error(END, kafka::END_INVALID, ErrorCode::InvalidRequest);
}

fn fetched() -> FetchedRecords<Option<ReadRecords>> {
    FetchedRecords {
        high_watermark: Some(9),
        log_start_offset: 3,
        diverging: None,
        snapshot: None,
        records: None,
    }
}

fn served(version: i16, body: FetchedRecords<Option<ReadRecords>>) -> Reply {
    Reply::Fetch(answer(ErrorCode::None, Some(3), body, version >= FETCH_TELLS))
}

#[test]
fn fetches_are_answered_with_what_their_version_has() {
    let none = Bytes::new();
    each(FETCH, kafka::FETCHED_NOTHING, &none, |version| served(version, fetched()));
    each(FETCH, kafka::FETCH_DIVERGING, &none, |version| {
        let diverging = Some(OffsetAndEpoch::new(6, 2));
        served(version, FetchedRecords { diverging, ..fetched() })
    });
    each(FETCH, kafka::FETCH_SNAPSHOT_ID, &none, |version| {
        let snapshot = Some(OffsetAndEpoch::new(100, 4));
        served(version, FetchedRecords { snapshot, ..fetched() })
    });
    each(FETCH, kafka::FETCH_FENCED, &none, |_| {
        let body = FetchedRecords { high_watermark: None, ..fetched() };
        Reply::Fetch(answer(ErrorCode::FencedLeaderEpoch, Some(3), body, true))
    });
    let batch = bytes(kafka::VALUES);
    let records =
        [batch.clone(), bytes(kafka::GZIP), bytes(kafka::CONTROL), batch.slice(..batch.len() - 1)];
    each(FETCH, kafka::FETCHED, &records.concat().into(), |version| served(version, fetched()));
}

#[test]
fn a_fetch_that_is_not_looked_at_fails_at_the_top_where_the_version_has_one() {
    each_error(FETCH, kafka::FETCH_INVALID, ErrorCode::InvalidRequest);
}

fn part(position: i64) -> FetchedSnapshot<Option<ReadSnapshot>> {
    FetchedSnapshot { snapshot: OffsetAndEpoch::new(100, 4), size: 80, position, bytes: None }
}

#[test]
fn parts_of_snapshots_are_told_about_unless_there_is_none() {
    let part_of_it = Bytes::from_static(&[1, 2, 3]);
    each(FETCH_SNAPSHOT, kafka::SNAPSHOT_PART, &part_of_it, |_| {
        Reply::FetchSnapshot(answer(ErrorCode::None, Some(3), part(77), true))
    });
    each(FETCH_SNAPSHOT, kafka::SNAPSHOT_NOT_FOUND, &Bytes::new(), |_| {
        Reply::FetchSnapshot(answer(ErrorCode::SnapshotNotFound, Some(3), part(77), true))
    });
    each_error(FETCH_SNAPSHOT, kafka::SNAPSHOT_INVALID, ErrorCode::InvalidRequest);
}

#[test]
fn another_partition_than_the_metadata_log_has_no_snapshot() {
    let requests = kafka::SNAPSHOT_OTHER_PARTITION.iter();
    for ((version, request), (_, expected)) in requests.zip(kafka::SNAPSHOT_UNKNOWN_PARTITION) {
        let reply_to = Received::decode(bytes(request)).unwrap().reply_to().clone();
        let refused = Reply::FetchSnapshot(Answer::failed(ErrorCode::InvalidRequest));
        let encoded = reply_to.encode_reply(&refused, Bytes::new()).unwrap();
        assert_eq!(encoded, bytes(expected), "version {version}");
        // Who means another cluster is told that first.
        let refused = Reply::FetchSnapshot(Answer::failed(ErrorCode::InconsistentClusterId));
        let encoded = reply_to.encode_reply(&refused, Bytes::new()).unwrap();
        assert_eq!(encoded, bytes("00000007000000000000680100"));
    }
}

#[test]
fn changes_of_voters_are_answered_by_api() {
    let done = |_| Reply::VoterChange { result: Ok(()), leader: None };
    each(ADD, kafka::ADDED, &Bytes::new(), done);
    each(REMOVE, kafka::REMOVED, &Bytes::new(), done);

    let refused = Reply::VoterChange { result: Err(ChangeError::NotLeader), leader: None };
    for (api_key, version) in [(80, 0), (80, 1), (81, 0), (82, 0)] {
        let reply_to = ReplyTo::new(preamble(api_key, version));
        let encoded = reply_to.encode_reply(&refused, Bytes::new()).unwrap();
        // Correlation id, no tagged fields, throttle time; then the error.
        assert_eq!(encoded[9..11], [0, 6], "api {api_key}");
    }
}

#[test]
fn a_reply_of_another_api_is_refused() {
    let vote = Reply::Vote(Answer::failed(ErrorCode::InvalidRequest));
    let refused = ReplyTo::new(preamble(END, 1)).encode_reply(&vote, Bytes::new());
    assert_eq!(refused, Err(WireError::UnsupportedApi { api_key: END }));
    let refused = ReplyTo::new(preamble(3, 1)).encode_error(ErrorCode::InvalidRequest);
    assert_eq!(refused, Err(WireError::UnsupportedApi { api_key: 3 }));
    // Every API of the quorum can say that something went wrong.
    for (api_key, versions) in served_versions() {
        for version in versions {
            let reply_to = ReplyTo::new(preamble(api_key, version));
            assert!(
                reply_to.encode_error(ErrorCode::InvalidRequest).is_ok(),
                "{api_key} {version}"
            );
        }
    }
}
