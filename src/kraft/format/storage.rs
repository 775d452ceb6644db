//! What a node's directories are to hold before its first start.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::dynamic_voters::{DynamicVoter, DynamicVoters};
use super::error::FormatError;
use super::node_config::NodeConfig;
use crate::kraft::records::SnapshotHeader;
use crate::kraft::voters::{DirectoryId, KRaftVersion, ListenerName, VoterSet};
use crate::random::Random;
use crate::time::Timestamp;

/// The first voters of a quorum, as the operator who formats a node says it. Kafka: the options of
/// `kafka-storage format`, of which at most one is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialQuorum {
    /// Nothing is said: right for brokers, and where the voters are static.
    #[default]
    Unspecified,
    /// `--standalone`: this controller is the only voter.
    Standalone,
    /// `--initial-controllers`: these, which all of them must be formatted with.
    Controllers(DynamicVoters),
    /// `--no-initial-controllers`: this node will learn of the voters from others.
    NoControllers,
}

/// A directory of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirectory<'a> {
    /// Its path.
    pub path: &'a str,
    /// Whether it holds a `meta.properties` already.
    pub is_formatted: bool,
}

/// A request to format a node's storage.
#[derive(Clone, Debug)]
pub struct FormatRequest<'a> {
    /// The node's configuration.
    pub node: &'a NodeConfig,
    /// The cluster's id, if it is given.
    pub cluster_id: Option<&'a str>,
    /// Who votes first.
    pub initial_quorum: InitialQuorum,
    /// The level of the feature `kraft.version`, if it is given.
    pub kraft_version: Option<i16>,
    /// All directories.
    pub directories: Vec<LogDirectory<'a>>,
    /// The one of them that holds the metadata log; `None`: none of these does, so that none gets a bootstrap
    /// checkpoint.
    pub metadata_directory: Option<&'a str>,
    /// What to do with directories that are formatted already.
    pub formatted: Formatted,
}

/// What to do with directories that are formatted already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formatted {
    /// There must not be any.
    #[default]
    Refuse,
    /// Leave them as they are, with their ids. Kafka: `--ignore-formatted`.
    Ignore,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatPlan {
    /// The level of `kraft.version` at the start.
    pub kraft_version: KRaftVersion,
    /// The directories to be formatted, in the order of the request; those that are already are not
    /// among them.
    pub directories: Vec<NewDirectory>,
    /// The first voters, if this node is told of them.
    pub voters: Option<VoterSet>,
    has_controller: bool,
}

/// A directory to be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewDirectory {
    /// Its path.
    pub path: String,
    /// The `directory.id` of its `meta.properties`.
    pub id: DirectoryId,
    /// What it is for.
    pub kind: DirectoryKind,
}

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirectoryKind {
    /// Partitions alone.
    Data,
    /// The metadata log, and the node is told of no voters.
    StaticMetadata,
    /// The metadata log of one of the first voters.
    DynamicMetadataVoter,
    /// The metadata log of a node that is not among the first voters.
    DynamicMetadataNonVoter,
}

impl FormatPlan {
    /// What the bootstrap checkpoint starts with, which is written to `__cluster_metadata-0` in the
    /// [directory](Self::checkpoint_directory) of the metadata log: the file
    /// `00000000000000000000-0000000000.checkpoint`, with the first metadata behind this, and a footer.
    pub fn checkpoint(&self, now: Timestamp) -> SnapshotHeader {
        SnapshotHeader {
            last_contained_log_timestamp: now,
            kraft_version: self.kraft_version,
            voters: self.voters.clone(),
        }
    }

    /// The directory that gets the bootstrap checkpoint: the metadata log's, on a controller, if it is
    /// not formatted yet.
    pub fn checkpoint_directory(&self) -> Option<&NewDirectory> {
        let mut directories = self.directories.iter();
        directories.find(|it| self.has_controller && it.kind != DirectoryKind::Data)
    }
}

impl FormatRequest<'_> {
    /// What is to be written. Changes nothing itself; ids of directories are drawn from `random`.
    ///
    /// # Errors
    /// [`FormatError`], the first that applies in the order of its variants.
    pub fn plan(&self, random: &mut (impl Random + ?Sized)) -> Result<FormatPlan, FormatError> {
        let roles = self.node.roles.ok_or(FormatError::NoRoles)?;
        let has_controller = roles.has_controller();
        let controllers = self.first_voters(has_controller, random)?;
        let listener = self.check_node()?;
        let kraft_version = self.level()?;
        let directories = self.new_directories(controllers.as_ref(), random)?;
        let voters = controllers.map(|controllers| controllers.to_voter_set(&listener));
        Ok(FormatPlan { kraft_version, directories, voters, has_controller })
    }

    fn first_voters(
        &self,
        has_controller: bool,
        random: &mut (impl Random + ?Sized),
    ) -> Result<Option<DynamicVoters>, FormatError> {
        let is_dynamic = self.node.has_dynamic_quorum();
        match &self.initial_quorum {
            InitialQuorum::Standalone | InitialQuorum::Controllers(_) if !is_dynamic => {
                Err(FormatError::StaticVoters)
            }
            InitialQuorum::Standalone if !has_controller => Err(FormatError::StandaloneBroker),
            InitialQuorum::Standalone => self.standalone(random).map(Some),
            InitialQuorum::Unspecified if has_controller && is_dynamic => {
                Err(FormatError::QuorumUnspecified)
            }
            InitialQuorum::Controllers(controllers) => Ok(Some(controllers.clone())),
            InitialQuorum::Unspecified | InitialQuorum::NoControllers => Ok(None),
        }
    }

    /// This node as the only voter.
    fn standalone(
        &self,
        random: &mut (impl Random + ?Sized),
    ) -> Result<DynamicVoters, FormatError> {
        let listeners = self.node.advertised_controller_listeners();
        let listener = listeners.first().ok_or(FormatError::NoControllerListener)?;
        let host = if listener.host.is_empty() { "localhost" } else { &listener.host };
        let id = DirectoryId::random(random);
        let voter = DynamicVoter::new(self.node.node_id, host, listener.port, id)?;
        Ok(DynamicVoters::new([voter])?)
    }

    /// Checks what every node needs; returns the default controller listener.
    fn check_node(&self) -> Result<ListenerName, FormatError> {
        let node_id = self.node.node_id;
        if node_id < 0 {
            return Err(FormatError::NegativeNodeId { node_id });
        }
        if self.cluster_id.is_none_or(str::is_empty) {
            return Err(FormatError::NoClusterId);
        }
        if self.directories.is_empty() {
            return Err(FormatError::NoDirectories);
        }
        let name = self.node.controller_listener_names.first().map(String::as_str);
        let listener = name.and_then(|name| ListenerName::normalised(name).ok());
        let listener = listener.ok_or(FormatError::NoControllerListenerName)?;
        let is_one = |path: &str| self.directories.iter().any(|directory| directory.path == path);
        if let Some(path) = self.metadata_directory.filter(|path| !is_one(path)) {
            return Err(FormatError::MetadataDirectory { path: path.into() });
        }
        Ok(listener)
    }

    /// The level at the start. It does not depend on the release (KAFKA-19719).
    fn level(&self) -> Result<KRaftVersion, FormatError> {
        let is_dynamic = self.node.has_dynamic_quorum();
        let Some(level) = self.kraft_version else {
            return Ok(if is_dynamic { KRaftVersion::V1 } else { KRaftVersion::V0 });
        };
        let known = KRaftVersion::from_level(level);
        let known = known.map_err(|_| FormatError::UnknownKRaftVersion { level })?;
        match known.is_reconfiguration_supported() {
            false if is_dynamic => Err(FormatError::LevelZeroOfDynamicQuorum),
            true if !is_dynamic => Err(FormatError::LevelOfStaticQuorum { level }),
            _ => Ok(known),
        }
    }

    fn new_directories(
        &self,
        controllers: Option<&DynamicVoters>,
        random: &mut (impl Random + ?Sized),
    ) -> Result<Vec<NewDirectory>, FormatError> {
        let mut formatted = self.directories.iter().filter(|directory| directory.is_formatted);
        if self.formatted == Formatted::Refuse
            && let Some(directory) = formatted.next()
        {
            return Err(FormatError::AlreadyFormatted { path: directory.path.into() });
        }
        let own = controllers.and_then(|controllers| controllers.get(self.node.node_id));
        let mut seen = BTreeSet::new();
        let new = self.directories.iter().filter(|it| !it.is_formatted && seen.insert(it.path));
        let directories = new.map(|directory| {
            let kind = match (controllers, own) {
                _ if self.metadata_directory != Some(directory.path) => DirectoryKind::Data,
                (None, _) => DirectoryKind::StaticMetadata,
                (Some(_), Some(_)) => DirectoryKind::DynamicMetadataVoter,
                (Some(_), None) => DirectoryKind::DynamicMetadataNonVoter,
            };
            let own = own.filter(|_| kind == DirectoryKind::DynamicMetadataVoter);
            let id = own.map_or_else(|| DirectoryId::random(random), DynamicVoter::directory_id);
            NewDirectory { path: directory.path.to_string(), id, kind }
        });
        Ok(directories.collect())
    }
}
