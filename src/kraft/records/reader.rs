//! Kafka's flexible encoding (KIP-482), read from bytes that nobody vouches for.

use super::error::RecordError;

/// The longest text, in bytes.
pub(super) const MAX_STRING: usize = 32_767;

/// The bytes that are not read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn int16(&mut self, field: &'static str) -> Result<i16, RecordError> {
        self.array(field).map(i16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn uint16(&mut self, field: &'static str) -> Result<u16, RecordError> {
        self.array(field).map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn int32(&mut self, field: &'static str) -> Result<i32, RecordError> {
        self.array(field).map(i32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn int64(&mut self, field: &'static str) -> Result<i64, RecordError> {
        self.array(field).map(i64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn uuid(&mut self, field: &'static str) -> Result<u128, RecordError> {
        self.array(field).map(u128::from_be_bytes)
    }

    /// A number in groups of seven bits, the lowest first.
    #[inline]
    pub(crate) fn varint(&mut self, field: &'static str) -> Result<u32, RecordError> {
        // Nearly always it is one byte.
        if let [byte @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u32::from(*byte));
        }
        self.long_varint(field)
    }

    fn long_varint(&mut self, field: &'static str) -> Result<u32, RecordError> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array(field)?;
            // Kafka drops what the fifth byte has beyond 32 bits.
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(RecordError::VarintTooLong { field })
    }

    /// A signed number, its sign in the lowest bit.
    #[cfg(feature = "std")]
    pub(crate) fn zigzag(&mut self, field: &'static str) -> Result<i32, RecordError> {
        let value = self.varint(field)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The number of elements of a list, each of which takes at least `least` bytes.
    #[inline]
    pub(crate) fn count(
        &mut self,
        field: &'static str,
        least: usize,
    ) -> Result<usize, RecordError> {
        let count = self.varint(field)?.checked_sub(1).ok_or(RecordError::Null { field })?;
        let remaining = self.rest.len();
        let most = remaining / least.max(1);
        usize::try_from(count).ok().filter(|&count| count <= most).ok_or(RecordError::Count {
            field,
            count,
            remaining,
        })
    }

    #[inline]
    pub(crate) fn string(&mut self, field: &'static str) -> Result<&'a str, RecordError> {
        self.nullable_string(field)?.ok_or(RecordError::Null { field })
    }

    #[inline]
    pub(crate) fn nullable_string(
        &mut self,
        field: &'static str,
    ) -> Result<Option<&'a str>, RecordError> {
        let Some(length) = self.varint(field)?.checked_sub(1) else { return Ok(None) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_STRING {
            return Err(RecordError::StringTooLong { field, length });
        }
        let text = core::str::from_utf8(self.bytes(field, length)?);
        text.map(Some).map_err(|_| RecordError::NotUtf8 { field })
    }

    /// Passes over tagged fields: this crate knows none.
    #[inline]
    pub(crate) fn tagged_fields(&mut self) -> Result<(), RecordError> {
        for _ in 0..self.varint("tagged fields")? {
            self.varint("tag")?;
            let length = self.varint("size of a tagged field")?;
            self.bytes("tagged field", usize::try_from(length).unwrap_or(usize::MAX))?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn bytes(
        &mut self,
        field: &'static str,
        length: usize,
    ) -> Result<&'a [u8], RecordError> {
        let remaining = self.rest.len();
        let truncated = RecordError::Truncated { field, needed: length, remaining };
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        let remaining = self.rest.len();
        let truncated = RecordError::Truncated { field, needed: N, remaining };
        let (array, rest) = self.rest.split_first_chunk().ok_or(truncated)?;
        self.rest = rest;
        Ok(*array)
    }
}
