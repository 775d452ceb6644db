//! Who votes: keys, endpoints and voter sets.

use crate::quorum::{key, listener, on_disk, voter, voters};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{
    BlankListenerName, DirectoryId, Endpoint, Endpoints, KRaftVersion, ListenerName,
    ParseDirectoryIdError, ReplicaKey, SupportedVersions, VoterChangeError, VoterNode, VoterSet,
};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use std::collections::HashSet;

/// The static voters with these ids.
fn static_voters(ids: impl IntoIterator<Item = i32>) -> VoterSet {
    let address = |id| (id, format!("host-{id}"), 9_000);
    VoterSet::from_addresses(&listener(), ids.into_iter().map(address))
}

#[test]
fn a_key_without_directory_stands_for_every_directory_but_not_the_other_way_round() {
    let (bare, a, b) = (ReplicaKey::without_directory(1), on_disk(1, 1), on_disk(1, 2));
    for (stored, presented, matches) in [
        (bare, bare, true),
        (bare, a, true),
        (a, bare, false),
        (a, a, true),
        (a, b, false),
        (a, ReplicaKey { id: 2, ..a }, false),
    ] {
        assert_eq!(stored.matches(&presented), matches, "{stored} and {presented}");
        let two = VoterSet::new([VoterNode { key: stored, ..voter(1) }, voter(9)]);
        assert_eq!(two.is_voter(&presented), matches);
        // To remove one its key must be told exactly.
        assert_eq!(two.remove_voter(&presented).is_ok(), stored == presented);
        let one = two.remove_voter(&key(9)).unwrap();
        assert_eq!(one.is_only_voter(&presented), matches);
        assert!(!two.is_only_voter(&presented));
    }
}

#[test]
fn keys_are_ordered_by_the_signed_halves_of_their_directory() {
    let directory = |bits| ReplicaKey::from_wire(1, bits);
    let ascending = [
        ReplicaKey::from_wire(-1, u128::MAX),
        directory(1 << 127),
        directory(u128::MAX),
        // Of the half of all zero bits the other one is signed as well.
        directory(1 << 63),
        ReplicaKey::without_directory(1),
        directory(1),
        directory(1 << 64),
        ReplicaKey::from_wire(2, 1 << 127),
    ];
    assert!(ascending.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_directory_id_is_read_as_kafka_reads_it() {
    let id = DirectoryId::from_u128(0x0007_0000_0000_0000_0065).unwrap();
    let parse = str::parse::<DirectoryId>;
    assert_eq!(id.to_string(), "AAAAAAAAAAcAAAAAAAAAZQ");
    for text in ["AAAAAAAAAAcAAAAAAAAAZQ", "AAAAAAAAAAcAAAAAAAAAZQ==", "AAAAAAAAAAcAAAAAAAAAZR"] {
        assert_eq!(parse(text), Ok(id), "{text}");
    }
    assert_eq!(parse("AAAAAAAAAAAAAAAAAAAAAA"), Err(ParseDirectoryIdError::Zero));
    assert_eq!(parse("AAAAAAAAAAcAAAAAAAAAZQ="), Err(ParseDirectoryIdError::Length { length: 23 }));
    assert_eq!(
        parse("AAAAAAAA+AcAAAAAAAAAZQ"),
        Err(ParseDirectoryIdError::Character { byte: b'+', position: 8 })
    );
    assert_eq!(DirectoryId::from_bytes([0; 16]), None);
    assert_eq!(DirectoryId::from_bytes(id.to_bytes()), Some(id));
}

#[test]
fn new_directory_ids_are_random_uuids_that_no_command_takes_for_an_option() {
    let mut random = Pcg64::seed_from_u64(7);
    let ids: HashSet<_> = (0..1_000).map(|_| DirectoryId::random(&mut random)).collect();
    assert_eq!(ids.len(), 1_000);
    for id in ids {
        let uuid = uuid::Uuid::from(id);
        assert_eq!(uuid.get_version_num(), 4);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
        assert!(!id.to_string().starts_with('-'));
    }
}

#[test]
fn a_broken_generator_still_gives_a_directory_id() {
    /// Draws what makes an id start with `-`.
    struct Dashes;
    impl kafka_coordination::Random for Dashes {
        fn below(&mut self, bound: core::num::NonZeroU32) -> u32 {
            0xf800 % bound
        }
    }
    assert!(!DirectoryId::random(&mut Dashes).to_string().starts_with('-'));
}

#[test]
fn names_in_requests_are_upper_cased_and_the_last_of_a_name_stays() {
    let endpoints = Endpoints::from_request([
        ("controller", "a", 1),
        ("Other", "b", 2),
        ("CONTROLLER", "c", 3),
    ]);
    let expected =
        Endpoints::new([Endpoint::new("OTHER", "b", 2), Endpoint::new("CONTROLLER", "c", 3)]);
    assert_eq!(endpoints, Ok(expected));
    for blank in ["", "  ", "\t\n\u{1}"] {
        assert_eq!(Endpoints::from_request([(blank, "a", 1)]), Err(BlankListenerName));
    }
    // Names that are given by the host's own configuration are taken as they are.
    let own = Endpoints::new([Endpoint::new("controller", "a", 1)]);
    assert_eq!(own.get(&ListenerName::new("CONTROLLER")), None);
    assert_eq!(own.get(&ListenerName::new("controller")).map(|it| it.port), Some(1));
}

#[test]
fn hosts_differ_by_their_letters_but_not_by_their_case() {
    let at = |host: &str| Endpoints::new([Endpoint::new(listener(), host, 1)]);
    assert_eq!(at("Host-1.Example"), at("host-1.example"));
    assert_ne!(at("localhost"), at("127.0.0.1"));
    assert_ne!(at("::1"), at("0:0:0:0:0:0:0:1"));
}

#[test]
fn a_response_tells_the_leaders_endpoint_at_the_listener_it_came_by() {
    let nodes = [(1, "a", 1), (2, "b", 2)];
    let leader = Endpoints::new([Endpoint::new(listener(), "b", 2)]);
    assert_eq!(Endpoints::from_response(&listener(), 2, nodes), leader);
    assert!(Endpoints::from_response(&listener(), 3, nodes).is_empty());
    assert_eq!(Endpoints::from_update_response(&listener(), 2, "b", 2), leader);
    // No leader, no host, no port.
    for (leader_id, host, port) in [(-1, "b", 2), (2, "", 2), (2, "b", -1), (2, "b", 65_536)] {
        let endpoints = Endpoints::from_update_response(&listener(), leader_id, host, port);
        assert!(endpoints.is_empty(), "{leader_id} {host} {port}");
    }
}

#[test]
fn a_voter_is_asked_for_by_id_and_listener() {
    let three = voters([3, 1, 2]);
    assert_eq!(three.ids().collect::<Vec<_>>(), [1, 2, 3]);
    let endpoint = three.endpoint(1, &listener()).unwrap();
    assert_eq!((&*endpoint.host, endpoint.port), ("host-1", 9_001));
    assert_eq!(three.endpoint(1, &ListenerName::new("OTHER")), None);
    assert_eq!(three.endpoint(4, &listener()), None);
    assert!(three.endpoints(4).is_empty() && !three.endpoints(3).is_empty());
    assert_eq!(VoterSet::new([]), VoterSet::empty());
}

#[test]
fn adding_refuses_an_id_that_is_there() {
    let three = voters([1, 2, 3]);
    let other_disk = VoterNode { key: on_disk(2, 9), ..voter(2) };
    for again in [voter(2), other_disk] {
        let error = three.add_voter(again.clone()).unwrap_err();
        assert_eq!(error, VoterChangeError::Duplicate { key: again.key, voter: key(2) });
        assert_eq!(error.code(), ErrorCode::DuplicateVoter);
    }
    assert_eq!(three.add_voter(voter(4)), Ok(voters([1, 2, 3, 4])));
}

#[test]
fn removing_refuses_who_is_not_there_and_the_last() {
    let three = voters([1, 2, 3]);
    for (who, present) in
        [(ReplicaKey::without_directory(4), None), (key(4), None), (on_disk(3, 9), Some(key(3)))]
    {
        let error = three.remove_voter(&who).unwrap_err();
        assert_eq!(error, VoterChangeError::NotFound { key: who, voter: present });
        assert_eq!(error.code(), ErrorCode::VoterNotFound);
    }
    assert_eq!(three.remove_voter(&key(3)), Ok(voters([1, 2])));
    let last = voters([1]).remove_voter(&key(1)).unwrap_err();
    assert_eq!(last, VoterChangeError::OnlyVoter { key: key(1) });
    assert_eq!(last.code(), ErrorCode::VoterNotFound);
}

#[test]
fn updating_replaces_the_entry_of_the_same_replica() {
    let three = voters([1, 2, 3]);
    let moved = VoterNode {
        endpoints: Endpoints::new([Endpoint::new(listener(), "elsewhere", 1)]),
        ..voter(3)
    };
    assert!(three.voter_needs_update(&moved) && !three.voter_needs_update(&voter(3)));
    let updated = three.update_voter(moved.clone()).unwrap();
    assert_eq!(updated.get(3), Some(&moved));

    let other_disk = VoterNode { key: on_disk(3, 9), ..moved };
    for stranger in [voter(4), other_disk.clone()] {
        assert!(three.update_voter(stranger.clone()).is_err());
        assert!(!three.voter_needs_update(&stranger));
    }
    // While nobody's directory is known, it is not looked at, and one may follow another.
    let updated = static_voters([1, 2, 3]).update_voter_ignoring_directory_id(voter(3)).unwrap();
    let updated = updated.update_voter_ignoring_directory_id(other_disk.clone()).unwrap();
    assert_eq!(updated.get(3), Some(&other_disk));
    assert!(updated.update_voter_ignoring_directory_id(voter(4)).is_err());
}

#[test]
fn an_entry_without_directory_can_be_told_it() {
    let told = static_voters([1, 2]).update_voter(voter(2)).unwrap();
    assert!(told.is_voter(&key(2)) && !told.is_voter(&on_disk(2, 9)));
}

#[test]
fn a_set_supports_what_all_its_voters_do() {
    let unsupported = static_voters([1, 2]);
    assert!(unsupported.supports_version(KRaftVersion::V0));
    assert!(!unsupported.supports_version(KRaftVersion::V1));
    assert!(voters([1, 2]).supports_version(KRaftVersion::V1));
    let only_new =
        VoterNode { supported_versions: SupportedVersions::new(1, 2).unwrap(), ..voter(3) };
    let mixed = voters([1, 2]).add_voter(only_new).unwrap();
    assert!(!mixed.supports_version(KRaftVersion::V0));
    assert!(mixed.supports_version(KRaftVersion::V1));
}

#[test]
fn supported_versions_are_a_range_from_zero_on() {
    for (min, max) in [(-1, 1), (0, -1), (2, 1), (i16::MIN, i16::MAX)] {
        assert!(SupportedVersions::new(min, max).is_err(), "{min} to {max}");
    }
    assert!(SupportedVersions::new(i16::MAX, i16::MAX).is_ok());
    assert_eq!(KRaftVersion::from_level(2).map_err(|error| error.level), Err(2));
    assert!(KRaftVersion::V0 < KRaftVersion::V1);
    assert_eq!(KRaftVersion::V1.quorum_state_version(), 1);
}

/// The sets of these two sizes with so many voters in common.
fn with_common(a: i32, b: i32, common: i32) -> (VoterSet, VoterSet) {
    (voters(0..a), voters((a - common)..(a - common + b)))
}

#[test]
fn majorities_overlap_after_one_addition_or_removal_but_not_after_a_replacement() {
    for size in 1..8 {
        let (before, after) = with_common(size, size + 1, size);
        assert!(before.has_overlapping_majority(&after));
        assert!(after.has_overlapping_majority(&before));
    }
    // The same id on another disk is another voter: 1 and 3 of before, 2 and 3 of after.
    let before = voters([1, 2, 3]);
    let after =
        before.update_voter_ignoring_directory_id(VoterNode { key: on_disk(3, 2), ..voter(3) });
    assert!(!before.has_overlapping_majority(&after.unwrap()));
    for (a, b, common, overlap) in [
        (1, 1, 0, false),
        (2, 2, 1, true),
        (3, 3, 2, false),
        (4, 4, 3, true),
        (5, 5, 4, false),
        (2, 4, 2, true),
        (4, 2, 2, true),
        (4, 6, 4, true),
        (3, 5, 3, false),
        (5, 3, 3, false),
        (5, 5, 3, false),
    ] {
        let (before, after) = with_common(a, b, common);
        assert_eq!(before.has_overlapping_majority(&after), overlap, "{a} {b} {common}");
    }
}

/// Whether there are majorities of both sets without a voter in common, tried one by one.
fn tried(a: &VoterSet, b: &VoterSet) -> bool {
    let majorities = |set: &VoterSet| {
        let keys: Vec<_> = set.keys().collect();
        let subsets = (0_u32..1 << keys.len()).map(move |bits| {
            let chosen = keys.iter().enumerate().filter(move |(place, _)| bits >> place & 1 == 1);
            chosen.map(|(_, key)| *key).collect::<HashSet<_>>()
        });
        let majority = set.majority();
        subsets.filter(move |subset| subset.len() >= majority).collect::<Vec<_>>()
    };
    let of_b = majorities(b);
    majorities(a).iter().all(|of_a| of_b.iter().all(|of_b| !of_a.is_disjoint(of_b)))
}

#[test]
fn the_count_of_overlaps_is_what_trying_all_majorities_finds() {
    for a in 1..=5 {
        for b in 1..=5 {
            for common in 0..=a.min(b) {
                let (before, after) = with_common(a, b, common);
                let found = tried(&before, &after);
                assert_eq!(before.has_overlapping_majority(&after), found, "{a} {b} {common}");
            }
        }
    }
}

#[test]
fn a_set_is_cloned_without_copying_its_voters() {
    let three = voters([1, 2, 3]);
    let shared = three.clone();
    assert_eq!(three.iter().as_slice().as_ptr(), shared.iter().as_slice().as_ptr());
}
