//! Topics by group and groups by topic, which leave and enter.

use kafka_coordination::TopicName;
use kafka_coordination::group::{GroupSubscription, Subscriptions, SubscriptionsError};
use kafka_coordination::metadata::ClusterImage;
use std::collections::BTreeSet;

fn groups<'a>(subscriptions: &'a Subscriptions, topic: &str) -> BTreeSet<&'a str> {
    subscriptions.groups(topic).collect()
}

fn topics<'a>(subscriptions: &'a Subscriptions, group: &str) -> Vec<&'a str> {
    subscriptions.topics(group).map(TopicName::as_str).collect()
}

#[test]
fn the_index_follows_changing_subscriptions() {
    let mut it = Subscriptions::new(3);
    it.subscribe("g", ["foo", "bar"]);
    it.subscribe("h", ["foo", "zoo"]);
    assert_eq!(groups(&it, "foo"), ["g", "h"].into());
    assert_eq!(topics(&it, "g"), ["bar", "foo"]);

    it.subscribe("g", ["foo", "foo", "zoo", "foo"]);
    assert_eq!(topics(&it, "g"), ["foo", "zoo"]);
    assert_eq!((groups(&it, "bar"), groups(&it, "zoo")), ([].into(), ["g", "h"].into()));
    it.subscribe("g", ["zoo", "foo"]);
    assert_eq!(topics(&it, "g"), ["foo", "zoo"]);

    it.remove("h");
    assert_eq!((groups(&it, "foo"), groups(&it, "zoo")), (["g"].into(), ["g"].into()));
    it.remove("h");
    it.remove("unknown");
    assert_eq!(it.group_count(), 1);
    it.subscribe("g", [] as [&str; 0]);
    assert_eq!((it.group_count(), topics(&it, "g").len(), groups(&it, "foo").len()), (0, 0, 0));
}

#[test]
fn subscriptions_leave_and_enter() {
    let mut it = Subscriptions::new(3);
    it.subscribe("g", ["foo", "bar", "\u{1f600}", "\u{ffff}"]);
    it.subscribe("h", ["foo"]);
    it.subscribe("gone", ["foo"]);
    it.remove("gone");
    let exported: Vec<_> = it.export().collect();
    let expected = [
        GroupSubscription::new("g", ["bar", "foo", "\u{1f600}", "\u{ffff}"].map(Into::into).into()),
        GroupSubscription::new("h", vec!["foo".into()]),
    ];
    assert_eq!(exported, expected);
    let mut entered = Subscriptions::import(4, exported).unwrap();
    assert_eq!(entered.export().collect::<Vec<_>>(), expected);
    assert_eq!(groups(&entered, "foo"), ["g", "h"].into());
    let image = ClusterImage::new();
    assert_eq!(entered.metadata_hash("g", &image), it.metadata_hash("g", &image));
}

#[test]
fn what_cannot_be_does_not_enter() {
    let of = |group: &str, topics: &[&str]| {
        GroupSubscription::new(group, topics.iter().map(|&name| name.into()).collect())
    };
    let refused = |groups: Vec<_>| Subscriptions::import(1, groups).unwrap_err();
    assert_eq!(refused(vec![of("g", &[])]), SubscriptionsError::NoTopics { group: "g".into() });
    assert_eq!(
        refused(vec![of("g", &["a"]), of("h", &["a"]), of("g", &["b"])]),
        SubscriptionsError::DuplicateGroup { group: "g".into() },
    );
    for topics in [["b", "a"], ["a", "a"], ["\u{ffff}", "\u{1f600}"]] {
        let [previous, topic] = topics.map(Into::into);
        let order = SubscriptionsError::Order { group: "g".into(), topic, previous };
        assert_eq!(refused(vec![of("g", &topics)]), order);
    }
}
