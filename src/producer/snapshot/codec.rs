//! The bytes of a snapshot file.

use alloc::vec::Vec;

use thiserror::Error;

use super::entry::SnapshotEntry;
use crate::producer::entry::{NO_EPOCH, NO_OFFSET};
use crate::producer::sequence::NO_SEQUENCE;
use crate::producer::states::ProducerStates;

/// The only version there is.
const VERSION: i16 = 1;

/// Version, checksum and count.
const HEADER: usize = 10;

/// Where the bytes start that the checksum covers.
const CHECKED_FROM: usize = 6;

/// The bytes of a producer.
const ENTRY: usize = 46;

/// Why bytes are not a snapshot. The host deletes the file and tries an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It is shorter than it says, or than any.
    #[error("{actual} bytes, of at least {expected}")]
    Truncated {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        actual: usize,
    },
    /// Something follows the last producer.
    ///
    /// Deviation: Kafka takes it, if the checksum covers it.
    #[error("{actual} bytes, of {expected}")]
    Trailing {
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        actual: usize,
    },
    /// Its version is not 1.
    #[error("version {version}")]
    Version {
        /// The version.
        version: i16,
    },
    /// The number of producers is negative.
    #[error("{count} producers")]
    Count {
        /// The number.
        count: i32,
    },
    /// The checksum is wrong.
    #[error("checksum {expected:08x}, but the bytes have {actual:08x}")]
    Checksum {
        /// What the snapshot says.
        expected: u32,
        /// What its bytes have.
        actual: u32,
    },
    /// A number of a producer is below the one that stands for "none".
    ///
    /// Deviation: Kafka takes it, if the checksum is right.
    #[error("{field} of producer {producer_id} is {value}")]
    Field {
        /// The producer.
        producer_id: i64,
        /// Which number.
        field: &'static str,
        /// The number.
        value: i64,
    },
}

/// The checked bytes of a snapshot.
///
/// ```
/// use kafka_coordination::producer::{Snapshot, SnapshotError};
///
/// let bytes = [0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0];
/// assert_eq!(Snapshot::parse(&bytes)?.len(), 0);
/// assert!(Snapshot::parse(&bytes[..9]).is_err());
/// # Ok::<(), SnapshotError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    entries: &'a [[u8; ENTRY]],
}

impl<'a> Snapshot<'a> {
    /// Checks bytes; copies and allocates nothing. O(bytes).
    ///
    /// What is wrong with several producers together is found by
    /// [`ProducerStates::load_snapshot`].
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SnapshotError> {
        let actual = bytes.len();
        let truncated = SnapshotError::Truncated { expected: HEADER as u64, actual };
        let (header, body) = bytes.split_first_chunk::<HEADER>().ok_or(truncated)?;
        let [v0, v1, c0, c1, c2, c3, n0, n1, n2, n3] = *header;
        let version = i16::from_be_bytes([v0, v1]);
        if version != VERSION {
            return Err(SnapshotError::Version { version });
        }
        let count = i32::from_be_bytes([n0, n1, n2, n3]);
        let producers = u64::try_from(count).map_err(|_| SnapshotError::Count { count })?;
        let expected = HEADER as u64 + producers * ENTRY as u64;
        if (actual as u64) < expected {
            return Err(SnapshotError::Truncated { expected, actual });
        }
        let (entries, rest) = body.as_chunks::<ENTRY>();
        if actual as u64 > expected || !rest.is_empty() {
            return Err(SnapshotError::Trailing { expected, actual });
        }
        let expected = u32::from_be_bytes([c0, c1, c2, c3]);
        let actual = crc32c::crc32c(bytes.get(CHECKED_FROM..).unwrap_or_default());
        if actual != expected {
            return Err(SnapshotError::Checksum { expected, actual });
        }
        let snapshot = Self { entries };
        snapshot.iter().try_for_each(|entry| check(&entry))?;
        Ok(snapshot)
    }

    /// How many producers there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The producers in the order of the bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SnapshotEntry> + use<'a> {
        self.entries.iter().map(read)
    }
}

fn check(entry: &SnapshotEntry) -> Result<(), SnapshotError> {
    let SnapshotEntry { producer_id, .. } = *entry;
    let fields = [
        ("producer id", producer_id, 0),
        ("epoch", entry.producer_epoch.into(), NO_EPOCH.into()),
        ("last sequence", entry.last_sequence.into(), NO_SEQUENCE.into()),
        ("last offset", entry.last_offset, NO_OFFSET),
        ("offset delta", entry.offset_delta.into(), 0),
        ("transaction first offset", entry.current_txn_first_offset, NO_OFFSET),
    ];
    for (field, value, least) in fields {
        if value < least {
            return Err(SnapshotError::Field { producer_id, field, value });
        }
    }
    Ok(())
}

/// Appends to `out` the bytes of a snapshot of these producers, in their order: of the first
/// 2147483647, which is as many as the format can count.
pub fn encode_snapshot(entries: impl ExactSizeIterator<Item = SnapshotEntry>, out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve_exact(HEADER + entries.len() * ENTRY);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&[0; HEADER - 2]);
    let mut count = 0_i32;
    for entry in entries.take(i32::MAX as usize) {
        out.extend_from_slice(&write(&entry));
        count += 1;
    }
    if let Some(place) = out.get_mut(start + CHECKED_FROM..start + HEADER) {
        place.copy_from_slice(&count.to_be_bytes());
    }
    let checksum = crc32c::crc32c(out.get(start + CHECKED_FROM..).unwrap_or_default());
    if let Some(place) = out.get_mut(start + 2..start + CHECKED_FROM) {
        place.copy_from_slice(&checksum.to_be_bytes());
    }
}

impl ProducerStates {
    /// Appends to `out` the bytes of a snapshot of all producers, by ascending id: equal to those that
    /// Kafka writes for these producers in that order. O(n), or O(n log n) if they did not come in
    /// that order.
    ///
    /// The host writes them to the file [`snapshot_file_name`](super::snapshot_file_name) of the offset
    /// that [`snapshot_due`](Self::snapshot_due) answered, outside of the log's lock if it likes, and
    /// then calls [`snapshot_written`](Self::snapshot_written).
    pub fn encode_snapshot(&self, out: &mut Vec<u8>) {
        let slots = self.table.sorted();
        let entries = slots.iter().map(|&slot| {
            let producer_id = self.table.id(slot).unwrap_or_default();
            SnapshotEntry::new(producer_id, self.entry(Some(slot)))
        });
        encode_snapshot(entries, out);
    }
}

fn write(entry: &SnapshotEntry) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..8].copy_from_slice(&entry.producer_id.to_be_bytes());
    bytes[8..10].copy_from_slice(&entry.producer_epoch.to_be_bytes());
    bytes[10..14].copy_from_slice(&entry.last_sequence.to_be_bytes());
    bytes[14..22].copy_from_slice(&entry.last_offset.to_be_bytes());
    bytes[22..26].copy_from_slice(&entry.offset_delta.to_be_bytes());
    bytes[26..34].copy_from_slice(&entry.timestamp.to_be_bytes());
    bytes[34..38].copy_from_slice(&entry.coordinator_epoch.to_be_bytes());
    bytes[38..].copy_from_slice(&entry.current_txn_first_offset.to_be_bytes());
    bytes
}

fn read(bytes: &[u8; ENTRY]) -> SnapshotEntry {
    let mut rest = bytes.as_slice();
    SnapshotEntry {
        producer_id: i64::from_be_bytes(take(&mut rest)),
        producer_epoch: i16::from_be_bytes(take(&mut rest)),
        last_sequence: i32::from_be_bytes(take(&mut rest)),
        last_offset: i64::from_be_bytes(take(&mut rest)),
        offset_delta: i32::from_be_bytes(take(&mut rest)),
        timestamp: i64::from_be_bytes(take(&mut rest)),
        coordinator_epoch: i32::from_be_bytes(take(&mut rest)),
        current_txn_first_offset: i64::from_be_bytes(take(&mut rest)),
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (value, behind) = rest.split_first_chunk::<N>().map_or(([0; N], *rest), |(v, b)| (*v, b));
    *rest = behind;
    value
}
