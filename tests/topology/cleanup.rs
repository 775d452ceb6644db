//! Which groups a cleanup looks at, and what it keeps of them.

use crate::one::{Least, One, at, drain, manager};
use kafka_coordination::topology::{Cleanup, Ending, Fencing, Groups, Life, StreamsGroup};

/// A group `g` of which not all records are committed, or that has offsets.
struct Between {
    latest: Option<StreamsGroup>,
    committed: Option<StreamsGroup>,
    has_offsets: bool,
}

impl Groups for Between {
    fn latest(&self, _: &str) -> Option<StreamsGroup> {
        self.latest
    }

    fn committed(&self, _: &str) -> Option<StreamsGroup> {
        self.committed
    }

    fn has_member(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_offsets(&self, _: &str) -> bool {
        self.has_offsets
    }
}

#[test]
fn a_group_is_cleaned_up_once_it_is_committed_that_it_is_empty_and_its_offsets_are_gone() {
    let mut manager = manager(Fencing::Tokens, None);
    let [empty, live] = [Life::Empty, Life::Live].map(|life| One::new(3, life).0);
    manager.observe("g", empty.as_ref());
    let mut group = Between { latest: empty, committed: live, has_offsets: false };
    assert_eq!(manager.start_cleanup(&group, at(0)), Cleanup::Idle, "it is not committed");
    group.committed = empty;
    group.has_offsets = true;
    assert_eq!(manager.start_cleanup(&group, at(1)), Cleanup::Idle, "it has offsets");
    assert!(!manager.is_busy("g"));
    group.has_offsets = false;
    assert!(matches!(manager.start_cleanup(&group, at(2)), Cleanup::Started(_)));
    assert!(manager.is_busy("g"));
}

#[test]
fn a_group_that_was_revived_is_forgotten_by_the_first_cleanup_after_that_is_committed() {
    let mut manager = manager(Fencing::Tokens, None);
    let [empty, live] = [Life::Empty, Life::Live].map(|life| One::new(3, life).0);
    manager.observe("g", empty.as_ref());
    let mut group = Between { latest: live, committed: empty, has_offsets: true };
    assert_eq!(manager.start_cleanup(&group, at(0)), Cleanup::Idle);
    assert_eq!(manager.uncleaned_count(), 1, "the record of the member may be taken back");
    group.committed = live;
    assert_eq!(manager.start_cleanup(&group, at(1)), Cleanup::Idle);
    assert_eq!(manager.uncleaned_count(), 0);
}

#[test]
fn a_group_may_not_be_removed_until_it_is_written_that_it_was_deleted() {
    let mut manager = manager(Fencing::Tokens, None);
    let mut group = One::new(-2, Life::Empty);
    manager.observe("g", group.0.as_ref());
    manager.start_cleanup(&group, at(0));
    let call = drain(&mut manager, &mut group, at(0)).deletes.remove(0);
    manager.delete_ended(&call, Ending::Done, &group, &mut Least, at(0));
    let nothing_stored = One::new(-1, Life::Empty);
    assert!(!manager.may_remove("g", nothing_stored.0.as_ref()), "it is still to be written");
    assert!(!manager.may_remove("g", None), "what comes in its place waits, too");
    drain(&mut manager, &mut group, at(0));
    assert!(manager.may_remove("g", group.0.as_ref()));
}
