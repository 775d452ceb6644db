//! What replicas of the metadata quorum say to each other, beside `Fetch`.

use crate::wire::guard::schema::Kind::{Array, Bytes, String, Struct};
use crate::wire::guard::schema::{BOOLEAN, Field, INT16, INT32, INT64, Message, UUID};

/// An unsigned number.
const PORT: Field = Field::new("port", INT16);

const NODE_ENDPOINTS: Field = Field::tagged(
    0,
    "node_endpoints",
    Array(&Struct(&[Field::new("node_id", INT32), Field::new("host", String), PORT])),
)
.since(1);

const LEADER_ENDPOINTS: Field = Field::new(
    "leader_endpoints",
    Array(&Struct(&[Field::new("name", String), Field::new("host", String), PORT])),
)
.since(1);

pub(in crate::wire::guard) const VOTE: Message = Message {
    api_key: 52,
    first_version: 0,
    last_version: 2,
    flexible_from: 0,
    fields: &[
        Field::new("cluster_id", String),
        Field::new("voter_id", INT32).since(1),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("topic_name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("replica_epoch", INT32),
                        Field::new("replica_id", INT32),
                        Field::new("replica_directory_id", UUID).since(1),
                        Field::new("voter_directory_id", UUID).since(1),
                        Field::new("last_offset_epoch", INT32),
                        Field::new("last_offset", INT64),
                        Field::new("pre_vote", BOOLEAN).since(2),
                    ])),
                ),
            ])),
        ),
    ],
};

pub(in crate::wire::guard) const VOTE_RESPONSE: Message = Message {
    fields: &[
        Field::new("error_code", INT16),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("topic_name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("error_code", INT16),
                        Field::new("leader_id", INT32),
                        Field::new("leader_epoch", INT32),
                        Field::new("vote_granted", BOOLEAN),
                    ])),
                ),
            ])),
        ),
        NODE_ENDPOINTS,
    ],
    ..VOTE
};

pub(in crate::wire::guard) const BEGIN_QUORUM_EPOCH: Message = Message {
    api_key: 53,
    first_version: 0,
    last_version: 1,
    flexible_from: 1,
    fields: &[
        Field::new("cluster_id", String),
        Field::new("voter_id", INT32).since(1),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("topic_name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("voter_directory_id", UUID).since(1),
                        Field::new("leader_id", INT32),
                        Field::new("leader_epoch", INT32),
                    ])),
                ),
            ])),
        ),
        LEADER_ENDPOINTS,
    ],
};

pub(in crate::wire::guard) const BEGIN_QUORUM_EPOCH_RESPONSE: Message =
    Message { fields: HEARD, ..BEGIN_QUORUM_EPOCH };

pub(in crate::wire::guard) const END_QUORUM_EPOCH: Message = Message {
    api_key: 54,
    first_version: 0,
    last_version: 1,
    flexible_from: 1,
    fields: &[
        Field::new("cluster_id", String),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("topic_name", String),
                Field::new("partitions", Array(&Struct(ENDED_PARTITION))),
            ])),
        ),
        LEADER_ENDPOINTS,
    ],
};

const ENDED_PARTITION: &[Field] = &[
    Field::new("partition_index", INT32),
    Field::new("leader_id", INT32),
    Field::new("leader_epoch", INT32),
    Field::new("preferred_successors", Array(&INT32)).until(0),
    Field::new(
        "preferred_candidates",
        Array(&Struct(&[
            Field::new("candidate_id", INT32),
            Field::new("candidate_directory_id", UUID),
        ])),
    )
    .since(1),
];

pub(in crate::wire::guard) const END_QUORUM_EPOCH_RESPONSE: Message =
    Message { fields: HEARD, ..END_QUORUM_EPOCH };

/// The answer to a message of a leader.
const HEARD: &[Field] = &[
    Field::new("error_code", INT16),
    Field::new(
        "topics",
        Array(&Struct(&[
            Field::new("topic_name", String),
            Field::new(
                "partitions",
                Array(&Struct(&[
                    Field::new("partition_index", INT32),
                    Field::new("error_code", INT16),
                    Field::new("leader_id", INT32),
                    Field::new("leader_epoch", INT32),
                ])),
            ),
        ])),
    ),
    NODE_ENDPOINTS,
];

const SNAPSHOT_ID: Field = Field::new(
    "snapshot_id",
    Struct(&[Field::new("end_offset", INT64), Field::new("epoch", INT32)]),
);

pub(in crate::wire::guard) const FETCH_SNAPSHOT: Message = Message {
    api_key: 59,
    first_version: 0,
    last_version: 1,
    flexible_from: 0,
    fields: &[
        Field::new("replica_id", INT32),
        Field::new("max_bytes", INT32),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition", INT32),
                        Field::new("current_leader_epoch", INT32),
                        SNAPSHOT_ID,
                        Field::new("position", INT64),
                        Field::tagged(0, "replica_directory_id", UUID).since(1),
                    ])),
                ),
            ])),
        ),
        Field::tagged(0, "cluster_id", String),
    ],
};

pub(in crate::wire::guard) const FETCH_SNAPSHOT_RESPONSE: Message = Message {
    fields: &[
        Field::new("throttle_time_ms", INT32),
        Field::new("error_code", INT16),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new("partitions", Array(&Struct(SNAPSHOT_PART))),
            ])),
        ),
        NODE_ENDPOINTS,
    ],
    ..FETCH_SNAPSHOT
};

const SNAPSHOT_PART: &[Field] = &[
    Field::new("index", INT32),
    Field::new("error_code", INT16),
    SNAPSHOT_ID,
    Field::new("size", INT64),
    Field::new("position", INT64),
    Field::new("unaligned_records", Bytes),
    Field::tagged(
        0,
        "current_leader",
        Struct(&[Field::new("leader_id", INT32), Field::new("leader_epoch", INT32)]),
    ),
];
