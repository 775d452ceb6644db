//! What peers and clients say.

use super::{Host, LISTENER};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BatchContent, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRecordsRequest,
    FetchSnapshotRequest, FetchedRecords, FetchedSnapshot, KnownHighWatermark, ListenerName,
    LogBatch, Node, OffsetAndEpoch, PartitionAnswer, Request, RequestHeader, Response,
    SupportedVersions, VoteRequest,
};

impl Host<'_> {
    pub(super) fn ask(&mut self) {
        let id = self.request();
        let header = RequestHeader {
            cluster_id: if self.input.is_rare() { Some("other") } else { Some("cluster") },
            is_metadata_partition: !self.input.is_rare(),
            version: i16::from(self.input.byte() % 20),
            listener: ListenerName::new(if self.input.is_rare() { "X" } else { LISTENER }),
        };
        let (sender, meant, epoch) = (self.input.key(), self.input.key(), self.epoch());
        let voter = self.input.is_rare().then_some(meant);
        let leader_endpoints = self.input.endpoints(sender.id);
        match self.input.below(6) {
            0 | 1 => {
                let (log_end, is_pre_vote) = (self.log_end(), self.input.flag());
                let request = VoteRequest { voter, candidate: sender, epoch, log_end, is_pre_vote };
                self.replica.handle_vote(id, &header, &request, &mut self.input, self.now);
            }
            2 => {
                let leader_id = sender.id;
                let request = BeginQuorumEpochRequest { voter, leader_id, epoch, leader_endpoints };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_begin_quorum_epoch(id, &header, &request, random, now);
            }
            3 => {
                let preferred_candidates =
                    (0..self.input.byte()).map(|_| self.input.key()).collect();
                let leader_id = sender.id;
                let request = EndQuorumEpochRequest {
                    leader_id,
                    epoch,
                    preferred_candidates,
                    leader_endpoints,
                };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_end_quorum_epoch(id, &header, &request, random, now);
            }
            4 => {
                let log_end = self.log_end();
                let request = FetchRecordsRequest {
                    replica: sender,
                    leader_epoch: epoch,
                    log_end,
                    max_wait_ms: self.input.short(500),
                    max_bytes: self.input.short(1),
                    high_watermark: match self.input.below(3) {
                        0 => KnownHighWatermark::Unsupported,
                        1 => KnownHighWatermark::Unknown,
                        _ => KnownHighWatermark::At(self.input.near(self.shown.high_watermark)),
                    },
                };
                let holds = |batch: &&LogBatch| {
                    (batch.base_offset..=batch.last_offset).contains(&log_end.offset)
                };
                let batch = self.disk.log.iter().find(holds);
                let base = batch.map_or(log_end.offset, |batch| batch.base_offset);
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_fetch(id, &header, &request, base, random, now);
            }
            _ => {
                let known = self.replica.log().latest_snapshot();
                let request = FetchSnapshotRequest {
                    replica: sender,
                    leader_epoch: epoch,
                    snapshot: known.unwrap_or(OffsetAndEpoch::BOOTSTRAP),
                    position: self.input.near(0),
                    max_bytes: self.input.short(10),
                };
                let (random, now) = (&mut self.input, self.now);
                self.replica.handle_fetch_snapshot(id, &header, &request, Some(9), random, now);
            }
        }
    }

    pub(super) fn answer<T>(&mut self, body: T) -> Answer<T> {
        let (epoch, error) = (self.epoch(), self.input.error());
        let known = self.replica.quorum().state().leader_id();
        let leader_id = match self.input.byte() {
            0..150 => known,
            150..200 => None,
            _ => Some(self.input.id()),
        };
        let node = |id| Node { id, host: "n".into(), port: 1 };
        let nodes = leader_id.filter(|_| self.input.flag()).map(node).into_iter().collect();
        let partition =
            (!self.input.is_rare()).then_some(PartitionAnswer { error, leader_id, epoch, body });
        let error = if self.input.is_rare() { self.input.error() } else { ErrorCode::None };
        Answer { error, partition, nodes }
    }

    pub(super) fn respond(&mut self) {
        // Some are answered twice, or late.
        let is_late = self.input.is_rare();
        let (sent, late) = (&mut self.sent, &mut self.late);
        let from = if is_late { &mut *late } else { sent };
        if from.is_empty() {
            return;
        }
        let (correlation, request, ..) = from.remove(self.input.below(from.len()));
        late.push((correlation, request.clone(), self.now, 0));
        late.truncate(8);
        let response = match request {
            _ if self.input.is_rare() => Response::Failed(match self.input.below(3) {
                0 => ErrorCode::UnsupportedVersion,
                1 => ErrorCode::BrokerNotAvailable,
                _ => ErrorCode::NetworkException,
            }),
            Request::Vote(_) => {
                let granted = self.input.byte() > 50;
                Response::Vote(self.answer(granted))
            }
            Request::BeginQuorumEpoch(_) => Response::BeginQuorumEpoch(self.answer(())),
            Request::EndQuorumEpoch(_) => Response::EndQuorumEpoch(self.answer(())),
            Request::Fetch(_) => {
                let fetched = self.fetched();
                Response::Fetch(self.answer(fetched))
            }
            Request::FetchSnapshot(fetch) => {
                let bytes = Bytes::from(vec![0; self.input.below(4)]);
                let rest = i64::from(self.input.byte() % 2) * self.input.near(3);
                let length = i64::try_from(bytes.len()).expect("few");
                let body = FetchedSnapshot {
                    snapshot: if self.input.is_rare() { self.log_end() } else { fetch.snapshot },
                    size: (fetch.position + length).saturating_add(rest),
                    position: if self.input.is_rare() { 7 } else { fetch.position },
                    bytes,
                };
                Response::FetchSnapshot(self.answer(body))
            }
            Request::UpdateVoter(_) => {
                let answer = self.answer(());
                let Some(partition) = answer.partition else { return };
                let PartitionAnswer { error, leader_id, epoch, .. } = partition;
                let leader_endpoints = self.input.endpoints(leader_id.unwrap_or(2));
                Response::UpdateVoter { error, leader_id, epoch, leader_endpoints }
            }
            Request::AddVoter(_) => Response::AddVoter(self.input.error()),
            Request::RemoveVoter(_) => Response::RemoveVoter(self.input.error()),
            _ => Response::ApiVersions {
                error: self.input.error(),
                supported_versions: self.input.flag().then_some(SupportedVersions::ALL),
            },
        };
        self.replica.handle_response(correlation, response, &mut self.input, self.now);
    }

    pub(super) fn fetched(&mut self) -> FetchedRecords<Vec<LogBatch>> {
        let mut base_offset = self.replica.log().end_offset();
        let epoch = self.replica.quorum().epoch();
        let records = (0..self.input.below(4)).map(|_| {
            let control = self.input.flag().then(|| self.input.control());
            let count = match &control {
                Some(control) => i64::try_from(control.len()).expect("few"),
                None => 1 + i64::from(self.input.byte() % 4),
            };
            let base =
                if self.input.is_rare() { self.input.near(base_offset) } else { base_offset };
            let last_offset = base.saturating_add(count - 1);
            let is_wrong = self.input.is_rare();
            let last_offset = if is_wrong { self.input.near(last_offset) } else { last_offset };
            base_offset = last_offset.saturating_add(1);
            let bytes = Bytes::new();
            let content = BatchContent::Encoded { bytes, control };
            LogBatch { base_offset: base, last_offset, epoch: self.input.short(epoch), content }
        });
        let records = records.collect();
        FetchedRecords {
            high_watermark: self.input.flag().then(|| {
                let known = self.replica.log().high_watermark();
                let end = self.replica.log().end_offset();
                if self.input.flag() { self.input.near(known) } else { self.input.near(end) }
            }),
            log_start_offset: self.input.near(0),
            diverging: self.input.is_odd().then(|| self.log_end()),
            snapshot: self.input.is_odd().then(|| {
                let ahead = self.log_end();
                OffsetAndEpoch::new(ahead.offset.saturating_add(9), ahead.epoch)
            }),
            records,
        }
    }
}
