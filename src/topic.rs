//! Topics and partitions: how they are named.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::BuildHasher as _;
use core::ops::Deref;
use core::str::FromStr;
use foldhash::fast::FixedState;
use thiserror::Error;
use uuid::Uuid;

use crate::id_text;

/// A topic's unique id (KIP-516): two topics of one cluster never share it, even if one was deleted before the other
/// was created under the same name.
///
/// As text it is Kafka's form, the 16 bytes in URL-safe base64 without padding:
///
/// ```
/// use kafka_coordination::TopicId;
///
/// let id: TopicId = "ABEiM0RVZneImaq7zN3u_w".parse()?;
/// assert_eq!(id.as_u128(), 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
/// assert_eq!(id.to_string(), "ABEiM0RVZneImaq7zN3u_w");
/// # Ok::<(), kafka_coordination::ParseTopicIdError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(Uuid);

impl TopicId {
    /// The all-zero id, which stands for "no id".
    pub const ZERO: Self = Self(Uuid::nil());

    /// How many characters the id has as text.
    pub const TEXT_LEN: usize = id_text::LEN;

    /// The id with these 128 bits, most significant half first.
    pub const fn from_u128(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }

    /// The id's 128 bits.
    pub const fn as_u128(self) -> u128 {
        self.0.as_u128()
    }

    /// The id with these bytes, in the order in which they travel on the wire.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id's bytes, in the order in which they travel on the wire.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Whether this is the all-zero id.
    pub const fn is_zero(self) -> bool {
        self.0.is_nil()
    }

    /// Hashes the halves one after the other, each with the seed. Hashed at once one of them meets a constant of
    /// `foldhash` instead: equal to that, it would give all ids with it the same hash, whatever the seed.
    pub(crate) fn seeded_hash(self, hasher: &FixedState) -> u64 {
        let (high, low) = self.0.as_u64_pair();
        hasher.hash_one(hasher.hash_one(high) ^ low)
    }
}

impl From<Uuid> for TopicId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl From<TopicId> for Uuid {
    fn from(id: TopicId) -> Self {
        id.0
    }
}

/// Writes Kafka's form: [`TEXT_LEN`](Self::TEXT_LEN) characters of URL-safe base64.
impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = id_text::write(self.as_u128());
        f.pad(core::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicId({self})")
    }
}

/// A text is not a topic id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseTopicIdError {
    /// The text does not have [`TopicId::TEXT_LEN`] bytes.
    #[error("a topic id has {} characters, not {length}", TopicId::TEXT_LEN)]
    Length {
        /// How many bytes it has.
        length: usize,
    },
    /// A byte is not of the alphabet of URL-safe base64.
    #[error("byte {byte:#04x} at {position} is not URL-safe base64")]
    Character {
        /// The byte.
        byte: u8,
        /// Its index in the text.
        position: usize,
    },
    /// The last character carries more bits than an id has, so it is not the only text of an id.
    #[error("the last character carries bits beyond the 128 of a topic id")]
    TrailingBits,
}

/// Reads Kafka's form, and nothing else: an id has one text.
impl FromStr for TopicId {
    type Err = ParseTopicIdError;

    fn from_str(text: &str) -> Result<Self, ParseTopicIdError> {
        let characters = text.as_bytes().try_into();
        let characters =
            characters.map_err(|_| ParseTopicIdError::Length { length: text.len() })?;
        let id =
            id_text::read(characters).map_err(|id_text::WrongCharacter { byte, position }| {
                ParseTopicIdError::Character { byte, position }
            })?;
        if id.beyond != 0 {
            return Err(ParseTopicIdError::TrailingBits);
        }
        Ok(Self::from_u128(id.bits))
    }
}

/// A topic's name; cloning shares it, in O(1).
///
/// Any text is accepted: which names are legal for a new topic is for the host to say.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicName(Arc<str>);

impl TopicName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Deref for TopicName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for TopicName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Maps keyed by names are asked by `&str`.
impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TopicName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl From<String> for TopicName {
    fn from(name: String) -> Self {
        Self(Arc::from(name))
    }
}

/// Shares the text instead of copying it.
impl From<Arc<str>> for TopicName {
    fn from(name: Arc<str>) -> Self {
        Self(name)
    }
}

/// A partition of a topic that is known by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partition's number within the topic, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// Partition number `partition` of `topic`.
    pub fn new(topic: impl Into<TopicName>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

/// Writes `name-partition`, as Kafka does.
impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// A partition of a topic that is known by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicIdPartition {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partition's number within the topic, from 0.
    pub partition: i32,
}

impl TopicIdPartition {
    /// Partition number `partition` of the topic with this id.
    pub const fn new(topic_id: TopicId, partition: i32) -> Self {
        Self { topic_id, partition }
    }
}

/// Writes `id:partition`.
impl fmt::Display for TopicIdPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.topic_id, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use hashbrown::HashMap;
    use proptest::prelude::*;

    const ID: TopicId = TopicId::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

    #[test]
    fn ids_are_written_as_kafka_writes_them() {
        assert_eq!(TopicId::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(TopicId::from_u128(1).to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(TopicId::from_u128(u128::MAX).to_string(), "_____________________w");
        assert_eq!(ID.to_string(), "ABEiM0RVZneImaq7zN3u_w");
        assert_eq!(format!("{ID:?}"), "TopicId(ABEiM0RVZneImaq7zN3u_w)");
    }

    #[test]
    fn texts_that_are_no_ids_are_refused() {
        let parse = str::parse::<TopicId>;
        assert_eq!(parse(""), Err(ParseTopicIdError::Length { length: 0 }));
        assert_eq!(
            parse("ABEiM0RVZneImaq7zN3u_w=="),
            Err(ParseTopicIdError::Length { length: 24 })
        );
        assert_eq!(
            parse("ABEiM0RVZne+maq7zN3u_w"),
            Err(ParseTopicIdError::Character { byte: b'+', position: 11 }),
        );
        assert_eq!(parse("ABEiM0RVZneImaq7zN3u_x"), Err(ParseTopicIdError::TrailingBits));
        assert_eq!(
            parse("ABEiM0RVZneImaq7zN3u_/").unwrap_err().to_string(),
            "byte 0x2f at 21 is not URL-safe base64",
        );
        assert_eq!(parse("A").unwrap_err().to_string(), "a topic id has 22 characters, not 1");
    }

    #[test]
    fn ids_keep_the_order_of_their_bytes() {
        let bytes = [
            0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
            0xff,
        ];
        assert_eq!(TopicId::from_bytes(bytes), ID);
        assert_eq!(ID.as_bytes(), &bytes);
        assert_eq!(TopicId::from(Uuid::from_bytes(bytes)), ID);
        assert_eq!(Uuid::from(ID), Uuid::from_bytes(bytes));
    }

    #[test]
    fn only_the_zero_id_is_zero() {
        assert!(TopicId::ZERO.is_zero() && TopicId::default().is_zero());
        assert!(!TopicId::from_u128(1).is_zero() && !TopicId::from_u128(1 << 127).is_zero());
    }

    #[test]
    fn no_half_of_an_id_takes_the_seed_out_of_its_hash() {
        let constants = [0xc0ac_29b7_c97c_50dd_u64, 0x3f84_d5b5_b547_0917];
        for constant in constants.into_iter().flat_map(|word| [word, word.swap_bytes()]) {
            let hashes = |id: fn(u64, u64) -> Uuid| {
                let ids = (0..1000).map(move |at| TopicId::from(id(constant, at)));
                let hashes = ids.map(|id| id.seeded_hash(&FixedState::with_seed(7)));
                hashes.collect::<alloc::collections::BTreeSet<_>>().len()
            };
            assert_eq!(hashes(Uuid::from_u64_pair), 1000, "{constant:x}");
            assert_eq!(hashes(|word, at| Uuid::from_u64_pair(at, word)), 1000, "{constant:x}");
        }
    }

    #[test]
    fn cloning_a_name_shares_its_text() {
        let text: Arc<str> = Arc::from("orders");
        let name = TopicName::from(Arc::clone(&text));
        let copy = name.clone();
        assert_eq!(name.as_ptr(), text.as_ptr());
        assert_eq!(copy.as_ptr(), text.as_ptr());
    }

    #[test]
    fn a_map_keyed_by_names_is_asked_by_text() {
        let map: HashMap<TopicName, i32, FixedState> =
            [(TopicName::from("orders"), 1), (TopicName::from(String::from("users")), 2)]
                .into_iter()
                .collect();
        assert_eq!(map.get("users"), Some(&2));
        assert_eq!(map.get("user"), None);
    }

    #[test]
    fn partitions_are_written_with_their_topic() {
        assert_eq!(TopicPartition::new("orders", 3).to_string(), "orders-3");
        assert_eq!(TopicIdPartition::new(ID, 3).to_string(), "ABEiM0RVZneImaq7zN3u_w:3");
    }

    proptest! {
        #[test]
        fn every_id_is_read_back_from_its_text(bits: u128) {
            let id = TopicId::from_u128(bits);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn a_text_that_is_read_is_the_text_that_is_written(text in "[A-Za-z0-9_-]{22}") {
            if let Ok(id) = text.parse::<TopicId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
