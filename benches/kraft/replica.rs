//! Three replicas that do what replicas do all day: append and replicate, or nothing.

use crate::cluster::{Cluster, Disk, value};
use crate::ratio::{is_measuring, paired};
use bytes::Bytes;
use criterion::Criterion;
use std::hint::black_box;
use std::time::Instant;

/// Copies of a batch: to the disk of each of three replicas.
const COPIES: usize = 3;
/// Batches after which events are counted.
const BATCHES: u32 = 100_000;

/// Benches appends of three sizes, replicated and committed, and polls that find nothing to do.
pub(crate) fn bench(criterion: &mut Criterion) {
    for (name, size) in [("8 B", 8), ("1 KiB", 1 << 10), ("64 KiB", 64 << 10)] {
        let value = value(size);
        let mut cluster = Cluster::new();
        cluster.append(&value);
        let mut disks: Vec<_> = (0..COPIES).map(|_| Disk::new()).collect();
        let floor = || {
            for disk in &mut disks {
                disk.write(black_box(&value));
            }
        };
        let case = || {
            cluster.append(&value);
            black_box(cluster.high_watermark());
        };
        paired(criterion, &format!("replica/append and replicate/{name}"), floor, case);
    }
    events();
    idle(criterion);
}

/// How many calls into replicas a second, and how many a batch.
fn events() {
    let name = "replica/events";
    if !is_measuring(name) {
        return;
    }
    let value = Bytes::from_static(b"12345678");
    let mut cluster = Cluster::new();
    cluster.append(&value);
    let before = cluster.events;
    let start = Instant::now();
    for _ in 0..BATCHES {
        cluster.append(&value);
    }
    let seconds = start.elapsed().as_secs_f64();
    let events = cluster.events - before;
    let (a_batch, total) = (events / u64::from(BATCHES), u32::try_from(events).expect("some"));
    let million = f64::from(total) / seconds / 1e6;
    println!("figure {name}: {million:.2} million a second, {a_batch} a batch");
}

/// Polls that find nothing to do, beside the comparison of a deadline.
fn idle(criterion: &mut Criterion) {
    let mut cluster = Cluster::new();
    cluster.append(&Bytes::from_static(b"12345678"));
    for (name, place) in [("leader", cluster.leader()), ("follower", cluster.follower())] {
        let deadline = cluster.poll_idle(place);
        let floor = || {
            let _ = black_box(black_box(deadline) <= black_box(deadline));
        };
        let case = || {
            let _ = black_box(cluster.poll_idle(place));
        };
        paired(criterion, &format!("replica/idle poll/{name}"), floor, case);
    }
}
