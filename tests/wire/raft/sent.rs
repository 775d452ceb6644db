//! Requests of every version: byte for byte what Kafka writes.

use super::kafka::{self, Versions};
use super::{A, B, CORRELATION_ID, bytes, endpoints, preamble};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    AddVoterRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRecordsRequest,
    FetchSnapshotRequest, KnownHighWatermark, OffsetAndEpoch, ReplicaKey, Request,
    SupportedVersions, UpdateVoterRequest, VoteRequest,
};
use kafka_coordination::wire::WireError;
use kafka_coordination::wire::kraft::{
    PeerVersions, Sender, api_versions_response, encode_request, served_versions,
};

const SENDER: Sender<'_> = Sender { cluster_id: "cluster", client_id: "raft-client-1" };

/// A peer that has this API up to this version, and later ones of others.
fn peer(api_key: i16, version: i16) -> PeerVersions {
    let apis = served_versions().map(|(key, versions)| {
        (key, if key == api_key { 0..=version } else { *versions.start()..=99 })
    });
    PeerVersions::of(&api_versions_response(apis, SupportedVersions::ALL, 4))
}

fn each(api_key: i16, expected: Versions, request: impl Fn(i16) -> Request) {
    for (version, expected) in expected {
        let peer = peer(api_key, *version);
        let (sent, encoded) =
            encode_request(&request(*version), &SENDER, &peer, CORRELATION_ID).unwrap();
        assert_eq!(encoded, bytes(expected), "api {api_key}, version {version}");
        assert_eq!(sent, preamble(api_key, *version));
    }
}

fn vote(is_pre_vote: bool) -> Request {
    let log_end = OffsetAndEpoch::new(10, 4);
    Request::Vote(VoteRequest { voter: Some(B), candidate: A, epoch: 5, log_end, is_pre_vote })
}

#[test]
fn votes() {
    each(52, kafka::VOTE, |version| vote(version == 2));
}

#[test]
fn a_pre_vote_cannot_be_asked_of_who_does_not_know_it() {
    for (version, common) in [(0, 0), (1, 1), (-1, -1)] {
        let refused = encode_request(&vote(true), &SENDER, &peer(52, version), 1).unwrap_err();
        let expected =
            WireError::UnsupportedVersion { api_key: 52, version: common, first: 2, last: 2 };
        assert_eq!(refused, expected);
        assert_eq!(refused.code(), ErrorCode::UnsupportedVersion);
    }
}

#[test]
fn messages_of_a_leader() {
    each(53, kafka::BEGIN, |_| {
        Request::BeginQuorumEpoch(BeginQuorumEpochRequest {
            voter: Some(B),
            leader_id: 1,
            epoch: 5,
            leader_endpoints: endpoints(),
        })
    });
    each(54, kafka::END, |_| {
        Request::EndQuorumEpoch(EndQuorumEpochRequest {
            leader_id: 1,
            epoch: 5,
            preferred_candidates: vec![B, ReplicaKey::without_directory(3)],
            leader_endpoints: endpoints(),
        })
    });
}

fn fetch(high_watermark: KnownHighWatermark) -> Request {
    Request::Fetch(FetchRecordsRequest {
        replica: A,
        leader_epoch: 5,
        log_end: OffsetAndEpoch::new(10, 4),
        max_wait_ms: 500,
        max_bytes: 1_048_576,
        high_watermark,
    })
}

#[test]
fn fetches() {
    each(1, kafka::FETCH, |_| fetch(KnownHighWatermark::At(9)));
    each(1, kafka::FETCH_UNKNOWN, |_| fetch(KnownHighWatermark::Unknown));
    each(1, kafka::FETCH_UNSUPPORTED, |_| fetch(KnownHighWatermark::Unsupported));
    // Who knows topics by name alone is not asked.
    let refused = encode_request(&fetch(KnownHighWatermark::Unknown), &SENDER, &peer(1, 12), 1);
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::UnsupportedVersion));
}

#[test]
fn fetches_of_snapshots() {
    each(59, kafka::SNAPSHOT, |_| {
        Request::FetchSnapshot(FetchSnapshotRequest {
            replica: A,
            leader_epoch: 5,
            snapshot: OffsetAndEpoch::new(100, 4),
            position: 77,
            max_bytes: 1_000,
        })
    });
}

#[test]
fn changes_of_voters() {
    let add =
        Request::AddVoter(AddVoterRequest { timeout_ms: 2_000, voter: A, endpoints: endpoints() });
    each(80, &kafka::ADD[1..], |_| add.clone());
    // Version 0 would be answered when the voter is committed, for which it waits in vain.
    let refused = encode_request(&add, &SENDER, &peer(80, 0), 1).map_err(|error| error.code());
    assert_eq!(refused, Err(ErrorCode::UnsupportedVersion));

    each(81, kafka::REMOVE, |_| Request::RemoveVoter(B));
    each(82, kafka::UPDATE, |_| {
        Request::UpdateVoter(UpdateVoterRequest {
            leader_epoch: 5,
            voter: A,
            endpoints: endpoints(),
            supported_versions: SupportedVersions::ALL,
        })
    });
}

#[test]
fn a_new_connection_is_asked_for_its_versions_and_nothing_else() {
    each(18, kafka::API_VERSIONS, |_| Request::ApiVersions);
    let unknown = PeerVersions::default();
    let (sent, _) = encode_request(&Request::ApiVersions, &SENDER, &unknown, 1).unwrap();
    assert_eq!(sent.api_version, 4);
    let refused = encode_request(&vote(false), &SENDER, &unknown, 1).map_err(|error| error.code());
    assert_eq!(refused, Err(ErrorCode::UnsupportedVersion));
}

#[test]
fn text_that_a_version_cannot_count_is_refused() {
    let end = Request::EndQuorumEpoch(EndQuorumEpochRequest {
        leader_id: 1,
        epoch: 5,
        preferred_candidates: Vec::new(),
        leader_endpoints: endpoints(),
    });
    let cluster_id = &"c".repeat(40_000);
    let refused = encode_request(&end, &Sender { cluster_id, ..SENDER }, &peer(54, 0), 1);
    assert!(matches!(refused, Err(WireError::Malformed { api_key: 54, .. })), "{refused:?}");
}
