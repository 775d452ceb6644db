//! Sending requests.

use super::{Context, Replica};
use crate::kraft::effect::Effect;
use crate::kraft::epoch::EpochState;
use crate::kraft::requests::{Availability, Correlation};
use crate::kraft::rpc::{
    FetchRecordsRequest, FetchSnapshotRequest, KnownHighWatermark, Node, Request,
};
use crate::kraft::voters::ReplicaKey;

/// What became of a request that was to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The request's name, if it was sent.
    pub(super) correlation: Option<Correlation>,
    /// Milliseconds until something may be sent to this node again.
    pub(super) wait_ms: i64,
}

impl Replica {
    /// Sends a request to a node unless it owes an answer or its connection rests.
    pub(super) fn maybe_send(&mut self, to: Node, request: Request, context: &Context<'_>) -> Sent {
        match self.connections.availability(to.id, context.now) {
            Availability::In(wait_ms) => Sent { correlation: None, wait_ms },
            Availability::Ready => {
                let correlation = self.connections.sent(to.id, context.now);
                self.effect(Effect::Send { correlation, to, request });
                Sent {
                    correlation: Some(correlation),
                    wait_ms: self.connections.request_timeout_ms(),
                }
            }
        }
    }

    /// Where a voter is reached by the other replicas, by the latest voters.
    pub(super) fn voter_node(&self, id: i32) -> Option<Node> {
        let endpoint = self.control.voters().endpoint(id, &self.config.listener)?;
        Some(Node::at(id, endpoint))
    }

    /// Where the leader is reached, if that is known.
    pub(super) fn leader_node(&self) -> Option<Node> {
        let state = self.quorum.state();
        let endpoint = state.leader_endpoints()?.get(&self.config.listener)?;
        Some(Node::at(state.leader_id()?, endpoint))
    }

    /// Who this replica says it is.
    fn fetcher(&self) -> ReplicaKey {
        let key = ReplicaKey::new(-1, self.config.quorum.local_directory_id);
        self.config.quorum.local_key().unwrap_or(key)
    }

    /// Whether the log is as the next fetch will say it is: a replica that may vote acknowledges what is durable.
    fn is_log_settled(&self) -> bool {
        !self.is_log_busy
            && (!self.flushes_what_it_fetches() || self.flushed >= self.log.end_offset())
    }

    pub(super) fn flushes_what_it_fetches(&self) -> bool {
        self.config.can_become_voter || !self.is_observer()
    }

    fn fetch_request(&self) -> Request {
        let leader_epoch = self.quorum.epoch();
        if let Some(download) = &self.download {
            return Request::FetchSnapshot(FetchSnapshotRequest {
                replica: self.fetcher(),
                leader_epoch,
                snapshot: download.snapshot,
                position: download.position,
                max_bytes: self.config.fetch_snapshot_max_bytes,
            });
        }
        self.fetch_records_request()
    }

    fn fetch_records_request(&self) -> Request {
        let known = self.quorum.state().high_watermark();
        Request::Fetch(FetchRecordsRequest {
            replica: self.fetcher(),
            leader_epoch: self.quorum.epoch(),
            log_end: self.log.end(),
            max_wait_ms: i32::try_from(self.config.fetch_max_wait_ms).unwrap_or(i32::MAX),
            max_bytes: self.config.fetch_max_bytes,
            high_watermark: known.map_or(KnownHighWatermark::Unknown, KnownHighWatermark::At),
        })
    }

    /// Asks one of the bootstrap servers, if nothing is in flight. Gives the milliseconds until that may be done again.
    pub(super) fn fetch_from_bootstrap(&mut self, context: &mut Context<'_>) -> i64 {
        if !self.is_log_settled() {
            return i64::MAX;
        }
        match self.connections.ready_bootstrap(context.now, context.random) {
            Some(node) => {
                let request = self.fetch_records_request();
                self.maybe_send(node, request, context).wait_ms
            }
            None => self.connections.bootstrap_backoff_ms(context.now),
        }
    }

    /// Fetches from the leader, or asks a bootstrap server while the leader does not answer. Gives the milliseconds until
    /// that may be done again.
    pub(super) fn fetch_from_best(&mut self, context: &mut Context<'_>) -> i64 {
        if !self.is_log_settled() {
            return i64::MAX;
        }
        let Some(leader) = self.leader_node() else { return self.fetch_from_bootstrap(context) };
        if self.connections.has_timed_out(leader.id, context.now) {
            self.connections.reset(leader.id);
            return self.fetch_from_bootstrap(context);
        }
        if self.connections.is_backing_off(leader.id, context.now) {
            return self.fetch_from_bootstrap(context);
        }
        if self.connections.has_any_in_flight(context.now) {
            return self.connections.bootstrap_backoff_ms(context.now);
        }
        let request = self.fetch_request();
        self.maybe_send(leader, request, context).wait_ms
    }

    pub(super) fn follower_mut(&mut self) -> Option<&mut crate::kraft::epoch::Follower> {
        match self.quorum.state_mut() {
            EpochState::Follower(follower) => Some(follower),
            _ => None,
        }
    }

    pub(super) fn leader_mut(&mut self) -> Option<&mut crate::kraft::epoch::Leader> {
        match self.quorum.state_mut() {
            EpochState::Leader(leader) => Some(leader),
            _ => None,
        }
    }
}
