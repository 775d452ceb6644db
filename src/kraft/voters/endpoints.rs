//! Where a replica is reached.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::host::Host;
use super::listener::{BlankListenerName, ListenerName};

/// Where one listener is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The listener's name.
    pub listener: ListenerName,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// The listener with this name, which is taken as it is, at `host:port`.
    pub fn new(listener: impl Into<ListenerName>, host: impl Into<Host>, port: u16) -> Self {
        Self { listener: listener.into(), host: host.into(), port }
    }
}

/// Writes `NAME://host:port`, with the host in brackets if it has a colon.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listener, host, port } = self;
        if host.contains(':') {
            write!(f, "{listener}://[{host}]:{port}")
        } else {
            write!(f, "{listener}://{host}:{port}")
        }
    }
}

/// The endpoints of a replica, each under its listener's name; cloning shares them, in O(1). Kafka:
/// `Endpoints`.
///
/// None is legal and says that they are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// By ascending name, each once.
    entries: Arc<[Endpoint]>,
}

impl Endpoints {
    /// No endpoint.
    pub fn empty() -> Self {
        Self::default()
    }

    /// These endpoints, with the names as they are. Of several with one name the last stays.
    ///
    /// O(n log n).
    pub fn new(endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        endpoints.into_iter().collect()
    }

    /// The endpoints that a request or a `VotersRecord` carries as name, host and port: names are
    /// upper-cased, and of several with one name the last stays.
    ///
    /// These requests are `BeginQuorumEpoch`, `EndQuorumEpoch`, `AddRaftVoter` and `UpdateRaftVoter`.
    ///
    /// # Errors
    /// [`BlankListenerName`].
    pub fn from_request<'a>(
        endpoints: impl IntoIterator<Item = (&'a str, &'a str, u16)>,
    ) -> Result<Self, BlankListenerName> {
        Self::from_request_like(endpoints, None)
    }

    /// The same; names that stand in `like` as well are shared with it, for voters mostly have the same
    /// listeners.
    pub(in crate::kraft) fn from_request_like<'a>(
        endpoints: impl IntoIterator<Item = (&'a str, &'a str, u16)>,
        like: Option<&Self>,
    ) -> Result<Self, BlankListenerName> {
        let known = |name: &str| {
            like?.iter().map(|known| &known.listener).find(|known| known.as_str() == name).cloned()
        };
        let endpoints = endpoints.into_iter().map(|(name, host, port)| {
            let listener = known(name).map_or_else(|| ListenerName::normalised(name), Ok)?;
            Ok(Endpoint { listener, host: host.into(), port })
        });
        endpoints.collect()
    }

    /// The leader's endpoint out of those of nodes (id, host and port) that a response carries: it is
    /// known under the listener by which the response came. None if the leader is not among them.
    ///
    /// These responses are those of `Vote`, `Fetch`, `FetchSnapshot`, `BeginQuorumEpoch` and
    /// `EndQuorumEpoch`.
    pub fn from_response<'a>(
        listener: &ListenerName,
        leader_id: i32,
        nodes: impl IntoIterator<Item = (i32, &'a str, u16)>,
    ) -> Self {
        let leader = nodes.into_iter().find(|&(id, ..)| id == leader_id);
        leader
            .map(|(_, host, port)| Endpoint::new(listener.clone(), host, port))
            .into_iter()
            .collect()
    }

    /// The leader's endpoint that the response of `UpdateRaftVoter` carries, whose port has 32 bits.
    /// None if the leader is unknown (-1), the host is empty or the port is no port.
    pub fn from_update_response(
        listener: &ListenerName,
        leader_id: i32,
        host: &str,
        port: i32,
    ) -> Self {
        match u16::try_from(port) {
            Ok(port) if leader_id >= 0 && !host.is_empty() => {
                Self::new([Endpoint::new(listener.clone(), host, port)])
            }
            _ => Self::empty(),
        }
    }

    /// The endpoint of the listener with this name. O(log n).
    pub fn get(&self, listener: &ListenerName) -> Option<&Endpoint> {
        let place = self.entries.binary_search_by(|entry| entry.listener.cmp(listener)).ok()?;
        self.entries.get(place)
    }

    /// All endpoints, by ascending name.
    pub fn iter(&self) -> core::slice::Iter<'_, Endpoint> {
        self.entries.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// As [`Endpoints::new`].
impl FromIterator<Endpoint> for Endpoints {
    fn from_iter<I: IntoIterator<Item = Endpoint>>(endpoints: I) -> Self {
        let mut endpoints = endpoints.into_iter();
        let (Some(first), second) = (endpoints.next(), endpoints.next()) else {
            return Self::empty();
        };
        let Some(second) = second else {
            // By far the most: one allocation.
            return Self { entries: Arc::from([first]) };
        };
        let mut entries = Vec::from([first, second]);
        entries.extend(endpoints);
        if !entries.is_sorted_by(|a, b| a.listener < b.listener) {
            // A stable sort of the reverse: the last of a name comes first, and is kept.
            entries.reverse();
            entries.sort_by(|a, b| a.listener.cmp(&b.listener));
            entries.dedup_by(|a, b| a.listener == b.listener);
        }
        Self { entries: entries.into() }
    }
}

impl<'a> IntoIterator for &'a Endpoints {
    type Item = &'a Endpoint;
    type IntoIter = core::slice::Iter<'a, Endpoint>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
