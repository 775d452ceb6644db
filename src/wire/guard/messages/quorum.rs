//! What the metadata quorum tells of itself.

use crate::wire::guard::schema::Kind::{Array, String, Struct};
use crate::wire::guard::schema::{Field, INT32, Message};

pub(in crate::wire::guard) const DESCRIBE_QUORUM: Message = Message {
    api_key: 55,
    first_version: 0,
    last_version: 2,
    flexible_from: 0,
    fields: &[Field::new(
        "topics",
        Array(&Struct(&[
            Field::new("topic_name", String),
            Field::new("partitions", Array(&Struct(&[Field::new("partition_index", INT32)]))),
        ])),
    )],
};
