//! What the host does for changes of voters.

use super::error::ChangeError;
use super::request::RequestId;
use crate::error_code::ErrorCode;
use crate::kraft::voters::{Endpoint, KRaftVersion, SupportedVersions, VoterSet};

/// The name of a question to a voter, for its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeId(pub(super) u64);

/// The name of an append, for its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AppendId(pub(super) u64);

/// What the host does, in the order in which it is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an effect is to be carried out"]
#[non_exhaustive]
pub enum ChangeEffect {
    /// Send `ApiVersions`, and hand what comes of it to [`VoterChanges::probed`](super::VoterChanges::probed).
    Probe {
        /// The question's name.
        id: ProbeId,
        /// The node that is asked.
        voter_id: i32,
        /// Where.
        endpoint: Endpoint,
    },
    /// Queue one control batch for the log, behind what is queued, and hand the offset of its voters
    /// record (of its only record, if it has none) to [`VoterChanges::appended`](super::VoterChanges::appended).
    /// A host that cannot steps down.
    Append {
        /// The append's name.
        id: AppendId,
        /// The first record, if there is one: the new level.
        kraft_version: Option<KRaftVersion>,
        /// The next one, if there is one: the new voters.
        voters: Option<VoterSet>,
    },
    /// Answer a request.
    Answer {
        /// The request.
        request: RequestId,
        /// Success, or why not.
        result: Result<(), ChangeError>,
        /// Where the leader is: in the answer to `UpdateRaftVoter` alone.
        leader: Option<CurrentLeader>,
    },
}

/// The leader, as the answer to `UpdateRaftVoter` names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CurrentLeader {
    /// Its id.
    pub id: i32,
    /// Its epoch.
    pub epoch: i32,
    /// Where it is at the listener by which the request came; `None`: it does not have that listener.
    pub endpoint: Option<Endpoint>,
}

/// What became of a [`ChangeEffect::Probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "another one is another decision")]
pub enum ProbeOutcome {
    /// It could not be sent now: the connection is backing off, or has another request in flight.
    NotSent,
    /// The answer has this error, or there is none: a connection that broke is
    /// `BROKER_NOT_AVAILABLE`, and no version in common `UNSUPPORTED_VERSION`.
    Failed(ErrorCode),
    /// The levels of `kraft.version` that the answer tells of; `None`: it tells of none, or of what is
    /// no range. `ApiVersions` tells of features from version 3 on, and of those with minimum 0 from
    /// version 4 on.
    Supports(Option<SupportedVersions>),
}

/// How a connection goes on after an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
#[allow(clippy::exhaustive_enums, reason = "the two that there are")]
pub enum Connection {
    /// It is free.
    Free,
    /// It backs off before the next request.
    BackOff,
}
