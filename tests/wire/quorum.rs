//! Requests on voters and their answers, and control records beside those of `kafka-protocol`.

use bytes::{Bytes, BytesMut};
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, Batches, BlankListenerName, ChangeError, ControlRecord, Endpoint,
    Endpoints, KRaftVersion, LeaderChange, ListenerName, RemoveVoter, ReplicaKey,
    SupportedVersions, UpdateVoter, VoterNode, VoterSet, encode_control_batch,
};
use kafka_coordination::wire::{WireError, kraft};
use kafka_coordination::{ErrorCode, Timestamp};
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::update_raft_voter_response::CurrentLeader;
use kafka_protocol::messages::{
    AddRaftVoterRequest, DescribeQuorumRequest, KRaftVersionRecord, LeaderChangeMessage,
    RemoveRaftVoterRequest, RequestHeader, UpdateRaftVoterRequest, UpdateRaftVoterResponse,
    VotersRecord,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use kafka_protocol::records::RecordBatchDecoder;

const KEY: ReplicaKey = ReplicaKey::from_wire(7, 0x7000_0000_0000_0000_0000_0000_0000_0001);

fn endpoints() -> Endpoints {
    Endpoints::new([Endpoint::new("CONTROLLER", "a", 9_093), Endpoint::new("OTHER", "b", u16::MAX)])
}

fn add_voter(acknowledge: Acknowledge) -> AddVoter<'static> {
    AddVoter { cluster_id: Some("cluster"), voter: KEY, endpoints: endpoints(), acknowledge }
}

fn update_voter() -> UpdateVoter<'static> {
    UpdateVoter {
        cluster_id: None,
        leader_epoch: 5,
        voter: KEY,
        endpoints: endpoints(),
        min_version: 0,
        max_version: 1,
        listener: ListenerName::new("CONTROLLER"),
    }
}

pub(crate) fn add() -> AddRaftVoterRequest {
    kraft::add_voter_request(&add_voter(Acknowledge::Committed), 2_000)
}

pub(crate) fn remove() -> RemoveRaftVoterRequest {
    kraft::remove_voter_request(&RemoveVoter { cluster_id: Some(""), voter: KEY })
}

pub(crate) fn update() -> UpdateRaftVoterRequest {
    kraft::update_voter_request(&update_voter())
}

pub(crate) fn describe() -> DescribeQuorumRequest {
    let topic = TopicData::default()
        .with_topic_name(StrBytes::from_static_str("__cluster_metadata").into())
        .with_partitions(vec![PartitionData::default()]);
    DescribeQuorumRequest::default().with_topics(vec![topic])
}

#[test]
fn requests_come_back_as_they_were_sent() {
    let wanted = add_voter(Acknowledge::Appended);
    let request = kraft::add_voter_request(&wanted, 2_000);
    assert_eq!(kraft::add_voter(&request, Acknowledge::Appended), Ok(wanted));
    let wanted = RemoveVoter { cluster_id: Some(""), voter: ReplicaKey::without_directory(3) };
    assert_eq!(kraft::remove_voter(&kraft::remove_voter_request(&wanted)), wanted);
    let wanted = update_voter();
    let request = kraft::update_voter_request(&wanted);
    assert_eq!(kraft::update_voter(&request, wanted.listener.clone()), Ok(wanted));
}

#[test]
fn a_listener_without_a_name_is_told() {
    let mut request = add();
    request.listeners[0].name = StrBytes::from_static_str(" ");
    let added = kraft::add_voter(&request, Acknowledge::Committed);
    assert_eq!(added, Err(BlankListenerName));
    request.listeners[0].name = StrBytes::from_static_str("controller");
    let added = kraft::add_voter(&request, Acknowledge::Committed).unwrap();
    assert_eq!(added.endpoints, endpoints());
}

/// The bytes of an `AddRaftVoter` request.
fn add_bytes(acknowledge: Acknowledge, version: i16) -> Bytes {
    let header =
        RequestHeader::default().with_request_api_key(80).with_request_api_version(version);
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes, 2).unwrap();
    kraft::encode_add_voter(&add(), acknowledge, version, &mut bytes).unwrap();
    bytes.freeze()
}

// KIP-1186.
#[test]
fn a_voter_that_adds_itself_says_when_it_wants_its_answer() {
    for (version, acknowledge, decoded) in [
        (0, Acknowledge::Appended, Acknowledge::Committed),
        (1, Acknowledge::Appended, Acknowledge::Appended),
        (1, Acknowledge::Committed, Acknowledge::Committed),
    ] {
        let bytes = add_bytes(acknowledge, version);
        let (header, request, wanted) = kraft::decode_add_voter(bytes.clone()).unwrap();
        assert_eq!((header.request_api_version, wanted), (version, decoded));
        assert_eq!(request, add());
        for end in 8..bytes.len() {
            let cut = kraft::decode_add_voter(bytes.slice(..end));
            assert!(cut.is_err(), "{version} {end} {cut:?}");
        }
        let more = [bytes.as_ref(), &[0]].concat();
        let error = kraft::decode_add_voter(more.into()).unwrap_err();
        assert!(matches!(error, WireError::TrailingBytes { count: 1, .. }));
    }
    // Version 0 is that of the crate, byte for byte.
    let mut theirs = BytesMut::new();
    add().encode(&mut theirs, 0).unwrap();
    assert!(add_bytes(Acknowledge::Committed, 0).ends_with(&theirs));
    let error = kraft::encode_add_voter(&add(), Acknowledge::Committed, 2, &mut theirs);
    assert!(matches!(error, Err(WireError::UnsupportedVersion { version: 2, .. })));
}

#[test]
fn a_huge_count_of_listeners_takes_no_memory() {
    // Api 80, version 1, no client; no cluster; time-out, id and directory; 2147483646 listeners.
    let mut bytes = vec![0, 80, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0, 0];
    bytes.extend([0; 4 + 4 + 16]);
    bytes.extend([0xff, 0xff, 0xff, 0xff, 7, 0, 0]);
    let bytes = Bytes::from(bytes);
    let memory = allocation_counter::measure(|| {
        let error = kraft::decode_add_voter(bytes.clone()).unwrap_err();
        assert!(matches!(error, WireError::CountTooLarge { field: "listeners", .. }), "{error}");
    });
    assert_eq!(memory.bytes_total, 0);
}

// KAFKA-18061: the message of a success was the text "NONE".
#[test]
fn an_answer_has_a_message_only_if_it_is_an_error() {
    let (added, removed) =
        (kraft::add_voter_response(&Ok(())), kraft::remove_voter_response(&Ok(())));
    assert_eq!((added.error_code, added.error_message), (0, None));
    assert_eq!((removed.error_code, removed.error_message), (0, None));
    let refused = kraft::add_voter_response(&Err(ChangeError::ChangePending));
    assert_eq!(refused.error_code, ErrorCode::RequestTimedOut.code());
    assert_eq!(refused.error_message.as_deref(), Some("another change of voters is under way"));
}

#[test]
fn an_answer_to_an_update_says_who_leads() {
    let listener = ListenerName::new("CONTROLLER");
    let unknown = kraft::update_voter_response(&Err(ChangeError::NotLeader), None);
    assert_eq!(unknown.error_code, ErrorCode::NotLeaderOrFollower.code());
    assert_eq!(kraft::updated_leader(&unknown, &listener), (-1, -1, Endpoints::empty()));
    let leader = CurrentLeader::default()
        .with_leader_id(3.into())
        .with_leader_epoch(9)
        .with_host(StrBytes::from_static_str("c"))
        .with_port(9_093);
    let known = UpdateRaftVoterResponse::default().with_current_leader(leader);
    let endpoints = Endpoints::new([Endpoint::new(listener.clone(), "c", 9_093)]);
    assert_eq!(kraft::updated_leader(&known, &listener), (3, 9, endpoints));
}

// KAFKA-16953: what a version does not carry made its answer fail to encode.
#[test]
fn who_does_not_lead_says_so_at_each_version() {
    let response = kraft::describe_quorum_response(&describe(), None);
    assert_eq!((response.error_code, response.error_message.as_deref()), (0, Some("")));
    let partition = &response.topics[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::NotLeaderOrFollower.code());
    for version in 0..=2 {
        response.encode(&mut BytesMut::new(), version).unwrap();
    }
}

#[test]
fn other_partitions_than_that_of_the_metadata_are_unknown() {
    let mut more = describe();
    more.topics[0].partitions.push(PartitionData::default().with_partition_index(1));
    let mut other = describe();
    other.topics[0].topic_name = StrBytes::from_static_str("foo").into();
    for (request, partitions) in [(more, vec![0, 1]), (other, vec![0])] {
        let response = kraft::describe_quorum_response(&request, None);
        let topic = &response.topics[0];
        assert_eq!(topic.topic_name, request.topics[0].topic_name);
        let indexes: Vec<_> = topic.partitions.iter().map(|it| it.partition_index).collect();
        assert_eq!(indexes, partitions);
        let code = ErrorCode::UnknownTopicOrPartition.code();
        assert!(topic.partitions.iter().all(|it| it.error_code == code));
    }
    let nothing = kraft::describe_quorum_response(&DescribeQuorumRequest::default(), None);
    assert!(nothing.topics.is_empty());
}

// Two codecs that were written apart.
#[test]
fn control_records_are_those_that_kafka_protocol_reads() {
    let voters = VoterSet::new([VoterNode {
        key: KEY,
        endpoints: endpoints(),
        supported_versions: SupportedVersions::ALL,
    }]);
    let change = LeaderChange { leader_id: 7, voters: vec![7, 8], granting_voters: vec![7] };
    let records = [
        ControlRecord::LeaderChange(change),
        ControlRecord::KRaftVersion(KRaftVersion::V1),
        ControlRecord::Voters(voters.clone()),
    ];
    let mut bytes = Vec::new();
    encode_control_batch(40, 5, Timestamp::from_millis(1_000), &records, &mut bytes).unwrap();

    let mut read = Bytes::from(bytes.clone());
    let batch = RecordBatchDecoder::decode(&mut read).unwrap();
    let theirs: Vec<_> = batch.records;
    assert!(theirs.iter().all(|it| it.control && it.partition_leader_epoch == 5));
    assert_eq!(theirs.iter().map(|it| it.offset).collect::<Vec<_>>(), [40, 41, 42]);
    let value = |place: usize| theirs[place].value.clone().unwrap();
    let change = LeaderChangeMessage::decode(&mut value(0), 0).unwrap();
    assert_eq!(change.leader_id, 7);
    assert_eq!(change.voters.iter().map(|it| it.voter_id).collect::<Vec<_>>(), [7, 8]);
    let version = KRaftVersionRecord::decode(&mut value(1), 0).unwrap();
    assert_eq!(version.k_raft_version, 1);
    let record = VotersRecord::decode(&mut value(2), 0).unwrap();
    assert_eq!(record.voters[0].voter_directory_id.as_u128(), KEY.directory_bits());
    assert_eq!(record.voters[0].endpoints[1].port, u16::MAX);
    let mut written = BytesMut::new();
    record.encode(&mut written, 0).unwrap();
    assert_eq!(VoterSet::decode(&mut written.as_ref()), Ok(voters));

    let mine = Batches::new(&bytes).next().unwrap().unwrap();
    assert_eq!((mine.base_offset, mine.last_offset, mine.epoch), (40, 42, 5));
}
