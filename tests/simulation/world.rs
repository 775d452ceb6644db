//! What goes wrong, and right again.

use crate::cluster::Cluster;
use crate::event::Event;
use crate::local::check_books;
use std::collections::BTreeSet;

/// Milliseconds by which a host may be late.
const LATE: u32 = 5;

impl Cluster {
    /// Something goes wrong, or right again.
    pub(crate) fn misfortune(&mut self) -> Result<(), String> {
        if self.is_healed {
            return Ok(());
        }
        self.events
            .push(self.now + 1 + self.dice.millis(2) * self.plan.fault_every / 2, Event::Fault);
        let place = self.dice.below(self.nodes.len());
        match self.dice.number(10) {
            0 | 1 => self.crash(place)?,
            2 => {
                let until = self.now + self.dice.millis(4_000);
                self.nodes[place].paused_until = until;
                self.note(|_| format!("pause   node {place} until {until}"));
            }
            3 => self.split(),
            4 => {
                let other = self.dice.below(self.nodes.len());
                self.cut.insert((place, other));
                self.note(|_| format!("network cut {place} -> {other}"));
            }
            5 | 6 => {
                self.cut.clear();
                self.note(|_| String::from("network whole"));
            }
            7 if self.plan.wipes => self.wipe(place)?,
            8 => self.resign()?,
            _ => self.leave(place),
        }
        if self.fault.is_none() && self.dice.happens(200) {
            self.nodes.iter().try_for_each(check_books)?;
        }
        Ok(())
    }

    /// Half of the nodes, more or less, do not hear the others.
    fn split(&mut self) {
        let half: BTreeSet<_> = (0..self.nodes.len()).filter(|_| self.dice.happens(500)).collect();
        for one in 0..self.nodes.len() {
            for other in 0..self.nodes.len() {
                if half.contains(&one) != half.contains(&other) {
                    self.cut.insert((one, other));
                }
            }
        }
        self.note(|_| format!("network split off {half:?}"));
    }

    /// A leader is asked to give up its leadership.
    fn resign(&mut self) -> Result<(), String> {
        let Some(place) = self.leader() else { return Ok(()) };
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let replica = node.replica.as_mut().expect("it leads");
        let epoch = replica.quorum().epoch();
        replica.resign(epoch, clock).map_err(|error| format!("leader {place}: {error}"))?;
        self.note(|_| format!("resign  node {place} from {epoch}"));
        self.settle(place)
    }

    /// A node is to leave. Its host comes back to it a little late.
    fn leave(&mut self, place: usize) {
        let at = self.now + self.dice.millis(LATE);
        let (now, node) = (self.now, &mut self.nodes[place]);
        let clock = node.clock(now);
        let Some(replica) = &mut node.replica else { return };
        replica.shut_down(3_000, clock);
        node.woken_at = Some(at);
        self.events.push(at, Event::Wake { node: place });
        self.note(|_| format!("leave   node {place}"));
    }

    pub(crate) fn heal(&mut self) -> Result<(), String> {
        self.is_healed = true;
        self.cut.clear();
        let ends = self.nodes.iter().map(|node| node.disk.end_offset());
        self.goal = ends.max();
        self.note(|_| String::from("healed"));
        for place in 0..self.nodes.len() {
            self.nodes[place].paused_until = 0;
            if self.nodes[place].replica.is_none() {
                self.start(place)?;
            }
            self.nodes[place].woken_at = None;
            self.settle(place)?;
        }
        Ok(())
    }
}
