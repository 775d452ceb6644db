//! The requests of a replica that wait for their answers, as its host sees them.

use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{Correlation, Request};
use std::collections::BTreeMap;

/// A request on its way.
#[derive(Clone, Debug)]
struct Flight {
    correlation: Correlation,
    request: Request,
    sent: Monotonic,
}

/// What an answer is to the replica that gets it.
#[derive(Clone, Debug)]
pub(crate) enum Expectation {
    /// It waits for it: this was asked.
    Yes(Request),
    /// It has waited long, and may have given it up.
    Perhaps,
    /// It does not wait for it: another request went to the node since, or the replica has changed its role.
    No,
}

/// By the id of the node that was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights(BTreeMap<i32, Flight>);

const fn is_fetch(request: &Request) -> bool {
    matches!(request, Request::Fetch(_) | Request::FetchSnapshot(_))
}

impl Flights {
    /// A request is sent: there is none to the same node, and no other fetch to anybody.
    pub(crate) fn sent(
        &mut self,
        to: i32,
        correlation: Correlation,
        request: &Request,
        now: Monotonic,
        timeout_ms: u32,
    ) -> Result<(), String> {
        let mut waiting = self
            .0
            .iter()
            .filter(|(_, flight)| now.millis_since(flight.sent) < i64::from(timeout_ms));
        let clash = waiting
            .find(|(node, flight)| **node == to || is_fetch(request) && is_fetch(&flight.request));
        if let Some((node, flight)) = clash {
            return Err(format!("{request:?} goes to {to}, and {:?} to {node}", flight.request));
        }
        self.0.insert(to, Flight { correlation, request: request.clone(), sent: now });
        Ok(())
    }

    /// An answer is handed in.
    pub(crate) fn answered(
        &mut self,
        correlation: Correlation,
        now: Monotonic,
        timeout_ms: u32,
    ) -> Expectation {
        let place = self.0.iter().find(|(_, flight)| flight.correlation == correlation);
        let Some(to) = place.map(|(to, _)| *to) else { return Expectation::No };
        let Some(flight) = self.0.remove(&to) else { return Expectation::No };
        if now.millis_since(flight.sent) < i64::from(timeout_ms) {
            Expectation::Yes(flight.request)
        } else {
            Expectation::Perhaps
        }
    }

    /// The requests that are out, with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Correlation, &Request)> {
        self.0.values().map(|flight| (flight.correlation, &flight.request))
    }

    /// The replica has changed its role: it waits for nothing.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
