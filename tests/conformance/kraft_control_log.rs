//! `kraft_control_log`: what is read of a log and its snapshots, as they change.

use crate::fields::{Fields, same};
use crate::quorum::voters;
use crate::runner::{Outcome, Subject};
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    ControlLog, ControlRecord, KRaftVersion, LeaderChange, NextRead, OffsetAndEpoch, VoterSet,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const SUBJECT: Subject =
    Subject { folder: "kraft_control_log", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let list = |value: &Value| voters(value.as_array().ok_or("not a list")?);
    let sets = scenario.list("voter_sets")?.iter().map(list);
    let sets: Vec<VoterSet> = sets.collect::<Result<_, _>>()?;
    let static_voters = sets[scenario.integer::<usize>("static_voter_set")?].clone();
    let rewound_differs = scenario.boolean("rewound_differs")?;
    let gauges = Gauges { ignores_static_voters: false, voters: static_voters.len() };
    let machine = ControlLog::new(static_voters);
    let mut replay = Replay { sets, log: Log::default(), machine, gauges };
    same("initial state", scenario.value("initial_state")?, &replay.state()?)?;
    for (number, step) in scenario.list("ops")?.iter().enumerate() {
        let mut run = || {
            let step = Fields::of(step)?;
            step.find("deviation");
            let goes_on = replay.step(&step)?;
            step.all_read()?;
            Ok::<_, String>(goes_on)
        };
        let goes_on =
            run().map_err(|error| format!("step {} ({}): {error}", number + 1, step["op"]))?;
        if !goes_on {
            break;
        }
    }
    Ok(if rewound_differs { Outcome::Deviated } else { Outcome::AsKafka })
}

struct Replay {
    sets: Vec<VoterSet>,
    log: Log,
    machine: ControlLog,
    gauges: Gauges,
}

/// Kafka's metrics, which the loading of a snapshot without voters does not touch.
struct Gauges {
    ignores_static_voters: bool,
    voters: usize,
}

impl Gauges {
    fn on_records(&mut self, records: &[ControlRecord], has_static_voters: bool) {
        for record in records {
            if let ControlRecord::Voters(voters) = record {
                self.voters = voters.len();
                self.ignores_static_voters |= has_static_voters;
            }
        }
    }

    fn on_truncation(&mut self, machine: &ControlLog) {
        self.voters = machine.voters().len();
        self.ignores_static_voters &= machine.voters_offset().is_some();
    }
}

/// A batch: control records, or so many of data.
#[derive(Clone)]
enum Content {
    Data(i64),
    Control(Vec<Record>),
}

/// A record that the machine can be told of, or one that the reader refuses.
#[derive(Clone)]
enum Record {
    Known(ControlRecord),
    Refused,
}

#[derive(Clone)]
struct Stored {
    base_offset: i64,
    content: Content,
}

impl Stored {
    fn last_offset(&self) -> i64 {
        let count = match &self.content {
            Content::Data(count) => *count,
            Content::Control(records) => i64::try_from(records.len()).expect("a small number"),
        };
        self.base_offset + count - 1
    }
}

/// The batches and snapshots of a log; where it starts and ends the vectors say themselves.
#[derive(Default)]
struct Log {
    batches: Vec<Stored>,
    snapshots: BTreeMap<OffsetAndEpoch, Vec<Content>>,
    start_offset: i64,
    end_offset: i64,
    latest: Option<OffsetAndEpoch>,
}

impl Log {
    fn moved(&mut self, log: &Value) -> Result<(), String> {
        let log = Fields::of(log)?;
        self.start_offset = log.integer("start_offset")?;
        self.end_offset = log.integer("end_offset")?;
        log.value("last_fetched_epoch")?;
        self.latest = match log.value("latest_snapshot_id")? {
            Value::Null => None,
            id => Some(id_of(&Fields::of(id)?)?),
        };
        log.all_read()
    }
}

impl Replay {
    fn index(&self, voters: &VoterSet) -> Option<usize> {
        self.sets.iter().position(|set| set == voters)
    }

    fn state(&self) -> Result<Value, String> {
        let machine = &self.machine;
        let ignores = self.gauges.ignores_static_voters && machine.voters_offset().is_some();
        same("ignores static voters", &ignores, &machine.ignores_static_voters())?;
        Ok(json!({
            "next_offset": machine.next_offset(),
            "last_voter_set": self.index(machine.voters()),
            "last_voter_set_offset": machine.voters_offset(),
            "last_kraft_version": machine.kraft_version().level(),
            "ignored_static_voters": self.gauges.ignores_static_voters,
            "number_of_voters": self.gauges.voters,
        }))
    }

    /// Carries a step out; says whether the scenario goes on.
    fn step(&mut self, step: &Fields<'_>) -> Result<bool, String> {
        let op = step.text("op")?;
        // The two values of Kafka when it does not rewind.
        let (kafka_result, kafka_error) = (step.value("result")?, step.value("error")?);
        let rewound = step.find("rewound").map(Fields::of).transpose()?;
        let (result, error) = match &rewound {
            Some(rewound) => (rewound.value("result")?, rewound.value("error")?),
            None => (kafka_result, kafka_error),
        };
        let kafka_state = step.find("state");
        let state = step.find("state_rewound").or(kafka_state);
        let after_error = step.find("state_after_error");
        step.find("state_rewound_after_error").or(after_error);
        if let Some(log) = step.find("log") {
            self.change_log(op, step, result)?;
            self.log.moved(log)?;
            return Ok(true);
        }
        let answer = self.ask(op, step)?;
        let expected = error.as_str().map_or_else(|| result.to_string(), str::to_owned);
        let actual = match &answer {
            Ok(value) => value.to_string(),
            // Which error it is, is for each reader to say.
            Err(_) if op == "update_state" && error.is_string() => expected.clone(),
            Err(name) => name.clone(),
        };
        same("answer", &expected, &actual)?;
        if op == "update_state" && answer.is_err() {
            return Ok(false);
        }
        if let Some(state) = state {
            same("state", state, &self.state()?)?;
        }
        Ok(true)
    }

    fn change_log(&mut self, op: &str, step: &Fields<'_>, result: &Value) -> Result<(), String> {
        match op {
            "append" => {
                let mut base_offset = self.log.end_offset;
                step.integer::<i32>("epoch")?;
                for content in self.contents(step.list("batches")?)? {
                    let stored = Stored { base_offset, content };
                    base_offset = stored.last_offset() + 1;
                    self.log.batches.push(stored);
                }
            }
            "create_snapshot" => {
                let contents = self.contents(step.list("batches")?)?;
                self.log.snapshots.insert(id(step)?, contents);
            }
            "update_high_watermark" => {
                step.integer::<i64>("offset")?;
            }
            "log_truncate_to" => {
                let offset: i64 = step.integer("offset")?;
                self.log.batches.retain(|batch| batch.last_offset() < offset);
            }
            "log_truncate_to_latest_snapshot" => {
                if *result == json!(true) {
                    self.log.batches.clear();
                }
            }
            "log_delete_before_snapshot" => {
                let id = id(step)?;
                self.log.batches.retain(|batch| batch.last_offset() >= id.offset);
            }
            _ => return Err(String::from("unknown operation")),
        }
        Ok(())
    }

    fn ask(&mut self, op: &str, step: &Fields<'_>) -> Result<Result<Value, String>, String> {
        let refused = |_| String::from("ILLEGAL_ARGUMENT");
        Ok(match op {
            "update_state" => self.update_state().map(|()| Value::Null),
            "truncate_new_entries" => {
                self.machine.truncate_to(step.integer("end_offset")?);
                self.gauges.on_truncation(&self.machine);
                Ok(Value::Null)
            }
            "truncate_old_entries" => {
                let start_offset: i64 = step.integer("start_offset")?;
                self.machine.on_snapshot(start_offset.saturating_add(1));
                Ok(Value::Null)
            }
            "voter_set_at_offset" => {
                let voters = self.machine.voters_at(step.integer("offset")?);
                voters
                    .map(|voters| json!(voters.and_then(|voters| self.index(voters))))
                    .map_err(refused)
            }
            "kraft_version_at_offset" => {
                let version = self.machine.kraft_version_at(step.integer("offset")?);
                version.map(|version| json!(version.level())).map_err(refused)
            }
            _ => return Err(String::from("unknown operation")),
        })
    }

    /// Reads what the machine asks for, as a host does.
    fn update_state(&mut self) -> Result<(), String> {
        loop {
            let (start, end) = (self.log.start_offset, self.log.end_offset);
            match self.machine.next_read(self.log.latest, start, end) {
                NextRead::Nothing => return Ok(()),
                NextRead::Snapshot(id) => {
                    let contents = &self.log.snapshots[&id];
                    let first = contents.first();
                    let header = ControlRecord::SnapshotHeader {
                        last_contained_log_timestamp: Timestamp::from_millis(0),
                    };
                    if !matches!(first, Some(Content::Control(records)) if matches!(records.first(),
                        Some(Record::Known(record)) if *record == header))
                    {
                        return Err(String::from("no header"));
                    }
                    let mut records = Vec::new();
                    for content in contents {
                        if let Content::Control(of_batch) = content {
                            records.extend(known(of_batch)?);
                        }
                    }
                    self.gauges.on_records(&records, !self.machine.static_voters().is_empty());
                    let loaded = self.machine.load_snapshot(id.offset, records);
                    loaded.map_err(|error| error.to_string())?;
                }
                NextRead::Log { from } => {
                    let batch = self.log.batches.iter().find(|batch| batch.last_offset() >= from);
                    let batch = batch.ok_or_else(|| format!("no batch at {from}"))?;
                    let read = match &batch.content {
                        Content::Data(_) => {
                            self.machine.on_data(batch.base_offset, batch.last_offset())
                        }
                        Content::Control(records) => {
                            let records = known(records)?;
                            self.gauges
                                .on_records(&records, !self.machine.static_voters().is_empty());
                            self.machine.on_control_batch(batch.base_offset, &records)
                        }
                    };
                    read.map_err(|error| error.to_string())?;
                }
            }
        }
    }

    fn contents(&self, batches: &[Value]) -> Result<Vec<Content>, String> {
        let content = |value| {
            let batch = Fields::of(value)?;
            let content = if batch.boolean("control")? {
                let records = batch.list("records")?.iter().map(|record| self.record(record));
                Content::Control(records.collect::<Result<_, _>>()?)
            } else {
                Content::Data(batch.integer("count")?)
            };
            batch.all_read()?;
            Ok(content)
        };
        batches.iter().map(content).collect()
    }

    fn record(&self, value: &Value) -> Result<Record, String> {
        let record = Fields::of(value)?;
        let known = match record.text("type")? {
            "LEADER_CHANGE" => Some(ControlRecord::LeaderChange(LeaderChange {
                leader_id: record.integer("leader_id")?,
                ..LeaderChange::default()
            })),
            "KRAFT_VERSION" => {
                let version = KRaftVersion::from_level(record.integer("kraft_version")?);
                version.ok().map(ControlRecord::KRaftVersion)
            }
            "KRAFT_VOTERS" => {
                let voters = self.sets[record.integer::<usize>("voters")?].clone();
                Some(ControlRecord::Voters(voters))
            }
            "SNAPSHOT_HEADER" => Some(ControlRecord::SnapshotHeader {
                last_contained_log_timestamp: Timestamp::from_millis(0),
            }),
            "SNAPSHOT_FOOTER" => Some(ControlRecord::SnapshotFooter),
            "COMMIT" => None,
            other => return Err(format!("unknown type {other}")),
        };
        record.all_read()?;
        Ok(known.map_or(Record::Refused, Record::Known))
    }
}

fn known(records: &[Record]) -> Result<Vec<ControlRecord>, String> {
    let record = |record: &Record| match record {
        Record::Known(record) => Ok(record.clone()),
        Record::Refused => Err(String::from("not a record of the quorum")),
    };
    records.iter().map(record).collect()
}

fn id(step: &Fields<'_>) -> Result<OffsetAndEpoch, String> {
    id_of(&step.object("id")?)
}

fn id_of(id: &Fields<'_>) -> Result<OffsetAndEpoch, String> {
    let id_of = OffsetAndEpoch::new(id.integer("offset")?, id.integer("epoch")?);
    id.all_read()?;
    Ok(id_of)
}
