//! What holds in every state, and what is reached in some.

use crate::model::{Bounds, Quorum};
use crate::universe::voter_set;
use stateright::{Expectation, Property};

/// The names of what holds in every state.
pub(crate) fn always() -> Vec<&'static str> {
    let always = all().into_iter().filter(|property| property.expectation == Expectation::Always);
    always.map(|property| property.name).collect()
}

pub(crate) fn all() -> Vec<Property<Bounds>> {
    vec![
        Property::<Bounds>::always("an epoch has one leader", |_, state| one_leader(state)),
        Property::<Bounds>::always("a log has one uncommitted voters record", |_, state| {
            state.replicas.iter().all(|replica| {
                let common = replica.log.iter().zip(&state.committed);
                let common = common.take_while(|(one, other)| one == other).count();
                let uncommitted = replica.log[common..].iter();
                uncommitted.filter(|entry| entry.voters.is_some()).count() <= 1
            })
        }),
        Property::<Bounds>::always("majorities overlap", |_, state| majorities_overlap(state)),
        Property::<Bounds>::always("what is committed stays", |_, state| !state.is_broken),
        Property::<Bounds>::sometimes("all changes are committed", |bounds, state| {
            let changes = state.committed.iter().filter(|entry| entry.voters.is_some());
            changes.count() == usize::from(bounds.requests) + 1
        }),
        Property::<Bounds>::sometimes(
            "a later leader commits a change of an earlier one",
            |_, state| {
                let leaders = state.leaders().filter_map(|(_, replica)| replica.leading.as_ref());
                let mut leaders =
                    leaders.filter(|leading| leading.leader.high_watermark().is_some());
                leaders.any(|leading| {
                    let epoch = u8::try_from(leading.leader.epoch()).unwrap();
                    let start = usize::try_from(leading.leader.epoch_start_offset()).unwrap();
                    let earlier = state.committed.get(1..start).unwrap_or_default();
                    earlier.iter().any(|entry| entry.voters.is_some() && entry.epoch < epoch)
                })
            },
        ),
        Property::<Bounds>::sometimes("a leader has removed itself", |_, state| {
            let mut leaders = state.leaders().filter_map(|(_, replica)| replica.leading.as_ref());
            leaders.any(|leading| leading.leader.is_resignation_requested())
        }),
        Property::<Bounds>::sometimes("two replicas lead, in different epochs", |_, state| {
            state.leaders().count() > 1
        }),
    ]
}

fn one_leader(state: &Quorum) -> bool {
    let epochs: Vec<_> = state.leaders().map(|(_, replica)| replica.epoch).collect();
    (1..epochs.len()).all(|place| !epochs[..place].contains(&epochs[place]))
}

/// Voters that follow each other in a log, and those by which the newest leader commits beside the last
/// committed ones.
fn majorities_overlap(state: &Quorum) -> bool {
    let overlap = |one: u8, other: u8| {
        one == other || voter_set(one).has_overlapping_majority(&voter_set(other))
    };
    let follow_each_other = state.replicas.iter().all(|replica| {
        let sets: Vec<_> = replica.log.iter().filter_map(|entry| entry.voters).collect();
        sets.windows(2).all(|pair| overlap(pair[0], pair[1]))
    });
    let newest = state.leaders().max_by_key(|(_, replica)| replica.epoch);
    let commits = newest.filter(|(_, replica)| {
        let leading = replica.leading.as_ref().unwrap();
        leading.leader.high_watermark().is_some()
    });
    let committed = state.committed.iter().rev().find_map(|entry| entry.voters).unwrap();
    follow_each_other && commits.is_none_or(|(_, replica)| overlap(replica.voters().1, committed))
}
