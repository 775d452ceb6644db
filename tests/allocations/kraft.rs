//! A leader whose replicas are known.

use crate::allocations;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Election, Endpoint, Endpoints, KRaftVersion, Leader, ReplicaKey, SupportedVersions, VoterNode,
    VoterSet,
};

const NOW: Monotonic = Monotonic::from_millis(1_000);

fn key(id: i32) -> ReplicaKey {
    ReplicaKey::from_wire(id, 7)
}

fn voters(number: i32) -> VoterSet {
    let voter = |id| VoterNode {
        key: key(id),
        endpoints: Endpoints::new([Endpoint::new("CONTROLLER", "localhost", 9_093)]),
        supported_versions: SupportedVersions::ALL,
    };
    (0..number).map(voter).collect()
}

/// A leader of so many voters that has written and committed records, and the voters.
fn leader(number: i32) -> (Leader, VoterSet) {
    let voters = voters(number);
    let election = Election {
        local: voters.get(0).unwrap().clone(),
        epoch: 1,
        epoch_start_offset: 0,
        voters: voters.clone(),
        kraft_version: KRaftVersion::V1,
        granting_voters: Vec::new(),
        fetch_timeout_ms: 2_000,
    };
    let mut leader = Leader::new(election, NOW).unwrap();
    round(&mut leader, &voters, 1);
    assert_eq!(leader.high_watermark(), Some(1));
    (leader, voters)
}

/// A record is written and flushed, and everyone fetches it, ten observers too.
fn round(leader: &mut Leader, voters: &VoterSet, end: i64) {
    leader.appended(end, voters).unwrap();
    leader.flushed(end).unwrap();
    let number = i32::try_from(voters.len()).unwrap();
    for id in (1..number).chain(1_000..1_010) {
        leader.fetched(key(id), end, NOW).unwrap();
    }
}

#[test]
fn a_commit_allocates_nothing() {
    for number in [1, 3, 5, 9, 21] {
        let (mut leader, voters) = leader(number);
        let made = allocations(|| {
            for end in 2..200 {
                round(&mut leader, &voters, end);
                assert_eq!(leader.high_watermark(), Some(end));
                let remaining = leader.check_quorum_remaining_ms(NOW);
                assert!(remaining >= 3_000 && leader.begin_quorum_remaining_ms(NOW) == 0);
            }
        });
        assert_eq!(made, 0, "{number} voters");
    }
}
