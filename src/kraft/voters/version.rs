//! The feature `kraft.version`.

use core::fmt;

use thiserror::Error;

/// The level of the feature `kraft.version`: which rules hold in the quorum (KIP-853).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KRaftVersion {
    /// Level 0: the voters are those of the configuration (KIP-595).
    #[default]
    V0,
    /// Level 1: the voters are those of the last voters record, and can change (KIP-853).
    V1,
}

impl KRaftVersion {
    /// The feature's name.
    pub const FEATURE_NAME: &'static str = "kraft.version";

    /// The highest level there is.
    pub const LATEST: Self = Self::V1;

    /// The level with this number.
    ///
    /// # Errors
    /// [`UnknownKRaftVersion`].
    pub const fn from_level(level: i16) -> Result<Self, UnknownKRaftVersion> {
        match level {
            0 => Ok(Self::V0),
            1 => Ok(Self::V1),
            _ => Err(UnknownKRaftVersion { level }),
        }
    }

    /// The level's number.
    pub const fn level(self) -> i16 {
        match self {
            Self::V0 => 0,
            Self::V1 => 1,
        }
    }

    /// Whether voters may be added and removed.
    pub const fn is_reconfiguration_supported(self) -> bool {
        !matches!(self, Self::V0)
    }

    /// The version of the quorum-state file that is written at this level.
    pub const fn quorum_state_version(self) -> i16 {
        self.level()
    }

    /// The number of the metadata version from which on this level is the default.
    pub const fn bootstrap_metadata_version(self) -> i16 {
        match self {
            Self::V0 => 7,
            Self::V1 => 21,
        }
    }
}

/// Writes the number.
impl fmt::Display for KRaftVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.level(), f)
    }
}

/// There is no such level of `kraft.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("kraft.version {level} is not known")]
pub struct UnknownKRaftVersion {
    /// The level's number.
    pub level: i16,
}

/// The levels of `kraft.version` that a replica supports. Invariant: 0 ≤ min ≤ max.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SupportedVersions {
    min: i16,
    max: i16,
}

impl SupportedVersions {
    /// Level 0 alone: what is assumed of static voters.
    pub const ONLY_V0: Self = Self { min: 0, max: 0 };

    /// All levels that this crate knows: 0 and 1.
    pub const ALL: Self = Self { min: 0, max: KRaftVersion::LATEST.level() };

    /// The levels from `min` to `max`, both included.
    ///
    /// # Errors
    /// [`InvalidVersionRange`] unless 0 ≤ min ≤ max.
    pub const fn new(min: i16, max: i16) -> Result<Self, InvalidVersionRange> {
        if min < 0 || max < min {
            return Err(InvalidVersionRange { min, max });
        }
        Ok(Self { min, max })
    }

    /// The lowest level.
    pub const fn min(self) -> i16 {
        self.min
    }

    /// The highest level.
    pub const fn max(self) -> i16 {
        self.max
    }

    /// Whether the level is among them.
    pub const fn contains(self, version: KRaftVersion) -> bool {
        self.min <= version.level() && version.level() <= self.max
    }
}

/// Writes `min-max`.
impl fmt::Display for SupportedVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}

/// These are no levels from a lowest to a highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("from {min} to {max} is no range of versions")]
pub struct InvalidVersionRange {
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}
