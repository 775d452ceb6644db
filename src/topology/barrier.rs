//! The tables by which beliefs change: Kafka's, for hosts that run the operations themselves.

use super::epoch::{Belief, StoredEpoch, TopologyEpoch};
use super::group::{Life, StreamsGroup};

/// Who is about to call the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the plugin knows two calls that change it")]
pub enum Caller {
    /// A push, which will set a description. Its group may be live.
    Push,
    /// A cleanup, `DeleteGroups` or conversion, which will delete the description of an empty group.
    Delete,
}

/// What must be durable before the plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "each case needs another step of its host")]
pub enum Mark {
    /// The plugin must not be called: the group vanished, was revived, or has nothing to delete.
    Refused,
    /// Uncertain already. Nothing is written, but that may not be committed yet: wait for all that
    /// was written before.
    Covered,
    /// Write this, and wait until it is committed.
    Write(Belief),
}

/// The barrier before a plugin call, by the latest state of the group; `None` if there is no streams
/// group of that id. Kafka: `GroupMetadataManager.markTopologyUncertain`.
pub const fn mark(group: Option<&StreamsGroup>, caller: Caller) -> Mark {
    let Some(group) = group else {
        return Mark::Refused;
    };
    match (caller, group.life, group.belief.stored) {
        (Caller::Delete, Life::Live, _) | (Caller::Delete, _, StoredEpoch::None) => Mark::Refused,
        (_, _, StoredEpoch::Uncertain) => Mark::Covered,
        _ => Mark::Write(Belief { stored: StoredEpoch::Uncertain, ..group.belief }),
    }
}

/// What is written after the plugin took the description of `pushed`. It is always written.
///
/// If a delete was finalized meanwhile, nobody knows which of the two the plugin did last.
pub fn after_set(belief: Belief, pushed: TopologyEpoch) -> Belief {
    let stored = match belief.stored {
        StoredEpoch::None => StoredEpoch::Uncertain,
        StoredEpoch::Uncertain => StoredEpoch::Held(pushed),
        StoredEpoch::Held(epoch) => StoredEpoch::Held(epoch.max(pushed)),
    };
    Belief { stored, ..belief }
}

/// What is written after the plugin refused the description of `pushed` for good. It is always
/// written. The barrier stays: the plugin may hold an older description.
pub fn after_refusal(belief: Belief, pushed: TopologyEpoch) -> Belief {
    Belief { failed: belief.failed.max(Some(pushed)), ..belief }
}

/// What is written after the plugin deleted the group's description; `None` if nothing is.
///
/// If the epoch of a push was written meanwhile, nobody knows which of the two the plugin did last.
pub const fn after_delete(belief: Belief) -> Option<Belief> {
    let stored = match belief.stored {
        StoredEpoch::None => return None,
        StoredEpoch::Uncertain => StoredEpoch::None,
        StoredEpoch::Held(_) => StoredEpoch::Uncertain,
    };
    Some(Belief { stored, ..belief })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Life::{Empty, Live};

    const UNCERTAIN: StoredEpoch = StoredEpoch::Uncertain;

    fn epoch(number: i32) -> TopologyEpoch {
        TopologyEpoch::new(number).unwrap()
    }

    fn belief(stored: StoredEpoch) -> Belief {
        Belief { stored, failed: Some(epoch(3)) }
    }

    #[test]
    fn the_barrier_is_refused_covered_or_written() {
        let held = StoredEpoch::Held(epoch(5));
        let written = Mark::Write(belief(UNCERTAIN));
        for (life, stored, push, delete) in [
            (Empty, StoredEpoch::None, written, Mark::Refused),
            (Empty, UNCERTAIN, Mark::Covered, Mark::Covered),
            (Empty, held, written, written),
            (Live, StoredEpoch::None, written, Mark::Refused),
            (Live, UNCERTAIN, Mark::Covered, Mark::Refused),
            (Live, held, written, Mark::Refused),
        ] {
            let group = StreamsGroup { current: Some(epoch(5)), belief: belief(stored), life };
            assert_eq!(mark(Some(&group), Caller::Push), push, "{group:?}");
            assert_eq!(mark(Some(&group), Caller::Delete), delete, "{group:?}");
        }
        assert_eq!(mark(None, Caller::Push), Mark::Refused);
        assert_eq!(mark(None, Caller::Delete), Mark::Refused);
    }

    #[test]
    fn a_race_of_push_and_delete_leaves_uncertainty() {
        assert_eq!(after_set(belief(StoredEpoch::None), epoch(5)), belief(UNCERTAIN));
        assert_eq!(after_delete(belief(StoredEpoch::Held(epoch(5)))), Some(belief(UNCERTAIN)));
    }

    #[test]
    fn epochs_do_not_go_back() {
        for (known, pushed, expected) in [(5, 4, 5), (5, 5, 5), (5, 6, 6)] {
            let held = |number| belief(StoredEpoch::Held(epoch(number)));
            assert_eq!(after_set(held(known), epoch(pushed)), held(expected));
        }
        for (pushed, expected) in [(2, 3), (3, 3), (4, 4)] {
            let after = after_refusal(belief(UNCERTAIN), epoch(pushed));
            assert_eq!((after.stored, after.failed), (UNCERTAIN, Some(epoch(expected))));
        }
    }
}
