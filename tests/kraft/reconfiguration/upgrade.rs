//! From the voters of the configuration to voters in the log (KAFKA-16538).

use crate::quorum::{EPOCH, Quorum, SUPPORTED, key, on_disk, update_voter, voter, voters};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    ChangeError, ControlRecord, KRaftVersion, LogVoters, ProbeOutcome, SupportedVersions,
    UpdateVoter, UpgradeError, UpgradeMode,
};

impl Quorum {
    fn upgrade(&mut self, epoch: i32, mode: UpgradeMode) -> Result<bool, UpgradeError> {
        self.upgrade_to(epoch, KRaftVersion::V1, mode)
    }

    fn upgrade_to(
        &mut self,
        epoch: i32,
        level: KRaftVersion,
        mode: UpgradeMode,
    ) -> Result<bool, UpgradeError> {
        let log = LogVoters::from(&self.log);
        let upgraded = self.changes.upgrade_version(epoch, level, mode, &mut self.leader, log);
        self.carry_out();
        upgraded
    }

    /// A voter tells of itself, and is answered at once.
    fn collect(&mut self, id: i32) {
        let end = self.end;
        let request = self.update(&update_voter(key(id)));
        let _ = self.probed(SUPPORTED);
        assert_eq!(self.code(request), Some(ErrorCode::None));
        assert_eq!(self.end, end, "nothing is written");
        assert!(!self.is_pending());
    }
}

#[test]
fn voters_are_collected_and_then_written_with_the_level() {
    let mut quorum = Quorum::static_fenced([1, 2, 3]);
    let unknown = |id| Err(UpgradeError::LevelUnsupported { id, level: KRaftVersion::V1 });
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), unknown(2));
    quorum.collect(2);
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), unknown(3));
    quorum.collect(3);
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::ValidateOnly), Ok(true));
    assert!(quorum.queued.is_empty());
    assert_eq!(quorum.leader.requested_version(), None);

    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), Ok(true));
    assert_eq!(quorum.leader.requested_version(), Some(KRaftVersion::V1));
    assert_eq!(quorum.queued.len(), 1);
    let level = ControlRecord::KRaftVersion(KRaftVersion::V1);
    assert_eq!(quorum.queued[0].records, [level, ControlRecord::Voters(voters([1, 2, 3]))]);

    // Until the batch is in the log.
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), Ok(false));
    let pending = quorum.queued.clone();
    quorum.queued.clear();
    let request = quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.answer(request).result, Err(ChangeError::UpgradeUnderWay));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    let request = quorum.add_key(key(4));
    assert_eq!(quorum.code(request), Some(ErrorCode::UnsupportedVersion));

    // In force, and then committed.
    quorum.queued = pending;
    quorum.append();
    assert_eq!(quorum.log.kraft_version(), KRaftVersion::V1);
    assert_eq!(*quorum.leader.voters(), voters([1, 2, 3]));
    let request = quorum.remove_key(key(3));
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    quorum.catch_up(key(2));
    let downgrade = quorum.upgrade_to(EPOCH, KRaftVersion::V0, UpgradeMode::Apply);
    assert_eq!(downgrade.unwrap_err().code(), ErrorCode::InvalidUpdateVersion);
    let request = quorum.update(&UpdateVoter { max_version: 0, ..update_voter(key(2)) });
    let _ = quorum.probed(ProbeOutcome::Supports(Some(SupportedVersions::ONLY_V0)));
    assert_eq!(quorum.code(request), Some(ErrorCode::InvalidRequest));
    let request = quorum.update(&update_voter(on_disk(2, 9)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::VoterNotFound));

    // An update goes to the log now.
    let end = quorum.end;
    let request = quorum.update(&update_voter(key(2)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!((quorum.code(request), quorum.end), (Some(ErrorCode::None), end + 1));
}

#[test]
fn at_level_0_another_disk_takes_the_place_of_the_first() {
    let mut quorum = Quorum::static_fenced([1, 2]);
    quorum.collect(2);
    let request = quorum.update(&update_voter(on_disk(2, 5)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::None));
    let collected = quorum.leader.volatile_voters().unwrap();
    assert!(collected.is_voter(&on_disk(2, 5)));
    assert!(!collected.is_voter(&key(2)));
    assert!(collected.is_voter(&key(1)), "the leader knows itself");
    // Who is not configured is no voter.
    let request = quorum.update(&update_voter(key(3)));
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::VoterNotFound));
}

#[test]
fn an_update_whose_voter_answers_after_the_upgrade_is_refused() {
    let mut quorum = Quorum::static_fenced([1, 2]);
    quorum.collect(2);
    let request = quorum.update(&update_voter(on_disk(2, 5)));
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), Ok(true));
    let queued = std::mem::take(&mut quorum.queued);
    let _ = quorum.probed(SUPPORTED);
    assert_eq!(quorum.code(request), Some(ErrorCode::RequestTimedOut));
    quorum.queued = queued;
    quorum.append();
    assert!(quorum.log.voters().is_voter(&key(2)));
}

#[test]
fn an_upgrade_is_meant_for_one_epoch() {
    let mut quorum = Quorum::static_fenced([1]);
    let stale = quorum.upgrade(EPOCH - 1, UpgradeMode::Apply).unwrap_err();
    assert_eq!(stale.code(), ErrorCode::NotLeaderOrFollower);
    let future = quorum.upgrade(EPOCH + 1, UpgradeMode::Apply).unwrap_err();
    assert_eq!(future.code(), ErrorCode::InvalidUpdateVersion);
    assert_eq!(quorum.upgrade(EPOCH, UpgradeMode::Apply), Ok(true));
}

#[test]
fn what_is_collected_is_lost_with_the_epoch() {
    let mut quorum = Quorum::static_fenced([1, 2]);
    quorum.collect(2);
    let next = Quorum::elected(voter(1), quorum.log.clone());
    let collected = next.leader.volatile_voters().unwrap();
    assert_eq!(collected.get(2).unwrap().key.directory_id, None);
}
