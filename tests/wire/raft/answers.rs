//! Answers of every version, as Kafka writes them: what they say.

use super::kafka::{self, Versions};
use super::{answer, bytes, listener, preamble};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BatchContent, ControlRecord, Endpoint, Endpoints, FetchedRecords, FetchedSnapshot,
    KRaftVersion, LeaderChange, LogBatch, OffsetAndEpoch, Response,
};
use kafka_coordination::wire::WireError;
use kafka_coordination::wire::kraft::{decode_answer, log_batches};

/// The first version of `Fetch` that is answered with endpoints.
const FETCH_TELLS: i16 = 17;

fn each(api_key: i16, answers: Versions, expected: impl Fn(i16) -> Response) {
    for (version, hex) in answers {
        let sent = preamble(api_key, *version);
        let decoded = decode_answer(sent, bytes(hex), &listener());
        assert_eq!(decoded, Ok(expected(*version)), "api {api_key}, version {version}");
    }
}

#[test]
fn votes() {
    each(52, kafka::VOTE_GRANTED, |_| Response::Vote(answer(ErrorCode::None, None, true, false)));
    each(52, kafka::VOTE_FENCED, |version| {
        Response::Vote(answer(ErrorCode::FencedLeaderEpoch, Some(3), false, version >= 1))
    });
    each(52, kafka::VOTE_OTHER_CLUSTER, |_| {
        Response::Vote(Answer::failed(ErrorCode::InconsistentClusterId))
    });
}

#[test]
fn messages_of_a_leader() {
    each(53, kafka::BEGUN, |version| {
        let answer = answer(ErrorCode::InvalidVoterKey, Some(3), (), version >= 1);
        Response::BeginQuorumEpoch(answer)
    });
    each(53, kafka::BEGIN_INVALID, |_| {
        Response::BeginQuorumEpoch(Answer::failed(ErrorCode::InvalidRequest))
    });
    each(54, kafka::ENDED, |version| {
        Response::EndQuorumEpoch(answer(ErrorCode::None, Some(3), (), version >= 1))
    });
    each(54, kafka::END_INVALID, |_| {
        Response::EndQuorumEpoch(Answer::failed(ErrorCode::InvalidRequest))
    });
}

fn fetched() -> FetchedRecords<Vec<LogBatch>> {
    FetchedRecords {
        high_watermark: Some(9),
        log_start_offset: 3,
        diverging: None,
        snapshot: None,
        records: Vec::new(),
    }
}

#[test]
fn fetches() {
    let served = |version, body| {
        Response::Fetch(answer(ErrorCode::None, Some(3), body, version >= FETCH_TELLS))
    };
    each(1, kafka::FETCHED_NOTHING, |version| served(version, fetched()));
    each(1, kafka::FETCH_DIVERGING, |version| {
        let diverging = Some(OffsetAndEpoch::new(6, 2));
        served(version, FetchedRecords { diverging, ..fetched() })
    });
    each(1, kafka::FETCH_SNAPSHOT_ID, |version| {
        let snapshot = Some(OffsetAndEpoch::new(100, 4));
        served(version, FetchedRecords { snapshot, ..fetched() })
    });
    each(1, kafka::FETCH_FENCED, |_| {
        let body = FetchedRecords { high_watermark: None, ..fetched() };
        Response::Fetch(answer(ErrorCode::FencedLeaderEpoch, Some(3), body, true))
    });
    each(1, kafka::FETCHED, |version| {
        served(version, FetchedRecords { records: batches(), ..fetched() })
    });
}

/// What Kafka's answer carries, whose last batch is cut.
fn batches() -> Vec<LogBatch> {
    let batch = |base_offset, last_offset, hex, control| LogBatch {
        base_offset,
        last_offset,
        epoch: 5,
        content: BatchContent::Encoded { bytes: bytes(hex), control },
    };
    let change = LeaderChange { leader_id: 3, voters: vec![1, 3], granting_voters: vec![3] };
    let control =
        vec![ControlRecord::LeaderChange(change), ControlRecord::KRaftVersion(KRaftVersion::V1)];
    vec![
        batch(10, 11, kafka::VALUES, None),
        batch(12, 13, kafka::GZIP, None),
        batch(14, 15, kafka::CONTROL, Some(control)),
    ]
}

#[test]
fn batches_share_the_bytes_that_they_came_in() {
    let records = bytes(kafka::VALUES);
    let [LogBatch { content: BatchContent::Encoded { bytes, .. }, .. }] =
        &log_batches(&records).unwrap()[..]
    else {
        panic!("one batch")
    };
    assert_eq!(bytes.as_ptr(), records.as_ptr());
}

#[test]
fn a_batch_with_a_wrong_checksum_fails_the_answer() {
    let (version, hex) = kafka::FETCHED[0];
    let mut damaged = bytes(hex).to_vec();
    let value = damaged.windows(5).position(|bytes| bytes == b"value").unwrap();
    damaged[value] ^= 1;
    let failed = decode_answer(preamble(1, version), damaged.into(), &listener());
    let Err(WireError::Batch(error)) = failed else { panic!("{failed:?}") };
    assert!(error.is_corrupt());
}

#[test]
fn parts_of_snapshots() {
    let part = |size, position, bytes| FetchedSnapshot {
        snapshot: if size > 0 { OffsetAndEpoch::new(100, 4) } else { OffsetAndEpoch::new(0, 0) },
        size,
        position,
        bytes: Bytes::from_static(bytes),
    };
    each(59, kafka::SNAPSHOT_PART, |version| {
        let part = part(80, 77, &[1, 2, 3]);
        Response::FetchSnapshot(answer(ErrorCode::None, Some(3), part, version >= 1))
    });
    each(59, kafka::SNAPSHOT_NOT_FOUND, |version| {
        let part = part(0, 0, &[]);
        Response::FetchSnapshot(answer(ErrorCode::SnapshotNotFound, Some(3), part, version >= 1))
    });
    each(59, kafka::SNAPSHOT_INVALID, |_| {
        Response::FetchSnapshot(Answer::failed(ErrorCode::InvalidRequest))
    });
    // Another partition than the one asked for says nothing.
    each(59, kafka::SNAPSHOT_UNKNOWN_PARTITION, |_| {
        Response::FetchSnapshot(Answer::failed(ErrorCode::None))
    });
}

#[test]
fn changes_of_voters() {
    each(80, kafka::ADDED, |_| Response::AddVoter(ErrorCode::None));
    each(80, kafka::ADD_DUPLICATE, |_| Response::AddVoter(ErrorCode::DuplicateVoter));
    each(81, kafka::REMOVED, |_| Response::RemoveVoter(ErrorCode::None));
    each(82, kafka::UPDATED, |_| Response::UpdateVoter {
        error: ErrorCode::NotLeaderOrFollower,
        leader_id: Some(3),
        epoch: 5,
        leader_endpoints: Endpoints::new([Endpoint::new("CONTROLLER", "c", u16::MAX)]),
    });
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let (version, hex) = kafka::VOTE_GRANTED[0];
    let mut answer = bytes(hex).to_vec();
    answer[3] = 8;
    let refused = decode_answer(preamble(52, version), answer.into(), &listener());
    assert_eq!(refused, Err(WireError::Correlation { expected: 7, received: 8 }));
}

#[test]
fn an_error_that_is_not_known_is_an_unknown_one() {
    let (version, hex) = kafka::VOTE_OTHER_CLUSTER[0];
    let mut answer = bytes(hex).to_vec();
    answer[5..7].copy_from_slice(&[0x70, 0]);
    let decoded = decode_answer(preamble(52, version), answer.into(), &listener());
    assert_eq!(decoded, Ok(Response::Vote(Answer::failed(ErrorCode::UnknownServerError))));
}
