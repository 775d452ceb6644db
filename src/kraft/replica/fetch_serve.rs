//! Fetches, as a leader answers them.

use super::parked::ParkedFetch;
use super::{Context, Replica, RequestHeader};
use crate::error_code::ErrorCode;
use crate::kraft::change::RequestId;
use crate::kraft::effect::{ReadRecords, Reply};
use crate::kraft::epoch::EpochState;
use crate::kraft::log_index::LogPosition;
use crate::kraft::offset_and_epoch::OffsetAndEpoch;
use crate::kraft::rpc::{Answer, FetchRecordsRequest, FetchedRecords, KnownHighWatermark};
use crate::kraft::voters::ReplicaKey;
use crate::random::Random;
use crate::time::Monotonic;

/// What a leader answers to a fetch.
pub(super) type Served = FetchedRecords<Option<ReadRecords>>;

impl Replica {
    /// The first version of `Fetch` that is answered with the leader's endpoint.
    pub(super) const FETCH_WITH_NODES: i16 = 17;

    /// Answers a `Fetch` for the metadata partition, or lets it wait.
    ///
    /// `batch_base` is the first offset of the batch of the log that holds the request's offset; that offset itself if it is
    /// where the log ends, or is not in the log.
    pub fn handle_fetch(
        &mut self,
        id: RequestId,
        header: &RequestHeader<'_>,
        request: &FetchRecordsRequest,
        batch_base: i64,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            if let Some(error) = replica.check_header(header) {
                replica.reply(id, Reply::Fetch(Answer::failed(error)));
                return Ok(());
            }
            let OffsetAndEpoch { offset, epoch } = request.log_end;
            let is_legal = request.max_wait_ms >= 0
                && offset >= 0
                && epoch >= 0
                && epoch <= request.leader_epoch;
            let (error, body) = if is_legal {
                replica.serve_fetch(request, Some(batch_base), context)
            } else {
                (ErrorCode::InvalidRequest, replica.no_records())
            };
            if error.is_none() && replica.may_wait(request, &body) {
                let deadline = now.saturating_add(request.max_wait_ms.into());
                replica.parked.park(ParkedFetch {
                    id,
                    version: header.version,
                    listener: header.listener.clone(),
                    request: request.clone(),
                    deadline,
                });
                replica.wake = replica.wake.map_or(Some(deadline), |wake| Some(wake.min(deadline)));
                return Ok(());
            }
            let answer = replica.answer_from(header, Self::FETCH_WITH_NODES, error, body);
            replica.reply(id, Reply::Fetch(answer));
            Ok(())
        });
    }

    /// Whether there is nothing to tell the fetcher yet (KIP-1166).
    fn may_wait(&self, request: &FetchRecordsRequest, body: &Served) -> bool {
        let is_news = match (request.high_watermark, body.high_watermark) {
            (KnownHighWatermark::Unsupported, _) | (_, None) => false,
            (KnownHighWatermark::Unknown, Some(_)) => true,
            (KnownHighWatermark::At(known), Some(high_watermark)) => known < high_watermark,
        };
        body.records.is_none()
            && request.max_wait_ms > 0
            && body.diverging.is_none()
            && body.snapshot.is_none()
            && !is_news
            && !self.parked.is_full()
    }

    pub(super) fn no_records(&self) -> Served {
        FetchedRecords {
            high_watermark: None,
            log_start_offset: self.log.start_offset(),
            diverging: None,
            snapshot: None,
            records: None,
        }
    }

    /// What a fetch is answered now. What it tells of the fetcher's log is noted, unless `batch_base` is none.
    pub(super) fn serve_fetch(
        &mut self,
        request: &FetchRecordsRequest,
        batch_base: Option<i64>,
        context: &mut Context<'_>,
    ) -> (ErrorCode, Served) {
        let mut body = self.no_records();
        if let Some(error) = self.check_leads(request.leader_epoch) {
            return (error, body);
        }
        let OffsetAndEpoch { offset, epoch } = request.log_end;
        let latest =
            self.log.latest_snapshot().filter(|id| offset == 0 && *id != OffsetAndEpoch::BOOTSTRAP);
        let position =
            latest.map_or_else(|| self.log.position(offset, epoch), LogPosition::Snapshot);
        match position {
            LogPosition::Diverging(end) => body.diverging = Some(end),
            LogPosition::Snapshot(id) => body.snapshot = Some(id),
            LogPosition::Valid => {
                let noted = batch_base.map_or(Ok(()), |base| {
                    let base = base.min(offset).max(self.log.start_offset());
                    self.note_fetch(request.replica, base, context)
                });
                if let Err(error) = noted {
                    return (error, body);
                }
                if offset < self.log.end_offset() {
                    body.records = Some(ReadRecords { from: offset, max_bytes: request.max_bytes });
                }
            }
        }
        body.high_watermark = self.quorum.state().high_watermark();
        (ErrorCode::None, body)
    }

    /// A replica has everything below `offset`.
    fn note_fetch(
        &mut self,
        replica: ReplicaKey,
        offset: i64,
        context: &mut Context<'_>,
    ) -> Result<(), ErrorCode> {
        let leader = self.leader_mut().ok_or(ErrorCode::NotLeaderOrFollower)?;
        let moved = leader.fetched(replica, offset, context.now);
        if let Some(high_watermark) = moved.map_err(|_| ErrorCode::UnknownServerError)?
            && let Err(fatal) = self.commit_as_leader(high_watermark, context)
        {
            // A leader whose state machine cannot be fed has stopped already.
            self.fatal = Some(fatal);
        }
        Ok(())
    }

    /// Why a request to the leader of an epoch is not for this replica.
    pub(super) fn check_leads(&self, epoch: i32) -> Option<ErrorCode> {
        let current = self.quorum.epoch();
        if epoch < current {
            return Some(ErrorCode::FencedLeaderEpoch);
        }
        if epoch > current {
            return Some(ErrorCode::UnknownLeaderEpoch);
        }
        if !matches!(self.quorum.state(), EpochState::Leader(_)) {
            return Some(ErrorCode::NotLeaderOrFollower);
        }
        self.shutdown.is_some().then_some(ErrorCode::BrokerNotAvailable)
    }
}
