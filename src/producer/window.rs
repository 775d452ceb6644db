//! The last five batches of a producer, by which its retries are known.

use core::fmt;

use super::sequence::decrement;
use crate::time::Timestamp;

/// How many batches of a producer are remembered: what a client may have in flight (KAFKA-5494).
pub const WINDOW: usize = 5;

/// What is remembered of an appended batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "what Kafka remembers, and its snapshots hold")]
pub struct CachedBatch {
    /// The sequence of its last record; -1 if it has none.
    pub last_sequence: i32,
    /// The offset of its last record, 0 and above.
    pub last_offset: i64,
    /// Its last offset less its first, 0 and above. Its sequences span as much.
    pub offset_delta: i32,
    /// Its highest record timestamp. After a snapshot was loaded, the producer's last timestamp.
    pub timestamp: Timestamp,
}

impl CachedBatch {
    /// The sequence of its first record. Of a batch without sequences a number without meaning.
    pub const fn first_sequence(&self) -> i32 {
        decrement(self.last_sequence, self.offset_delta)
    }

    /// The offset of its first record.
    pub const fn first_offset(&self) -> i64 {
        // `i64::from` is not const.
        self.last_offset.saturating_sub(self.offset_delta as i64)
    }
}

/// At most [`WINDOW`] batches, oldest first, inline.
///
/// Field by field instead of batch by batch: a retry is looked for in one cache line.
#[derive(Clone, Copy)]
pub struct Window {
    last_sequences: [i32; WINDOW],
    offset_deltas: [i32; WINDOW],
    last_offsets: [i64; WINDOW],
    timestamps: [i64; WINDOW],
    /// Where the next batch goes.
    next: u8,
    len: u8,
}

impl Window {
    /// No batches.
    pub const EMPTY: Self = Self {
        last_sequences: [0; WINDOW],
        offset_deltas: [0; WINDOW],
        last_offsets: [0; WINDOW],
        timestamps: [0; WINDOW],
        next: 0,
        len: 0,
    };

    /// How many batches there are, 0 to 5.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a batch; the sixth drops the oldest.
    #[inline]
    pub fn push(&mut self, batch: CachedBatch) {
        let at = usize::from(self.next);
        let fields = (
            self.last_sequences.get_mut(at),
            self.offset_deltas.get_mut(at),
            self.last_offsets.get_mut(at),
            self.timestamps.get_mut(at),
        );
        if let (Some(sequence), Some(delta), Some(offset), Some(timestamp)) = fields {
            *sequence = batch.last_sequence;
            *delta = batch.offset_delta;
            *offset = batch.last_offset;
            *timestamp = batch.timestamp.as_millis();
        }
        self.next = if at + 1 == WINDOW { 0 } else { self.next + 1 };
        if self.len() < WINDOW {
            self.len += 1;
        }
    }

    /// Drops all batches.
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// The batch at that place of the ring.
    fn at(&self, place: usize) -> Option<CachedBatch> {
        Some(CachedBatch {
            last_sequence: *self.last_sequences.get(place)?,
            last_offset: *self.last_offsets.get(place)?,
            offset_delta: *self.offset_deltas.get(place)?,
            timestamp: Timestamp::from_millis(*self.timestamps.get(place)?),
        })
    }

    /// The place of the ring where the batch of that age is, the newest having 0.
    const fn place(&self, age: usize) -> usize {
        let place = self.next as usize + WINDOW - 1 - age;
        if place >= WINDOW { place - WINDOW } else { place }
    }

    /// The batch that was appended last.
    pub fn newest(&self) -> Option<CachedBatch> {
        if self.is_empty() { None } else { self.at(self.place(0)) }
    }

    /// The last sequence of the newest batch; -1 without batches.
    #[inline]
    pub fn last_sequence(&self) -> i32 {
        let newest = self.last_sequences.get(self.place(0)).copied();
        if self.is_empty() { -1 } else { newest.unwrap_or(-1) }
    }

    /// The oldest batch.
    pub fn oldest(&self) -> Option<CachedBatch> {
        self.iter().next()
    }

    /// The batches, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CachedBatch> + '_ {
        (0..self.len()).rev().filter_map(|age| self.at(self.place(age)))
    }

    /// The oldest batch with exactly these sequences. Part of a batch, or a range over two, is not
    /// one.
    #[inline]
    pub fn find(&self, first_sequence: i32, last_sequence: i32) -> Option<CachedBatch> {
        // Told by one comparison a place, before the order of the ring is looked at.
        if !self.last_sequences.contains(&last_sequence) {
            return None;
        }
        let is_it = |batch: &CachedBatch| {
            batch.last_sequence == last_sequence && batch.first_sequence() == first_sequence
        };
        self.iter().find(is_it)
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Window {}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Extend<CachedBatch> for Window {
    fn extend<I: IntoIterator<Item = CachedBatch>>(&mut self, batches: I) {
        for batch in batches {
            self.push(batch);
        }
    }
}

impl FromIterator<CachedBatch> for Window {
    /// The last five of `batches`.
    fn from_iter<I: IntoIterator<Item = CachedBatch>>(batches: I) -> Self {
        let mut window = Self::EMPTY;
        window.extend(batches);
        window
    }
}
