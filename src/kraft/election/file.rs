//! The quorum-state file: an [`ElectionState`] as a line of JSON, equal to Kafka's to the byte.

use super::ElectionState;
use crate::kraft::voters::{DirectoryId, KRaftVersion, ParseDirectoryIdError, ReplicaKey};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value};
use thiserror::Error;

/// More than any quorum-state file has, in bytes: it bounds what reading a broken one costs.
const MAX_LEN: usize = 1 << 20;

/// The text that stands for "no directory id".
const NO_DIRECTORY: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// The number that stands for "no node".
const NO_NODE: i32 = -1;

/// A quorum-state file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuorumStateError {
    /// It is longer than any such file.
    #[error("the first line has {length} bytes, at most {MAX_LEN} are read")]
    Length {
        /// The first line's length.
        length: usize,
    },
    /// The first line is not a JSON object.
    #[error("the first line is not a JSON object: {reason}")]
    NotAnObject {
        /// What the JSON reader says.
        reason: String,
    },
    /// The object does not tell its version.
    #[error("the object has no data_version")]
    NoVersion,
    /// The file is of a version that is not known (KAFKA-15412: it must not be taken for one that is).
    #[error("data_version {version} is not supported")]
    UnsupportedVersion {
        /// The file's version.
        version: i64,
    },
    /// A field is missing, of another type, or out of range.
    #[error("field {field} is missing or invalid")]
    Field {
        /// The field's name.
        field: &'static str,
    },
    /// The directory id of the vote is no such id.
    #[error("votedDirectoryId: {0}")]
    Directory(ParseDirectoryIdError),
}

impl ElectionState {
    /// The file's content: version 0 at `kraft.version` 0, version 1 from 1 on.
    ///
    /// Version 0 has no place for the directory id of the vote, and version 1 none for the voters.
    pub fn to_file(&self, version: KRaftVersion) -> String {
        let leader_id = self.leader_id.unwrap_or(NO_NODE);
        let epoch = self.epoch;
        let voted_id = self.voted_key.map_or(NO_NODE, |key| key.id);
        match version {
            KRaftVersion::V0 => {
                let voters: Vec<_> =
                    self.voters.iter().map(|id| format!(r#"{{"voterId":{id}}}"#)).collect();
                let voters = voters.join(",");
                format!(
                    r#"{{"clusterId":"","leaderId":{leader_id},"leaderEpoch":{epoch},"votedId":{voted_id},"appliedOffset":0,"currentVoters":[{voters}],"data_version":0}}"#
                )
            }
            KRaftVersion::V1 => {
                let directory = self.voted_key.and_then(|key| key.directory_id);
                let directory =
                    directory.map_or_else(|| NO_DIRECTORY.to_string(), |id| id.to_string());
                format!(
                    r#"{{"leaderId":{leader_id},"leaderEpoch":{epoch},"votedId":{voted_id},"votedDirectoryId":"{directory}","data_version":1}}"#
                )
            }
        }
    }

    /// Reads a file of either version. Only its first line counts, fields that are not known are passed over.
    ///
    /// Stricter than Kafka's reader in what no replica writes: numbers have to be whole, ids at least -1, and nothing may follow the object on its line.
    ///
    /// # Errors
    ///
    /// The line is not such an object.
    pub fn from_file(content: &[u8]) -> Result<Self, QuorumStateError> {
        let line = content.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        if line.len() > MAX_LEN {
            return Err(QuorumStateError::Length { length: line.len() });
        }
        let fields: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|error| QuorumStateError::NotAnObject { reason: error.to_string() })?;
        let fields = Fields(&fields);

        let version = fields.0.get("data_version").ok_or(QuorumStateError::NoVersion)?;
        let version = version.as_i64().ok_or(QuorumStateError::Field { field: "data_version" })?;
        let voters = match version {
            0 => {
                fields.text("clusterId")?;
                fields.number("appliedOffset")?;
                fields.voters()?
            }
            1 if fields.0.contains_key("currentVoters") && !fields.voters()?.is_empty() => {
                return Err(QuorumStateError::Field { field: "currentVoters" });
            }
            1 => Vec::new(),
            version => return Err(QuorumStateError::UnsupportedVersion { version }),
        };
        let directory_id = fields.directory(version)?;
        let leader_id = fields.node("leaderId")?;
        let voted_id = fields.node("votedId")?;
        Ok(Self::new(
            fields.at_least("leaderEpoch", i32::MIN)?,
            leader_id,
            voted_id.map(|id| ReplicaKey { id, directory_id }),
            voters,
        ))
    }
}

/// The fields of the file's object.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn get(&self, field: &'static str) -> Result<&Value, QuorumStateError> {
        self.0.get(field).ok_or(QuorumStateError::Field { field })
    }

    fn text(&self, field: &'static str) -> Result<&str, QuorumStateError> {
        self.get(field)?.as_str().ok_or(QuorumStateError::Field { field })
    }

    fn number(&self, field: &'static str) -> Result<i64, QuorumStateError> {
        self.get(field)?.as_i64().ok_or(QuorumStateError::Field { field })
    }

    fn at_least(&self, field: &'static str, least: i32) -> Result<i32, QuorumStateError> {
        let number = i32::try_from(self.number(field)?).ok().filter(|number| *number >= least);
        number.ok_or(QuorumStateError::Field { field })
    }

    fn node(&self, field: &'static str) -> Result<Option<i32>, QuorumStateError> {
        Ok(Some(self.at_least(field, NO_NODE)?).filter(|id| *id != NO_NODE))
    }

    fn voters(&self) -> Result<Vec<i32>, QuorumStateError> {
        let field = "currentVoters";
        let voters = self.get(field)?.as_array().ok_or(QuorumStateError::Field { field })?;
        let ids = voters.iter().map(|voter| Fields(voter.as_object()?).at_least("voterId", 0).ok());
        ids.collect::<Option<_>>().ok_or(QuorumStateError::Field { field })
    }

    /// A field of version 1, which a file of version 0 may have.
    fn directory(&self, version: i64) -> Result<Option<DirectoryId>, QuorumStateError> {
        let field = "votedDirectoryId";
        if version == 0 && !self.0.contains_key(field) {
            return Ok(None);
        }
        match self.text(field)?.parse() {
            Ok(id) => Ok(Some(id)),
            Err(ParseDirectoryIdError::Zero) => Ok(None),
            Err(error) => Err(QuorumStateError::Directory(error)),
        }
    }
}
