//! The id of a metadata log directory.

use core::cmp::Ordering;
use core::fmt;
use core::num::{NonZeroU32, NonZeroU128};
use core::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use crate::id_text;
use crate::random::Random;

/// The id of a metadata log directory (KIP-853): a replica that comes back with an empty disk has
/// another one, and is so another voter.
///
/// Kafka: the `directory.id` of `meta.properties`. The all-zero id stands for "none" everywhere, so it
/// cannot be one of these.
///
/// Ordered as Kafka orders UUIDs: by the two halves, each a *signed* number.
///
/// ```
/// use kafka_coordination::kraft::DirectoryId;
///
/// let id: DirectoryId = "K90IZ-0DRNazJ49kCZ1EMQ".parse()?;
/// assert_eq!(id.to_string(), "K90IZ-0DRNazJ49kCZ1EMQ");
/// assert_eq!(DirectoryId::from_u128(0), None);
/// # Ok::<(), kafka_coordination::kraft::ParseDirectoryIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryId(NonZeroU128);

impl DirectoryId {
    /// The id with these 128 bits, most significant half first; `None` if they are all zero.
    pub const fn from_u128(bits: u128) -> Option<Self> {
        match NonZeroU128::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// The id with these bytes, in the order in which they travel on the wire; `None` if they are all
    /// zero.
    pub const fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        Self::from_u128(u128::from_be_bytes(bytes))
    }

    /// The id with this UUID; `None` if it is the nil one.
    pub const fn from_uuid(uuid: Uuid) -> Option<Self> {
        Self::from_u128(uuid.as_u128())
    }

    /// A new id, as Kafka makes them: a random UUID (version 4) whose text does not start with `-`,
    /// which a command line would take for an option.
    pub fn random(random: &mut (impl Random + ?Sized)) -> Self {
        /// Version 4 and the variant, and nothing drawn.
        const FIXED: NonZeroU128 = NonZeroU128::new(0x4 << 76 | 0b10 << 62).unwrap();
        const DRAWN: u128 = !(0xf << 76 | 0b11 << 62);
        const HALF_WORD: NonZeroU32 = NonZeroU32::new(1 << 16).unwrap();
        // One id of 64 starts with `-`: a sound generator is as good as never asked so often.
        const MAX_DRAWS: usize = 16;
        let draw = || {
            let draws = (0..8).map(|_| u128::from(random.below(HALF_WORD)));
            Self(FIXED | draws.fold(0, |bits, draw| bits << 16 | draw) & DRAWN)
        };
        let starts_with_dash = |id: &Self| id_text::write(id.as_u128()).starts_with(b"-");
        let mut draws = core::iter::repeat_with(draw).take(MAX_DRAWS);
        draws.find(|id| !starts_with_dash(id)).unwrap_or(Self(FIXED))
    }

    /// The id's 128 bits.
    pub const fn as_u128(self) -> u128 {
        self.0.get()
    }

    /// The id's bytes, in the order in which they travel on the wire.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.as_u128().to_be_bytes()
    }
}

/// Orders bits as the ids that they are; zero, for no id, among them.
pub(super) fn compare(a: u128, b: u128) -> Ordering {
    // Flipping the sign bit of each half turns its signed order into an unsigned one.
    const SIGNS: u128 = 1 << 127 | 1 << 63;
    (a ^ SIGNS).cmp(&(b ^ SIGNS))
}

impl Ord for DirectoryId {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.as_u128(), other.as_u128())
    }
}

impl PartialOrd for DirectoryId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<DirectoryId> for Uuid {
    fn from(id: DirectoryId) -> Self {
        Self::from_u128(id.as_u128())
    }
}

/// Writes Kafka's form: 22 characters of URL-safe base64.
impl fmt::Display for DirectoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(core::str::from_utf8(&id_text::write(self.as_u128())).unwrap_or_default())
    }
}

impl fmt::Debug for DirectoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirectoryId({self})")
    }
}

/// A text is not a directory id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseDirectoryIdError {
    /// The text has neither 22 characters nor those and two of padding.
    #[error("a directory id has {} characters, not {length}", id_text::LEN)]
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
    /// The id is all zero, which stands for "none".
    ///
    /// Deviation: where it reads voters from a command line, Kafka takes it for a voter without
    /// directory id.
    #[error("the directory id is all zero")]
    Zero,
}

/// Reads what Kafka reads: base64 with or without padding; bits of the last character that are beyond
/// the id are passed over.
impl FromStr for DirectoryId {
    type Err = ParseDirectoryIdError;

    fn from_str(text: &str) -> Result<Self, ParseDirectoryIdError> {
        let length = text.len();
        let characters = text.strip_suffix("==").unwrap_or(text).as_bytes();
        let characters =
            characters.try_into().map_err(|_| ParseDirectoryIdError::Length { length })?;
        let read =
            id_text::read(characters).map_err(|id_text::WrongCharacter { byte, position }| {
                ParseDirectoryIdError::Character { byte, position }
            })?;
        Self::from_u128(read.bits).ok_or(ParseDirectoryIdError::Zero)
    }
}
