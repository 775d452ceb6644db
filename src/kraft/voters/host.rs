//! Names of hosts.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A host as it was configured: a name or an address, never resolved; cloning shares it, in O(1).
///
/// Two are equal if they differ in nothing but the case of letters, as for Kafka
/// (`InetSocketAddress`); a name and its address, or two texts of one address, are not.
#[derive(Clone)]
pub struct Host(Arc<str>);

impl Host {
    /// The host with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The letters without their case.
    fn folded(&self) -> impl Iterator<Item = char> {
        self.0.chars().map(|letter| {
            if letter.is_ascii() {
                return letter.to_ascii_lowercase();
            }
            // Java looks at one letter at a time: one that becomes several stays as it is.
            let upper = only(letter.to_uppercase()).unwrap_or(letter);
            only(upper.to_lowercase()).unwrap_or(upper)
        })
    }
}

fn only(mut letters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if letters.len() == 1 { letters.next() } else { None }
}

impl PartialEq for Host {
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0 || self.folded().eq(other.folded())
    }
}

impl Eq for Host {}

impl Hash for Host {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().for_each(|letter| letter.hash(state));
        // What ends a text among others.
        state.write_u8(0xff);
    }
}

impl Deref for Host {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for Host {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Host {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
