//! The self-test as a test, and what it costs.

use crate::self_test;
use allocation_counter::measure;

/// What broker and client may hold at once, both of them in this process. Their largest messages, of a megabyte each,
/// are there several times over.
const MAX_BYTES: u64 = 16 << 20;

/// All on one thread, whose memory can be counted: no client makes the broker set aside what it merely claims to send.
#[test]
fn the_self_test_holds_in_bounded_memory() {
    let mut held = false;
    let used = measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        held = runtime.block_on(self_test::run()).unwrap();
    });
    assert!(held);
    assert!(used.bytes_max < MAX_BYTES, "{} bytes", used.bytes_max);
}
