//! What is sent comes in as it was, but for what its version does not carry.

use super::{CORRELATION_ID, listener};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    Answer, BeginQuorumEpochRequest, EndQuorumEpochRequest, Endpoint, Endpoints,
    FetchRecordsRequest, FetchSnapshotRequest, FetchedRecords, FetchedSnapshot, KnownHighWatermark,
    Node, OffsetAndEpoch, PartitionAnswer, ReplicaKey, Reply, Request, Response, SupportedVersions,
    VoteRequest,
};
use kafka_coordination::wire::kraft::{
    Asked, PeerVersions, Received, Sender, api_versions_response, decode_answer, encode_request,
    served_versions,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const SENDER: Sender<'_> = Sender { cluster_id: "cluster", client_id: "raft-client-1" };

/// A peer that has no later version than this of any API, but of `Fetch` this many from 13 on.
fn peer(version: i16) -> PeerVersions {
    let apis = served_versions().map(|(key, versions)| {
        let first = if key == 1 { 13 } else { *versions.start() };
        (key, first..=first + version)
    });
    PeerVersions::of(&api_versions_response(apis, SupportedVersions::ALL, 4))
}

fn replica() -> impl Strategy<Value = ReplicaKey> {
    (0..=i32::MAX, any::<u128>()).prop_map(|(id, directory)| ReplicaKey::from_wire(id, directory))
}

fn log_end() -> impl Strategy<Value = OffsetAndEpoch> {
    (any::<i64>(), any::<i32>()).prop_map(|(offset, epoch)| OffsetAndEpoch::new(offset, epoch))
}

fn endpoints() -> impl Strategy<Value = Endpoints> {
    let endpoint = ("[A-Z]{1,9}", "[a-z0-9.:]{0,30}", any::<u16>());
    vec(endpoint.prop_map(|(name, host, port)| Endpoint::new(&*name, host, port)), 0..4)
        .prop_map(Endpoints::new)
}

fn known() -> impl Strategy<Value = KnownHighWatermark> {
    prop_oneof![
        Just(KnownHighWatermark::Unsupported),
        Just(KnownHighWatermark::Unknown),
        (0..i64::MAX).prop_map(KnownHighWatermark::At),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let vote = (option::of(replica()), replica(), any::<i32>(), log_end(), any::<bool>());
    let begin = (option::of(replica()), any::<i32>(), any::<i32>(), endpoints());
    let end = (any::<i32>(), any::<i32>(), vec(replica(), 0..5), endpoints());
    let fetch = (replica(), any::<i32>(), log_end(), any::<i32>(), any::<i32>(), known());
    let snapshot = (replica(), any::<i32>(), log_end(), any::<i64>(), any::<i32>());
    prop_oneof![
        vote.prop_map(|(voter, candidate, epoch, log_end, is_pre_vote)| {
            Request::Vote(VoteRequest { voter, candidate, epoch, log_end, is_pre_vote })
        }),
        begin.prop_map(|(voter, leader_id, epoch, leader_endpoints)| {
            let begin = BeginQuorumEpochRequest { voter, leader_id, epoch, leader_endpoints };
            Request::BeginQuorumEpoch(begin)
        }),
        end.prop_map(|(leader_id, epoch, preferred_candidates, leader_endpoints)| {
            Request::EndQuorumEpoch(EndQuorumEpochRequest {
                leader_id,
                epoch,
                preferred_candidates,
                leader_endpoints,
            })
        }),
        fetch.prop_map(|(replica, leader_epoch, log_end, max_wait_ms, max_bytes, known)| {
            Request::Fetch(FetchRecordsRequest {
                replica,
                leader_epoch,
                log_end,
                max_wait_ms,
                max_bytes,
                high_watermark: known,
            })
        }),
        snapshot.prop_map(|(replica, leader_epoch, snapshot, position, max_bytes)| {
            Request::FetchSnapshot(FetchSnapshotRequest {
                replica,
                leader_epoch,
                snapshot,
                position,
                max_bytes,
            })
        }),
    ]
}

/// The request without what this version does not carry.
fn carried(request: Request, version: i16) -> Request {
    let unkeyed = |key: ReplicaKey| ReplicaKey::without_directory(key.id);
    match request {
        Request::Vote(vote) if version == 0 => {
            Request::Vote(VoteRequest { voter: None, candidate: unkeyed(vote.candidate), ..vote })
        }
        Request::BeginQuorumEpoch(begin) if version == 0 => {
            let leader_endpoints = Endpoints::empty();
            Request::BeginQuorumEpoch(BeginQuorumEpochRequest {
                voter: None,
                leader_endpoints,
                ..begin
            })
        }
        Request::EndQuorumEpoch(mut end) if version == 0 => {
            end.leader_endpoints = Endpoints::empty();
            end.preferred_candidates.iter_mut().for_each(|key| *key = unkeyed(*key));
            Request::EndQuorumEpoch(end)
        }
        Request::Fetch(mut fetch) => {
            if version < 17 {
                fetch.replica = unkeyed(fetch.replica);
            }
            if version < 18 {
                fetch.high_watermark = KnownHighWatermark::Unsupported;
            }
            Request::Fetch(fetch)
        }
        Request::FetchSnapshot(mut fetch) if version == 0 => {
            fetch.replica = unkeyed(fetch.replica);
            Request::FetchSnapshot(fetch)
        }
        request => request,
    }
}

fn asked(received: &Received) -> Request {
    let (header, request) = match received.asked(&listener()).unwrap() {
        Asked::Vote(header, request) => (header, Request::Vote(request)),
        Asked::BeginQuorumEpoch(header, request) => (header, Request::BeginQuorumEpoch(request)),
        Asked::EndQuorumEpoch(header, request) => (header, Request::EndQuorumEpoch(request)),
        Asked::Fetch(header, request) => (header, Request::Fetch(request)),
        Asked::FetchSnapshot(header, request) => (header, Request::FetchSnapshot(request)),
        other => panic!("{other:?}"),
    };
    assert_eq!((header.cluster_id, header.listener), (Some("cluster"), listener()));
    assert!(header.is_metadata_partition);
    request
}

fn error() -> impl Strategy<Value = ErrorCode> {
    (-1..=136i16).prop_filter_map("an error", ErrorCode::from_code)
}

fn answer<T: core::fmt::Debug>(body: impl Strategy<Value = T>) -> impl Strategy<Value = Answer<T>> {
    let partition = (error(), option::of(0..=i32::MAX), any::<i32>(), body).prop_map(
        |(error, leader_id, epoch, body)| PartitionAnswer { error, leader_id, epoch, body },
    );
    let node = (any::<i32>(), "[a-z0-9.:]{0,30}", any::<u16>());
    let node = node.prop_map(|(id, host, port)| Node { id, host: host.into(), port });
    (error(), option::of(partition), vec(node, 0..3)).prop_map(|(error, partition, nodes)| Answer {
        error,
        partition,
        nodes,
    })
}

/// A reply and the answer that it comes in as, at the latest version.
fn reply() -> impl Strategy<Value = (i16, Reply, Response)> {
    let end = || {
        option::of(
            (0..=i64::MAX, 0..=i32::MAX)
                .prop_map(|(offset, epoch)| OffsetAndEpoch::new(offset, epoch)),
        )
    };
    let fetched = (option::of(0..=i64::MAX), any::<i64>(), end(), end());
    let part = (log_end(), any::<i64>(), any::<i64>());
    prop_oneof![
        answer(any::<bool>()).prop_map(|it| (52, Reply::Vote(it.clone()), Response::Vote(it))),
        answer(Just(())).prop_map(|it| {
            (53, Reply::BeginQuorumEpoch(it.clone()), Response::BeginQuorumEpoch(it))
        }),
        answer(Just(())).prop_map(|it| {
            (54, Reply::EndQuorumEpoch(it.clone()), Response::EndQuorumEpoch(it))
        }),
        answer(fetched).prop_map(|it| {
            let reply =
                map(it.clone(), |(high_watermark, log_start_offset, diverging, snapshot)| {
                    let records = None;
                    FetchedRecords {
                        high_watermark,
                        log_start_offset,
                        diverging,
                        snapshot,
                        records,
                    }
                });
            let response = map(it, |(high_watermark, log_start_offset, diverging, snapshot)| {
                let records = Vec::new();
                FetchedRecords { high_watermark, log_start_offset, diverging, snapshot, records }
            });
            (1, Reply::Fetch(reply), Response::Fetch(response))
        }),
        answer(part).prop_map(|it| {
            let reply = map(it.clone(), |(snapshot, size, position)| FetchedSnapshot {
                snapshot,
                size,
                position,
                bytes: None,
            });
            let mut response = map(it, |(snapshot, size, position)| FetchedSnapshot {
                snapshot,
                size,
                position,
                bytes: Bytes::from_static(b"part"),
            });
            // What failed says nothing of the snapshot.
            for failed in response.partition.iter_mut().filter(|it| !it.error.is_none()) {
                let snapshot = OffsetAndEpoch::new(0, 0);
                failed.body =
                    FetchedSnapshot { snapshot, size: 0, position: 0, bytes: Bytes::new() };
            }
            (59, Reply::FetchSnapshot(reply), Response::FetchSnapshot(response))
        }),
    ]
}

fn map<T, U>(answer: Answer<T>, body: impl FnOnce(T) -> U) -> Answer<U> {
    let Answer { error, partition, nodes } = answer;
    let partition = partition.map(|it| {
        let PartitionAnswer { error, leader_id, epoch, body: old } = it;
        PartitionAnswer { error, leader_id, epoch, body: body(old) }
    });
    Answer { error, partition, nodes }
}

proptest! {
    #[test]
    fn requests(request in request(), version in 0..=5i16) {
        let peer = peer(version);
        match encode_request(&request, &SENDER, &peer, CORRELATION_ID) {
            Ok((sent, bytes)) => {
                let received = Received::decode(bytes).unwrap();
                prop_assert_eq!(asked(&received), carried(request, sent.api_version));
            }
            Err(error) => {
                prop_assert_eq!(error.code(), ErrorCode::UnsupportedVersion);
                let is_pre_vote =
                    matches!(request, Request::Vote(VoteRequest { is_pre_vote: true, .. }));
                prop_assert!(is_pre_vote && version < 2);
            }
        }
    }

    #[test]
    fn replies((api_key, reply, response) in reply()) {
        let version = peer(5).version(api_key).unwrap();
        let sent = super::preamble(api_key, version);
        let reply_to = kafka_coordination::wire::kraft::ReplyTo::new(sent);
        let carried = if api_key == 59 { &b"part"[..] } else { b"" };
        let bytes = reply_to.encode_reply(&reply, Bytes::from_static(carried)).unwrap();
        prop_assert_eq!(decode_answer(sent, bytes, &listener()), Ok(response));
    }
}
