//! How changes of voters are set up.

use alloc::boxed::Box;

use crate::kraft::voters::ListenerName;

/// How a leader's [`VoterChanges`](super::VoterChanges) are set up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangeConfig {
    pub(super) cluster_id: Box<str>,
    pub(super) default_listener: ListenerName,
    pub(super) request_timeout_ms: u32,
    pub(super) lag_max: u64,
}

impl ChangeConfig {
    /// The defaults of Kafka, for the cluster with this id whose replicas talk to each other by this
    /// listener: the first of `controller.listener.names`.
    pub fn new(cluster_id: impl Into<Box<str>>, default_listener: ListenerName) -> Self {
        Self {
            cluster_id: cluster_id.into(),
            default_listener,
            request_timeout_ms: 2_000,
            lag_max: u64::MAX,
        }
    }

    /// How long a change may take, from the request to its commit, in milliseconds; 2000 by default.
    /// Kafka: `controller.quorum.request.timeout.ms`, which it takes instead of the request's own
    /// time-out too.
    #[must_use]
    pub fn with_request_timeout_ms(mut self, ms: u32) -> Self {
        self.request_timeout_ms = ms;
        self
    }

    /// By how many records a new voter may be behind the leader; any number by default, as in Kafka
    /// (KAFKA-19933). A voter that lags far holds up commits until it has caught up.
    #[must_use]
    pub fn with_lag_max(mut self, records: u64) -> Self {
        self.lag_max = records;
        self
    }
}
