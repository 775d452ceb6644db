//! States that leave and enter: each broken invariant is told.

use crate::log::{Fate, Log, data, marker, transactional};
use kafka_coordination::Timestamp;
use kafka_coordination::producer::{
    CachedBatch, EpochBump, ExpiryTime, MarkerKind, Origin, PartitionState, ProducerConfig,
    ProducerEntry, ProducerStateError, ProducerStates, Verdict, Verify,
};

/// A state with something of everything.
fn full() -> PartitionState {
    let mut log = Log::new(ProducerConfig::default().with_verification(Verify::Off));
    assert_eq!(log.client(&transactional(data(1, 0, 0, 4, 0))), Fate::Accepted);
    assert_eq!(log.client(&transactional(data(2, 0, 0, 4, 5))), Fate::Accepted);
    assert_eq!(log.client(&transactional(data(3, 0, 0, 4, 10))), Fate::Accepted);
    let end = |producer, offset| marker(producer, 0, MarkerKind::Abort, 0, offset);
    assert_eq!(log.replicated(&end(2, 15)), Fate::Accepted);
    log.confirm();
    assert_eq!(log.replicated(&end(3, 16)), Fate::Accepted);
    log.verify(7, 0, 0, EpochBump::Supported);
    log.states.snapshot_written(12);
    log.states.export()
}

fn enter(state: &PartitionState) -> Result<ProducerStates, ProducerStateError> {
    ProducerStates::import(ProducerConfig::default(), state)
}

#[test]
fn a_whole_state_enters() {
    let state = full();
    let mut states = enter(&state).unwrap();
    assert_eq!(states.export(), state);
    assert_eq!((states.map_end_offset(), states.snapshot_due()), (16, None));
    let (completed, last_stable_offset) = states.next_completed().unwrap();
    assert_eq!((completed.first_offset, last_stable_offset), (10, 0));
    states.confirm_completed();
    assert_eq!((states.map_end_offset(), states.snapshot_due()), (17, Some(17)));
}

#[test]
fn a_broken_state_does_not() {
    let refused = |change: fn(&mut PartitionState)| {
        let mut state = full();
        change(&mut state);
        enter(&state).unwrap_err()
    };
    let twice = refused(|it| it.producers.push(it.producers[0]));
    assert_eq!(twice, ProducerStateError::DuplicateProducer { producer_id: 1 });
    let negative = refused(|it| it.producers[0].producer_id = -1);
    assert_eq!(negative, ProducerStateError::Producer { producer_id: -1, epoch: 0 });
    let lost = refused(|it| it.ongoing.truncate(1));
    assert_eq!(lost, ProducerStateError::Transaction { producer_id: 3, first_offset: 10 });
    let nobodys = refused(|it| it.unconfirmed.clear());
    assert_eq!(nobodys, ProducerStateError::Transaction { producer_id: 3, first_offset: 10 });
    let anothers = refused(|it| it.ongoing[0].producer_id = 2);
    assert_eq!(anothers, ProducerStateError::Transaction { producer_id: 1, first_offset: 0 });
    let shared = refused(|it| it.unreplicated[0].first_offset = 0);
    assert_eq!(shared, ProducerStateError::Transaction { producer_id: 2, first_offset: 0 });
    let nowhere = refused(|it| it.unreplicated[0].last_offset = -1);
    assert_eq!(nowhere, ProducerStateError::Transaction { producer_id: 2, first_offset: 5 });
    let future = refused(|it| it.next_guard = it.verifications[0].1.guard());
    assert_eq!(future, ProducerStateError::Verification { producer_id: 7, guard: 1 });
    let doubled = refused(|it| it.verifications.push(it.verifications[0]));
    assert_eq!(doubled, ProducerStateError::Verification { producer_id: 7, guard: 1 });
    let below = refused(|it| it.snapshots.push(-4));
    assert_eq!(below, ProducerStateError::Offset { offset: -4 });
    let too_long = refused(|it| {
        let entry = it.producers[0].entry;
        let newest = entry.window().newest().unwrap();
        let window = [CachedBatch { offset_delta: 5, ..newest }].into_iter().collect();
        let open = entry.current_transaction();
        it.producers[0].entry = ProducerEntry::new(0, -1, entry.last_timestamp(), open, window);
    });
    assert_eq!(too_long, ProducerStateError::Batch { producer_id: 1, last_offset: 4 });
    let early = refused(|it| {
        it.unconfirmed.clear();
        it.ongoing.pop();
    });
    assert_eq!(early, ProducerStateError::Offset { offset: 16 });
}

#[test]
fn append_times_leave_and_enter() {
    let config = ProducerConfig::default().with_expiry_time(ExpiryTime::Append);
    let mut states = ProducerStates::new(config.clone());
    let mut append = states.begin(Origin::Client);
    assert_eq!(states.push(&mut append, &data(1, 0, 0, 0, 0)), Ok(Verdict::New));
    states.commit(append, Timestamp::from_millis(5_000)).unwrap();
    let state = states.export();
    assert_eq!(state.producers[0].heard_of.as_millis(), 5_000);
    let mut entered = ProducerStates::import(config, &state).unwrap();
    assert_eq!(entered.export(), state);
    assert_eq!(entered.expire(Timestamp::from_millis(86_404_999)), 0);
    assert_eq!(entered.expire(Timestamp::from_millis(86_405_000)), 1);
}
