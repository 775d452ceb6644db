//! Scenarios that are lists of operations, each with a result or an error.

use crate::fields::{Fields, same};
use serde_json::Value;

/// What a step of Kafka's ended with: a result, or the name of an error.
pub(crate) type Answer = Result<Value, &'static str>;

/// Runs `replay` on each operation of a scenario and compares its answer; says whether one deviated from Kafka.
pub(crate) fn each_operation(
    scenario: &Fields<'_>,
    mut replay: impl FnMut(&str, &Fields<'_>) -> Result<Answer, String>,
) -> Result<bool, String> {
    let mut deviated = false;
    for (number, step) in scenario.list("ops")?.iter().enumerate() {
        let mut run = || {
            let step = Fields::of(step)?;
            let answer = replay(step.text("op")?, &step)?;
            deviated |= compare(&step, &answer)?;
            step.all_read()
        };
        run().map_err(|error| format!("step {} ({}): {error}", number + 1, step["op"]))?;
    }
    Ok(deviated)
}

/// Compares a step's answer with what is expected, put right where Kafka is wrong.
fn compare(step: &Fields<'_>, answer: &Answer) -> Result<bool, String> {
    let (mut result, mut error) = (step.value("result")?, step.value("error")?);
    if step.find("deviation").is_some() {
        let Some(fixed) = step.find("expect_fixed") else {
            return Ok(true);
        };
        let fixed = Fields::of(fixed)?;
        result = fixed.find("result").unwrap_or(result);
        error = fixed.find("error").unwrap_or(error);
        fixed.all_read()?;
        same("answer", &expected(result, error), &as_text(answer))?;
        return Ok(true);
    }
    same("answer", &expected(result, error), &as_text(answer))?;
    Ok(false)
}

fn expected(result: &Value, error: &Value) -> String {
    error.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

fn as_text(answer: &Answer) -> String {
    answer.as_ref().map_or_else(|error| (*error).to_owned(), Value::to_string)
}
