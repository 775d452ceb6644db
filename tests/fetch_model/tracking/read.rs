//! What a broker does with the partitions that a context shows it: tests before the read, the
//! read, and the budget over all of them.

use super::log::{Log, Throttled};
use super::world::{PARTITIONS, World};
use crate::driver::Visited;
use crate::reading::Reading;
use kafka_coordination::ErrorCode;

/// What a fetch depends on, beside its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Follower { broker: i32, broker_epoch: u64 },
    Consumer { read_committed: bool, rack: Option<u8>, principal: u8 },
}

/// Why a partition has to be visited again though nothing changes: the host's part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revisit {
    /// Data was withheld because of a limit or the remote tier.
    pub(crate) is_withheld: bool,
    /// Data was withheld because the follower is throttled.
    pub(crate) is_throttled: bool,
    /// The follower is not in sync.
    pub(crate) is_out_of_sync: bool,
}

/// One partition, read or refused before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) visited: Visited,
    pub(crate) reading: Reading,
    pub(crate) revisit: Revisit,
    /// How many records it returns.
    pub(crate) records: i64,
    /// The log's end if a follower read it: its progress is to be recorded.
    pub(crate) followed_to: Option<i64>,
}

/// All partitions of a visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    /// In the order of the answer.
    pub(crate) outcomes: Vec<Outcome>,
    /// How many were refused before the read.
    pub(crate) refused: usize,
    bytes: i64,
    is_urgent: bool,
    is_remote_pending: bool,
}

impl Pass {
    /// Reads what a visit shows, in its order and within the budget.
    pub(crate) fn new(world: &World, who: Who, visited: Vec<Visited>, max_bytes: i64) -> Self {
        let mut pass = Self::default();
        let mut refused = Vec::new();
        let mut budget = Budget { limit: max_bytes, min_one: true };
        for visited in visited {
            if let Some(error) = refusal(world, who, &visited) {
                refused.push(Outcome {
                    visited,
                    reading: Reading::failed(error),
                    revisit: Revisit::default(),
                    records: 0,
                    followed_to: None,
                });
            } else {
                let outcome = pass.read(world, who, visited, &mut budget);
                pass.outcomes.push(outcome);
            }
        }
        if matches!(who, Who::Consumer { .. }) {
            refused.sort_by_key(|it| it.reading.error != ErrorCode::UnknownTopicId);
        }
        pass.refused = refused.len();
        pass.outcomes.extend(refused);
        pass
    }

    fn read(&mut self, world: &World, who: Who, visited: Visited, budget: &mut Budget) -> Outcome {
        let mut outcome = Outcome {
            reading: Reading::failed(ErrorCode::None),
            revisit: Revisit::default(),
            records: 0,
            followed_to: None,
            visited,
        };
        let log = match leader(world, who, &outcome.visited) {
            Ok(log) => log,
            Err(error) => {
                self.is_urgent = true;
                outcome.reading.error = error;
                return outcome;
            }
        };
        outcome.reading = Reading::of(log.high_watermark, log.start);
        let params = outcome.visited.params;
        if let Who::Follower { broker, .. } = who {
            outcome.revisit.is_out_of_sync = !log.in_sync.contains(&broker);
        }
        let rack = match who {
            Who::Consumer { rack, .. } => rack,
            Who::Follower { .. } => None,
        };
        if rack.is_some() && log.closer_in == rack {
            self.is_urgent = true;
            outcome.reading.has_preferred_replica = true;
            return outcome;
        }
        let own_end = match params.last_fetched_epoch {
            Some(epoch) if epoch < log.leader_epoch => log.epoch_start,
            _ => log.end,
        };
        if params.last_fetched_epoch.is_some() && params.fetch_offset > own_end {
            self.is_urgent = true;
            outcome.reading.has_diverging_epoch = true;
            return outcome;
        }
        if params.fetch_offset < log.start || params.fetch_offset > log.end {
            self.is_urgent = true;
            outcome.reading = Reading::failed(ErrorCode::OffsetOutOfRange);
            return outcome;
        }
        if let Who::Follower { .. } = who {
            if params.fetch_offset < log.remote_end {
                self.is_urgent = true;
                outcome.reading.error = ErrorCode::OffsetMovedToTieredStorage;
                return outcome;
            }
            outcome.followed_to = Some(log.end);
        }
        self.fetch(log, who, &mut outcome, budget);
        outcome
    }

    fn fetch(&mut self, log: &Log, who: Who, outcome: &mut Outcome, budget: &mut Budget) {
        let params = outcome.visited.params;
        let readable = match who {
            Who::Follower { .. } => log.end,
            Who::Consumer { read_committed: true, .. } => log.last_stable,
            Who::Consumer { .. } => log.high_watermark,
        };
        if params.fetch_offset >= readable {
            return;
        }
        let limit = budget.limit.min(i64::from(params.max_bytes));
        if params.fetch_offset < log.remote_end && !log.is_remote_ready {
            self.is_remote_pending = true;
            outcome.revisit.is_withheld = true;
            // A read from the remote tier counts as what it may become.
            budget.spend(limit.max(0));
            return;
        }
        let is_throttled = match log.throttled {
            Throttled::Nobody => false,
            Throttled::OutOfSync => outcome.revisit.is_out_of_sync,
            Throttled::Followers => matches!(who, Who::Follower { .. }),
        };
        if is_throttled {
            outcome.revisit.is_throttled = true;
            return;
        }
        let (bytes, records) = Log::batches(params.fetch_offset, readable, limit, budget.min_one);
        budget.spend(bytes);
        self.bytes += bytes;
        outcome.reading.records = bytes as u32;
        outcome.records = records;
        outcome.revisit.is_withheld = bytes == 0;
    }

    /// Whether the fetch is answered now, given how many partitions it asks for.
    pub(crate) const fn is_due(&self, partitions: usize, min_bytes: i64, waits: bool) -> bool {
        let nothing_to_read = partitions == self.refused;
        !self.is_remote_pending
            && (!waits || nothing_to_read || self.bytes >= min_bytes || self.is_urgent)
    }
}

struct Budget {
    limit: i64,
    min_one: bool,
}

impl Budget {
    fn spend(&mut self, bytes: i64) {
        if bytes > 0 {
            self.min_one = false;
            self.limit = (self.limit - bytes).max(0);
        }
    }
}

/// Why a partition is not even read.
fn refusal(world: &World, who: Who, visited: &Visited) -> Option<ErrorCode> {
    let name = &visited.key.name;
    match who {
        Who::Follower { .. } if !world.followers_are_authorised => {
            return Some(ErrorCode::TopicAuthorizationFailed);
        }
        _ if !visited.is_named => return Some(ErrorCode::UnknownTopicId),
        Who::Consumer { principal, .. } if world.denied.contains(&(principal, name.clone())) => {
            return Some(ErrorCode::TopicAuthorizationFailed);
        }
        _ => {}
    }
    let is_known =
        world.topics.contains_key(name) && (0..PARTITIONS).contains(&visited.key.partition);
    (!is_known).then_some(ErrorCode::UnknownTopicOrPartition)
}

/// The log that answers, or why none does.
fn leader<'a>(world: &'a World, who: Who, visited: &Visited) -> Result<&'a Log, ErrorCode> {
    let key = &visited.key;
    let log = world.logs.get(&(key.name.clone(), key.partition));
    let log = log.ok_or(ErrorCode::NotLeaderOrFollower)?;
    if !key.id.is_zero() && key.id != log.topic_id {
        return Err(ErrorCode::InconsistentTopicId);
    }
    if log.is_offline {
        return Err(ErrorCode::KafkaStorageError);
    }
    match visited.params.leader_epoch {
        Some(epoch) if epoch < log.leader_epoch => return Err(ErrorCode::FencedLeaderEpoch),
        Some(epoch) if epoch > log.leader_epoch => return Err(ErrorCode::UnknownLeaderEpoch),
        _ => {}
    }
    if !log.is_leader {
        return Err(ErrorCode::NotLeaderOrFollower);
    }
    if let Who::Follower { broker, broker_epoch } = who {
        if world.broker_epochs.get(&broker) != Some(&broker_epoch) {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        if !log.replicas.contains(&broker) {
            return Err(match visited.params.leader_epoch {
                Some(_) => ErrorCode::UnknownLeaderEpoch,
                None => ErrorCode::NotLeaderOrFollower,
            });
        }
    }
    Ok(log)
}
