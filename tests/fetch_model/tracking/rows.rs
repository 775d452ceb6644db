//! Whether a rule that is left out is noticed.

/// The rules by which a partition is visited: what marks it (E), and what keeps it marked (R).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    E1,
    E2,
    E3,
    E4,
    E5,
    E6,
    E7,
    E8,
    E9,
    E10,
    E11,
    E12,
    E13,
    /// Data was returned, and the fetcher has not moved on.
    R1Returned,
    /// Data was withheld.
    R1Withheld,
    R2,
    R3,
    R5,
    R6,
}

impl Row {
    /// Whether it is the cache that follows the rule, and not its host.
    pub(crate) const fn is_of_the_cache(self) -> bool {
        matches!(self, Self::E9 | Self::R1Returned | Self::R2 | Self::R3 | Self::R5)
    }
}
