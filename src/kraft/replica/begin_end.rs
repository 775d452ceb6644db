//! A leader that begins its epoch, and one that ends it.

use super::{Context, Fatal, Replica, RequestHeader};
use crate::error_code::ErrorCode;
use crate::kraft::change::RequestId;
use crate::kraft::effect::Reply;
use crate::kraft::epoch::{EpochState, end_quorum_backoff_ms};
use crate::kraft::rpc::{Answer, BeginQuorumEpochRequest, EndQuorumEpochRequest, Node};
use crate::kraft::voters::{Endpoints, ReplicaKey};
use crate::random::Random;
use crate::time::Monotonic;

impl Replica {
    /// Answers a `BeginQuorumEpoch`. It makes a follower, but is no fetch: the time that a follower waits for its
    /// leader goes on.
    pub fn handle_begin_quorum_epoch(
        &mut self,
        id: RequestId,
        header: &RequestHeader<'_>,
        request: &BeginQuorumEpochRequest,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            if let Some(error) = replica.check_header(header) {
                replica.reply(id, Reply::BeginQuorumEpoch(Answer::failed(error)));
                return Ok(());
            }
            let BeginQuorumEpochRequest { leader_id, epoch, leader_endpoints, .. } = request;
            let mut error = replica.hear_leader(*leader_id, *epoch, leader_endpoints, context)?;
            if error.is_none() && !replica.is_meant(request.voter) {
                error = Some(ErrorCode::InvalidVoterKey);
            }
            let answer = replica.answer(header, error.unwrap_or(ErrorCode::None), ());
            replica.reply(id, Reply::BeginQuorumEpoch(answer));
            Ok(())
        });
    }

    /// Answers an `EndQuorumEpoch`: a follower stands for election at once if it is the first in line, or after a while.
    ///
    /// The follower does not defend this leader against pre-votes any more (KAFKA-20895).
    pub fn handle_end_quorum_epoch(
        &mut self,
        id: RequestId,
        header: &RequestHeader<'_>,
        request: &EndQuorumEpochRequest,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            if let Some(error) = replica.check_header(header) {
                replica.reply(id, Reply::EndQuorumEpoch(Answer::failed(error)));
                return Ok(());
            }
            let EndQuorumEpochRequest { leader_id, epoch, leader_endpoints, .. } = request;
            let error = replica.hear_leader(*leader_id, *epoch, leader_endpoints, context)?;
            if error.is_none() {
                let candidates = request.preferred_candidates.iter().copied();
                let backoff_ms = replica.config.quorum.local_key().map_or(0, |local| {
                    end_quorum_backoff_ms(local, candidates, replica.config.election_backoff_max_ms)
                });
                if let Some(follower) = replica
                    .follower_mut()
                    .filter(|follower| follower.leader_id() == request.leader_id)
                {
                    follower.leader_resigned(backoff_ms, now);
                    replica.wake = Some(now);
                }
            }
            let answer = replica.answer(header, error.unwrap_or(ErrorCode::None), ());
            replica.reply(id, Reply::EndQuorumEpoch(answer));
            Ok(())
        });
    }

    /// Takes over what a request says of its sender, which leads or has led. Gives why it is not listened to, if it is not.
    fn hear_leader(
        &mut self,
        leader_id: i32,
        epoch: i32,
        said: &Endpoints,
        context: &mut Context<'_>,
    ) -> Result<Option<ErrorCode>, Fatal> {
        let error = self.check_leader_sender(leader_id, epoch);
        if error.is_none() {
            let endpoints = self.endpoints_of(leader_id, said);
            self.maybe_transition(Some(leader_id), epoch, endpoints, context)?;
        }
        Ok(error)
    }

    /// Why a request is not looked at.
    pub(super) fn check_header(&self, header: &RequestHeader<'_>) -> Option<ErrorCode> {
        if header.cluster_id.is_some_and(|cluster_id| cluster_id != &*self.config.cluster_id) {
            return Some(ErrorCode::InconsistentClusterId);
        }
        (!header.is_metadata_partition).then_some(ErrorCode::InvalidRequest)
    }

    /// Why a replica of this id and epoch is not listened to.
    pub(super) fn check_sender(&self, id: i32, epoch: i32) -> Option<ErrorCode> {
        if epoch < self.quorum.epoch() {
            return Some(ErrorCode::FencedLeaderEpoch);
        }
        (id < 0).then_some(ErrorCode::InvalidRequest)
    }

    /// As [`check_sender`](Self::check_sender), for one that says that it leads or led: that is not this replica, nor
    /// anybody but the leader that is known.
    ///
    /// `Deviation:` such a message ends Kafka's process.
    fn check_leader_sender(&self, id: i32, epoch: i32) -> Option<ErrorCode> {
        let error = self.check_sender(id, epoch);
        let is_another = self.is_contradicted_by(Some(id), epoch);
        let is_itself = Some(id) == self.config.quorum.local_id;
        error.or_else(|| (is_another || is_itself).then_some(ErrorCode::InvalidRequest))
    }

    /// Whether a request is meant for this replica.
    pub(super) fn is_meant(&self, voter: Option<ReplicaKey>) -> bool {
        let Some(voter) = voter.filter(|voter| voter.id >= 0) else { return true };
        let directory_id = self.config.quorum.local_directory_id;
        Some(voter.id) == self.config.quorum.local_id
            && voter.directory_id.is_none_or(|meant| meant == directory_id)
    }

    /// Where a leader listens, by what it says or else by the voters.
    pub(super) fn endpoints_of(&self, leader_id: i32, said: &Endpoints) -> Endpoints {
        if said.is_empty() { self.control.voters().endpoints(leader_id) } else { said.clone() }
    }

    /// The answer to a request about the metadata partition, with the leader as it is known after it.
    pub(super) fn answer<T>(
        &self,
        header: &RequestHeader<'_>,
        error: ErrorCode,
        body: T,
    ) -> Answer<T> {
        self.answer_from(header, 1, error, body)
    }

    /// As [`answer`](Self::answer), for a request that is answered with endpoints from this version on.
    pub(super) fn answer_from<T>(
        &self,
        header: &RequestHeader<'_>,
        with_nodes_from: i16,
        error: ErrorCode,
        body: T,
    ) -> Answer<T> {
        let state = self.quorum.state();
        let leader_id = state.leader_id();
        let leader =
            leader_id.filter(|_| header.version >= with_nodes_from).and_then(|leader_id| {
                let endpoints = state.leader_endpoints().filter(|endpoints| !endpoints.is_empty());
                let endpoint = endpoints?.get(&header.listener)?;
                Some(Node::at(leader_id, endpoint))
            });
        let partition =
            crate::kraft::rpc::PartitionAnswer { error, leader_id, epoch: state.epoch(), body };
        Answer {
            error: ErrorCode::None,
            partition: Some(partition),
            nodes: leader.into_iter().collect(),
        }
    }

    /// Notes what a voter has heard.
    pub(super) fn acknowledged(&mut self, voter: i32) {
        match self.quorum.state_mut() {
            EpochState::Leader(leader) => leader.acknowledged(voter),
            EpochState::Resigned(resigned) => resigned.acknowledge(voter),
            _ => {}
        }
    }
}
