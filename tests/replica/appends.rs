//! Records of the state machine: prepared, scheduled, written.

use crate::host::Host;
use bytes::Bytes;
use kafka_coordination::kraft::{AppendError, BatchContent, Effect};

fn records(count: usize, bytes: usize) -> Vec<Bytes> {
    vec![Bytes::from(vec![7; bytes]); count]
}

/// The batches of data that were written since the last time: first and last offset.
fn written(host: &mut Host) -> Vec<(i64, i64)> {
    let effects = std::mem::take(&mut host.effects);
    let written = effects.into_iter().filter_map(|effect| match effect {
        Effect::Append(batch) if matches!(batch.content, BatchContent::Records(_)) => {
            Some((batch.base_offset, batch.last_offset))
        }
        _ => None,
    });
    written.collect()
}

#[test]
fn what_is_prepared_is_written_once_it_is_scheduled() {
    let mut host = Host::only_leader();
    host.effects.clear();
    assert_eq!(host.replica.prepare_append(6, records(2, 10), host.now), Ok(14));
    assert_eq!(host.replica.prepare_append(6, records(1, 10), host.now), Ok(15));
    host.after(1_000);
    assert_eq!(written(&mut host), []);
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
    assert_eq!(written(&mut host), [(13, 15)]);
    assert_eq!(host.replica.log().high_watermark(), 16);
}

#[test]
fn appends_that_cannot_be_taken_change_nothing() {
    let mut host = Host::only_leader();
    let now = host.now;
    let limit = host.replica.config().max_batch_bytes;
    let replica = &mut host.replica;
    let stale = AppendError::NotLeader { epoch: 5 };
    assert_eq!(replica.prepare_append(5, records(1, 1), now), Err(stale));
    let early = AppendError::FutureEpoch { epoch: 7 };
    assert_eq!(replica.prepare_append(7, records(1, 1), now), Err(early));
    assert_eq!(replica.prepare_append(6, Vec::new(), now), Err(AppendError::Empty));
    let large = replica.prepare_append(6, records(1, limit), now);
    assert!(matches!(large, Err(AppendError::TooLarge { .. })), "{large:?}");
    assert_eq!(replica.prepare_append(6, records(1, 1), now), Ok(13));
}

#[test]
fn batches_that_wait_are_bounded() {
    let mut host = Host::only_leader();
    let now = host.now;
    let (limit, most) = (host.replica.config().max_batch_bytes, host.replica.config().max_batches);
    let mut prepare = || host.replica.prepare_append(6, records(1, limit - 100), now);
    // One is open beside those that wait.
    for _ in 0..=most {
        prepare().expect("there is room");
    }
    assert_eq!(prepare(), Err(AppendError::TooManyBatches { waiting: most }));
    host.replica.schedule_append(now).expect("it leads");
    host.tick();
    assert_eq!(written(&mut host).len(), most + 1);
}

#[test]
fn a_follower_takes_no_appends() {
    let mut host = Host::follower();
    let refused = AppendError::NotLeader { epoch: 5 };
    assert_eq!(host.replica.prepare_append(5, records(1, 1), host.now), Err(refused));
    assert_eq!(host.replica.schedule_append(host.now), Err(refused));
}
