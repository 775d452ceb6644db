//! The world's randomness.

use kafka_coordination::Random;
use rand_pcg::Pcg64Mcg;
use std::num::NonZeroU32;

/// One generator for everything that a seed decides.
pub(crate) struct Dice(Pcg64Mcg);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let state = u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Self(Pcg64Mcg::new(state | 1))
    }

    /// A number from 0 up to `bound`, exclusive.
    pub(crate) fn number(&mut self, bound: u32) -> u32 {
        self.0.below(NonZeroU32::new(bound).expect("a bound above 0"))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).expect("a small bound");
        usize::try_from(self.number(bound)).expect("a small number")
    }

    pub(crate) fn happens(&mut self, of_a_thousand: u32) -> bool {
        self.number(1_000) < of_a_thousand
    }

    pub(crate) fn millis(&mut self, most: u32) -> i64 {
        i64::from(self.number(most + 1))
    }
}
