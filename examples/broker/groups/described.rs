//! Groups as an administrator sees them.

use super::Coordinator;
use super::classic::{self, State};
use super::consumer;
use super::coordinator::Group;
use bytes::Bytes;

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) protocol_type: String,
    pub(crate) state: &'static str,
    pub(crate) kind: &'static str,
}

/// A classic group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) state: &'static str,
    pub(crate) protocol_type: String,
    pub(crate) protocol: String,
    pub(crate) members: Vec<DescribedMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedMember {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    /// Known once the group is stable, like the assignment.
    pub(crate) metadata: Bytes,
    pub(crate) assignment: Bytes,
}

/// A consumer group of the next generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedConsumer {
    pub(crate) state: &'static str,
    pub(crate) epoch: i32,
    pub(crate) target_epoch: i32,
    pub(crate) members: Vec<(String, consumer::Member)>,
}

const CLASSIC: &str = "Classic";
const CONSUMER: &str = "Consumer";

impl Coordinator {
    /// All groups, those that only have offsets among them.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let with_members = self.groups().map(|(name, group)| match group {
            Group::Classic(group) => Listed {
                name: name.to_owned(),
                protocol_type: group.protocol_type().unwrap_or_default().to_owned(),
                state: state(group.state()),
                kind: CLASSIC,
            },
            Group::Consumer(group) => Listed {
                name: name.to_owned(),
                protocol_type: "consumer".to_owned(),
                state: group.state(),
                kind: CONSUMER,
            },
        });
        let empty = self.empty_groups().map(|name| Listed {
            name: name.to_owned(),
            protocol_type: String::new(),
            state: state(State::Empty),
            kind: CLASSIC,
        });
        with_members.chain(empty).collect()
    }

    /// A classic group, or one that has offsets only.
    pub(crate) fn describe(&self, name: &str) -> Option<Described> {
        match self.group(name) {
            Some(Group::Classic(group)) => Some(describe(group)),
            None if self.has_offsets(name) => Some(Described {
                state: state(State::Empty),
                protocol_type: String::new(),
                protocol: String::new(),
                members: Vec::new(),
            }),
            Some(Group::Consumer(_)) | None => None,
        }
    }

    /// A consumer group of the next generation.
    pub(crate) fn describe_consumer(&self, name: &str) -> Option<DescribedConsumer> {
        let Some(Group::Consumer(group)) = self.group(name) else {
            return None;
        };
        Some(DescribedConsumer {
            state: group.state(),
            epoch: group.epoch(),
            target_epoch: group.target_epoch(),
            members: group
                .members()
                .iter()
                .map(|(id, member)| (id.clone(), member.clone()))
                .collect(),
        })
    }
}

fn describe(group: &classic::Group) -> Described {
    let protocol = group.protocol_name().unwrap_or_default();
    let is_stable = group.state() == State::Stable;
    let members = group.members().iter().map(|(id, member)| DescribedMember {
        id: id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        metadata: member.metadata(protocol).filter(|_| is_stable).cloned().unwrap_or_default(),
        assignment: if is_stable { member.assignment.clone() } else { Bytes::new() },
    });
    Described {
        state: state(group.state()),
        protocol_type: group.protocol_type().unwrap_or_default().to_owned(),
        protocol: if is_stable { protocol.to_owned() } else { String::new() },
        members: members.collect(),
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Empty => "Empty",
        State::PreparingRebalance => "PreparingRebalance",
        State::CompletingRebalance => "CompletingRebalance",
        State::Stable => "Stable",
    }
}
