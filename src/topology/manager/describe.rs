//! What is served of a group, and what follows if the plugin has not what it should.

use alloc::sync::Arc;

use super::TopologyManager;
use crate::topology::describe::{Describe, Described, DescriptionStatus, GetEnding};
use crate::topology::epoch::{Belief, StoredEpoch, TopologyEpoch};
use crate::topology::group::Groups;
use crate::topology::operation::{Atomicity, BeliefWrite, Kind};

impl TopologyManager {
    /// What to do for a described group. O(1).
    pub fn describe(&self, described: &Described) -> Describe {
        if self.config.has_plugin() {
            described.decide()
        } else {
            Describe::Answer(described.without_plugin())
        }
    }

    /// Takes the end of a plugin's get of this epoch, and says what to answer. O(1).
    ///
    /// Deviation: a plugin that has lost what it should hold is believed uncertain from now on, so
    /// that a member is asked for the description again. Kafka answers "not stored" for ever.
    pub fn described(
        &mut self,
        group_id: &str,
        epoch: TopologyEpoch,
        ending: GetEnding,
        groups: &impl Groups,
    ) -> DescriptionStatus {
        self.counters.get_ended(ending);
        let held = StoredEpoch::Held(epoch);
        if ending == GetEnding::Missing
            && self.is_active()
            && !self.busy.contains_key(group_id)
            && let Some(group) = groups.latest(group_id)
            && group.belief.stored == held
        {
            let group_id: Arc<str> = group_id.into();
            let belief = Belief { stored: StoredEpoch::Uncertain, ..group.belief };
            let operation = self.new_operation();
            self.begin(operation, Kind::Doubt(group_id.clone()));
            self.write(operation, Atomicity::Atomic, [BeliefWrite { group_id, belief }].into());
        }
        ending.status()
    }
}
