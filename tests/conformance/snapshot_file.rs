//! The bytes of a snapshot file, which take the feature `std`. Without it, scenarios that have some are left out.

use kafka_coordination::Timestamp;
use kafka_coordination::producer::ProducerStates;

/// What a scenario writes into files.
#[cfg(feature = "std")]
pub(crate) fn write(states: &ProducerStates) -> Vec<u8> {
    let mut bytes = Vec::new();
    states.encode_snapshot(&mut bytes);
    bytes
}

/// Loads a file's bytes; answers whether they are a snapshot that can be loaded.
#[cfg(feature = "std")]
pub(crate) fn load(states: &mut ProducerStates, offset: i64, bytes: &[u8], now: Timestamp) -> bool {
    let snapshot = kafka_coordination::producer::Snapshot::parse(bytes);
    snapshot.is_ok_and(|it| states.load_snapshot(offset, it.iter(), now).is_ok())
}

#[cfg(not(feature = "std"))]
pub(crate) fn write(_: &ProducerStates) -> Vec<u8> {
    Vec::new()
}

#[cfg(not(feature = "std"))]
pub(crate) fn load(_: &mut ProducerStates, _: i64, _: &[u8], _: Timestamp) -> bool {
    false
}
