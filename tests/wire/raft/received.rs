//! Requests of every version, as Kafka writes them: what they ask for.

use super::kafka::{self, Versions};
use super::{A, B, bytes, endpoints, listener};
use crate::{filled, quorum};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, BeginQuorumEpochRequest, BlankListenerName, EndQuorumEpochRequest,
    Endpoints, FetchRecordsRequest, FetchSnapshotRequest, KnownHighWatermark, OffsetAndEpoch,
    RemoveVoter, ReplicaKey, RequestHeader, UpdateVoter, VoteRequest,
};
use kafka_coordination::wire::WireError;
use kafka_coordination::wire::kraft::{Asked, Received};
use kafka_protocol::messages::begin_quorum_epoch_request::LeaderEndpoint;
use kafka_protocol::messages::{
    ApiKey, BeginQuorumEpochRequest as Message, RequestHeader as Header,
};
use kafka_protocol::protocol::{Encodable, StrBytes};

fn each(requests: Versions, then: impl Fn(i16, Asked<'_>)) {
    for (version, hex) in requests {
        let received = Received::decode(bytes(hex)).unwrap();
        assert_eq!(received.reply_to().version(), *version);
        then(*version, received.asked(&listener()).unwrap());
    }
}

fn header(version: i16) -> RequestHeader<'static> {
    let (cluster_id, listener) = (Some("cluster"), listener());
    RequestHeader { cluster_id, is_metadata_partition: true, version, listener }
}

#[test]
fn votes_name_directories_from_version_1_and_are_pre_votes_in_version_2() {
    each(kafka::VOTE, |version, asked| {
        let is_keyed = version >= 1;
        let request = VoteRequest {
            voter: is_keyed.then_some(B),
            candidate: if is_keyed { A } else { ReplicaKey::without_directory(1) },
            epoch: 5,
            log_end: OffsetAndEpoch::new(10, 4),
            is_pre_vote: version == 2,
        };
        assert_eq!(asked, Asked::Vote(header(version), request));
    });
}

#[test]
fn leaders_name_their_endpoints_from_version_1() {
    each(kafka::BEGIN, |version, asked| {
        let request = BeginQuorumEpochRequest {
            voter: (version == 1).then_some(B),
            leader_id: 1,
            epoch: 5,
            leader_endpoints: if version == 1 { endpoints() } else { Endpoints::empty() },
        };
        assert_eq!(asked, Asked::BeginQuorumEpoch(header(version), request));
    });
}

#[test]
fn preferred_candidates_have_directories_from_version_1() {
    each(kafka::END, |version, asked| {
        let second = if version == 1 { B } else { ReplicaKey::without_directory(2) };
        let request = EndQuorumEpochRequest {
            leader_id: 1,
            epoch: 5,
            preferred_candidates: vec![second, ReplicaKey::without_directory(3)],
            leader_endpoints: if version == 1 { endpoints() } else { Endpoints::empty() },
        };
        assert_eq!(asked, Asked::EndQuorumEpoch(header(version), request));
    });
}

fn fetch(version: i16, high_watermark: KnownHighWatermark) -> Asked<'static> {
    let request = FetchRecordsRequest {
        replica: if version >= 17 { A } else { ReplicaKey::without_directory(1) },
        leader_epoch: 5,
        log_end: OffsetAndEpoch::new(10, 4),
        max_wait_ms: 500,
        max_bytes: 1_048_576,
        high_watermark,
    };
    Asked::Fetch(header(version), request)
}

#[test]
fn fetches_name_the_replica_at_three_places_and_the_high_watermark_from_version_18() {
    each(kafka::FETCH, |version, asked| {
        let known =
            if version == 18 { KnownHighWatermark::At(9) } else { KnownHighWatermark::Unsupported };
        assert_eq!(asked, fetch(version, known), "version {version}");
    });
    each(kafka::FETCH_UNKNOWN, |version, asked| {
        assert_eq!(asked, fetch(version, KnownHighWatermark::Unknown));
    });
    each(kafka::FETCH_UNSUPPORTED, |version, asked| {
        assert_eq!(asked, fetch(version, KnownHighWatermark::Unsupported));
    });
}

#[test]
fn a_fetch_by_name_is_not_for_the_metadata_partition() {
    each(kafka::FETCH_BY_NAME, |version, asked| {
        let Asked::Fetch(header, _) = asked else { panic!("{asked:?}") };
        assert!(!header.is_metadata_partition, "version {version}");
        assert_eq!(header.cluster_id, (version >= 12).then_some("cluster"), "version {version}");
    });
}

#[test]
fn parts_of_snapshots_are_asked_for_with_a_directory_from_version_1() {
    each(kafka::SNAPSHOT, |version, asked| {
        let request = FetchSnapshotRequest {
            replica: if version == 1 { A } else { ReplicaKey::without_directory(1) },
            leader_epoch: 5,
            snapshot: OffsetAndEpoch::new(100, 4),
            position: 77,
            max_bytes: 1_000,
        };
        assert_eq!(asked, Asked::FetchSnapshot(header(version), request));
    });
    each(kafka::SNAPSHOT_OTHER_PARTITION, |_, asked| {
        let Asked::FetchSnapshot(header, _) = asked else { panic!("{asked:?}") };
        assert!(!header.is_metadata_partition);
    });
}

#[test]
fn requests_on_voters_are_what_their_handlers_take() {
    let cluster_id = Some("cluster");
    each(kafka::ADD, |version, asked| {
        let acknowledge = if version == 1 { Acknowledge::Appended } else { Acknowledge::Committed };
        let add = AddVoter { cluster_id, voter: A, endpoints: endpoints(), acknowledge };
        assert_eq!(asked, Asked::AddVoter(add));
    });
    each(kafka::REMOVE, |_, asked| {
        assert_eq!(asked, Asked::RemoveVoter(RemoveVoter { cluster_id, voter: B }));
    });
    each(kafka::UPDATE, |_, asked| {
        let update = UpdateVoter {
            cluster_id,
            leader_epoch: 5,
            voter: A,
            endpoints: endpoints(),
            min_version: 0,
            max_version: 1,
            listener: listener(),
        };
        assert_eq!(asked, Asked::UpdateVoter(update));
    });
}

#[test]
fn a_quorum_is_described_to_who_asks() {
    for version in 0..=2 {
        let (header, body) = filled::request(ApiKey::DescribeQuorum, version);
        let received = Received::decode(filled::encode(&header, &body)).unwrap();
        let asked = received.asked(&listener());
        assert_eq!(asked, Ok(Asked::DescribeQuorum(&quorum::describe())), "version {version}");
    }
}

#[test]
fn versions_are_asked_for_without_a_body_that_matters() {
    each(kafka::API_VERSIONS, |_, asked| assert_eq!(asked, Asked::ApiVersions));
}

/// `BeginQuorumEpoch` that says this.
fn begin(message: &Message) -> Received {
    let mut out = Vec::new();
    let header = Header::default().with_request_api_key(53).with_request_api_version(1);
    header.encode(&mut out, 2).unwrap();
    message.encode(&mut out, 1).unwrap();
    Received::decode(out.into()).unwrap()
}

#[test]
fn a_request_without_its_one_partition_is_not_for_the_metadata_partition() {
    let received = begin(&Message::default());
    let Ok(Asked::BeginQuorumEpoch(header, request)) = received.asked(&listener()) else {
        panic!("{received:?}")
    };
    assert!(!header.is_metadata_partition);
    assert_eq!((header.cluster_id, request.voter), (None, None));
}

#[test]
fn listener_names_are_upper_cased_and_a_blank_one_is_an_invalid_request() {
    let named = |name| {
        let endpoint = LeaderEndpoint::default().with_name(StrBytes::from_static_str(name));
        begin(&Message::default().with_leader_endpoints(vec![endpoint]))
    };
    let received = named("controller");
    let Ok(Asked::BeginQuorumEpoch(_, request)) = received.asked(&listener()) else {
        panic!("{received:?}")
    };
    assert!(request.leader_endpoints.get(&listener()).is_some());

    let received = named(" ");
    assert_eq!(received.asked(&listener()), Err(BlankListenerName));
    let refusal = received.reply_to().encode_error(ErrorCode::InvalidRequest).unwrap();
    assert_eq!(refusal[..], [0, 0, 0, 0, 0, 0, 42, 1, 0]);
}

#[test]
fn apis_of_others_are_refused_unread() {
    let metadata = bytes("0003000c0000000700");
    assert_eq!(Received::decode(metadata), Err(WireError::UnsupportedApi { api_key: 3 }));
}
