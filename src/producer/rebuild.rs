//! Building the state again at start-up and after truncation: which snapshot, what to read after it,
//! and which snapshots to write on the way.

use alloc::vec::Vec;

use super::reload::ReloadFrom;
use super::states::ProducerStates;

/// Whether a log without any snapshot may be taken for one that producers never wrote to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "it may or may not")]
pub enum MissingSnapshots {
    /// It may not: it is read from its start.
    #[default]
    Scan,
    /// It may, as in Kafka on the first load after a clean shutdown: a log from before there were
    /// snapshots is not read. If snapshots were lost otherwise, all producers are forgotten.
    Trust,
}

/// What the host does next of a rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebuildStep {
    /// Delete the files of these snapshots.
    Delete(Vec<i64>),
    /// Read the snapshot of this offset and hand it to [`ProducerStates::load_snapshot`]. If it is
    /// damaged, or cannot be loaded, call [`ProducerStates::forget_snapshot`] and delete the file.
    Load(i64),
    /// Write the snapshot of this offset and call [`ProducerStates::snapshot_written`].
    Write(i64),
    /// Read the batches of this segment and replay them: begin, push and commit with
    /// [`Origin::Replication`](super::Origin::Replication), then confirm what ended. A batch that
    /// starts before `from` or ends at `until` or later is not among them.
    Replay {
        /// The base offset of the segment.
        segment: i64,
        /// The first offset.
        from: i64,
        /// The offset after the last one.
        until: i64,
    },
}

/// A rebuild under way: hands out one step after the other.
///
/// It ends with the state of the log up to its end, as if it had never been lost but for what a
/// snapshot does not hold: batches but the newest of each producer that did not write since,
/// producers that reached their age, transactions whose marker the snapshot covers.
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// The base offsets of the segments, ascending.
    segments: Vec<i64>,
    log_start: i64,
    log_end: i64,
    from: ReloadFrom,
    /// Whether the log is read after what was loaded.
    replays: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Write the snapshots of the segments and of the end, from this wanted one on, unread.
    Trust(usize),
    Truncate,
    /// Load a snapshot, if that offset is not the one that is loaded now.
    Load(Option<i64>),
    /// Go on with the segment of that number; the flag says that its snapshot is dealt with.
    Replay(usize, bool),
    Finish,
    Done,
}

impl ProducerStates {
    /// Begins to build the state of the log again that lies in segments of these base offsets and
    /// reaches from `log_start` to `log_end`, exclusive: at start-up, after
    /// [`list_snapshots`](Self::list_snapshots) and
    /// [`forget_stray_snapshots`](Self::forget_stray_snapshots), and after truncation.
    ///
    /// A log that was known to the end and never saw a producer is not read.
    pub fn rebuild(
        &self,
        segments: impl IntoIterator<Item = i64>,
        log_start: i64,
        log_end: i64,
        missing: MissingSnapshots,
        from: ReloadFrom,
    ) -> Rebuild {
        let mut segments: Vec<_> = segments.into_iter().collect();
        segments.sort_unstable();
        segments.dedup();
        let trusts = missing == MissingSnapshots::Trust && self.snapshots().latest().is_none();
        let phase = if trusts { Phase::Trust(0) } else { Phase::Truncate };
        Rebuild { segments, log_start, log_end, from, replays: true, phase }
    }
}

impl Rebuild {
    /// The next step; `None` when all is done. Each is to be done before the next is asked for.
    pub fn next_step(&mut self, states: &mut ProducerStates) -> Option<RebuildStep> {
        loop {
            match self.phase {
                Phase::Trust(number) => {
                    let wanted = self.wanted();
                    let Some(&offset) = wanted.get(number) else {
                        self.phase = Phase::Done;
                        continue;
                    };
                    self.phase = Phase::Trust(number + 1);
                    states.set_map_end_offset(offset);
                    if let Some(due) = states.snapshot_due() {
                        return Some(RebuildStep::Write(due));
                    }
                }
                Phase::Truncate => {
                    let was_empty = states.is_empty() && states.map_end_offset() >= self.log_end;
                    self.replays = !was_empty;
                    let truncation = states.truncate(self.log_start, self.log_end);
                    self.phase = if truncation.must_load {
                        Phase::Load(None)
                    } else {
                        Phase::Replay(0, false)
                    };
                    if !truncation.deleted.is_empty() {
                        return Some(RebuildStep::Delete(truncation.deleted));
                    }
                }
                Phase::Load(tried) => {
                    let is_loaded = tried == Some(states.map_end_offset());
                    // One that was neither loaded nor dropped is passed over, with all older ones.
                    let next = { states.snapshot_to_load(self.from) }
                        .filter(|&offset| !is_loaded && tried != Some(offset));
                    let Some(offset) = next else {
                        self.phase = Phase::Replay(0, false);
                        continue;
                    };
                    self.phase = Phase::Load(Some(offset));
                    return Some(RebuildStep::Load(offset));
                }
                Phase::Replay(..) if !self.replays => self.phase = Phase::Finish,
                Phase::Replay(number, is_saved) => {
                    if let Some(step) = self.replay(states, number, is_saved) {
                        return Some(step);
                    }
                }
                Phase::Finish => {
                    self.phase = Phase::Done;
                    states.set_map_end_offset(self.log_end);
                    return states.snapshot_due().map(RebuildStep::Write);
                }
                Phase::Done => return None,
            }
        }
    }

    /// Where snapshots are wanted: at the last two segments and the end.
    fn wanted(&self) -> Vec<i64> {
        let segments = self.segments.iter().rev().take(2).rev();
        segments.copied().chain([self.log_end]).collect()
    }

    fn replay(
        &mut self,
        states: &mut ProducerStates,
        number: usize,
        is_saved: bool,
    ) -> Option<RebuildStep> {
        let end = states.map_end_offset();
        let base = self.segments.get(number).copied().filter(|&base| base < self.log_end);
        let Some(base) = base.filter(|_| end < self.log_end) else {
            self.phase = Phase::Finish;
            return None;
        };
        let until =
            self.segments.get(number + 1).map_or(self.log_end, |&next| next.min(self.log_end));
        self.phase = Phase::Replay(number + 1, false);
        let from = base.max(end).max(self.log_start);
        if from >= until {
            return None;
        }
        states.set_map_end_offset(from);
        if !is_saved
            && self.wanted().contains(&base)
            && let Some(due) = states.snapshot_due()
        {
            self.phase = Phase::Replay(number, true);
            return Some(RebuildStep::Write(due));
        }
        Some(RebuildStep::Replay { segment: base, from, until })
    }
}
