//! The value of a streams group's record.

use super::error::GroupRecordError;
use super::format::{Reader, put_head, put_length, put_tag, put_text, put_uvarint};
use alloc::string::String;
use alloc::vec::Vec;

/// The epoch of a topology that is not known: the default of these fields.
const NO_EPOCH: i32 = -1;

/// The value of a streams group's metadata record (KIP-1071, KIP-1331).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the only version")]
pub struct StreamsGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// The metadata hash; 0 for none.
    pub metadata_hash: i64,
    /// The epoch of the topology that was last found valid; -1 for none.
    pub validated_topology_epoch: i32,
    /// What the last assignment was configured with; Kafka writes a list, be it empty, and reads none as an empty one.
    pub last_assignment_configs: Option<Vec<AssignmentConfig>>,
    /// The epoch of the topology whose description is stored; -1 for none, -2 if that is uncertain.
    pub stored_description_topology_epoch: i32,
    /// The epoch of the topology whose description was refused for good; -1 for none.
    pub failed_description_topology_epoch: i32,
}

/// A configuration of an assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the only version")]
pub struct AssignmentConfig {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl StreamsGroupMetadataValue {
    /// Appends the value's bytes to `out`, its version first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_head(out, self.epoch);
        out.extend_from_slice(&self.metadata_hash.to_be_bytes());
        let epoch = |epoch: i32| (epoch != NO_EPOCH).then(|| epoch.to_be_bytes().to_vec());
        let fields = [
            epoch(self.validated_topology_epoch),
            self.last_assignment_configs.as_deref().map(configs),
            epoch(self.stored_description_topology_epoch),
            epoch(self.failed_description_topology_epoch),
        ];
        put_uvarint(out, fields.iter().flatten().map(|_| 1).sum());
        for (tag, field) in (0..).zip(fields) {
            if let Some(field) = field {
                put_tag(out, tag, &field);
            }
        }
    }

    /// Reads a value, its version first.
    ///
    /// # Errors
    /// [`GroupRecordError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, GroupRecordError> {
        let mut reader = Reader(bytes);
        let mut value = Self {
            epoch: reader.head()?,
            metadata_hash: i64::from_be_bytes(reader.array()?),
            validated_topology_epoch: NO_EPOCH,
            last_assignment_configs: None,
            stored_description_topology_epoch: NO_EPOCH,
            failed_description_topology_epoch: NO_EPOCH,
        };
        reader.tags(|tag, field| {
            let epoch = match tag {
                0 => &mut value.validated_topology_epoch,
                1 => {
                    value.last_assignment_configs = read_configs(field)?;
                    return Ok(true);
                }
                2 => &mut value.stored_description_topology_epoch,
                3 => &mut value.failed_description_topology_epoch,
                _ => return Ok(false),
            };
            *epoch = i32::from_be_bytes(field.array()?);
            Ok(true)
        })?;
        reader.end()?;
        Ok(value)
    }
}

fn read_configs(field: &mut Reader<'_>) -> Result<Option<Vec<AssignmentConfig>>, GroupRecordError> {
    let Some(count) = field.length()? else { return Ok(None) };
    let mut configs = Vec::new();
    for _ in 0..count {
        let [key, value] = [field.compact_text()?, field.compact_text()?].map(String::from);
        field.tags(|_, _| Ok(false))?;
        configs.push(AssignmentConfig { key, value });
    }
    Ok(Some(configs))
}

fn configs(configs: &[AssignmentConfig]) -> Vec<u8> {
    let mut field = Vec::new();
    put_length(&mut field, configs.len());
    for config in configs {
        put_text(&mut field, &config.key);
        put_text(&mut field, &config.value);
        put_uvarint(&mut field, 0);
    }
    field
}
