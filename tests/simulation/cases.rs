//! The cases of a message and of a start, by what they mean for the epoch and its leader.

/// What a replica starts as, and why: the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum First {
    /// The log is of a later epoch than what was persisted.
    OfLog,
    /// It led.
    Led,
    /// It followed a leader whose place is known.
    Followed,
    /// It followed a leader whose place is not known.
    FollowedSomebody,
    /// It was a candidate.
    Stood,
    /// It voted for another, or is no voter any more.
    Voted,
    /// It knows nothing of the epoch.
    Plain,
}

/// A case of what a message says of the epoch and its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    /// No answer for the partition: the peer is not there.
    Unavailable,
    /// No answer for the partition, for another reason.
    Unanswered,
    /// A peer knows no pre-votes.
    NoPreVotes,
    /// The leader's endpoints are those of the voters, as the answer has none.
    EndpointsOfVoters,
    /// An older epoch.
    OldEpoch,
    /// `UNKNOWN_LEADER_EPOCH`
    UnknownLeaderEpoch,
    /// A newer epoch.
    NewEpoch,
    /// `FENCED_LEADER_EPOCH`
    Fenced,
    /// `NOT_LEADER_OR_FOLLOWER`
    NotLeader,
    /// A success that names the leader, who was not known.
    NamesLeader,
    /// An error that names the leader, who was not known.
    FailsAndNamesLeader,
    /// A leader that was known by its id says where it is.
    PlacesLeader,
    /// `BROKER_NOT_AVAILABLE`
    BrokerNotAvailable,
    /// `INVALID_VOTER_KEY`
    InvalidVoterKey,
    /// `INVALID_REQUEST`: Kafka's process ends, the crate's connection rests.
    InvalidRequest,
    /// A success, which is the handler's own matter.
    Success,
    /// Any other error, which is the handler's own matter.
    OtherError,
    /// Of a transition that a message may ask for.
    Maybe(Sender, Maybe),
}

/// Who asks for a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    /// An answer.
    Answer,
    /// `BeginQuorumEpoch` or `EndQuorumEpoch`.
    Request,
}

/// What a message means for the state. That it contradicts the state no seed has: cluster and leader are sound; see
/// `tests/replica/messages.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Maybe {
    /// Newer, with a leader.
    NewLeader,
    /// Newer, with a leader that cannot be found.
    NewLeaderSomewhere,
    /// Newer, without a leader.
    NewEpoch,
    /// The epoch's leader becomes known.
    Leader,
    /// The epoch's leader becomes known by its id.
    LeaderSomewhere,
    /// More of the leader's endpoints become known.
    Endpoints,
    /// Nothing new.
    Nothing,
}
