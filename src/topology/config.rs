//! How a manager works.

use core::num::NonZeroU32;

use super::backoff::BackoffConfig;

/// How calls of a coordinator that was replaced are kept from doing harm when they arrive late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "one of the two is needed")]
pub enum Fencing {
    /// The plugin keeps the highest [`Token`](super::Token) of each group, also after a delete, and
    /// ignores calls with lower ones.
    Tokens,
    /// The plugin cannot do that. Instead the host sees to it that calls take effect less than
    /// `lifetime_ms` after the time that was handed in with the report that led to them, and less than
    /// that after their broker ceased to coordinate the shard. Nothing is called before that time has gone
    /// by since the shard was loaded: nobody is asked, pushes and classic joins are sent away, and groups
    /// of which something may be held are not deleted.
    Lifetime {
        /// Milliseconds.
        lifetime_ms: u32,
    },
}

/// Whether topologies can be stored at all: Kafka's
/// `group.streams.topology.description.plugin.class`.
///
/// It must be the same on all brokers: one without plugin removes groups whose description is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "there is one or none")]
pub enum Plugin {
    /// There is none, and nothing is asked for, called or held back.
    #[default]
    Absent,
    /// There is one.
    Present(Fencing),
}

/// How a [`TopologyManager`](super::TopologyManager) works. The defaults are Kafka's, without plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyConfig {
    pub(super) plugin: Plugin,
    pub(super) backoff: BackoffConfig,
    pub(super) cleanup_interval_ms: u32,
    call_timeout_ms: Option<u32>,
    pub(super) hash_seed: u64,
}

impl Default for TopologyConfig {
    fn default() -> Self {
        Self {
            plugin: Plugin::Absent,
            backoff: BackoffConfig::default(),
            cleanup_interval_ms: 600_000,
            call_timeout_ms: None,
            hash_seed: 0,
        }
    }
}

impl TopologyConfig {
    /// Whether there is a plugin; by default there is none.
    #[must_use]
    pub const fn with_plugin(mut self, plugin: Plugin) -> Self {
        self.plugin = plugin;
        self
    }

    /// The windows of pushes and conversions; by default Kafka's.
    #[must_use]
    pub const fn with_backoff(mut self, backoff: BackoffConfig) -> Self {
        self.backoff = backoff;
        self
    }

    /// How often descriptions of empty groups are cleaned up, in milliseconds: Kafka's
    /// `offsets.retention.check.interval.ms`. By default 600000.
    #[must_use]
    pub const fn with_cleanup_interval_ms(mut self, interval_ms: NonZeroU32) -> Self {
        self.cleanup_interval_ms = interval_ms.get();
        self
    }

    /// How long the plugin may take to answer, in milliseconds. A call that takes longer counts as
    /// failed, and its answer is ignored when it comes. By default 600000.
    ///
    /// It is at least 1; with [`Fencing::Lifetime`] it is at least, and by default, that lifetime.
    ///
    /// Until a call is answered or given up, its group has no other operation, the cleanup cycle or
    /// `DeleteGroups` that it belongs to goes on, and no other cycle starts.
    ///
    /// Deviation: Kafka waits for ever. One call that is never answered ends all cleanup of its broker.
    #[must_use]
    pub const fn with_call_timeout_ms(mut self, timeout_ms: u32) -> Self {
        self.call_timeout_ms = Some(timeout_ms);
        self
    }

    /// The seed of the hash tables, whose keys clients choose: draw it at random. By default 0.
    /// No answer depends on it.
    #[must_use]
    pub const fn with_hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = seed;
        self
    }

    /// How long a call may take, in milliseconds.
    pub(super) fn timeout_ms(&self) -> u32 {
        let timeout_ms = match self.plugin {
            Plugin::Present(Fencing::Lifetime { lifetime_ms }) => {
                self.call_timeout_ms.unwrap_or(0).max(lifetime_ms)
            }
            _ => self.call_timeout_ms.unwrap_or(600_000),
        };
        // A call that is given up as it is made is made again for ever.
        timeout_ms.max(1)
    }

    /// How long nothing is called after loading, in milliseconds.
    pub(super) const fn quarantine_ms(&self) -> u32 {
        match self.plugin {
            Plugin::Present(Fencing::Lifetime { lifetime_ms }) => lifetime_ms,
            _ => 0,
        }
    }

    pub(super) const fn has_plugin(&self) -> bool {
        matches!(self.plugin, Plugin::Present(_))
    }
}
