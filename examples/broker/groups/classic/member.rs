//! A member of a classic group.

use super::request::{Join, Joined, Protocol, Synced, answer};
use bytes::Bytes;
use kafka_coordination::{ErrorCode, Monotonic};
use tokio::sync::oneshot::Sender;

/// What a member takes beside its protocols and assignment, roughly: some of that are ids and names of any length up to a
/// limit, so it is much for most.
pub(crate) const OVERHEAD: usize = 4_096;
/// What a protocol takes beside its name and metadata.
const PROTOCOL: usize = 64;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(super) session_timeout_ms: i32,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) protocols: Vec<Protocol>,
    pub(crate) assignment: Bytes,
    /// Whether its first join has not been answered yet.
    pub(super) is_new: bool,
    /// When it is taken for dead. None while it waits for an answer, when nothing can be heard of it.
    pub(super) session_deadline: Option<Monotonic>,
    /// Whether it has to sync yet in this generation.
    pub(super) must_sync: bool,
    joining: Option<Sender<Joined>>,
    syncing: Option<Sender<Synced>>,
}

impl Member {
    pub(super) fn new(join: Join) -> Self {
        Self {
            instance_id: join.instance_id,
            client_id: join.client_id,
            client_host: join.client_host,
            session_timeout_ms: join.session_timeout_ms,
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            protocols: join.protocols,
            assignment: Bytes::new(),
            is_new: true,
            session_deadline: None,
            must_sync: false,
            joining: None,
            syncing: None,
        }
    }

    /// Takes over what a new join says.
    pub(super) fn update(&mut self, join: Join) {
        self.session_timeout_ms = join.session_timeout_ms;
        self.rebalance_timeout_ms = join.rebalance_timeout_ms;
        self.protocols = join.protocols;
    }

    pub(super) fn heard_of(&mut self, now: Monotonic) {
        self.session_deadline = Some(now.saturating_add(self.session_timeout_ms.into()));
    }

    pub(super) fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    pub(super) fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Whether silence is no sign of death: the member waits for the group.
    pub(super) fn may_be_silent(&self) -> bool {
        !self.is_new && (self.joining.is_some() || self.syncing.is_some())
    }

    pub(crate) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|own| own.name == protocol).map(|own| &own.metadata)
    }

    /// Lets the member wait for the end of the join phase. A join of the same member that waits already is of a
    /// connection that the member has given up.
    pub(super) fn await_join(&mut self, member_id: &str, reply: Sender<Joined>) {
        if let Some(old) = self.joining.replace(reply) {
            answer(old, Joined::refused(ErrorCode::RebalanceInProgress, member_id));
        }
    }

    /// Lets the member wait for its assignment.
    pub(super) fn await_sync(&mut self, reply: Sender<Synced>) {
        if let Some(old) = self.syncing.replace(reply) {
            answer(old, Synced::refused(ErrorCode::RebalanceInProgress));
        }
    }

    /// Answers the join that waits, if one does.
    pub(super) fn answer_join(&mut self, joined: Joined) {
        if let Some(reply) = self.joining.take() {
            answer(reply, joined);
        }
    }

    /// Answers the sync that waits. Whether one did.
    pub(super) fn answer_sync(&mut self, synced: Synced) -> bool {
        self.syncing.take().map(|reply| answer(reply, synced)).is_some()
    }

    /// The memory that the member takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        let protocols =
            self.protocols.iter().map(|own| PROTOCOL + own.name.len() + own.metadata.len());
        OVERHEAD + self.assignment.len() + protocols.sum::<usize>()
    }
}
