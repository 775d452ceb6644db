//! The addresses of a configuration: static voters and bootstrap servers.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use thiserror::Error;

use crate::kraft::voters::{Host, ListenerName, VoterSet};

/// The host that listens everywhere and can be connected to nowhere.
pub(super) const NON_ROUTABLE: &str = "0.0.0.0";

/// A host and a port. As text `host:port`, with brackets around an IPv6 address or not; a scheme before
/// it is passed over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed { text: text.into() };
        let (before, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed());
        }
        let port = port.parse().map_err(|_| AddressError::Port { text: text.into() })?;
        let before = before.strip_suffix(']').unwrap_or(before);
        let is_of_host = |letter: char| letter.is_ascii_alphanumeric() || "-%._:".contains(letter);
        // Whatever is before the last letter that no host has is a scheme, or the opening bracket.
        let (_, host) = before.rsplit_once(|letter| !is_of_host(letter)).unwrap_or(("", before));
        Ok(Self { host: host.into(), port })
    }
}

/// The property `controller.quorum.bootstrap.servers`: who is asked for the leader while nobody else is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootstrapServers {
    addresses: Vec<Address>,
}

impl BootstrapServers {
    /// The addresses, in the order of the configuration, each with the node id that Kafka makes up for
    /// it: -2, -3, and so on.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i32, &Address)> {
        self.addresses.iter().enumerate().map(|(place, address)| {
            let place = i32::try_from(place).unwrap_or(i32::MAX);
            ((-2_i32).saturating_sub(place), address)
        })
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }
}

impl FromStr for BootstrapServers {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Ok(Self { addresses: entries(text).map(str::parse).collect::<Result<_, _>>()? })
    }
}

/// The property `controller.quorum.voters`: static voters, `id@host:port` separated by commas. Of several
/// with one id the last stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticVoters {
    addresses: BTreeMap<i32, Address>,
}

impl StaticVoters {
    /// Whether there are none: then the quorum is dynamic.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Where the voter with this id is.
    pub fn get(&self, id: i32) -> Option<&Address> {
        self.addresses.get(&id)
    }

    /// The voters, by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i32, &Address)> {
        self.addresses.iter().map(|(id, address)| (*id, address))
    }

    /// The static voter set, with each voter at the default controller listener.
    ///
    /// # Errors
    /// [`AddressError::NonRoutable`]: a host is `0.0.0.0`, which the configuration may say but nobody
    /// can connect to.
    pub fn to_voter_set(&self, listener: &ListenerName) -> Result<VoterSet, AddressError> {
        let mut addresses = self.iter();
        if let Some((id, _)) = addresses.find(|(_, address)| &*address.host == NON_ROUTABLE) {
            return Err(AddressError::NonRoutable { id });
        }
        let addresses = self.iter().map(|(id, address)| (id, address.host.clone(), address.port));
        Ok(VoterSet::from_addresses(listener, addresses))
    }
}

impl FromStr for StaticVoters {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let voter = |text: &str| {
            let malformed = || AddressError::Voter { text: text.into() };
            let (id, address) = text.split_once('@').ok_or_else(malformed)?;
            if address.is_empty() || address.contains('@') {
                return Err(malformed());
            }
            Ok((id.parse().map_err(|_| malformed())?, address.parse()?))
        };
        Ok(Self { addresses: entries(text).map(voter).collect::<Result<_, _>>()? })
    }
}

/// The entries of a list in a configuration. Nothing at all is no entry; nothing between two commas is an
/// empty one.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let entries = text.split(',').map(str::trim);
    entries.take(if text.is_empty() { 0 } else { usize::MAX })
}

/// Why a configuration's voters or servers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// A text is not `host:port`.
    #[error("{text:?} is not host:port")]
    Malformed {
        /// The text.
        text: String,
    },
    /// The port is above 65535.
    #[error("the port of {text:?} is above 65535")]
    Port {
        /// The text.
        text: String,
    },
    /// A text is not `id@host:port`.
    #[error("{text:?} is not id@host:port")]
    Voter {
        /// The text.
        text: String,
    },
    /// Nobody can connect to a voter.
    #[error("the host of voter {id} is {NON_ROUTABLE}, to which nobody can connect")]
    NonRoutable {
        /// The voter.
        id: i32,
    },
}
