//! Requests of every API and version with every field and array in use.

use crate::{quorum, raft};
use bytes::{Bytes, BytesMut};
use kafka_coordination::wire::supported_versions;
use kafka_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::fetch_request::{
    FetchPartition, FetchTopic, ForgottenTopic, ReplicaState,
};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, ApiKey, ApiVersionsRequest,
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, CreatePartitionsRequest,
    CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest, DescribeGroupsRequest,
    DescribeProducersRequest, EndTxnRequest, FetchRequest, FindCoordinatorRequest,
    HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest,
    ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, ProduceRequest, RequestHeader, RequestKind, SyncGroupRequest, TopicName,
    TxnOffsetCommitRequest, UpdateFeaturesRequest, WriteTxnMarkersRequest,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use uuid::Uuid;

/// All APIs that are decoded, with their versions.
pub(crate) fn apis() -> impl Iterator<Item = (ApiKey, i16)> {
    ApiKey::iter().flat_map(|key| {
        supported_versions(key as i16).into_iter().flatten().map(move |version| (key, version))
    })
}

/// Header and body of a request whose every field is set, as far as the version has it.
pub(crate) fn request(key: ApiKey, version: i16) -> (RequestHeader, RequestKind) {
    let mut header = RequestHeader::default()
        .with_request_api_key(key as i16)
        .with_request_api_version(version)
        .with_correlation_id(42)
        .with_client_id(Some(text("client")));
    if key.request_header_version(version) >= 2 {
        header = header.with_unknown_tagged_field(9, Bytes::from_static(b"tag"));
    }
    (header, body(key, version))
}

/// The bytes of a request.
pub(crate) fn encode(header: &RequestHeader, body: &RequestKind) -> Bytes {
    let key = ApiKey::try_from(header.request_api_key).unwrap();
    let version = header.request_api_version;
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes, key.request_header_version(version)).unwrap();
    body.encode(&mut bytes, version)
        .unwrap_or_else(|error| panic!("{key:?} v{version}: {error:#}"));
    bytes.freeze()
}

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn topic(name: &'static str) -> TopicName {
    TopicName(text(name))
}

pub(crate) const ID: Uuid = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

fn body(key: ApiKey, v: i16) -> RequestKind {
    match key {
        ApiKey::Produce => RequestKind::Produce(produce(v)),
        ApiKey::Fetch => RequestKind::Fetch(fetch(v)),
        ApiKey::ListOffsets => RequestKind::ListOffsets(list_offsets(v)),
        ApiKey::Metadata => RequestKind::Metadata(metadata(v)),
        ApiKey::OffsetCommit => RequestKind::OffsetCommit(offset_commit(v)),
        ApiKey::OffsetFetch => RequestKind::OffsetFetch(offset_fetch(v)),
        ApiKey::FindCoordinator => RequestKind::FindCoordinator(find_coordinator(v)),
        ApiKey::JoinGroup => RequestKind::JoinGroup(join_group(v)),
        ApiKey::Heartbeat => RequestKind::Heartbeat(
            HeartbeatRequest::default()
                .with_group_id(text("group").into())
                .with_generation_id(3)
                .with_member_id(text("member"))
                .with_group_instance_id((v >= 3).then(|| text("instance"))),
        ),
        ApiKey::LeaveGroup => RequestKind::LeaveGroup(leave_group(v)),
        ApiKey::SyncGroup => RequestKind::SyncGroup(sync_group(v)),
        ApiKey::DescribeGroups => RequestKind::DescribeGroups(
            DescribeGroupsRequest::default()
                .with_groups(vec![text("group").into(), text("other").into()])
                .with_include_authorized_operations(v >= 3),
        ),
        ApiKey::ListGroups => RequestKind::ListGroups(
            ListGroupsRequest::default()
                .with_states_filter(if v >= 4 { vec![text("Stable")] } else { Vec::new() })
                .with_types_filter(if v >= 5 { vec![text("classic")] } else { Vec::new() }),
        ),
        ApiKey::ConsumerGroupDescribe => RequestKind::ConsumerGroupDescribe(
            ConsumerGroupDescribeRequest::default()
                .with_group_ids(vec![text("group").into(), text("other").into()])
                .with_include_authorized_operations(true),
        ),
        ApiKey::ApiVersions => RequestKind::ApiVersions(
            ApiVersionsRequest::default()
                .with_client_software_name(text(if v >= 3 { "rust" } else { "" }))
                .with_client_software_version(text(if v >= 3 { "1.0" } else { "" })),
        ),
        ApiKey::Vote
        | ApiKey::BeginQuorumEpoch
        | ApiKey::EndQuorumEpoch
        | ApiKey::FetchSnapshot => raft::filled(key, v),
        ApiKey::DescribeQuorum => RequestKind::DescribeQuorum(quorum::describe()),
        ApiKey::AddRaftVoter => RequestKind::AddRaftVoter(quorum::add()),
        ApiKey::RemoveRaftVoter => RequestKind::RemoveRaftVoter(quorum::remove()),
        ApiKey::UpdateRaftVoter => RequestKind::UpdateRaftVoter(quorum::update()),
        ApiKey::CreateTopics => RequestKind::CreateTopics(create_topics()),
        ApiKey::DeleteTopics => RequestKind::DeleteTopics(delete_topics(v)),
        ApiKey::InitProducerId => RequestKind::InitProducerId(
            InitProducerIdRequest::default()
                .with_transactional_id(Some(text("txn").into()))
                .with_transaction_timeout_ms(60_000)
                .with_producer_id(if v >= 3 { 77 } else { -1 }.into())
                .with_producer_epoch(if v >= 3 { 2 } else { -1 }),
        ),
        ApiKey::AddPartitionsToTxn => RequestKind::AddPartitionsToTxn(add_partitions(v)),
        ApiKey::AddOffsetsToTxn => RequestKind::AddOffsetsToTxn(
            AddOffsetsToTxnRequest::default()
                .with_transactional_id(text("txn").into())
                .with_producer_id(77.into())
                .with_producer_epoch(2)
                .with_group_id(text("group").into()),
        ),
        ApiKey::EndTxn => RequestKind::EndTxn(
            EndTxnRequest::default()
                .with_transactional_id(text("txn").into())
                .with_producer_id(77.into())
                .with_producer_epoch(2)
                .with_committed(true),
        ),
        ApiKey::WriteTxnMarkers => RequestKind::WriteTxnMarkers(write_txn_markers()),
        ApiKey::TxnOffsetCommit => RequestKind::TxnOffsetCommit(txn_offset_commit(v)),
        ApiKey::CreatePartitions => RequestKind::CreatePartitions(create_partitions()),
        ApiKey::DescribeCluster => RequestKind::DescribeCluster(
            DescribeClusterRequest::default()
                .with_include_cluster_authorized_operations(true)
                .with_endpoint_type(if v >= 1 { 2 } else { 1 })
                .with_include_fenced_brokers(v >= 2),
        ),
        ApiKey::UpdateFeatures => RequestKind::UpdateFeatures(update_features(v)),
        ApiKey::DescribeProducers => RequestKind::DescribeProducers(describe_producers()),
        ApiKey::ConsumerGroupHeartbeat => RequestKind::ConsumerGroupHeartbeat(heartbeat(v)),
        other => panic!("{other:?} has no filled request: add one"),
    }
}

fn produce(v: i16) -> ProduceRequest {
    let partition = |index| {
        PartitionProduceData::default()
            .with_index(index)
            .with_records(Some(Bytes::from_static(b"some records")))
    };
    let data = |name| {
        let data = TopicProduceData::default()
            .with_partition_data(vec![partition(0), partition(1).with_records(None)]);
        if v >= 13 { data.with_topic_id(ID) } else { data.with_name(topic(name)) }
    };
    ProduceRequest::default()
        .with_transactional_id(Some(text("txn").into()))
        .with_acks(-1)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![data("foo"), data("bar")])
}

/// A fetch request of a follower.
pub(crate) fn fetch(v: i16) -> FetchRequest {
    let since = |first: i16, value: i32, default: i32| if v >= first { value } else { default };
    let partition = |index| {
        let mut partition = FetchPartition::default()
            .with_partition(index)
            .with_fetch_offset(10)
            .with_partition_max_bytes(1_000)
            .with_current_leader_epoch(since(9, 5, -1))
            .with_last_fetched_epoch(since(12, 4, -1))
            .with_log_start_offset(since(5, 1, -1).into());
        if v >= 17 {
            partition = partition.with_replica_directory_id(ID);
        }
        if v >= 18 {
            partition = partition.with_high_watermark(9);
        }
        if v >= 12 {
            partition = partition.with_unknown_tagged_field(7, Bytes::from_static(b"x"));
        }
        partition
    };
    let name = |name| topic(if v >= 13 { "" } else { name });
    let id = if v >= 13 { ID } else { Uuid::nil() };
    let mut request = FetchRequest::default()
        .with_max_wait_ms(500)
        .with_min_bytes(1)
        .with_max_bytes(1_048_576)
        .with_isolation_level(1)
        .with_session_id(since(7, 123, 0))
        .with_session_epoch(since(7, 2, -1))
        .with_topics(vec![
            FetchTopic::default()
                .with_topic(name("foo"))
                .with_topic_id(id)
                .with_partitions(vec![partition(0), partition(1)]),
            FetchTopic::default()
                .with_topic(name("bar"))
                .with_topic_id(id)
                .with_partitions(vec![partition(2)]),
        ]);
    if v >= 7 {
        request = request.with_forgotten_topics_data(vec![
            ForgottenTopic::default()
                .with_topic(name("old"))
                .with_topic_id(id)
                .with_partitions(vec![4, 5, 6]),
        ]);
    }
    if v >= 11 {
        request = request.with_rack_id(text("rack"));
    }
    if v >= 12 {
        request = request
            .with_cluster_id(Some(text("cluster")))
            .with_unknown_tagged_field(20, Bytes::from_static(b"later"));
    }
    if v >= 15 {
        request.with_replica_state(
            ReplicaState::default().with_replica_id(1.into()).with_replica_epoch(7),
        )
    } else {
        request.with_replica_id(1.into())
    }
}

fn list_offsets(v: i16) -> ListOffsetsRequest {
    let partition = |index| {
        ListOffsetsPartition::default()
            .with_partition_index(index)
            .with_current_leader_epoch(if v >= 4 { 3 } else { -1 })
            .with_timestamp(-1)
    };
    ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(i8::from(v >= 2))
        .with_timeout_ms(if v >= 10 { 1_000 } else { 0 })
        .with_topics(vec![
            ListOffsetsTopic::default()
                .with_name(topic("foo"))
                .with_partitions(vec![partition(0), partition(1)]),
        ])
}

fn metadata(v: i16) -> MetadataRequest {
    let topics = ["foo", "bar"].map(|name| {
        MetadataRequestTopic::default().with_name(Some(topic(name))).with_topic_id(if v >= 10 {
            ID
        } else {
            Uuid::nil()
        })
    });
    MetadataRequest::default()
        .with_topics(Some(topics.to_vec()))
        .with_allow_auto_topic_creation(true)
        .with_include_cluster_authorized_operations((8..=10).contains(&v))
        .with_include_topic_authorized_operations(v >= 8)
}

fn offset_commit(v: i16) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(1)
        .with_committed_offset(12)
        .with_committed_leader_epoch(if v >= 6 { 3 } else { -1 })
        .with_committed_metadata(Some(text("metadata")));
    OffsetCommitRequest::default()
        .with_group_id(text("group").into())
        .with_generation_id_or_member_epoch(4)
        .with_member_id(text("member"))
        .with_group_instance_id((v >= 7).then(|| text("instance")))
        .with_retention_time_ms(if v <= 4 { 1_000 } else { -1 })
        .with_topics(vec![
            OffsetCommitRequestTopic::default()
                .with_name(topic("foo"))
                .with_partitions(vec![partition.clone(), partition]),
        ])
}

fn offset_fetch(v: i16) -> OffsetFetchRequest {
    let request = OffsetFetchRequest::default().with_require_stable(v >= 7);
    if v >= 8 {
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(text("group").into())
            .with_member_id((v >= 9).then(|| text("member")))
            .with_member_epoch(if v >= 9 { 4 } else { -1 })
            .with_topics(Some(vec![
                OffsetFetchRequestTopics::default()
                    .with_name(topic("foo"))
                    .with_partition_indexes(vec![1, 2, 3]),
            ]));
        return request.with_groups(vec![group.clone(), group.with_topics(None)]);
    }
    request.with_group_id(text("group").into()).with_topics(Some(vec![
        OffsetFetchRequestTopic::default()
            .with_name(topic("foo"))
            .with_partition_indexes(vec![1, 2, 3]),
    ]))
}

fn find_coordinator(v: i16) -> FindCoordinatorRequest {
    let request = FindCoordinatorRequest::default().with_key_type(i8::from(v >= 1));
    if v >= 4 {
        request.with_coordinator_keys(vec![text("one"), text("two")])
    } else {
        request.with_key(text("one"))
    }
}

fn join_group(v: i16) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(Bytes::from_static(b"subscription"));
    JoinGroupRequest::default()
        .with_group_id(text("group").into())
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(if v >= 1 { 20_000 } else { -1 })
        .with_member_id(text("member"))
        .with_group_instance_id((v >= 5).then(|| text("instance")))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol.clone(), protocol])
        .with_reason((v >= 8).then(|| text("reason")))
}

fn leave_group(v: i16) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(text("group").into());
    if v <= 2 {
        return request.with_member_id(text("member"));
    }
    let member = MemberIdentity::default()
        .with_member_id(text("member"))
        .with_group_instance_id(Some(text("instance")))
        .with_reason((v >= 5).then(|| text("reason")));
    request.with_members(vec![member.clone(), member.with_group_instance_id(None)])
}

fn sync_group(v: i16) -> SyncGroupRequest {
    SyncGroupRequest::default()
        .with_group_id(text("group").into())
        .with_generation_id(4)
        .with_member_id(text("member"))
        .with_group_instance_id((v >= 3).then(|| text("instance")))
        .with_protocol_type((v >= 5).then(|| text("consumer")))
        .with_protocol_name((v >= 5).then(|| text("range")))
        .with_assignments(vec![
            SyncGroupRequestAssignment::default()
                .with_member_id(text("member"))
                .with_assignment(Bytes::from_static(b"assignment")),
        ])
}

fn create_topics() -> CreateTopicsRequest {
    let assignment = |index| {
        CreatableReplicaAssignment::default()
            .with_partition_index(index)
            .with_broker_ids(vec![1.into(), 2.into()])
    };
    let config =
        |value| CreatableTopicConfig::default().with_name(text("cleanup.policy")).with_value(value);
    CreateTopicsRequest::default().with_timeout_ms(1_000).with_validate_only(true).with_topics(
        vec![
            CreatableTopic::default()
                .with_name(topic("foo"))
                .with_num_partitions(-1)
                .with_replication_factor(-1)
                .with_assignments(vec![assignment(0), assignment(1)])
                .with_configs(vec![config(Some(text("compact"))), config(None)]),
        ],
    )
}

fn delete_topics(v: i16) -> DeleteTopicsRequest {
    let request = DeleteTopicsRequest::default().with_timeout_ms(1_000);
    if v >= 6 {
        let state = DeleteTopicState::default().with_topic_id(ID);
        request.with_topics(vec![state.clone(), state.with_name(Some(topic("foo")))])
    } else {
        request.with_topic_names(vec![topic("foo"), topic("bar")])
    }
}

fn add_partitions(v: i16) -> AddPartitionsToTxnRequest {
    let topics = vec![
        AddPartitionsToTxnTopic::default().with_name(topic("foo")).with_partitions(vec![1, 2]),
    ];
    let request = AddPartitionsToTxnRequest::default();
    if v >= 4 {
        request.with_transactions(vec![
            AddPartitionsToTxnTransaction::default()
                .with_transactional_id(text("txn").into())
                .with_producer_id(77.into())
                .with_producer_epoch(2)
                .with_verify_only(true)
                .with_topics(topics),
        ])
    } else {
        request
            .with_v3_and_below_transactional_id(text("txn").into())
            .with_v3_and_below_producer_id(77.into())
            .with_v3_and_below_producer_epoch(2)
            .with_v3_and_below_topics(topics)
    }
}

fn txn_offset_commit(v: i16) -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition::default()
        .with_partition_index(1)
        .with_committed_offset(12)
        .with_committed_leader_epoch(if v >= 2 { 3 } else { -1 })
        .with_committed_metadata(Some(text("metadata")));
    TxnOffsetCommitRequest::default()
        .with_transactional_id(text("txn").into())
        .with_group_id(text("group").into())
        .with_producer_id(77.into())
        .with_producer_epoch(2)
        .with_generation_id(if v >= 3 { 4 } else { -1 })
        .with_member_id(text(if v >= 3 { "member" } else { "" }))
        .with_group_instance_id((v >= 3).then(|| text("instance")))
        .with_topics(vec![
            TxnOffsetCommitRequestTopic::default()
                .with_name(topic("foo"))
                .with_partitions(vec![partition.clone(), partition]),
        ])
}

fn create_partitions() -> CreatePartitionsRequest {
    let assignment = CreatePartitionsAssignment::default().with_broker_ids(vec![1.into()]);
    CreatePartitionsRequest::default().with_timeout_ms(1_000).with_validate_only(true).with_topics(
        vec![
            CreatePartitionsTopic::default()
                .with_name(topic("foo"))
                .with_count(12)
                .with_assignments(Some(vec![assignment.clone(), assignment])),
            CreatePartitionsTopic::default()
                .with_name(topic("bar"))
                .with_count(3)
                .with_assignments(None),
        ],
    )
}

fn heartbeat(v: i16) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(text("group").into())
        .with_member_id(text("member"))
        .with_member_epoch(3)
        .with_instance_id(Some(text("instance")))
        .with_rack_id(Some(text("rack")))
        .with_rebalance_timeout_ms(1_000)
        .with_subscribed_topic_names(Some(vec![topic("foo"), topic("bar")]))
        .with_subscribed_topic_regex((v >= 1).then(|| text("f.*")))
        .with_server_assignor(Some(text("uniform")))
        .with_topic_partitions(Some(vec![
            TopicPartitions::default().with_topic_id(ID).with_partitions(vec![1, 2]),
        ]))
}

fn write_txn_markers() -> WriteTxnMarkersRequest {
    let topic = WritableTxnMarkerTopic::default()
        .with_name(topic("foo"))
        .with_partition_indexes(vec![1, 2]);
    let marker = WritableTxnMarker::default()
        .with_producer_id(77.into())
        .with_producer_epoch(2)
        .with_transaction_result(true)
        .with_topics(vec![topic])
        .with_coordinator_epoch(3);
    WriteTxnMarkersRequest::default().with_markers(vec![marker])
}

fn update_features(v: i16) -> UpdateFeaturesRequest {
    let update = FeatureUpdateKey::default()
        .with_feature(text("kraft.version"))
        .with_max_version_level(1)
        .with_allow_downgrade(v == 0)
        .with_upgrade_type(if v >= 1 { 3 } else { 1 });
    UpdateFeaturesRequest::default()
        .with_timeout_ms(1_000)
        .with_feature_updates(vec![update.clone(), update])
        .with_validate_only(v >= 1)
}

fn describe_producers() -> DescribeProducersRequest {
    let topic = TopicRequest::default().with_name(topic("foo")).with_partition_indexes(vec![1, 2]);
    DescribeProducersRequest::default().with_topics(vec![topic])
}
