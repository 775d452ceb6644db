//! A small universe: topics, their names and their ids. Most lists take the first few of them, so
//! that things collide.

use kafka_coordination::{TopicId, TopicName};

/// How many topics have a name.
pub(crate) const NAMES: usize = 12;

/// How many topic ids there are; number 0 is the all-zero one, which no metadata knows.
pub(crate) const IDS: usize = 13;

const TEXTS: [&str; NAMES] = ["a", "orders", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

/// The topic name with a number.
pub(crate) fn name(number: u8) -> &'static str {
    TEXTS[usize::from(number) % NAMES]
}

/// The topic id with a number.
pub(crate) fn id(number: u8) -> TopicId {
    TopicId::from_u128(u128::from(number) % IDS as u128)
}

/// What the metadata knows: for each topic id but the first the number of its topic's name.
pub(crate) type NameMap = [Option<u8>; IDS - 1];

/// Metadata that knows nothing.
pub(crate) const NOTHING: NameMap = [None; IDS - 1];

/// The name that the metadata gives an id.
pub(crate) fn look_up(names: NameMap, id: TopicId) -> Option<TopicName> {
    let place = usize::try_from(id.as_u128()).ok()?.checked_sub(1)?;
    names.get(place).copied().flatten().map(|number| TopicName::from(name(number)))
}
