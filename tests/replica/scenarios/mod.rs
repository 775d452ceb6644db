//! What Kafka's own tests of its quorum state of a replica, retold; where a comment has a name, it is that of such a test.

mod appends;
mod candidacy;
mod connections;
mod following;
mod leadership;
mod pre_votes;
mod rediscovery;
mod resignation;
mod serving;
mod snapshots;
mod startup;
mod state_machine;
mod validation;
mod voter_requests;
mod votes;
mod waiting;

use crate::host::{Host, config, key, nothing_fetched, storage};
use kafka_coordination::kraft::ElectionState;

fn with(election: Option<ElectionState>, voters: &[i32]) -> Host {
    let election = election.expect("ids are not negative");
    Host::start(config(), storage(voters, &[(9, 4)], election))
}

fn led_by(leader_id: i32) -> Option<ElectionState> {
    ElectionState::with_elected_leader(5, leader_id, None, []).ok()
}

fn voted_for(id: i32) -> Option<ElectionState> {
    ElectionState::with_voted_candidate(5, key(id), []).ok()
}

type Start = fn() -> Host;

/// What makes a replica leave its state.
type Leave = fn(&mut Host);

/// Every state but that of a leader, in epoch 5, with a log of ten records of epoch 4.
const STATES: [(&str, Start); 11] = [
    ("unattached", Host::unattached),
    ("unattached, voted for 2", || with(voted_for(2), &[1, 2, 3])),
    ("unattached, leader 4 is known and not where", || with(led_by(4), &[1, 2, 3])),
    ("prospective", || {
        let mut host = Host::unattached();
        host.after(1_000);
        host
    }),
    ("prospective, voted for 2", || {
        let mut host = with(voted_for(2), &[1, 2, 3]);
        host.after(1_000);
        host
    }),
    ("candidate", || with(voted_for(1), &[1, 2, 3])),
    ("follower of 2", Host::follower),
    ("follower of 2, has fetched", || {
        let mut host = Host::follower();
        host.fetch(2, nothing_fetched(None));
        host
    }),
    ("resigned", || with(led_by(1), &[1, 2, 3])),
    ("observer", || with(Some(ElectionState::with_unknown_leader(5, [])), &[2, 3])),
    ("observer following 2", || with(led_by(2), &[2, 3])),
];
