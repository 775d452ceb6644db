//! `kraft_voter_history`: voter sets, and plain values, along a log.

use crate::fields::Fields;
use crate::quorum::{Answer, each_operation, voters};
use crate::runner::{Outcome, Subject};
use kafka_coordination::kraft::{LogHistory, VoterHistory, VoterSet};
use serde_json::{Value, json};

pub(crate) const SUBJECT: Subject =
    Subject { folder: "kraft_voter_history", documentation: &[], replay };

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    match scenario.text("kind")? {
        "voter_set_history" => voter_sets(scenario)?,
        "log_history" => numbers(scenario)?,
        kind => return Err(format!("unknown kind {kind}")),
    }
    Ok(Outcome::AsKafka)
}

fn voter_sets(scenario: &Fields<'_>) -> Result<(), String> {
    let list = |value: &Value| voters(value.as_array().ok_or("not a list")?);
    let sets = scenario.list("voter_sets")?.iter().map(list);
    let sets: Vec<VoterSet> = sets.collect::<Result<_, _>>()?;
    let index = |voters: &VoterSet| json!(sets.iter().position(|set| set == voters));
    let static_voters = sets[scenario.integer::<usize>("static_voter_set")?].clone();
    let mut history = VoterHistory::new(static_voters);
    each_operation(scenario, |op, step| {
        Ok(Ok(match op {
            "add_at" => {
                let voters = sets[step.integer::<usize>("value")?].clone();
                return Ok(added(history.add_at(step.integer("offset")?, voters).is_ok()));
            }
            "value_at_or_before" => {
                let voters = history.value_at_or_before(step.integer("offset")?);
                voters.map_or(Value::Null, index)
            }
            "last_entry" => history.last_entry().map_or(
                Value::Null,
                |(offset, voters)| json!({"offset": offset, "value": index(voters)}),
            ),
            "last_value" => index(history.last_value()),
            "last_voter_set_offset" => json!(history.last_offset()),
            "truncate_new_entries" => {
                history.truncate_new_entries(step.integer("end_offset")?);
                Value::Null
            }
            "truncate_old_entries" => {
                history.truncate_old_entries(step.integer("start_offset")?);
                Value::Null
            }
            "clear" => {
                history.clear();
                Value::Null
            }
            _ => return Err(String::from("unknown operation")),
        }))
    })?;
    Ok(())
}

fn numbers(scenario: &Fields<'_>) -> Result<(), String> {
    let mut history = LogHistory::new();
    each_operation(scenario, |op, step| {
        Ok(Ok(match op {
            "add_at" => {
                let value: i64 = step.integer("value")?;
                return Ok(added(history.add_at(step.integer("offset")?, value).is_ok()));
            }
            "value_at_or_before" => json!(history.value_at_or_before(step.integer("offset")?)),
            "last_entry" => {
                let entry = history.last_entry();
                entry.map_or(
                    Value::Null,
                    |(offset, value)| json!({"offset": offset, "value": value}),
                )
            }
            "truncate_new_entries" => {
                history.truncate_new_entries(step.integer("end_offset")?);
                Value::Null
            }
            "truncate_old_entries" => {
                history.truncate_old_entries(step.integer("start_offset")?);
                Value::Null
            }
            "clear" => {
                history.clear();
                Value::Null
            }
            _ => return Err(String::from("unknown operation")),
        }))
    })?;
    Ok(())
}

fn added(is_added: bool) -> Answer {
    if is_added { Ok(Value::Null) } else { Err("ILLEGAL_ARGUMENT") }
}
