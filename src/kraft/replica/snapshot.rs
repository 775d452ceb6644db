//! Snapshots: handed out by a leader, taken by a follower.

use super::{Context, Fatal, Replica, RequestHeader};
use crate::error_code::ErrorCode;
use crate::kraft::change::RequestId;
use crate::kraft::effect::{Effect, ReadSnapshot, Reply};
use crate::kraft::epoch::EpochState;
use crate::kraft::log_index::LogPosition;
use crate::kraft::offset_and_epoch::OffsetAndEpoch;
use crate::kraft::records::ControlRecord;
use crate::kraft::rpc::{Answer, FetchSnapshotRequest, FetchedSnapshot};
use crate::random::Random;
use crate::time::Monotonic;
use alloc::vec::Vec;
use bytes::Bytes;

/// A snapshot that is being received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Download {
    pub(super) snapshot: OffsetAndEpoch,
    /// The bytes that came so far.
    pub(super) position: i64,
}

impl Replica {
    /// Answers a `FetchSnapshot`. `size` is the size of the snapshot that the request names, if there is one.
    pub fn handle_fetch_snapshot(
        &mut self,
        id: RequestId,
        header: &RequestHeader<'_>,
        request: &FetchSnapshotRequest,
        size: Option<u64>,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, _| {
            if let Some(error) = replica.check_header(header) {
                replica.reply(id, Reply::FetchSnapshot(Answer::failed(error)));
                return Ok(());
            }
            let (error, read) = match replica.serve_snapshot(request, size, now) {
                Ok(read) => (ErrorCode::None, Some(read)),
                Err(error) => (error, None),
            };
            let body = FetchedSnapshot {
                snapshot: request.snapshot,
                size: size.and_then(|size| i64::try_from(size).ok()).unwrap_or(0),
                position: request.position,
                bytes: read,
            };
            let answer = replica.answer(header, error, body);
            replica.reply(id, Reply::FetchSnapshot(answer));
            Ok(())
        });
    }

    fn serve_snapshot(
        &mut self,
        request: &FetchSnapshotRequest,
        size: Option<u64>,
        now: Monotonic,
    ) -> Result<ReadSnapshot, ErrorCode> {
        if let Some(error) = self.check_leads(request.leader_epoch) {
            return Err(error);
        }
        let snapshot = request.snapshot;
        let is_known =
            snapshot != OffsetAndEpoch::BOOTSTRAP && self.log.snapshots().contains(&snapshot);
        let size = size.filter(|_| is_known).ok_or(ErrorCode::SnapshotNotFound)?;
        let position =
            u64::try_from(request.position).map_err(|_| ErrorCode::PositionOutOfRange)?;
        let rest = size
            .checked_sub(position)
            .filter(|rest| *rest > 0)
            .ok_or(ErrorCode::PositionOutOfRange)?;
        let most = u64::try_from(request.max_bytes).unwrap_or(0);
        let length = usize::try_from(rest.min(most)).unwrap_or(usize::MAX);
        if let Some(leader) = self.leader_mut() {
            leader.heard_from(request.replica, now).map_err(|_| ErrorCode::InvalidRequest)?;
        }
        Ok(ReadSnapshot { snapshot, position: request.position, length })
    }

    /// Begins to receive a snapshot, unless it is there.
    pub(super) fn open_download(&mut self, snapshot: OffsetAndEpoch) {
        self.drop_download();
        if !self.log.snapshots().contains(&snapshot) {
            self.download = Some(Download { snapshot, position: 0 });
            self.effect(Effect::OpenSnapshot(snapshot));
        }
    }

    pub(super) fn drop_download(&mut self) {
        if self.download.take().is_some() {
            self.effect(Effect::DropSnapshot);
        }
    }

    pub(super) fn take_snapshot_answer(
        &mut self,
        answer: Answer<FetchedSnapshot<Bytes>>,
        context: &mut Context<'_>,
    ) -> Result<bool, Fatal> {
        let Answer { error, partition, nodes } = answer;
        if !error.is_none() {
            return Self::top_level(error);
        }
        let Some(partition) = partition else { return Ok(false) };
        if let Some(is_ok) = self.common_partition(&partition, &nodes, context)? {
            return Ok(is_ok);
        }
        if !matches!(self.quorum.state(), EpochState::Follower(_)) {
            return Ok(false);
        }
        let FetchedSnapshot { snapshot, size, position, bytes } = partition.body;
        if partition.error == ErrorCode::SnapshotNotFound
            || snapshot.offset < 0
            || snapshot.epoch < 0
        {
            self.drop_download();
        } else if !partition.error.is_none() {
            return Ok(false);
        } else if !self.take_bytes(snapshot, size, position, bytes) {
            // Not what was asked for. Kafka's process ends on it.
            return Ok(false);
        }
        if let Some(follower) = self.follower_mut() {
            follower.fetch_succeeded(context.now);
        }
        Ok(true)
    }

    /// Takes a part of the snapshot that is being received. Gives whether it is the next one.
    fn take_bytes(
        &mut self,
        snapshot: OffsetAndEpoch,
        size: i64,
        position: i64,
        bytes: Bytes,
    ) -> bool {
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let Some(download) = &mut self.download else { return false };
        let is_next = download.snapshot == snapshot && download.position == position;
        let Some(end) =
            position.checked_add(length).filter(|end| is_next && *end <= size && length > 0)
        else {
            return false;
        };
        download.position = end;
        self.effect(Effect::WriteSnapshot(bytes));
        if end == size {
            self.download = None;
            self.is_log_busy = true;
            self.effect(Effect::InstallSnapshot(snapshot));
        }
        true
    }

    /// The snapshot that was received is durable and the log starts at its end, if it is ahead of the whole log; these are
    /// its control records.
    pub fn snapshot_installed(
        &mut self,
        snapshot: OffsetAndEpoch,
        control_records: Vec<ControlRecord>,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            replica.log.add_snapshot(snapshot);
            if !replica.log.truncate_to_latest_snapshot() {
                replica.log_replaced(context);
                return Ok(());
            }
            let end_offset = replica.log.end_offset();
            replica.flushed = end_offset;
            if replica.control.load_snapshot(end_offset, control_records).is_err() {
                return Err(Fatal::SnapshotMissing { offset: end_offset });
            }
            replica.log_replaced(context);
            replica.commit_as_follower(end_offset)
        });
    }

    /// Whether the state machine may make this snapshot: it is of the committed part of the log, ends where a batch ends
    /// (the host sees to that, KAFKA-14619), and is not there yet.
    pub fn may_make_snapshot(&self, snapshot: OffsetAndEpoch) -> bool {
        let OffsetAndEpoch { offset, epoch } = snapshot;
        (self.log.start_offset()..=self.log.high_watermark()).contains(&offset)
            && self.log.position(offset, epoch) == LogPosition::Valid
            && !self.log.snapshots().contains(&snapshot)
    }

    /// The host has made this snapshot, durably. Gives whether it counts: it does if
    /// [`may_make_snapshot`](Self::may_make_snapshot) says so. What the control records say below it is forgotten.
    pub fn snapshot_made(&mut self, snapshot: OffsetAndEpoch) -> bool {
        let may = self.may_make_snapshot(snapshot);
        if may {
            self.log.add_snapshot(snapshot);
            self.control.on_snapshot(snapshot.offset);
        }
        may
    }

    /// The host is about to delete what is before this snapshot, records and older snapshots. Gives whether it may: the
    /// snapshot is there, and within the committed part of the log.
    pub fn delete_before(&mut self, snapshot: OffsetAndEpoch) -> bool {
        self.log.delete_before(snapshot)
    }
}
