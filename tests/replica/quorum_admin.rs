//! What operators ask of a leader: how the quorum is, and a higher level of `kraft.version`.

use crate::host::{Host, LISTENER, config, key, storage, voter};
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    BatchContent, ControlLog, ControlRecord, DescribeVersion, Effect, ElectionState, KRaftVersion,
    ListenerName, LogIndex, NextRead, Storage, UpgradeError, UpgradeMode, VoterSet,
};

const WALL: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The only voter of a static quorum.
fn static_leader() -> Host {
    let static_voters = VoterSet::from_addresses(&ListenerName::new(LISTENER), [(1, "h1", 9_000)]);
    let mut control = ControlLog::new(static_voters);
    assert_eq!(control.next_read(None, 0, 0), NextRead::Nothing);
    let mut host = Host::start(config(), Storage { election: None, log: LogIndex::new(), control });
    host.tick();
    host.effects.clear();
    host
}

#[test]
fn a_leader_describes_its_quorum() {
    let mut host = Host::only_leader();
    let now = host.now;
    let described = host.replica.describe_quorum(DescribeVersion::V2, now, WALL);
    let described = described.expect("it leads");
    assert_eq!((described.leader_id, described.leader_epoch), (1, 6));
    assert_eq!(described.high_watermark, 13);
    let voters: Vec<_> =
        described.voters.iter().map(|it| (it.replica_id, it.directory_id)).collect();
    assert_eq!(voters, [(1, key(1).directory_id)]);
}

#[test]
fn who_does_not_lead_describes_nothing_and_upgrades_nothing() {
    let mut host = Host::follower();
    host.effects.clear();
    let now = host.now;
    assert_eq!(host.replica.describe_quorum(DescribeVersion::V2, now, WALL), None);
    let upgraded = host.replica.upgrade_kraft_version(5, KRaftVersion::V1, UpgradeMode::Apply, now);
    assert_eq!(upgraded, Err(UpgradeError::NotLeader));
    host.tick();
    assert!(!host.effects.iter().any(|effect| matches!(effect, Effect::Append(_))));
}

#[test]
fn a_leader_upgrades_the_level_and_writes_the_voters() {
    let mut host = static_leader();
    assert_eq!(host.replica.kraft_version(), KRaftVersion::V0);
    let epoch = host.replica.quorum().epoch();
    let now = host.now;
    let mut upgrade = |mode| host.replica.upgrade_kraft_version(epoch, KRaftVersion::V1, mode, now);
    assert_eq!(upgrade(UpgradeMode::ValidateOnly), Ok(true));
    assert_eq!(upgrade(UpgradeMode::Apply), Ok(true));
    assert_eq!(upgrade(UpgradeMode::Apply), Ok(false), "it is under way");
    // It counts at once for who asks, and in the log when it is there.
    assert_eq!(host.replica.kraft_version(), KRaftVersion::V1);
    assert_eq!(host.replica.control_log().kraft_version(), KRaftVersion::V0);

    host.tick();
    let written = host.effects.iter().find_map(|effect| match effect {
        Effect::Append(batch) => Some(batch.content.clone()),
        _ => None,
    });
    let voters = VoterSet::new([voter(1)]);
    let expected = [ControlRecord::KRaftVersion(KRaftVersion::V1), ControlRecord::Voters(voters)];
    assert_eq!(written, Some(BatchContent::Control(expected.to_vec())));
    assert_eq!(host.replica.control_log().kraft_version(), KRaftVersion::V1);
    assert_eq!(host.replica.latest_voters().offset, Some(host.replica.log().end_offset() - 1));
}

#[test]
fn the_level_of_a_follower_is_that_of_its_log() {
    let election = ElectionState::with_unknown_leader(5, []);
    let host = Host::start(config(), storage(&[1, 2, 3], &[(9, 4)], election));
    assert_eq!(host.replica.kraft_version(), KRaftVersion::V1);
}
