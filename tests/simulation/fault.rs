//! Faults that are planted in one node, to see that the simulation finds them.
//!
//! The crate has no hooks for them. A fault of a rule of the crate is made at the border between replica and host: a
//! message, an effect or an input is rewritten to what a replica without that rule would have sent, asked for or taken.

/// What a faulty node does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    // Of the host.
    /// Election states are not made durable.
    VoteNotPersisted,
    /// The log is said to be durable when it is not.
    FlushLies,
    /// The log is not cut off when it has to be.
    NotTruncated,
    /// The last voters in the log are overlooked at the start.
    StaleVoters,
    /// The last batch of the log is gone after a restart, though it was durable.
    LosesLastBatch,
    /// A snapshot is taken, and the log before it kept.
    SnapshotKeepsLog,

    // Of votes.
    /// Every vote that is refused is granted.
    AlwaysGrants,
    /// Votes are granted to shorter logs.
    GrantsToShorterLogs,
    /// A vote counts for another voter as well.
    CountsVotesTwice,
    /// A vote of an earlier epoch counts.
    CountsOldVotes,
    /// A leader that restarts stands in the epoch that it led.
    LeadsAgain,

    // Of what is committed.
    /// Followers are told that more is committed than is.
    HighWatermarkAhead,
    /// A fetch is taken for one from a later offset.
    FetchCountsForMore,
    /// What an observer has fetched counts.
    ObserversCount,
    /// What a voter has fetched counts, though it has lost its disk since.
    OtherDirectoryCounts,
    /// A leader counts who has records of earlier epochs before it has one of its own.
    CommitsByCount,
    /// A log is cut off below what is committed.
    TruncatesCommitted,
    /// The state machine is given more than what is committed.
    DeliversUncommitted,

    // Of who is told what.
    /// An answer counts that was given to an earlier question.
    TakesLateRecords,
    /// After a truncation control records are not read where the log was read before (as Kafka does).
    OverlooksVoters,
    /// A change adds a second voter that nobody asked for.
    TwoVotersAtOnce,
    /// A leader that removed itself goes on to lead.
    RemovedLeaderGoesOn,
}

impl Fault {
    /// Whether books that differ from the disk are the fault itself: it is to be found by what comes of it.
    pub(crate) const fn is_in_the_books(self) -> bool {
        matches!(
            self,
            Self::NotTruncated | Self::StaleVoters | Self::SnapshotKeepsLog | Self::TwoVotersAtOnce
        )
    }
}
