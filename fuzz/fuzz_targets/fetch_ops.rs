//! Lists of operations on session caches, made of any bytes: a cache does what its model does, and
//! one that is told which partitions change answers as one that visits all.
#![no_main]
#![allow(dead_code, reason = "the modules of the model tests have more than is used here")]

use libfuzzer_sys::fuzz_target;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[path = "../../tests/fetch_model/driver.rs"]
mod driver;
#[path = "../../tests/fetch_model/encoding.rs"]
mod encoding;
#[path = "../../tests/fetch_model/model/mod.rs"]
mod model;
#[path = "../../tests/fetch_model/operation.rs"]
mod operation;
#[path = "../../tests/fetch_model/reading.rs"]
mod reading;
#[path = "../../tests/fetch_model/request.rs"]
mod request;
#[path = "../../tests/fetch_model/tracking/mod.rs"]
mod tracking;
#[path = "../../tests/fetch_model/twin.rs"]
mod twin;
#[path = "../../tests/fetch_model/universe.rs"]
mod universe;

/// How many bytes stand for one operation.
const CHUNK: usize = 4;

// The first byte chooses the comparison, the next ones the cache, and then each chunk an operation:
// a list is cut, copied and joined as its bytes are.
fuzz_target!(|input: &[u8]| {
    let [comparison, a, b, rest @ ..] = input else { return };
    let chunks = rest.chunks(CHUNK);
    let result = if comparison % 3 == 0 {
        let setup = drawn(&operation::setup(), &[*a, *b]);
        let strategy = operation::timed_operation();
        let operations: Vec<_> = chunks.map(|chunk| drawn(&strategy, chunk)).collect();
        twin::follow(&setup, &operations).map_err(|error| error.to_string())
    } else {
        let topics = if comparison % 3 == 1 { tracking::FEW } else { tracking::TOPICS.len() };
        let strategy = tracking::fetcher::timed_operation(topics);
        let operations: Vec<_> = chunks.map(|chunk| drawn(&strategy, chunk)).collect();
        tracking::Twins::new(None).run(&operations)
    };
    if let Err(difference) = result {
        panic!("{difference}");
    }
});

/// What a strategy of the tests draws for these bytes.
fn drawn<S: Strategy>(strategy: &S, bytes: &[u8]) -> S::Value {
    let mut seed = [0; 32];
    seed[..bytes.len()].copy_from_slice(bytes);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    strategy.new_tree(&mut runner).unwrap().current()
}
