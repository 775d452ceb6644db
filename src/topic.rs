//! Topics and partitions: how they are named.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use uuid::Uuid;

/// A topic's unique id (KIP-516).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(Uuid);

impl TopicId {
    /// The all-zero id, which stands for "no id".
    pub const ZERO: Self = Self(Uuid::nil());

    /// The id with these 128 bits, most significant half first.
    pub const fn from_u128(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }

    /// The id's 128 bits.
    pub const fn as_u128(self) -> u128 {
        self.0.as_u128()
    }

    /// Whether this is the all-zero id.
    pub const fn is_zero(self) -> bool {
        self.0.is_nil()
    }
}

/// A topic's name; cloning shares it.
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

impl Deref for TopicName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TopicName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}
