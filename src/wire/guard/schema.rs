//! What a message looks like at each of its versions.

use core::ops::RangeInclusive;

/// A message: a table of fields in the order of the wire.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) api_key: i16,
    /// The versions that `kafka-protocol` decodes.
    pub(super) first_version: i16,
    pub(super) last_version: i16,
    /// The first version with compact lengths and tagged fields (KIP-482).
    pub(super) flexible_from: i16,
    pub(super) fields: &'static [Field],
}

impl Message {
    pub(super) fn versions(&self) -> RangeInclusive<i16> {
        self.first_version..=self.last_version
    }

    pub(super) const fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }
}

/// A field of a message or structure.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    since: i16,
    until: i16,
    tag: Option<u32>,
}

impl Field {
    /// A field at its place, at every version.
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, since: 0, until: i16::MAX, tag: None }
    }

    /// A field in the section of tagged fields.
    pub(super) const fn tagged(tag: u32, name: &'static str, kind: Kind) -> Self {
        Self { tag: Some(tag), ..Self::new(name, kind) }
    }

    /// The first version that has the field.
    pub(super) const fn since(self, version: i16) -> Self {
        Self { since: version, ..self }
    }

    /// The last version that has the field.
    pub(super) const fn until(self, version: i16) -> Self {
        Self { until: version, ..self }
    }

    const fn exists(&self, version: i16) -> bool {
        self.since <= version && version <= self.until
    }
}

/// A field's type. Lengths of strings, bytes and arrays are compact at flexible versions; whether
/// null is allowed is left to the decoder, for null takes no memory.
#[derive(Debug)]
pub(super) enum Kind {
    /// A number, boolean or uuid of this many bytes.
    Fixed(usize),
    String,
    /// Bytes or records.
    Bytes,
    Array(&'static Self),
    Struct(&'static [Field]),
}

pub(super) const BOOLEAN: Kind = Kind::Fixed(1);
pub(super) const INT8: Kind = Kind::Fixed(1);
pub(super) const INT16: Kind = Kind::Fixed(2);
pub(super) const INT32: Kind = Kind::Fixed(4);
pub(super) const INT64: Kind = Kind::Fixed(8);
pub(super) const UUID: Kind = Kind::Fixed(16);

/// The fields of `fields` that stand at their place at this version.
pub(super) fn placed(
    fields: &'static [Field],
    version: i16,
) -> impl Iterator<Item = &'static Field> {
    fields.iter().filter(move |field| field.tag.is_none() && field.exists(version))
}

/// The field with this tag at this version.
pub(super) fn with_tag(fields: &'static [Field], version: i16, tag: u32) -> Option<&'static Field> {
    fields.iter().find(|field| field.tag == Some(tag) && field.exists(version))
}

impl Kind {
    /// The least number of bytes that a value takes; at least 1.
    pub(super) fn min_size(&self, version: i16, flexible: bool) -> usize {
        match self {
            Self::Fixed(size) => *size,
            Self::String | Self::Bytes | Self::Array(_) if flexible => 1,
            Self::String => 2,
            Self::Bytes | Self::Array(_) => 4,
            Self::Struct(fields) => {
                let own: usize = placed(fields, version)
                    .map(|field| field.kind.min_size(version, flexible))
                    .sum();
                own + usize::from(flexible)
            }
        }
    }
}
