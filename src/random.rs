//! Randomness, injected by the host.

use core::num::NonZeroU32;
use rand_core::Rng;

/// A source of random numbers that the host injects.
///
/// Every [`rand_core`] 0.10 generator is one, and so is a `&mut` to it; a test may implement the trait for a type of
/// its own and play a script. Numbers that peers must not guess, such as fetch session ids, deserve a
/// cryptographically secure generator.
///
/// ```
/// use core::num::NonZeroU32;
/// use kafka_coordination::Random;
///
/// struct Always(u32);
///
/// impl Random for Always {
///     fn below(&mut self, bound: NonZeroU32) -> u32 {
///         self.0.min(bound.get() - 1)
///     }
/// }
///
/// assert_eq!(Always(7).below(NonZeroU32::MIN), 0);
/// ```
pub trait Random {
    /// A number drawn from `0..bound`, each with the same chance.
    fn below(&mut self, bound: NonZeroU32) -> u32;
}

/// Draws that one number may take. A draw is rejected with a chance below one half, so a sound generator needs more
/// with a chance below 2^-64; a broken one (always zero, say) is kept from looping forever.
const MAX_DRAWS: u32 = 64;

/// Free of bias: the 2^32 equally likely draws are cut into `bound` equal shares, and a draw from the rest, which is
/// smaller than a share, is repeated. Cost: O(1), at most two draws on average.
impl<R: Rng + ?Sized> Random for R {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let bound = bound.get();
        let rest = bound.wrapping_neg() % bound;
        let mut number = 0;
        for _ in 0..MAX_DRAWS {
            // The high half of draw * bound is the share that the draw falls into, the low half its place there.
            let product = u64::from(self.next_u32()) * u64::from(bound);
            number = u32::try_from(product >> 32).unwrap_or_default();
            if product & u64::from(u32::MAX) >= u64::from(rest) {
                break;
            }
        }
        number
    }
}

impl Random for &mut (dyn Random + '_) {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        (**self).below(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::convert::Infallible;
    use rand_core::TryRng;

    /// Plays its draws once, then repeats the last one.
    struct Script {
        draws: Vec<u32>,
        drawn: usize,
    }

    impl Script {
        fn new(draws: impl Into<Vec<u32>>) -> Self {
            Self { draws: draws.into(), drawn: 0 }
        }
    }

    impl TryRng for Script {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            let draw = self.draws[self.drawn.min(self.draws.len() - 1)];
            self.drawn += 1;
            Ok(draw)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            unreachable!("numbers are made of 32 bits")
        }

        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            unreachable!("numbers are made of 32 bits")
        }
    }

    fn below(rng: &mut Script, bound: u32) -> u32 {
        Random::below(rng, NonZeroU32::new(bound).unwrap())
    }

    /// How many of the 2^32 draws are accepted and give `number`, without trying them all: those that give a number
    /// are consecutive.
    fn accepted(bound: u64, number: u64) -> u64 {
        let rest = (1 << 32) % bound;
        let first = (number << 32).div_ceil(bound);
        let after = ((number + 1) << 32).div_ceil(bound);
        (first..after).filter(|draw| (draw * bound) % (1 << 32) >= rest).count() as u64
    }

    #[test]
    fn each_number_has_the_same_count_of_draws() {
        for bound in [3_u64 << 20, (1 << 31) + 1, u64::from(u32::MAX)] {
            let share = (1 << 32) / bound;
            for number in [0, 1, bound / 2, bound - 1] {
                assert_eq!(accepted(bound, number), share, "bound {bound}, number {number}");
            }
        }
    }

    #[test]
    fn a_draw_is_rejected_exactly_when_the_count_says_so() {
        let bound = (1_u64 << 31) + 1;
        let rest = (1_u64 << 32) % bound;
        for draw in [0, 1, 2, 3, 1 << 30, 1 << 31, u32::MAX - 1, u32::MAX] {
            let mut rng = Script::new([draw, 5]);
            below(&mut rng, u32::try_from(bound).unwrap());
            let accepted = (u64::from(draw) * bound) % (1 << 32) >= rest;
            assert_eq!(rng.drawn == 1, accepted, "draw {draw}");
        }
    }

    #[test]
    fn a_rejected_draw_is_repeated() {
        // 2^32 leaves 1 over three equal shares, and draw 0 is that one.
        let mut rng = Script::new([0, u32::MAX]);
        assert_eq!(below(&mut rng, 3), 2);
        assert_eq!(rng.drawn, 2);
    }

    #[test]
    fn the_edges_of_the_range_are_reached() {
        assert_eq!(below(&mut Script::new([u32::MAX]), 1), 0);
        assert_eq!(below(&mut Script::new([u32::MAX]), u32::MAX), u32::MAX - 1);
        assert_eq!(below(&mut Script::new([1, 0]), u32::MAX), 0);
        assert_eq!(below(&mut Script::new([u32::MAX]), 1 << 31), (1 << 31) - 1);
    }

    #[test]
    fn a_generator_that_is_always_rejected_does_not_loop() {
        let mut rng = Script::new([0]);
        assert_eq!(below(&mut rng, 3), 0);
        assert_eq!(rng.drawn, 64);
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_through_a_reference() {
        let mut rng = Script::new(vec![1 << 31]);
        assert_eq!(Random::below(&mut &mut rng, NonZeroU32::new(10).unwrap()), 5);
        let mut object: &mut dyn Random = &mut rng;
        assert_eq!(Random::below(&mut object, NonZeroU32::new(10).unwrap()), 5);
    }
}
