//! The epoch states of one replica, their transitions and what is persisted: Kafka's `QuorumState`.

use crate::fields::{Fields, integer, same};
use crate::kraft_quorum_state::{election_state, file_as_json};
use crate::quorum::{
    endpoints, endpoints_value, key, key_value, keys, optional_directory, supported_versions,
    voters,
};
use crate::runner::{Outcome, Subject};
use crate::value::optional_integer;
use kafka_coordination::kraft::{
    DirectoryId, ElectionState, EpochState, EpochStateKind, KRaftVersion, LogVoters, Persist,
    QuorumConfig, QuorumState, StartError, Transition, TransitionError, Verdict, VoteTally,
    VoterSet,
};
use kafka_coordination::{Monotonic, Random};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// Vectors of the epoch states.
pub(crate) const SUBJECT: Subject = Subject { folder: "kraft_quorum", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let mut replica = Replica::of(scenario)?;
    let last = scenario.find("deviation_from_step").map(integer::<usize>).transpose()?;
    let mut deviated = last.is_some();
    for (number, step) in scenario.list("ops")?.iter().enumerate() {
        if last.is_some_and(|last| number >= last) {
            break;
        }
        let mut run = || {
            let step = Fields::of(step)?;
            deviated |= step.find("deviation").is_some();
            replica.step(&step)?;
            step.all_read()
        };
        run().map_err(|error| format!("step {number} ({}): {error}", step["op"]))?;
    }
    Ok(if deviated { Outcome::Deviated } else { Outcome::AsKafka })
}

/// The draws of a step, in order.
#[derive(Default)]
struct Script(VecDeque<u32>);

impl Random for Script {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let draw = self.0.pop_front().expect("a draw that Kafka does not make");
        assert!(draw < bound.get(), "{draw} is not below {bound}");
        draw
    }
}

/// A replica with the file and the log that its host keeps for it.
struct Replica {
    config: QuorumConfig,
    voters: VoterSet,
    voters_offset: Option<i64>,
    version: KRaftVersion,
    file: Option<String>,
    fails_next_write: bool,
    writes: u64,
    now: Monotonic,
    quorum: Option<QuorumState>,
}

impl Replica {
    fn of(scenario: &Fields<'_>) -> Result<Self, String> {
        let config = scenario.object("config")?;
        let directory = optional_directory(config.value("local_directory_id")?)?;
        let mut replica = Self {
            config: QuorumConfig {
                supported_versions: supported_versions(&config)?,
                local_id: optional_integer(config.value("local_id")?)?,
                local_directory_id: directory.ok_or("no directory id")?,
                local_endpoints: endpoints(config.list("local_listeners")?)?,
                election_timeout_ms: config.integer("election_timeout_ms")?,
                fetch_timeout_ms: config.integer("fetch_timeout_ms")?,
            },
            voters: voters(scenario.list("static_voters")?)?,
            voters_offset: None,
            version: KRaftVersion::V0,
            file: None,
            fails_next_write: false,
            writes: 0,
            now: Monotonic::from_millis(scenario.integer("now")?),
            quorum: None,
        };
        config.all_read()?;
        for entry in scenario.list("log_entries")? {
            replica.log(&Fields::of(entry)?)?;
        }
        let stored = scenario.value("stored")?;
        if !stored.is_null() {
            let stored = Fields::of(stored)?;
            let version = KRaftVersion::from_level(stored.integer("data_version")?);
            let state = election_state(stored.value("election_state")?)?;
            replica.file = Some(state.to_file(version.map_err(|error| error.to_string())?));
        }
        let expected = scenario.value("stored_file")?.as_str().map(file_as_json).transpose()?;
        let actual = replica.file.as_deref().map(file_as_json).transpose()?;
        same("stored_file", &expected, &actual)?;
        Ok(replica)
    }

    /// A control batch in the log.
    fn log(&mut self, entry: &Fields<'_>) -> Result<(), String> {
        if let Some(level) = optional_integer(entry.value("kraft_version")?)? {
            self.version = KRaftVersion::from_level(level).map_err(|error| error.to_string())?;
        }
        if let Some(set) = entry.value("voters")?.as_array() {
            self.voters = voters(set)?;
            self.voters_offset = Some(self.voters_offset.map_or(0, |offset| offset + 1));
        }
        Ok(())
    }

    fn step(&mut self, step: &Fields<'_>) -> Result<(), String> {
        let deviates = step.find("deviation").is_some();
        let fixed = step.find("expect_fixed").map(Fields::of).transpose()?;
        let expected = |member: &str| {
            let recorded = step.find(member);
            fixed.as_ref().and_then(|fixed| fixed.find(member)).or(recorded)
        };
        let draws = expected("random").and_then(Value::as_array).into_iter().flatten();
        let mut random = Script(draws.map(integer).collect::<Result<_, _>>()?);
        let before = self.file.clone();
        self.writes = 0;

        let outcome = self.run(step, &mut random)?;
        let [result, error, writes, state] = ["result", "error", "writes", "state"].map(expected);
        let file = expected("file").filter(|file| !file.is_null());
        if let Some(fixed) = &fixed {
            fixed.all_read()?;
        } else if deviates {
            return Ok(());
        }

        let (actual_result, actual_error) = match outcome {
            Ok(result) => (result, Value::Null),
            Err(error) => (Value::Null, json!(error)),
        };
        same("error", &error, &Some(&actual_error))?;
        same("result", &result, &Some(&actual_result))?;
        same("draws left", &0, &random.0.len())?;
        same("writes", &integer(writes.ok_or("no writes")?)?, &self.writes)?;
        let changed = self.file.as_ref().filter(|file| before.as_ref() != Some(*file));
        same("file", &file.cloned(), &changed.map(|file| file_members(file)).transpose()?)?;
        let state = state.map(normalised).filter(|state| !state.is_null());
        same(
            "state",
            &state,
            &self.quorum.as_ref().map(|quorum| state_value(quorum, self.latest(), self.now)),
        )
    }

    fn run(
        &mut self,
        step: &Fields<'_>,
        random: &mut Script,
    ) -> Result<Result<Value, &'static str>, String> {
        let op = step.text("op")?;
        match op {
            "initialize" | "restart" => {
                if let Some(directory) = step.find("local_directory_id") {
                    let directory = optional_directory(directory)?;
                    self.config.local_directory_id =
                        directory.unwrap_or(self.config.local_directory_id);
                }
                let log_end = step.object("log_end")?;
                log_end.integer::<i64>("offset")?;
                return self.start(log_end.integer("epoch")?, random);
            }
            "advance_time" => {
                self.now = self.now.saturating_add(step.integer("ms")?);
                return Ok(Ok(Value::Null));
            }
            "log_entry" => {
                self.log(step)?;
                return Ok(Ok(Value::Null));
            }
            "fail_next_write" => {
                self.fails_next_write = true;
                return Ok(Ok(Value::Null));
            }
            _ => {}
        }
        let Some(mut quorum) = self.quorum.take() else { return Ok(Err("ILLEGAL_STATE")) };
        let outcome = match self.transition(&quorum, op, step, random)? {
            Some(Ok(transition)) => self.make(&mut quorum, transition),
            Some(Err(error)) => Err(error_name(op, error)),
            None => self.tell(&mut quorum, op, step)?,
        };
        self.quorum = Some(quorum);
        Ok(outcome)
    }

    fn latest(&self) -> LogVoters<'_> {
        LogVoters { voters: &self.voters, offset: self.voters_offset, kraft_version: self.version }
    }

    fn start(
        &mut self,
        epoch: i32,
        random: &mut Script,
    ) -> Result<Result<Value, &'static str>, String> {
        self.quorum = None;
        let stored = self.file.as_ref().map(|file| ElectionState::from_file(file.as_bytes()));
        let stored = stored.transpose().map_err(|error| error.to_string())?;
        let config = self.config.clone();
        let started = QuorumState::start(config, stored, epoch, self.latest(), random, self.now);
        Ok(match started {
            Ok(started) => self.write(&started.persist).map(|()| {
                self.quorum = Some(started.quorum);
                Value::Null
            }),
            Err(StartError::VoteWithoutId { .. }) => Err("ILLEGAL_STATE"),
            Err(error) => return Err(error.to_string()),
        })
    }

    fn write(&mut self, persist: &Persist) -> Result<(), &'static str> {
        if std::mem::take(&mut self.fails_next_write) {
            return Err("IO");
        }
        self.writes += 1;
        self.file = Some(persist.election.to_file(persist.version));
        Ok(())
    }

    fn make(
        &mut self,
        quorum: &mut QuorumState,
        transition: Transition,
    ) -> Result<Value, &'static str> {
        if let Some(persist) = transition.persist() {
            self.write(persist)?;
        }
        quorum.commit(transition).expect("decided in this state");
        Ok(Value::Null)
    }

    /// The transition that the step asks for, if it asks for one.
    fn transition(
        &self,
        quorum: &QuorumState,
        op: &str,
        step: &Fields<'_>,
        random: &mut Script,
    ) -> Result<Option<Result<Transition, TransitionError>>, String> {
        let (latest, now) = (self.latest(), self.now);
        let kind = quorum.state().kind();
        Ok(Some(match op {
            "transition_to_unattached" => {
                let leader_id = optional_integer(step.value("leader_id")?)?;
                quorum.to_unattached(step.integer("epoch")?, leader_id, latest, random, now)
            }
            "unattached_add_voted_state" | "prospective_add_voted_state" => {
                let (epoch, key) = (step.integer("epoch")?, key(step.value("key")?)?);
                let (wanted, _) = op.split_at(op.find('_').expect("an operation of a state"));
                if wanted == "unattached" && kind != EpochStateKind::Unattached
                    || wanted == "prospective" && kind != EpochStateKind::Prospective
                {
                    return Ok(Some(Err(TransitionError::State(kind))));
                }
                quorum.add_vote(epoch, key, latest, random, now)
            }
            "transition_to_prospective" => quorum.to_prospective(latest, random, now),
            "transition_to_candidate" => quorum.to_candidate(latest, random, now),
            "transition_to_follower" => {
                let (epoch, leader_id) = (step.integer("epoch")?, step.integer("leader_id")?);
                let endpoints = endpoints(step.list("endpoints")?)?;
                quorum.to_follower(epoch, leader_id, endpoints, latest, now)
            }
            "transition_to_leader" => {
                let epoch_start_offset = step.integer("epoch_start_offset")?;
                quorum.to_leader(epoch_start_offset, latest, now)
            }
            "transition_to_resigned" => {
                let successors = keys(step.list("preferred_successors")?)?;
                quorum.to_resigned(successors, latest, random, now)
            }
            _ => return Ok(None),
        }))
    }

    /// What a state is told or asked without a transition.
    fn tell(
        &self,
        quorum: &mut QuorumState,
        op: &str,
        step: &Fields<'_>,
    ) -> Result<Result<Value, &'static str>, String> {
        let now = self.now;
        if op == "can_grant_vote" {
            let key = key(step.value("key")?)?;
            let up_to_date = step.boolean("is_log_up_to_date")?;
            let granted = quorum.can_grant_vote(key, up_to_date, step.boolean("is_pre_vote")?);
            return Ok(Ok(json!(granted)));
        }
        Ok(match (op, quorum.state_mut()) {
            ("record_granted_vote" | "record_rejected_vote", state) => {
                let nominee =
                    matches!(state, EpochState::Prospective(_) | EpochState::Candidate(_));
                let recorded = state.record_vote(step.integer("id")?, op == "record_granted_vote");
                let error = if nominee { "ILLEGAL_ARGUMENT" } else { "ILLEGAL_STATE" };
                recorded.map(Value::from).map_err(|_| error)
            }
            ("follower_reset_fetch_timeout", EpochState::Follower(follower)) => {
                follower.fetch_succeeded(now);
                Ok(Value::Null)
            }
            ("follower_override_fetch_timeout", state) => {
                match (u32::try_from(step.integer::<i64>("timeout_ms")?), state) {
                    (Ok(timeout_ms), EpochState::Follower(follower)) => {
                        follower.override_fetch_timeout(timeout_ms, now);
                        Ok(Value::Null)
                    }
                    (Err(_), EpochState::Follower(_)) => Err("ILLEGAL_ARGUMENT"),
                    _ => Err("ILLEGAL_STATE"),
                }
            }
            ("follower_update_high_watermark", state) => {
                let new = optional_integer(step.value("high_watermark")?)?;
                let EpochState::Follower(follower) = state else { return Ok(Err("ILLEGAL_STATE")) };
                let updated = follower.update_high_watermark(new);
                updated.map(Value::from).map_err(|_| "ILLEGAL_ARGUMENT")
            }
            ("follower_set_has_updated_leader", EpochState::Follower(follower)) => {
                follower.set_updated_leader();
                Ok(Value::Null)
            }
            ("follower_reset_update_voter_set_period", EpochState::Follower(follower)) => {
                follower.restart_update_voter(now);
                Ok(Value::Null)
            }
            ("leader_update_local_state", state) => {
                let end_offset = step.integer("end_offset")?;
                let EpochState::Leader(leader) = state else { return Ok(Err("ILLEGAL_STATE")) };
                let moved = leader.appended(end_offset, &self.voters).and_then(|appended| {
                    Ok(appended.is_some() | leader.flushed(end_offset)?.is_some())
                });
                moved.map(Value::from).map_err(|_| "ILLEGAL_ARGUMENT")
            }
            ("leader_update_replica_state", state) => {
                let (key, offset) = (key(step.value("key")?)?, step.integer("fetch_offset")?);
                let EpochState::Leader(leader) = state else { return Ok(Err("ILLEGAL_STATE")) };
                let moved = leader.fetched(key, offset, now);
                moved.map(|moved| moved.is_some().into()).map_err(|_| "ILLEGAL_STATE")
            }
            ("resigned_acknowledge", state) => {
                let id = step.integer("id")?;
                let EpochState::Resigned(resigned) = state else { return Ok(Err("ILLEGAL_STATE")) };
                resigned.acknowledge(id);
                Ok(Value::Null)
            }
            _ => Err("ILLEGAL_STATE"),
        })
    }
}

fn error_name(op: &str, error: TransitionError) -> &'static str {
    match (op, error) {
        (_, TransitionError::NoEndpoints { .. })
        | ("prospective_add_voted_state", TransitionError::NotVoter) => "ILLEGAL_ARGUMENT",
        _ => "ILLEGAL_STATE",
    }
}

fn tally_json(tally: &VoteTally) -> Value {
    let ids = |verdict| tally.voters(verdict).map(|key| key.id).collect::<Vec<_>>();
    let unrecorded: Vec<_> = tally.voters(Verdict::Unrecorded).map(|key| key_value(&key)).collect();
    json!({
        "granting_voters": ids(Verdict::Granted),
        "rejecting_voters": ids(Verdict::Rejected),
        "unrecorded_voters": unrecorded,
        "is_vote_granted": tally.is_granted(),
        "is_vote_rejected": tally.is_rejected(),
    })
}

/// A state as the vectors write it.
pub(crate) fn state_value(quorum: &QuorumState, latest: LogVoters<'_>, now: Monotonic) -> Value {
    let state = quorum.state();
    let mut value = json!({
        "name": format!("{:?}", state.kind()),
        "epoch": quorum.epoch(),
        "leader_id": state.leader_id(),
        "leader_endpoints": state.leader_endpoints().map_or_else(|| json!([]), endpoints_value),
        "voted_key": state.voted_key().map(|key| key_value(&key)),
        "high_watermark": state.high_watermark(),
        "is_observer": quorum.is_observer(latest),
        "is_only_voter": quorum.is_only_voter(latest),
        "has_remote_leader": quorum.has_remote_leader(),
    });
    let fields = value.as_object_mut().expect("an object");
    let mut election = |remaining: i64| {
        fields.insert("remaining_election_time_ms".into(), json!(remaining));
        fields.insert("has_election_timeout_expired".into(), json!(remaining == 0));
    };
    match state {
        EpochState::Unattached(state) => {
            election(state.remaining_election_ms(now));
            fields.insert("election_timeout_ms".into(), json!(state.election_timeout_ms()));
        }
        EpochState::Prospective(state) => {
            election(state.remaining_election_ms(now));
            fields.insert("election".into(), tally_json(state.tally()));
        }
        EpochState::Candidate(state) => {
            election(state.remaining_election_ms(now));
            fields.insert("election".into(), tally_json(state.tally()));
        }
        EpochState::Follower(state) => {
            let remaining = state.remaining_fetch_ms(now);
            let due = state.update_voter_due(now);
            fields.insert("remaining_fetch_time_ms".into(), json!(remaining));
            fields.insert("has_fetch_timeout_expired".into(), json!(remaining == 0));
            fields.insert("has_update_voter_set_period_expired".into(), json!(due));
            fields.insert("has_updated_leader".into(), json!(state.has_updated_leader()));
        }
        EpochState::Leader(state) => {
            let voter_ids: Vec<_> = state.voters().ids().collect();
            fields.insert("epoch_start_offset".into(), json!(state.epoch_start_offset()));
            fields.insert("granting_voters".into(), json!(state.granting_voters()));
            fields.insert("voter_ids".into(), json!(voter_ids));
        }
        EpochState::Resigned(state) => {
            election(state.remaining_election_ms(now));
            fields.insert("unacked_voters".into(), json!(state.unacknowledged()));
            let successors =
                state.preferred_successors().iter().copied().map(|key| key_value(&key));
            fields.insert("preferred_successors".into(), successors.collect());
        }
        _ => panic!("an unknown state"),
    }
    normalised(&value)
}

/// The same with large integers as numbers and sets in order.
pub(crate) fn normalised(value: &Value) -> Value {
    const SETS: [&str; 6] = [
        "leader_endpoints",
        "granting_voters",
        "rejecting_voters",
        "unrecorded_voters",
        "unacked_voters",
        "voter_ids",
    ];
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| {
                let mut member = normalised(member);
                if let (true, Value::Array(set)) = (SETS.contains(&name.as_str()), &mut member) {
                    set.sort_by_key(Value::to_string);
                }
                let is_number = name.ends_with("_ms") || name == "high_watermark";
                if let (true, Ok(number)) = (is_number, integer::<i64>(&member)) {
                    member = json!(number);
                }
                (name.clone(), member)
            })
            .collect(),
        Value::Array(members) => members.iter().map(normalised).collect(),
        value => value.clone(),
    }
}

/// The file's members under the names of the vectors.
fn file_members(text: &str) -> Result<Value, String> {
    let file = file_as_json(text)?;
    let mut members = json!({
        "data_version": file["data_version"],
        "leader_id": file["leaderId"],
        "leader_epoch": file["leaderEpoch"],
        "voted_id": file["votedId"],
    });
    if file["data_version"] == 0 {
        let voters = file["currentVoters"].as_array().ok_or("no voters")?;
        members["current_voters"] = voters.iter().map(|voter| voter["voterId"].clone()).collect();
    } else {
        let directory = file["votedDirectoryId"].as_str().ok_or("no directory")?;
        let bits = directory.parse().map_or(0, DirectoryId::as_u128);
        members["voted_directory_id"] = json!(format!("{bits:032x}"));
    }
    Ok(members)
}
