//! The host's randomness, for session ids and topic ids.

use kafka_coordination::Random;
use std::hash::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU32;

/// Keyed hashes of a counter; the standard library takes the key from the operating system.
#[derive(Debug)]
pub(crate) struct HostRandom {
    key: RandomState,
    drawn: u64,
}

impl HostRandom {
    pub(crate) fn new() -> Self {
        Self { key: RandomState::new(), drawn: 0 }
    }

    /// 64 random bits.
    pub(crate) fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let mut hasher = self.key.build_hasher();
        hasher.write_u64(self.drawn);
        hasher.finish()
    }

    /// 128 random bits.
    pub(crate) fn bits(&mut self) -> u128 {
        u128::from(self.draw()) << 64 | u128::from(self.draw())
    }
}

impl Random for HostRandom {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        // The bias is below one in 2^32, too small to matter here.
        let below = self.draw() % u64::from(bound.get());
        u32::try_from(below).unwrap_or(0)
    }
}
