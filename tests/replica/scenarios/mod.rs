//! What Kafka's tests of `KafkaRaftClient` say of a replica, told anew. A name in a comment is that of such a test.

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

use crate::host::{Host, config, key, nothing_fetched, static_storage, storage};
use kafka_coordination::kraft::{ElectionState, Storage};

/// What makes a disk: voters, batches by their last offset and epoch, and what was persisted.
type Disk = fn(&[i32], &[(i64, i32)], ElectionState) -> Storage;

/// What brings a replica into a state.
type Start = fn(Disk) -> Host;

/// What makes a replica leave its state.
type Leave = fn(&mut Host);

fn with(election: ElectionState, voters: &[i32]) -> Host {
    with_disk(storage, election, voters)
}

fn with_disk(disk: Disk, election: ElectionState, voters: &[i32]) -> Host {
    Host::start(config(), disk(voters, &[(9, 4)], election))
}

fn unknown() -> ElectionState {
    ElectionState::with_unknown_leader(5, [])
}

fn led_by(leader_id: i32) -> ElectionState {
    ElectionState::with_elected_leader(5, leader_id, None, []).expect("an id")
}

fn voted_for(id: i32) -> ElectionState {
    ElectionState::with_voted_candidate(5, key(id), []).expect("an id")
}

/// Every state but that of a leader, in epoch 5, with a log of ten records of epoch 4; with voters in the log, and with
/// those of the configuration.
fn states() -> impl Iterator<Item = (&'static str, impl Fn() -> Host)> {
    let disks: [Disk; 2] = [storage, static_storage];
    disks.into_iter().flat_map(|disk| STATES.map(|(name, start)| (name, move || start(disk))))
}

const VOTERS: &[i32] = &[1, 2, 3];

const STATES: [(&str, Start); 11] = [
    ("unattached", |disk| with_disk(disk, unknown(), VOTERS)),
    ("unattached, voted for 2", |disk| with_disk(disk, voted_for(2), VOTERS)),
    ("unattached, leader 4 is known and not where", |disk| with_disk(disk, led_by(4), VOTERS)),
    ("prospective", |disk| {
        let mut host = with_disk(disk, unknown(), VOTERS);
        host.after(1_000);
        host
    }),
    ("prospective, voted for 2", |disk| {
        let mut host = with_disk(disk, voted_for(2), VOTERS);
        host.after(1_000);
        host
    }),
    ("candidate", |disk| with_disk(disk, voted_for(1), VOTERS)),
    ("follower of 2", |disk| with_disk(disk, led_by(2), VOTERS)),
    ("follower of 2, has fetched", |disk| {
        let mut host = with_disk(disk, led_by(2), VOTERS);
        host.fetch(2, nothing_fetched(None));
        host
    }),
    ("resigned", |disk| with_disk(disk, led_by(1), VOTERS)),
    ("observer", |disk| with_disk(disk, unknown(), &[2, 3])),
    ("observer following 2", |disk| with_disk(disk, led_by(2), &[2, 3])),
];
