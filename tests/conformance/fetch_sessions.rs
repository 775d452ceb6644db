//! The broker's side of a session: Kafka's `FetchManager`, its cache and contexts.

use crate::fields::{Fields, each_step, integer, same};
use crate::runner::{Outcome, Subject};
use crate::value::{TopicIds, columns, optional_text, params};
use kafka_coordination::fetch::{
    CacheConfig, CacheState, ChangeTracking, ContextKind, FetchCache, FetchContext, FetchMetadata,
    FetchParams, FetchRequest, FetcherKind, ForgottenTopic, PartitionRead, PartitionRequest,
    Profile, RequestTopic, SessionState,
};
use kafka_coordination::{ErrorCode, Monotonic, TopicId, TopicName};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::collections::BTreeMap;

/// Vectors of the broker's side.
pub(crate) const SUBJECT: Subject =
    Subject { folder: "fetch_sessions", documentation: &[], replay };

/// How many seeds are tried until session ids come in the order that a scenario wants.
const SEEDS: u64 = 10_000;

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let order = scenario.value("id_order")?.as_array();
    let order: Vec<&str> = order.into_iter().flatten().filter_map(Value::as_str).collect();
    for seed in 0..SEEDS {
        for tracking in [ChangeTracking::Off, ChangeTracking::On] {
            let mut replay = Replay::new(scenario, seed, tracking)?;
            let result = each_step(scenario, |op, step, expect| replay.step(op, step, expect));
            let ids: Vec<i32> = order.iter().filter_map(|it| replay.id_of(it)).collect();
            if !ids.is_sorted() {
                break;
            }
            result.map_err(|error| format!("{error}\n  with changes tracked: {tracking:?}"))?;
            if tracking == ChangeTracking::On {
                return Ok(replay.outcome);
            }
        }
    }
    Err(format!("no seed below {SEEDS} gives ids in the order {order:?}"))
}

/// A partition with its topic's id and name.
type Identity = (TopicId, Option<String>, i32);

/// What a session must be like: epoch, last use, partitions with what was reported of each.
#[derive(Clone, Debug, PartialEq)]
struct Details {
    epoch: i32,
    last_used_ms: i64,
    partitions: Vec<(Identity, i64, i64)>,
}

struct Replay<'a> {
    cache: FetchCache,
    random: Pcg64Mcg,
    topic_ids: TopicIds<'a>,
    session_id_range: i32,
    /// Label and id of each session so far.
    labels: BTreeMap<String, i32>,
    contexts: BTreeMap<String, FetchContext>,
    /// What the cache must be like: sessions, partitions and evictions, and the live sessions.
    totals: (u64, u64, u64),
    live: BTreeMap<String, Details>,
    outcome: Outcome,
}

impl<'a> Replay<'a> {
    fn new(scenario: &Fields<'a>, seed: u64, tracking: ChangeTracking) -> Result<Self, String> {
        let config = scenario.object("config")?;
        let shards: u32 = config.integer("shards")?;
        let slots = config.integer::<u32>("max_entries")? * shards;
        let session_id_range = config.integer("session_id_range")?;
        let cache = CacheConfig::default()
            .with_shards(shards)
            .and_then(|it| it.with_slots(slots))
            .and_then(|it| it.with_eviction_ms(config.integer("eviction_ms").unwrap_or(-1)))
            .map_err(|error| error.to_string())?
            .with_first_shard(config.integer("next_shard")?)
            .with_hash_seed(seed)
            .with_change_tracking(tracking);
        config.integer::<i64>("eviction_ms")?;
        config.all_read()?;
        Ok(Self {
            cache: FetchCache::new(cache),
            random: Pcg64Mcg::new(u128::from(seed) << 64 | 0xda3e_39cb_94b9_5bdb),
            topic_ids: TopicIds::of(scenario)?,
            session_id_range,
            labels: BTreeMap::new(),
            contexts: BTreeMap::new(),
            totals: (0, 0, 0),
            live: BTreeMap::new(),
            outcome: Outcome::AsKafka,
        })
    }

    fn id_of(&self, label: &str) -> Option<i32> {
        self.labels.get(label).copied()
    }

    fn step(&mut self, op: &str, step: &Fields<'_>, expect: &Fields<'_>) -> Result<(), String> {
        if let Some(deviation) = step.find("deviation") {
            same("deviation", &"SESSION_ID_OUT_OF_RANGE", &deviation.as_str().unwrap_or(""))?;
            self.outcome = Outcome::Deviated;
        }
        let now = || step.integer("now").map(Monotonic::from_millis);
        match op {
            "fetch" => {
                let now = now()?;
                let context = self.begin(step, expect, now)?;
                self.finish(context, step, expect, now)?;
            }
            "begin" => {
                let context = self.begin(step, expect, now()?)?;
                self.contexts.insert(step.text("context")?.to_owned(), context);
            }
            "finish" => {
                let context = self.take_context(step)?;
                self.finish(context, step, expect, now()?)?;
            }
            "abandon" => drop(self.take_context(step)?),
            "set_epoch" => {
                let id = self.session(step)?;
                let epoch = step.integer("session_epoch")?;
                self.cache.set_session_epoch(id, epoch);
            }
            _ => return Err(String::from("unknown op")),
        }
        self.compare_state(expect.value("state")?)
    }

    fn take_context(&mut self, step: &Fields<'_>) -> Result<FetchContext, String> {
        let label = step.text("context")?;
        self.contexts.remove(label).ok_or_else(|| format!("no context {label}"))
    }

    fn session(&self, step: &Fields<'_>) -> Result<i32, String> {
        match step.value("session")? {
            Value::String(label) => self.id_of(label).ok_or_else(|| format!("no session {label}")),
            number => integer(number),
        }
    }

    fn begin(
        &mut self,
        step: &Fields<'_>,
        expect: &Fields<'_>,
        now: Monotonic,
    ) -> Result<FetchContext, String> {
        let version = step.integer("version")?;
        let wanted = step.list("partitions")?.iter().map(|tuple| {
            let tuple = columns::<8>(tuple)?;
            let (id, name, partition) = self.identity(&tuple[..3])?;
            Ok((id, name, PartitionRequest { partition, params: params(tuple)? }))
        });
        let wanted = wanted.collect::<Result<Vec<_>, String>>()?;
        let forgotten =
            step.list("forgotten")?.iter().map(|tuple| self.identity(columns::<3>(tuple)?));
        let forgotten = forgotten.collect::<Result<Vec<_>, String>>()?;
        let names = step.object("topic_names")?;
        let names = names.entries().map(|(alias, name)| {
            let name = name.as_str().ok_or("a name that is not text")?;
            Ok((self.topic_ids.by_alias(alias)?, TopicName::from(name)))
        });
        let names = names.collect::<Result<BTreeMap<_, _>, String>>()?;
        // One topic element a partition: how a request groups them is not of the vectors.
        let topics: Vec<_> = wanted
            .iter()
            .map(|(id, name, partition)| RequestTopic {
                id: *id,
                name: name.as_deref().unwrap_or_default(),
                partitions: core::slice::from_ref(partition),
            })
            .collect();
        let forgotten: Vec<_> = forgotten
            .iter()
            .map(|(id, name, partition)| ForgottenTopic {
                id: *id,
                name: name.as_deref().unwrap_or_default(),
                partitions: core::slice::from_ref(partition),
            })
            .collect();
        let request = FetchRequest {
            version,
            metadata: FetchMetadata {
                session_id: self.session(step)?,
                epoch: step.integer("session_epoch")?,
            },
            fetcher: if step.boolean("is_follower")? {
                FetcherKind::Follower
            } else {
                FetcherKind::Consumer
            },
            profile: Profile::default(),
            principal: 0,
            topics: &topics,
            forgotten: &forgotten,
        };
        let context = self.cache.begin(&request, &|id| names.get(&id).cloned(), now);
        let kind = match context.kind() {
            ContextKind::Full => "full",
            ContextKind::Sessionless => "sessionless",
            ContextKind::Incremental => "incremental",
            ContextKind::Error => "error",
            _ => "?",
        };
        same("context", &expect.text("context")?, &kind)?;
        same("error", &expect.text("error")?, &context.error().name())?;
        let expected = expect.list("enumerated")?.iter().map(|tuple| {
            let tuple = columns::<8>(tuple)?;
            Ok((self.identity(&tuple[..3])?, params(tuple)?))
        });
        let expected: Vec<(Identity, FetchParams)> = expected.collect::<Result<_, String>>()?;
        // No change is marked, so that every partition has to be visited each time.
        self.cache.mark_all();
        let visited = self.cache.visit(&context).map(|it| {
            let topic = it.topic.map(|name| name.as_str().to_owned());
            ((it.topic_id, topic, it.partition), it.params)
        });
        same("enumerated", &expected, &visited.collect())?;
        same("partition count", &expected.len(), &context.partition_count())?;
        Ok(context)
    }

    fn identity(&self, tuple: &[Value]) -> Result<Identity, String> {
        let [id, name, partition] = tuple else { return Err(String::from("not an identity")) };
        Ok((self.topic_ids.id(id)?, optional_text(name)?.map(str::to_owned), integer(partition)?))
    }

    fn finish(
        &mut self,
        context: FetchContext,
        step: &Fields<'_>,
        expect: &Fields<'_>,
        now: Monotonic,
    ) -> Result<(), String> {
        let mut identities = Vec::new();
        let mut reads = Vec::new();
        for tuple in step.list("reads")? {
            let tuple = columns::<9>(tuple)?;
            let (id, name, partition) = self.identity(&tuple[..3])?;
            let name_or_none = name.as_deref().unwrap_or_default();
            let slot = self.cache.slots(&context).find(id, name_or_none, partition);
            // A partition that was not enumerated has no slot: it cannot even be handed in.
            let Some(slot) = slot else { continue };
            identities.push((id, name, partition));
            let (high_watermark, log_start) = (integer(&tuple[4])?, integer(&tuple[6])?);
            let error = tuple[3].as_str().and_then(|name| name.parse::<ErrorCode>().ok());
            let read = PartitionRead::new(slot, high_watermark, log_start)
                .with_error(error.ok_or("unknown error")?)
                .with_records(integer(&tuple[7])?);
            reads.push(with_extra(read, &tuple[8])?);
        }
        let size = self.cache.response_size(&context, &reads);
        same("response size", &expect.integer::<i64>("response_size")?.cast_unsigned(), &size)?;
        let answer = match step.integer("throttle_time_ms")? {
            0 => self.cache.finish(context, &mut reads, &mut self.random, now),
            throttle => self.cache.throttle(context, throttle),
        };
        let response = expect.object("response")?;
        same("response error", &response.text("error")?, &answer.error.name())?;
        let throttle: i32 = response.integer("throttle_time_ms")?;
        same("throttle time", &throttle, &answer.throttle_time_ms)?;
        let session = match response.value("session")? {
            Value::String(label) => *self.labels.entry(label.clone()).or_insert(answer.session_id),
            number => integer(number)?,
        };
        same("response session", &session, &answer.session_id)?;
        let expected = response.list("partitions")?.iter();
        let expected = expected.map(|tuple| self.identity(columns::<3>(tuple)?));
        let expected: Vec<Identity> = expected.collect::<Result<_, String>>()?;
        let included = reads.iter().zip(identities).filter(|(read, _)| read.is_included());
        same("response partitions", &expected, &included.map(|(_, identity)| identity).collect())?;
        response.all_read()
    }

    fn compare_state(&mut self, state: &Value) -> Result<(), String> {
        let actual = self.cache.export();
        let rebuilt = self.rebuilt(&actual)?;
        same("state after leaving and entering", &actual, &rebuilt)?;
        if !state.is_null() {
            let state = Fields::of(state)?;
            self.follow_state(&state, &actual)?;
            state.all_read()?;
        }
        let counted = self.cache.stats();
        let counted = (counted.sessions, counted.partitions, counted.evictions());
        same("totals", &self.totals, &counted)?;
        let label_of = |id| self.labels.iter().find(|&(_, it)| *it == id).map(|(label, _)| label);
        let details: BTreeMap<String, Details> = actual
            .sessions
            .iter()
            .map(|session| {
                let label = label_of(session.id).cloned().unwrap_or_default();
                (label, details(session))
            })
            .collect();
        same("sessions", &self.live, &details)
    }

    /// What another cache has that enters the state of this one.
    fn rebuilt(&self, state: &CacheState) -> Result<CacheState, String> {
        let config = CacheConfig::default()
            .with_shards((i32::MAX / self.session_id_range).cast_unsigned())
            .and_then(|it| it.with_slots(1 << 20))
            .map_err(|error| error.to_string())?
            .with_change_tracking(ChangeTracking::On);
        let cache = FetchCache::import(config, state).map_err(|error| error.to_string())?;
        Ok(cache.export())
    }

    fn follow_state(&mut self, state: &Fields<'_>, actual: &CacheState) -> Result<(), String> {
        self.totals =
            (state.integer("sessions")?, state.integer("partitions")?, state.integer("evictions")?);
        let live: Vec<&str> = state.list("live")?.iter().filter_map(Value::as_str).collect();
        self.live.retain(|label, _| live.contains(&label.as_str()));
        for tuple in state.list("created")? {
            let [label, shard, is_privileged, uses_topic_ids] = columns::<4>(tuple)?;
            let id = label.as_str().and_then(|label| self.id_of(label));
            let session = actual.sessions.iter().find(|session| Some(session.id) == id);
            let session = session.ok_or_else(|| format!("{label} was not created"))?;
            let shard: i32 = integer(shard)?;
            same("shard", &shard, &(session.id / self.session_id_range))?;
            let is_follower = session.fetcher == FetcherKind::Follower;
            same("privileged", &is_privileged.as_bool(), &Some(is_follower))?;
            same("uses topic ids", &uses_topic_ids.as_bool(), &Some(session.uses_topic_ids))?;
        }
        for tuple in state.list("changed")? {
            let [label, epoch, size, last_used_ms, partitions] = columns::<5>(tuple)?;
            let label = label.as_str().ok_or("a label that is not text")?;
            let partitions = match partitions {
                Value::Array(list) => {
                    let list = list.iter().map(|tuple| {
                        let tuple = columns::<5>(tuple)?;
                        let identity = self.identity(&tuple[..3])?;
                        Ok((identity, integer(&tuple[3])?, integer(&tuple[4])?))
                    });
                    list.collect::<Result<Vec<_>, String>>()?
                }
                _ => self.live.get(label).map(|it| it.partitions.clone()).unwrap_or_default(),
            };
            same("size", &integer::<i64>(size)?, &i64::try_from(partitions.len()).unwrap_or(-1))?;
            let (epoch, last_used_ms) = (integer(epoch)?, integer(last_used_ms)?);
            self.live.insert(label.to_owned(), Details { epoch, last_used_ms, partitions });
        }
        Ok(())
    }
}

fn details(session: &SessionState) -> Details {
    let partitions = session.partitions.iter().map(|it| {
        let topic = it.topic.as_ref().map(|name| name.as_str().to_owned());
        let identity = (it.topic_id, topic, it.partition);
        (identity, it.reported.high_watermark, it.reported.log_start_offset)
    });
    Details {
        epoch: session.epoch,
        last_used_ms: session.last_used.as_millis(),
        partitions: partitions.collect(),
    }
}

fn with_extra(mut read: PartitionRead, extra: &Value) -> Result<PartitionRead, String> {
    if extra.is_null() {
        return Ok(read);
    }
    let extra = Fields::of(extra)?;
    if extra.find("preferred_read_replica").is_some_and(|replica| *replica != -1) {
        read = read.with_preferred_replica();
    }
    if extra.find("diverging_epoch").is_some_and(|it| it["epoch"].as_i64() >= Some(0)) {
        read = read.with_diverging_epoch();
    }
    if extra.find("current_leader").is_some() {
        read = read.with_current_leader();
    }
    if let Some(count) = extra.find("aborted_transactions") {
        read = read.with_aborted_transactions(integer(count)?);
    }
    extra.all_read()?;
    Ok(read)
}
