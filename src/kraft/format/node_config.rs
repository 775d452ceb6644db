//! The part of a node's configuration that concerns the quorum, and whether it fits together.

use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

use super::addresses::{BootstrapServers, NON_ROUTABLE, StaticVoters};
use crate::kraft::voters::{Endpoint, ListenerName};

/// What a node is. Kafka: the property `process.roles`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessRoles {
    /// A broker alone.
    Broker,
    /// A controller alone.
    Controller,
    /// Both in one process.
    Combined,
}

impl ProcessRoles {
    /// Whether the node is a controller.
    pub const fn has_controller(self) -> bool {
        matches!(self, Self::Controller | Self::Combined)
    }
}

/// The properties of a node that concern the quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// `process.roles`; `None` if it is empty.
    pub roles: Option<ProcessRoles>,
    /// `node.id`.
    pub node_id: i32,
    /// `controller.quorum.voters`.
    pub voters: StaticVoters,
    /// `controller.quorum.bootstrap.servers`.
    pub bootstrap_servers: BootstrapServers,
    /// `controller.listener.names`, as they are written. The first is the default listener, by which
    /// replicas reach each other.
    pub controller_listener_names: Vec<String>,
    /// `listeners`, with the names upper-cased; a host may be empty.
    pub listeners: Vec<Endpoint>,
    /// `advertised.listeners`, likewise; empty if the property is not set.
    pub advertised_listeners: Vec<Endpoint>,
    /// `inter.broker.listener.name`, upper-cased, if the property is set.
    pub inter_broker_listener: Option<ListenerName>,
    /// `controller.quorum.auto.join.enable`.
    pub auto_join: bool,
}

impl NodeConfig {
    /// Whether the voters are in the log rather than in the configuration.
    pub fn has_dynamic_quorum(&self) -> bool {
        self.voters.is_empty()
    }

    /// Whether the properties fit together.
    ///
    /// # Errors
    /// [`NodeConfigError`], the first that applies in the order of its variants.
    pub fn check(&self) -> Result<(), NodeConfigError> {
        let roles = self.roles.ok_or(NodeConfigError::NoRoles)?;
        if self.voters.is_empty() && self.bootstrap_servers.is_empty() {
            return Err(NodeConfigError::NoQuorum);
        }
        let node_id = self.node_id;
        let is_voter = self.voters.get(node_id).is_some();
        match roles {
            ProcessRoles::Broker if is_voter => {
                return Err(NodeConfigError::BrokerIsVoter { node_id });
            }
            ProcessRoles::Controller | ProcessRoles::Combined
                if !self.voters.is_empty() && !is_voter =>
            {
                return Err(NodeConfigError::NotVoter { node_id });
            }
            _ => {}
        }
        if self.controller_listener_names.is_empty() {
            return Err(NodeConfigError::NoControllerListenerNames);
        }
        match roles {
            ProcessRoles::Broker => self.check_broker()?,
            ProcessRoles::Controller => {
                self.check_listeners()?;
                self.check_only_controller()?;
            }
            ProcessRoles::Combined => self.check_listeners()?,
        }
        let controller = self.advertised_controller_listeners();
        let brokers = self.advertised_broker_listeners();
        let mut advertised = controller.iter().chain(brokers);
        let non_routable = advertised.find(|endpoint| &*endpoint.host == NON_ROUTABLE);
        non_routable.map_or(Ok(()), |endpoint| {
            Err(NodeConfigError::NonRoutable { listener: endpoint.listener.clone() })
        })
    }

    /// Where a controller tells others that it is reached, by the order of
    /// `controller.listener.names`; an empty host stands for the machine's own name.
    ///
    /// It is the advertised listener of that name, else the listener itself; and at the default
    /// listener, if that names no host that others could connect to, the node's address among the
    /// static voters (KAFKA-20380).
    pub fn advertised_controller_listeners(&self) -> Vec<Endpoint> {
        let names = self.controller_listener_names.iter().enumerate();
        let listeners = names.filter_map(|(place, name)| {
            let is_it = |endpoint: &&Endpoint| has_name(endpoint, name);
            if let Some(advertised) = self.advertised_listeners.iter().find(is_it) {
                return Some(advertised.clone());
            }
            let mut listener = self.listeners.iter().find(is_it)?.clone();
            if listener.host.is_empty() || &*listener.host == NON_ROUTABLE {
                let own = self.voters.get(self.node_id).filter(|_| place == 0);
                listener.host = own.map_or_else(|| "".into(), |own| own.host.clone());
                listener.port = own.map_or(listener.port, |own| own.port);
            }
            Some(listener)
        });
        listeners.collect()
    }

    /// Where a broker tells others that it is reached.
    fn advertised_broker_listeners(&self) -> impl Iterator<Item = &Endpoint> {
        let has_broker = !matches!(self.roles, Some(ProcessRoles::Controller));
        let explicit = !self.advertised_listeners.is_empty();
        let listeners = if explicit { &self.advertised_listeners } else { &self.listeners };
        listeners.iter().filter(move |endpoint| has_broker && !self.is_of_controller(endpoint))
    }

    fn check_broker(&self) -> Result<(), NodeConfigError> {
        if let Some(listener) = self.listeners.iter().find(|it| self.is_of_controller(it)) {
            let listener = listener.listener.clone();
            return Err(NodeConfigError::BrokerListensAsController { listener });
        }
        if self.auto_join { Err(NodeConfigError::BrokerJoins) } else { Ok(()) }
    }

    fn check_listeners(&self) -> Result<(), NodeConfigError> {
        let missing = self.controller_listener_names.iter().find(|name| {
            let mut listeners = self.listeners.iter();
            !listeners.any(|listener| listener.listener.as_str() == name.as_str())
        });
        missing.map_or(Ok(()), |name| {
            Err(NodeConfigError::ControllerListenerMissing { name: name.clone() })
        })
    }

    fn check_only_controller(&self) -> Result<(), NodeConfigError> {
        if let Some(other) = self.listeners.iter().find(|it| !self.is_of_controller(it)) {
            let listener = other.listener.clone();
            return Err(NodeConfigError::ControllerListensAsBroker { listener });
        }
        let inter_broker = self.inter_broker_listener.iter().find(|listener| {
            self.controller_listener_names.iter().any(|name| name.as_str() == listener.as_str())
        });
        inter_broker.map_or(Ok(()), |listener| {
            Err(NodeConfigError::InterBrokerListener { listener: listener.clone() })
        })
    }

    fn is_of_controller(&self, endpoint: &Endpoint) -> bool {
        self.controller_listener_names.iter().any(|name| has_name(endpoint, name))
    }
}

/// Whether a listener has the name that a property gives it.
fn has_name(endpoint: &Endpoint, name: &str) -> bool {
    ListenerName::normalised(name).is_ok_and(|name| name == endpoint.listener)
}

/// What does not fit in a node's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeConfigError {
    /// The node is neither broker nor controller.
    #[error("process.roles is empty")]
    NoRoles,
    /// Neither voters nor servers say where the quorum is.
    #[error("neither controller.quorum.voters nor controller.quorum.bootstrap.servers is set")]
    NoQuorum,
    /// A broker alone is among the static voters.
    #[error("node.id {node_id} is in controller.quorum.voters, but the node is no controller")]
    BrokerIsVoter {
        /// The node.
        node_id: i32,
    },
    /// A controller is not among the static voters.
    #[error("node.id {node_id} of a controller is not in controller.quorum.voters")]
    NotVoter {
        /// The node.
        node_id: i32,
    },
    /// No name of a controller listener is given.
    #[error("controller.listener.names is empty")]
    NoControllerListenerNames,
    /// A broker alone has a controller listener.
    #[error(
        "{listener} of controller.listener.names is in listeners, but the node is no controller"
    )]
    BrokerListensAsController {
        /// The listener.
        listener: ListenerName,
    },
    /// A broker alone cannot become a voter.
    #[error("controller.quorum.auto.join.enable is set, but the node is no controller")]
    BrokerJoins,
    /// A controller listener does not exist. Names of listeners are upper-cased, so one that has a
    /// lower-case letter never does.
    #[error("{name} of controller.listener.names is not in listeners")]
    ControllerListenerMissing {
        /// The name.
        name: String,
    },
    /// A controller alone has a listener for brokers.
    #[error(
        "{listener} of listeners is not in controller.listener.names, and the node is no broker"
    )]
    ControllerListensAsBroker {
        /// The listener.
        listener: ListenerName,
    },
    /// Brokers are to reach a controller alone.
    #[error("inter.broker.listener.name {listener} is in controller.listener.names")]
    InterBrokerListener {
        /// The listener.
        listener: ListenerName,
    },
    /// A listener is advertised under an address to which nobody can connect.
    #[error("{listener} is advertised at {NON_ROUTABLE}, to which nobody can connect")]
    NonRoutable {
        /// The listener.
        listener: ListenerName,
    },
}
