//! Kafka's error codes: one table of number, name and whether a client may send the request again.

use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// Defines [`ErrorCode`] and everything that is read off the table below.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $retriable:literal;)*) => {
        /// An error code of the Kafka protocol, as Kafka 4.4 defines them.
        ///
        /// The number travels as an `i16`, see [`code`](Self::code) and [`from_code`](Self::from_code). Brokers newer
        /// than this crate may send numbers that are not here; Kafka's clients treat those as
        /// [`UnknownServerError`](Self::UnknownServerError).
        ///
        /// ```
        /// use kafka_coordination::ErrorCode;
        ///
        /// let error = ErrorCode::from_code(70).unwrap_or(ErrorCode::UnknownServerError);
        /// assert_eq!(error, ErrorCode::FetchSessionIdNotFound);
        /// assert_eq!(error.to_string(), "FETCH_SESSION_ID_NOT_FOUND");
        /// assert!(error.is_retriable());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(i16)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant = $code,)*
        }

        /// All codes, by rising number.
        const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),*];

        impl ErrorCode {
            /// The code with this number; `None` for a number that Kafka does not define. O(1).
            pub const fn from_code(code: i16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Kafka's name of the code, such as `"OFFSET_OUT_OF_RANGE"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Whether a client may send the same request again and hope for another answer: in Kafka's Java client,
            /// whether the code's exception is a `RetriableException`.
            pub const fn is_retriable(self) -> bool {
                match self {
                    $(Self::$variant => $retriable,)*
                }
            }

            /// The code with this name, upper case as [`name`](Self::name) gives it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

// Number, name, and whether a request may be retried: Kafka, `org.apache.kafka.common.protocol.Errors`.
error_codes! {
    /// The server failed in a way that no other code describes.
    UnknownServerError = -1, "UNKNOWN_SERVER_ERROR", false;
    /// No error.
    None = 0, "NONE", false;
    /// The offset lies outside of what the log holds.
    OffsetOutOfRange = 1, "OFFSET_OUT_OF_RANGE", false;
    /// A record batch fails its checksum, has a bad size or is malformed.
    CorruptMessage = 2, "CORRUPT_MESSAGE", true;
    /// This broker does not host the partition, or the topic does not exist.
    UnknownTopicOrPartition = 3, "UNKNOWN_TOPIC_OR_PARTITION", true;
    /// The requested fetch size is not allowed.
    InvalidFetchSize = 4, "INVALID_FETCH_SIZE", false;
    /// The partition has no leader at the moment.
    LeaderNotAvailable = 5, "LEADER_NOT_AVAILABLE", true;
    /// This broker is not the leader, or for a read not a replica, of the partition.
    NotLeaderOrFollower = 6, "NOT_LEADER_OR_FOLLOWER", true;
    /// The request was not done within its time-out.
    RequestTimedOut = 7, "REQUEST_TIMED_OUT", true;
    /// The broker is not available.
    BrokerNotAvailable = 8, "BROKER_NOT_AVAILABLE", false;
    /// The replica is not available on this broker.
    ReplicaNotAvailable = 9, "REPLICA_NOT_AVAILABLE", true;
    /// A record batch is larger than the topic allows.
    MessageTooLarge = 10, "MESSAGE_TOO_LARGE", false;
    /// The request carries the epoch of a controller that was replaced.
    StaleControllerEpoch = 11, "STALE_CONTROLLER_EPOCH", false;
    /// The metadata text of a committed offset is too long.
    OffsetMetadataTooLarge = 12, "OFFSET_METADATA_TOO_LARGE", false;
    /// The connection broke before the answer came.
    NetworkException = 13, "NETWORK_EXCEPTION", true;
    /// The coordinator is still loading its state.
    CoordinatorLoadInProgress = 14, "COORDINATOR_LOAD_IN_PROGRESS", true;
    /// There is no coordinator at the moment.
    CoordinatorNotAvailable = 15, "COORDINATOR_NOT_AVAILABLE", true;
    /// This broker is not the coordinator that the request needs.
    NotCoordinator = 16, "NOT_COORDINATOR", true;
    /// The topic's name is not legal, or the operation is not allowed on this topic.
    InvalidTopicException = 17, "INVALID_TOPIC_EXCEPTION", false;
    /// The batch list of the request is larger than a segment may be.
    RecordListTooLarge = 18, "RECORD_LIST_TOO_LARGE", false;
    /// Too few replicas are in sync for the write to be accepted.
    NotEnoughReplicas = 19, "NOT_ENOUGH_REPLICAS", true;
    /// The write was appended, but too few replicas were in sync afterwards.
    NotEnoughReplicasAfterAppend = 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", true;
    /// The number of required acknowledgements is not one of -1, 0 and 1.
    InvalidRequiredAcks = 21, "INVALID_REQUIRED_ACKS", false;
    /// The member's generation is not the group's.
    IllegalGeneration = 22, "ILLEGAL_GENERATION", false;
    /// The member's protocols do not fit those of the group.
    InconsistentGroupProtocol = 23, "INCONSISTENT_GROUP_PROTOCOL", false;
    /// The group id is not legal.
    InvalidGroupId = 24, "INVALID_GROUP_ID", false;
    /// The group has no member with this id.
    UnknownMemberId = 25, "UNKNOWN_MEMBER_ID", false;
    /// The session time-out lies outside of the broker's limits.
    InvalidSessionTimeout = 26, "INVALID_SESSION_TIMEOUT", false;
    /// The group is rebalancing; the member must rejoin.
    RebalanceInProgress = 27, "REBALANCE_IN_PROGRESS", false;
    /// The offset commit is too large to be stored.
    InvalidCommitOffsetSize = 28, "INVALID_COMMIT_OFFSET_SIZE", false;
    /// The principal may not do this with the topic.
    TopicAuthorizationFailed = 29, "TOPIC_AUTHORIZATION_FAILED", false;
    /// The principal may not do this with the group.
    GroupAuthorizationFailed = 30, "GROUP_AUTHORIZATION_FAILED", false;
    /// The principal may not do this with the cluster.
    ClusterAuthorizationFailed = 31, "CLUSTER_AUTHORIZATION_FAILED", false;
    /// A record's timestamp lies outside of the allowed range.
    InvalidTimestamp = 32, "INVALID_TIMESTAMP", false;
    /// The broker does not offer this SASL mechanism.
    UnsupportedSaslMechanism = 33, "UNSUPPORTED_SASL_MECHANISM", false;
    /// The request does not fit the state of the SASL exchange.
    IllegalSaslState = 34, "ILLEGAL_SASL_STATE", false;
    /// The version of the request, or of a feature, is not supported.
    UnsupportedVersion = 35, "UNSUPPORTED_VERSION", false;
    /// A topic with this name exists.
    TopicAlreadyExists = 36, "TOPIC_ALREADY_EXISTS", false;
    /// The partition count is not legal.
    InvalidPartitions = 37, "INVALID_PARTITIONS", false;
    /// The replication factor is not positive, or larger than the number of brokers.
    InvalidReplicationFactor = 38, "INVALID_REPLICATION_FACTOR", false;
    /// The replica assignment is not legal.
    InvalidReplicaAssignment = 39, "INVALID_REPLICA_ASSIGNMENT", false;
    /// A configuration value is not legal.
    InvalidConfig = 40, "INVALID_CONFIG", false;
    /// This node is not the active controller.
    NotController = 41, "NOT_CONTROLLER", true;
    /// The request contradicts itself, or breaks a rule of the protocol.
    InvalidRequest = 42, "INVALID_REQUEST", false;
    /// The record format of the log does not support the operation.
    UnsupportedForMessageFormat = 43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", false;
    /// The operation breaks a policy that the operator set.
    PolicyViolation = 44, "POLICY_VIOLATION", false;
    /// A batch's first sequence does not follow the producer's last one.
    OutOfOrderSequenceNumber = 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", false;
    /// The batch's sequences were appended before, and are no longer remembered.
    DuplicateSequenceNumber = 46, "DUPLICATE_SEQUENCE_NUMBER", false;
    /// The producer's epoch is older than the one known.
    InvalidProducerEpoch = 47, "INVALID_PRODUCER_EPOCH", false;
    /// The operation is not possible in the transaction's state.
    InvalidTxnState = 48, "INVALID_TXN_STATE", false;
    /// The producer id is not the one that the transactional id has.
    InvalidProducerIdMapping = 49, "INVALID_PRODUCER_ID_MAPPING", false;
    /// The transaction time-out is larger than the broker allows.
    InvalidTransactionTimeout = 50, "INVALID_TRANSACTION_TIMEOUT", false;
    /// The producer's earlier transaction is still being completed.
    ConcurrentTransactions = 51, "CONCURRENT_TRANSACTIONS", true;
    /// The marker comes from a transaction coordinator that was replaced.
    TransactionCoordinatorFenced = 52, "TRANSACTION_COORDINATOR_FENCED", false;
    /// The principal may not use the transactional id.
    TransactionalIdAuthorizationFailed = 53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", false;
    /// Security features are switched off.
    SecurityDisabled = 54, "SECURITY_DISABLED", false;
    /// The operation was not tried, as another part of the request failed.
    OperationNotAttempted = 55, "OPERATION_NOT_ATTEMPTED", false;
    /// The broker's disk failed, or the log directory is offline.
    KafkaStorageError = 56, "KAFKA_STORAGE_ERROR", true;
    /// The broker has no such log directory.
    LogDirNotFound = 57, "LOG_DIR_NOT_FOUND", false;
    /// SASL authentication failed.
    SaslAuthenticationFailed = 58, "SASL_AUTHENTICATION_FAILED", false;
    /// The broker remembers nothing of this producer id.
    UnknownProducerId = 59, "UNKNOWN_PRODUCER_ID", false;
    /// A reassignment of the partition is under way.
    ReassignmentInProgress = 60, "REASSIGNMENT_IN_PROGRESS", false;
    /// Delegation tokens are switched off.
    DelegationTokenAuthDisabled = 61, "DELEGATION_TOKEN_AUTH_DISABLED", false;
    /// The server does not have this delegation token.
    DelegationTokenNotFound = 62, "DELEGATION_TOKEN_NOT_FOUND", false;
    /// The principal neither owns nor may renew the delegation token.
    DelegationTokenOwnerMismatch = 63, "DELEGATION_TOKEN_OWNER_MISMATCH", false;
    /// Requests about delegation tokens are not allowed on this connection.
    DelegationTokenRequestNotAllowed = 64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", false;
    /// The principal may not use the delegation token.
    DelegationTokenAuthorizationFailed = 65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", false;
    /// The delegation token has expired.
    DelegationTokenExpired = 66, "DELEGATION_TOKEN_EXPIRED", false;
    /// The type of the principal is not supported.
    InvalidPrincipalType = 67, "INVALID_PRINCIPAL_TYPE", false;
    /// The group still has members.
    NonEmptyGroup = 68, "NON_EMPTY_GROUP", false;
    /// No group has this id.
    GroupIdNotFound = 69, "GROUP_ID_NOT_FOUND", false;
    /// The fetch session id is unknown.
    FetchSessionIdNotFound = 70, "FETCH_SESSION_ID_NOT_FOUND", true;
    /// The fetch session epoch is not the expected one.
    InvalidFetchSessionEpoch = 71, "INVALID_FETCH_SESSION_EPOCH", true;
    /// The leader has no listener of the name by which the request came.
    ListenerNotFound = 72, "LISTENER_NOT_FOUND", true;
    /// Topics may not be deleted in this cluster.
    TopicDeletionDisabled = 73, "TOPIC_DELETION_DISABLED", false;
    /// The request's leader epoch is older than the broker's.
    FencedLeaderEpoch = 74, "FENCED_LEADER_EPOCH", true;
    /// The request's leader epoch is newer than the broker's.
    UnknownLeaderEpoch = 75, "UNKNOWN_LEADER_EPOCH", true;
    /// The client cannot read the compression of the records.
    UnsupportedCompressionType = 76, "UNSUPPORTED_COMPRESSION_TYPE", false;
    /// The broker's epoch is older than the one registered.
    StaleBrokerEpoch = 77, "STALE_BROKER_EPOCH", false;
    /// The new leader's high watermark has not caught up yet.
    OffsetNotAvailable = 78, "OFFSET_NOT_AVAILABLE", true;
    /// The member must join again with the id that it was given.
    MemberIdRequired = 79, "MEMBER_ID_REQUIRED", false;
    /// The preferred leader is not available.
    PreferredLeaderNotAvailable = 80, "PREFERRED_LEADER_NOT_AVAILABLE", true;
    /// The group has as many members as it may have.
    GroupMaxSizeReached = 81, "GROUP_MAX_SIZE_REACHED", false;
    /// Another member took over the static member's instance id.
    FencedInstanceId = 82, "FENCED_INSTANCE_ID", false;
    /// No replica that may become leader is available.
    EligibleLeadersNotAvailable = 83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", true;
    /// The partition needs no election.
    ElectionNotNeeded = 84, "ELECTION_NOT_NEEDED", true;
    /// No reassignment of the partition is under way.
    NoReassignmentInProgress = 85, "NO_REASSIGNMENT_IN_PROGRESS", false;
    /// The group is subscribed to the topic, so its offsets cannot be deleted.
    GroupSubscribedToTopic = 86, "GROUP_SUBSCRIBED_TO_TOPIC", false;
    /// A record fails the broker's validation.
    InvalidRecord = 87, "INVALID_RECORD", false;
    /// Some offsets are part of a transaction that is not complete.
    UnstableOffsetCommit = 88, "UNSTABLE_OFFSET_COMMIT", true;
    /// The quota for such operations is used up.
    ThrottlingQuotaExceeded = 89, "THROTTLING_QUOTA_EXCEEDED", true;
    /// A newer producer with the same transactional id has taken over.
    ProducerFenced = 90, "PRODUCER_FENCED", false;
    /// The named resource does not exist.
    ResourceNotFound = 91, "RESOURCE_NOT_FOUND", false;
    /// The named resource exists, or is named twice.
    DuplicateResource = 92, "DUPLICATE_RESOURCE", false;
    /// The credential does not meet the requirements.
    UnacceptableCredential = 93, "UNACCEPTABLE_CREDENTIAL", false;
    /// The sender or receiver is not in the set of voters that the other one knows.
    InconsistentVoterSet = 94, "INCONSISTENT_VOTER_SET", false;
    /// The version of the update is not the expected one.
    InvalidUpdateVersion = 95, "INVALID_UPDATE_VERSION", false;
    /// The finalized features could not be updated.
    FeatureUpdateFailed = 96, "FEATURE_UPDATE_FAILED", false;
    /// The principal of a forwarded request could not be read.
    PrincipalDeserializationFailure = 97, "PRINCIPAL_DESERIALIZATION_FAILURE", false;
    /// The metadata snapshot does not exist.
    SnapshotNotFound = 98, "SNAPSHOT_NOT_FOUND", false;
    /// The position lies outside of the snapshot.
    PositionOutOfRange = 99, "POSITION_OUT_OF_RANGE", false;
    /// The broker knows no topic with this id.
    UnknownTopicId = 100, "UNKNOWN_TOPIC_ID", true;
    /// The broker id is registered by another running broker.
    DuplicateBrokerRegistration = 101, "DUPLICATE_BROKER_REGISTRATION", false;
    /// The broker id is not registered.
    BrokerIdNotRegistered = 102, "BROKER_ID_NOT_REGISTERED", false;
    /// The log belongs to another incarnation of the topic than the request names.
    InconsistentTopicId = 103, "INCONSISTENT_TOPIC_ID", true;
    /// The cluster id is not this cluster's.
    InconsistentClusterId = 104, "INCONSISTENT_CLUSTER_ID", false;
    /// The transactional id is unknown.
    TransactionalIdNotFound = 105, "TRANSACTIONAL_ID_NOT_FOUND", false;
    /// The request's use of topic ids does not fit the session's.
    FetchSessionTopicIdError = 106, "FETCH_SESSION_TOPIC_ID_ERROR", true;
    /// The replica may not be put into the in-sync set.
    IneligibleReplica = 107, "INELIGIBLE_REPLICA", false;
    /// The partition's change went through, and the requester no longer leads.
    NewLeaderElected = 108, "NEW_LEADER_ELECTED", false;
    /// The offset is only in tiered storage.
    OffsetMovedToTieredStorage = 109, "OFFSET_MOVED_TO_TIERED_STORAGE", false;
    /// The member's epoch was fenced by the group coordinator; it must rejoin.
    FencedMemberEpoch = 110, "FENCED_MEMBER_EPOCH", false;
    /// Another member still uses the instance id.
    UnreleasedInstanceId = 111, "UNRELEASED_INSTANCE_ID", false;
    /// The group's members, or the broker, do not support the assignor.
    UnsupportedAssignor = 112, "UNSUPPORTED_ASSIGNOR", false;
    /// The member's epoch is old; it must retry with a newer one.
    StaleMemberEpoch = 113, "STALE_MEMBER_EPOCH", false;
    /// The request went to an endpoint of the wrong type.
    MismatchedEndpointType = 114, "MISMATCHED_ENDPOINT_TYPE", false;
    /// This type of endpoint is not supported.
    UnsupportedEndpointType = 115, "UNSUPPORTED_ENDPOINT_TYPE", false;
    /// The controller id is unknown.
    UnknownControllerId = 116, "UNKNOWN_CONTROLLER_ID", false;
    /// The telemetry subscription id is old or wrong.
    UnknownSubscriptionId = 117, "UNKNOWN_SUBSCRIPTION_ID", false;
    /// The telemetry push is larger than the broker accepts.
    TelemetryTooLarge = 118, "TELEMETRY_TOO_LARGE", false;
    /// The controller refuses the broker's registration.
    InvalidRegistration = 119, "INVALID_REGISTRATION", false;
    /// The transaction failed and must be aborted.
    TransactionAbortable = 120, "TRANSACTION_ABORTABLE", false;
    /// The share group's record is not in a state that allows this.
    InvalidRecordState = 121, "INVALID_RECORD_STATE", false;
    /// The share session is unknown.
    ShareSessionNotFound = 122, "SHARE_SESSION_NOT_FOUND", true;
    /// The share session epoch is not the expected one.
    InvalidShareSessionEpoch = 123, "INVALID_SHARE_SESSION_EPOCH", true;
    /// The share coordinator has a newer state epoch.
    FencedStateEpoch = 124, "FENCED_STATE_EPOCH", false;
    /// The voter's key is not that of the receiving replica.
    InvalidVoterKey = 125, "INVALID_VOTER_KEY", false;
    /// The voter is in the set already.
    DuplicateVoter = 126, "DUPLICATE_VOTER", false;
    /// The voter is not in the set.
    VoterNotFound = 127, "VOTER_NOT_FOUND", false;
    /// The regular expression is not legal.
    InvalidRegularExpression = 128, "INVALID_REGULAR_EXPRESSION", false;
    /// The client must forget its metadata and bootstrap anew.
    RebootstrapRequired = 129, "REBOOTSTRAP_REQUIRED", false;
    /// The streams group's topology is not legal.
    StreamsInvalidTopology = 130, "STREAMS_INVALID_TOPOLOGY", false;
    /// The epoch of the streams group's topology is not legal.
    StreamsInvalidTopologyEpoch = 131, "STREAMS_INVALID_TOPOLOGY_EPOCH", false;
    /// The epoch of the streams group's topology is outdated.
    StreamsTopologyFenced = 132, "STREAMS_TOPOLOGY_FENCED", false;
    /// The broker holds as many share sessions as it may.
    ShareSessionLimitReached = 133, "SHARE_SESSION_LIMIT_REACHED", true;
    /// The group could not be deleted.
    GroupDeletionFailed = 134, "GROUP_DELETION_FAILED", false;
    /// The streams group's topology description could not be stored.
    StreamsTopologyDescriptionUpdateFailed = 135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", false;
    /// The controller id is not registered.
    ControllerIdNotRegistered = 136, "CONTROLLER_ID_NOT_REGISTERED", false;
}

impl ErrorCode {
    /// Every code, by rising number; for tables of counters and the like.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ALL.iter().copied()
    }

    /// The number that stands for the code on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// Whether this is [`None`](Self::None), the code of success.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }
}

impl From<ErrorCode> for i16 {
    fn from(code: ErrorCode) -> Self {
        code.code()
    }
}

/// Writes Kafka's name of the code.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text is not the name of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not the name of a Kafka error code")]
#[non_exhaustive]
pub struct UnknownErrorName;

/// Reads Kafka's name of the code.
impl FromStr for ErrorCode {
    type Err = UnknownErrorName;

    fn from_str(name: &str) -> Result<Self, UnknownErrorName> {
        Self::from_name(name).ok_or(UnknownErrorName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    #[test]
    fn the_table_has_every_number_from_minus_one_to_136_once() {
        let numbers: Vec<i16> = ErrorCode::all().map(ErrorCode::code).collect();
        assert_eq!(numbers, (-1..=136).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_that_kafka_does_not_define_have_no_code() {
        for number in [i16::MIN, -2, 137, i16::MAX] {
            assert_eq!(ErrorCode::from_code(number), None);
        }
    }

    #[test]
    fn number_and_name_lead_back_to_the_code() {
        for code in ErrorCode::all() {
            assert_eq!(ErrorCode::from_code(code.code()), Some(code));
            assert_eq!(ErrorCode::from_name(code.name()), Some(code));
            assert_eq!(code.to_string().parse(), Ok(code));
            assert_eq!(i16::from(code), code.code());
        }
        assert_eq!("offset_out_of_range".parse::<ErrorCode>(), Err(UnknownErrorName));
    }

    #[test]
    fn variants_are_named_as_kafka_names_the_code() {
        for code in ErrorCode::all() {
            let camel: String = code
                .name()
                .split('_')
                .flat_map(|word| {
                    word.chars().take(1).chain(word[1..].chars().map(|c| c.to_ascii_lowercase()))
                })
                .collect();
            assert_eq!(format!("{code:?}"), camel);
        }
    }

    #[test]
    fn retriable_are_the_codes_whose_exception_is_retriable_in_the_java_client() {
        let retriable: Vec<i16> =
            ErrorCode::all().filter(|code| code.is_retriable()).map(ErrorCode::code).collect();
        let expected = [
            2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83,
            84, 88, 89, 100, 103, 106, 122, 123, 133,
        ];
        assert_eq!(retriable, expected);
    }

    #[test]
    fn only_the_code_of_success_is_none() {
        assert!(ErrorCode::all().all(|code| code.is_none() == (code.code() == 0)));
    }
}
