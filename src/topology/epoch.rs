//! What the broker believes of the plugin: nothing there, anything may be there, or exactly this epoch.

use thiserror::Error;

use crate::group_record::StreamsGroupMetadataValue;

/// The version of a group's topology, which its clients choose: 0 and above.
///
/// Where Kafka writes -1 for "no topology" or "none failed", this crate has `Option<TopologyEpoch>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopologyEpoch(i32);

impl TopologyEpoch {
    /// The epoch of that number; `None` if it is negative.
    pub const fn new(epoch: i32) -> Option<Self> {
        if epoch >= 0 { Some(Self(epoch)) } else { None }
    }

    /// Its number, 0 and above.
    pub const fn get(self) -> i32 {
        self.0
    }
}

/// The belief about the plugin that is durable with a streams group: Kafka's
/// `StoredDescriptionTopologyEpoch` (KIP-1331, KAFKA-20748).
///
/// It is read in four ways, which differ in what they make of the three cases; each has its method,
/// and no number stands for two of them.
///
/// ```
/// use kafka_coordination::topology::{StoredEpoch, TopologyEpoch};
///
/// let current = TopologyEpoch::new(5).ok_or("negative")?;
/// let read = |stored: StoredEpoch| {
///     (stored.wants_push(current), stored.wants_delete(), stored.served(Some(current)), stored.blocks_expiry())
/// };
/// assert_eq!(read(StoredEpoch::None), (true, false, None, false));
/// assert_eq!(read(StoredEpoch::Uncertain), (true, true, None, true));
/// assert_eq!(read(StoredEpoch::Held(current)), (false, true, Some(current), true));
/// assert_eq!(StoredEpoch::from_record(-2)?, StoredEpoch::Uncertain);
/// assert!(StoredEpoch::from_record(-3).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "every reader must say what it makes of each case")]
pub enum StoredEpoch {
    /// The plugin holds nothing: -1 in the record.
    #[default]
    None,
    /// The plugin may hold nothing, or the description of any epoch: -2 in the record.
    Uncertain,
    /// The plugin holds the description of this epoch.
    Held(TopologyEpoch),
}

/// A number in a record is neither an epoch nor one of the numbers that stand for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{field} is {value}, which stands for nothing")]
#[non_exhaustive]
pub struct EpochError {
    /// The field of the record.
    pub field: &'static str,
    /// What it holds.
    pub value: i32,
}

impl StoredEpoch {
    const NONE: i32 = -1;
    const UNCERTAIN: i32 = -2;

    /// Whether a member may be asked for the description of the group's `current` topology.
    ///
    /// Any other epoch counts, a higher one too: the plugin holds what nobody can be served.
    pub fn wants_push(self, current: TopologyEpoch) -> bool {
        self != Self::Held(current)
    }

    /// Whether the plugin may hold something that must be deleted before the group goes.
    pub const fn wants_delete(self) -> bool {
        !matches!(self, Self::None)
    }

    /// The epoch for which the plugin may be asked when the group is described; `None` if there is
    /// nothing to ask for.
    pub fn served(self, current: Option<TopologyEpoch>) -> Option<TopologyEpoch> {
        match self {
            Self::Held(epoch) if current == Some(epoch) => Some(epoch),
            _ => None,
        }
    }

    /// Whether a group must not expire with this belief while a plugin is configured: what is not
    /// known to be gone would be forgotten with it.
    pub const fn blocks_expiry(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Reads the field of the group's metadata record.
    ///
    /// # Errors
    /// [`EpochError`] for numbers below -2.
    pub const fn from_record(value: i32) -> Result<Self, EpochError> {
        match (value, TopologyEpoch::new(value)) {
            (_, Some(epoch)) => Ok(Self::Held(epoch)),
            (Self::NONE, None) => Ok(Self::None),
            (Self::UNCERTAIN, None) => Ok(Self::Uncertain),
            (value, None) => Err(EpochError { field: "StoredDescriptionTopologyEpoch", value }),
        }
    }

    /// The number for the group's metadata record.
    pub const fn to_record(self) -> i32 {
        match self {
            Self::None => Self::NONE,
            Self::Uncertain => Self::UNCERTAIN,
            Self::Held(epoch) => epoch.get(),
        }
    }
}

/// What a streams group's metadata record says of its description: every record of the group carries
/// both, or they are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the two fields of the record")]
pub struct Belief {
    /// What the plugin holds.
    pub stored: StoredEpoch,
    /// The highest epoch whose description the plugin refused for good: Kafka's
    /// `FailedDescriptionTopologyEpoch`.
    pub failed: Option<TopologyEpoch>,
}

impl Belief {
    /// Of a group that was just created: nothing stored, nothing refused.
    pub const NEW: Self = Self { stored: StoredEpoch::None, failed: None };

    /// Reads the two fields of the group's metadata record.
    ///
    /// # Errors
    /// [`EpochError`] if `stored` is below -2, or `failed` below -1.
    pub const fn from_record(stored: i32, failed: i32) -> Result<Self, EpochError> {
        let stored = match StoredEpoch::from_record(stored) {
            Ok(stored) => stored,
            Err(error) => return Err(error),
        };
        let failed = match (failed, TopologyEpoch::new(failed)) {
            (StoredEpoch::NONE, _) => None,
            (_, Some(epoch)) => Some(epoch),
            (value, None) => {
                return Err(EpochError { field: "FailedDescriptionTopologyEpoch", value });
            }
        };
        Ok(Self { stored, failed })
    }

    /// Reads the belief off the value of a group's metadata record.
    ///
    /// # Errors
    /// As [`from_record`](Self::from_record).
    pub const fn of_value(value: &StreamsGroupMetadataValue) -> Result<Self, EpochError> {
        Self::from_record(
            value.stored_description_topology_epoch,
            value.failed_description_topology_epoch,
        )
    }

    /// Puts the belief into the value of a group's metadata record, and leaves the rest as it is.
    ///
    /// ```
    /// use kafka_coordination::group_record::StreamsGroupMetadataValue;
    /// use kafka_coordination::topology::{Belief, StoredEpoch};
    ///
    /// let mut value = StreamsGroupMetadataValue {
    ///     epoch: 3,
    ///     metadata_hash: 0,
    ///     validated_topology_epoch: -1,
    ///     last_assignment_configs: Some(Vec::new()),
    ///     stored_description_topology_epoch: -1,
    ///     failed_description_topology_epoch: -1,
    /// };
    /// Belief { stored: StoredEpoch::Uncertain, failed: None }.put_into(&mut value);
    /// let mut bytes = Vec::new();
    /// value.encode(&mut bytes);
    /// assert_eq!(bytes[bytes.len() - 5..], [4, 0xff, 0xff, 0xff, 0xfe]);
    /// assert_eq!(Belief::of_value(&value).map(|it| it.stored), Ok(StoredEpoch::Uncertain));
    /// ```
    pub const fn put_into(self, value: &mut StreamsGroupMetadataValue) {
        (value.stored_description_topology_epoch, value.failed_description_topology_epoch) =
            self.to_record();
    }

    /// The numbers for the two fields of the group's metadata record, stored and failed.
    pub const fn to_record(self) -> (i32, i32) {
        let failed = match self.failed {
            Some(epoch) => epoch.get(),
            None => StoredEpoch::NONE,
        };
        (self.stored.to_record(), failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_into_records_and_come_back() {
        for value in [-2, -1, 0, 1, i32::MAX] {
            assert_eq!(StoredEpoch::from_record(value).map(StoredEpoch::to_record), Ok(value));
            for failed in [-1, 0, i32::MAX] {
                let belief = Belief::from_record(value, failed);
                assert_eq!(belief.map(Belief::to_record), Ok((value, failed)));
            }
            let field = "FailedDescriptionTopologyEpoch";
            assert_eq!(Belief::from_record(value, -2), Err(EpochError { field, value: -2 }));
        }
        assert_eq!(Belief::from_record(-1, -1), Ok(Belief::NEW));
    }

    #[test]
    fn other_negative_numbers_stand_for_nothing() {
        let field = "StoredDescriptionTopologyEpoch";
        for value in [-3, -4, i32::MIN] {
            assert_eq!(StoredEpoch::from_record(value), Err(EpochError { field, value }));
            assert_eq!(Belief::from_record(value, 0), Err(EpochError { field, value }));
        }
    }

    #[test]
    fn another_epoch_than_the_current_one_is_pushed_again_and_not_served() {
        let [lower, current, higher] = [4, 5, 6].map(|it| TopologyEpoch::new(it).unwrap());
        for other in [lower, higher] {
            assert!(StoredEpoch::Held(other).wants_push(current));
            assert_eq!(StoredEpoch::Held(other).served(Some(current)), None);
        }
        assert_eq!(StoredEpoch::None.served(None), None, "both are -1 in Kafka");
    }
}
