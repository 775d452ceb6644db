//! The fields of the messages that the guard knows, at the versions that `kafka-protocol` 0.18
//! decodes. An API is added by its table here; the guard's tests then cover it.

mod cluster;
mod data;
mod groups;
mod quorum;
mod raft;
mod transactions;
mod voters;

use super::schema::Message;

pub(super) use self::voters::ADD_RAFT_VOTER;

/// All requests, by API key.
pub(super) const REQUESTS: &[Message] = &[
    data::PRODUCE,
    data::FETCH,
    data::LIST_OFFSETS,
    cluster::METADATA,
    groups::OFFSET_COMMIT,
    groups::OFFSET_FETCH,
    groups::FIND_COORDINATOR,
    groups::JOIN_GROUP,
    groups::HEARTBEAT,
    groups::LEAVE_GROUP,
    groups::SYNC_GROUP,
    groups::DESCRIBE_GROUPS,
    groups::LIST_GROUPS,
    cluster::API_VERSIONS,
    cluster::CREATE_TOPICS,
    cluster::DELETE_TOPICS,
    transactions::INIT_PRODUCER_ID,
    transactions::ADD_PARTITIONS_TO_TXN,
    transactions::ADD_OFFSETS_TO_TXN,
    transactions::END_TXN,
    transactions::WRITE_TXN_MARKERS,
    transactions::TXN_OFFSET_COMMIT,
    cluster::CREATE_PARTITIONS,
    raft::VOTE,
    raft::BEGIN_QUORUM_EPOCH,
    raft::END_QUORUM_EPOCH,
    quorum::DESCRIBE_QUORUM,
    cluster::UPDATE_FEATURES,
    raft::FETCH_SNAPSHOT,
    cluster::DESCRIBE_CLUSTER,
    transactions::DESCRIBE_PRODUCERS,
    groups::CONSUMER_GROUP_HEARTBEAT,
    groups::CONSUMER_GROUP_DESCRIBE,
    voters::ADD_RAFT_VOTER_0,
    voters::REMOVE_RAFT_VOTER,
    voters::UPDATE_RAFT_VOTER,
];

/// All responses, by API key.
pub(super) const RESPONSES: &[Message] = &[
    data::FETCH_RESPONSE,
    cluster::API_VERSIONS_RESPONSE,
    raft::VOTE_RESPONSE,
    raft::BEGIN_QUORUM_EPOCH_RESPONSE,
    raft::END_QUORUM_EPOCH_RESPONSE,
    raft::FETCH_SNAPSHOT_RESPONSE,
    voters::ADD_RAFT_VOTER_RESPONSE,
    voters::REMOVE_RAFT_VOTER_RESPONSE,
    voters::UPDATE_RAFT_VOTER_RESPONSE,
];
