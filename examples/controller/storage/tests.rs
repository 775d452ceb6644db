//! Disks that a crash has left.

use super::{Disk, First, Identity, METADATA, Recovered};
use crate::random::HostRandom;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    ControlRecord, ElectionState, Endpoint, InitialQuorum, KRaftVersion, OffsetAndEpoch, Persist,
    SnapshotHeader, VoterSet, encode_control_batch, encode_data_batch, encode_snapshot_footer,
    encode_snapshot_header,
};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

const NOW: Timestamp = Timestamp::from_millis(1_000);

/// A place for a directory, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let own = format!("kafka-coordination-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(own))
    }

    /// Starts the node, a standalone one if the directory is new.
    fn open(&self) -> io::Result<Recovered> {
        let identity = Identity {
            node_id: 1,
            cluster_id: Some("cluster".to_owned()),
            advertised: Endpoint::new("CONTROLLER", "localhost", 9093),
        };
        let bootstrap = "localhost:9093".parse().unwrap();
        let first = First { quorum: InitialQuorum::Standalone, bootstrap, ..First::default() };
        Disk::open(&self.0, &identity, &first, VoterSet::empty(), NOW, &mut HostRandom::new())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(METADATA).join(name)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(METADATA)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn batch(base_offset: i64, epoch: i32, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_data_batch(base_offset, epoch, NOW, vec!["value"; count], &mut bytes).unwrap();
    bytes
}

/// Appends batches of three records, from where the log ends.
fn append(disk: &mut Disk, epoch: i32, batches: usize) {
    for _ in 0..batches {
        let bytes = batch(disk.log.end_offset(), epoch, 3);
        disk.log.append(&bytes).unwrap();
    }
    disk.log.flush().unwrap();
}

fn snapshot(id: OffsetAndEpoch, voters: &VoterSet) -> Vec<u8> {
    let header = SnapshotHeader {
        last_contained_log_timestamp: NOW,
        kraft_version: KRaftVersion::V1,
        voters: Some(voters.clone()),
    };
    let mut bytes = Vec::new();
    let next = encode_snapshot_header(&header, id.epoch, NOW, &mut bytes).unwrap();
    encode_snapshot_footer(next, id.epoch, NOW, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_new_directory_is_formatted_once() {
    let place = Place::new("formatted");
    let Recovered { meta, disk, storage, bytes_cut } = place.open().unwrap();
    assert_eq!((meta.node_id, meta.cluster_id.as_str(), bytes_cut), (1, "cluster", 0));
    let voters = storage.control.voters();
    assert_eq!(
        voters.keys().map(|key| (key.id, key.directory_id)).collect::<Vec<_>>(),
        [(1, Some(meta.directory_id))]
    );
    assert_eq!((storage.log.end_offset(), storage.election), (0, None));
    assert!(place.open().is_err(), "another process has the lock");
    drop(disk);
    assert_eq!(place.open().unwrap().meta, meta);
    assert_eq!(
        place.files(),
        ["00000000000000000000-0000000000.checkpoint", "00000000000000000000.log"]
    );
}

#[test]
fn a_log_that_is_cut_anywhere_keeps_the_batches_before() {
    let place = Place::new("cut");
    let mut disk = place.open().unwrap().disk;
    let log = place.file("00000000000000000000.log");
    let mut ends = Vec::new();
    for _ in 0..3 {
        append(&mut disk, 1, 1);
        ends.push(fs::metadata(&log).unwrap().len());
    }
    drop(disk);
    let whole = fs::read(&log).unwrap();
    for length in 0..=whole.len() {
        fs::write(&log, &whole[..length]).unwrap();
        let Recovered { disk, storage, bytes_cut, .. } = place.open().unwrap();
        let kept = ends.iter().filter(|end| **end <= length as u64).count();
        assert_eq!(storage.log.end_offset(), 3 * i64::try_from(kept).unwrap(), "{length} bytes");
        assert_eq!(storage.control.next_offset(), storage.log.end_offset());
        let cut = length as u64 - kept.checked_sub(1).map_or(0, |last| ends[last]);
        assert_eq!(bytes_cut, cut);
        assert_eq!(fs::metadata(&log).unwrap().len(), length as u64 - cut);
        drop(disk);
    }
}

#[test]
fn a_batch_whose_bytes_are_damaged_is_cut_off() {
    let place = Place::new("damaged");
    let mut disk = place.open().unwrap().disk;
    append(&mut disk, 1, 2);
    drop(disk);
    let log = place.file("00000000000000000000.log");
    let whole = fs::read(&log).unwrap();
    for at in whole.len() / 2..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&log, &bytes).unwrap();
        let recovered = place.open().unwrap();
        let epoch_is_unchecked = (12..16).contains(&(at - whole.len() / 2));
        let end = if epoch_is_unchecked { 6 } else { 3 };
        assert_eq!(recovered.storage.log.end_offset(), end, "byte {at}");
    }
}

#[test]
fn voters_in_the_log_are_read_again() {
    let place = Place::new("voters");
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    let voters = storage.control.voters().clone();
    let other = "2@localhost:9094:AAAAAAAAAAcAAAAAAAAAyQ"
        .parse::<kafka_coordination::kraft::DynamicVoter>();
    let both = voters.add_voter(other.unwrap().to_voter_node(&"CONTROLLER".into())).unwrap();
    append(&mut disk, 1, 1);
    let mut bytes = Vec::new();
    let records = [ControlRecord::Voters(both.clone())];
    encode_control_batch(3, 1, NOW, &records, &mut bytes).unwrap();
    disk.log.append(&bytes).unwrap();
    drop(disk);
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    assert_eq!((storage.control.voters(), storage.control.voters_offset()), (&both, Some(3)));
    assert_eq!(disk.log.truncate(3).unwrap(), 3);
    drop(disk);
    assert_eq!(place.open().unwrap().storage.control.voters(), &voters);
}

#[test]
fn a_promise_is_kept() {
    let place = Place::new("promise");
    let Recovered { disk, meta, .. } = place.open().unwrap();
    let key = kafka_coordination::kraft::ReplicaKey::new(2, meta.directory_id);
    let election = ElectionState::with_voted_candidate(7, key, []).unwrap();
    disk.persist(&Persist { election: election.clone(), version: KRaftVersion::V1 }).unwrap();
    drop(disk);
    // A crash while the next one was written.
    fs::write(place.file("quorum-state.tmp"), "{").unwrap();
    assert_eq!(place.open().unwrap().storage.election, Some(election));
    fs::write(place.file("quorum-state"), "{").unwrap();
    assert!(place.open().is_err(), "a promise that cannot be read is not forgotten");
}

#[test]
fn a_log_is_cut_off_where_a_batch_starts() {
    let place = Place::new("truncated");
    let mut disk = place.open().unwrap().disk;
    append(&mut disk, 1, 3);
    assert_eq!(disk.log.truncate(7).unwrap(), 6);
    append(&mut disk, 2, 1);
    drop(disk);
    let storage = place.open().unwrap().storage;
    assert_eq!((storage.log.end_offset(), storage.log.last_fetched_epoch()), (9, 2));
    assert_eq!(storage.log.end_offset_for_epoch(1), OffsetAndEpoch::new(6, 1));
}

#[test]
fn what_a_snapshot_has_is_dropped() {
    let place = Place::new("dropped");
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    append(&mut disk, 1, 3);
    let id = OffsetAndEpoch::new(6, 1);
    disk.snapshots.write(id, &snapshot(id, storage.control.voters())).unwrap();
    disk.delete_before(id).unwrap();
    append(&mut disk, 1, 1);
    assert_eq!(disk.log.read(6, 1).unwrap(), batch(6, 1, 3));
    drop(disk);
    let storage = place.open().unwrap().storage;
    assert_eq!((storage.log.start_offset(), storage.log.end_offset()), (6, 12));
    assert_eq!(storage.log.snapshots(), [id]);
    assert_eq!(
        place.files(),
        ["00000000000000000006-0000000001.checkpoint", "00000000000000000006.log"]
    );
}

#[test]
fn a_crash_between_the_new_file_and_the_old_one_loses_nothing() {
    let place = Place::new("between");
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    append(&mut disk, 1, 3);
    let id = OffsetAndEpoch::new(6, 1);
    disk.snapshots.write(id, &snapshot(id, storage.control.voters())).unwrap();
    let old = fs::read(place.file("00000000000000000000.log")).unwrap();
    let first = fs::read(place.file("00000000000000000000-0000000000.checkpoint")).unwrap();
    disk.delete_before(id).unwrap();
    drop(disk);
    fs::write(place.file("00000000000000000000.log"), &old).unwrap();
    fs::write(place.file("00000000000000000000-0000000000.checkpoint"), first).unwrap();
    let Recovered { disk, storage, .. } = place.open().unwrap();
    assert_eq!((storage.log.start_offset(), storage.log.end_offset()), (6, 9));
    assert_eq!(
        place.files(),
        ["00000000000000000006-0000000001.checkpoint", "00000000000000000006.log"]
    );
    drop(disk);
    // And before the new one had its name.
    fs::rename(place.file("00000000000000000006.log"), place.file("00000000000000000006.log.new"))
        .unwrap();
    fs::write(place.file("00000000000000000000.log"), old).unwrap();
    let storage = place.open().unwrap().storage;
    assert_eq!((storage.log.start_offset(), storage.log.end_offset()), (0, 9));
}

#[test]
fn a_snapshot_ahead_of_the_log_takes_its_place() {
    let place = Place::new("ahead");
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    append(&mut disk, 1, 1);
    let id = OffsetAndEpoch::new(50, 4);
    let bytes = snapshot(id, storage.control.voters());
    disk.snapshots.open_part(id).unwrap();
    disk.snapshots.write_part(&bytes[..70]).unwrap();
    drop(disk);
    // It was not whole.
    let mut disk = place.open().unwrap().disk;
    assert_eq!(
        (disk.log.end_offset(), disk.snapshots.ids()),
        (3, &[OffsetAndEpoch::BOOTSTRAP][..])
    );
    disk.snapshots.open_part(id).unwrap();
    disk.snapshots.write_part(&bytes[..70]).unwrap();
    disk.snapshots.write_part(&bytes[70..]).unwrap();
    disk.snapshots.complete_part().unwrap();
    drop(disk);
    // The process ended before the log was replaced.
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    assert_eq!((storage.log.start_offset(), storage.log.end()), (50, id));
    append(&mut disk, 4, 1);
    drop(disk);
    assert_eq!(place.open().unwrap().storage.log.end_offset(), 53);
}

#[test]
fn a_log_whose_start_nothing_has_is_refused() {
    let place = Place::new("start");
    drop(place.open().unwrap());
    fs::write(place.file("00000000000000000006.log"), batch(6, 1, 3)).unwrap();
    assert!(place.open().is_err());
    assert!(place.files().contains(&"00000000000000000000.log".to_owned()), "nothing is deleted");
}

#[test]
fn another_nodes_directory_is_refused() {
    let place = Place::new("other");
    drop(place.open().unwrap());
    let meta = place.0.join("meta.properties");
    let content = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, content.replace("node.id=1", "node.id=2")).unwrap();
    assert!(place.open().is_err());
    fs::write(&meta, content.replace("cluster.id=cluster", "cluster.id=another")).unwrap();
    assert!(place.open().is_err());
    fs::write(&meta, content).unwrap();
    OpenOptions::new().append(true).open(&meta).unwrap().write_all(b"more=1\n").unwrap();
    assert!(place.open().is_ok(), "what is not known is passed over");
}

#[test]
fn whole_batches_are_read_up_to_a_limit() {
    let place = Place::new("read");
    let mut disk = place.open().unwrap().disk;
    append(&mut disk, 1, 3);
    let size = batch(0, 1, 3).len();
    for (from, limit, batches) in [
        (0, 0, 1),
        (0, size, 1),
        (0, 2 * size - 1, 1),
        (0, 2 * size, 2),
        (4, 1 << 20, 2),
        (9, 1, 0),
    ] {
        let bytes = disk.log.read(from, limit).unwrap();
        assert_eq!(bytes.len(), batches * size, "from {from} up to {limit} bytes");
    }
}
