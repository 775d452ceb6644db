//! Elections, as a host sees them.

use crate::host::{Host, Least, config, endpoints, header, key, nothing_fetched, storage};
use crate::peers::fetched;
use kafka_coordination::kraft::{
    BeginQuorumEpochRequest, Effect, ElectionState, Endpoints, EpochState, EpochStateKind,
    OffsetAndEpoch, VoteRequest,
};

#[test]
fn a_vote_is_durable_before_it_is_answered() {
    let mut host = Host::unattached();
    host.effects.clear();
    let request = VoteRequest {
        voter: Some(key(1)),
        candidate: key(2),
        epoch: 6,
        log_end: OffsetAndEpoch::new(10, 4),
        is_pre_vote: false,
    };
    host.ask_for_vote(&request);
    let place = |wanted: fn(&Effect) -> bool| host.effects.iter().rposition(wanted);
    let persisted = place(
        |effect| matches!(effect, Effect::Persist(persist) if persist.election.voted_key() == Some(key(2))),
    );
    let answered = place(|effect| matches!(effect, Effect::Reply { .. }));
    assert!(persisted.is_some() && persisted < answered, "{:?}", host.effects);
}

#[test]
fn the_only_voter_leads_at_once_and_the_host_hears_of_it_once_its_epoch_is_committed() {
    let mut host = Host::only_leader();
    let kinds = |effects: &[Effect]| {
        let kinds = effects.iter().filter_map(|effect| match effect {
            Effect::Append(batch) => {
                Some(format!("append {}..{}", batch.base_offset, batch.last_offset))
            }
            Effect::Flush { end_offset } => Some(format!("flush {end_offset}")),
            Effect::HighWatermark(offset) => Some(format!("committed {offset}")),
            Effect::LeaderChanged { leader_id, epoch } => {
                Some(format!("{leader_id:?} leads {epoch}"))
            }
            _ => None,
        });
        kinds.collect::<Vec<_>>()
    };
    let expected = ["append 10..12", "flush 13", "committed 13", "Some(1) leads 6"];
    assert_eq!(kinds(&host.effects), expected);
    // Nothing is left to be done by the time.
    assert_eq!(host.replica.next_deadline(), None);
    host.tick();
}

/// KAFKA-16926, and what Kafka's process ends on: a leader that nobody knows where to find.
#[test]
fn a_leader_without_endpoints_is_known_and_followed_once_it_says_where_it_is() {
    let election = ElectionState::with_elected_leader(5, 4, None, []).expect("an id");
    let mut host = Host::start(config(), storage(&[1, 2, 3], &[(9, 4)], election));
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Unattached);
    assert_eq!(host.replica.quorum().state().leader_id(), Some(4));
    host.effects.clear();
    host.tick();
    let (correlation, to, _) = host.only_sent();
    assert!(to.id < 0, "a bootstrap server is asked, not {to:?}");

    // It is that leader, and has nothing new.
    host.respond(correlation, fetched(4, 5, nothing_fetched(Some(10))));
    let EpochState::Follower(follower) = host.replica.quorum().state() else {
        panic!("{:?}", host.replica.quorum().state());
    };
    assert_eq!((follower.leader_id(), follower.high_watermark()), (4, Some(10)));
}

#[test]
fn a_leader_that_is_named_without_endpoints_does_not_end_the_epochs_votes() {
    let mut host = Host::unattached();
    let id = host.request_id();
    let request = BeginQuorumEpochRequest {
        voter: Some(key(1)),
        leader_id: 9,
        epoch: 5,
        leader_endpoints: Endpoints::empty(),
    };
    host.replica.handle_begin_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    let state = host.replica.quorum().state();
    assert_eq!((state.kind(), state.leader_id()), (EpochStateKind::Unattached, Some(9)));
    // An epoch that has a leader has no vote left to give.
    assert!(!host.replica.quorum().can_grant_vote(key(2), true, false));
    let id = host.request_id();
    let request = BeginQuorumEpochRequest { leader_endpoints: endpoints(9), ..request };
    host.replica.handle_begin_quorum_epoch(id, &header(), &request, &mut Least, host.now);
    host.carry_out();
    assert_eq!(host.replica.quorum().state().kind(), EpochStateKind::Follower);
}

#[test]
fn calling_early_or_twice_is_harmless() {
    let mut host = Host::unattached();
    host.tick();
    host.effects.clear();
    let deadline = host.replica.next_deadline().expect("an election is due some time");
    assert!(deadline > host.now);
    for _ in 0..3 {
        host.tick();
        assert_eq!(host.effects, []);
        assert_eq!(host.replica.next_deadline(), Some(deadline));
    }
}
