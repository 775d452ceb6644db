//! A set of brokers in one word.

/// A set of brokers that may hold others too: those whose ids differ from its brokers' by a multiple of 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Brokers(u64);

impl Brokers {
    #[inline]
    pub(super) const fn insert(&mut self, broker: i32) {
        self.0 |= 1 << (broker.cast_unsigned() % u64::BITS);
    }

    /// Whether two sets may have a broker in common; if not, they have none.
    pub(super) const fn may_meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
