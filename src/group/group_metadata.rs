//! A group's epoch and metadata hash, and when the hash is computed again.

use crate::group::topic_hash::MetadataHash;
use crate::time::Monotonic;
use thiserror::Error;

/// After how many milliseconds a group's metadata hash is computed again though nothing asked for it: 24.8 days. Kafka's
/// `METADATA_REFRESH_INTERVAL_MS`, which no property changes.
pub const REFRESH_INTERVAL_MS: i64 = 2_147_483_647;

/// What a group's metadata record holds, and when it has to be compared with the cluster: the part of Kafka's
/// `ModernGroup` (and of `StreamsGroup`) that metadata changes act on.
///
/// A small value that the host keeps with its group, so a heartbeat asks it without any look-up. Epoch and hash are
/// durable, in the group's record; the deadline is not. See the [module](super) for its place in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMetadata {
    epoch: i32,
    metadata_hash: MetadataHash,
    /// `None` if a refresh was asked for, or none took place yet.
    deadline: Option<RefreshDeadline>,
    /// A hash was computed and set a deadline, but its record was lost.
    is_refresh_lost: bool,
    /// Counts requests for a refresh.
    requests: u32,
}

/// Until when a group's metadata hash is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "Kafka's pair")]
pub struct RefreshDeadline {
    /// When it is computed again.
    pub at: Monotonic,
    /// The group's epoch by the decision that set this deadline. If the group's is lower, its record was lost.
    pub epoch: i32,
}

/// Everything that a [`GroupMetadata`] remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "whoever stores it must store all of it")]
pub struct GroupMetadataState {
    /// The group's epoch.
    pub epoch: i32,
    /// The hash of the last record.
    pub metadata_hash: MetadataHash,
    /// Until when the hash is good, on the clock of this process; `None` if it has to be computed.
    pub deadline: Option<RefreshDeadline>,
    /// Whether a computed hash was lost with its record, and none was computed since.
    pub is_refresh_lost: bool,
}

/// Whether something else than the cluster's metadata bumps the group's epoch: a subscription, an assignor, a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "yes or no")]
pub enum GroupChange {
    /// Only another metadata hash bumps.
    Unchanged,
    /// The epoch is bumped, whatever the hash.
    Changed,
}

/// What a group's metadata is to become, once its record is written if it has one: made by
/// [`GroupMetadata::decide_refresh`] and [`GroupMetadata::decide_leave`]. Dropping it changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision takes effect by being committed"]
pub struct GroupUpdate {
    from_epoch: i32,
    epoch: i32,
    metadata_hash: MetadataHash,
    /// The deadline that it sets, if any.
    deadline: Option<RefreshDeadline>,
    /// Whether the hash was computed for this decision.
    is_hash_fresh: bool,
    requests: u32,
}

impl GroupUpdate {
    /// Whether the epoch is bumped: then a record with [`epoch`](Self::epoch) and
    /// [`metadata_hash`](Self::metadata_hash) is to be written, and a new target assignment to be made.
    pub const fn is_bump(&self) -> bool {
        self.epoch != self.from_epoch
    }

    /// The group's epoch from then on.
    pub const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The group's metadata hash from then on.
    pub const fn metadata_hash(&self) -> MetadataHash {
        self.metadata_hash
    }
}

/// A group's metadata cannot become what was decided. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroupMetadataError {
    /// There is no epoch after 2147483647.
    #[error("the group has reached the last epoch")]
    EpochExhausted,
    /// Misuse: the group got another epoch after the decision.
    #[error("decided at group epoch {expected}, and now it is {actual}")]
    Superseded {
        /// The epoch at which it was decided.
        expected: i32,
        /// The group's epoch.
        actual: i32,
    },
}

impl GroupMetadata {
    /// A group whose record holds this epoch and hash, or a new one, which Kafka starts at epoch 1 with
    /// [`MetadataHash::NONE`]. Its first heartbeat compares the hash with the cluster: a group that was written with the
    /// hash of today's cluster, by Kafka or by this crate, is not rebalanced.
    pub const fn new(epoch: i32, metadata_hash: MetadataHash) -> Self {
        Self { epoch, metadata_hash, deadline: None, is_refresh_lost: false, requests: 0 }
    }

    /// Everything that is remembered, to go on from it elsewhere in this process. Any state may enter; what is durable in
    /// Kafka is what [`new`](Self::new) takes.
    pub const fn export(&self) -> GroupMetadataState {
        let Self { epoch, metadata_hash, deadline, is_refresh_lost, .. } = *self;
        GroupMetadataState { epoch, metadata_hash, deadline, is_refresh_lost }
    }

    /// The group's epoch.
    pub const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The hash of the last record.
    pub const fn metadata_hash(&self) -> MetadataHash {
        self.metadata_hash
    }

    /// Until when the hash is good; `None` (Kafka's pair of zeros) if it has to be computed with the next heartbeat.
    pub const fn deadline(&self) -> Option<RefreshDeadline> {
        self.deadline
    }

    /// Takes over the epoch and hash of a record that was read, or of the last durable record when those written after
    /// it are lost: a deadline that one of the lost ones set no longer counts, as in Kafka.
    ///
    /// Deviation: nor does it count later, when a member leaves a streams group and the record of that, which keeps the
    /// old hash, reaches the deadline's epoch. Kafka forgets the refresh then.
    pub fn load(&mut self, epoch: i32, metadata_hash: MetadataHash) {
        self.is_refresh_lost |= self.deadline.is_some_and(|deadline| epoch < deadline.epoch);
        self.epoch = epoch;
        self.metadata_hash = metadata_hash;
    }

    /// Makes the next heartbeat compute the hash: for each group that
    /// [`Subscriptions::on_image_changes`](super::Subscriptions::on_image_changes) names.
    pub const fn request_refresh(&mut self) {
        self.deadline = None;
        self.requests = self.requests.wrapping_add(1);
    }

    /// Whether a heartbeat has to compute the metadata hash. O(1). A clock that goes back makes the deadline later by as
    /// much.
    pub fn has_expired(&self, now: Monotonic) -> bool {
        self.is_refresh_lost
            || self
                .deadline
                .is_none_or(|deadline| now >= deadline.at || self.epoch < deadline.epoch)
    }

    /// Decides what a computed hash means for the group: bumped once if the hash is another or something else
    /// `change`d, and good until the next deadline in any case.
    ///
    /// For heartbeats and joins that bump anyway or find the metadata [expired](Self::has_expired), and for resolved
    /// regular expressions; Kafka commits the latter only if they [bump](GroupUpdate::is_bump).
    ///
    /// Deviation: a streams group's deadline is set without a bump too. In Kafka it stays expired then, and each
    /// heartbeat computes the equal hash again.
    ///
    /// # Errors
    /// [`GroupMetadataError::EpochExhausted`].
    pub fn decide_refresh(
        &self,
        metadata_hash: MetadataHash,
        change: GroupChange,
        now: Monotonic,
    ) -> Result<GroupUpdate, GroupMetadataError> {
        let is_bump = change == GroupChange::Changed || metadata_hash != self.metadata_hash;
        let epoch = if is_bump { self.next_epoch()? } else { self.epoch };
        let at = now.saturating_add(REFRESH_INTERVAL_MS);
        Ok(GroupUpdate {
            from_epoch: self.epoch,
            epoch,
            metadata_hash,
            deadline: Some(RefreshDeadline { at, epoch }),
            is_hash_fresh: true,
            requests: self.requests,
        })
    }

    /// Decides on members that leave or are fenced: always a bump, and the deadline stays.
    ///
    /// The hash is the one without those members' subscriptions, or `None` to carry on the one that is stored, as Kafka
    /// does for streams groups.
    ///
    /// # Errors
    /// [`GroupMetadataError::EpochExhausted`].
    pub fn decide_leave(
        &self,
        metadata_hash: Option<MetadataHash>,
    ) -> Result<GroupUpdate, GroupMetadataError> {
        Ok(GroupUpdate {
            from_epoch: self.epoch,
            epoch: self.next_epoch()?,
            metadata_hash: metadata_hash.unwrap_or(self.metadata_hash),
            deadline: None,
            is_hash_fresh: metadata_hash.is_some(),
            requests: self.requests,
        })
    }

    /// Follows a decision whose record, if it has one, is written. A refresh that was asked for since then is still
    /// due.
    ///
    /// A host that shows a group's new state before its record is durable, as Kafka does, commits at once, and
    /// [loads](Self::load) the last durable record if the write fails.
    ///
    /// # Errors
    /// [`GroupMetadataError::Superseded`].
    pub const fn commit(&mut self, update: GroupUpdate) -> Result<(), GroupMetadataError> {
        if update.from_epoch != self.epoch {
            let (expected, actual) = (update.from_epoch, self.epoch);
            return Err(GroupMetadataError::Superseded { expected, actual });
        }
        self.epoch = update.epoch;
        self.metadata_hash = update.metadata_hash;
        if update.is_hash_fresh {
            self.is_refresh_lost = false;
        }
        if update.deadline.is_some() && update.requests == self.requests {
            self.deadline = update.deadline;
        }
        Ok(())
    }

    const fn next_epoch(&self) -> Result<i32, GroupMetadataError> {
        match self.epoch.checked_add(1) {
            Some(epoch) => Ok(epoch),
            None => Err(GroupMetadataError::EpochExhausted),
        }
    }
}

impl From<GroupMetadataState> for GroupMetadata {
    fn from(state: GroupMetadataState) -> Self {
        let GroupMetadataState { epoch, metadata_hash, deadline, is_refresh_lost } = state;
        Self { epoch, metadata_hash, deadline, is_refresh_lost, requests: 0 }
    }
}
