//! Randomness, injected by the host.

use core::num::NonZeroU32;

/// A source of random numbers that the host injects.
pub trait Random {
    /// A number drawn uniformly from `0..bound`.
    fn below(&mut self, bound: NonZeroU32) -> u32;
}
