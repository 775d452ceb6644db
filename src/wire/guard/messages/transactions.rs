//! Producer ids and transactions.

use crate::wire::guard::schema::Kind::{Array, String, Struct};
use crate::wire::guard::schema::{BOOLEAN, Field, INT16, INT32, INT64, Message};

pub(in crate::wire::guard) const INIT_PRODUCER_ID: Message = Message {
    api_key: 22,
    first_version: 0,
    last_version: 5,
    flexible_from: 2,
    fields: &[
        Field::new("transactional_id", String),
        Field::new("transaction_timeout_ms", INT32),
        Field::new("producer_id", INT64).since(3),
        Field::new("producer_epoch", INT16).since(3),
    ],
};

pub(in crate::wire::guard) const ADD_PARTITIONS_TO_TXN: Message = Message {
    api_key: 24,
    first_version: 0,
    last_version: 5,
    flexible_from: 3,
    fields: &[
        Field::new(
            "transactions",
            Array(&Struct(&[
                Field::new("transactional_id", String),
                Field::new("producer_id", INT64),
                Field::new("producer_epoch", INT16),
                Field::new("verify_only", BOOLEAN),
                Field::new("topics", Array(&Struct(TXN_TOPIC))),
            ])),
        )
        .since(4),
        Field::new("v3_and_below_transactional_id", String).until(3),
        Field::new("v3_and_below_producer_id", INT64).until(3),
        Field::new("v3_and_below_producer_epoch", INT16).until(3),
        Field::new("v3_and_below_topics", Array(&Struct(TXN_TOPIC))).until(3),
    ],
};

const TXN_TOPIC: &[Field] = &[Field::new("name", String), Field::new("partitions", Array(&INT32))];

pub(in crate::wire::guard) const ADD_OFFSETS_TO_TXN: Message = Message {
    api_key: 25,
    first_version: 0,
    last_version: 4,
    flexible_from: 3,
    fields: &[
        Field::new("transactional_id", String),
        Field::new("producer_id", INT64),
        Field::new("producer_epoch", INT16),
        Field::new("group_id", String),
    ],
};

pub(in crate::wire::guard) const END_TXN: Message = Message {
    api_key: 26,
    first_version: 0,
    last_version: 5,
    flexible_from: 3,
    fields: &[
        Field::new("transactional_id", String),
        Field::new("producer_id", INT64),
        Field::new("producer_epoch", INT16),
        Field::new("committed", BOOLEAN),
    ],
};

pub(in crate::wire::guard) const WRITE_TXN_MARKERS: Message = Message {
    api_key: 27,
    first_version: 1,
    last_version: 1,
    flexible_from: 1,
    fields: &[Field::new(
        "markers",
        Array(&Struct(&[
            Field::new("producer_id", INT64),
            Field::new("producer_epoch", INT16),
            Field::new("transaction_result", BOOLEAN),
            Field::new(
                "topics",
                Array(&Struct(&[
                    Field::new("name", String),
                    Field::new("partition_indexes", Array(&INT32)),
                ])),
            ),
            Field::new("coordinator_epoch", INT32),
        ])),
    )],
};

pub(in crate::wire::guard) const TXN_OFFSET_COMMIT: Message = Message {
    api_key: 28,
    first_version: 0,
    last_version: 5,
    flexible_from: 3,
    fields: &[
        Field::new("transactional_id", String),
        Field::new("group_id", String),
        Field::new("producer_id", INT64),
        Field::new("producer_epoch", INT16),
        Field::new("generation_id", INT32).since(3),
        Field::new("member_id", String).since(3),
        Field::new("group_instance_id", String).since(3),
        Field::new(
            "topics",
            Array(&Struct(&[
                Field::new("name", String),
                Field::new(
                    "partitions",
                    Array(&Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("committed_offset", INT64),
                        Field::new("committed_leader_epoch", INT32).since(2),
                        Field::new("committed_metadata", String),
                    ])),
                ),
            ])),
        ),
    ],
};

pub(in crate::wire::guard) const DESCRIBE_PRODUCERS: Message = Message {
    api_key: 61,
    first_version: 0,
    last_version: 0,
    flexible_from: 0,
    fields: &[Field::new(
        "topics",
        Array(&Struct(&[
            Field::new("name", String),
            Field::new("partition_indexes", Array(&INT32)),
        ])),
    )],
};
