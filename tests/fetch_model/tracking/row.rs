//! The rules by which a partition is visited.

/// What marks a partition (E), and what keeps it marked after an answer (R).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Records are appended.
    E1,
    /// The high watermark moves.
    E2,
    /// The last stable offset moves.
    E3,
    /// The log start offset moves.
    E4,
    /// The log is truncated.
    E5,
    /// Leader, leader epoch, replicas or directory change.
    E6,
    /// A topic is created, deleted or created again.
    E7,
    /// Access rules change.
    E8,
    /// A request lists the partition.
    E9,
    /// The profile of the session's requests changes.
    E10,
    /// The follower's standing changes.
    E11,
    /// The inputs of the replica selector change.
    E12,
    /// A throttle is lifted.
    E13,
    /// Data was returned, and the fetcher has not moved on.
    R1Returned,
    /// Data was withheld.
    R1Withheld,
    /// The answer was an error.
    R2,
    /// The answer sent the fetcher elsewhere or back.
    R3,
    /// The partition was marked between visit and answer.
    R5,
    /// The follower is not in sync.
    R6,
    /// Nothing; but the cache is exported and imported as for a rule of its own.
    Nothing,
}

impl Row {
    /// Whether it is the cache that follows the rule, and not its host. Then what the rule keeps
    /// is taken out of the exported state, and the rest imported.
    pub(crate) const fn is_of_the_cache(self) -> bool {
        matches!(self, Self::E9 | Self::R1Returned | Self::R2 | Self::R3 | Self::R5 | Self::Nothing)
    }
}
