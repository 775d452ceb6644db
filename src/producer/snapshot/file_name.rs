//! The names of snapshot files.

use alloc::format;
use alloc::string::String;

const SUFFIX: &str = ".snapshot";

/// The name of the snapshot file of that offset: 20 decimal digits and `.snapshot`.
///
/// ```
/// use kafka_coordination::producer::{snapshot_file_name, snapshot_offset};
///
/// let name = snapshot_file_name(5);
/// assert_eq!(name, "00000000000000000005.snapshot");
/// assert_eq!(snapshot_offset(&name), Some(5));
/// ```
pub fn snapshot_file_name(offset: i64) -> String {
    format!("{offset:020}{SUFFIX}")
}

/// What the snapshot file of that offset is renamed to before it is deleted.
pub fn deleted_snapshot_file_name(offset: i64) -> String {
    format!("{offset:020}{SUFFIX}.deleted")
}

/// The offset of the snapshot file of that name; `None`: it is no snapshot file.
///
/// Deviation: takes only names as Kafka writes them, of 20 digits. Kafka takes any number, and cannot
/// start when something else stands before `.snapshot`.
pub fn snapshot_offset(file_name: &str) -> Option<i64> {
    let digits = file_name.strip_suffix(SUFFIX)?;
    let is_written_so = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_written_so { digits.parse().ok() } else { None }
}
