//! Reading bytes that nobody vouches for.

use crate::wire::WireError;

/// A position in a message, from which nothing is read past the end.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Invariant: `at <= end <= bytes.len()`.
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// Narrows the cursor to the next `length` bytes and returns the former end, for [`Self::widen`].
    pub(super) fn narrow(
        &mut self,
        field: &'static str,
        length: usize,
    ) -> Result<usize, WireError> {
        self.require(field, length)?;
        Ok(core::mem::replace(&mut self.end, self.at + length))
    }

    pub(super) fn widen(&mut self, end: usize) {
        self.end = end;
    }

    pub(super) fn skip(&mut self, field: &'static str, length: usize) -> Result<(), WireError> {
        self.require(field, length)?;
        self.at += length;
        Ok(())
    }

    pub(super) fn int16(&mut self, field: &'static str) -> Result<i16, WireError> {
        self.array(field).map(i16::from_be_bytes)
    }

    pub(super) fn int32(&mut self, field: &'static str) -> Result<i32, WireError> {
        self.array(field).map(i32::from_be_bytes)
    }

    /// An unsigned varint of up to 32 bits. `kafka-protocol` cuts longer ones off.
    pub(super) fn varint(&mut self, field: &'static str) -> Result<u32, WireError> {
        const BITS_OF_THE_FIFTH_BYTE: u8 = 0x0f;
        let offset = self.at;
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array(field)?;
            if shift == 28 && byte > BITS_OF_THE_FIFTH_BYTE {
                break;
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::VarintTooLong { field, offset })
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let next = self.bytes.get(self.at..self.end).and_then(<[u8]>::first_chunk);
        let Some(&chunk) = next else { return Err(self.truncated(field, N)) };
        self.at += N;
        Ok(chunk)
    }

    fn require(&self, field: &'static str, needed: usize) -> Result<(), WireError> {
        if needed > self.remaining() {
            return Err(self.truncated(field, needed));
        }
        Ok(())
    }

    fn truncated(&self, field: &'static str, needed: usize) -> WireError {
        WireError::Truncated { field, offset: self.at, needed, remaining: self.remaining() }
    }
}
