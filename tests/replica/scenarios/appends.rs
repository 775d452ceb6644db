//! What a leader writes, when, and what becomes of it when it leads no more.

use super::Leave;
use crate::host::{Host, Least, config, static_storage, storage};
use crate::peers::fetch_of;
use bytes::Bytes;
use kafka_coordination::kraft::EpochStateKind::{Follower, Resigned, Unattached};
use kafka_coordination::kraft::{
    AppendError, BatchContent, Effect, ElectionState, KRaftVersion, UpgradeMode,
};

fn records(count: usize, bytes: usize) -> Vec<Bytes> {
    vec![Bytes::from(vec![7; bytes]); count]
}

/// The batches that were written since the last look: first and last offset, and whether they are control batches.
fn written(host: &mut Host) -> Vec<(i64, i64, bool)> {
    let effects = std::mem::take(&mut host.effects);
    let written = effects.into_iter().filter_map(|effect| match effect {
        Effect::Append(batch) => {
            let is_control = matches!(batch.content, BatchContent::Control(_));
            Some((batch.base_offset, batch.last_offset, is_control))
        }
        _ => None,
    });
    written.collect()
}

/// The only voter, which leads epoch 6 and whose log ends at 13; its records wait 50 ms for company.
fn lingering() -> Host {
    let mut config = config();
    config.append_linger_ms = 50;
    config.max_batch_bytes = 100;
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config, storage(&[1], &[(9, 4)], unknown));
    host.tick();
    host.effects.clear();
    host
}

fn prepare(host: &mut Host, count: usize) -> Result<i64, AppendError> {
    host.replica.prepare_append(6, records(count, 10), host.now)
}

/// testChannelWokenUpIfLingerTimeoutReachedWithoutAppend, testChannelWokenUpIfLingerTimeoutReachedDuringAppend.
#[test]
fn records_are_due_50_ms_after_the_first_of_them() {
    let mut host = lingering();
    assert_eq!(host.replica.next_deadline(), None, "there is nothing to write");
    host.after(1_000);
    prepare(&mut host, 1).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    assert_eq!(host.replica.next_deadline(), Some(host.now), "the host is woken");
    host.tick();
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(50)));
    host.after(20);
    prepare(&mut host, 1).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
    assert_eq!(host.replica.next_deadline(), Some(host.now.saturating_add(30)));
    host.after(29);
    assert_eq!(written(&mut host), []);
    host.after(1);
    assert_eq!(written(&mut host), [(13, 14, false)]);
    assert_eq!(host.replica.next_deadline(), None);
}

/// KAFKA-17304.
#[test]
fn what_is_written_is_scheduled_and_full_or_has_waited() {
    enum Step {
        Prepare,
        Schedule,
        Wait(i64),
    }
    use Step::{Prepare, Schedule, Wait};
    // Two records make a batch of 100 bytes full.
    for (steps, expected) in [
        (vec![Prepare, Wait(50), Wait(1_000)], vec![]),
        (vec![Prepare, Schedule, Wait(10)], vec![]),
        (vec![Prepare, Schedule, Wait(49)], vec![]),
        (vec![Prepare, Schedule, Wait(50)], vec![(13, 13, false)]),
        (vec![Prepare, Wait(49), Schedule, Wait(1)], vec![(13, 13, false)]),
        (vec![Prepare, Wait(80), Schedule, Wait(0)], vec![(13, 13, false)]),
        // A full batch does not wait, but for being scheduled; with it goes the one that is not full.
        (vec![Prepare, Prepare, Prepare, Wait(0)], vec![]),
        (
            vec![Prepare, Prepare, Prepare, Schedule, Wait(0)],
            vec![(13, 14, false), (15, 15, false)],
        ),
        // A batch is held while one of its records is only prepared.
        (vec![Prepare, Schedule, Prepare, Wait(1_000)], vec![]),
        (vec![Prepare, Schedule, Prepare, Wait(50), Schedule, Wait(0)], vec![(13, 14, false)]),
        // And so are those behind it.
        (vec![Prepare, Prepare, Prepare, Prepare, Wait(1_000)], vec![]),
    ] {
        let mut host = lingering();
        for step in steps {
            match step {
                Prepare => _ = prepare(&mut host, 1).expect("there is room"),
                Schedule => host.replica.schedule_append(host.now).expect("it leads"),
                Wait(ms) => host.after(ms),
            }
        }
        assert_eq!(written(&mut host), expected);
        let due = host.replica.next_deadline();
        assert!(due.is_none_or(|due| due > host.now), "it does not spin");
    }
}

#[test]
fn a_batch_is_as_large_as_it_may_be_to_the_byte() {
    // 61 + 32 bytes, and 7 for attributes, timestamp, offset, key, length, headers and the size of them all.
    for (bytes, fits) in [(32, true), (33, false)] {
        let mut host = lingering();
        let prepared = host.replica.prepare_append(6, records(1, bytes), host.now);
        assert_eq!(prepared.is_ok(), fits, "{prepared:?}");
        if !fits {
            assert_eq!(prepared, Err(AppendError::TooLarge { bytes: 101, limit: 100 }));
        }
    }
}

/// testLeaderAppendSingleMemberQuorum.
#[test]
fn the_only_voter_commits_what_is_on_its_disk() {
    let mut host = lingering();
    prepare(&mut host, 2).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.after(50);
    let place = |wanted: fn(&Effect) -> bool| host.effects.iter().position(wanted);
    let append = place(|effect| matches!(effect, Effect::Append(_)));
    let flush = place(|effect| matches!(effect, Effect::Flush { end_offset: 15 }));
    let committed = place(|effect| matches!(effect, Effect::HighWatermark(15)));
    let delivered = place(|effect| matches!(effect, Effect::Deliver { from: 13, to: 15 }));
    // Kafka tells of the commit before the flush.
    assert!(append < flush && flush < committed && committed < delivered, "{:?}", host.effects);
    assert!(append.is_some());
}

/// testListenerCommitCallbackAfterLeaderWrite.
#[test]
fn a_leader_of_two_commits_what_the_other_has_and_tells_of_it_once() {
    let unknown = ElectionState::with_unknown_leader(5, []);
    let mut host = Host::start(config(), storage(&[1, 2], &[(9, 4)], unknown));
    host.elect(&[2]);
    host.serve(&fetch_of(2, (13, 6), 6));
    host.tick();
    prepare(&mut host, 2).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.effects.clear();
    host.tick();
    assert_eq!(host.delivered(), []);
    host.serve(&fetch_of(2, (15, 6), 6));
    assert_eq!(host.delivered(), [(13, 15)]);
    host.serve(&fetch_of(2, (15, 6), 6));
    host.tick();
    assert_eq!(host.delivered(), []);
}

/// testAccumulatorClearedAfterBecomingFollower, testAccumulatorClearedAfterBecomingUnattached,
/// testAccumulatorClearedAfterBecomingVoted.
#[test]
fn what_was_not_written_is_gone_with_the_leadership() {
    let leave: [(_, Leave); 4] = [
        (Follower, |host| _ = host.begun(2, 7)),
        (Unattached, |host| assert!(!host.grants(2, 7, (9, 4), false))),
        (Unattached, |host| assert!(host.grants(2, 7, (13, 6), false))),
        (Resigned, |host| host.replica.resign(6, host.now).expect("it leads")),
    ];
    for (state, leave) in leave {
        let mut host = Host::leader();
        prepare(&mut host, 1).expect("it leads");
        host.replica.schedule_append(host.now).expect("it leads");
        leave(&mut host);
        host.effects.clear();
        host.tick();
        assert_eq!(host.kind().0, state);
        assert_eq!((written(&mut host), host.replica.log().end_offset()), (vec![], 13));
        assert!(prepare(&mut host, 1).is_err());
        assert!(host.replica.schedule_append(host.now).is_err());
        // When it leads again it writes on from where its log ends.
        if state == Unattached {
            host.elect(&[2]);
            assert_eq!(host.replica.log().end_offset(), 14);
        }
    }
}

/// Records that are only prepared hold up control records behind them, too: what a leader writes is in order.
#[test]
fn control_records_wait_for_what_is_prepared_before_them() {
    let unknown = ElectionState::with_unknown_leader(5, []);
    let disk = static_storage(&[1], &[(9, 4)], unknown);
    let mut host = Host::start(config(), disk);
    host.tick();
    host.effects.clear();
    prepare(&mut host, 1).expect("it leads");
    let upgraded =
        host.replica.upgrade_kraft_version(6, KRaftVersion::V1, UpgradeMode::Apply, host.now);
    assert_eq!(upgraded, Ok(true));
    host.after(1_000);
    assert_eq!(written(&mut host), []);
    host.replica.schedule_append(host.now).expect("it leads");
    host.tick();
    assert_eq!(written(&mut host), [(11, 11, false), (12, 13, true)]);
}

/// Kafka tells of a commit that a crash can take back.
#[test]
fn what_is_on_its_way_to_the_disk_of_the_only_voter_is_not_committed() {
    let mut host = lingering();
    prepare(&mut host, 1).expect("it leads");
    host.replica.schedule_append(host.now).expect("it leads");
    host.now = host.now.saturating_add(50);
    host.replica.handle_timeout(&mut Least, host.now);
    let mut effects = Vec::new();
    while let Some(effect) = host.replica.poll_effect() {
        effects.push(effect);
    }
    assert!(effects.contains(&Effect::Flush { end_offset: 14 }), "{effects:?}");
    assert!(!effects.contains(&Effect::HighWatermark(14)), "{effects:?}");
    assert_eq!(host.replica.log().high_watermark(), 13);
    host.replica.flushed(14, &mut Least, host.now);
    host.carry_out();
    assert!(host.effects.contains(&Effect::HighWatermark(14)), "{:?}", host.effects);
}
