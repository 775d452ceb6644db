//! The state machine that the log feeds: what it has, what it is told.

use super::{Context, Fatal, Replica};
use crate::kraft::effect::Effect;
use crate::kraft::epoch::EpochState;
use crate::random::Random;
use crate::time::Monotonic;

/// What the state machine has been given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Application {
    /// The next offset that it needs; none: it has nothing, not even the bootstrap checkpoint.
    next_offset: Option<i64>,
    /// Whether it still works on what it was given last.
    is_busy: bool,
    /// The last leader that it was told of, and its epoch.
    leader: (Option<i32>, i32),
    /// Whether it is told anything: from the first call after the start on.
    is_listening: bool,
}

impl Application {
    pub(super) const fn new() -> Self {
        Self { next_offset: None, is_busy: false, leader: (None, 0), is_listening: false }
    }
}

impl Replica {
    /// The state machine has taken in what it was given last, and needs `next_offset` next.
    pub fn applied(&mut self, next_offset: i64, random: &mut dyn Random, now: Monotonic) {
        self.run(now, random, |replica, _| {
            let application = &mut replica.application;
            application.next_offset = application.next_offset.max(Some(next_offset));
            application.is_busy = false;
            replica.feed_application()
        });
    }

    /// Gives the state machine what is committed, and tells it of the leader.
    pub(super) fn feed_application(&mut self) -> Result<(), Fatal> {
        self.application.is_listening = true;
        if let Some(high_watermark) = self.known_high_watermark() {
            self.deliver(high_watermark)?;
        }
        self.tell_leader_change();
        Ok(())
    }

    /// Up to where the log is known to be committed. A leader that was just elected or has resigned says nothing of that
    /// to others, but what was known before stays so.
    ///
    /// `Deviation:` Kafka's state machine waits then for what it could be given.
    fn known_high_watermark(&self) -> Option<i64> {
        let log = self.log.high_watermark();
        let log = (log > self.log.start_offset()).then_some(log);
        self.quorum.state().high_watermark().max(log)
    }

    fn deliver(&mut self, high_watermark: i64) -> Result<(), Fatal> {
        if self.application.is_busy {
            return Ok(());
        }
        let start = self.log.start_offset();
        let next = self.application.next_offset;
        if next.is_none_or(|next| next < start)
            && let Some(snapshot) = self.log.latest_snapshot()
        {
            self.application.is_busy = true;
            self.effect(Effect::LoadSnapshot(snapshot));
            return Ok(());
        }
        let from = next.unwrap_or(0);
        self.application.next_offset = Some(from);
        if from < start {
            return Err(Fatal::SnapshotMissing { offset: from });
        }
        if from < high_watermark {
            self.application.is_busy = true;
            self.effect(Effect::Deliver { from, to: high_watermark });
        }
        Ok(())
    }

    /// Tells the state machine who leads, if that is news: of this replica's own leadership once it has all that was
    /// committed before, of a resigned one not at all.
    pub(super) fn tell_leader_change(&mut self) {
        let state = self.quorum.state();
        let (leader_id, epoch) = (state.leader_id(), state.epoch());
        let (last_leader_id, last_epoch) = self.application.leader;
        let is_news = epoch > last_epoch || leader_id.is_some() && last_leader_id.is_none();
        let may_hear = match state {
            EpochState::Resigned(_) => false,
            EpochState::Leader(leader) => {
                self.application.next_offset.is_some_and(|next| next > leader.epoch_start_offset())
            }
            _ => true,
        };
        if is_news && may_hear && self.application.is_listening {
            self.application.leader = (leader_id, epoch);
            self.effect(Effect::LeaderChanged { leader_id, epoch });
        }
    }

    /// The log is committed up to here, says the leader.
    pub(super) fn commit_as_follower(&mut self, high_watermark: i64) -> Result<(), Fatal> {
        let high_watermark = high_watermark.min(self.log.end_offset());
        let Some(follower) = self.follower_mut() else { return Ok(()) };
        // One that is behind what is known says nothing new.
        if follower.update_high_watermark(Some(high_watermark)) == Ok(true) {
            // A leader that was just elected may know of less than this replica has known, in another role.
            if high_watermark >= self.log.high_watermark() {
                self.effect(Effect::HighWatermark(high_watermark));
            }
            self.log.set_high_watermark(high_watermark);
        }
        self.feed_application()
    }

    /// The log is committed up to here, as this leader counts.
    pub(super) fn commit_as_leader(
        &mut self,
        high_watermark: i64,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        self.log.set_high_watermark(high_watermark);
        self.effect(Effect::HighWatermark(high_watermark));
        self.changes_see_high_watermark(context);
        self.answer_parked(i64::MAX, context);
        self.feed_application()
    }
}
