//! The fetcher's side of a session: Kafka's `FetchSessionHandler`.

use crate::fields::{Fields, each_step};
use crate::runner::{Outcome, Subject};
use crate::value::TopicIds;

/// Vectors of the fetcher's side.
pub(crate) const SUBJECT: Subject = Subject {
    folder: "fetch_session_handler",
    replay,
};

fn replay(scenario: &Fields<'_>) -> Result<Outcome, String> {
    let _ids = TopicIds::of(scenario)?;
    each_step(scenario, |op, _step, _expect| {
        Err(format!("unknown op {op}"))
    })?;
    Ok(Outcome::AsKafka)
}
