//! Messages on their way: lost, late, twice, in versions that both sides speak.

use crate::cluster::Cluster;
use crate::event::Event;
use crate::message::{said, summary};
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Correlation, Request, Response};

impl Cluster {
    pub(crate) fn send(
        &mut self,
        from: usize,
        to: usize,
        correlation: Correlation,
        request: Request,
    ) {
        self.note(|_| format!("send    {from} -> {to}: {}", summary(&request)));
        let life = self.nodes[from].life;
        let age = self.nodes[from].age.min(self.nodes[to].age);
        let Some(request) = said(request, age) else {
            // The connection tells of the versions of the other side.
            let failed = Response::Failed(ErrorCode::UnsupportedVersion);
            return self.respond(to, from, life, correlation, &failed);
        };
        for at in self.arrivals(from, to) {
            let request = request.clone();
            self.events.push(at, Event::Request { from, to, life, correlation, request });
        }
    }

    pub(crate) fn respond(
        &mut self,
        from: usize,
        to: usize,
        life: u64,
        correlation: Correlation,
        response: &Response,
    ) {
        for at in self.arrivals(from, to) {
            let response = response.clone();
            self.events.push(at, Event::Response { from, to, life, correlation, response });
        }
    }

    /// When a message arrives: never, once or twice.
    fn arrivals(&mut self, from: usize, to: usize) -> Vec<i64> {
        let plan = &self.plan;
        if self.is_healed {
            return vec![self.now + 1 + self.dice.millis(plan.delay)];
        }
        if self.cut.contains(&(from, to)) || self.dice.happens(plan.lost) {
            return Vec::new();
        }
        let times = if self.dice.happens(plan.doubled) { 2 } else { 1 };
        let mut at = || {
            let factor = if self.dice.happens(50) { 20 } else { 1 };
            self.now + 1 + self.dice.millis(plan.delay) * factor
        };
        (0..times).map(|_| at()).collect()
    }
}
