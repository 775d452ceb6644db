//! What a replica wants of its disk and of its state machine.

use crate::cluster::Cluster;
use crate::disk::control_records;
use crate::fault::Fault;
use crate::ledger::digest;
use crate::local::check_books;
use crate::message::SNAPSHOT_SIZE;
use kafka_coordination::kraft::{BatchContent, LogBatch, OffsetAndEpoch};

impl Cluster {
    pub(crate) fn append(&mut self, place: usize, batch: LogBatch) -> Result<(), String> {
        let node = &mut self.nodes[place];
        let (base, last) = (batch.base_offset, batch.last_offset);
        if matches!(batch.content, BatchContent::Records(_)) {
            let is_torn = |&(first, end): &(i64, i64)| {
                first < base && end >= base || first <= last && end > last
            };
            if node.prepared.iter().any(is_torn) {
                return Err(format!("node {place} tears {:?} apart", node.prepared));
            }
            node.prepared.retain(|(_, end)| *end > last);
        }
        let is_control = control_records(&batch).is_some();
        node.disk.append(batch).map_err(|error| format!("node {place}: {error}"))?;
        self.ledger.appended(&self.nodes[place])?;
        if is_control {
            self.look_into_books(place)?;
        }
        Ok(())
    }

    /// The books of a replica are ahead of its disk while it has effects to be carried out; they are looked at when the
    /// last one is.
    fn look_into_books(&self, place: usize) -> Result<(), String> {
        let has_own = self.fault_of(place).is_some_and(Fault::is_in_the_books);
        let node = &self.nodes[place];
        let is_ahead = node
            .replica
            .as_ref()
            .is_none_or(|replica| replica.log().end_offset() != node.disk.end_offset());
        if has_own || is_ahead { Ok(()) } else { check_books(node) }
    }

    pub(crate) fn truncate(&mut self, place: usize, end_offset: i64) -> Result<(), String> {
        let fault = self.fault_of(place);
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let replica = node.replica.as_ref().expect("it is up");
        if end_offset < replica.log().high_watermark() && fault.is_none() {
            return Err(format!("node {place} cuts off what is committed, at {end_offset}"));
        }
        let end_offset = if fault == Some(Fault::NotTruncated) {
            end_offset
        } else {
            node.disk.truncate(end_offset)
        };
        let replica = node.replica.as_mut().expect("it is up");
        replica.truncated(end_offset, &mut node.random, clock);
        self.note(|_| format!("log     node {place} cut off at {end_offset}"));
        self.look_into_books(place)
    }

    pub(crate) fn deliver(&mut self, place: usize, from: i64, to: i64) -> Result<(), String> {
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.machine.next_offset != from {
            return Err(format!(
                "node {place} is at {}, and gets {from}",
                node.machine.next_offset
            ));
        }
        let replica = node.replica.as_ref().expect("it is up");
        if to > replica.log().high_watermark() {
            return Err(format!("node {place} hands out {to}, which it does not know committed"));
        }
        while node.machine.next_offset < to {
            let offset = node.machine.next_offset;
            let batch = node.disk.batch_at(offset).filter(|batch| batch.base_offset == offset);
            let batch = batch.ok_or_else(|| format!("node {place} has no batch at {offset}"))?;
            node.machine.digest = digest(node.machine.digest, batch);
            node.machine.next_offset = batch.last_offset + 1;
        }
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it is up");
        replica.applied(to, &mut node.random, clock);
        self.ledger.applied(&self.nodes[place])
    }

    /// The state machine loads a snapshot: one that leads never does.
    pub(crate) fn load(&mut self, place: usize, id: OffsetAndEpoch) -> Result<(), String> {
        let (now, node) = (self.now, &mut self.nodes[place]);
        let replica = node.replica.as_ref().expect("it is up");
        let epoch = replica.quorum().epoch();
        if node.machine.leader == Some((Some(node.id()), epoch)) {
            return Err(format!("leader {place} loads snapshot {id}"));
        }
        let snapshot = node.disk.snapshots.get(&id);
        let snapshot = snapshot.ok_or_else(|| format!("node {place} has no snapshot {id}"))?;
        node.machine.next_offset = id.offset;
        node.machine.digest = snapshot.digest;
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it is up");
        replica.applied(id.offset, &mut node.random, clock);
        self.ledger.applied(&self.nodes[place])
    }

    pub(crate) fn install(&mut self, place: usize, id: OffsetAndEpoch) -> Result<(), String> {
        let fault = self.fault_of(place);
        let snapshot = self.ledger.snapshot(id).cloned();
        let snapshot = snapshot.ok_or_else(|| format!("nobody has made snapshot {id}"))?;
        let (now, node) = (self.now, &mut self.nodes[place]);
        if node.received != SNAPSHOT_SIZE {
            return Err(format!("node {place} has {} bytes of a snapshot", node.received));
        }
        node.received = 0;
        let control = snapshot.control.clone();
        node.disk.snapshots.insert(id, snapshot);
        if fault != Some(Fault::SnapshotKeepsLog) {
            node.disk.restart_at(id);
        }
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it is up");
        replica.snapshot_installed(id, control, &mut node.random, clock);
        self.note(|_| format!("log     node {place} starts at snapshot {id}"));
        self.look_into_books(place)
    }
}
