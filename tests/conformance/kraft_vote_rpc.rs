//! A whole replica fed with requests, responses and time: Kafka's `KafkaRaftClient`.

mod host;
mod messages;

use crate::fields::{Fields, integer, same};
use crate::kraft_quorum::{normalised, state_value};
use crate::kraft_quorum_state::election_state;
use crate::quorum::{endpoints, key_value, optional_directory, voters};
use crate::runner::{Outcome, Subject};
use crate::value::optional_integer;
use host::Host;
use kafka_coordination::kraft::{
    ControlLog, ControlRecord, KRaftVersion, ListenerName, LogIndex, Node, OffsetAndEpoch,
    QuorumConfig, ReplicaConfig, Storage, SupportedVersions, VoterSet,
};
use kafka_coordination::{Monotonic, Random};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// Vectors of the replica.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "kraft_vote_rpc", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let initial = scenario.object("initial")?;
    let mut random = script(&initial, None)?;
    let mut host = start(scenario, &mut random)?;
    let end = scenario.find("deviation_from_step").map(integer::<usize>).transpose()?;
    let mut deviated = end.is_some();
    let mut last = Last::default();
    host.carry_out(&mut random);
    last.compare(&initial, None, &mut host, &random)
        .map_err(|error| format!("initial: {error}"))?;
    initial.all_read()?;
    let steps = scenario.list("ops")?;
    for (number, step) in steps.iter().enumerate().take(end.unwrap_or(steps.len())) {
        let mut run = || {
            let step = Fields::of(step)?;
            deviated |= run_step(&step, &mut host, &mut last)?;
            step.all_read()
        };
        run().map_err(|error| format!("step {number} ({}): {error}", step["op"]))?;
    }
    Ok(if deviated { Outcome::Deviated } else { Outcome::AsKafka })
}

fn start(scenario: &Fields<'_>, random: &mut Script) -> Result<Host, String> {
    let config = scenario.object("config")?;
    let name = |field| -> Result<&str, String> { config.text(field) };
    name("topic_name")?;
    name("topic_id")?;
    let directory = optional_directory(config.value("local_directory_id")?)?;
    let quorum = QuorumConfig {
        local_id: optional_integer(config.value("local_id")?)?,
        local_directory_id: directory.ok_or("no directory id")?,
        local_endpoints: endpoints(config.list("local_listeners")?)?,
        supported_versions: SupportedVersions::ALL,
        election_timeout_ms: config.integer("election_timeout_ms")?,
        fetch_timeout_ms: config.integer("fetch_timeout_ms")?,
    };
    let listener = ListenerName::new(name("default_listener")?);
    let mut replica = ReplicaConfig::new(quorum, name("cluster_id")?, listener);
    replica.request_timeout_ms = config.integer("request_timeout_ms")?;
    replica.retry_backoff_ms = config.integer("retry_backoff_ms")?;
    replica.election_backoff_max_ms = config.integer("election_backoff_max_ms")?;
    replica.append_linger_ms = config.integer("append_linger_ms")?;
    replica.fetch_max_wait_ms = config.integer("fetch_max_wait_ms")?;
    replica.can_become_voter = config.boolean("can_become_voter")?;
    replica.auto_join = config.boolean("auto_join")?;
    for (place, server) in config.list("bootstrap_servers")?.iter().enumerate() {
        let server = Fields::of(server)?;
        let id = -2 - i32::try_from(place).map_err(|error| error.to_string())?;
        let (host, port) = (server.text("host")?, server.integer("port")?);
        replica.bootstrap.push(Node { id, host: host.into(), port });
    }
    config.all_read()?;

    let mut log = LogIndex::new();
    let mut control = ControlLog::new(voters(scenario.list("static_voters")?)?);
    if let Some(set) = scenario.value("bootstrap_voters")?.as_array() {
        let set: VoterSet = voters(set)?;
        let records =
            [ControlRecord::KRaftVersion(KRaftVersion::LATEST), ControlRecord::Voters(set)];
        control.load_snapshot(0, records).map_err(|error| error.to_string())?;
        log.add_snapshot(OffsetAndEpoch::BOOTSTRAP);
    }
    control.next_read(log.latest_snapshot(), 0, 0);
    let mut batches = Vec::new();
    for batch in scenario.list("log")? {
        let batch = Fields::of(batch)?;
        let (epoch, count): (i32, i64) = (batch.integer("epoch")?, batch.integer("count")?);
        let base_offset = log.end_offset();
        let last_offset = base_offset + count - 1;
        control.on_data(base_offset, last_offset).map_err(|error| error.to_string())?;
        log.append(last_offset, epoch);
        batches.push(host::Batch { base_offset, last_offset, epoch, control: false });
    }
    let stored = scenario.value("stored")?;
    let election = if stored.is_null() { None } else { Some(election_state(stored)?) };
    let now = Monotonic::from_millis(scenario.integer("now")?);
    Host::start(replica, Storage { election, log, control }, batches, random, now)
}

/// The draws of a step, in order.
pub(crate) struct Script(VecDeque<(u32, u32)>);

impl Random for Script {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let (expected, draw) = self.0.pop_front().expect("a draw that Kafka does not make");
        assert_eq!(bound.get(), expected, "the bound of a draw");
        draw
    }
}

fn script<'a>(step: &Fields<'a>, fixed: Option<&Fields<'a>>) -> Result<Script, String> {
    let draws = expected("random", step, fixed).and_then(Value::as_array).into_iter().flatten();
    let draws = draws.map(|draw| Ok((integer(&draw["bound"])?, integer(&draw["value"])?)));
    Ok(Script(draws.collect::<Result<_, String>>()?))
}

/// A member of what is expected.
fn expected<'a>(member: &str, step: &Fields<'a>, fixed: Option<&Fields<'a>>) -> Option<&'a Value> {
    let recorded = step.find(member);
    fixed.and_then(|fixed| fixed.find(member)).or(recorded).filter(|value| !value.is_null())
}

/// Runs a step. Says whether it deviates.
fn run_step(step: &Fields<'_>, host: &mut Host, last: &mut Last) -> Result<bool, String> {
    let deviates = step.find("deviation").is_some();
    let fixed = step.find("expect_fixed").map(Fields::of).transpose()?;
    let fixed = fixed.as_ref();
    let mut random = script(step, fixed)?;

    if step.text("op")? == "advance_time" {
        host.advance(step.integer("ms")?);
        return Ok(false);
    }
    let appended = match step.text("op")? {
        "append" => Some(host.append(step.integer("count")?)),
        _ => None,
    };
    let deadline = host.poll(&mut random);
    match step.text("op")? {
        "poll" | "append" => {}
        "request" => messages::request(step, host, &mut random)?,
        "response" => messages::response(step, host, &mut random)?,
        op => return Err(format!("unknown op {op}")),
    }
    host.carry_out(&mut random);

    if deviates && fixed.is_none() {
        for member in ["sent", "responses", "leader_changes", "writes", "persisted", "state"] {
            step.find(member);
        }
        for member in ["log", "fatal", "poll_timeout_ms", "latest_wake_ms", "result", "error"] {
            step.find(member);
        }
        last.forget();
        host.forget();
        return Ok(true);
    }
    if let Some(appended) = appended {
        let result = optional_integer(step.value("result")?)?;
        same("result", &result, &appended.ok())?;
        same("is an error", &appended.is_err(), &!step.value("error")?.is_null())?;
    }
    check_deadline(step, fixed, deadline)?;
    last.compare(step, fixed, host, &random)?;
    if let Some(fixed) = fixed {
        fixed.all_read()?;
    }
    Ok(deviates)
}

/// The milliseconds after which the replica wants to be woken, after the first part of a step.
fn check_deadline<'a>(
    step: &Fields<'a>,
    fixed: Option<&Fields<'a>>,
    deadline: Option<i64>,
) -> Result<(), String> {
    let latest = step.find("latest_wake_ms");
    let poll = expected("poll_timeout_ms", step, fixed);
    let latest = match latest {
        Some(Value::Null) => i64::MAX,
        Some(latest) => integer(latest)?,
        None => integer(poll.ok_or("no poll_timeout_ms")?)?,
    };
    let actual = deadline.unwrap_or(i64::MAX);
    let is_right = if latest == 0 { actual == 0 } else { 0 < actual && actual <= latest };
    if is_right { Ok(()) } else { Err(format!("woken in {actual} ms, at the latest {latest}")) }
}

/// What holds until it changes.
#[derive(Default)]
struct Last {
    state: Option<Value>,
    log: Option<Value>,
}

impl Last {
    fn forget(&mut self) {
        *self = Self::default();
    }

    fn compare<'a>(
        &mut self,
        step: &Fields<'a>,
        fixed: Option<&Fields<'a>>,
        host: &mut Host,
        random: &Script,
    ) -> Result<(), String> {
        let of = |member: &str| expected(member, step, fixed);
        of("fatal").map_or(Ok(()), |fatal| Err(format!("Kafka stops here: {fatal}")))?;
        if let Some(fatal) = host.replica.fatal() {
            return Err(format!("the replica has stopped: {fatal}"));
        }
        let list = |member: &str| of(member).and_then(Value::as_array).cloned().unwrap_or_default();
        let seen = host.take_seen();
        let sent: Vec<_> = list("sent").iter().map(messages::plain).collect();
        same("sent", &sent, &seen.sent)?;
        let mut responses: Vec<_> = list("responses").iter().map(messages::plain).collect();
        responses.sort_by_key(|response| response["to_request"].as_i64());
        same("responses", &responses, &seen.responses)?;
        same("leader_changes", &list("leader_changes"), &seen.leader_changes)?;
        same("draws left", &0, &random.0.len())?;
        let writes = of("writes").map_or(Ok(0), integer::<usize>)?;
        same("writes", &writes, &seen.persisted.len())?;
        let persisted = seen.persisted.last().map(|persist| {
            let election = &persist.election;
            json!({
                "epoch": election.epoch(),
                "leader_id": election.leader_id(),
                "voted_key": election.voted_key().as_ref().map(key_value),
                "data_version": persist.version.quorum_state_version(),
            })
        });
        same("persisted", &of("persisted"), &persisted.as_ref())?;
        if let Some(state) = of("state") {
            self.state = Some(normalised(state));
        }
        let replica = &host.replica;
        let actual = state_value(replica.quorum(), replica.latest_voters(), host.now());
        same("state", self.state.get_or_insert_with(|| actual.clone()), &actual)?;
        if let Some(log) = of("log") {
            self.log = Some(log.clone());
        }
        let actual = json!({
            "end_offset": replica.log().end_offset(),
            "last_fetched_epoch": replica.log().last_fetched_epoch(),
            "high_watermark": replica.log().high_watermark(),
        });
        same("log", self.log.get_or_insert_with(|| actual.clone()), &actual)?;
        same("end of the host's log", &replica.log().end_offset(), &host.end_offset())
    }
}
