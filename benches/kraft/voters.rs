//! Voter sets: one voter more, to the bytes of a record, and from them.

use crate::floor::{self, Voter};
use crate::ratio::paired;
use criterion::Criterion;
use kafka_coordination::kraft::{
    Endpoint, Endpoints, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use std::hint::black_box;
use std::sync::Arc;

const NAME: &str = "CONTROLLER";

fn directory(id: i32) -> u128 {
    (0x0123_4567_89ab_cdef << 64) + u128::from(id.unsigned_abs())
}

fn port(id: i32) -> u16 {
    9_000 + u16::try_from(id).expect("a small number")
}

fn host(id: i32) -> String {
    format!("controller-{id}.example.com")
}

fn node(id: i32) -> VoterNode {
    VoterNode {
        key: ReplicaKey::from_wire(id, directory(id)),
        endpoints: Endpoints::new([Endpoint::new(NAME, host(id), port(id))]),
        supported_versions: SupportedVersions::ALL,
    }
}

fn plain(id: i32) -> Voter {
    Voter {
        id,
        directory: directory(id).to_be_bytes(),
        endpoints: vec![(NAME.into(), host(id), port(id))],
        versions: (0, 1),
    }
}

/// Benches sets of 3, 5 and 9 voters.
pub(crate) fn bench(criterion: &mut Criterion) {
    for size in [3, 5, 9] {
        let set: VoterSet = (0..size).map(node).collect();
        let plain_set: Vec<_> = (0..size).map(plain).collect();

        let shared: Vec<_> = plain_set.iter().cloned().map(Arc::new).collect();
        let (one, plain_one) = (node(size), Arc::new(plain(size)));
        let floor = || drop(black_box(floor::add(black_box(&shared), &plain_one)));
        let case = || drop(black_box(black_box(&set).add_voter(one.clone())));
        paired(criterion, &format!("voters/add/{size}"), floor, case);

        let (mut floor_out, mut out) = (Vec::new(), Vec::new());
        let floor = || {
            floor_out.clear();
            floor::encode(black_box(&plain_set), &mut floor_out);
            black_box(&floor_out);
        };
        let case = || {
            out.clear();
            black_box(&set).encode(&mut out).expect("short texts");
            black_box(&out);
        };
        paired(criterion, &format!("voters/to bytes/{size}"), floor, case);
        assert_eq!(floor_out, out);

        let floor = || drop(black_box(floor::decode(black_box(&out))));
        let case = || {
            drop(black_box(VoterSet::decode(&mut black_box(out.as_slice())).expect("as written")));
        };
        paired(criterion, &format!("voters/from bytes/{size}"), floor, case);
    }
}
