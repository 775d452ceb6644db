//! What a plan says of one partition, for every pair of ids: the table in the docs of the fetcher's side.

use crate::fixture::{NO_ID, X, Y, at, hear, key, keys, plan, sent};
use kafka_coordination::TopicId;
use kafka_coordination::fetch::{FetcherSession, Verdict};

#[derive(Debug, PartialEq)]
enum Class {
    Implied,
    Altered,
    Replaced,
    Removed,
}
use Class::{Altered, Implied, Removed, Replaced};

#[test]
fn every_pair_of_ids_is_classified_as_the_table_says() {
    let same = Some(0);
    let other = Some(1);
    // Id in the session; id and offset in the wish list; class; can ids be used.
    let table: [(TopicId, TopicId, Option<i64>, Class, bool); 12] = [
        (NO_ID, NO_ID, same, Implied, false),
        (NO_ID, NO_ID, other, Altered, false),
        (NO_ID, X, same, Altered, true),
        (NO_ID, X, other, Altered, true),
        (X, NO_ID, same, Altered, false),
        (X, NO_ID, other, Altered, false),
        (X, X, same, Implied, true),
        (X, X, other, Altered, true),
        (X, Y, same, Replaced, true),
        (X, Y, other, Replaced, true),
        (X, X, None, Removed, true),
        (NO_ID, X, None, Removed, false),
    ];
    for (old, new, offset, class, can_use_topic_ids) in table {
        let mut session = FetcherSession::new(11);
        let _ = plan(&mut session, &[(old, "foo", 0, at(0))]);
        let version = if old == NO_ID { 12 } else { 13 };
        assert_eq!(hear(&mut session, version, 5, &[key(old, "foo", 0)]), Verdict::Opened);
        let wishes: Vec<_> = offset.map(|offset| (new, "foo", 0, at(offset))).into_iter().collect();
        let plan = plan(&mut session, &wishes);
        let foo = |id| vec![key(id, "foo", 0)];
        let (send, forget, replace) = match class {
            Implied => (vec![], vec![], vec![]),
            Altered => (foo(new), vec![], vec![]),
            Replaced => (foo(new), vec![], foo(old)),
            Removed => (vec![], foo(old), vec![]),
        };
        let case = (old, new, offset);
        assert_eq!(sent(plan), send, "{case:?}");
        assert_eq!(keys(plan.to_forget()), forget, "{case:?}");
        assert_eq!(keys(plan.to_replace()), replace, "{case:?}");
        assert_eq!(plan.can_use_topic_ids(), can_use_topic_ids, "{case:?}");
    }
}
