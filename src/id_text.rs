//! Ids of 16 bytes as Kafka writes them: 22 characters of URL-safe base64 without padding.

/// The alphabet of URL-safe base64 (RFC 4648, section 5).
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How many characters an id has.
pub(crate) const LEN: usize = 22;

/// A text of the right length, read.
pub(crate) struct Read {
    /// The id, most significant half first.
    pub(crate) bits: u128,
    /// What the last character carries beyond the id: 0 in the text that Kafka writes.
    pub(crate) beyond: u8,
}

/// A byte that is not of the alphabet.
pub(crate) struct WrongCharacter {
    pub(crate) byte: u8,
    pub(crate) position: usize,
}

/// The characters of an id.
pub(crate) fn write(mut bits: u128) -> [u8; LEN] {
    // 22 characters of 6 bits are 132: the last four bits of the last character are padding.
    let mut text = [0; LEN];
    for (place, character) in text.iter_mut().rev().enumerate() {
        let sextet = if place == 0 {
            let sextet = (bits & 0b11) << 4;
            bits >>= 2;
            sextet
        } else {
            let sextet = bits & 0b11_1111;
            bits >>= 6;
            sextet
        };
        *character = usize::try_from(sextet)
            .ok()
            .and_then(|sextet| BASE64.get(sextet))
            .copied()
            .unwrap_or_default();
    }
    text
}

/// The id that stands in these characters.
pub(crate) fn read(text: &[u8; LEN]) -> Result<Read, WrongCharacter> {
    let mut bits = 0_u128;
    let mut beyond = 0;
    for (position, &byte) in text.iter().enumerate() {
        let sextet = sextet(byte).ok_or(WrongCharacter { byte, position })?;
        if position + 1 < LEN {
            bits = bits << 6 | u128::from(sextet);
        } else {
            bits = bits << 2 | u128::from(sextet >> 4);
            beyond = sextet & 0b1111;
        }
    }
    Ok(Read { bits, beyond })
}

/// The six bits that a character stands for.
const fn sextet(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}
