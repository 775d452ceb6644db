//! Groups as an administrator sees them.

use super::Coordinator;
use super::classic::{Group, State};
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

const CLASSIC: &str = "Classic";

impl Coordinator {
    /// All groups, those that only have offsets among them.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let with_members = self.groups().map(|(name, group)| Listed {
            name: name.to_owned(),
            protocol_type: group.protocol_type().unwrap_or_default().to_owned(),
            state: state(group.state()),
            kind: CLASSIC,
        });
        let empty = self.empty_groups().map(|name| Listed {
            name: name.to_owned(),
            protocol_type: String::new(),
            state: state(State::Empty),
            kind: CLASSIC,
        });
        with_members.chain(empty).collect()
    }

    /// A group that is there.
    pub(crate) fn describe(&self, name: &str) -> Option<Described> {
        match self.group(name) {
            Some(group) => Some(describe(group)),
            None if self.has_offsets(name) => Some(Described {
                state: state(State::Empty),
                protocol_type: String::new(),
                protocol: String::new(),
                members: Vec::new(),
            }),
            None => None,
        }
    }
}

fn describe(group: &Group) -> Described {
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
