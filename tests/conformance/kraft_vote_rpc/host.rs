//! A host that keeps the log in memory and carries out every effect at once.

use super::{Script, messages};
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    AppendError, BatchContent, Correlation, Effect, LogBatch, Persist, Replica, ReplicaConfig,
    Storage,
};
use serde_json::{Value, json};

/// A batch of the log.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    pub(super) base_offset: i64,
    pub(super) last_offset: i64,
    pub(super) epoch: i32,
    pub(super) control: bool,
}

/// What was seen of the replica in a step.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) sent: Vec<Value>,
    pub(super) responses: Vec<Value>,
    pub(super) leader_changes: Vec<Value>,
    pub(super) persisted: Vec<Persist>,
}

pub(super) struct Host {
    pub(super) replica: Replica,
    log: Vec<Batch>,
    now: Monotonic,
    seen: Seen,
    sending: Vec<(i32, Correlation, Value)>,
    /// The requests that were sent, in order.
    sent: Vec<Correlation>,
    /// The requests that came, in order: API and version.
    pub(super) received: Vec<(String, i16)>,
}

impl Host {
    pub(super) fn start(
        config: ReplicaConfig,
        storage: Storage,
        log: Vec<Batch>,
        random: &mut Script,
        now: Monotonic,
    ) -> Result<Self, String> {
        let replica = Replica::start(config, storage, random, now);
        Ok(Self {
            replica: replica.map_err(|error| error.to_string())?,
            log,
            now,
            seen: Seen::default(),
            sending: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
        })
    }

    pub(super) fn now(&self) -> Monotonic {
        self.now
    }

    pub(super) fn advance(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
    }

    pub(super) fn end_offset(&self) -> i64 {
        self.log.last().map_or(0, |batch| batch.last_offset + 1)
    }

    /// Appends records in the replica's epoch.
    pub(super) fn append(&mut self, count: usize) -> Result<i64, AppendError> {
        let epoch = self.replica.quorum().epoch();
        let records = vec![bytes::Bytes::from_static(b"value"); count];
        let last_offset = self.replica.prepare_append(epoch, records, self.now)?;
        self.replica.schedule_append(self.now)?;
        Ok(last_offset)
    }

    /// The first part of a step. Gives the milliseconds after which the replica wants to be woken.
    pub(super) fn poll(&mut self, random: &mut Script) -> Option<i64> {
        self.replica.handle_timeout(random, self.now);
        self.carry_out(random);
        self.replica.next_deadline().map(|deadline| deadline.millis_since(self.now))
    }

    /// The batch that holds an offset.
    pub(super) fn batch_base(&self, offset: i64) -> i64 {
        let batch = self.log.iter().find(|batch| batch.last_offset >= offset);
        batch.map_or(offset, |batch| batch.base_offset.min(offset))
    }

    /// The batches from the one on that holds an offset.
    pub(super) fn read(&self, from: i64) -> Value {
        let batches = self.log.iter().filter(|batch| batch.last_offset >= from).map(|batch| {
            json!({
                "base_offset": batch.base_offset,
                "last_offset": batch.last_offset,
                "epoch": batch.epoch,
                "control": batch.control,
            })
        });
        batches.collect()
    }

    pub(super) fn correlation(&self, number: usize) -> Result<Correlation, String> {
        self.sent.get(number).copied().ok_or_else(|| format!("request {number} was not sent"))
    }

    pub(super) fn carry_out(&mut self, random: &mut Script) {
        while let Some(effect) = self.replica.poll_effect() {
            match effect {
                Effect::Persist(persist) => self.seen.persisted.push(persist),
                Effect::Send { correlation, to, request } => {
                    let (api, data) = messages::sent(&request);
                    let address = json!({"id": to.id, "host": to.host.as_str(), "port": to.port});
                    let value = json!({"to": address, "api": api, "data": data});
                    self.sending.push((to.id, correlation, value));
                }
                Effect::Reply { request, reply } => {
                    let data = messages::reply(self, request, &reply);
                    self.seen.responses.push(json!({"to_request": request.0, "data": data}));
                }
                Effect::Append(LogBatch { base_offset, last_offset, epoch, content }) => {
                    assert_eq!(base_offset, self.end_offset(), "appends continue the log");
                    let control = matches!(
                        content,
                        BatchContent::Control(_) | BatchContent::Encoded { control: Some(_), .. }
                    );
                    self.log.push(Batch { base_offset, last_offset, epoch, control });
                }
                Effect::Flush { end_offset } => self.replica.flushed(end_offset, random, self.now),
                Effect::Truncate { end_offset } => {
                    self.log.retain(|batch| batch.last_offset < end_offset);
                    self.replica.truncated(self.end_offset(), random, self.now);
                }
                Effect::Deliver { to, .. } => self.replica.applied(to, random, self.now),
                Effect::LoadSnapshot(id) => self.replica.applied(id.offset, random, self.now),
                Effect::LeaderChanged { leader_id, epoch } => {
                    let change = json!({"leader_id": leader_id, "epoch": epoch});
                    self.seen.leader_changes.push(change);
                }
                Effect::StartEpoch { .. } | Effect::HighWatermark(_) => {}
                effect => panic!("{effect:?} is not part of these vectors"),
            }
        }
    }

    /// What was seen since the last time, in the order of the vectors.
    pub(super) fn take_seen(&mut self) -> Seen {
        let mut seen = std::mem::take(&mut self.seen);
        self.sending.sort_by_key(|(to, correlation, _)| (*to, *correlation));
        for (_, correlation, mut value) in self.sending.drain(..) {
            value["n"] = json!(self.sent.len());
            self.sent.push(correlation);
            seen.sent.push(messages::plain(&value));
        }
        seen.responses.sort_by_key(|response| response["to_request"].as_i64());
        seen.responses = seen.responses.iter().map(messages::plain).collect();
        seen
    }

    /// What was seen is not compared.
    pub(super) fn forget(&mut self) {
        self.take_seen();
    }
}
