//! The one change that is under way.

use super::effect::ProbeId;
use super::request::{Acknowledge, RequestId};
use crate::kraft::timer::Timer;
use crate::kraft::voters::{Endpoints, ListenerName, ReplicaKey, VoterNode};

/// A change that was taken up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    /// The request, until it is answered.
    pub(super) request: Option<RequestId>,
    /// The listener at which the answer tells where the leader is, if it does.
    pub(super) listener: Option<ListenerName>,
    pub(super) timer: Timer,
    pub(super) stage: Stage,
}

/// How far a change is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Its voter is asked what it supports.
    Probing(ProbeId, Probed),
    /// Its record is handed to the log, or is in it and not committed.
    Writing(Acknowledge),
}

/// A change that goes on when its voter has told what it supports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Probed {
    Add { voter: ReplicaKey, endpoints: Endpoints, acknowledge: Acknowledge },
    Update(VoterNode),
}

impl Probed {
    pub(super) const fn voter_id(&self) -> i32 {
        match self {
            Self::Add { voter, .. } => voter.id,
            Self::Update(voter) => voter.key.id,
        }
    }
}
