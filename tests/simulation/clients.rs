//! Those who want something of the cluster: a client that appends, an administrator, and state machines that make snapshots.

use crate::cluster::Cluster;
use crate::disk::Snapshot;
use crate::event::Event;
use crate::node::{Owed, endpoints};
use crate::plan::Home;
use bytes::Bytes;
use kafka_coordination::kraft::{
    Acknowledge, AddVoter, ControlRecord, KRaftVersion, OffsetAndEpoch, RemoveVoter, ReplicaKey,
    RequestId, UpgradeMode,
};

/// What the administrator asks for.
enum Change {
    Add(usize),
    Remove(ReplicaKey),
}

impl Cluster {
    pub(crate) fn client_append(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.append_every, Event::Append);
        let Some(place) = self.leader() else { return Ok(()) };
        let count = 1 + self.dice.below(3);
        let values = (0..count).map(|_| {
            self.next_value += 1;
            Bytes::copy_from_slice(&self.next_value.to_be_bytes())
        });
        let values: Vec<_> = values.collect();
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it leads");
        let epoch = replica.quorum().epoch();
        let count = i64::try_from(values.len()).expect("a few");
        if let Ok(last) = replica.prepare_append(epoch, values, clock) {
            node.prepared.push((last + 1 - count, last));
            replica.schedule_append(clock).expect("it leads");
        }
        self.settle(place)
    }

    /// Adds or removes a voter, or raises the level of `kraft.version`.
    pub(crate) fn administrator(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.change_every, Event::Change);
        let Some(place) = self.leader().filter(|_| !self.is_healed) else { return Ok(()) };
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it leads");
        let voters = replica.control_log().voters().clone();
        if !replica.kraft_version().is_reconfiguration_supported() {
            if self.plan.home == Home::ConfigurationAtFirst {
                let epoch = replica.quorum().epoch();
                // It is refused until every voter has told of itself.
                let level = KRaftVersion::LATEST;
                let upgrade =
                    replica.upgrade_kraft_version(epoch, level, UpgradeMode::Apply, clock);
                self.note(|_| format!("change  at {place} of kraft.version: {upgrade:?}"));
                return self.settle(place);
            }
            return Ok(());
        }
        let target = self.dice.below(self.nodes.len());
        let has_voter = |place: usize| voters.is_voter(&self.nodes[place].key());
        // A voter that has lost its disk counts for nothing: it goes before anybody else does.
        let lost = self
            .wiped
            .filter(|place| voters.get(self.nodes[*place].id()).is_some() && !has_voter(*place));
        let change = match lost {
            Some(lost) => voters.get(self.nodes[lost].id()).map(|voter| Change::Remove(voter.key)),
            None if self.plan.wipes => None,
            None if has_voter(target) => {
                Some(Change::Remove(self.nodes[target].key())).filter(|_| voters.len() > 1)
            }
            None => Some(Change::Add(target)),
        };
        change.map_or(Ok(()), |change| self.change(place, &change))
    }

    fn change(&mut self, place: usize, change: &Change) -> Result<(), String> {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let added = match change {
            Change::Add(other) => Some((self.nodes[*other].key(), *other)),
            Change::Remove(_) => None,
        };
        let (now, listeners) = (self.now, self.plan.listeners);
        let node = &mut self.nodes[place];
        let clock = node.clock(now);
        node.owed.insert(id, Owed { sender: None, request: None, since: clock });
        let replica = node.replica.as_mut().expect("it leads");
        let voter = match (change, added) {
            (Change::Remove(voter), _) => {
                let remove = RemoveVoter { cluster_id: None, voter: *voter };
                replica.handle_remove_voter(id, &remove, &mut node.random, clock);
                *voter
            }
            (Change::Add(_), Some((voter, other))) => {
                let add = AddVoter {
                    cluster_id: None,
                    voter,
                    endpoints: endpoints(other, listeners),
                    acknowledge: Acknowledge::Committed,
                };
                replica.handle_add_voter(id, &add, &mut node.random, clock);
                voter
            }
            (Change::Add(_), None) => return Ok(()),
        };
        let what = if added.is_some() { "added" } else { "removed" };
        self.note(|_| format!("change  at {place}: {voter} is to be {what}"));
        self.settle(place)
    }

    /// A node makes a snapshot of what its state machine has, and may delete what is before it.
    pub(crate) fn snapshot(&mut self) -> Result<(), String> {
        self.events.push(self.now + self.plan.snapshot_every, Event::Snapshot);
        let place = self.dice.below(self.nodes.len());
        let deletes = self.dice.happens(700);
        let node = &mut self.nodes[place];
        let Some(replica) = &mut node.replica else { return Ok(()) };
        let offset = node.machine.next_offset;
        let Some(epoch) = node.disk.epoch_of_end(offset) else { return Ok(()) };
        let id = OffsetAndEpoch::new(offset, epoch);
        if !replica.may_make_snapshot(id) {
            return Ok(());
        }
        let control = replica.control_log();
        let voters = control.voters_at(offset - 1).expect("it is read").cloned();
        let version = control.kraft_version_at(offset - 1).expect("it is read");
        let mut records = vec![ControlRecord::KRaftVersion(version)];
        records.extend(voters.map(ControlRecord::Voters));
        let snapshot = Snapshot { control: records, digest: node.machine.digest };
        self.ledger.snapshot_made(id, &snapshot)?;
        node.disk.snapshots.insert(id, snapshot);
        if !replica.snapshot_made(id) {
            return Err(format!("node {place} may make snapshot {id} and may not"));
        }
        if deletes && replica.delete_before(id) {
            node.disk.delete_before(id);
        }
        self.note(|_| format!("log     node {place} makes snapshot {id}, deletes: {deletes}"));
        Ok(())
    }
}
