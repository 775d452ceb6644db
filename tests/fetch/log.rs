//! Logs in memory, in as many lines as the scenarios need that read one.

use crate::support::{Broker, Request, Response, Row, at, failed};
use kafka_coordination::ErrorCode;
use kafka_coordination::fetch::{FetchContext, FetchPartition, PartitionRead};
use std::collections::BTreeMap;

/// A batch of one record.
#[derive(Clone, Copy, Debug)]
struct Batch {
    epoch: i32,
    bytes: u32,
}

/// A partition's log from offset 0, one record a batch.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    topic_id: u128,
    pub(crate) leader_epoch: i32,
    pub(crate) is_leader: bool,
    batches: Vec<Batch>,
}

impl Replica {
    fn end(&self) -> i64 {
        self.batches.len() as i64
    }

    /// The end of what was written up to an epoch.
    fn end_of_epoch(&self, epoch: i32) -> (i32, i64) {
        let written = self.batches.iter().take_while(|batch| batch.epoch <= epoch);
        let end = written.clone().count() as i64;
        (written.last().map_or(-1, |batch| batch.epoch), end)
    }
}

/// What is left for one response.
pub(crate) struct Budget {
    pub(crate) bytes: u32,
    pub(crate) must_return_one: bool,
}

/// A partition of a response: label, error and bytes of records.
pub(crate) type Carried = (String, ErrorCode, u32);

/// The logs of a broker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Logs {
    replicas: BTreeMap<(String, i32), Replica>,
}

impl Logs {
    /// An empty log; the leader's epoch is 5.
    pub(crate) fn create(&mut self, topic: crate::support::Topic, partition: i32) {
        let replica =
            Replica { topic_id: topic.id, leader_epoch: 5, is_leader: true, batches: Vec::new() };
        self.replicas.insert((topic.name.to_owned(), partition), replica);
    }

    pub(crate) fn replica(&mut self, topic: &str, partition: i32) -> &mut Replica {
        self.replicas.get_mut(&(topic.to_owned(), partition)).expect("created")
    }

    pub(crate) fn append(&mut self, topic: &str, partition: i32, bytes: u32) {
        let replica = self.replica(topic, partition);
        let epoch = replica.leader_epoch;
        replica.batches.push(Batch { epoch, bytes });
    }

    /// Kafka's order of checks, and its rule of budgets.
    fn read(&self, it: &FetchPartition<'_>, budget: &mut Budget) -> Row {
        let name = it.topic.expect("resolved").as_str().to_owned();
        let Some(replica) = self.replicas.get(&(name, it.partition)) else {
            return failed(ErrorCode::UnknownTopicOrPartition);
        };
        if !it.topic_id.is_zero() && it.topic_id.as_u128() != replica.topic_id {
            return failed(ErrorCode::InconsistentTopicId);
        }
        match it.params.leader_epoch {
            Some(epoch) if epoch < replica.leader_epoch => {
                return failed(ErrorCode::FencedLeaderEpoch);
            }
            Some(epoch) if epoch > replica.leader_epoch => {
                return failed(ErrorCode::UnknownLeaderEpoch);
            }
            _ => {}
        }
        if !replica.is_leader {
            return failed(ErrorCode::NotLeaderOrFollower).leader();
        }
        let offset = it.params.fetch_offset;
        if let Some(epoch) = it.params.last_fetched_epoch {
            let (known, end) = replica.end_of_epoch(epoch);
            if known < epoch || end < offset {
                return at(replica.end()).diverging();
            }
        }
        if !(0..=replica.end()).contains(&offset) {
            return failed(ErrorCode::OffsetOutOfRange);
        }
        let mut records = 0;
        let limit = budget.bytes.min(it.params.max_bytes.cast_unsigned());
        for batch in replica.batches.iter().skip(offset as usize) {
            let fits = records + batch.bytes <= limit;
            if fits || (records == 0 && budget.must_return_one) {
                records += batch.bytes;
            } else {
                break;
            }
        }
        let row = at(replica.end()).records(records);
        if records > 0 {
            budget.must_return_one = false;
            budget.bytes = budget.bytes.saturating_sub(records);
            row
        } else if offset < replica.end() {
            row.revisit()
        } else {
            row
        }
    }

    /// Reads what a context visits; what cannot be read comes last.
    pub(crate) fn read_all(
        &self,
        broker: &mut Broker,
        context: &FetchContext,
        max_bytes: u32,
    ) -> Vec<(String, PartitionRead)> {
        let mut budget = Budget { bytes: max_bytes, must_return_one: true };
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        let labels = broker.listed(context);
        for (it, label) in broker.cache.visit(context).zip(labels) {
            if it.topic.is_none() {
                unread.push((label, failed(ErrorCode::UnknownTopicId).of(it.slot)));
                continue;
            }
            let row = self.read(&it, &mut budget).of(it.slot);
            if row.error() == ErrorCode::UnknownTopicOrPartition {
                unread.push((label, row));
            } else {
                read.push((label, row));
            }
        }
        read.append(&mut unread);
        read
    }

    /// A whole fetch, with what each partition of its response carries.
    pub(crate) fn serve(
        &self,
        broker: &mut Broker,
        request: &Request,
        max_bytes: u32,
    ) -> (Response, Vec<Carried>) {
        let context = broker.begin(request);
        let reads = self.read_all(broker, &context, max_bytes);
        let all = reads.clone();
        let response = broker.finish(context, reads);
        let carried = response.partitions.iter().map(|label| {
            let (_, read) = all.iter().find(|(it, _)| it == label).expect("it was read");
            (label.clone(), read.error(), read.records_size())
        });
        let carried = carried.collect();
        (response, carried)
    }
}
