//! The voters as the log holds them.

use alloc::vec::Vec;

use thiserror::Error;

use super::error::{EncodeError, RecordError};
use super::reader::Reader;
use super::writer::{self, NO_TAGGED_FIELDS, whole_or_nothing};
use crate::kraft::voters::{
    BlankListenerName, Endpoint, Endpoints, InvalidVersionRange, ReplicaKey, SupportedVersions,
    VoterNode, VoterSet,
};

/// The least bytes of a voter: id, directory id, no endpoints, versions, no tagged fields twice.
const LEAST_VOTER: usize = 4 + 16 + 1 + 4 + 1 + 1;

/// The least bytes of an endpoint: empty name and host, port, no tagged fields.
const LEAST_ENDPOINT: usize = 1 + 1 + 2 + 1;

/// Voters as they stand in the bytes of a record, of which this is a view: in the record's order,
/// with names as they are, repeated or not. Kafka: `VotersRecord`.
///
/// [`to_voter_set`](Self::to_voter_set) makes a [`VoterSet`] of them.
#[derive(Clone, Copy, Debug)]
pub struct VotersRecord<'a> {
    version: i16,
    count: usize,
    /// From the first voter on. Invariant: `count` voters can be read.
    voters: Reader<'a>,
}

/// A voter of a [`VotersRecord`], read or to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVoter<E> {
    /// Id and directory id, of which all zero bits are none.
    pub key: ReplicaKey,
    /// Its endpoints.
    pub endpoints: E,
    /// The lowest supported level of `kraft.version`.
    pub min_supported_version: i16,
    /// The highest.
    pub max_supported_version: i16,
}

/// An endpoint of a [`RecordVoter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEndpoint<'a> {
    /// The listener's name.
    pub name: &'a str,
    /// The host.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

impl<'a> VotersRecord<'a> {
    /// Checks a message and takes it off the start of `bytes`. Copies and allocates nothing. O(bytes).
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn decode(bytes: &mut &'a [u8]) -> Result<Self, RecordError> {
        let mut reader = Reader::new(bytes);
        let version = reader.int16("version")?;
        let count = reader.count("voters", LEAST_VOTER)?;
        let voters = reader;
        for _ in 0..count {
            read_voter(&mut reader, |_| ())?;
        }
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(Self { version, count, voters })
    }

    /// A number that Kafka writes as 0 and does not look at.
    pub const fn version(&self) -> i16 {
        self.version
    }

    /// The voters, in the record's order.
    pub fn voters(&self) -> impl Iterator<Item = RecordVoter<RecordEndpoints<'a>>> + use<'a> {
        let mut reader = self.voters;
        (0..self.count)
            .map_while(move |_| read_voter(&mut reader, |endpoints| endpoints.clone()).ok())
    }

    /// The voter set: names are upper-cased; of several voters with one id, and of several endpoints
    /// with one name, the last stays.
    ///
    /// # Errors
    /// [`InvalidVoter`].
    pub fn to_voter_set(&self) -> Result<VoterSet, InvalidVoter> {
        read_voter_set(&mut { self.voters }, self.count)
    }
}

/// The endpoints of a voter that stands in bytes.
#[derive(Clone, Debug)]
pub struct RecordEndpoints<'a> {
    /// Invariant: `count` endpoints can be read.
    reader: Reader<'a>,
    count: usize,
}

impl<'a> RecordEndpoints<'a> {
    fn read(&mut self) -> Option<Result<RecordEndpoint<'a>, RecordError>> {
        self.count = self.count.checked_sub(1)?;
        Some(read_endpoint(&mut self.reader))
    }
}

impl<'a> Iterator for RecordEndpoints<'a> {
    type Item = RecordEndpoint<'a>;

    fn next(&mut self) -> Option<RecordEndpoint<'a>> {
        self.read()?.ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for RecordEndpoints<'_> {}

/// Reads a voter. What is made of its endpoints `take` says; those that it leaves are read all the same.
fn read_voter<'a, E>(
    reader: &mut Reader<'a>,
    take: impl FnOnce(&mut RecordEndpoints<'a>) -> E,
) -> Result<RecordVoter<E>, RecordError> {
    let id = reader.int32("voter id")?;
    let directory_id = reader.uuid("voter directory id")?;
    let count = reader.count("endpoints", LEAST_ENDPOINT)?;
    let mut left = RecordEndpoints { reader: *reader, count };
    let endpoints = take(&mut left);
    while let Some(endpoint) = left.read() {
        endpoint?;
    }
    *reader = left.reader;
    let min_supported_version = reader.int16("min supported version")?;
    let max_supported_version = reader.int16("max supported version")?;
    reader.tagged_fields()?;
    reader.tagged_fields()?;
    let key = ReplicaKey::from_wire(id, directory_id);
    Ok(RecordVoter { key, endpoints, min_supported_version, max_supported_version })
}

/// Reads voters, and makes a set of them.
fn read_voter_set(reader: &mut Reader<'_>, count: usize) -> Result<VoterSet, InvalidVoter> {
    let mut voters: Vec<VoterNode> = Vec::with_capacity(count);
    for _ in 0..count {
        let like = voters.last().map(|voter| &voter.endpoints);
        let voter = read_voter(reader, |endpoints| {
            let endpoints = endpoints.map(|RecordEndpoint { name, host, port }| (name, host, port));
            Endpoints::from_request_like(endpoints, like)
        })?;
        let (min, max) = (voter.min_supported_version, voter.max_supported_version);
        voters.push(VoterNode {
            key: voter.key,
            endpoints: voter.endpoints?,
            supported_versions: SupportedVersions::new(min, max)?,
        });
    }
    Ok(VoterSet::new(voters))
}

fn read_endpoint<'a>(reader: &mut Reader<'a>) -> Result<RecordEndpoint<'a>, RecordError> {
    let name = reader.string("name")?;
    let host = reader.string("host")?;
    let port = reader.uint16("port")?;
    reader.tagged_fields()?;
    Ok(RecordEndpoint { name, host, port })
}

/// Appends to `out` the record of these voters, in their order. `version` is the number that Kafka
/// writes as 0.
///
/// # Errors
/// [`EncodeError::StringTooLong`], [`EncodeError::TooLarge`]. Nothing is appended then.
pub fn encode_voters<'a, E>(
    version: i16,
    voters: impl ExactSizeIterator<Item = RecordVoter<E>>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError>
where
    E: ExactSizeIterator<Item = RecordEndpoint<'a>>,
{
    whole_or_nothing(out, |out| {
        out.extend_from_slice(&version.to_be_bytes());
        writer::count(voters.len(), out)?;
        for voter in voters {
            out.extend_from_slice(&voter.key.id.to_be_bytes());
            out.extend_from_slice(&voter.key.directory_bits().to_be_bytes());
            writer::count(voter.endpoints.len(), out)?;
            for RecordEndpoint { name, host, port } in voter.endpoints {
                writer::string(name, out)?;
                writer::string(host, out)?;
                out.extend_from_slice(&port.to_be_bytes());
                out.push(NO_TAGGED_FIELDS);
            }
            out.extend_from_slice(&voter.min_supported_version.to_be_bytes());
            out.extend_from_slice(&voter.max_supported_version.to_be_bytes());
            // Of the versions and of the voter.
            out.extend_from_slice(&[NO_TAGGED_FIELDS; 2]);
        }
        out.push(NO_TAGGED_FIELDS);
        Ok(())
    })
}

impl VoterSet {
    /// Reads a `VotersRecord` off the start of `bytes`: as [`VotersRecord::decode`] and
    /// [`VotersRecord::to_voter_set`], in one pass. O(bytes), and O(n log n) if the voters do not ascend.
    ///
    /// # Errors
    /// [`InvalidVoter`].
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, InvalidVoter> {
        let mut reader = Reader::new(bytes);
        reader.int16("version")?;
        let count = reader.count("voters", LEAST_VOTER)?;
        let voters = read_voter_set(&mut reader, count)?;
        reader.tagged_fields()?;
        *bytes = reader.rest();
        Ok(voters)
    }

    /// Appends to `out` the `VotersRecord` of these voters: by ascending id, each one's endpoints by
    /// ascending name. O(bytes).
    ///
    /// # Errors
    /// [`EncodeError::StringTooLong`]. Nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let voters = self.iter().map(|voter| RecordVoter {
            key: voter.key,
            endpoints: voter.endpoints.iter().map(|Endpoint { listener, host, port }| {
                RecordEndpoint { name: listener.as_str(), host, port: *port }
            }),
            min_supported_version: voter.supported_versions.min(),
            max_supported_version: voter.supported_versions.max(),
        });
        encode_voters(0, voters, out)
    }
}

/// Why bytes, or the voters of a record, are no voter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidVoter {
    /// The bytes are no record; never of a [`VotersRecord`].
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A listener's name is blank.
    #[error(transparent)]
    Listener(#[from] BlankListenerName),
    /// The supported versions are no range.
    #[error(transparent)]
    Versions(#[from] InvalidVersionRange),
}
