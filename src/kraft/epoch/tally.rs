//! The votes that a nominee collects.

use crate::kraft::voters::{ReplicaKey, VoterSet};
use alloc::vec::Vec;
use thiserror::Error;

/// What a voter has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet.
    Unrecorded,
    /// It has granted its vote.
    Granted,
    /// It has refused its vote.
    Rejected,
}

/// The votes of one nominee, over the voters in force when it was nominated: a later voter set does not change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoteTally {
    /// In ascending order of id.
    votes: Vec<(ReplicaKey, Verdict)>,
    granted: usize,
    rejected: usize,
}

/// A vote came from somebody who has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{id} is not a voter of this election")]
pub struct UnknownVoter {
    /// Its id.
    pub id: i32,
}

impl VoteTally {
    /// The vote of the nominee, and no others yet.
    pub(in crate::kraft) fn of_nominee(set: &VoterSet, nominee: i32) -> Self {
        let mut votes: Vec<_> = set.keys().map(|key| (key, Verdict::Unrecorded)).collect();
        votes.sort_unstable_by_key(|(key, _)| key.id);
        let mut granted = 0;
        for (_, verdict) in votes.iter_mut().filter(|(key, _)| key.id == nominee) {
            *verdict = Verdict::Granted;
            granted += 1;
        }
        Self { votes, granted, rejected: 0 }
    }

    fn place(&self, id: i32) -> Result<usize, UnknownVoter> {
        self.votes.binary_search_by_key(&id, |(key, _)| key.id).map_err(|_| UnknownVoter { id })
    }

    /// What the voter has answered.
    ///
    /// # Errors
    ///
    /// Nobody of this id has a vote.
    pub fn verdict(&self, id: i32) -> Result<Verdict, UnknownVoter> {
        let place = self.place(id)?;
        self.votes.get(place).map(|(_, verdict)| *verdict).ok_or(UnknownVoter { id })
    }

    /// Takes an answer down; a later one replaces it. Gives whether it is the voter's first.
    pub(super) fn record(&mut self, id: i32, granted: bool) -> Result<bool, UnknownVoter> {
        let place = self.place(id)?;
        let (_, verdict) = self.votes.get_mut(place).ok_or(UnknownVoter { id })?;
        let new = if granted { Verdict::Granted } else { Verdict::Rejected };
        let old = core::mem::replace(verdict, new);
        self.granted -= usize::from(old == Verdict::Granted);
        self.rejected -= usize::from(old == Verdict::Rejected);
        self.granted += usize::from(granted);
        self.rejected += usize::from(!granted);
        Ok(old == Verdict::Unrecorded)
    }

    /// Whether a majority has granted its vote. O(1).
    pub const fn is_granted(&self) -> bool {
        self.granted > self.votes.len() / 2
    }

    /// Whether so many have refused that no majority is left. O(1).
    pub const fn is_rejected(&self) -> bool {
        self.votes.len() - self.rejected <= self.votes.len() / 2
    }

    /// The voters and what each has answered, in ascending order of id.
    pub fn votes(&self) -> impl ExactSizeIterator<Item = (ReplicaKey, Verdict)> {
        self.votes.iter().copied()
    }

    /// The voters that answered so, in ascending order of id.
    pub fn voters(&self, verdict: Verdict) -> impl Iterator<Item = ReplicaKey> {
        self.votes.iter().filter(move |(_, given)| *given == verdict).map(|(key, _)| *key)
    }
}
