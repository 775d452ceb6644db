//! `kraft_records`: bytes of control records, control batches and snapshot files.

use crate::fields::{Fields, same};
use crate::kraft_voter_set::{record_bytes, record_value};
use crate::producer_state::bytes_of;
use crate::quorum::{uuid, uuid_text, voters};
use crate::runner::{Outcome, Subject};
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    Batch, Batches, ControlBatch, ControlMessage, ControlRecordType, KRaftVersion,
    KRaftVersionRecord, LeaderChangeMessage, RecordError, ReplicaKey, SnapshotFooterRecord,
    SnapshotHeader, SnapshotHeaderRecord, SnapshotReader, VotersRecord, encode_snapshot_footer,
    encode_snapshot_header,
};
use serde_json::{Value, json};

pub(crate) const SUBJECT: Subject = Subject { folder: "kraft_records", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    match scenario.text("kind")? {
        "encode" => encode(scenario)?,
        "decode" => return decode(scenario),
        "key_encode" => {
            let control_type = control_type(scenario.text("type")?);
            let actual = control_type.map(|it| it.key().to_vec());
            same("key", &expected_bytes(scenario)?, &actual)?;
        }
        "key_parse" => {
            let bytes = bytes_of(scenario.text("bytes")?)?;
            answer(
                scenario,
                ControlRecordType::id_of_key(&bytes).map(|id| {
                    let known = ControlRecordType::from_id(id);
                    json!({"type_id": id, "type": type_name(known)})
                }),
            )?;
        }
        "control_record" => {
            let (key, value) =
                (bytes_of(scenario.text("key")?)?, bytes_of(scenario.text("value")?)?);
            answer(scenario, ControlMessage::decode(&key, &value).map(|it| message_value(&it)))?;
        }
        "typed_record" => {
            let (key, value) =
                (bytes_of(scenario.text("key")?)?, bytes_of(scenario.text("value")?)?);
            let expected = control_type(scenario.text("expected")?);
            let read = ControlMessage::decode(&key, &value);
            let read = read.map_err(|error| error.to_string()).and_then(|it| {
                if Some(it.control_type()) == expected { Ok(it) } else { Err("type".into()) }
            });
            answer(scenario, read.map(|it| message_value(&it)["fields"].take()))?;
        }
        "batch_encode" => {
            let mut bytes = Vec::new();
            let timestamp = Timestamp::from_millis(scenario.integer("timestamp")?);
            let (base_offset, epoch) =
                (scenario.integer("base_offset")?, scenario.integer("epoch")?);
            let mut batch = ControlBatch::new(base_offset, epoch, timestamp, &mut bytes);
            for record in scenario.list("records")? {
                let record = Fields::of(record)?;
                let name = record.text("type")?;
                let value = value_bytes(message_of(name)?, 0, &record.object("fields")?)?;
                let value = value.ok_or("a value that cannot be written")?;
                let control_type = control_type(name).ok_or("no type")?;
                batch.push_value(control_type, &value).map_err(|error| error.to_string())?;
                record.all_read()?;
            }
            batch.finish().map_err(|error| error.to_string())?;
            same("bytes", &expected_bytes(scenario)?, &Some(bytes))?;
        }
        "batch_decode" => {
            let bytes = bytes_of(scenario.text("bytes")?)?;
            batches(scenario, Batches::new(&bytes))?;
        }
        "snapshot_encode" => snapshot_encode(scenario)?,
        "snapshot_decode" => {
            let bytes = bytes_of(scenario.text("bytes")?)?;
            let id = scenario.object("snapshot_id")?;
            let (offset, epoch): (i64, i32) = (id.integer("offset")?, id.integer("epoch")?);
            match SnapshotReader::open(&bytes) {
                Ok(snapshot) => {
                    let timestamp = snapshot.last_contained_log_timestamp().as_millis();
                    let result = json!({
                        "last_contained_log_timestamp": timestamp,
                        "last_contained_log_offset": offset - 1,
                        "last_contained_log_epoch": epoch,
                    });
                    let expected = scenario.value("result")?;
                    if !expected.is_null() {
                        same("result", expected, &result)?;
                    }
                    batches(scenario, snapshot)?;
                }
                Err(error) => {
                    same("result", &Value::Null, scenario.value("result")?)?;
                    same("batches", &0, &scenario.list("batches")?.len())?;
                    if scenario.value("error")?.is_null() {
                        return Err(error.to_string());
                    }
                }
            }
        }
        kind => return Err(format!("unknown kind {kind}")),
    }
    Ok(Outcome::AsKafka)
}

/// The bytes that are expected, or nothing if an error is.
fn expected_bytes(scenario: &Fields<'_>) -> Result<Option<Vec<u8>>, String> {
    if scenario.value("error")?.is_null() {
        return bytes_of(scenario.text("bytes")?).map(Some);
    }
    scenario.find("bytes");
    Ok(None)
}

/// Compares a result; of an error, that there is one.
fn answer<E: ToString>(scenario: &Fields<'_>, actual: Result<Value, E>) -> Result<(), String> {
    let (result, error) = (scenario.value("result")?, scenario.value("error")?);
    match actual {
        Ok(value) if error.is_null() => same("result", result, &value),
        Err(_) if !error.is_null() => Ok(()),
        Ok(value) => Err(format!("{value} instead of {error}")),
        Err(actual) => Err(format!("{} instead of {result}", actual.to_string())),
    }
}

fn encode(scenario: &Fields<'_>) -> Result<(), String> {
    let (message, version) = (scenario.text("message")?, scenario.integer("api_version")?);
    let fields = scenario.object("fields")?;
    let voters = fields.find("voters").and_then(Value::as_array).into_iter().flatten();
    let endpoints = voters.filter_map(|voter| voter["endpoints"].as_array()).flatten();
    let mut ports = endpoints.filter_map(|endpoint| endpoint["port"].as_i64());
    if ports.any(|port| u16::try_from(port).is_err()) {
        // A port is one in this crate: there is nothing to be written.
        fields.find("version");
        same("error", &true, &scenario.value("error")?.is_string())?;
        scenario.find("bytes");
        return Ok(());
    }
    same("bytes", &expected_bytes(scenario)?, &value_bytes(message, version, &fields)?)
}

fn decode(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let (message, version): (_, i16) =
        (scenario.text("message")?, scenario.integer("api_version")?);
    let bytes = bytes_of(scenario.text("bytes")?)?;
    let rest = &mut bytes.as_slice();
    let (fields, unread) = (scenario.value("fields")?, scenario.value("unread_bytes")?);
    let (reencoded, error) = (scenario.value("reencoded")?, scenario.value("error")?);
    let decoded = decode_value(message, version, rest);
    if decoded == Err(RecordError::NotUtf8 { field: "host" }) {
        // It may be refused.
        return Ok(Outcome::Deviated);
    }
    let Ok(value) = decoded else {
        same("error", &true, &error.is_string())?;
        return Ok(Outcome::AsKafka);
    };
    same("error", &Value::Null, error)?;
    same("fields", fields, &value)?;
    same("unread bytes", unread, &json!(rest.len()))?;
    let read = bytes.len() - rest.len();
    let again = value_bytes(message, version, &Fields::of(&value)?)?.ok_or("cannot be written")?;
    if let Some(reencoded) = reencoded.as_str() {
        let reencoded = bytes_of(reencoded)?;
        // Tagged fields that are not known are dropped.
        if reencoded.len() == again.len() || again.len() == read {
            same("reencoded", &reencoded, &again)?;
        }
    }
    Ok(Outcome::AsKafka)
}

/// The message's bytes, or nothing if it cannot be written.
fn value_bytes(
    message: &str,
    api_version: i16,
    fields: &Fields<'_>,
) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = Vec::new();
    if message == "VotersRecord" {
        return Ok(record_bytes(fields).ok());
    }
    let version = fields.integer("version")?;
    match message {
        "LeaderChangeMessage" => {
            let keys = |field| {
                let key = |value| {
                    let voter = Fields::of(value)?;
                    let bits = uuid(voter.value("voter_directory_id")?)?;
                    let key = ReplicaKey::from_wire(voter.integer("voter_id")?, bits);
                    voter.all_read()?;
                    Ok::<_, String>(key)
                };
                fields.list(field)?.iter().map(key).collect::<Result<Vec<_>, _>>()
            };
            let (voters, granting_voters) = (keys("voters")?, keys("granting_voters")?);
            let leader_id = fields.integer("leader_id")?;
            let message = LeaderChangeMessage { version, leader_id, voters, granting_voters };
            if message.encode(api_version, &mut bytes).is_err() {
                same("bytes", &0, &bytes.len())?;
                return Ok(None);
            }
        }
        "KRaftVersionRecord" => {
            let kraft_version = fields.integer("kraft_version")?;
            KRaftVersionRecord { version, kraft_version }.encode(&mut bytes);
        }
        "SnapshotHeaderRecord" => {
            let timestamp = fields.integer("last_contained_log_timestamp")?;
            let last_contained_log_timestamp = Timestamp::from_millis(timestamp);
            SnapshotHeaderRecord { version, last_contained_log_timestamp }.encode(&mut bytes);
        }
        "SnapshotFooterRecord" => SnapshotFooterRecord { version }.encode(&mut bytes),
        other => return Err(format!("unknown message {other}")),
    }
    fields.all_read()?;
    Ok(Some(bytes))
}

fn decode_value(message: &str, version: i16, bytes: &mut &[u8]) -> Result<Value, RecordError> {
    Ok(match message {
        "VotersRecord" => record_value(&VotersRecord::decode(bytes)?),
        "LeaderChangeMessage" => leader_change(&LeaderChangeMessage::decode(version, bytes)?),
        "KRaftVersionRecord" => kraft_version(KRaftVersionRecord::decode(bytes)?),
        "SnapshotHeaderRecord" => snapshot_header(SnapshotHeaderRecord::decode(bytes)?),
        _ => json!({"version": SnapshotFooterRecord::decode(bytes)?.version}),
    })
}

fn message_value(message: &ControlMessage<'_>) -> Value {
    let fields = match message {
        ControlMessage::LeaderChange(message) => leader_change(message),
        ControlMessage::SnapshotHeader(record) => snapshot_header(*record),
        ControlMessage::SnapshotFooter(record) => json!({"version": record.version}),
        ControlMessage::KRaftVersion(record) => kraft_version(*record),
        ControlMessage::Voters(record) => record_value(record),
        _ => Value::Null,
    };
    json!({"type": type_name(Some(message.control_type())), "fields": fields})
}

fn leader_change(message: &LeaderChangeMessage) -> Value {
    let keys = |keys: &[ReplicaKey]| {
        let key = |key: &ReplicaKey| json!({"voter_id": key.id, "voter_directory_id": uuid_text(key.directory_bits())});
        keys.iter().map(key).collect::<Value>()
    };
    json!({
        "version": message.version,
        "leader_id": message.leader_id,
        "voters": keys(&message.voters),
        "granting_voters": keys(&message.granting_voters),
    })
}

fn kraft_version(record: KRaftVersionRecord) -> Value {
    json!({"version": record.version, "kraft_version": record.kraft_version})
}

fn snapshot_header(record: SnapshotHeaderRecord) -> Value {
    let timestamp = large(record.last_contained_log_timestamp.as_millis());
    json!({"version": record.version, "last_contained_log_timestamp": timestamp})
}

/// An integer as the vectors write it: as text beyond 2^53.
fn large(number: i64) -> Value {
    if number.unsigned_abs() > 1 << 53 { json!(number.to_string()) } else { json!(number) }
}

fn batches<'a, E: ToString>(
    scenario: &Fields<'_>,
    batches: impl Iterator<Item = Result<Batch<'a>, E>>,
) -> Result<(), String> {
    let (expected, error) = (scenario.list("batches")?, scenario.value("error")?);
    let mut read = Vec::new();
    let mut failed = None;
    for batch in batches {
        match batch {
            Ok(batch) => read.push(batch_value(&batch)),
            Err(error) => failed = Some(error.to_string()),
        }
    }
    same("batches", &expected, &read.as_slice())?;
    same("error", &error.is_string(), &failed.is_some())
        .map_err(|difference| format!("{difference}: {error} {failed:?}"))
}

fn batch_value(batch: &Batch<'_>) -> Value {
    let records = batch.control_records.iter().flatten().map(message_value);
    json!({
        "base_offset": large(batch.base_offset),
        "last_offset": large(batch.last_offset),
        "epoch": batch.epoch,
        "append_timestamp": large(batch.append_timestamp.as_millis()),
        "size_in_bytes": batch.bytes.len(),
        "control_records": records.collect::<Value>(),
    })
}

fn snapshot_encode(scenario: &Fields<'_>) -> Result<(), String> {
    let id = scenario.object("snapshot_id")?;
    id.integer::<i64>("offset")?;
    let epoch = id.integer("epoch")?;
    let now: i64 = scenario.integer("now")?;
    let timestamp = scenario.integer("last_contained_log_timestamp")?;
    let level = KRaftVersion::from_level(scenario.integer("kraft_version")?);
    let voter_set = scenario.value("voters")?.as_array();
    let header = SnapshotHeader {
        last_contained_log_timestamp: Timestamp::from_millis(timestamp),
        kraft_version: level.map_err(|error| error.to_string())?,
        voters: voter_set.map(|list| voters(list)).transpose()?,
    };
    let data = scenario.value("data_batches")?.as_array().into_iter().flatten();
    let texts: Vec<&str> =
        data.filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let expected = expected_bytes(scenario)?;

    let mut bytes = Vec::new();
    let time = Timestamp::from_millis(now);
    let Ok(mut offset) = encode_snapshot_header(&header, epoch, time, &mut bytes) else {
        return same("bytes", &expected, &None);
    };
    if !texts.is_empty() {
        bytes.extend(data_batch(offset, epoch, now, &texts));
        offset += i64::try_from(texts.len()).expect("a small number");
    }
    encode_snapshot_footer(offset, epoch, time, &mut bytes).map_err(|error| error.to_string())?;
    same("bytes", &expected, &Some(bytes))
}

/// What a host writes between header and footer: a batch of records without keys.
fn data_batch(base_offset: i64, epoch: i32, now: i64, texts: &[&str]) -> Vec<u8> {
    let small = |number: usize| u8::try_from(number).expect("a small number");
    let zigzag = |number: usize| small(number * 2);
    let mut checked = vec![0, 0];
    let count = i32::try_from(texts.len()).expect("a small number");
    checked.extend((count - 1).to_be_bytes());
    checked.extend(now.to_be_bytes());
    checked.extend(now.to_be_bytes());
    checked.extend([0xff; 14]);
    checked.extend(count.to_be_bytes());
    for (delta, text) in texts.iter().enumerate() {
        let mut record = vec![0, 0, zigzag(delta), 1, zigzag(text.len())];
        record.extend(text.as_bytes());
        record.push(0);
        checked.push(zigzag(record.len()));
        checked.extend(record);
    }
    let mut bytes = base_offset.to_be_bytes().to_vec();
    bytes.extend(i32::try_from(checked.len() + 9).expect("a small number").to_be_bytes());
    bytes.extend(epoch.to_be_bytes());
    bytes.push(2);
    bytes.extend(crc32c::crc32c(&checked).to_be_bytes());
    bytes.extend(checked);
    bytes
}

fn type_name(control_type: Option<ControlRecordType>) -> &'static str {
    match control_type {
        Some(ControlRecordType::Abort) => "ABORT",
        Some(ControlRecordType::Commit) => "COMMIT",
        Some(ControlRecordType::LeaderChange) => "LEADER_CHANGE",
        Some(ControlRecordType::SnapshotHeader) => "SNAPSHOT_HEADER",
        Some(ControlRecordType::SnapshotFooter) => "SNAPSHOT_FOOTER",
        Some(ControlRecordType::KRaftVersion) => "KRAFT_VERSION",
        Some(ControlRecordType::KRaftVoters) => "KRAFT_VOTERS",
        _ => "UNKNOWN",
    }
}

fn control_type(name: &str) -> Option<ControlRecordType> {
    (0..7).filter_map(ControlRecordType::from_id).find(|&it| type_name(Some(it)) == name)
}

fn message_of(type_name: &str) -> Result<&'static str, String> {
    Ok(match type_name {
        "LEADER_CHANGE" => "LeaderChangeMessage",
        "SNAPSHOT_HEADER" => "SnapshotHeaderRecord",
        "SNAPSHOT_FOOTER" => "SnapshotFooterRecord",
        "KRAFT_VERSION" => "KRaftVersionRecord",
        "KRAFT_VOTERS" => "VotersRecord",
        other => return Err(format!("no message of {other}")),
    })
}
