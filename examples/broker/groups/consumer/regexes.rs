//! Regular expressions that members subscribe to, matched by the broker; the crate says when.

use kafka_coordination::Timestamp;
use kafka_coordination::group::{GroupRegexes, NewTopics, RegexRefresh};
use kafka_coordination::metadata::{ClusterImage, MetadataImage, TopicView};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};

/// The longest regular expression, and the most different ones of a group.
const MAX_LEN: usize = 256;
const MAX_COUNT: usize = 16;
/// The memory that one may take while it matches.
const MAX_COMPILED: usize = 1 << 20;

/// What the regular expressions of a group stand for.
#[derive(Debug, Default)]
pub(super) struct Regexes {
    /// The topics that each has matched.
    resolved: BTreeMap<String, BTreeSet<String>>,
    /// The image that the last resolution saw, and when it began.
    last: Option<(i64, Timestamp)>,
}

/// Whether a text is a regular expression that the broker takes.
pub(super) fn is_valid(pattern: &str) -> bool {
    compile(pattern).is_some()
}

/// It is to match the whole name, which has letters of ASCII only.
fn compile(pattern: &str) -> Option<Regex> {
    if pattern.len() > MAX_LEN {
        return None;
    }
    let mut builder = RegexBuilder::new(&format!("^(?:{pattern})$"));
    builder.unicode(false).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build().ok()
}

impl Regexes {
    /// Whether a group may have so many.
    pub(super) fn may_be(count: usize) -> bool {
        count <= MAX_COUNT
    }

    /// Follows the members: forgets what none of them wants any more, and matches all they want if that is due, which
    /// takes O(topics) for each. Whether the topics that they stand for have changed.
    pub(super) fn refresh(
        &mut self,
        wanted: &BTreeSet<&str>,
        image: &ClusterImage,
        new_topics: NewTopics,
        now: Timestamp,
    ) -> bool {
        let group = GroupRegexes {
            subscribed: wanted.len(),
            resolved: self.resolved.len(),
            last_resolution: self.last,
            has_new: wanted.iter().any(|pattern| !self.resolved.contains_key(*pattern)),
            is_running: false,
        };
        let is_due = RegexRefresh::default().is_due(group, new_topics, now);
        if !is_due && self.resolved.keys().all(|pattern| wanted.contains(pattern.as_str())) {
            return false;
        }
        let before = self.topics().cloned().collect::<BTreeSet<_>>();
        self.resolved.retain(|pattern, _| wanted.contains(pattern.as_str()));
        if is_due {
            self.last = Some((image.offset(), now));
            let matched =
                wanted.iter().map(|&pattern| (pattern.to_owned(), matched(pattern, image)));
            self.resolved = matched.collect();
        }
        !before.iter().eq(self.topics().collect::<BTreeSet<_>>())
    }

    /// The topics that a regular expression has matched.
    pub(super) fn of(&self, pattern: &str) -> impl Iterator<Item = &String> {
        self.resolved.get(pattern).into_iter().flatten()
    }

    /// All topics that the regular expressions have matched.
    pub(super) fn topics(&self) -> impl Iterator<Item = &String> {
        self.resolved.values().flatten()
    }
}

fn matched(pattern: &str, image: &ClusterImage) -> BTreeSet<String> {
    let Some(regex) = compile(pattern) else {
        return BTreeSet::new();
    };
    let names = image.topics().map(TopicView::name);
    names.filter(|name| regex.is_match(name.as_bytes())).map(str::to_owned).collect()
}
