//! Fetches that wait at a leader of three, which leads epoch 6 and whose log ends at 13.

use super::Leave;
use super::serving::{answer, append, served};
use crate::host::{Host, key};
use crate::peers::fetch_of;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::KnownHighWatermark::{At, Unknown, Unsupported};
use kafka_coordination::kraft::{Effect, FetchRecordsRequest, OffsetAndEpoch, Reply, VoteRequest};

/// KIP-1166: a fetch at the end of the log waits, unless more is committed than its sender knows.
#[test]
fn a_fetch_waits_for_news_of_commits_if_its_sender_can_be_told() {
    // Nobody knows anything.
    for known in [Unknown, Unsupported] {
        let mut host = Host::leader();
        let mut by_observer = fetch_of(7, (13, 6), 6);
        by_observer.high_watermark = known;
        assert_eq!(answer(&mut host, &by_observer), None);
        // Then 13 is committed, and all that wait are told.
        let replies = host.serve(&fetch_of(2, (13, 6), 6));
        assert_eq!(replies.len(), 2, "{replies:?}");
        for reply in replies {
            let answer = served(&reply);
            assert_eq!((answer.error, answer.body.high_watermark), (ErrorCode::None, Some(13)));
        }
        for (known, waits) in
            [(Unsupported, true), (At(13), true), (At(14), true), (At(12), false), (Unknown, false)]
        {
            by_observer.high_watermark = known;
            let answer = answer(&mut host, &by_observer);
            assert_eq!(answer.is_none(), waits, "{known:?}");
            if let Some(answer) = answer {
                assert_eq!((answer.body.high_watermark, answer.body.records), (Some(13), None));
            }
        }
    }
}

/// testPurgatoryFetchSatisfiedByWrite, testPurgatoryFetchTimeout.
#[test]
fn fetches_that_wait_are_answered_in_the_order_in_which_they_came() {
    let waiting = |id| FetchRecordsRequest { high_watermark: At(13), ..fetch_of(id, (13, 6), 6) };
    let mut host = Host::leader();
    host.serve(&fetch_of(2, (13, 6), 6));
    let mut ids = Vec::new();
    for id in [8, 7, 9, 3] {
        assert_eq!(answer(&mut host, &waiting(id)), None);
        ids.push(id);
    }
    append(&mut host, 1);
    let answered: Vec<_> = host
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Reply { request, reply } => Some((request.0, served(reply).body.records)),
            _ => None,
        })
        .collect();
    let (order, records): (Vec<_>, Vec<_>) = answered.into_iter().unzip();
    assert_eq!(order.len(), ids.len(), "each once");
    assert!(order.is_sorted(), "{order:?}");
    let read = records[0].expect("there is something to read");
    assert_eq!((read.from, read.max_bytes), (13, 1_000));
    assert!(records.iter().all(|it| *it == Some(read)));
    host.effects.clear();
    host.after(500);
    assert_eq!(host.replies(), [], "none is answered again");
}

/// Asks for a vote in a later epoch that is not granted, whatever else is answered.
fn refused_vote(host: &mut Host, epoch: i32) -> bool {
    host.effects.clear();
    host.ask_for_vote(&VoteRequest {
        voter: Some(key(1)),
        candidate: key(2),
        epoch,
        log_end: OffsetAndEpoch::new(9, 4),
        is_pre_vote: false,
    });
    host.replica.quorum().state().voted_key().is_some()
}

/// testPurgatoryFetchCompletedByFollowerTransition, KAFKA-10677. Kafka lets them wait when it only hears of a later
/// epoch, and answers then as if it still led.
#[test]
fn fetches_that_wait_are_sent_away_with_the_leadership() {
    let leave: [(Leave, Option<i32>, i32); 3] = [
        (|host| _ = host.begun(2, 7), Some(2), 7),
        (|host| assert!(!refused_vote(host, 7)), None, 7),
        (
            |host| {
                host.replica.resign(6, host.now).expect("it leads");
                host.tick();
            },
            Some(1),
            6,
        ),
    ];
    for (leave, leader_id, epoch) in leave {
        let mut host = Host::leader();
        let mut waiting = fetch_of(3, (13, 6), 6);
        waiting.high_watermark = Unsupported;
        host.serve(&fetch_of(2, (13, 6), 6));
        assert_eq!(answer(&mut host, &waiting), None);
        leave(&mut host);
        let replies = host.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { reply: Reply::Fetch(answer), .. } => answer.partition.clone(),
            _ => None,
        });
        let replies: Vec<_> = replies.collect();
        let [answer] = &replies[..] else { panic!("{replies:?}") };
        assert_eq!(answer.error, ErrorCode::NotLeaderOrFollower);
        assert_eq!((answer.leader_id, answer.epoch), (leader_id, epoch));
        assert_eq!(answer.body.records, None);
    }
}
