//! Formatting a node, and the configuration of its quorum.

use crate::quorum::listener;
use kafka_coordination::Timestamp;
use kafka_coordination::kraft::{
    Address, AddressError, BootstrapServers, ControlLog, ControlRecord, DirectoryId, DirectoryKind,
    DynamicVoter, DynamicVoters, Endpoint, FormatError, FormatPlan, FormatRequest, Formatted,
    InitialQuorum, KRaftVersion, ListenerName, LogDirectory, NodeConfig, NodeConfigError,
    ParseDirectoryIdError, ParseVoterError, ParseVotersError, ProcessRoles, ReplicaKey,
    StaticVoters, SupportedVersions,
};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

const DIRECTORY: &str = "K90IZ-0DRNazJ49kCZ1EMQ";
const OTHER_DIRECTORY: &str = "aUARLskQTCW4qCZDtS_cwA";

fn voter(text: &str) -> Result<DynamicVoter, ParseVoterError> {
    text.replace("DIR", DIRECTORY).parse()
}

fn first_voters(text: &str) -> Result<DynamicVoters, ParseVotersError> {
    text.replace("DIR", DIRECTORY).parse()
}

#[test]
fn a_voter_is_an_id_a_host_a_port_and_a_directory() {
    for (text, host) in [
        ("2@localhost:8020:DIR", "localhost"),
        ("2@10.0.0.1:8020:DIR", "10.0.0.1"),
        ("2@[fe80::1%eth0]:8020:DIR", "fe80::1%eth0"),
        (" 2@h:8020:DIR\n", "h"),
        ("+2@h:+8020:DIR", "h"),
    ] {
        let voter = voter(text).unwrap();
        assert_eq!((voter.node_id(), voter.host(), voter.port()), (2, host, 8_020), "{text}");
        assert_eq!(voter.directory_id().to_string(), DIRECTORY);
    }
    let written = voter("2@[fe80::1]:8020:DIR").unwrap().to_string();
    assert_eq!(written, format!("2@[fe80::1]:8020:{DIRECTORY}"));
    let node = voter("2@h:8020:DIR").unwrap().to_voter_node(&listener());
    assert_eq!(node.key, ReplicaKey::new(2, DIRECTORY.parse().unwrap()));
    assert_eq!(node.endpoints.get(&listener()), Some(&Endpoint::new(listener(), "h", 8_020)));
    assert_eq!(node.supported_versions, SupportedVersions::ALL);
}

#[test]
fn each_mistake_in_a_voter_is_told() {
    let error = |text| voter(text).unwrap_err();
    assert_eq!(error("2h:8020:DIR"), ParseVoterError::NoAt);
    assert_eq!(error("@h:8020:DIR"), ParseVoterError::EmptyNodeId);
    assert!(matches!(error("x@h:8020:DIR"), ParseVoterError::NodeId(_)));
    assert!(matches!(error("2147483648@h:8020:DIR"), ParseVoterError::NodeId(_)));
    assert_eq!(error("-1@h:8020:DIR"), ParseVoterError::NegativeNodeId { node_id: -1 });
    assert_eq!(error("2@"), ParseVoterError::NoHost);
    assert_eq!(error("2@[::1:8020:DIR"), ParseVoterError::OpenBracket);
    assert_eq!(error("2@h"), ParseVoterError::NoPort);
    assert_eq!(error("2@[::1]8020:DIR"), ParseVoterError::NoPort);
    assert_eq!(error("2@h:8020"), ParseVoterError::NoDirectoryId);
    assert!(matches!(error("2@h:x:DIR"), ParseVoterError::Port(_)));
    // An IPv6 address without brackets.
    assert!(matches!(error("2@::1:8020:DIR"), ParseVoterError::Port(_)));
    for port in [-1, 0, 65_536] {
        let text = format!("2@h:{port}:{DIRECTORY}");
        assert_eq!(voter(&text), Err(ParseVoterError::PortOutOfRange { port }));
    }
    assert_eq!(
        error("2@h:8020:"),
        ParseVoterError::DirectoryId(ParseDirectoryIdError::Length { length: 0 })
    );
    assert!(matches!(error("2@h:8020:K90IZ-0DRNazJ49kCZ1EM!"), ParseVoterError::DirectoryId(_)));
    assert_eq!(
        error("2@h:8020:AAAAAAAAAAAAAAAAAAAAAA").to_string(),
        "the directory id is none: the directory id is all zero"
    );
}

#[test]
fn first_voters_are_separated_by_commas() {
    let voters = first_voters("2@b:1:DIR, ,1@a:1:DIR").unwrap_err();
    assert_eq!(voters, ParseVotersError::Voter(ParseVoterError::NoAt), "a space is no voter");
    let voters = first_voters(" 2@b:1:DIR,,1@a:1:DIR, ").unwrap();
    assert_eq!(voters.iter().map(DynamicVoter::node_id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(voters.to_string(), format!("1@a:1:{DIRECTORY},2@b:1:{DIRECTORY}"));
    assert_eq!(voters.to_voter_set(&listener()).ids().collect::<Vec<_>>(), [1, 2]);
    for none in ["", " ", ",", ",,"] {
        assert_eq!(first_voters(none), Err(ParseVotersError::NoVoters), "{none:?}");
    }
    let twice = first_voters("1@a:1:DIR,1@b:2:DIR");
    assert_eq!(twice, Err(ParseVotersError::DuplicateNodeId { node_id: 1 }));
}

#[test]
fn static_voters_are_an_id_and_an_address_each() {
    let voters: StaticVoters =
        "1@10.0.0.1:9092, 2@[::1]:9093,3@PLAINTEXT://c:9094,1@d:1".parse().unwrap();
    let all: Vec<_> = voters.iter().map(|(id, it)| (id, &*it.host, it.port)).collect();
    assert_eq!(all, [(1, "d", 1), (2, "::1", 9_093), (3, "c", 9_094)]);
    let set = voters.to_voter_set(&listener()).unwrap();
    assert!(set.iter().all(|voter| voter.supported_versions == SupportedVersions::ONLY_V0));
    assert!(set.is_voter(&ReplicaKey::without_directory(3)));
    for wrong in [
        "1",
        "1@",
        "1:",
        "blah@",
        "@kafka1:1",
        "1@kafka1",
        "1@kafka1:9092,",
        ",1@kafka1:9092",
        "1@kafka1:",
        "1@kafka1:9092:1@kafka2:9092",
        "1@kafka1:-1",
        "1@kafka1:65536",
    ] {
        assert!(wrong.parse::<StaticVoters>().is_err(), "{wrong}");
    }
    assert!("".parse::<StaticVoters>().unwrap().is_empty());
    let everywhere: StaticVoters = "1@a:1,2@0.0.0.0:1".parse().unwrap();
    let error = everywhere.to_voter_set(&listener()).unwrap_err();
    assert_eq!(error, AddressError::NonRoutable { id: 2 });
}

#[test]
fn bootstrap_servers_have_ids_below_minus_one() {
    let servers: BootstrapServers = "kafka1:9092,kafka2:9093".parse().unwrap();
    let all: Vec<_> = servers.iter().map(|(id, it)| (id, &*it.host, it.port)).collect();
    assert_eq!(all, [(-2, "kafka1", 9_092), (-3, "kafka2", 9_093)]);
    assert!("kafka1".parse::<BootstrapServers>().is_err());
    assert_eq!("[::1]:1".parse(), Ok(Address { host: "::1".into(), port: 1 }));
}

/// A node with one listener for controllers, and one for brokers, as far as it is one of them.
fn node(roles: ProcessRoles) -> NodeConfig {
    let controller = roles.has_controller().then(|| Endpoint::new("CONTROLLER", "", 9_093));
    let broker = (roles != ProcessRoles::Controller).then(|| Endpoint::new("PLAIN", "b", 9_092));
    NodeConfig {
        roles: Some(roles),
        node_id: 1,
        voters: StaticVoters::default(),
        bootstrap_servers: "c:9093".parse().unwrap(),
        controller_listener_names: vec!["CONTROLLER".into()],
        listeners: controller.into_iter().chain(broker).collect(),
        advertised_listeners: Vec::new(),
        inter_broker_listener: None,
        auto_join: false,
    }
}

fn with_static_voters(roles: ProcessRoles) -> NodeConfig {
    let voters = if roles == ProcessRoles::Broker { "2@c:9093" } else { "1@c:9094,2@d:9093" };
    let voters = voters.parse().unwrap();
    NodeConfig { voters, bootstrap_servers: BootstrapServers::default(), ..node(roles) }
}

const ROLES: [ProcessRoles; 3] =
    [ProcessRoles::Broker, ProcessRoles::Controller, ProcessRoles::Combined];

#[test]
fn a_configuration_that_fits_together_is_accepted() {
    for roles in ROLES {
        assert_eq!(node(roles).check(), Ok(()), "{roles:?}");
        assert_eq!(with_static_voters(roles).check(), Ok(()), "{roles:?}");
    }
    let joins = NodeConfig { auto_join: true, ..node(ProcessRoles::Controller) };
    assert_eq!(joins.check(), Ok(()));
}

#[test]
fn the_quorum_is_found_by_voters_or_by_servers() {
    for roles in ROLES {
        let node = NodeConfig { bootstrap_servers: BootstrapServers::default(), ..node(roles) };
        assert_eq!(node.check(), Err(NodeConfigError::NoQuorum));
    }
    let nothing = NodeConfig { roles: None, ..node(ProcessRoles::Broker) };
    assert_eq!(nothing.check(), Err(NodeConfigError::NoRoles));
}

#[test]
fn controllers_are_static_voters_and_brokers_are_not() {
    for roles in ROLES {
        let stranger = NodeConfig { node_id: 7, ..with_static_voters(roles) };
        let voter = NodeConfig { node_id: 2, ..with_static_voters(roles) };
        if roles == ProcessRoles::Broker {
            assert_eq!(voter.check(), Err(NodeConfigError::BrokerIsVoter { node_id: 2 }));
            assert_eq!(stranger.check(), Ok(()));
        } else {
            assert_eq!(stranger.check(), Err(NodeConfigError::NotVoter { node_id: 7 }));
            assert_eq!(voter.check(), Ok(()));
        }
    }
}

#[test]
fn controller_listeners_belong_to_controllers() {
    let mut unnamed = node(ProcessRoles::Controller);
    unnamed.controller_listener_names.clear();
    assert_eq!(unnamed.check(), Err(NodeConfigError::NoControllerListenerNames));

    // Listeners are upper-cased and the names of controller listeners are not.
    let mut lower = node(ProcessRoles::Combined);
    lower.controller_listener_names = vec!["controller".into()];
    let error = NodeConfigError::ControllerListenerMissing { name: "controller".into() };
    assert_eq!(lower.check(), Err(error));

    let mut broker = node(ProcessRoles::Broker);
    broker.listeners.push(Endpoint::new("CONTROLLER", "b", 1));
    let listener = ListenerName::new("CONTROLLER");
    let error = NodeConfigError::BrokerListensAsController { listener: listener.clone() };
    assert_eq!(broker.check(), Err(error));
    let joins = NodeConfig { auto_join: true, ..node(ProcessRoles::Broker) };
    assert_eq!(joins.check(), Err(NodeConfigError::BrokerJoins));

    let mut controller = node(ProcessRoles::Controller);
    controller.inter_broker_listener = Some(listener.clone());
    assert_eq!(controller.check(), Err(NodeConfigError::InterBrokerListener { listener }));
    controller.listeners.push(Endpoint::new("PLAIN", "b", 1));
    let listener = ListenerName::new("PLAIN");
    let error = NodeConfigError::ControllerListensAsBroker { listener };
    assert_eq!(controller.check(), Err(error));
}

#[test]
fn nobody_is_told_to_connect_to_everywhere() {
    let mut node = node(ProcessRoles::Combined);
    node.advertised_listeners = vec![Endpoint::new("CONTROLLER", "0.0.0.0", 1)];
    let listener = ListenerName::new("CONTROLLER");
    assert_eq!(node.check(), Err(NodeConfigError::NonRoutable { listener }));
    node.advertised_listeners.clear();
    node.listeners = vec![
        Endpoint::new("CONTROLLER", "0.0.0.0", 9_093),
        Endpoint::new("PLAIN", "0.0.0.0", 9_092),
    ];
    // What a controller does not say is made up for; a broker has to say it.
    let listener = ListenerName::new("PLAIN");
    assert_eq!(node.check(), Err(NodeConfigError::NonRoutable { listener }));
}

// KAFKA-20380.
#[test]
fn a_controller_that_listens_everywhere_is_at_its_address_among_the_static_voters() {
    let everywhere = |mut node: NodeConfig| {
        node.listeners = vec![
            Endpoint::new("CONTROLLER", "0.0.0.0", 9_093),
            Endpoint::new("OTHER", "0.0.0.0", 9_095),
        ];
        node.controller_listener_names = vec!["CONTROLLER".into(), "OTHER".into()];
        node
    };
    let fixed = everywhere(with_static_voters(ProcessRoles::Controller));
    let listeners = fixed.advertised_controller_listeners();
    assert_eq!(
        listeners,
        [Endpoint::new("CONTROLLER", "c", 9_094), Endpoint::new("OTHER", "", 9_095)]
    );
    let dynamic = everywhere(node(ProcessRoles::Controller));
    let listeners = dynamic.advertised_controller_listeners();
    assert_eq!(
        listeners,
        [Endpoint::new("CONTROLLER", "", 9_093), Endpoint::new("OTHER", "", 9_095)]
    );
    let mut told = everywhere(node(ProcessRoles::Controller));
    told.advertised_listeners = vec![Endpoint::new("OTHER", "o", 1)];
    assert_eq!(told.advertised_controller_listeners()[1], Endpoint::new("OTHER", "o", 1));
}

fn request(node: &NodeConfig, initial_quorum: InitialQuorum) -> FormatRequest<'_> {
    FormatRequest {
        node,
        cluster_id: Some("cluster"),
        initial_quorum,
        kraft_version: None,
        directories: vec![
            LogDirectory { path: "/meta", is_formatted: false },
            LogDirectory { path: "/data", is_formatted: false },
        ],
        metadata_directory: Some("/meta"),
        formatted: Formatted::Refuse,
    }
}

fn plan(request: &FormatRequest<'_>) -> Result<FormatPlan, FormatError> {
    request.plan(&mut Pcg64::seed_from_u64(1))
}

fn controllers() -> InitialQuorum {
    let text = format!("1@a:9093:{DIRECTORY},2@b:9093:{OTHER_DIRECTORY}");
    InitialQuorum::Controllers(text.parse().unwrap())
}

#[test]
fn a_standalone_controller_is_its_only_voter() {
    let node = node(ProcessRoles::Controller);
    let plan = plan(&request(&node, InitialQuorum::Standalone)).unwrap();
    let meta = plan.checkpoint_directory().unwrap();
    assert_eq!((&*meta.path, meta.kind), ("/meta", DirectoryKind::DynamicMetadataVoter));
    let voters = plan.voters.clone().unwrap();
    assert!(voters.is_only_voter(&ReplicaKey::new(1, meta.id)));
    let endpoint = voters.endpoint(1, &ListenerName::new("CONTROLLER")).unwrap();
    assert_eq!((&*endpoint.host, endpoint.port), ("localhost", 9_093));
    assert_eq!(plan.kraft_version, KRaftVersion::V1);
    assert_ne!(plan.directories[1].id, meta.id);

    // At its first start it knows itself as the voter, below every record of the log.
    let mut log = ControlLog::new(kafka_coordination::kraft::VoterSet::empty());
    let header = plan.checkpoint(Timestamp::from_millis(1));
    log.load_snapshot(0, header.to_records().unwrap()).unwrap();
    assert_eq!((log.voters(), log.voters_offset()), (&voters, Some(-1)));
}

#[test]
fn one_of_the_first_voters_takes_the_directory_id_of_the_list() {
    for kraft_version in [None, Some(1)] {
        let node = node(ProcessRoles::Combined);
        let request = FormatRequest { kraft_version, ..request(&node, controllers()) };
        let plan = plan(&request).unwrap();
        let id = |path| plan.directories.iter().find(|it| it.path == path).unwrap().id.to_string();
        assert_eq!(id("/meta"), DIRECTORY);
        assert!(![DIRECTORY, OTHER_DIRECTORY].contains(&&*id("/data")));
        assert_eq!(plan.voters.as_ref().map(|it| it.ids().collect()), Some(vec![1, 2]));
        assert_eq!(plan.kraft_version, KRaftVersion::V1);
    }
}

#[test]
fn a_controller_that_is_none_of_the_first_voters_knows_them_all_the_same() {
    let node = NodeConfig { node_id: 7, ..node(ProcessRoles::Controller) };
    let plan = plan(&request(&node, controllers())).unwrap();
    let meta = plan.checkpoint_directory().unwrap();
    assert_eq!(meta.kind, DirectoryKind::DynamicMetadataNonVoter);
    assert_eq!(plan.voters.as_ref().map(kafka_coordination::kraft::VoterSet::len), Some(2));
}

#[test]
fn a_controller_without_first_voters_knows_the_level_alone() {
    let node = node(ProcessRoles::Controller);
    let plan = plan(&request(&node, InitialQuorum::NoControllers)).unwrap();
    assert_eq!(plan.checkpoint_directory().map(|it| it.kind), Some(DirectoryKind::StaticMetadata));
    let records = plan.checkpoint(Timestamp::from_millis(1)).to_records().unwrap();
    assert_eq!(records[1..], [ControlRecord::KRaftVersion(KRaftVersion::V1)]);
}

#[test]
fn static_voters_are_level_zero_and_have_no_voters_in_the_checkpoint() {
    let node = with_static_voters(ProcessRoles::Controller);
    for quorum in [InitialQuorum::Unspecified, InitialQuorum::NoControllers] {
        let plan = plan(&request(&node, quorum)).unwrap();
        assert_eq!(plan.kraft_version, KRaftVersion::V0);
        assert_eq!(plan.checkpoint(Timestamp::from_millis(1)).to_records().unwrap().len(), 1);
    }
}

// KAFKA-19489: two sets of voters could form.
#[test]
fn static_voters_and_first_voters_exclude_each_other() {
    let node = with_static_voters(ProcessRoles::Controller);
    for quorum in [InitialQuorum::Standalone, controllers()] {
        assert_eq!(plan(&request(&node, quorum)), Err(FormatError::StaticVoters));
    }
}

#[test]
fn a_broker_needs_no_word_on_voters_and_gets_no_checkpoint() {
    let node = node(ProcessRoles::Broker);
    let formatted = plan(&request(&node, InitialQuorum::Unspecified)).unwrap();
    assert_eq!(formatted.checkpoint_directory(), None);
    assert_eq!(formatted.directories.len(), 2);
    let standalone = plan(&request(&node, InitialQuorum::Standalone));
    assert_eq!(standalone, Err(FormatError::StandaloneBroker));
}

#[test]
fn a_controller_of_a_dynamic_quorum_must_be_told_who_votes() {
    for roles in [ProcessRoles::Controller, ProcessRoles::Combined] {
        let result = plan(&request(&node(roles), InitialQuorum::Unspecified));
        assert_eq!(result, Err(FormatError::QuorumUnspecified));
    }
    let mut mute = node(ProcessRoles::Controller);
    mute.listeners.clear();
    let result = plan(&request(&mute, InitialQuorum::Standalone));
    assert_eq!(result, Err(FormatError::NoControllerListener));
}

#[test]
fn what_every_node_needs_is_asked_for() {
    let plain = node(ProcessRoles::Controller);
    let fails = |change: fn(&mut FormatRequest<'_>), error| {
        let mut request = request(&plain, InitialQuorum::NoControllers);
        change(&mut request);
        assert_eq!(plan(&request), Err(error));
    };
    fails(|it| it.cluster_id = None, FormatError::NoClusterId);
    fails(|it| it.directories.clear(), FormatError::NoDirectories);
    let path = "/elsewhere".to_string();
    fails(|it| it.metadata_directory = Some("/elsewhere"), FormatError::MetadataDirectory { path });
    let negative = NodeConfig { node_id: -1, ..plain.clone() };
    let result = plan(&request(&negative, InitialQuorum::NoControllers));
    assert_eq!(result, Err(FormatError::NegativeNodeId { node_id: -1 }));
    let unnamed = NodeConfig { controller_listener_names: Vec::new(), ..plain.clone() };
    let result = plan(&request(&unnamed, InitialQuorum::NoControllers));
    assert_eq!(result, Err(FormatError::NoControllerListenerName));
    let nothing = NodeConfig { roles: None, ..plain.clone() };
    let result = plan(&request(&nothing, InitialQuorum::NoControllers));
    assert_eq!(result, Err(FormatError::NoRoles));
}

#[test]
fn the_level_fits_the_kind_of_quorum() {
    let (dynamic, fixed) =
        (node(ProcessRoles::Controller), with_static_voters(ProcessRoles::Controller));
    for (node, level, error) in [
        (&dynamic, 0, FormatError::LevelZeroOfDynamicQuorum),
        (&fixed, 1, FormatError::LevelOfStaticQuorum { level: 1 }),
        (&dynamic, 999, FormatError::UnknownKRaftVersion { level: 999 }),
        (&fixed, -1, FormatError::UnknownKRaftVersion { level: -1 }),
    ] {
        let mut request = request(node, InitialQuorum::NoControllers);
        request.kraft_version = Some(level);
        assert_eq!(plan(&request), Err(error));
    }
}

#[test]
fn formatted_directories_are_left_alone_or_refused() {
    let node = node(ProcessRoles::Controller);
    let mut request = request(&node, controllers());
    request.directories[0].is_formatted = true;
    let path = "/meta".into();
    assert_eq!(plan(&request), Err(FormatError::AlreadyFormatted { path }));
    request.formatted = Formatted::Ignore;
    let plan = plan(&request).unwrap();
    assert_eq!(plan.directories.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["/data"]);
    assert_eq!(plan.checkpoint_directory(), None);
}

#[test]
fn directories_differ_in_their_ids() {
    let node = node(ProcessRoles::Broker);
    let mut request = request(&node, InitialQuorum::Unspecified);
    request.metadata_directory = None;
    let plan = plan(&request).unwrap();
    let ids: Vec<DirectoryId> = plan.directories.iter().map(|it| it.id).collect();
    assert_ne!(ids[0], ids[1]);
    assert!(plan.directories.iter().all(|it| it.kind == DirectoryKind::Data));
}
