//! Disks that have lost more than a crash takes, and directories that were never to be used.

use super::{NOW, Place, append, snapshot};
use crate::random::HostRandom;
use crate::storage::{Disk, First, Identity, METADATA, Recovered};
use kafka_coordination::kraft::{
    ElectionState, Endpoint, InitialQuorum, KRaftVersion, OffsetAndEpoch, Persist, VoterSet,
    encode_snapshot_footer,
};
use std::fs;

#[test]
fn damage_before_whole_batches_is_refused_and_left_as_it_is() {
    let place = Place::new("middle");
    let mut disk = place.open().unwrap().disk;
    append(&mut disk, 1, 3);
    drop(disk);
    let log = place.file("00000000000000000000.log");
    let whole = fs::read(&log).unwrap();
    let length = whole.len() / 3;
    // The batch's epoch is not in its checksum.
    for at in (0..2 * length).filter(|at| !(12..16).contains(&(at % length))) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&log, &bytes).unwrap();
        assert!(place.open().is_err(), "byte {at}");
        assert!(fs::read(&log).unwrap() == bytes, "byte {at}");
    }
}

#[test]
fn a_directory_that_lacks_a_file_is_refused() {
    let place = Place::new("lacking");
    let Recovered { mut disk, meta, .. } = place.open().unwrap();
    append(&mut disk, 1, 1);
    let election = ElectionState::with_elected_leader(1, 1, None, []).unwrap();
    disk.persist(&Persist { election, version: KRaftVersion::V1 }).unwrap();
    drop(disk);
    let missing = [place.file("00000000000000000000.log"), place.0.join("meta.properties")];
    for file in missing.iter().chain([&place.0.join(METADATA)]) {
        let away = place.0.join("away");
        fs::rename(file, &away).unwrap();
        assert!(place.open().is_err(), "without {}", file.display());
        fs::rename(&away, file).unwrap();
    }
    fs::copy(&missing[0], place.file("00000000000000000002.log")).unwrap();
    assert!(place.open().is_err(), "two segments, of which only one would be read");
    fs::remove_file(place.file("00000000000000000002.log")).unwrap();
    let Recovered { meta: again, storage, .. } = place.open().unwrap();
    assert_eq!((again, storage.log.end_offset()), (meta, 3));
}

#[test]
fn a_directory_that_an_older_kafka_formatted_is_taken() {
    let place = Place::new("older");
    drop(place.open().unwrap());
    fs::remove_dir_all(place.0.join(METADATA)).unwrap();
    fs::write(place.0.join("bootstrap.checkpoint"), "").unwrap();
    assert_eq!(place.open().unwrap().storage.log.end_offset(), 0);
}

#[test]
fn a_damaged_snapshot_takes_no_logs_place() {
    let place = Place::new("unsound");
    let Recovered { mut disk, storage, .. } = place.open().unwrap();
    append(&mut disk, 1, 1);
    let log = fs::read(place.file("00000000000000000000.log")).unwrap();
    let id = OffsetAndEpoch::new(100, 2);
    let whole = snapshot(id, storage.control.voters());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    // The footer is a batch of its own.
    let header = whole.len() - footer_length();
    for bytes in [&flipped[..], &whole[..whole.len() - 1], &whole[..header], &[]] {
        disk.snapshots.open_part(id).unwrap();
        disk.snapshots.write_part(bytes).unwrap();
        assert!(disk.snapshots.complete_part().is_err(), "{} bytes", bytes.len());
        assert!(!disk.snapshots.ids().contains(&id));
    }
    drop(disk);
    let path = place.file("00000000000000000100-0000000002.checkpoint");
    for bytes in [&flipped[..], &whole[..header], &[]] {
        fs::write(&path, bytes).unwrap();
        assert!(place.open().is_err(), "{} bytes", bytes.len());
        assert_eq!(fs::read(place.file("00000000000000000000.log")).unwrap(), log);
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(place.open().unwrap().storage.log.start_offset(), 100);
}

fn footer_length() -> usize {
    let mut bytes = Vec::new();
    encode_snapshot_footer(0, 0, NOW, &mut bytes).unwrap();
    bytes.len()
}

#[test]
fn a_node_that_nobody_could_talk_to_is_not_formatted() {
    let place = Place::new("refused");
    let formatted = |cluster_id: Option<&str>, quorum| {
        let identity = Identity {
            node_id: 1,
            cluster_id: cluster_id.map(str::to_owned),
            advertised: Endpoint::new("CONTROLLER", "localhost", 9093),
        };
        let first = First { quorum, ..First::default() };
        let random = &mut HostRandom::new();
        Disk::open(&place.0, &identity, &first, VoterSet::empty(), NOW, random).is_ok()
    };
    assert!(!formatted(Some("cluster"), InitialQuorum::Unspecified), "nobody to ask");
    assert!(!formatted(None, InitialQuorum::Standalone), "no cluster");
    assert!(!formatted(Some("a\nnode.id=2"), InitialQuorum::Standalone), "two properties");
    assert!(!place.0.join("meta.properties").exists());
    assert!(formatted(Some("cluster"), InitialQuorum::Standalone));
}
