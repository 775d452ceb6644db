//! Requests on their way into the replica.

use super::replies::Owed;
use super::{Node, Request};
use crate::api::Body;
use bytes::Bytes;
use kafka_coordination::kraft::RequestId;
use kafka_coordination::wire::WireError;
use kafka_coordination::wire::kraft::{Asked, Received, ReplyTo, describe_quorum_response};
use kafka_coordination::{Clock, ErrorCode};
use kafka_protocol::messages::RequestKind;
use tokio::sync::oneshot;

impl Node {
    pub(super) fn take_request(&mut self, request: Request) {
        let Request { body, reply } = request;
        match body {
            Body::Quorum(received) => self.take_received(&received, reply),
            Body::Other(to, request) => match &*request {
                RequestKind::Produce(request) => self.take_append(to, request, reply),
                request => answer(reply, self.answer_other(&to, request)),
            },
        }
    }

    fn take_received(&mut self, received: &Received, reply: oneshot::Sender<Bytes>) {
        let to = received.reply_to();
        let listener = self.listener.clone();
        let Ok(asked) = received.asked(&listener) else {
            return answer(reply, to.encode_error(ErrorCode::InvalidRequest));
        };
        let now = self.clock.monotonic();
        let id = RequestId(self.next_request);
        match asked {
            Asked::ApiVersions => {
                return answer(reply, to.encode(&self.api_versions(to.version())));
            }
            Asked::DescribeQuorum(request) => {
                let description = self.describe_quorum(to.version());
                let response = describe_quorum_response(request, description.as_ref());
                return answer(reply, to.encode(&response));
            }
            Asked::Vote(header, request) => {
                self.replica.handle_vote(id, &header, &request, &mut self.random, now);
            }
            Asked::BeginQuorumEpoch(header, request) => {
                let random = &mut self.random;
                self.replica.handle_begin_quorum_epoch(id, &header, &request, random, now);
            }
            Asked::EndQuorumEpoch(header, request) => {
                let random = &mut self.random;
                self.replica.handle_end_quorum_epoch(id, &header, &request, random, now);
            }
            Asked::Fetch(header, request) => {
                let offset = request.log_end.offset;
                let batch = self.disk.log.batch_at(offset);
                let base = batch.map_or(offset, |batch| batch.base_offset);
                self.replica.handle_fetch(id, &header, &request, base, &mut self.random, now);
            }
            Asked::FetchSnapshot(header, request) => {
                let size = self.disk.snapshots.size(request.snapshot);
                let random = &mut self.random;
                self.replica.handle_fetch_snapshot(id, &header, &request, size, random, now);
            }
            Asked::AddVoter(request) => {
                self.replica.handle_add_voter(id, &request, &mut self.random, now);
            }
            Asked::RemoveVoter(request) => {
                self.replica.handle_remove_voter(id, &request, &mut self.random, now);
            }
            Asked::UpdateVoter(request) => {
                self.replica.handle_update_voter(id, &request, &mut self.random, now);
            }
            // A later version of the crate knows of more; this one serves none of it.
            _ => return,
        }
        self.next_request = self.next_request.wrapping_add(1);
        self.owed.insert(id, Owed { to: to.clone(), reply });
    }

    fn answer_other(&mut self, to: &ReplyTo, request: &RequestKind) -> Result<Bytes, WireError> {
        match request {
            RequestKind::DescribeCluster(request) => {
                to.encode(&self.describe_cluster(to.version(), request))
            }
            RequestKind::UpdateFeatures(request) => {
                to.encode(&self.update_features(to.version(), request))
            }
            RequestKind::Fetch(request) => to.encode(&self.read_machine(request)),
            // Nothing else is let through.
            _ => to.encode_error(ErrorCode::UnsupportedVersion),
        }
    }
}

/// Gives an answer to who waits for it; without one the connection is closed.
pub(super) fn answer(reply: oneshot::Sender<Bytes>, answer: Result<Bytes, WireError>) {
    if let Ok(answer) = answer {
        // Who is gone needs none.
        drop(reply.send(answer));
    }
}
