//! Groups, their members and their offsets.

use crate::wire::guard::schema::Kind::{Array, Bytes, String, Struct};
use crate::wire::guard::schema::{BOOLEAN, Field, INT8, INT32, INT64, Message, UUID};

pub(in crate::wire::guard) const OFFSET_COMMIT: Message = Message {
    api_key: 8,
    first_version: 2,
    last_version: 9,
    flexible_from: 8,
    fields: &[
        Field::new("group_id", String),
        Field::new("generation_id_or_member_epoch", INT32),
        Field::new("member_id", String),
        Field::new("group_instance_id", String).since(7),
        Field::new("retention_time_ms", INT64).until(4),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("committed_offset", INT64),
                        Field::new("committed_leader_epoch", INT32).since(6),
                        Field::new("committed_metadata", String),
                    ])),
                ),
            ])),
        ),
    ],
};

pub(in crate::wire::guard) const OFFSET_FETCH: Message = Message {
    api_key: 9,
    first_version: 1,
    last_version: 9,
    flexible_from: 6,
    fields: &[
        Field::new("group_id", String).until(7),
        Field::new("topics", Array(&Struct(OFFSET_FETCH_TOPIC))).until(7),
        Field::new(
            "groups",
            Array(&Struct(&[
                Field::new("group_id", String),
                Field::new("member_id", String).since(9),
                Field::new("member_epoch", INT32).since(9),
                Field::new("topics", Array(&Struct(OFFSET_FETCH_TOPIC))),
            ])),
        )
        .since(8),
        Field::new("require_stable", BOOLEAN).since(7),
    ],
};

const OFFSET_FETCH_TOPIC: &[Field] =
    &[Field::new("name", String), Field::new("partition_indexes", Array(&INT32))];

pub(in crate::wire::guard) const FIND_COORDINATOR: Message = Message {
    api_key: 10,
    first_version: 0,
    last_version: 6,
    flexible_from: 3,
    fields: &[
        Field::new("key", String).until(3),
        Field::new("key_type", INT8).since(1),
        Field::new("coordinator_keys", Array(&String)).since(4),
    ],
};

pub(in crate::wire::guard) const JOIN_GROUP: Message = Message {
    api_key: 11,
    first_version: 0,
    last_version: 9,
    flexible_from: 6,
    fields: &[
        Field::new("group_id", String),
        Field::new("session_timeout_ms", INT32),
        Field::new("rebalance_timeout_ms", INT32).since(1),
        Field::new("member_id", String),
        Field::new("group_instance_id", String).since(5),
        Field::new("protocol_type", String),
        Field::new(
            "protocols",
            Array(&Struct(&[Field::new("name", String), Field::new("metadata", Bytes)])),
        ),
        Field::new("reason", String).since(8),
    ],
};

pub(in crate::wire::guard) const HEARTBEAT: Message = Message {
    api_key: 12,
    first_version: 0,
    last_version: 4,
    flexible_from: 4,
    fields: &[
        Field::new("group_id", String),
        Field::new("generation_id", INT32),
        Field::new("member_id", String),
        Field::new("group_instance_id", String).since(3),
    ],
};

pub(in crate::wire::guard) const LEAVE_GROUP: Message = Message {
    api_key: 13,
    first_version: 0,
    last_version: 5,
    flexible_from: 4,
    fields: &[
        Field::new("group_id", String),
        Field::new("member_id", String).until(2),
        Field::new(
            "members",
            Array(&Struct(&[
                Field::new("member_id", String),
                Field::new("group_instance_id", String),
                Field::new("reason", String).since(5),
            ])),
        )
        .since(3),
    ],
};

pub(in crate::wire::guard) const SYNC_GROUP: Message = Message {
    api_key: 14,
    first_version: 0,
    last_version: 5,
    flexible_from: 4,
    fields: &[
        Field::new("group_id", String),
        Field::new("generation_id", INT32),
        Field::new("member_id", String),
        Field::new("group_instance_id", String).since(3),
        Field::new("protocol_type", String).since(5),
        Field::new("protocol_name", String).since(5),
        Field::new(
            "assignments",
            Array(&Struct(&[Field::new("member_id", String), Field::new("assignment", Bytes)])),
        ),
    ],
};

pub(in crate::wire::guard) const DESCRIBE_GROUPS: Message = Message {
    api_key: 15,
    first_version: 0,
    last_version: 6,
    flexible_from: 5,
    fields: &[
        Field::new("groups", Array(&String)),
        Field::new("include_authorized_operations", BOOLEAN).since(3),
    ],
};

pub(in crate::wire::guard) const LIST_GROUPS: Message = Message {
    api_key: 16,
    first_version: 0,
    last_version: 5,
    flexible_from: 3,
    fields: &[
        Field::new("states_filter", Array(&String)).since(4),
        Field::new("types_filter", Array(&String)).since(5),
    ],
};

pub(in crate::wire::guard) const CONSUMER_GROUP_HEARTBEAT: Message = Message {
    api_key: 68,
    first_version: 0,
    last_version: 1,
    flexible_from: 0,
    fields: &[
        Field::new("group_id", String),
        Field::new("member_id", String),
        Field::new("member_epoch", INT32),
        Field::new("instance_id", String),
        Field::new("rack_id", String),
        Field::new("rebalance_timeout_ms", INT32),
        Field::new("subscribed_topic_names", Array(&String)),
        Field::new("subscribed_topic_regex", String).since(1),
        Field::new("server_assignor", String),
        Field::new(
            "topic_partitions",
            Array(&Struct(&[
                Field::new("topic_id", UUID),
                Field::new("partitions", Array(&INT32)),
            ])),
        ),
    ],
};

pub(in crate::wire::guard) const CONSUMER_GROUP_DESCRIBE: Message = Message {
    api_key: 69,
    first_version: 0,
    last_version: 1,
    flexible_from: 0,
    fields: &[
        Field::new("group_ids", Array(&String)),
        Field::new("include_authorized_operations", BOOLEAN),
    ],
};
