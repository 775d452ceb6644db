//! When regular expressions are resolved again.

use kafka_coordination::Timestamp;
use kafka_coordination::group::{GroupRegexes, NewTopics, RegexRefresh, RegexRefreshError};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// A group whose one expression was resolved at 0 on the image at offset 10.
const RESOLVED: GroupRegexes = GroupRegexes {
    subscribed: 1,
    resolved: 1,
    last_resolution: Some((10, Timestamp::from_millis(0))),
    has_new: false,
    is_running: false,
};

fn topics(offsets: &[(i64, usize)]) -> NewTopics {
    let mut topics = NewTopics::new();
    for &(offset, created) in offsets {
        topics.on_image(offset, created);
    }
    topics
}

fn is_due(group: GroupRegexes, topics: NewTopics, now: i64) -> bool {
    RegexRefresh::default().is_due(group, topics, at(now))
}

#[test]
fn what_was_never_resolved_is_due_at_once() {
    let new = GroupRegexes { resolved: 0, last_resolution: None, has_new: true, ..RESOLVED };
    assert!(is_due(new, NewTopics::new(), i64::MIN));
    assert!(!is_due(GroupRegexes { is_running: true, ..new }, NewTopics::new(), 0));
    assert!(!is_due(GroupRegexes { subscribed: 0, has_new: false, ..new }, NewTopics::new(), 0));
}

#[test]
fn new_topics_are_seen_after_ten_seconds() {
    let seen = topics(&[(10, 2), (11, 0), (12, 0)]);
    assert!(!is_due(RESOLVED, seen, 600_000), "deletions and changes bring no topic");
    let newer = topics(&[(10, 2), (20, 1), (30, 0)]);
    assert!(!is_due(RESOLVED, newer, 10_000));
    assert!(is_due(RESOLVED, newer, 10_001));
    assert!(!is_due(GroupRegexes { is_running: true, ..RESOLVED }, newer, 10_001));
}

#[test]
fn another_number_of_expressions_is_due_after_ten_seconds() {
    let seen = topics(&[(10, 1)]);
    for group in [
        GroupRegexes { subscribed: 2, ..RESOLVED },
        GroupRegexes { resolved: 2, ..RESOLVED },
        GroupRegexes { has_new: true, ..RESOLVED },
    ] {
        assert!(!is_due(group, seen, 10_000) && is_due(group, seen, 10_001));
    }
}

#[test]
fn the_interval_is_over_after_ten_minutes() {
    let seen = topics(&[(10, 1)]);
    assert!(!is_due(RESOLVED, seen, 600_000));
    assert!(is_due(RESOLVED, seen, 600_001));
    let often = RegexRefresh::default().with_interval_ms(10_000).unwrap();
    assert!(often.is_due(RESOLVED, seen, at(10_001)));
    let refused = RegexRefresh::default().with_interval_ms(9_999);
    assert!(matches!(refused, Err(RegexRefreshError { interval_ms: 9_999, .. })));
    let end = GroupRegexes { last_resolution: Some((10, at(i64::MAX))), ..RESOLVED };
    assert!(!is_due(end, seen, i64::MAX), "and no overflow");
}

#[test]
fn a_shard_that_is_loaded_resolves_what_saw_an_older_image() {
    assert!(is_due(RESOLVED, topics(&[(20, 0)]), 10_001));
    assert!(!is_due(RESOLVED, topics(&[(10, 0), (20, 0)]), 10_001));
}
