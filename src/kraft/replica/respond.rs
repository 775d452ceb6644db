//! What comes back on requests.

use super::{Context, Fatal, Replica};
use crate::error_code::ErrorCode;
use crate::kraft::epoch::EpochState;
use crate::kraft::requests::Correlation;
use crate::kraft::rpc::{Answer, Node, PartitionAnswer, Response};
use crate::kraft::voters::Endpoints;
use crate::random::Random;
use crate::time::Monotonic;

/// How far an answer was dealt with.
enum Handled {
    /// Wholly; the connection is free, or rests.
    Wholly { is_ok: bool },
    /// Its own matter is still to be looked at.
    NotYet,
}

impl Replica {
    /// Takes the answer to a request that was sent, or the news that there will be none.
    ///
    /// One that is not expected any more is dropped: it came too late, or the role in which the request was sent is
    /// over.
    pub fn handle_response(
        &mut self,
        correlation: Correlation,
        response: Response,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            if !replica.connections.is_expected(correlation) {
                return Ok(());
            }
            replica.wake = Some(now);
            let is_ok = replica.respond(correlation, response, context)?;
            replica.connections.received(correlation, is_ok, now);
            replica.feed_application()
        });
    }

    fn respond(
        &mut self,
        correlation: Correlation,
        response: Response,
        context: &mut Context<'_>,
    ) -> Result<bool, Fatal> {
        let source = correlation.node;
        match response {
            Response::Failed(error) if self.is_probe(correlation) => {
                Ok(self.probe_answered(Err(error), context))
            }
            // It comes too late: the change that asked is over, and another may have asked somebody else.
            Response::ApiVersions { .. } if !self.is_probe(correlation) => Ok(true),
            Response::ApiVersions { error: ErrorCode::None, supported_versions } => {
                Ok(self.probe_answered(Ok(supported_versions), context))
            }
            Response::ApiVersions { error, .. } => Ok(self.probe_answered(Err(error), context)),
            Response::Failed(ErrorCode::UnsupportedVersion) if self.is_prospective() => {
                self.skip_pre_votes(context).map(|()| true)
            }
            Response::Failed(error) => Self::top_level(error),
            Response::Vote(answer) => {
                if answer.error == ErrorCode::UnsupportedVersion && self.is_prospective() {
                    return self.skip_pre_votes(context).map(|()| true);
                }
                let (granted, handled) = match self.common(answer, context)? {
                    (Some(granted), Handled::NotYet) => (granted, true),
                    (_, Handled::Wholly { is_ok }) => return Ok(is_ok),
                    (None, Handled::NotYet) => (false, false),
                };
                if handled {
                    self.take_vote(source, granted, context)?;
                }
                Ok(handled)
            }
            Response::BeginQuorumEpoch(answer) | Response::EndQuorumEpoch(answer) => {
                let (body, handled) = self.common(answer, context)?;
                if let Handled::Wholly { is_ok } = handled {
                    return Ok(is_ok);
                }
                if body.is_some() {
                    self.acknowledged(source);
                }
                Ok(body.is_some())
            }
            Response::Fetch(answer) => match self.common(answer, context)? {
                (Some(fetched), Handled::NotYet) => self.take_records(fetched, context),
                (_, Handled::Wholly { is_ok }) => Ok(is_ok),
                (None, Handled::NotYet) => Ok(false),
            },
            Response::FetchSnapshot(answer) => self.take_snapshot_answer(answer, context),
            Response::UpdateVoter { error, leader_id, epoch, leader_endpoints } => {
                let handled =
                    self.common_handling(error, leader_id, epoch, leader_endpoints, context)?;
                if let Handled::Wholly { is_ok } = handled {
                    return Ok(is_ok);
                }
                let is_done = matches!(error, ErrorCode::None | ErrorCode::UnsupportedVersion);
                if let Some(follower) = self.follower_mut().filter(|_| is_done) {
                    follower.set_updated_leader();
                    follower.fetch_succeeded(context.now);
                }
                Ok(is_done)
            }
            Response::AddVoter(error) => Ok(self.joined(error, ErrorCode::DuplicateVoter, context)),
            Response::RemoveVoter(error) => {
                Ok(self.joined(error, ErrorCode::VoterNotFound, context))
            }
        }
    }

    fn is_prospective(&self) -> bool {
        matches!(self.quorum.state(), EpochState::Prospective(_))
    }

    /// An answer that is none.
    pub(super) fn top_level(error: ErrorCode) -> Result<bool, Fatal> {
        if error == ErrorCode::ClusterAuthorizationFailed {
            return Err(Fatal::Unauthorised);
        }
        Ok(false)
    }

    /// A change that this replica asked for on its own behalf.
    fn joined(&mut self, error: ErrorCode, already: ErrorCode, context: &Context<'_>) -> bool {
        let is_ok = error.is_none() || error == ErrorCode::RequestTimedOut || error == already;
        if let Some(follower) = self.follower_mut().filter(|_| is_ok) {
            follower.restart_update_voter(context.now);
        }
        is_ok
    }

    /// What all answers about the partition have in common. Gives the answer's own matter if it succeeded.
    fn common<T>(
        &mut self,
        answer: Answer<T>,
        context: &mut Context<'_>,
    ) -> Result<(Option<T>, Handled), Fatal> {
        let Answer { error, partition, nodes } = answer;
        if !error.is_none() {
            return Self::top_level(error).map(|is_ok| (None, Handled::Wholly { is_ok }));
        }
        let Some(PartitionAnswer { error, leader_id, epoch, body }) = partition else {
            return Ok((None, Handled::Wholly { is_ok: false }));
        };
        let endpoints = self.endpoints_said(leader_id, &nodes);
        let handled = self.common_handling(error, leader_id, epoch, endpoints, context)?;
        Ok((error.is_none().then_some(body), handled))
    }

    /// As [`common`](Self::common), for an answer whose own matter counts even if it failed.
    pub(super) fn common_partition<T>(
        &mut self,
        partition: &PartitionAnswer<T>,
        nodes: &[Node],
        context: &mut Context<'_>,
    ) -> Result<Option<bool>, Fatal> {
        let PartitionAnswer { error, leader_id, epoch, .. } = *partition;
        let endpoints = self.endpoints_said(leader_id, nodes);
        Ok(match self.common_handling(error, leader_id, epoch, endpoints, context)? {
            Handled::Wholly { is_ok } => Some(is_ok),
            Handled::NotYet => None,
        })
    }

    /// Where the leader listens, by what an answer says: it names it under the listener by which it came.
    fn endpoints_said(&self, leader_id: Option<i32>, nodes: &[Node]) -> Endpoints {
        let Some(leader_id) = leader_id else { return Endpoints::empty() };
        let nodes = nodes.iter().map(|node| (node.id, &*node.host, node.port));
        Endpoints::from_response(&self.config.listener, leader_id, nodes)
    }

    fn common_handling(
        &mut self,
        error: ErrorCode,
        leader_id: Option<i32>,
        epoch: i32,
        endpoints: Endpoints,
        context: &mut Context<'_>,
    ) -> Result<Handled, Fatal> {
        const DONE: Handled = Handled::Wholly { is_ok: true };
        // A replica that led, and came back with an empty disk, is still named by the others. It knows of no leader
        // then: it does not lead, and cannot follow itself. Kafka's process ends on it until another one is elected.
        let leader_id = leader_id.filter(|leader| Some(*leader) != self.config.quorum.local_id);
        let endpoints = match leader_id {
            Some(leader_id) => self.endpoints_of(leader_id, &endpoints),
            None => endpoints,
        };
        let local = self.quorum.epoch();
        // What brings nothing is not asked for again at once, as Kafka does.
        if epoch < local || error == ErrorCode::UnknownLeaderEpoch {
            return Ok(Handled::Wholly { is_ok: false });
        }
        if epoch > local
            || matches!(error, ErrorCode::FencedLeaderEpoch | ErrorCode::NotLeaderOrFollower)
        {
            // `Deviation:` Kafka's process ends on it. But one peer that is wrong stops nobody.
            if self.is_contradicted_by(leader_id, epoch) {
                tracing::warn!(epoch, ?leader_id, "an answer names another leader of the epoch");
                return Ok(Handled::Wholly { is_ok: false });
            }
            let generation = self.quorum.generation();
            self.maybe_transition(leader_id, epoch, endpoints, context)?;
            return Ok(Handled::Wholly { is_ok: generation != self.quorum.generation() });
        }
        let state = self.quorum.state();
        let known = state.leader_id();
        match leader_id {
            Some(leader_id) if known.is_none() => {
                self.learn_leader(leader_id, endpoints, context)?;
                return Ok(if error.is_none() { Handled::NotYet } else { DONE });
            }
            // A leader of which only the id was known says where it is.
            Some(leader_id)
                if known == Some(leader_id)
                    && matches!(state, EpochState::Unattached(_))
                    && !endpoints.is_empty() =>
            {
                self.become_follower(epoch, leader_id, endpoints, context)?;
                return Ok(if error.is_none() { Handled::NotYet } else { DONE });
            }
            _ => {}
        }
        Ok(match error {
            // Kafka's process ends on an invalid request, and asks at once again whom it has taken for another. What this
            // replica sends is valid, so somebody else is wrong.
            ErrorCode::BrokerNotAvailable
            | ErrorCode::InvalidRequest
            | ErrorCode::InvalidVoterKey => Handled::Wholly { is_ok: false },
            _ => Handled::NotYet,
        })
    }
}
