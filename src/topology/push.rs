//! A `StreamsGroupTopologyDescriptionUpdate` request.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use thiserror::Error;

use super::epoch::TopologyEpoch;
use super::group::StreamsGroup;
use crate::error_code::ErrorCode;

/// What a request says of the topology, as far as it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "it is there, well formed, or not")]
pub enum Description {
    /// The field is null.
    Missing,
    /// A node has this type, which is none.
    UnknownNodeType(i8),
    /// A global store is not a source and a processor.
    MalformedGlobalStore,
    /// It can be handed to the plugin.
    WellFormed,
}

impl Description {
    const SOURCE: i8 = 1;
    const PROCESSOR: i8 = 2;
    const SINK: i8 = 3;

    /// Checks a description that is there: the types of all nodes of all subtopologies, and of the
    /// source and processor of each global store. O(nodes).
    pub fn of(
        nodes: impl IntoIterator<Item = i8>,
        global_stores: impl IntoIterator<Item = (i8, i8)>,
    ) -> Self {
        let is_unknown = |kind: &i8| !matches!(*kind, Self::SOURCE | Self::PROCESSOR | Self::SINK);
        let is_store = |kinds: (i8, i8)| kinds == (Self::SOURCE, Self::PROCESSOR);
        if let Some(kind) = nodes.into_iter().find(is_unknown) {
            Self::UnknownNodeType(kind)
        } else if global_stores.into_iter().all(is_store) {
            Self::WellFormed
        } else {
            Self::MalformedGlobalStore
        }
    }
}

/// A push, whose sender may read the group. The description itself stays with the host until a
/// [`SetCall`](super::SetCall) asks for it.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the request")]
pub struct PushRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The member that sends it.
    pub member_id: &'a str,
    /// The epoch of the topology that it describes.
    pub topology_epoch: i32,
    /// The description.
    pub description: Description,
}

impl PushRequest<'_> {
    /// Checks a push in Kafka's order, fields first, then by the state of its group; gives the epoch
    /// that it may set.
    ///
    /// # Errors
    /// [`PushError::MemberIdEmpty`] to [`PushError::MalformedGlobalStore`].
    pub fn validate(
        &self,
        group: Option<&StreamsGroup>,
        has_member: impl FnOnce(&str) -> bool,
    ) -> Result<TopologyEpoch, PushError> {
        self.check_fields()?;
        let Some(group) = group else {
            return Err(PushError::GroupNotFound(self.group_id.into()));
        };
        if !has_member(self.member_id) {
            let (group_id, member_id) = (self.group_id.into(), self.member_id.into());
            return Err(PushError::UnknownMember { group_id, member_id });
        }
        let pushed = self.topology_epoch;
        let epoch = match group.current {
            Some(epoch) if epoch.get() == pushed => epoch,
            current => return Err(PushError::WrongEpoch { pushed, current }),
        };
        match self.description {
            Description::Missing => Err(PushError::NoDescription),
            Description::UnknownNodeType(kind) => Err(PushError::UnknownNodeType(kind)),
            Description::MalformedGlobalStore => Err(PushError::MalformedGlobalStore),
            Description::WellFormed => Ok(epoch),
        }
    }

    /// Checks the fields of the request alone.
    pub(super) fn check_fields(&self) -> Result<(), PushError> {
        if is_blank(self.member_id) {
            Err(PushError::MemberIdEmpty)
        } else if is_blank(self.group_id) {
            Err(PushError::GroupIdEmpty)
        } else if self.description == Description::Missing {
            Err(PushError::NoDescription)
        } else {
            Ok(())
        }
    }
}

/// Whether nothing is left of a text that Java trims: of blanks and control characters.
fn is_blank(text: &str) -> bool {
    text.chars().all(|char| char <= ' ')
}

/// Why a push failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum PushError {
    /// No plugin is configured.
    #[error("The broker has no streams group topology description plugin configured.")]
    NoPlugin,
    /// The member id is blank.
    #[error("MemberId can't be empty.")]
    MemberIdEmpty,
    /// The group id is blank.
    #[error("GroupId can't be empty.")]
    GroupIdEmpty,
    /// There is no description.
    #[error("TopologyDescription can't be null.")]
    NoDescription,
    /// There is no streams group of that id, or no more.
    #[error("Group {0} not found.")]
    GroupNotFound(Box<str>),
    /// The group has no such member.
    #[error("Member {member_id} is not a member of group {group_id}.")]
    UnknownMember {
        /// The group.
        group_id: Box<str>,
        /// Who is none of its members.
        member_id: Box<str>,
    },
    /// The topology that is described is not the group's.
    ///
    /// Deviation: that is so of every negative epoch. Kafka takes -1 for a group that has no topology, and
    /// then records that the plugin holds nothing, though it does.
    #[error("Topology epoch {pushed} does not match the group's current topology epoch {}.", current.map_or(-1, TopologyEpoch::get))]
    WrongEpoch {
        /// The epoch of the request.
        pushed: i32,
        /// The epoch of the group's topology.
        current: Option<TopologyEpoch>,
    },
    /// A node of the description has a type that is none.
    #[error("Unknown topology node type: {0}")]
    UnknownNodeType(i8),
    /// A global store of the description is not a source and a processor.
    #[error("A global store is not a source and a processor.")]
    MalformedGlobalStore,
    /// The plugin did not take it. With what it says.
    #[error("{}", .0.as_deref().unwrap_or_default())]
    Failed(Option<Box<str>>),
    /// Another operation on the description of this group is under way, or may be: the member is asked
    /// again later.
    ///
    /// Deviation: Kafka lets them overlap, and may lose or leak a description.
    #[error("Another operation on the topology description of the group is under way.")]
    Busy,
    /// A write failed, or the shard is not here. The code is the one for the client.
    #[error("The write failed: {0}.")]
    Write(ErrorCode),
}

impl PushError {
    /// What the client is told.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NoPlugin => ErrorCode::UnsupportedVersion,
            Self::MemberIdEmpty
            | Self::GroupIdEmpty
            | Self::NoDescription
            | Self::WrongEpoch { .. }
            | Self::UnknownNodeType(_)
            | Self::MalformedGlobalStore => ErrorCode::InvalidRequest,
            Self::GroupNotFound(_) => ErrorCode::GroupIdNotFound,
            Self::UnknownMember { .. } => ErrorCode::UnknownMemberId,
            Self::Failed(_) | Self::Busy => ErrorCode::StreamsTopologyDescriptionUpdateFailed,
            Self::Write(code) => *code,
        }
    }

    /// The message for the client: of a plugin that did not take it, what it says, if anything; none of a
    /// write that failed; of the other errors, their text, which is Kafka's where Kafka has the error.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Failed(message) => message.as_deref().map(Into::into),
            Self::Write(_) => None,
            other => Some(other.to_string()),
        }
    }
}
