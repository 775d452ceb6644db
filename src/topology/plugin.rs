//! A plugin in memory, for tests, examples and brokers without one of their own.

use alloc::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::call::{DeleteCall, SetCall, Token};
use super::epoch::TopologyEpoch;

/// Keeps a description a group: Kafka's `InMemoryTopologyDescriptionPlugin`, with fencing.
///
/// Of each group that it was ever called for it keeps the id and a token of 16 bytes, by which late calls
/// of an old coordinator are known, after a delete too. They are never dropped by themselves: where ids
/// come and go, [`forget`](Self::forget) those of groups that are gone, once none of their calls can
/// come any more.
#[derive(Clone, Debug)]
pub struct InMemoryPlugin<D> {
    groups: HashMap<Arc<str>, Kept<D>, FixedState>,
}

#[derive(Clone, Debug)]
struct Kept<D> {
    fence: Token,
    description: Option<(TopologyEpoch, D)>,
}

impl<D> InMemoryPlugin<D> {
    /// Holds nothing. The seed is that of a hash table whose keys clients choose: draw it at random.
    pub fn new(hash_seed: u64) -> Self {
        Self { groups: HashMap::with_hasher(FixedState::with_seed(hash_seed)) }
    }

    /// Keeps a description; answers `false`, and changes nothing, if a later call of the group came
    /// before this one: then the call failed. O(1).
    pub fn set(&mut self, call: &SetCall, description: D) -> bool {
        self.put(call.group_id(), call.token(), Some((call.epoch(), description)))
    }

    /// Deletes the group's description, if there is one; answers `false`, and changes nothing, if a
    /// later call of the group came before this one: then the call failed. O(1).
    pub fn delete(&mut self, call: &DeleteCall) -> bool {
        self.put(call.group_id(), call.token(), None)
    }

    fn put(
        &mut self,
        group_id: &Arc<str>,
        fence: Token,
        description: Option<(TopologyEpoch, D)>,
    ) -> bool {
        match self.groups.get_mut(group_id) {
            Some(kept) if kept.fence > fence => return false,
            Some(kept) => *kept = Kept { fence, description },
            None => {
                self.groups.insert(group_id.clone(), Kept { fence, description });
            }
        }
        true
    }

    /// The description of a group, if it is of this epoch. O(1).
    pub fn get(&self, group_id: &str, epoch: TopologyEpoch) -> Option<&D> {
        let (held, description) = self.groups.get(group_id)?.description.as_ref()?;
        (*held == epoch).then_some(description)
    }

    /// The epoch of the description that is held of a group. O(1).
    pub fn epoch(&self, group_id: &str) -> Option<TopologyEpoch> {
        Some(self.groups.get(group_id)?.description.as_ref()?.0)
    }

    /// Forgets a group, its fence too. O(1).
    pub fn forget(&mut self, group_id: &str) {
        self.groups.remove(group_id);
    }
}
