//! What a manager counts.

use super::ending::SetOutcome;

/// Kafka's metrics `streams-group-topology-description-*`, counted since the manager was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TopologyCounters {
    /// `set-success`.
    pub sets: u64,
    /// `set-error`, permanent or not.
    pub failed_sets: u64,
    /// `get-success`, those that found nothing among them.
    pub gets: u64,
    /// `get-error`.
    pub failed_gets: u64,
    /// `delete-success`, whoever caused it.
    pub deletes: u64,
    /// `delete-error`.
    pub failed_deletes: u64,
    /// `cleanup-cycle`.
    pub cleanup_cycles: u64,
    /// `cleanup-eligible`.
    pub cleanup_eligible: u64,
}

impl TopologyCounters {
    pub(super) const fn set_ended(&mut self, outcome: &SetOutcome) {
        match outcome {
            SetOutcome::Stored => self.sets += 1,
            SetOutcome::Permanent(_) | SetOutcome::Transient(_) => self.failed_sets += 1,
        }
    }

    pub(super) const fn delete_ended(&mut self, is_done: bool) {
        if is_done {
            self.deletes += 1;
        } else {
            self.failed_deletes += 1;
        }
    }
}
