//! Who a replica is.

use core::cmp::Ordering;
use core::fmt;

use super::directory_id::{self, DirectoryId};

/// A replica's id and, if it is known, the id of its metadata log directory (KIP-853; Kafka:
/// `ReplicaKey`).
///
/// Equality and order take both; whether a replica *is* the one that a voter set or a vote names is
/// asked by [`matches`](Self::matches), which is not symmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplicaKey {
    /// The node id. Replicas have ids from 0; -1 is no replica, lower ones are made up for bootstrap
    /// servers.
    pub id: i32,
    /// The directory id; `None`: unknown.
    pub directory_id: Option<DirectoryId>,
}

impl ReplicaKey {
    /// The replica with this id and directory id.
    pub const fn new(id: i32, directory_id: DirectoryId) -> Self {
        Self { id, directory_id: Some(directory_id) }
    }

    /// The replica with this id, whose directory id is not known.
    pub const fn without_directory(id: i32) -> Self {
        Self { id, directory_id: None }
    }

    /// The replica that messages and files name by an id and 128 bits, of which zero are no directory
    /// id.
    pub const fn from_wire(id: i32, directory_id: u128) -> Self {
        Self { id, directory_id: DirectoryId::from_u128(directory_id) }
    }

    /// The bits that stand for the directory id in messages and files: zero for none.
    pub const fn directory_bits(&self) -> u128 {
        match self.directory_id {
            Some(id) => id.as_u128(),
            None => 0,
        }
    }

    /// Whether `presented` is the replica that this key, kept in a voter set, a vote or a leader's
    /// books, stands for.
    ///
    /// | this | presented | |
    /// | --- | --- | --- |
    /// | (1, none) | (1, none) | yes |
    /// | (1, none) | (1, A) | yes |
    /// | (1, A) | (1, none) | no |
    /// | (1, A) | (1, A) | yes |
    /// | (1, A) | (1, B) | no |
    /// | (1, A) | (2, A) | no |
    pub fn matches(&self, presented: &Self) -> bool {
        self.id == presented.id
            && (self.directory_id.is_none() || self.directory_id == presented.directory_id)
    }
}

/// By id, then by directory id; none is before each whose first half is not negative.
impl Ord for ReplicaKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let directories = || directory_id::compare(self.directory_bits(), other.directory_bits());
        self.id.cmp(&other.id).then_with(directories)
    }
}

impl PartialOrd for ReplicaKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes `id` or `id/directory`.
impl fmt::Display for ReplicaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.directory_id {
            Some(directory_id) => write!(f, "{}/{directory_id}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}
