//! A follower's fetch, which moves the high watermark: followers fetch the end of the log in turn.
//!
//! Floor: the offset is stored, a copy of all offsets is sorted by insertion, and the middle one compared.

use crate::ratio::paired;
use criterion::Criterion;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Election, Endpoints, KRaftVersion, Leader, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use std::hint::black_box;

const NOW: Monotonic = Monotonic::from_millis(1_000);
/// The most voters.
const MOST: usize = 21;

/// Benches four numbers of voters.
pub(crate) fn bench(criterion: &mut Criterion) {
    for voters in [3, 5, 9, MOST] {
        let mut floor = Floor::new(voters);
        let (mut leader, set) = leader(voters);
        let mut turns = Turns::new(voters);
        let mut floor_turns = turns.clone();
        let floor = || {
            let (follower, end, is_new) = floor_turns.next();
            if is_new {
                floor.fetched(0, end);
            }
            black_box(floor.fetched(follower, end));
        };
        let keys: Vec<_> = set.keys().collect();
        let case = || {
            let (follower, end, is_new) = turns.next();
            if is_new {
                leader.appended(end, &set).expect("it grows");
                leader.flushed(end).expect("it grows");
            }
            let moved = leader.fetched(black_box(keys[follower]), end, NOW);
            let _ = black_box(moved.expect("a follower"));
        };
        paired(criterion, &format!("high watermark/{voters}"), floor, case);
    }
}

/// Whose turn it is, and where the log ends: it grows when all have fetched.
#[derive(Clone)]
struct Turns {
    voters: usize,
    follower: usize,
    end: i64,
}

impl Turns {
    const fn new(voters: usize) -> Self {
        Self { voters, follower: 0, end: 1 }
    }

    const fn next(&mut self) -> (usize, i64, bool) {
        self.follower += 1;
        let is_new = self.follower == self.voters;
        if is_new {
            (self.follower, self.end) = (1, self.end + 1);
        }
        (self.follower, self.end, is_new || self.end == 1)
    }
}

struct Floor {
    voters: usize,
    ends: [i64; MOST],
    mark: i64,
}

impl Floor {
    const fn new(voters: usize) -> Self {
        Self { voters, ends: [0; MOST], mark: 0 }
    }

    fn fetched(&mut self, voter: usize, end: i64) -> bool {
        self.ends[voter] = end;
        let mut sorted = self.ends;
        let sorted = &mut sorted[..self.voters];
        for place in 1..sorted.len() {
            let mut hole = place;
            let end = sorted[place];
            while hole > 0 && sorted[hole - 1] < end {
                sorted[hole] = sorted[hole - 1];
                hole -= 1;
            }
            sorted[hole] = end;
        }
        let candidate = sorted[self.voters / 2];
        let moves = candidate > self.mark;
        self.mark = self.mark.max(candidate);
        moves
    }
}

fn leader(voters: usize) -> (Leader, VoterSet) {
    let voter = |id| VoterNode {
        key: ReplicaKey::from_wire(id, 0x1234_5678),
        endpoints: Endpoints::empty(),
        supported_versions: SupportedVersions::ALL,
    };
    let ids = 0..i32::try_from(voters).expect("few voters");
    let set: VoterSet = ids.map(voter).collect();
    let election = Election {
        local: set.get(0).expect("a voter").clone(),
        epoch: 1,
        epoch_start_offset: 0,
        voters: set.clone(),
        kraft_version: KRaftVersion::V1,
        granting_voters: Vec::new(),
        fetch_timeout_ms: 2_000,
    };
    (Leader::new(election, NOW).expect("a voter"), set)
}
