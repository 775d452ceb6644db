//! How Kafka writes numbers, texts and tagged fields.

use super::error::GroupRecordError;
use alloc::vec::Vec;
use core::str;

/// The only version of a value.
const VERSION: i16 = 0;

pub(super) fn put_head(out: &mut Vec<u8>, epoch: i32) {
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&epoch.to_be_bytes());
}

pub(super) fn put_tag(out: &mut Vec<u8>, tag: u32, field: &[u8]) {
    put_uvarint(out, tag);
    put_uvarint(out, number(field.len()));
    out.extend_from_slice(field);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_length(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// A length, one higher than it is, because 0 stands for none.
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    put_uvarint(out, number(length).saturating_add(1));
}

/// Lengths that a record cannot have are written as the greatest that it can.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

pub(super) fn put_uvarint(out: &mut Vec<u8>, mut value: u32) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// What of a record is not read yet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], GroupRecordError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(GroupRecordError::Truncated)?;
        self.0 = rest;
        Ok(*array)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], GroupRecordError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(GroupRecordError::Truncated)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self, length: usize) -> Result<&'a str, GroupRecordError> {
        str::from_utf8(self.bytes(length)?).map_err(|_| GroupRecordError::Text)
    }

    pub(super) fn uvarint(&mut self) -> Result<u32, GroupRecordError> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0xf {
                return Err(GroupRecordError::Overlong);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(GroupRecordError::Overlong)
    }

    /// A length that may be missing.
    pub(super) fn length(&mut self) -> Result<Option<usize>, GroupRecordError> {
        let length = self.uvarint()?.checked_sub(1);
        Ok(length.map(|length| usize::try_from(length).unwrap_or(usize::MAX)))
    }

    /// Version and epoch.
    pub(super) fn head(&mut self) -> Result<i32, GroupRecordError> {
        let version = i16::from_be_bytes(self.array()?);
        if version != VERSION {
            return Err(GroupRecordError::Version { version });
        }
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Hands each tagged field to `read`, which answers whether it knows the tag and has read the field.
    pub(super) fn tags(
        &mut self,
        mut read: impl FnMut(u32, &mut Self) -> Result<bool, GroupRecordError>,
    ) -> Result<(), GroupRecordError> {
        let mut least = 0_u64;
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            if u64::from(tag) < least {
                return Err(GroupRecordError::TagOrder { tag });
            }
            least = u64::from(tag) + 1;
            let size = self.uvarint()?;
            let mut field = Self(self.bytes(usize::try_from(size).unwrap_or(usize::MAX))?);
            let wrong_size = GroupRecordError::TagSize { tag, size };
            let is_known = read(tag, &mut field).map_err(|error| match error {
                GroupRecordError::Truncated => wrong_size,
                error => error,
            })?;
            if is_known && !field.0.is_empty() {
                return Err(wrong_size);
            }
        }
        Ok(())
    }

    pub(super) fn compact_text(&mut self) -> Result<&'a str, GroupRecordError> {
        let length = self.length()?.ok_or(GroupRecordError::Length)?;
        self.text(length)
    }

    pub(super) fn end(&self) -> Result<(), GroupRecordError> {
        match self.0.len() {
            0 => Ok(()),
            bytes => Err(GroupRecordError::Trailing { bytes }),
        }
    }
}
