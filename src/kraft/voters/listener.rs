//! Names of listeners.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use thiserror::Error;

/// The name of a listener, such as `CONTROLLER`; cloning shares it, in O(1).
///
/// Names are compared as they are. Those that come in requests and records are upper-cased first, by
/// [`normalised`](Self::normalised). Kafka: `ListenerName`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerName(Arc<str>);

impl ListenerName {
    /// The name as it is given.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The upper-cased name.
    ///
    /// # Errors
    /// [`BlankListenerName`] if nothing but spaces and control characters is in it.
    pub fn normalised(name: &str) -> Result<Self, BlankListenerName> {
        // Java's `trim` takes off every character up to the space.
        if name.chars().all(|character| character <= ' ') {
            return Err(BlankListenerName);
        }
        let is_normal = |byte: u8| byte.is_ascii() && !byte.is_ascii_lowercase();
        if name.bytes().all(is_normal) {
            return Ok(Self(name.into()));
        }
        Ok(Self(name.to_uppercase().into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A listener has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a listener's name is blank")]
pub struct BlankListenerName;

impl fmt::Debug for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Borrow<str> for ListenerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ListenerName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}
