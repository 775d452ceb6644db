//! The cluster and its topics.

use crate::wire::guard::schema::Kind::{Array, String, Struct};
use crate::wire::guard::schema::{BOOLEAN, Field, INT8, INT16, INT32, INT64, Message, UUID};

pub(in crate::wire::guard) const METADATA: Message = Message {
    api_key: 3,
    first_version: 0,
    last_version: 13,
    flexible_from: 9,
    fields: &[
        Field::new(
            "topics",
            Array(&Struct(&[Field::new("topic_id", UUID).since(10), Field::new("name", String)])),
        ),
        Field::new("allow_auto_topic_creation", BOOLEAN).since(4),
        Field::new("include_cluster_authorized_operations", BOOLEAN).since(8).until(10),
        Field::new("include_topic_authorized_operations", BOOLEAN).since(8),
    ],
};

pub(in crate::wire::guard) const API_VERSIONS: Message = Message {
    api_key: 18,
    first_version: 0,
    last_version: 4,
    flexible_from: 3,
    fields: &[
        Field::new("client_software_name", String).since(3),
        Field::new("client_software_version", String).since(3),
    ],
};

pub(in crate::wire::guard) const API_VERSIONS_RESPONSE: Message = Message {
    fields: &[
        Field::new("error_code", INT16),
        Field::new(
            "api_keys",
            Array(&Struct(&[
                Field::new("api_key", INT16),
                Field::new("min_version", INT16),
                Field::new("max_version", INT16),
            ])),
        ),
        Field::new("throttle_time_ms", INT32).since(1),
        Field::tagged(
            0,
            "supported_features",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new("min_version", INT16),
                Field::new("max_version", INT16),
            ])),
        )
        .since(3),
        Field::tagged(1, "finalized_features_epoch", INT64).since(3),
        Field::tagged(
            2,
            "finalized_features",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new("max_version_level", INT16),
                Field::new("min_version_level", INT16),
            ])),
        )
        .since(3),
        Field::tagged(3, "zk_migration_ready", BOOLEAN).since(3),
    ],
    ..API_VERSIONS
};

pub(in crate::wire::guard) const CREATE_TOPICS: Message = Message {
    api_key: 19,
    first_version: 2,
    last_version: 7,
    flexible_from: 5,
    fields: &[
        Field::new("topics", Array(&Struct(CREATABLE_TOPIC))),
        Field::new("timeout_ms", INT32),
        Field::new("validate_only", BOOLEAN),
    ],
};

const CREATABLE_TOPIC: &[Field] = &[
    Field::new("name", String),
    Field::new("num_partitions", INT32),
    Field::new("replication_factor", INT16),
    Field::new(
        "assignments",
        Array(&Struct(&[
            Field::new("partition_index", INT32),
            Field::new("broker_ids", Array(&INT32)),
        ])),
    ),
    Field::new(
        "configs",
        Array(&Struct(&[Field::new("name", String), Field::new("value", String)])),
    ),
];

pub(in crate::wire::guard) const DELETE_TOPICS: Message = Message {
    api_key: 20,
    first_version: 1,
    last_version: 6,
    flexible_from: 4,
    fields: &[
        Field::new(
            "topics",
            Array(&Struct(&[Field::new("name", String), Field::new("topic_id", UUID)])),
        )
        .since(6),
        Field::new("topic_names", Array(&String)).until(5),
        Field::new("timeout_ms", INT32),
    ],
};

pub(in crate::wire::guard) const CREATE_PARTITIONS: Message = Message {
    api_key: 37,
    first_version: 0,
    last_version: 3,
    flexible_from: 2,
    fields: &[
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new("count", INT32),
                Field::new(
                    "assignments",
                    Array(&Struct(&[Field::new("broker_ids", Array(&INT32))])),
                ),
            ])),
        ),
        Field::new("timeout_ms", INT32),
        Field::new("validate_only", BOOLEAN),
    ],
};

pub(in crate::wire::guard) const DESCRIBE_CLUSTER: Message = Message {
    api_key: 60,
    first_version: 0,
    last_version: 2,
    flexible_from: 0,
    fields: &[
        Field::new("include_cluster_authorized_operations", BOOLEAN),
        Field::new("endpoint_type", INT8).since(1),
        Field::new("include_fenced_brokers", BOOLEAN).since(2),
    ],
};

pub(in crate::wire::guard) const UPDATE_FEATURES: Message = Message {
    api_key: 57,
    first_version: 0,
    last_version: 2,
    flexible_from: 0,
    fields: &[
        Field::new("timeout_ms", INT32),
        Field::new(
            "feature_updates",
            Array(&Struct(&[
                Field::new("feature", String),
                Field::new("max_version_level", INT16),
                Field::new("allow_downgrade", BOOLEAN).until(0),
                Field::new("upgrade_type", INT8).since(1),
            ])),
        ),
        Field::new("validate_only", BOOLEAN).since(1),
    ],
};
