//! The producer state of a partition log: Kafka's `ProducerStateManager`.

use crate::fields::{Fields, each_answered_step, integer, same};
use crate::producer_batches::{Batches, completed};
use crate::runner::{Outcome, Subject};
use crate::snapshot_file;
use crate::value::error_code;
use kafka_coordination::producer::{
    EpochBump, Guard, Origin, ProducerConfig, ProducerEntry, ProducerStates, ReloadFrom,
    TransactionVersion, Verdict, Verification, VerificationError, Verify, decrement,
    deleted_snapshot_file_name, follows, increment, snapshot_file_name, snapshot_offset,
};
use kafka_coordination::{ErrorCode, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Vectors of producer states and of the arithmetic of sequences.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "producer_state", documentation: &["upstream_quirks.jsonl"], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    match scenario.text("kind")? {
        "scenario" if !cfg!(feature = "std") && has_files(scenario)? => {
            return Ok(Outcome::LeftOut);
        }
        "scenario" => {
            let mut replay = Replay::new(scenario)?;
            each_answered_step(scenario, |op, step, expect| replay.step(op, step, expect))?;
            return Ok(replay.outcome);
        }
        "increment" => {
            let sequence = increment(scenario.integer("sequence")?, scenario.integer("by")?);
            same("result", &scenario.integer("result")?, &sequence)?;
        }
        "decrement" => {
            let sequence = decrement(scenario.integer("sequence")?, scenario.integer("by")?);
            same("result", &scenario.integer("result")?, &sequence)?;
        }
        "follows" => {
            let follows = follows(scenario.integer("last")?, scenario.integer("next")?);
            same("result", &scenario.boolean("result")?, &follows)?;
        }
        kind => return Err(format!("unknown kind {kind}")),
    }
    Ok(Outcome::AsKafka)
}

/// Whether the scenario writes or damages snapshot files.
fn has_files(scenario: &Fields<'_>) -> Result<bool, String> {
    let files = ["take_snapshot", "write_file"];
    let steps = scenario.list("steps")?;
    Ok(steps.iter().filter_map(|step| step["op"].as_str()).any(|op| files.contains(&op)))
}

struct Replay {
    config: ProducerConfig,
    states: ProducerStates,
    /// The directory of the log.
    files: BTreeMap<String, Vec<u8>>,
    /// The guards that the scenario has seen, by its numbers for them.
    guards: BTreeMap<u64, Guard>,
    /// What the state must be, as the vectors write it.
    expected: Value,
    outcome: Outcome,
}

impl Replay {
    fn new(scenario: &Fields<'_>) -> Result<Self, String> {
        let settings = scenario.object("config")?;
        let config = configured(ProducerConfig::default(), &settings)?;
        let timeout = settings.integer("max_transaction_timeout_ms")?;
        let config = config
            .with_transaction_timeout_max_ms(timeout)
            .map_err(|error| error.to_string())?
            .with_hash_seed(7);
        settings.all_read()?;
        Ok(Self {
            states: ProducerStates::new(config.clone()),
            config,
            files: BTreeMap::new(),
            guards: BTreeMap::new(),
            expected: json!({
                "producers": {}, "ongoing_txns": [], "unreplicated_txns": [],
                "first_unstable_offset": null, "first_undecided_offset": null,
                "map_end_offset": 0, "is_empty": true, "verification": {}, "snapshots": [],
                "files": [],
            }),
            outcome: Outcome::AsKafka,
        })
    }

    fn step(&mut self, op: &str, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        match op {
            "append" | "marker" | "replay" => self.append(op, step, expect)?,
            "start_verification" | "maybe_create_verification" => {
                self.start_verification(step, expect)?;
            }
            "clear_verification" => self.states.clear_verification(step.integer("producer_id")?),
            "verification_guard" => {
                let pending = self.states.verification(step.integer("producer_id")?);
                let guard = pending.map(Verification::guard);
                self.same_guard(expect.integer("guard")?, guard)?;
            }
            "verify_guard" => {
                let guard = self.guard(step.integer("guard")?);
                let pending = self.states.verification(step.integer("producer_id")?);
                let accepts = guard.is_some() && pending.map(Verification::guard) == guard;
                same("result", &expect.boolean("result")?, &accepts)?;
            }
            "has_ongoing_transaction" => {
                let producer_id = step.integer("producer_id")?;
                let epoch = step.integer("producer_epoch")?;
                let ongoing = self.states.has_ongoing_transaction(producer_id, epoch);
                same("result", &expect.boolean("result")?, &ongoing)?;
            }
            "high_watermark" => self.states.on_high_watermark(step.integer("offset")?),
            "last_stable_offset" => {
                let high_watermark = step.integer("high_watermark")?;
                let log_start = step.integer("log_start_offset")?;
                let offset = self.states.last_stable_offset(high_watermark, log_start);
                same("offset", &expect.integer("offset")?, &offset)?;
            }
            "expire" => {
                self.states.expire(now(step)?);
            }
            "late_transaction" => {
                let is_late = self.states.has_late_transaction(now(step)?);
                same("result", &expect.boolean("result")?, &is_late)?;
            }
            "set_config" => {
                self.config = configured(self.config.clone(), step)?;
                self.states.reconfigure(self.config.clone());
            }
            _ => self.step_of_log(op, step, expect)?,
        }
        self.compare(step)
    }

    /// What the log does: truncation, snapshots, files.
    fn step_of_log(
        &mut self,
        op: &str,
        step: &Fields<'_>,
        expect: &Fields<'_>,
    ) -> Result<(), String> {
        match op {
            "update_map_end_offset" => self.states.set_map_end_offset(step.integer("offset")?),
            "log_start_offset_incremented" => self.states.on_log_start(step.integer("offset")?),
            "truncate_and_reload" => self.truncate_and_reload(step)?,
            "truncate_fully_and_start_at" => {
                let deleted = self.states.truncate_fully(step.integer("offset")?);
                self.delete(deleted);
            }
            "truncate_fully_and_reload_snapshots" => {
                let deleted = self.states.truncate_fully(0);
                self.delete(deleted);
                self.list();
            }
            "take_snapshot" => self.take_snapshot(expect)?,
            "delete_snapshots_before" => {
                let deleted = self.states.forget_snapshots_before(step.integer("offset")?);
                self.delete(deleted);
            }
            "mark_snapshot_for_deletion" => {
                let offset = step.integer("offset")?;
                let was_known = self.states.forget_snapshot(offset);
                let file = self.files.remove(&snapshot_file_name(offset)).filter(|_| was_known);
                let renamed = file.map(|bytes| {
                    let name = deleted_snapshot_file_name(offset);
                    self.files.insert(name.clone(), bytes);
                    name
                });
                same("file", &optional_text(expect, "file")?, &renamed.as_deref())?;
            }
            "remove_stray_snapshots" => {
                self.list();
                let bases = step.list("segment_base_offsets")?.iter().map(integer);
                let bases: Vec<i64> = bases.collect::<Result<_, _>>()?;
                let deleted = self.states.forget_stray_snapshots(bases);
                self.delete(deleted);
            }
            "fetch_snapshot" => {
                let offset = step.integer("offset")?;
                let is_known = self.states.snapshots().contains(offset);
                let name = is_known.then(|| snapshot_file_name(offset));
                same("file", &optional_text(expect, "file")?, &name.as_deref())?;
            }
            "write_file" => {
                self.files.insert(step.text("name")?.to_owned(), bytes_of(step.text("hex")?)?);
            }
            "delete_file" => {
                self.files.remove(step.text("name")?);
            }
            "restart" => {
                let used = self.guards.len() as u64;
                let first = NonZeroU64::MIN.saturating_add(used);
                let config = self.config.clone().with_first_guard(Guard::new(first));
                self.states = ProducerStates::new(config);
                self.list();
                same("error", &expect.text("error")?, &"NONE")?;
            }
            _ => return Err(format!("unknown operation {op}")),
        }
        Ok(())
    }

    fn append(&mut self, op: &str, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let origin = match step.find("origin").and_then(Value::as_str) {
            Some("CLIENT") => Origin::Client,
            Some("COORDINATOR") => Origin::Coordinator,
            Some("RAFT_LEADER") => Origin::RaftLeader,
            Some("REPLICATION") => Origin::Replication,
            None if op == "replay" => Origin::Replication,
            origin => return Err(format!("unknown origin {origin:?}")),
        };
        let guard = step.find("guard").map_or(Ok(0), integer)?;
        let mut append = self.states.begin(origin).with_guard(self.guard(guard));
        let version = step.find("transaction_version").map_or(Ok(-1), integer::<i16>)?;
        if let Ok(version) = u8::try_from(version) {
            append = append.with_transaction_version(TransactionVersion::new(version));
        }
        let batches = Batches::of(op, step)?;

        let mut verdicts = Vec::new();
        let mut duplicate = None;
        let mut refusal = ErrorCode::None;
        let mut ends = false;
        for batch in &batches.0 {
            if ends {
                verdicts.push("SKIPPED");
                continue;
            }
            match self.states.push(&mut append, batch) {
                Ok(Verdict::New) => verdicts.push("NEW"),
                Ok(Verdict::NoProducer) => verdicts.push("IGNORED"),
                Ok(Verdict::Duplicate(known)) => {
                    verdicts.push("DUPLICATE");
                    duplicate = Some(known);
                    ends = true;
                }
                Err(error) => {
                    verdicts.push(error.code().name());
                    refusal = error.code();
                    ends = true;
                }
            }
        }
        expect.find("reason");
        let error = match expect.text("error")? {
            "ILLEGAL_ARGUMENT" => ErrorCode::UnknownServerError,
            name => error_code(name)?,
        };
        same("error", &error, &refusal)?;
        let known = duplicate.map(|it| {
            json!({
                "first_seq": it.first_sequence(), "last_seq": it.last_sequence,
                "first_offset": it.first_offset(), "last_offset": it.last_offset,
                "timestamp": it.timestamp.as_millis(),
            })
        });
        same("duplicate", &expect.find("duplicate").map(normal), &known)?;
        if let Some(expected) = expect.find("verdicts") {
            same("verdicts", expected, &json!(verdicts))?;
        }
        if !ends {
            self.commit(append, op, step, expect)?;
        }
        Ok(())
    }

    fn commit(
        &mut self,
        append: kafka_coordination::producer::Append,
        op: &str,
        step: &Fields<'_>,
        expect: &Fields<'_>,
    ) -> Result<(), String> {
        let now = Timestamp::from_millis(0);
        self.states.commit(append, now).map_err(|error| error.to_string())?;
        let mut ended = Vec::new();
        while let Some(completed) = self.states.next_completed() {
            ended.push(completed);
            self.states.confirm_completed();
        }
        if completed(expect, &ended, op)? {
            self.outcome = Outcome::Deviated;
        }
        if op == "replay" {
            self.states.set_map_end_offset(step.integer("up_to")?);
        }
        Ok(())
    }

    fn start_verification(&mut self, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        let bump = if step.boolean("supports_epoch_bump")? {
            EpochBump::Supported
        } else {
            EpochBump::Unsupported
        };
        let started = self.states.start_verification(
            step.integer("producer_id")?,
            step.integer("sequence")?,
            step.integer("producer_epoch")?,
            bump,
            now(step)?,
        );
        expect.find("reason");
        let expected =
            expect.find("error").and_then(Value::as_str).map_or(Ok(ErrorCode::None), error_code)?;
        let refusal = started.as_ref().map_or_else(VerificationError::code, |_| ErrorCode::None);
        same("error", &expected, &refusal)?;
        match started {
            Ok(guard) => self.same_guard(expect.integer("guard")?, guard),
            Err(_) => Ok(()),
        }
    }

    /// The guard of that number; a number that no guard had is that of a foreign one.
    fn guard(&self, number: u64) -> Option<Guard> {
        let number = NonZeroU64::new(number)?;
        let known = self.guards.get(&number.get()).copied();
        known.or_else(|| Some(Guard::new(number.saturating_add(1 << 40))))
    }

    /// Fails if `guard` is not that of the number; learns of new ones.
    fn same_guard(&mut self, number: u64, guard: Option<Guard>) -> Result<(), String> {
        let Some(guard) = guard else {
            return same("guard", &number, &0);
        };
        let known = self.guards.iter().find(|(_, it)| **it == guard).map(|(number, _)| *number);
        let actual = known.unwrap_or_else(|| {
            let next = self.guards.len() as u64 + 1;
            self.guards.insert(next, guard);
            next
        });
        same("guard", &number, &actual)
    }

    fn truncate_and_reload(&mut self, step: &Fields<'_>) -> Result<(), String> {
        let log_start = step.integer("log_start_offset")?;
        let truncation = self.states.truncate(log_start, step.integer("log_end_offset")?);
        let now = now(step)?;
        self.delete(truncation.deleted);
        if !truncation.must_load {
            return Ok(());
        }
        while let Some(offset) = self.states.snapshot_to_load(ReloadFrom::Newest) {
            let name = snapshot_file_name(offset);
            let bytes = self.files.get(&name).ok_or_else(|| format!("no file {name}"))?;
            if snapshot_file::load(&mut self.states, offset, bytes, now) {
                break;
            }
            self.states.forget_snapshot(offset);
            self.files.remove(&name);
        }
        Ok(())
    }

    fn take_snapshot(&mut self, expect: &Fields<'_>) -> Result<(), String> {
        let due = self.states.snapshot_due();
        let expected = expect.find("offset").map(integer).transpose()?;
        same("offset", &expected, &due)?;
        let Some(offset) = due else {
            return Ok(());
        };
        let bytes = snapshot_file::write(&self.states);
        let name = snapshot_file_name(offset);
        same("file", &expect.text("file")?, &name.as_str())?;
        same("hex", &bytes_of(expect.text("hex")?)?, &bytes)?;
        self.files.insert(name, bytes);
        self.states.snapshot_written(offset);
        Ok(())
    }

    fn delete(&mut self, snapshots: Vec<i64>) {
        for offset in snapshots {
            self.files.remove(&snapshot_file_name(offset));
        }
    }

    fn list(&mut self) {
        let offsets = self.files.keys().filter_map(|name| snapshot_offset(name));
        self.states.list_snapshots(offsets);
    }

    /// Patches what is expected, and compares it with what is.
    fn compare(&mut self, step: &Fields<'_>) -> Result<(), String> {
        if let Some(patch) = step.find("state") {
            apply(&mut self.expected, patch)?;
        }
        let verifications: Vec<_> =
            { self.states.verifications() }.map(|(id, it)| (id, *it)).collect();
        let mut pending = Map::new();
        for (producer_id, verification) in verifications {
            let guard = verification.guard();
            let number = self.guards.iter().find(|(_, it)| **it == guard).map(|(it, _)| *it);
            pending.insert(
                producer_id.to_string(),
                json!({
                    "guard": number,
                    "lowest_sequence": verification.lowest_sequence(),
                    "epoch": verification.epoch(),
                    "supports_epoch_bump": verification.supports_epoch_bump(),
                    "timestamp": verification.created().as_millis(),
                }),
            );
        }
        let mut actual = written(&self.states);
        actual["verification"] = Value::Object(pending);
        actual["files"] = json!(self.files.keys().collect::<Vec<_>>());
        for (member, expected) in self.expected.as_object().into_iter().flatten() {
            same(member, expected, &actual[member])?;
        }
        let exported = self.states.export();
        let entered = ProducerStates::import(self.config.clone(), &exported)
            .map_err(|error| format!("cannot enter the exported state: {error}"))?;
        same("state that left and entered", &exported, &entered.export())
    }
}

/// A state as the vectors write it, without what only the scenario knows.
fn written(states: &ProducerStates) -> Value {
    let producers = states.producers().map(|(id, entry)| (id.to_string(), producer(entry)));
    let ongoing = states.ongoing_transactions().map(|it| {
        let (segment, byte) = it.position.map_or((-1, -1), |at| (at.segment_base_offset, at.byte));
        json!([it.first_offset, it.producer_id, segment, byte])
    });
    let unreplicated = { states.unreplicated_transactions() }
        .map(|it| json!([it.first_offset, it.producer_id, it.last_offset]));
    json!({
        "producers": producers.collect::<Map<_, _>>(),
        "ongoing_txns": ongoing.collect::<Vec<_>>(),
        "unreplicated_txns": unreplicated.collect::<Vec<_>>(),
        "first_unstable_offset": states.first_unstable_offset().map(|it| it.offset),
        "first_undecided_offset": states.first_undecided_offset(),
        "map_end_offset": states.map_end_offset(),
        "is_empty": states.is_empty(),
        "snapshots": states.snapshots().iter().collect::<Vec<_>>(),
    })
}

/// A producer as the vectors write it.
pub(crate) fn producer(entry: &ProducerEntry) -> Value {
    let batches = entry.window().iter().map(|it| {
        json!([
            it.first_sequence(),
            it.last_sequence,
            it.first_offset(),
            it.last_offset,
            it.timestamp.as_millis(),
        ])
    });
    json!({
        "epoch": entry.epoch(),
        "coordinator_epoch": entry.coordinator_epoch(),
        "last_timestamp": entry.last_timestamp().as_millis(),
        "current_txn_first_offset": entry.current_transaction(),
        "batches": batches.collect::<Vec<_>>(),
    })
}

/// Puts a patch into the expected state: of producers and verifications entry by entry, of the rest
/// member by member.
fn apply(expected: &mut Value, patch: &Value) -> Result<(), String> {
    let patch = patch.as_object().ok_or("state is no object")?;
    for (member, value) in patch {
        let place = expected.get_mut(member).ok_or_else(|| format!("unknown member {member}"))?;
        if member != "producers" && member != "verification" {
            *place = normal(value);
            continue;
        }
        let entries = place.as_object_mut().ok_or("not an object")?;
        for (id, entry) in value.as_object().into_iter().flatten() {
            if entry.is_null() {
                entries.remove(id);
            } else {
                entries.insert(id.clone(), normal(entry));
            }
        }
    }
    Ok(())
}

/// With large integers, which are text in the vectors, as numbers.
pub(crate) fn normal(value: &Value) -> Value {
    match value {
        Value::String(text) => text.parse::<i64>().map_or_else(|_| value.clone(), Value::from),
        Value::Array(list) => list.iter().map(normal).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), normal(value))).collect(),
        _ => value.clone(),
    }
}

fn configured(mut config: ProducerConfig, settings: &Fields<'_>) -> Result<ProducerConfig, String> {
    if let Some(expiration) = settings.find("producer_id_expiration_ms") {
        let expiration = integer(expiration)?;
        config = config.with_expiration_ms(expiration).map_err(|error| error.to_string())?;
    }
    match settings.find("transaction_verification_enabled").map(Value::as_bool) {
        None => {}
        Some(Some(true)) => config = config.with_verification(Verify::On),
        Some(Some(false)) => config = config.with_verification(Verify::Off),
        Some(None) => return Err(String::from("transaction_verification_enabled is no Boolean")),
    }
    Ok(config)
}

fn now(step: &Fields<'_>) -> Result<Timestamp, String> {
    step.integer("now").map(Timestamp::from_millis)
}

fn optional_text<'a>(fields: &Fields<'a>, key: &str) -> Result<Option<&'a str>, String> {
    fields.find(key).map_or(Ok(None), crate::value::optional_text)
}

/// Bytes from their hexadecimal digits.
pub(crate) fn bytes_of(hex: &str) -> Result<Vec<u8>, String> {
    let pair = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("?"), 16);
    let bytes = (0..hex.len()).step_by(2).map(pair);
    bytes.collect::<Result<_, _>>().map_err(|error| format!("not hexadecimal: {error}"))
}
