//! What a manager counts.

use super::describe::GetEnding;
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
        count(match outcome {
            SetOutcome::Stored => &mut self.sets,
            SetOutcome::Permanent(_) | SetOutcome::Transient(_) => &mut self.failed_sets,
        });
    }

    pub(super) const fn get_ended(&mut self, ending: GetEnding) {
        count(match ending {
            GetEnding::Found | GetEnding::Missing => &mut self.gets,
            GetEnding::Failed | GetEnding::Unreadable => &mut self.failed_gets,
        });
    }

    pub(super) const fn delete_ended(&mut self, is_done: bool) {
        count(if is_done { &mut self.deletes } else { &mut self.failed_deletes });
    }

    pub(super) const fn cleanup_began(&mut self) {
        count(&mut self.cleanup_cycles);
    }

    pub(super) const fn cleanup_found(&mut self, eligible: usize) {
        self.cleanup_eligible = self.cleanup_eligible.saturating_add(eligible as u64);
    }
}

/// Numbers that enter with a state may be as high as they like.
const fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
