//! Records that a leader writes.

use super::{Context, Fatal, Replica};
use crate::kraft::accumulator::AppendError;
use crate::kraft::effect::Effect;
use crate::time::Monotonic;
use alloc::vec::Vec;
use bytes::Bytes;

impl Replica {
    /// Takes records of the state machine, to be written in one batch once [`schedule_append`](Self::schedule_append) is
    /// called. Gives the offset that the last one will have, if this replica still leads then.
    ///
    /// # Errors
    ///
    /// The replica does not lead in that epoch, or cannot take the records; nothing changes.
    pub fn prepare_append(
        &mut self,
        epoch: i32,
        records: Vec<Bytes>,
        now: Monotonic,
    ) -> Result<i64, AppendError> {
        let accumulator = self.accumulator.as_mut().filter(|_| self.fatal.is_none());
        let last_offset =
            accumulator.ok_or(AppendError::NotLeader { epoch })?.prepare(epoch, records, now)?;
        self.wake = Some(now);
        Ok(last_offset)
    }

    /// Lets what is prepared be written, after at most the time that records wait for company
    /// ([`ReplicaConfig::append_linger_ms`](crate::kraft::ReplicaConfig::append_linger_ms)): `handle_timeout` has the effects.
    ///
    /// # Errors
    ///
    /// The replica does not lead.
    pub fn schedule_append(&mut self, now: Monotonic) -> Result<(), AppendError> {
        let epoch = self.quorum.epoch();
        self.accumulator.as_mut().ok_or(AppendError::NotLeader { epoch })?.schedule();
        self.wake = Some(now);
        Ok(())
    }

    /// Writes what is due. Gives the milliseconds until more is.
    pub(super) fn write_appends(&mut self, context: &mut Context<'_>) -> Result<i64, Fatal> {
        let now = context.now;
        let Some(accumulator) = &mut self.accumulator else { return Ok(i64::MAX) };
        if accumulator.drain_in_ms(now) > 0 {
            return Ok(accumulator.drain_in_ms(now));
        }
        let batches = accumulator.drain();
        let wait_ms = accumulator.drain_in_ms(now);
        for batch in batches {
            let (base_offset, end_offset) = (batch.base_offset, self.log.end_offset());
            if base_offset != end_offset || !self.note_batch(&batch) {
                return Err(Fatal::Gap { base_offset, end_offset });
            }
            self.effect(Effect::Append(batch));
        }
        let end_offset = self.log.end_offset();
        let voters = self.control.voters().clone();
        let moved = self
            .leader_mut()
            .and_then(|leader| leader.appended(end_offset, &voters).ok().flatten());
        self.flush();
        if let Some(high_watermark) = moved {
            self.commit_as_leader(high_watermark, context)?;
        }
        self.answer_parked(end_offset.saturating_sub(1), context);
        Ok(wait_ms)
    }
}
