//! Kafka's flexible encoding (KIP-482), written.

use alloc::vec::Vec;

use super::error::EncodeError;
use super::reader::MAX_STRING;

/// No tagged field: what every structure ends with.
pub(super) const NO_TAGGED_FIELDS: u8 = 0;

/// Writes a number in groups of seven bits, the lowest first.
pub(super) fn varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or_default());
}

/// Writes a signed number, its sign in the lowest bit.
#[cfg(feature = "std")]
pub(super) fn zigzag(value: i32, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 31).cast_unsigned(), out);
}

/// Writes the number of elements of a list.
pub(super) fn count(length: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let count = u32::try_from(length).ok().and_then(|length| length.checked_add(1));
    varint(count.ok_or(EncodeError::TooLarge { length })?, out);
    Ok(())
}

pub(super) fn string(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let length = text.len();
    if length > MAX_STRING {
        return Err(EncodeError::StringTooLong { length });
    }
    count(length, out)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Takes back what `write` has written, should it fail.
pub(super) fn whole_or_nothing(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let result = write(out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}
