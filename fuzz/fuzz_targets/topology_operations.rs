//! Any operations on topology managers, by hosts that keep no order, and from states that were made up: nothing panics, no
//! deadline stays behind, and each operation is answered once.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/topology/operations.rs"]
mod operations;

fuzz_target!(|bytes: &[u8]| operations::follow(bytes));
