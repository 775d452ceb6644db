//! A session over the wire: what the cache decides, encoded and decoded.

use crate::responses::error_free;
use bytes::{Bytes, BytesMut};
use kafka_coordination::fetch::{
    CacheConfig, ContextKind, FetchCache, FetchMetadata, FetchParams, FetcherSession,
    PartitionRead, PartitionRequest, Verdict,
};
use kafka_coordination::wire::fetch::{
    RequestBuilder, ResponseBuilder, Sender, answered_topics, response_head, with_request,
};
use kafka_coordination::wire::{decode_fetch_response, decode_request};
use kafka_coordination::{ErrorCode, Monotonic, TopicId, TopicName};
use kafka_protocol::messages::fetch_response::{AbortedTransaction, LeaderIdAndEpoch};
use kafka_protocol::messages::{
    ApiKey, FetchRequest, FetchResponse, RequestHeader, RequestKind, ResponseHeader,
};
use kafka_protocol::protocol::Encodable;
use rand_pcg::Pcg64Mcg;

const FOO: TopicId = TopicId::from_u128(1);
const BAR: TopicId = TopicId::from_u128(2);

fn name(id: TopicId) -> Option<TopicName> {
    match id {
        FOO => Some(TopicName::from("foo")),
        BAR => Some(TopicName::from("bar")),
        _ => None,
    }
}

fn wish(partition: i32) -> PartitionRequest {
    PartitionRequest {
        partition,
        params: FetchParams {
            fetch_offset: 0,
            log_start_offset: -1,
            max_bytes: 1 << 20,
            leader_epoch: None,
            last_fetched_epoch: None,
        },
    }
}

fn over_the_wire(request: &FetchRequest, version: i16) -> FetchRequest {
    let header = RequestHeader::default()
        .with_request_api_key(ApiKey::Fetch as i16)
        .with_request_api_version(version);
    let mut bytes = BytesMut::new();
    let header_version = ApiKey::Fetch.request_header_version(version);
    header.encode(&mut bytes, header_version).unwrap();
    request.encode(&mut bytes, version).unwrap();
    match decode_request(bytes.freeze()) {
        Ok((_, RequestKind::Fetch(request))) => request,
        other => panic!("{other:?}"),
    }
}

/// A broker whose partitions hold the same few records each.
struct Broker {
    cache: FetchCache,
    random: Pcg64Mcg,
    records: Bytes,
}

impl Broker {
    fn new() -> Self {
        Self {
            cache: FetchCache::new(CacheConfig::default()),
            random: Pcg64Mcg::new(1),
            records: Bytes::from(vec![1; 300]),
        }
    }

    /// Serves a request, and checks that the response has the size that the cache says.
    fn serve(&mut self, request: &FetchRequest, version: i16) -> (ContextKind, FetchResponse) {
        let message = over_the_wire(request, version);
        let now = Monotonic::from_millis(0);
        let context = with_request(&message, version, Sender::default(), |request| {
            self.cache.begin(request, &name, now)
        });
        let kind = context.kind();

        let mut reads = Vec::new();
        let mut data = Vec::new();
        for partition in self.cache.visit(&context) {
            let records = u32::try_from(self.records.len()).unwrap();
            let leader = LeaderIdAndEpoch::default().with_leader_id(1.into());
            reads.push(
                PartitionRead::new(partition.slot, 10, 0)
                    .with_records(records)
                    .with_aborted_transactions(2)
                    .with_current_leader(),
            );
            data.push((
                partition.topic_id,
                partition.topic.cloned(),
                error_free(partition.partition, 10)
                    .with_records(Some(self.records.clone()))
                    .with_aborted_transactions(Some(vec![AbortedTransaction::default(); 2]))
                    .with_current_leader(leader),
            ));
        }
        let size = self.cache.response_size(&context, &reads);
        let answer = self.cache.finish(context, &mut reads, &mut self.random, now);

        let mut response = ResponseBuilder::of(version, &answer);
        for (read, (id, name, partition)) in reads.iter().zip(data) {
            if read.is_included() {
                response.push(id, name.as_deref().unwrap_or(""), partition);
            }
        }
        let response = response.finish();
        let mut bytes = BytesMut::new();
        response.encode(&mut bytes, version).unwrap();
        assert_eq!(u64::try_from(bytes.len()).unwrap() + 4, size, "v{version}");

        let mut framed = BytesMut::new();
        let header_version = ApiKey::Fetch.response_header_version(version);
        let header = ResponseHeader::default();
        header.encode(&mut framed, header_version).unwrap();
        framed.unsplit(bytes);
        let (_, decoded) = decode_fetch_response(framed.freeze(), version).unwrap();
        (kind, decoded)
    }
}

fn partitions(response: &FetchResponse) -> Vec<Vec<i32>> {
    response
        .responses
        .iter()
        .map(|topic| topic.partitions.iter().map(|p| p.partition_index).collect())
        .collect()
}

#[test]
fn a_session_over_the_wire_answers_in_the_size_that_the_cache_says() {
    for version in 4..=18 {
        let mut broker = Broker::new();
        let message = FetchRequest::default();
        let mut request = RequestBuilder::new(version, FetchMetadata::INITIAL, message.clone());
        request.fetch(FOO, "foo", [wish(1), wish(0)]);
        request.fetch(BAR, "bar", [wish(0)]);
        request.fetch(FOO, "foo", [wish(2)]);
        let (kind, response) = broker.serve(&request.finish(), version);
        assert_eq!(partitions(&response), [vec![1, 0], vec![0], vec![2]]);
        if version < 7 {
            assert_eq!(kind, ContextKind::Sessionless);
            assert_eq!(response.session_id, 0);
            continue;
        }
        assert_eq!(kind, ContextKind::Full);
        assert_ne!(response.session_id, 0);

        let metadata = FetchMetadata::new_incremental(response.session_id);
        let mut request = RequestBuilder::new(version, metadata, message.clone());
        request.forget(BAR, "bar", [0]);
        let (kind, response) = broker.serve(&request.finish(), version);
        assert_eq!(kind, ContextKind::Incremental);
        assert_eq!(partitions(&response), [vec![1, 0, 2]]);
        assert_eq!(response.session_id, metadata.session_id);

        let request = RequestBuilder::new(version, metadata, message);
        let (kind, response) = broker.serve(&request.finish(), version);
        assert_eq!(kind, ContextKind::Error);
        assert_eq!(response.error_code, 71);
        assert_eq!(response.responses, []);
    }
}

#[test]
fn a_fetcher_and_a_broker_keep_a_session_over_the_wire() {
    for latest in 4..=18 {
        let mut broker = Broker::new();
        let mut fetcher = FetcherSession::new(1);
        let mut round = |wishes: &[(TopicId, &str, i32)]| {
            let mut list = fetcher.wish();
            for (id, name, partition) in wishes {
                list.add(*id, name, &wish(*partition));
            }
            let plan = list.build();
            let version = plan.version(latest);
            assert_eq!(version, latest);
            let request = RequestBuilder::of(version, &plan, FetchRequest::default()).finish();
            let topics = (request.topics.len(), request.forgotten_topics_data.len());
            let (_, response) = broker.serve(&request, version);
            let head = response_head(&response, version);
            let verdict = fetcher.handle_response(head, answered_topics(&response));
            (topics, verdict, partitions(&response))
        };
        let all = [(FOO, "foo", 0), (FOO, "foo", 1), (BAR, "bar", 0)];
        let answered = vec![vec![0, 1], vec![0]];
        if latest < 7 {
            for _ in 0..2 {
                assert_eq!(round(&all), ((2, 0), Verdict::Sessionless, answered.clone()));
            }
            continue;
        }
        assert_eq!(round(&all), ((2, 0), Verdict::Opened, answered.clone()));
        assert_eq!(round(&all), ((0, 0), Verdict::Continued, answered));
        let fewer = [all[0]];
        assert_eq!(round(&fewer), ((0, 2), Verdict::Continued, vec![vec![0]]));
        let unknown = (TopicId::from_u128(99), "gone", 0);
        let (topics, verdict, _) = round(&[all[0], unknown]);
        assert_eq!((topics, verdict), ((1, 0), Verdict::Continued));
    }
}

#[test]
fn a_fetcher_hears_of_errors_that_kafka_does_not_define() {
    let head = |code| response_head(&FetchResponse::default().with_error_code(code), 18);
    assert_eq!(head(70).error, ErrorCode::FetchSessionIdNotFound);
    assert_eq!(head(0).error, ErrorCode::None);
    assert_eq!(head(12_345).error, ErrorCode::UnknownServerError);
}
