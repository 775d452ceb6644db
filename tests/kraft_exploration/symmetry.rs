//! One name for all states that differ only in who is who.

use crate::model::Quorum;
use crate::replica::{Entry, Replica};
use crate::universe::REPLICAS;
use kafka_coordination::kraft::PendingChange;
use std::sync::LazyLock;

type Bytes = Vec<u8>;

/// The orders of the numbers below 0, 1, 2 and so on.
static ORDERS: LazyLock<Vec<Vec<Vec<usize>>>> =
    LazyLock::new(|| (0..=REPLICAS).map(orders).collect());

/// The least of the encodings of a state under all ways to rename replicas that were alike at the
/// start, those that voted and those that did not, by which what each knows comes in order.
pub(crate) fn least(state: &Quorum) -> Bytes {
    let voters = state.committed[0].voters.unwrap().count_ones() as usize;
    let replicas = state.replicas.iter().enumerate();
    let signatures: Vec<_> = replicas.map(|(id, replica)| signature(id, replica)).collect();
    let (first, rest) = signatures.split_at(voters);
    let mut places = Vec::with_capacity(REPLICAS);
    let mut least = None;
    for first in sorted(first) {
        for rest in sorted(rest) {
            places.clear();
            places.extend(first);
            places.extend(rest.iter().map(|id| voters + id));
            let encoding = encode(state, &places);
            if least.as_ref().is_none_or(|least| encoding < *least) {
                least = Some(encoding);
            }
        }
    }
    least.unwrap()
}

/// The orders that sort these.
fn sorted(signatures: &[Bytes]) -> impl Iterator<Item = &'static Vec<usize>> {
    let orders = ORDERS[signatures.len()].iter();
    orders.filter(|order| order.is_sorted_by(|&one, &next| signatures[one] <= signatures[next]))
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    for next in 0..count {
        let insert = |order: &Vec<usize>| {
            let insert = |place| {
                let mut order = order.clone();
                order.insert(place, next);
                order
            };
            (0..=next).map(insert).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(insert).collect();
    }
    found
}

/// What a replica knows, whatever it and the others are called.
fn signature(id: usize, replica: &Replica) -> Bytes {
    let mut out = vec![replica.epoch, u8::from(replica.leading.is_some())];
    for entry in &replica.log {
        let voters = entry.voters.map_or(0, |bits| {
            0x80 | (bits >> id & 1) << 3 | u8::try_from(bits.count_ones()).unwrap()
        });
        out.extend([entry.epoch, voters]);
    }
    out
}

/// The state, with replica `places[0]` as the first one, and so on.
fn encode(state: &Quorum, places: &[usize]) -> Bytes {
    let mut names = [0; REPLICAS];
    for (name, &id) in places.iter().enumerate() {
        names[id] = name;
    }
    let mut out = Vec::with_capacity(128);
    out.extend([state.requests, u8::from(state.is_broken)]);
    entries(&state.committed, &names, &mut out);
    for &id in places {
        replica(&state.replicas[id], places, &names, &mut out);
    }
    out
}

fn replica(replica: &Replica, places: &[usize], names: &[usize; REPLICAS], out: &mut Bytes) {
    out.push(replica.epoch);
    entries(&replica.log, names, out);
    let Some(leading) = &replica.leading else { return out.push(0) };
    let offset = |offset: Option<i64>| offset.map_or(0, |offset| 1 + u8::try_from(offset).unwrap());
    let is_pending = leading.changes.pending() == PendingChange::Yes;
    out.extend([1, u8::from(is_pending), offset(leading.leader.high_watermark())]);
    out.push(leading.queued.map_or(0, |voters| renamed(voters, names)));
    for &id in places {
        out.push(offset(replica.known_end(id)));
    }
}

fn entries(log: &[Entry], names: &[usize; REPLICAS], out: &mut Bytes) {
    out.push(u8::try_from(log.len()).unwrap());
    for entry in log {
        out.extend([entry.epoch, entry.voters.map_or(0, |voters| renamed(voters, names))]);
    }
}

fn renamed(voters: u8, names: &[usize; REPLICAS]) -> u8 {
    names.iter().enumerate().map(|(id, name)| (voters >> id & 1) << name).sum()
}
