//! The same work on plain tables and arrays, with nothing around it: no checks beyond what the answer needs, no
//! transactions, no verification.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

const SEED: u64 = 0x5eed;

/// What a state remembers of a batch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Batch {
    pub(crate) last_offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) last_sequence: i32,
    pub(crate) offset_delta: i32,
}

/// A producer with its last five batches.
#[derive(Clone, Copy)]
pub(crate) struct State {
    pub(crate) batches: [Batch; 5],
    pub(crate) producer_id: i64,
    pub(crate) timestamp: i64,
    pub(crate) transaction: i64,
    pub(crate) coordinator_epoch: i32,
    pub(crate) epoch: i16,
    pub(crate) newest: u8,
    pub(crate) len: u8,
}

/// Producers in a vector, found by a table from their ids.
pub(crate) struct Slab {
    index: HashMap<i64, u32, FixedState>,
    states: Vec<State>,
}

impl Slab {
    pub(crate) fn new() -> Self {
        Self { index: HashMap::with_hasher(FixedState::with_seed(SEED)), states: Vec::new() }
    }

    /// Appends a batch of an epoch 0. `None`: it was appended; else the known batch, or an error's place.
    pub(crate) fn append(
        &mut self,
        producer_id: i64,
        sequence: i32,
        batch: Batch,
    ) -> Option<Batch> {
        let states = &mut self.states;
        let slot = *self.index.entry(producer_id).or_insert_with(|| {
            states.push(State {
                batches: [Batch::default(); 5],
                producer_id,
                timestamp: -1,
                transaction: -1,
                coordinator_epoch: -1,
                epoch: 0,
                newest: 4,
                len: 0,
            });
            states.len() as u32 - 1
        });
        let state = &mut states[slot as usize];
        let newest = state.batches[usize::from(state.newest)];
        if state.len > 0 && newest.last_sequence.wrapping_add(1) & i32::MAX != sequence {
            let is_it = |known: &&Batch| {
                known.last_sequence == batch.last_sequence
                    && known.offset_delta == batch.offset_delta
            };
            return state.batches.iter().find(is_it).copied().or_else(|| Some(Batch::default()));
        }
        state.newest = if state.newest == 4 { 0 } else { state.newest + 1 };
        state.batches[usize::from(state.newest)] = batch;
        state.len = (state.len + 1).min(5);
        state.timestamp = batch.timestamp;
        None
    }
}
