//! Anything to one replica of a quorum: peers that answer what they like, a host that is slow, a clock that goes back,
//! crashes. Nothing panics, what is said is durable, and what was decided stays so.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/replica/operations/mod.rs"]
mod operations;

fuzz_target!(|bytes: &[u8]| operations::follow(bytes));
