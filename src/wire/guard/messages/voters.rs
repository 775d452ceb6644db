//! Changes of the metadata quorum's voters.

use crate::wire::guard::schema::Kind::{Array, String, Struct};
use crate::wire::guard::schema::{BOOLEAN, Field, INT16, INT32, Message, UUID};

/// At version 1, which `kafka-protocol` does not have, too.
pub(in crate::wire::guard) const ADD_RAFT_VOTER: Message = Message {
    api_key: 80,
    first_version: 0,
    last_version: 1,
    flexible_from: 0,
    fields: &[
        Field::new("cluster_id", String),
        Field::new("timeout_ms", INT32),
        Field::new("voter_id", INT32),
        Field::new("voter_directory_id", UUID),
        Field::new("listeners", Array(&Struct(LISTENER))),
        Field::new("ack_when_committed", BOOLEAN).since(1),
    ],
};

/// What `kafka-protocol` decodes of it.
pub(in crate::wire::guard) const ADD_RAFT_VOTER_0: Message =
    Message { last_version: 0, ..ADD_RAFT_VOTER };

pub(in crate::wire::guard) const REMOVE_RAFT_VOTER: Message = Message {
    api_key: 81,
    first_version: 0,
    last_version: 0,
    flexible_from: 0,
    fields: &[
        Field::new("cluster_id", String),
        Field::new("voter_id", INT32),
        Field::new("voter_directory_id", UUID),
    ],
};

pub(in crate::wire::guard) const UPDATE_RAFT_VOTER: Message = Message {
    api_key: 82,
    first_version: 0,
    last_version: 0,
    flexible_from: 0,
    fields: &[
        Field::new("cluster_id", String),
        Field::new("current_leader_epoch", INT32),
        Field::new("voter_id", INT32),
        Field::new("voter_directory_id", UUID),
        Field::new("listeners", Array(&Struct(LISTENER))),
        Field::new(
            "kraft_version_feature",
            Struct(&[
                Field::new("min_supported_version", INT16),
                Field::new("max_supported_version", INT16),
            ]),
        ),
    ],
};

const LISTENER: &[Field] = &[
    Field::new("name", String),
    Field::new("host", String),
    // An unsigned number.
    Field::new("port", INT16),
];

pub(in crate::wire::guard) const ADD_RAFT_VOTER_RESPONSE: Message =
    Message { api_key: 80, fields: OUTCOME, ..RESPONSE };

pub(in crate::wire::guard) const REMOVE_RAFT_VOTER_RESPONSE: Message =
    Message { api_key: 81, fields: OUTCOME, ..RESPONSE };

pub(in crate::wire::guard) const UPDATE_RAFT_VOTER_RESPONSE: Message = Message {
    api_key: 82,
    fields: &[
        Field::new("throttle_time_ms", INT32),
        Field::new("error_code", INT16),
        Field::tagged(
            0,
            "current_leader",
            Struct(&[
                Field::new("leader_id", INT32),
                Field::new("leader_epoch", INT32),
                Field::new("host", String),
                Field::new("port", INT32),
            ]),
        ),
    ],
    ..RESPONSE
};

const OUTCOME: &[Field] = &[
    Field::new("throttle_time_ms", INT32),
    Field::new("error_code", INT16),
    Field::new("error_message", String),
];

/// What the responses have in common: `kafka-protocol` has one version of each.
const RESPONSE: Message =
    Message { api_key: -1, first_version: 0, last_version: 0, flexible_from: 0, fields: &[] };
