//! Leaders that leave out a rule.

use crate::model::Fault;
use crate::replica::{Change, Log, Replica, log};
use crate::universe::{bits, endpoints, key, voter_set};
use kafka_coordination::kraft::{
    PendingChange, Progress, Situation, SupportedVersions, check_add, decide_add, decide_remove,
};

impl Replica {
    /// As [`change`](Self::change), decided by the crate's checks from facts that are wrong.
    pub(crate) fn change_without(&mut self, fault: Fault, change: Change, committed: &Log) -> bool {
        let (mut offset, voters) = self.voters();
        let Some(leading) = &mut self.leading else { return false };
        let mut pending =
            if leading.queued.is_some() { PendingChange::Yes } else { PendingChange::No };
        let mut high_watermark = leading.leader.high_watermark();
        match fault {
            Fault::ChangesBeforeItsFirstCommit => {
                // What it knew as a follower, at best.
                let common = self.log.iter().zip(committed);
                let common = common.take_while(|(one, other)| one == other).count();
                let known = i64::try_from(common).unwrap();
                high_watermark = high_watermark.or(Some(known));
            }
            Fault::ChangesUncommittedVoters => {
                offset = 0;
            }
            Fault::ForgetsQueuedRecords => pending = PendingChange::No,
            Fault::None => {}
        }
        let set = voter_set(voters);
        let situation = Situation { pending, high_watermark, log: log(&set, offset) };
        let decided = match change {
            Change::Add(id) => check_add(&situation, key(id)).and_then(|()| {
                let supported = Some(SupportedVersions::ALL);
                decide_add(situation.log, key(id), endpoints(), supported, Progress::CaughtUp)
            }),
            Change::Remove(id) => decide_remove(&situation, &key(id)),
        };
        let Ok(decided) = decided else { return false };
        self.write();
        let Some(leading) = &mut self.leading else { return false };
        leading.queued = Some(bits(&decided));
        true
    }
}
