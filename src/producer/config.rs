//! How the producers of a partition are kept.

use core::num::NonZeroU64;
use thiserror::Error;

use super::judgement::{FirstSequence, Verify};
use super::verification::Guard;

/// By which time a producer's age is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the record's time or the host's")]
pub enum ExpiryTime {
    /// The timestamp of its last batch or marker, as in Kafka. For topics that keep their producers'
    /// timestamps, producers choose it: with old ones they expire at once, with future ones never.
    #[default]
    Record,
    /// The host's time at its last batch or marker. After a snapshot was loaded, which does not hold
    /// it, the record's, unless that is later than the time of loading.
    Append,
}

/// How [`ProducerStates`](super::ProducerStates) are kept. The defaults are Kafka's; limits that
/// Kafka does not have are off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerConfig {
    pub(super) expiration_ms: i32,
    pub(super) verify: Verify,
    pub(super) transaction_timeout_max_ms: i32,
    pub(super) expiry_time: ExpiryTime,
    pub(super) first_sequence: FirstSequence,
    pub(super) producers_max: u32,
    pub(super) first_guard: Guard,
    pub(super) hash_seed: u64,
}

/// Why a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProducerConfigError {
    /// A number is out of its range.
    #[error("{name} is {value}, not in {min}..={max}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: i64,
        /// The least legal value.
        min: i64,
        /// The greatest legal value.
        max: i64,
    },
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            expiration_ms: 86_400_000,
            verify: Verify::On,
            transaction_timeout_max_ms: 900_000,
            expiry_time: ExpiryTime::Record,
            first_sequence: FirstSequence::Any,
            producers_max: u32::MAX,
            first_guard: Guard::new(NonZeroU64::MIN),
            hash_seed: 0,
        }
    }
}

impl ProducerConfig {
    /// How old a producer without open transaction gets, and a pending verification, in
    /// milliseconds: Kafka's `producer.id.expiration.ms`. 0 to 2147483647, by default 86400000
    /// (KIP-854).
    ///
    /// # Errors
    /// [`ProducerConfigError::OutOfRange`].
    pub fn with_expiration_ms(mut self, expiration_ms: i32) -> Result<Self, ProducerConfigError> {
        self.expiration_ms = not_negative("expiration_ms", expiration_ms)?;
        Ok(self)
    }

    /// Whether transactions must be verified: Kafka's
    /// `transaction.partition.verification.enable`; by default they must.
    #[must_use]
    pub const fn with_verification(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// The longest time-out that a transaction may have, in milliseconds: Kafka's
    /// `transaction.max.timeout.ms`. 0 to 2147483647, by default 900000.
    ///
    /// # Errors
    /// [`ProducerConfigError::OutOfRange`].
    pub fn with_transaction_timeout_max_ms(
        mut self,
        timeout_ms: i32,
    ) -> Result<Self, ProducerConfigError> {
        self.transaction_timeout_max_ms = not_negative("transaction_timeout_max_ms", timeout_ms)?;
        Ok(self)
    }

    /// By which time producers expire; by default the record's.
    #[must_use]
    pub const fn with_expiry_time(mut self, expiry_time: ExpiryTime) -> Self {
        self.expiry_time = expiry_time;
        self
    }

    /// Where unknown producers may start; by default anywhere.
    #[must_use]
    pub const fn with_first_sequence(mut self, first_sequence: FirstSequence) -> Self {
        self.first_sequence = first_sequence;
        self
    }

    /// The most producers of the partition, and the most pending verifications, 1 and above; by
    /// default without limit.
    ///
    /// When a new producer would exceed it, those that would expire first are forgotten as if they
    /// had: one in sixteen of the limit, but at least one. A producer with an open transaction is
    /// never forgotten. If all have one, a new producer is refused
    /// ([`AppendError::TooManyProducers`](super::AppendError::TooManyProducers)), and on a
    /// follower, which must take what its leader wrote, or after loading, there are more than the
    /// limit until transactions end.
    ///
    /// # Errors
    /// [`ProducerConfigError::OutOfRange`].
    pub fn with_producers_max(mut self, producers: u32) -> Result<Self, ProducerConfigError> {
        if producers == 0 {
            let (min, max) = (1, i64::from(u32::MAX));
            let name = "producers_max";
            return Err(ProducerConfigError::OutOfRange { name, value: 0, min, max });
        }
        self.producers_max = producers;
        Ok(self)
    }

    /// The guard of the first verification; by default number 1.
    ///
    /// A host that makes the state of a partition anew while verifications of the old one are under
    /// way gives one that the old one did not reach: Kafka counts on in one counter a process.
    #[must_use]
    pub const fn with_first_guard(mut self, guard: Guard) -> Self {
        self.first_guard = guard;
        self
    }

    /// The seed of the hash tables, whose keys clients choose: draw it at random. By default 0.
    /// No answer depends on it.
    #[must_use]
    pub const fn with_hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = seed;
        self
    }
}

fn not_negative(name: &'static str, value: i32) -> Result<i32, ProducerConfigError> {
    if value >= 0 {
        return Ok(value);
    }
    let (value, min, max) = (i64::from(value), 0, i64::from(i32::MAX));
    Err(ProducerConfigError::OutOfRange { name, value, min, max })
}
