//! The voters of a new quorum, as an operator writes them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use core::fmt;
use core::net::Ipv6Addr;
use core::num::ParseIntError;
use core::str::FromStr;

use thiserror::Error;

use crate::kraft::voters::{
    DirectoryId, Endpoint, Endpoints, Host, ListenerName, ParseDirectoryIdError, ReplicaKey,
    SupportedVersions, VoterNode, VoterSet,
};

/// A voter of a new quorum: `id@host:port:directory`, an IPv6 address in brackets. Kafka:
/// `DynamicVoter`.
///
/// ```
/// use kafka_coordination::kraft::DynamicVoter;
///
/// let voter: DynamicVoter = "2@[::1]:9093:K90IZ-0DRNazJ49kCZ1EMQ".parse()?;
/// assert_eq!((voter.node_id(), voter.host(), voter.port()), (2, "::1", 9093));
/// assert_eq!(voter.to_string(), "2@[::1]:9093:K90IZ-0DRNazJ49kCZ1EMQ");
/// # Ok::<(), kafka_coordination::kraft::ParseVoterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicVoter {
    node_id: i32,
    host: Host,
    port: u16,
    directory_id: DirectoryId,
}

impl DynamicVoter {
    /// The voter with this id, at `host:port`, with this metadata directory.
    ///
    /// # Errors
    /// [`ParseVoterError::NegativeNodeId`], [`ParseVoterError::PortOutOfRange`] for port 0.
    pub fn new(
        node_id: i32,
        host: impl Into<Host>,
        port: u16,
        directory_id: DirectoryId,
    ) -> Result<Self, ParseVoterError> {
        if node_id < 0 {
            return Err(ParseVoterError::NegativeNodeId { node_id });
        }
        if port == 0 {
            return Err(ParseVoterError::PortOutOfRange { port: 0 });
        }
        Ok(Self { node_id, host: host.into(), port, directory_id })
    }

    /// The node's id, from 0.
    pub const fn node_id(&self) -> i32 {
        self.node_id
    }

    /// The host, without brackets. Empty is taken for the node's own machine, `localhost`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, from 1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The id of the metadata directory.
    pub const fn directory_id(&self) -> DirectoryId {
        self.directory_id
    }

    /// The voter as it stands in the bootstrap checkpoint: at one listener, and with levels 0 and 1 of
    /// `kraft.version`. Its host is the text that Java has for it: an IPv6 address is written in full.
    pub fn to_voter_node(&self, listener: &ListenerName) -> VoterNode {
        let endpoint = Endpoint::new(listener.clone(), as_java_writes(&self.host), self.port);
        VoterNode {
            key: ReplicaKey::new(self.node_id, self.directory_id),
            endpoints: Endpoints::new([endpoint]),
            supported_versions: SupportedVersions::ALL,
        }
    }
}

impl fmt::Display for DynamicVoter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node_id, host, port, directory_id } = self;
        if host.contains(':') {
            write!(f, "{node_id}@[{host}]:{port}:{directory_id}")
        } else {
            write!(f, "{node_id}@{host}:{port}:{directory_id}")
        }
    }
}

impl FromStr for DynamicVoter {
    type Err = ParseVoterError;

    fn from_str(text: &str) -> Result<Self, ParseVoterError> {
        let (node_id, rest) = trim(text).split_once('@').ok_or(ParseVoterError::NoAt)?;
        if node_id.is_empty() {
            return Err(ParseVoterError::EmptyNodeId);
        }
        let node_id: i32 = node_id.parse().map_err(ParseVoterError::NodeId)?;
        if node_id < 0 {
            return Err(ParseVoterError::NegativeNodeId { node_id });
        }
        if rest.is_empty() {
            return Err(ParseVoterError::NoHost);
        }
        let (host, rest) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or(ParseVoterError::OpenBracket)?;
                (host, rest.strip_prefix(':').ok_or(ParseVoterError::NoPort)?)
            }
            None => rest.split_once(':').ok_or(ParseVoterError::NoPort)?,
        };
        let (port, directory_id) = rest.split_once(':').ok_or(ParseVoterError::NoDirectoryId)?;
        let port: i32 = port.parse().map_err(ParseVoterError::Port)?;
        let port = u16::try_from(port).map_err(|_| ParseVoterError::PortOutOfRange { port })?;
        Self::new(node_id, host, port, directory_id.parse()?)
    }
}

/// The voters of a new quorum: at least one, each id once. Kafka: `DynamicVoters`.
///
/// As text they are separated by commas. Every node of the quorum must be formatted with the same
/// ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicVoters {
    voters: BTreeMap<i32, DynamicVoter>,
}

impl DynamicVoters {
    /// These voters.
    ///
    /// # Errors
    /// [`ParseVotersError::NoVoters`], [`ParseVotersError::DuplicateNodeId`].
    pub fn new(voters: impl IntoIterator<Item = DynamicVoter>) -> Result<Self, ParseVotersError> {
        let mut by_id = BTreeMap::new();
        for voter in voters {
            let node_id = voter.node_id;
            if by_id.insert(node_id, voter).is_some() {
                return Err(ParseVotersError::DuplicateNodeId { node_id });
            }
        }
        if by_id.is_empty() {
            return Err(ParseVotersError::NoVoters);
        }
        Ok(Self { voters: by_id })
    }

    /// The voter with this id.
    pub fn get(&self, node_id: i32) -> Option<&DynamicVoter> {
        self.voters.get(&node_id)
    }

    /// The voters, by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &DynamicVoter> {
        self.voters.values()
    }

    /// The voter set of the bootstrap checkpoint, with each voter at the default controller listener,
    /// whose name is taken as it is.
    pub fn to_voter_set(&self, listener: &ListenerName) -> VoterSet {
        self.iter().map(|voter| voter.to_voter_node(listener)).collect()
    }
}

/// Writes the voters by ascending id.
impl fmt::Display for DynamicVoters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, voter) in self.iter().enumerate() {
            write!(f, "{}{voter}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Reads voters between commas; nothing between two of them, or behind the last, is no voter.
impl FromStr for DynamicVoters {
    type Err = ParseVotersError;

    fn from_str(text: &str) -> Result<Self, ParseVotersError> {
        let pieces = trim(text).split(',').filter(|piece| !piece.is_empty());
        Self::new(pieces.map(str::parse).collect::<Result<alloc::vec::Vec<_>, _>>()?)
    }
}

/// An IPv6 address with all its eight parts; one that stands for an IPv4 address as that; no host as
/// `localhost`; any other as it is.
fn as_java_writes(host: &Host) -> Host {
    if host.is_empty() {
        return "localhost".into();
    }
    let Ok(address) = host.parse::<Ipv6Addr>() else { return host.clone() };
    if let Some(address) = address.to_ipv4_mapped() {
        return address.to_string().into();
    }
    address.segments().map(|part| format!("{part:x}")).join(":").into()
}

/// Without spaces and control characters at both ends, as Java trims.
fn trim(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ')
}

/// Why a text, or an id, host and port, is no voter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseVoterError {
    /// Nothing separates the id from the host.
    #[error("no @ in a voter, which is id@host:port:directory")]
    NoAt,
    /// Nothing is before the `@`.
    #[error("no node id before the @")]
    EmptyNodeId,
    /// The id is no number.
    #[error("the node id is no number: {0}")]
    NodeId(#[source] ParseIntError),
    /// The id is negative.
    #[error("node id {node_id} is negative")]
    NegativeNodeId {
        /// The id.
        node_id: i32,
    },
    /// Nothing is after the `@`.
    #[error("no host after the @")]
    NoHost,
    /// A bracket before an IPv6 address is not closed.
    #[error("no ] after the host")]
    OpenBracket,
    /// No colon follows the host.
    #[error("no port: no colon after the host")]
    NoPort,
    /// No colon follows the port.
    #[error("no directory id: no colon after the port")]
    NoDirectoryId,
    /// The port is no number. An IPv6 address must be in brackets.
    #[error("the port is no number: {0}")]
    Port(#[source] ParseIntError),
    /// The port is not one of 1 to 65535.
    ///
    /// Deviation: Kafka takes 0, where nobody can connect.
    #[error("port {port} is not from 1 to 65535")]
    PortOutOfRange {
        /// The port.
        port: i32,
    },
    /// The directory id is none.
    #[error("the directory id is none: {0}")]
    DirectoryId(#[from] ParseDirectoryIdError),
}

/// Why a text is not the voters of a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseVotersError {
    /// There is no voter in it.
    #[error("no voters")]
    NoVoters,
    /// Two voters have one id.
    #[error("node id {node_id} is there twice")]
    DuplicateNodeId {
        /// The id.
        node_id: i32,
    },
    /// One of them is no voter.
    #[error(transparent)]
    Voter(#[from] ParseVoterError),
}
