//! Reading and writing records.

use crate::wire::guard::schema::Kind::{Array, Bytes, String, Struct};
use crate::wire::guard::schema::{Field, INT8, INT16, INT32, INT64, Message, UUID};

pub(in crate::wire::guard) const PRODUCE: Message = Message {
    api_key: 0,
    first_version: 3,
    last_version: 13,
    flexible_from: 9,
    fields: &[
        Field::new("transactional_id", String),
        Field::new("acks", INT16),
        Field::new("timeout_ms", INT32),
        Field::new("topic_data", Array(&Struct(PRODUCE_TOPIC))),
    ],
};

const PRODUCE_TOPIC: &[Field] = &[
    Field::new("name", String).until(12),
    Field::new("topic_id", UUID).since(13),
    Field::new(
        "partition_data",
        Array(&Struct(&[Field::new("index", INT32), Field::new("records", Bytes)])),
    ),
];

pub(in crate::wire::guard) const FETCH: Message = Message {
    api_key: 1,
    first_version: 4,
    last_version: 18,
    flexible_from: 12,
    fields: &[
        Field::new("replica_id", INT32).until(14),
        Field::new("max_wait_ms", INT32),
        Field::new("min_bytes", INT32),
        Field::new("max_bytes", INT32),
        Field::new("isolation_level", INT8),
        Field::new("session_id", INT32).since(7),
        Field::new("session_epoch", INT32).since(7),
        Field::new("topics", Array(&Struct(FETCH_TOPIC))),
        Field::new("forgotten_topics_data", Array(&Struct(FORGOTTEN_TOPIC))).since(7),
        Field::new("rack_id", String).since(11),
        Field::tagged(0, "cluster_id", String).since(12),
        Field::tagged(1, "replica_state", Struct(REPLICA_STATE)).since(15),
    ],
};

const FETCH_TOPIC: &[Field] = &[
    Field::new("topic", String).until(12),
    Field::new("topic_id", UUID).since(13),
    Field::new(
        "partitions",
        Array(&Struct(&[
            Field::new("partition", INT32),
            Field::new("current_leader_epoch", INT32).since(9),
            Field::new("fetch_offset", INT64),
            Field::new("last_fetched_epoch", INT32).since(12),
            Field::new("log_start_offset", INT64).since(5),
            Field::new("partition_max_bytes", INT32),
            Field::tagged(0, "replica_directory_id", UUID).since(17),
            Field::tagged(1, "high_watermark", INT64).since(18),
        ])),
    ),
];

const FORGOTTEN_TOPIC: &[Field] = &[
    Field::new("topic", String).until(12),
    Field::new("topic_id", UUID).since(13),
    Field::new("partitions", Array(&INT32)),
];

const REPLICA_STATE: &[Field] =
    &[Field::new("replica_id", INT32), Field::new("replica_epoch", INT64)];

pub(in crate::wire::guard) const FETCH_RESPONSE: Message = Message {
    api_key: 1,
    first_version: 4,
    last_version: 18,
    flexible_from: 12,
    fields: &[
        Field::new("throttle_time_ms", INT32),
        Field::new("error_code", INT16).since(7),
        Field::new("session_id", INT32).since(7),
        Field::new(
            "responses",
            Array(&Struct(&[
                Field::new("topic", String).until(12),
                Field::new("topic_id", UUID).since(13),
                Field::new("partitions", Array(&Struct(FETCHED_PARTITION))),
            ])),
        ),
        Field::tagged(
            0,
            "node_endpoints",
            Array(&Struct(&[
                Field::new("node_id", INT32),
                Field::new("host", String),
                Field::new("port", INT32),
                Field::new("rack", String),
            ])),
        )
        .since(16),
    ],
};

const FETCHED_PARTITION: &[Field] = &[
    Field::new("partition_index", INT32),
    Field::new("error_code", INT16),
    Field::new("high_watermark", INT64),
    Field::new("last_stable_offset", INT64),
    Field::new("log_start_offset", INT64).since(5),
    Field::new(
        "aborted_transactions",
        Array(&Struct(&[Field::new("producer_id", INT64), Field::new("first_offset", INT64)])),
    ),
    Field::new("preferred_read_replica", INT32).since(11),
    Field::new("records", Bytes),
    Field::tagged(
        0,
        "diverging_epoch",
        Struct(&[Field::new("epoch", INT32), Field::new("end_offset", INT64)]),
    )
    .since(12),
    Field::tagged(
        1,
        "current_leader",
        Struct(&[Field::new("leader_id", INT32), Field::new("leader_epoch", INT32)]),
    )
    .since(12),
    Field::tagged(
        2,
        "snapshot_id",
        Struct(&[Field::new("end_offset", INT64), Field::new("epoch", INT32)]),
    )
    .since(12),
];

pub(in crate::wire::guard) const LIST_OFFSETS: Message = Message {
    api_key: 2,
    first_version: 1,
    last_version: 10,
    flexible_from: 6,
    fields: &[
        Field::new("replica_id", INT32),
        Field::new("isolation_level", INT8).since(2),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("current_leader_epoch", INT32).since(4),
                        Field::new("timestamp", INT64),
                    ])),
                ),
            ])),
        ),
        Field::new("timeout_ms", INT32).since(10),
    ],
};
