//! Requests, responses and log batches of any bytes: reading neither panics nor takes more memory than
//! promised, what decodes can be handed to the cache or the replica, and what the quorum is asked can be answered.
#![no_main]

use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::ListenerName;
use kafka_coordination::wire::fetch::{Sender, with_request};
use kafka_coordination::wire::kraft::{Received, decode_answer, log_batches, served_versions};
use kafka_coordination::wire::{
    MAX_AMPLIFICATION, Preamble, decode_request, decode_response, supported_response_versions,
    supported_versions,
};
use kafka_protocol::messages::RequestKind;
use libfuzzer_sys::fuzz_target;
use std::ops::RangeInclusive;

/// What is done with the bytes.
#[derive(Clone)]
enum Way {
    Request,
    Response,
    /// A request of the quorum.
    Asked,
    /// An answer to one.
    Answer,
    Batches,
}

// The first byte chooses what the bytes are and of which API, the second one its version; the rest follows both on the
// wire.
fuzz_target!(|input: &[u8]| {
    let [way, version, rest @ ..] = input else {
        return;
    };
    let table = table();
    let (way, key, versions) = table[usize::from(*way) % table.len()].clone();
    let count = i16::try_from(versions.clone().count()).unwrap();
    let version = versions.start() + i16::from(*version) % count;
    let start = [key.to_be_bytes(), version.to_be_bytes()].concat();
    let listener = ListenerName::new("CONTROLLER");
    match way {
        Way::Request => bounded([&start, rest].concat(), |bytes| {
            if let Ok((_, RequestKind::Fetch(message))) = decode_request(bytes) {
                with_request(&message, version, Sender::default(), |request| {
                    assert_eq!(request.topics.len(), message.topics.len());
                });
            }
        }),
        Way::Response => {
            bounded(rest.to_vec(), |bytes| drop(decode_response(bytes, key, version)));
        }
        Way::Asked => bounded([&start, rest].concat(), |bytes| {
            if let Ok(received) = Received::decode(bytes) {
                drop(received.asked(&listener));
                received.reply_to().encode_error(ErrorCode::InvalidRequest).unwrap();
            }
        }),
        Way::Answer => {
            let sent = [&start[..], &rest.first_chunk().copied().unwrap_or([0; 4])].concat();
            let sent = Preamble::read(&sent).unwrap();
            bounded(rest.to_vec(), |bytes| drop(decode_answer(sent, bytes, &listener)));
        }
        Way::Batches => bounded(rest.to_vec(), |bytes| drop(log_batches(&bytes))),
    }
});

fn table() -> Vec<(Way, i16, RangeInclusive<i16>)> {
    let keys = || 0..=i16::from(u8::MAX);
    let requests = keys().filter_map(|key| Some((Way::Request, key, supported_versions(key)?)));
    let responses =
        keys().filter_map(|key| Some((Way::Response, key, supported_response_versions(key)?)));
    let asked = served_versions().map(|(key, versions)| (Way::Asked, key, versions));
    let answers = served_versions().map(|(key, versions)| (Way::Answer, key, versions));
    let batches = [(Way::Batches, 0, 0..=0)];
    requests.chain(responses).chain(asked).chain(answers).chain(batches).collect()
}

fn bounded(bytes: Vec<u8>, decode: impl FnOnce(Bytes)) {
    let bound = bytes.len() * MAX_AMPLIFICATION + 16 * 1024;
    let bytes = Bytes::from(bytes);
    let memory = allocation_counter::measure(|| decode(bytes));
    assert!(memory.bytes_max <= bound as u64, "{memory:?}");
}
