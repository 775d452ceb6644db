//! The walk over a message's bytes, along its schema.

use super::cursor::Cursor;
use super::schema::{Field, Kind, Message, placed, with_tag};
use crate::wire::WireError;

/// Unknown tagged fields that every message may have, and bytes of message for each further one.
/// `kafka-protocol` keeps them in a map, whose first node takes 416 bytes.
const FREE_UNKNOWN_TAGS: usize = 16;
const BYTES_PER_UNKNOWN_TAG: usize = 32;

/// What a message's header has before its tagged fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Header {
    /// API key, version, correlation id, client id.
    Request,
    /// Correlation id.
    Response,
    /// Correlation id, without tagged fields at any version, so that it can be read by who knows no later one (KIP-511).
    ApiVersionsResponse,
}

/// The API key of `ApiVersions`.
const API_VERSIONS: i16 = 18;

impl Header {
    pub(super) const fn response(api_key: i16) -> Self {
        if api_key == API_VERSIONS { Self::ApiVersionsResponse } else { Self::Response }
    }
}

/// Checks that all of `bytes` is one header and one body of `message` at `version`.
///
/// O(fields and elements that are there); allocates nothing.
pub(super) fn check(
    bytes: &[u8],
    header: Header,
    message: &Message,
    version: i16,
) -> Result<(), WireError> {
    let limit = FREE_UNKNOWN_TAGS + bytes.len() / BYTES_PER_UNKNOWN_TAG;
    let mut walk = Walk {
        cursor: Cursor::new(bytes),
        version,
        flexible: message.is_flexible(version),
        unknown_tags: 0,
        unknown_tags_limit: limit,
    };
    walk.header(header)?;
    walk.structure("body", message.fields)?;
    match walk.cursor.remaining() {
        0 => Ok(()),
        count => Err(WireError::TrailingBytes { offset: walk.cursor.offset(), count }),
    }
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    version: i16,
    flexible: bool,
    unknown_tags: usize,
    unknown_tags_limit: usize,
}

impl Walk<'_> {
    fn header(&mut self, header: Header) -> Result<(), WireError> {
        match header {
            Header::Request => {
                self.cursor.skip("request_api_key", 2)?;
                self.cursor.skip("request_api_version", 2)?;
                self.cursor.skip("correlation_id", 4)?;
                // Never compact, so that a broker can read the header of a version from its future.
                let length = self.length16("client_id")?;
                self.cursor.skip("client_id", length)?;
            }
            Header::Response => self.cursor.skip("correlation_id", 4)?,
            Header::ApiVersionsResponse => return self.cursor.skip("correlation_id", 4),
        }
        if self.flexible {
            self.tags("header", &[])?;
        }
        Ok(())
    }

    fn structure(&mut self, name: &'static str, fields: &'static [Field]) -> Result<(), WireError> {
        for field in placed(fields, self.version) {
            self.value(field.name, &field.kind)?;
        }
        if self.flexible {
            self.tags(name, fields)?;
        }
        Ok(())
    }

    /// Recursion ends with the schema, which is a constant of four levels at most.
    fn value(&mut self, name: &'static str, kind: &'static Kind) -> Result<(), WireError> {
        match kind {
            Kind::Fixed(size) => self.cursor.skip(name, *size),
            Kind::String => {
                let length =
                    if self.flexible { self.compact_length(name)? } else { self.length16(name)? };
                self.cursor.skip(name, length)
            }
            Kind::Bytes => {
                let length = self.length(name)?;
                self.cursor.skip(name, length)
            }
            Kind::Array(element) => self.array(name, element),
            Kind::Struct(fields) => self.structure(name, fields),
        }
    }

    fn array(&mut self, name: &'static str, element: &'static Kind) -> Result<(), WireError> {
        let offset = self.cursor.offset();
        let count = self.length(name)?;
        let element_size = element.min_size(self.version, self.flexible);
        let remaining = self.cursor.remaining();
        if count > remaining / element_size {
            return Err(WireError::CountTooLarge {
                field: name,
                offset,
                // Both encodings of a count have 32 bits.
                count: u32::try_from(count).unwrap_or(u32::MAX),
                element: element_size,
                remaining,
            });
        }
        if let Kind::Fixed(size) = element {
            return self.cursor.skip(name, count * size);
        }
        for _ in 0..count {
            self.value(name, element)?;
        }
        Ok(())
    }

    /// A section of tagged fields. Those that the schema knows must fill the size they claim,
    /// because `kafka-protocol` decodes their values without looking at it.
    fn tags(&mut self, name: &'static str, fields: &'static [Field]) -> Result<(), WireError> {
        let mut previous = None;
        for _ in 0..self.cursor.varint(name)? {
            let offset = self.cursor.offset();
            let tag = self.cursor.varint(name)?;
            if let Some(previous) = previous.filter(|previous| tag <= *previous) {
                return Err(WireError::TagOrder { field: name, offset, tag, previous });
            }
            previous = Some(tag);
            let size = to_usize(self.cursor.varint(name)?);
            match with_tag(fields, self.version, tag) {
                Some(field) => self.known_tag(field, size)?,
                None => self.unknown_tag(name, offset, size)?,
            }
        }
        Ok(())
    }

    fn known_tag(&mut self, field: &'static Field, size: usize) -> Result<(), WireError> {
        let offset = self.cursor.offset();
        let end = self.cursor.narrow(field.name, size)?;
        self.value(field.name, &field.kind)?;
        self.cursor.widen(end);
        let used = self.cursor.offset() - offset;
        if used != size {
            return Err(WireError::TagSize { field: field.name, offset, size, used });
        }
        Ok(())
    }

    fn unknown_tag(
        &mut self,
        name: &'static str,
        offset: usize,
        size: usize,
    ) -> Result<(), WireError> {
        if self.unknown_tags == self.unknown_tags_limit {
            return Err(WireError::TooManyUnknownTags { offset, limit: self.unknown_tags_limit });
        }
        self.unknown_tags += 1;
        self.cursor.skip(name, size)
    }

    /// The length of bytes or the count of an array; 0 for null.
    fn length(&mut self, name: &'static str) -> Result<usize, WireError> {
        if self.flexible {
            return self.compact_length(name);
        }
        let offset = self.cursor.offset();
        let length = self.cursor.int32(name)?;
        not_negative(name, offset, length)
    }

    fn length16(&mut self, name: &'static str) -> Result<usize, WireError> {
        let offset = self.cursor.offset();
        let length = self.cursor.int16(name)?;
        not_negative(name, offset, i32::from(length))
    }

    fn compact_length(&mut self, name: &'static str) -> Result<usize, WireError> {
        self.cursor.varint(name).map(|length| to_usize(length.saturating_sub(1)))
    }
}

fn not_negative(field: &'static str, offset: usize, length: i32) -> Result<usize, WireError> {
    match u32::try_from(length) {
        Ok(length) => Ok(to_usize(length)),
        Err(_) if length == -1 => Ok(0),
        Err(_) => Err(WireError::NegativeLength { field, offset, length }),
    }
}

/// Saturates where `usize` has 16 bits, and is then refused as longer than what is there.
fn to_usize(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
