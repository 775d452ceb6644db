//! Requests and fetch responses of any bytes: decoding neither panics nor takes more memory than
//! promised, and what decodes can be handed to the cache.
#![no_main]

use bytes::Bytes;
use kafka_coordination::wire::fetch::{Sender, with_request};
use kafka_coordination::wire::{
    MAX_AMPLIFICATION, decode_fetch_response, decode_request, supported_versions,
};
use kafka_protocol::messages::RequestKind;
use libfuzzer_sys::fuzz_target;

// The first byte chooses the API, the second one its version; the rest follows both on the wire.
fuzz_target!(|input: &[u8]| {
    let [api, version, rest @ ..] = input else {
        return;
    };
    let apis: Vec<_> = (0..=i16::from(u8::MAX))
        .filter_map(|key| supported_versions(key).map(|versions| (key, versions)))
        .collect();
    // One place behind the APIs stands for fetch responses.
    let Some((key, versions)) = apis.get(usize::from(*api) % (apis.len() + 1)) else {
        let version = 4 + i16::from(version % 15);
        return bounded(rest.to_vec(), |bytes| drop(decode_fetch_response(bytes, version)));
    };
    let count = i16::try_from(versions.clone().count()).unwrap();
    let version = versions.start() + i16::from(*version) % count;
    let request = [&key.to_be_bytes(), &version.to_be_bytes(), rest].concat();
    bounded(request, |bytes| {
        if let Ok((_, RequestKind::Fetch(message))) = decode_request(bytes) {
            with_request(&message, version, Sender::default(), |request| {
                assert_eq!(request.topics.len(), message.topics.len());
            });
        }
    });
});

fn bounded(bytes: Vec<u8>, decode: impl FnOnce(Bytes)) {
    let bound = bytes.len() * MAX_AMPLIFICATION + 16 * 1024;
    let bytes = Bytes::from(bytes);
    let memory = allocation_counter::measure(|| decode(bytes));
    assert!(memory.bytes_max <= bound as u64, "{memory:?}");
}
