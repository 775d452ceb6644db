//! Fetches, as a follower takes their answers.

use super::{Context, Fatal, LogVoters, Replica};
use crate::kraft::effect::Effect;
use crate::kraft::epoch::EpochState;
use crate::kraft::log_index::BelowHighWatermark;
use crate::kraft::rpc::{BatchContent, FetchedRecords, LogBatch};
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;

impl Replica {
    /// Takes what the leader has answered. Gives whether the next request may follow at once.
    pub(super) fn take_records(
        &mut self,
        fetched: FetchedRecords<Vec<LogBatch>>,
        context: &mut Context<'_>,
    ) -> Result<bool, Fatal> {
        let EpochState::Follower(follower) = self.quorum.state() else { return Ok(false) };
        let known = follower.high_watermark();
        let mut is_of_use = true;
        if let Some(diverging) = fetched.diverging {
            if let Some(high_watermark) = known.filter(|known| diverging.offset < *known) {
                return Err(Fatal::Diverged { offset: diverging.offset, high_watermark });
            }
            self.truncate(self.log.truncation_offset(diverging))?;
        } else if let Some(snapshot) = fetched.snapshot {
            let is_sound = snapshot.epoch >= 0 && snapshot.offset >= 0;
            let is_news = !self.log.snapshots().contains(&snapshot);
            if !is_sound || is_news && !self.log.is_behind(snapshot) {
                return Ok(false);
            }
            self.open_download(snapshot);
        } else {
            is_of_use = self.append_fetched(fetched.records);
            if let Some(high_watermark) = fetched.high_watermark.filter(|offset| *offset >= 0) {
                self.commit_as_follower(high_watermark)?;
            }
            // What another server has sent meanwhile may have all that the snapshot has: it takes no log's place any more.
            if self.download.is_some_and(|download| !self.log.is_behind(download.snapshot)) {
                self.drop_download();
            }
        }
        if let Some(follower) = self.follower_mut() {
            follower.fetch_succeeded(context.now);
        }
        Ok(is_of_use)
    }

    /// Appends whole batches in order, up to one of a later epoch than this one (KAFKA-18723). Gives whether there are none
    /// or some of them were: what cannot be taken is not asked for again at once.
    fn append_fetched(&mut self, batches: Vec<LogBatch>) -> bool {
        let epoch = self.quorum.epoch();
        let (is_empty, before) = (batches.is_empty(), self.log.end_offset());
        for batch in batches {
            let end_offset = self.log.end_offset();
            let follows = batch.base_offset == end_offset
                && batch.last_offset >= batch.base_offset
                && batch.last_offset < i64::MAX
                && batch.epoch >= self.log.last_fetched_epoch();
            // What does not continue the log is not taken, as if it had not come.
            if !follows || batch.epoch > epoch || !self.note_batch(&batch) {
                tracing::debug!(
                    base_offset = batch.base_offset,
                    epoch = batch.epoch,
                    end_offset,
                    "batch is not taken"
                );
                break;
            }
            self.effect(Effect::Append(batch));
        }
        if self.flushes_what_it_fetches() {
            self.flush();
        }
        is_empty || before < self.log.end_offset()
    }

    /// Takes a batch that is appended into the books. Gives whether it makes sense.
    pub(super) fn note_batch(&mut self, batch: &LogBatch) -> bool {
        let noted = match &batch.content {
            BatchContent::Control(records)
            | BatchContent::Encoded { control: Some(records), .. } => {
                let count = batch.last_offset.saturating_sub(batch.base_offset).saturating_add(1);
                i64::try_from(records.len()) == Ok(count)
                    && self.control.on_control_batch(batch.base_offset, records).is_ok()
            }
            BatchContent::Records(_) | BatchContent::Encoded { control: None, .. } => {
                self.control.on_data(batch.base_offset, batch.last_offset).is_ok()
            }
        };
        if noted {
            self.log.append(batch.last_offset, batch.epoch);
        }
        noted
    }

    /// Has what was appended made durable, if it is not.
    pub(super) fn flush(&mut self) {
        let end_offset = self.log.end_offset();
        if self.flushed < end_offset {
            self.effect(Effect::Flush { end_offset });
        }
    }

    fn truncate(&mut self, end_offset: i64) -> Result<(), Fatal> {
        let high_watermark = self.log.committed_offset();
        if end_offset < high_watermark {
            return Err(Fatal::Diverged { offset: end_offset, high_watermark });
        }
        self.is_log_busy = true;
        self.effect(Effect::Truncate { end_offset });
        Ok(())
    }

    /// The log was cut off and ends at `end_offset`, which is what was asked for, or less.
    pub fn truncated(&mut self, end_offset: i64, random: &mut dyn Random, now: Monotonic) {
        self.run(now, random, |replica, context| {
            if let Err(below) = replica.log.truncate_to(end_offset) {
                let BelowHighWatermark { offset, high_watermark } = below;
                return Err(Fatal::Diverged { offset, high_watermark });
            }
            // Voters that stood in what was cut off do not vote any more: the role may have changed.
            replica.control.truncate_to(end_offset);
            replica.flushed = replica.flushed.min(end_offset);
            replica.log_replaced(context);
            Ok(())
        });
    }

    /// The log is as it is to be: what waited for that goes on.
    pub(super) fn log_replaced(&mut self, context: &mut Context<'_>) {
        self.is_log_busy = false;
        self.wake = Some(context.now);
        let latest = LogVoters::from(&self.control);
        self.quorum.log_replaced(latest, &mut context.random, context.now);
    }

    /// The log is durable up to `end_offset`, exclusive.
    pub fn flushed(&mut self, end_offset: i64, random: &mut dyn Random, now: Monotonic) {
        self.run(now, random, |replica, context| {
            replica.flushed = replica.flushed.max(end_offset.min(replica.log.end_offset()));
            let flushed = replica.flushed;
            if let Some(leader) = replica.leader_mut() {
                // Of a leader that has written nothing in its epoch there is nothing to count.
                if let Ok(Some(high_watermark)) = leader.flushed(flushed) {
                    replica.commit_as_leader(high_watermark, context)?;
                }
            } else {
                replica.wake = Some(now);
            }
            Ok(())
        });
    }
}
