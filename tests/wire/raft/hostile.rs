//! A peer that lies: it is refused, and cannot choose how much memory that takes.

use super::{bytes, kafka, listener, preamble};
use bytes::Bytes;
use kafka_coordination::wire::kraft::{Received, decode_answer, log_batches};
use kafka_coordination::wire::{MAX_AMPLIFICATION, WireError};

/// What decoding may allocate beside [`MAX_AMPLIFICATION`] bytes for each byte.
const SLACK: usize = 16 * 1024;

fn bounded(length: usize, decode: impl FnOnce()) {
    let memory = allocation_counter::measure(decode);
    let bound = u64::try_from(length * MAX_AMPLIFICATION + SLACK).unwrap();
    assert!(memory.bytes_max <= bound, "{memory:?} for {length} bytes");
}

/// Kafka's requests and answers of all versions, each with its key.
fn messages() -> impl Iterator<Item = (i16, i16, Bytes)> {
    let requests = [
        kafka::VOTE,
        kafka::BEGIN,
        kafka::END,
        kafka::FETCH,
        kafka::SNAPSHOT,
        kafka::ADD,
        kafka::REMOVE,
        kafka::UPDATE,
        kafka::API_VERSIONS,
    ];
    requests.into_iter().flatten().map(|(version, hex)| (0, *version, bytes(hex)))
}

fn answers() -> impl Iterator<Item = (i16, i16, Bytes)> {
    let answers = [
        (52, kafka::VOTE_FENCED),
        (53, kafka::BEGUN),
        (54, kafka::ENDED),
        (1, kafka::FETCHED),
        (1, kafka::FETCH_DIVERGING),
        (59, kafka::SNAPSHOT_PART),
        (80, kafka::ADD_DUPLICATE),
        (81, kafka::REMOVED),
        (82, kafka::UPDATED),
        (18, kafka::API_VERSIONS_TOLD),
    ];
    answers.into_iter().flat_map(|(api_key, versions)| {
        versions.iter().map(move |(version, hex)| (api_key, *version, bytes(hex)))
    })
}

#[test]
fn messages_that_are_cut_or_go_on_are_refused() {
    for (_, version, message) in messages() {
        for end in 0..message.len() {
            assert!(Received::decode(message.slice(..end)).is_err(), "version {version}, {end}");
        }
        let longer = [&message[..], &[0]].concat();
        assert!(Received::decode(longer.into()).is_err(), "version {version}");
    }
    for (api_key, version, answer) in answers() {
        let sent = preamble(api_key, version);
        for end in 0..answer.len() {
            let cut = decode_answer(sent, answer.slice(..end), &listener());
            assert!(cut.is_err(), "api {api_key} version {version}, {end}: {cut:?}");
        }
        let longer = [&answer[..], &[0]].concat();
        assert!(decode_answer(sent, longer.into(), &listener()).is_err(), "api {api_key}");
    }
}

#[test]
fn no_byte_makes_decoding_take_more_than_the_bound() {
    for (_, _, message) in messages() {
        for at in 8..message.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut message = message.to_vec();
                message[at] = byte;
                let message = Bytes::from(message);
                bounded(message.len(), || {
                    if let Ok(received) = Received::decode(message) {
                        drop(received.asked(&listener()));
                    }
                });
            }
        }
    }
    for (api_key, version, answer) in answers() {
        let sent = preamble(api_key, version);
        for at in 4..answer.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut answer = answer.to_vec();
                answer[at] = byte;
                let answer = Bytes::from(answer);
                bounded(answer.len(), || drop(decode_answer(sent, answer, &listener())));
            }
        }
    }
}

/// A leader claims more endpoints than its answer can hold.
#[test]
fn a_count_that_lies_is_refused_before_it_is_believed() {
    // Error 0, no topics; one tagged field: 2147483647 node endpoints.
    let answer = bytes("00000007000000010100058080808008");
    let refused = decode_answer(preamble(52, 1), answer, &listener());
    assert!(
        matches!(refused, Err(WireError::CountTooLarge { field: "node_endpoints", .. })),
        "{refused:?}"
    );
}

#[test]
fn many_small_batches_take_no_more_than_the_bound() {
    // A data batch of no records, which Kafka leaves of one whose records are all gone.
    let empty = {
        let mut batch = bytes(kafka::VALUES)[..61].to_vec();
        batch[8..12].copy_from_slice(&49i32.to_be_bytes());
        batch[57..61].copy_from_slice(&0i32.to_be_bytes());
        let checksum = crc32c::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&checksum.to_be_bytes());
        batch
    };
    for batch in [empty, bytes(kafka::CONTROL).to_vec()] {
        let records = Bytes::from(batch.repeat(500));
        bounded(records.len(), || assert_eq!(log_batches(&records).unwrap().len(), 500));
    }
}
