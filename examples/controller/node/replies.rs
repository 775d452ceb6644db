//! The replica's answers on their way back, with what they carry read from the disk.

use super::requests::answer;
use super::{Failure, Node};
use bytes::Bytes;
use kafka_coordination::kraft::{ReadRecords, ReadSnapshot, Reply, RequestId};
use kafka_coordination::wire::kraft::ReplyTo;
use tokio::sync::oneshot;

/// Bytes that an answer carries at most, but for a single batch: what a request may ask for has no bound.
const MAX_READ: usize = 8 << 20;

/// A request that the replica owes an answer to.
#[derive(Debug)]
pub(super) struct Owed {
    pub(super) to: ReplyTo,
    pub(super) reply: oneshot::Sender<Bytes>,
}

impl Node {
    pub(super) fn reply(&mut self, request: RequestId, reply: &Reply) -> Result<(), Failure> {
        let Some(owed) = self.owed.remove(&request) else { return Ok(()) };
        let bytes = match reply {
            Reply::Fetch(answer) => {
                let partition = answer.partition.as_ref();
                match partition.and_then(|partition| partition.body.records) {
                    Some(ReadRecords { from, max_bytes, .. }) => {
                        let limit = usize::try_from(max_bytes).unwrap_or(0).min(MAX_READ);
                        self.disk.log.read(from, limit)?
                    }
                    None => Bytes::new(),
                }
            }
            Reply::FetchSnapshot(answer) => {
                let partition = answer.partition.as_ref();
                match partition.and_then(|partition| partition.body.bytes) {
                    Some(ReadSnapshot { snapshot, position, length, .. }) => {
                        let position = u64::try_from(position)?;
                        let length = length.min(MAX_READ);
                        self.disk.snapshots.read_part(snapshot, position, length)?
                    }
                    None => Bytes::new(),
                }
            }
            _ => Bytes::new(),
        };
        answer(owed.reply, owed.to.encode_reply(reply, bytes));
        Ok(())
    }
}
