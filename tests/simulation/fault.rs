//! Faults that are planted in one node's host, to see that the simulation finds them.

/// What a faulty host does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Election states are not made durable.
    VoteNotPersisted,
    /// The log is said to be durable when it is not.
    FlushLies,
    /// The log is not cut off when it has to be.
    NotTruncated,
    /// Followers are told that more is committed than is.
    HighWatermarkAhead,
    /// Every vote that is refused is granted.
    AlwaysGrants,
    /// A fetch is taken for one from a later offset.
    FetchCountsForMore,
    /// The last voters in the log are overlooked at the start.
    StaleVoters,
    /// A change adds a second voter that nobody asked for.
    TwoVotersAtOnce,
    /// The last batch of the log is gone after a restart, though it was durable.
    LosesLastBatch,
    /// A snapshot is taken, and the log before it kept.
    SnapshotKeepsLog,
}
