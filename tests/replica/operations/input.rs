//! What is made of bytes.

use super::LISTENER;
use kafka_coordination::kraft::{
    ControlRecord, DirectoryId, Endpoint, Endpoints, KRaftVersion, LeaderChange, ReplicaKey,
    SupportedVersions, VoterNode, VoterSet,
};
use kafka_coordination::{ErrorCode, Random};
use std::num::NonZeroU32;

/// Numbers from the input; 0 when it is used up.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl Input<'_> {
    pub(super) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Below `bound`, which is small.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    pub(super) fn is_rare(&mut self) -> bool {
        self.byte() > 240
    }

    pub(super) fn is_odd(&mut self) -> bool {
        self.byte() > 215
    }

    /// Near `base` in most cases, or any.
    pub(super) fn near(&mut self, base: i64) -> i64 {
        match self.byte() {
            255 => i64::from_be_bytes(std::array::from_fn(|_| self.byte())),
            254 => i64::MAX - i64::from(self.byte() % 4),
            253 => i64::from(i32::MAX) - i64::from(self.byte() % 4),
            252 => -i64::from(self.byte()),
            small if small < 160 => base,
            small => base.saturating_add(i64::from(small % 8) - 4),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "any number will do")]
    pub(super) fn short(&mut self, base: i32) -> i32 {
        self.near(base.into()) as i32
    }

    pub(super) fn id(&mut self) -> i32 {
        if self.is_rare() { self.short(-1) } else { 1 + i32::from(self.byte() % 4) }
    }

    pub(super) fn directory(&mut self, id: i32) -> Option<DirectoryId> {
        let other = u128::from(self.is_rare()) << 64;
        let known = DirectoryId::from_u128(other + 0xd0 + u128::from(id.unsigned_abs()));
        known.filter(|_| !self.is_rare())
    }

    pub(super) fn key(&mut self) -> ReplicaKey {
        let id = self.id();
        ReplicaKey { id, directory_id: self.directory(id) }
    }

    pub(super) fn endpoints(&mut self, id: i32) -> Endpoints {
        if self.is_rare() {
            return Endpoints::empty();
        }
        let other = Endpoint::new("OTHER", "h", 9);
        let named = Endpoint::new(LISTENER, format!("h{id}"), 9_000);
        match self.byte() {
            0..200 => Endpoints::new([named]),
            200..230 => Endpoints::new([named, other]),
            _ => Endpoints::new([other]),
        }
    }

    pub(super) fn voter(&mut self, id: i32) -> VoterNode {
        let key = ReplicaKey { id, directory_id: self.directory(id) };
        let endpoints = self.endpoints(id);
        VoterNode { key, endpoints, supported_versions: SupportedVersions::ALL }
    }

    pub(super) fn voters(&mut self) -> VoterSet {
        let bits = if self.flag() { 0b111 } else { self.byte() };
        let ids = (1..=4).filter(|id| bits & (1 << (id - 1)) != 0);
        VoterSet::new(ids.map(|id| self.voter(id)).collect::<Vec<_>>())
    }

    pub(super) fn control(&mut self) -> Vec<ControlRecord> {
        let count = self.below(4);
        let records = (0..count).map(|_| match self.below(4) {
            0 => ControlRecord::KRaftVersion(KRaftVersion::V1),
            1 => ControlRecord::Voters(self.voters()),
            2 => ControlRecord::SnapshotFooter,
            _ => ControlRecord::LeaderChange(LeaderChange {
                leader_id: 2,
                voters: vec![1, 2, 3],
                granting_voters: vec![2],
            }),
        });
        records.collect()
    }

    pub(super) fn error(&mut self) -> ErrorCode {
        const CODES: [i16; 14] = [-1, 3, 6, 7, 8, 13, 35, 42, 74, 75, 98, 104, 125, 31];
        match self.byte() {
            0..180 => ErrorCode::None,
            other => ErrorCode::from_code(CODES[usize::from(other) % CODES.len()]).expect("known"),
        }
    }
}

impl Random for Input<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        u32::from(self.byte()) % bound
    }
}
