//! `topology_epoch`: decisions on the stored epoch, one by one.

mod shard;
mod tables;

use crate::fields::Fields;
use crate::runner::{Outcome, Subject};
use kafka_coordination::ErrorCode;
use kafka_coordination::topology::{Belief, StoredEpoch, TopologyEpoch};

pub(crate) const SUBJECT: Subject =
    Subject { folder: "topology_epoch", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    // Five kinds of scenario, each with a field that the others do not have.
    if scenario.find("steps").is_some() {
        shard::replay(scenario)
    } else if scenario.find("api_version").is_some() {
        tables::gate(scenario)
    } else if scenario.find("write_error").is_some() {
        tables::settle(scenario)
    } else if scenario.find("group_error").is_some() {
        tables::describe(scenario)
    } else {
        tables::plugin_outcome(scenario)
    }
}

/// Kafka's error of that name.
pub(crate) fn error(name: &str) -> Result<ErrorCode, String> {
    name.parse().map_err(|error| format!("{error}: {name}"))
}

/// An epoch of a topology, or none for -1 or `null`.
pub(crate) fn current(value: &serde_json::Value) -> Result<Option<TopologyEpoch>, String> {
    let number = crate::value::optional_integer(value)?.unwrap_or(-1);
    match TopologyEpoch::new(number) {
        None if number != -1 => Err(format!("not an epoch: {number}")),
        epoch => Ok(epoch),
    }
}

/// The two numbers of a group's record.
pub(crate) fn belief(fields: &Fields<'_>) -> Result<Belief, String> {
    let stored = fields.integer("stored_description_topology_epoch")?;
    let failed = fields.integer("failed_description_topology_epoch")?;
    Belief::from_record(stored, failed).map_err(|error| error.to_string())
}

/// What is stored, if it is known.
fn stored(value: &serde_json::Value) -> Result<Option<StoredEpoch>, String> {
    let number = crate::value::optional_integer(value)?;
    number.map(StoredEpoch::from_record).transpose().map_err(|error| error.to_string())
}
