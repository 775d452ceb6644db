//! Producer snapshot files: their bytes and their names.

use crate::fields::{Fields, same};
use crate::producer_state::{bytes_of, normal, producer};
use crate::runner::{Outcome, Subject};
use kafka_coordination::producer::{
    ProducerConfig, ProducerEntry, ProducerStates, Snapshot, SnapshotEntry, encode_snapshot,
    snapshot_file_name, snapshot_offset,
};
use serde_json::Value;

/// Vectors of snapshot files.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "producer_snapshot", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    match scenario.text("kind")? {
        "write" => write(scenario)?,
        "read" => return read(scenario),
        "large" => large(scenario)?,
        "file_name" => {
            let offset = scenario.integer("offset")?;
            let name = scenario.text("file")?;
            same("name", &name, &snapshot_file_name(offset).as_str())?;
            same("offset", &Some(offset), &snapshot_offset(name))?;
        }
        "parse_file_name" => return parse_file_name(scenario),
        kind => return Err(format!("unknown kind {kind}")),
    }
    Ok(Outcome::AsKafka)
}

fn write(scenario: &Fields<'_>) -> Result<(), String> {
    let entries = scenario.list("entries")?.iter().map(entry);
    let entries: Vec<_> = entries.collect::<Result<_, String>>()?;
    let bytes = bytes_of(scenario.text("hex")?)?;
    same("bytes", &bytes, &encoded(&entries))?;
    let ascending = entries.is_sorted_by_key(|entry| entry.producer_id);
    same("sorted", &scenario.boolean("sorted")?, &ascending)?;
    let decoded = decoded(&bytes)?;
    same("entries", &entries, &decoded)?;
    same("producers", &sorted(scenario.list("producers")?), &sorted(&producers(&decoded)))?;
    loaded(entries)
}

/// A state that loads these producers writes them by ascending id.
fn loaded(mut entries: Vec<SnapshotEntry>) -> Result<(), String> {
    let mut states = ProducerStates::new(ProducerConfig::default());
    let now = kafka_coordination::Timestamp::from_millis(i64::MIN);
    if states.load_snapshot(i64::MAX, entries.iter().copied(), now).is_err() {
        // No log has such producers: their transactions start at one offset, say.
        return Ok(());
    }
    let mut bytes = Vec::new();
    states.encode_snapshot(&mut bytes);
    entries.sort_by_key(|entry| entry.producer_id);
    let encoded = encoded(&entries);
    same("bytes after loading", &encoded, &bytes)
}

fn read(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let bytes = bytes_of(scenario.text("hex")?)?;
    let may_refuse = scenario.find("may_refuse").is_some_and(|it| it.as_bool() == Some(true));
    let expect = scenario.object("expect")?;
    expect.find("reason");
    match expect.text("error")? {
        "NONE" => {
            let expected: Vec<_> = expect.list("producers")?.iter().map(normal).collect();
            expect.all_read()?;
            match Snapshot::parse(&bytes) {
                Err(_) if may_refuse => return Ok(Outcome::Deviated),
                Err(error) => return Err(error.to_string()),
                Ok(snapshot) => {
                    let entries: Vec<_> = snapshot.iter().collect();
                    same("producers", &expected, &producers(&entries))?;
                }
            }
        }
        "CORRUPT_SNAPSHOT" => {
            expect.all_read()?;
            if let Ok(snapshot) = Snapshot::parse(&bytes) {
                return Err(format!("loads {} producers of a damaged file", snapshot.len()));
            }
        }
        error => return Err(format!("unknown error {error}")),
    }
    Ok(Outcome::AsKafka)
}

fn large(scenario: &Fields<'_>) -> Result<(), String> {
    let count: i64 = scenario.integer("count")?;
    let first: i64 = scenario.integer("first_producer_id")?;
    let step: i64 = scenario.integer("producer_id_step")?;
    let entry = |k: i64| {
        let has_batch = k % 5 != 4;
        let offset = 100 * k + k % 3;
        let small = |number: i64| i32::try_from(number).expect("a small number");
        SnapshotEntry {
            producer_id: first + step * k,
            producer_epoch: i16::try_from(k % 32_768).expect("a small number"),
            last_sequence: if has_batch {
                small((107_374 * k + 2_147_483_000) % (1 << 31))
            } else {
                -1
            },
            last_offset: if has_batch { offset } else { -1 },
            offset_delta: if has_batch { small(k % 3) } else { 0 },
            timestamp: 1_600_000_000_000 + 1000 * k,
            coordinator_epoch: if k % 4 == 3 { small(k % 11) } else { -1 },
            current_txn_first_offset: if has_batch && k % 10 == 2 { offset - k % 3 } else { -1 },
        }
    };
    let entries: Vec<_> = (0..count).map(entry).collect();
    let bytes = encoded(&entries);
    same("length", &scenario.integer("length")?, &bytes.len())?;
    let checksum = u32::from_be_bytes(bytes[2..6].try_into().expect("four bytes"));
    same("crc", &scenario.integer("crc")?, &i64::from(checksum))?;
    same("first bytes", &bytes_of(scenario.text("first_100_bytes")?)?, &bytes[..100].to_vec())?;
    same(
        "last bytes",
        &bytes_of(scenario.text("last_46_bytes")?)?,
        &bytes[bytes.len() - 46..].to_vec(),
    )?;
    // The checksum and the length say what the longer hash would.
    scenario.find("sha256");
    same("entries", &entries, &decoded(&bytes)?)?;
    loaded(entries)
}

fn parse_file_name(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let offset = snapshot_offset(scenario.text("file")?);
    let may_refuse = scenario.find("may_refuse").is_some_and(|it| it.as_bool() == Some(true));
    let expect = scenario.object("expect")?;
    let (is_snapshot, error) = (expect.boolean("is_snapshot")?, expect.text("error")?);
    let expected: Option<i64> =
        expect.find("offset").map_or(Ok(None), crate::value::optional_integer)?;
    expect.all_read()?;
    if may_refuse && offset.is_none() {
        return Ok(Outcome::Deviated);
    }
    same("error", &error, &"NONE")?;
    same("is a snapshot", &is_snapshot, &offset.is_some())?;
    same("offset", &expected, &offset)?;
    Ok(Outcome::AsKafka)
}

fn encoded(entries: &[SnapshotEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_snapshot(entries.iter().copied(), &mut bytes);
    bytes
}

fn decoded(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, String> {
    let snapshot = Snapshot::parse(bytes).map_err(|error| error.to_string())?;
    Ok(snapshot.iter().collect())
}

fn entry(value: &Value) -> Result<SnapshotEntry, String> {
    let fields = Fields::of(value)?;
    let entry = SnapshotEntry {
        producer_id: fields.integer("producer_id")?,
        producer_epoch: fields.integer("producer_epoch")?,
        last_sequence: fields.integer("last_sequence")?,
        last_offset: fields.integer("last_offset")?,
        offset_delta: fields.integer("offset_delta")?,
        timestamp: fields.integer("timestamp")?,
        coordinator_epoch: fields.integer("coordinator_epoch")?,
        current_txn_first_offset: fields.integer("current_txn_first_offset")?,
    };
    fields.all_read()?;
    Ok(entry)
}

fn producers(entries: &[SnapshotEntry]) -> Vec<Value> {
    let with_id = |saved: &SnapshotEntry| {
        let mut value = producer(&ProducerEntry::from(saved));
        value["producer_id"] = saved.producer_id.into();
        value
    };
    entries.iter().map(with_id).collect()
}

fn sorted(producers: &[Value]) -> Vec<Value> {
    let mut producers: Vec<_> = producers.iter().map(normal).collect();
    producers.sort_by_key(|producer| producer["producer_id"].as_i64());
    producers
}
