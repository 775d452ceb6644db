//! Who votes.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::endpoints::{Endpoint, Endpoints};
use super::host::Host;
use super::listener::ListenerName;
use super::replica_key::ReplicaKey;
use super::version::{KRaftVersion, SupportedVersions};
use super::voter_change_error::VoterChangeError;
use super::voter_node::VoterNode;

/// The replicas that vote and that count for commits; cloning shares them, in O(1). Kafka: `VoterSet`.
///
/// No voter at all is legal and says that they are unknown. Ids are unique: a replica that comes back
/// with another directory must be removed and added. A set never changes; the operations give
/// another one, in O(n), that shares the voters' endpoints with the old one.
///
/// ```
/// use kafka_coordination::kraft::{
///     DirectoryId, Endpoint, Endpoints, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
/// };
///
/// let voter = |id: i32, directory: u128| VoterNode {
///     key: ReplicaKey::from_wire(id, directory),
///     endpoints: Endpoints::new([Endpoint::new("CONTROLLER", "localhost", 9093)]),
///     supported_versions: SupportedVersions::ALL,
/// };
/// let two = VoterSet::new([voter(1, 0xa), voter(2, 0xb)]);
///
/// let three = two.add_voter(voter(3, 0xc))?;
/// assert!(three.has_overlapping_majority(&two));
/// assert_eq!(three.remove_voter(&voter(3, 0xc).key)?, two);
///
/// // Replica 3 has another disk. To replace it in one step could lose what was committed: 1 and 3
/// // are a majority before, 2 and the new 3 one after.
/// assert!(three.add_voter(voter(3, 0xd)).is_err());
/// let replaced = VoterSet::new([voter(1, 0xa), voter(2, 0xb), voter(3, 0xd)]);
/// assert!(!three.has_overlapping_majority(&replaced));
/// # Ok::<(), kafka_coordination::kraft::VoterChangeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VoterSet {
    /// By ascending id, each once.
    voters: Arc<[VoterNode]>,
}

impl VoterSet {
    /// No voter.
    pub fn empty() -> Self {
        Self::default()
    }

    /// These voters. Of several with one id the last stays. O(n log n).
    pub fn new(voters: impl IntoIterator<Item = VoterNode>) -> Self {
        voters.into_iter().collect()
    }

    /// The static voters of a configuration, as id, host and port: without directory ids, each at one
    /// listener, and with level 0 alone.
    pub fn from_addresses<H: Into<Host>>(
        listener: &ListenerName,
        addresses: impl IntoIterator<Item = (i32, H, u16)>,
    ) -> Self {
        let voter = |(id, host, port)| VoterNode {
            key: ReplicaKey::without_directory(id),
            endpoints: Endpoints::new([Endpoint::new(listener.clone(), host, port)]),
            supported_versions: SupportedVersions::ONLY_V0,
        };
        addresses.into_iter().map(voter).collect()
    }

    /// How many voters there are.
    pub fn len(&self) -> usize {
        self.voters.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.voters.is_empty()
    }

    /// How many voters are a majority.
    pub fn majority(&self) -> usize {
        self.len() / 2 + 1
    }

    /// The voters, by ascending id.
    pub fn iter(&self) -> core::slice::Iter<'_, VoterNode> {
        self.voters.iter()
    }

    /// The ids, ascending.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = i32> {
        self.iter().map(|voter| voter.key.id)
    }

    /// The keys, by ascending id.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = ReplicaKey> {
        self.iter().map(|voter| voter.key)
    }

    /// The voter with this id, whatever its directory. O(log n).
    pub fn get(&self, id: i32) -> Option<&VoterNode> {
        self.voters.get(self.place(id)?)
    }

    /// The endpoints of the voter with this id; none if there is no such voter.
    pub fn endpoints(&self, id: i32) -> Endpoints {
        self.get(id).map(|voter| voter.endpoints.clone()).unwrap_or_default()
    }

    /// Where the voter with this id is reached by this listener.
    pub fn endpoint(&self, id: i32, listener: &ListenerName) -> Option<&Endpoint> {
        self.get(id)?.endpoints.get(listener)
    }

    /// Whether the replica is a voter: see [`ReplicaKey::matches`].
    pub fn is_voter(&self, replica: &ReplicaKey) -> bool {
        self.get(replica.id).is_some_and(|voter| voter.is_voter(replica))
    }

    /// Whether the replica is a voter and no other is.
    pub fn is_only_voter(&self, replica: &ReplicaKey) -> bool {
        self.len() == 1 && self.is_voter(replica)
    }

    /// Whether all voters support the level.
    pub fn supports_version(&self, version: KRaftVersion) -> bool {
        self.iter().all(|voter| voter.supported_versions.contains(version))
    }

    /// Whether the voter is in the set with other endpoints or versions, or without its directory id.
    pub fn voter_needs_update(&self, voter: &VoterNode) -> bool {
        self.get(voter.key.id).is_some_and(|own| own.is_voter(&voter.key) && own != voter)
    }

    /// The set with one more voter.
    ///
    /// # Errors
    /// [`VoterChangeError::Duplicate`] if its id is in the set, whatever the directory.
    #[allow(clippy::needless_pass_by_value, reason = "who hands in an entry is done with it")]
    pub fn add_voter(&self, voter: VoterNode) -> Result<Self, VoterChangeError> {
        let place = match self.search(voter.key.id) {
            Ok(place) => return Err(self.duplicate(place, voter.key)),
            Err(place) => place,
        };
        Ok(self.replaced(place..place, Some(&voter)))
    }

    /// The set without a voter, whose key must be exactly that of the set: with the same directory id,
    /// or without one as well.
    ///
    /// # Errors
    /// [`VoterChangeError::NotFound`]; [`VoterChangeError::OnlyVoter`]: the last voter stays.
    pub fn remove_voter(&self, key: &ReplicaKey) -> Result<Self, VoterChangeError> {
        let Some(place) = self.place(key.id) else { return Err(self.not_found(key)) };
        if self.voters.get(place).is_none_or(|voter| voter.key != *key) {
            return Err(self.not_found(key));
        }
        if self.len() == 1 {
            return Err(VoterChangeError::OnlyVoter { key: *key });
        }
        Ok(self.replaced(place..place + 1, None))
    }

    /// The set with a voter's entry replaced by this one, which may tell the directory id.
    ///
    /// # Errors
    /// [`VoterChangeError::NotFound`] if the replica [is not](Self::is_voter) in the set.
    pub fn update_voter(&self, voter: VoterNode) -> Result<Self, VoterChangeError> {
        if !self.is_voter(&voter.key) {
            return Err(self.not_found(&voter.key));
        }
        self.update_voter_ignoring_directory_id(voter)
    }

    /// The same, whatever directory id the entry has: while no voters record holds directory ids
    /// (`kraft.version` 0).
    ///
    /// # Errors
    /// [`VoterChangeError::NotFound`] if the id is not in the set.
    #[allow(clippy::needless_pass_by_value, reason = "who hands in an entry is done with it")]
    pub fn update_voter_ignoring_directory_id(
        &self,
        voter: VoterNode,
    ) -> Result<Self, VoterChangeError> {
        let Some(place) = self.place(voter.key.id) else { return Err(self.not_found(&voter.key)) };
        Ok(self.replaced(place..place + 1, Some(&voter)))
    }

    /// Whether every majority of this set has a voter in common with every majority of the other one.
    /// Then, and only then, one may follow the other without two leaders in one epoch, or a committed
    /// record that is lost. Keys are compared whole. Of an empty set there is no majority, so the
    /// answer is yes.
    ///
    /// Adding one voter or removing one always keeps it. O(n).
    ///
    /// Deviation: Kafka, which asks only in order to log it, says that replacing one voter in one step
    /// keeps it, and that adding two to two does not.
    pub fn has_overlapping_majority(&self, other: &Self) -> bool {
        let common =
            self.iter().filter(|v| other.get(v.key.id).is_some_and(|o| o.key == v.key)).count();
        // At least so many voters of a majority are among the common ones.
        let least = |set: &Self| set.majority().saturating_sub(set.len().saturating_sub(common));
        least(self) + least(other) > common
    }

    /// The set with another voter, or none, in these places.
    fn replaced(&self, places: Range<usize>, by: Option<&VoterNode>) -> Self {
        let before = self.voters.get(..places.start).unwrap_or_default();
        let after = self.voters.get(places.end..).unwrap_or_default();
        Self { voters: before.iter().chain(by).chain(after).cloned().collect() }
    }

    fn search(&self, id: i32) -> Result<usize, usize> {
        // Sets are small: a scan beats a binary search.
        let place = self.iter().position(|voter| voter.key.id >= id).unwrap_or(self.len());
        match self.voters.get(place) {
            Some(voter) if voter.key.id == id => Ok(place),
            _ => Err(place),
        }
    }

    fn place(&self, id: i32) -> Option<usize> {
        self.search(id).ok()
    }

    fn duplicate(&self, place: usize, key: ReplicaKey) -> VoterChangeError {
        let voter = self.voters.get(place).map_or(key, |voter| voter.key);
        VoterChangeError::Duplicate { key, voter }
    }

    fn not_found(&self, key: &ReplicaKey) -> VoterChangeError {
        VoterChangeError::NotFound { key: *key, voter: self.get(key.id).map(|voter| voter.key) }
    }
}

/// As [`VoterSet::new`].
impl FromIterator<VoterNode> for VoterSet {
    fn from_iter<I: IntoIterator<Item = VoterNode>>(voters: I) -> Self {
        let mut voters: Vec<_> = voters.into_iter().collect();
        if !voters.is_sorted_by(|a, b| a.key.id < b.key.id) {
            // A stable sort of the reverse: the last of an id comes first, and is kept.
            voters.reverse();
            voters.sort_by_key(|voter| voter.key.id);
            voters.dedup_by_key(|voter| voter.key.id);
        }
        Self { voters: voters.into() }
    }
}

impl<'a> IntoIterator for &'a VoterSet {
    type Item = &'a VoterNode;
    type IntoIter = core::slice::Iter<'a, VoterNode>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Writes the keys, `[1/…, 2/…]`.
impl fmt::Display for VoterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (place, key) in self.keys().enumerate() {
            write!(f, "{}{key}", if place == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}
