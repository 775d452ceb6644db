//! `topology_backoff`: windows of groups, one map a scenario.

use crate::fields::{Fields, each_step, same};
use crate::runner::{Outcome, Subject};
use core::num::NonZeroU32;
use kafka_coordination::topology::{Backoff, BackoffConfig, Window};
use kafka_coordination::{Monotonic, Random};
use serde_json::Value;

pub(crate) const SUBJECT: Subject =
    Subject { folder: "topology_backoff", documentation: &[], replay };

/// The vectors have no jitter.
pub(crate) struct NoJitter;

impl Random for NoJitter {
    fn below(&mut self, _: NonZeroU32) -> u32 {
        panic!("without jitter nothing is drawn")
    }
}

/// The windows of the vectors.
pub(crate) fn without_jitter() -> BackoffConfig {
    BackoffConfig::default().with_jitter_percent(0).expect("a legal share")
}

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let given = scenario.object("backoff")?;
    same("jitter", &0, &given.integer::<i64>("jitter")?)?;
    let config = without_jitter()
        .with_initial_ms(given.integer("initial_delay_ms")?)
        .with_max_ms(given.integer("max_delay_ms")?)
        .with_multiplier(given.integer("multiplier")?)
        .map_err(|error| error.to_string())?;
    given.all_read()?;
    let mut backoff = Backoff::new(config, 0);
    let mut outcome = Outcome::AsKafka;
    each_step(scenario, |op, step, expect| {
        let now = Monotonic::from_millis(step.integer("now_ms")?);
        let group = step.text("group_id")?;
        let epoch = step.value("topology_epoch")?;
        let epoch = || crate::fields::integer(epoch);
        let result = match op {
            "is_active" => Some(backoff.is_active(group, epoch()?, now)),
            "arm_if_not_active" => {
                Some(backoff.arm_if_not_active(group, epoch()?, &mut NoJitter, now))
            }
            "arm_or_extend" => {
                backoff.arm_or_extend(group, epoch()?, &mut NoJitter, now);
                None
            }
            "clear" => {
                backoff.clear(group, epoch()?);
                None
            }
            "clear_group" => {
                backoff.clear_group(group);
                None
            }
            op => return Err(format!("unknown op {op}")),
        };
        same("result", &expect.value("result")?.as_bool(), &result)?;
        let expected = window(expect.value("entry")?)?;
        let mut actual = backoff.get(group).copied();
        if config != without_jitter()
            && let (Some(expected), Some(actual)) = (expected, &mut actual)
            && expected.ends.saturating_add(1) == actual.ends
        {
            // Kafka's floating point ends a millisecond short of a maximum that no power leads to.
            actual.ends = expected.ends;
            outcome = Outcome::Deviated;
        }
        same("entry", &expected, &actual)
    })?;
    Ok(outcome)
}

/// A window, or none.
pub(crate) fn window(entry: &Value) -> Result<Option<Window>, String> {
    if entry.is_null() {
        return Ok(None);
    }
    let entry = Fields::of(entry)?;
    let window = Window {
        epoch: entry.integer("topology_epoch")?,
        attempts: entry.integer("attempts")?,
        ends: Monotonic::from_millis(entry.integer("next_attempt_ms")?),
    };
    entry.all_read()?;
    Ok(Some(window))
}
