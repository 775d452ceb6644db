//! The map from topic ids to topic names.

use crate::topic::{TopicId, TopicName};
use alloc::collections::BTreeMap;
use core::hash::BuildHasher;
use hashbrown::HashMap;

/// What the broker's metadata knows of topic ids, at one moment.
///
/// Implemented for closures, for maps and for [`ClusterImage`](super::ClusterImage).
pub trait TopicNames {
    /// The name of the topic with this id, if the metadata knows it.
    fn topic_name(&self, id: TopicId) -> Option<TopicName>;
}

impl<F: Fn(TopicId) -> Option<TopicName>> TopicNames for F {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self(id)
    }
}

impl TopicNames for BTreeMap<TopicId, TopicName> {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self.get(&id).cloned()
    }
}

impl<S: BuildHasher> TopicNames for HashMap<TopicId, TopicName, S> {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self.get(&id).cloned()
    }
}

#[cfg(feature = "std")]
impl<S: BuildHasher> TopicNames for std::collections::HashMap<TopicId, TopicName, S> {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        self.get(&id).cloned()
    }
}

/// A trait object passes wherever a type that knows names does.
impl TopicNames for &(dyn TopicNames + '_) {
    fn topic_name(&self, id: TopicId) -> Option<TopicName> {
        (**self).topic_name(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: TopicId = TopicId::from_u128(7);

    fn knows_orders_alone(names: &impl TopicNames) -> bool {
        names.topic_name(ORDERS).as_deref() == Some("orders")
            && names.topic_name(TopicId::from_u128(8)).is_none()
    }

    #[test]
    fn closures_maps_and_objects_know_names() {
        let entry = (ORDERS, TopicName::from("orders"));
        let tree = BTreeMap::from([entry.clone()]);
        let table: HashMap<_, _, foldhash::fast::FixedState> = [entry].into_iter().collect();
        assert!(knows_orders_alone(&tree));
        assert!(knows_orders_alone(&table));
        assert!(knows_orders_alone(&|id| (id == ORDERS).then(|| TopicName::from("orders"))));
        let object: &dyn TopicNames = &tree;
        assert!(knows_orders_alone(&object));
    }
}
