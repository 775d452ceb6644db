//! What is served when a group is described.

use super::epoch::{StoredEpoch, TopologyEpoch};
use crate::error_code::ErrorCode;

/// Kafka's `TopologyDescriptionStatus` (KIP-1331).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the codes of the protocol")]
#[repr(i8)]
pub enum DescriptionStatus {
    /// It was not asked for, or the group has an error.
    NotRequested = 0,
    /// There is none of the group's current topology.
    NotStored = 1,
    /// The plugin failed.
    Error = 2,
    /// It comes with the response.
    Available = 3,
}

impl DescriptionStatus {
    /// The number in the response.
    pub const fn code(self) -> i8 {
        self as i8
    }

    /// Kafka's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotRequested => "NOT_REQUESTED",
            Self::NotStored => "NOT_STORED",
            Self::Error => "ERROR",
            Self::Available => "AVAILABLE",
        }
    }
}

/// A group of a `StreamsGroupDescribe`, as of the last committed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "plain values, made by the host")]
pub struct Described {
    /// Whether the request asks for descriptions of topologies.
    pub is_requested: bool,
    /// The error of the group in the response.
    pub error: ErrorCode,
    /// The epoch of the group's topology.
    pub current: Option<TopologyEpoch>,
    /// What is believed of the plugin, if that is known; read at the same offset.
    pub stored: Option<StoredEpoch>,
}

/// What to do for a described group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the plugin is asked or not")]
pub enum Describe {
    /// Answer this, without a description.
    Answer(DescriptionStatus),
    /// Ask the plugin for the description of this epoch.
    Ask(TopologyEpoch),
}

/// How a plugin's get ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "each case has its status")]
pub enum GetEnding {
    /// There is a description, and it can be put into the response.
    Found,
    /// There is none.
    Missing,
    /// The plugin failed, or was not even called.
    Failed,
    /// There is a description that cannot be put into the response.
    Unreadable,
}

impl GetEnding {
    /// What is answered.
    pub const fn status(self) -> DescriptionStatus {
        match self {
            Self::Found => DescriptionStatus::Available,
            Self::Missing => DescriptionStatus::NotStored,
            Self::Failed | Self::Unreadable => DescriptionStatus::Error,
        }
    }
}

impl Described {
    /// What to do while a plugin is configured. Kafka:
    /// `StreamsGroupTopologyDescriptionManager.describe`.
    pub fn decide(&self) -> Describe {
        if !self.is_requested || !self.error.is_none() {
            return Describe::Answer(DescriptionStatus::NotRequested);
        }
        match self.stored.and_then(|stored| stored.served(self.current)) {
            Some(epoch) => Describe::Ask(epoch),
            None => Describe::Answer(DescriptionStatus::NotStored),
        }
    }

    /// What to answer without a plugin.
    pub const fn without_plugin(&self) -> DescriptionStatus {
        if self.is_requested && self.error.is_none() {
            DescriptionStatus::NotStored
        } else {
            DescriptionStatus::NotRequested
        }
    }
}
