//! The classic group, driven without a network and with a clock of its own.

mod membership;
mod offsets;
mod random;
mod rebalances;
mod statics;

use super::{Claim, Group, Join, Joined, Leaving, Protocol, Sync, Synced};
use crate::groups::GroupConfig;
use bytes::Bytes;
use kafka_coordination::{ErrorCode, Monotonic};
use tokio::sync::oneshot::{self, Receiver};

const DELAY: i64 = 3_000;
const SESSION: i64 = 10_000;
const REBALANCE: i64 = 60_000;

/// A group and the time.
struct World {
    group: Group,
    now: Monotonic,
    ids: u32,
}

impl World {
    fn new() -> Self {
        Self::with(GroupConfig { max_members: 3, ..GroupConfig::default() })
    }

    fn with(config: GroupConfig) -> Self {
        Self { group: Group::new(config), now: Monotonic::from_millis(0), ids: 0 }
    }

    /// A join as a client of a recent version sends it.
    fn request(&mut self, member_id: &str) -> Join {
        self.ids += 1;
        Join {
            client_id: "client".to_owned(),
            client_host: "host".to_owned(),
            member_id: member_id.to_owned(),
            new_member_id: format!("m{}", self.ids),
            instance_id: None,
            session_timeout_ms: SESSION.try_into().unwrap(),
            rebalance_timeout_ms: REBALANCE.try_into().unwrap(),
            protocol_type: "consumer".to_owned(),
            protocols: vec![protocol("range", "topics")],
            must_know_id: false,
            can_skip_assignment: true,
        }
    }

    fn send(&mut self, join: Join) -> Receiver<Joined> {
        let (reply, answer) = oneshot::channel();
        self.group.join(join, reply, self.now);
        answer
    }

    fn join(&mut self, member_id: &str) -> Receiver<Joined> {
        let join = self.request(member_id);
        self.send(join)
    }

    fn sync(&mut self, joined: &Joined, assignments: &[(&str, &'static str)]) -> Receiver<Synced> {
        let (reply, answer) = oneshot::channel();
        let assignments = assignments.iter();
        let assignments = assignments.map(|(id, text)| ((*id).to_owned(), Bytes::from(*text)));
        let sync = Sync {
            member_id: joined.member_id.clone(),
            instance_id: None,
            generation: joined.generation,
            protocol_type: Some("consumer".to_owned()),
            protocol_name: joined.protocol_name.clone(),
            assignments: assignments.collect(),
        };
        self.group.sync(sync, reply, self.now);
        answer
    }

    fn heartbeat(&mut self, joined: &Joined) -> ErrorCode {
        let claim = Claim {
            member_id: &joined.member_id,
            instance_id: None,
            generation: joined.generation,
        };
        self.group.heartbeat(claim, self.now).err().unwrap_or(ErrorCode::None)
    }

    fn leave(&mut self, member_id: &str) -> ErrorCode {
        let leaving = Leaving { member_id: member_id.to_owned(), instance_id: None };
        self.group.leave(&[leaving], self.now)[0]
    }

    /// Lets the time pass, deadline by deadline.
    fn pass(&mut self, ms: i64) {
        let end = self.now.saturating_add(ms);
        while let Some(at) = self.group.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.group.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// Two members in a stable group: the leader's and the follower's last join.
    fn pair(&mut self) -> (Joined, Joined) {
        let (mut leader, mut follower) = (self.join(""), self.join(""));
        self.pass(2 * DELAY);
        let (leader, follower) = (got(&mut leader), got(&mut follower));
        let mut waiting = self.sync(&follower, &[]);
        assert!(waiting.try_recv().is_err(), "it waits for the leader");
        let assignments = [(&*leader.member_id, "first"), (&*follower.member_id, "second")];
        assert_eq!(got(&mut self.sync(&leader, &assignments)).assignment, "first");
        assert_eq!(got(&mut waiting).assignment, "second");
        (leader, follower)
    }
}

fn protocol(name: &str, metadata: &'static str) -> Protocol {
    Protocol { name: name.to_owned(), metadata: Bytes::from(metadata) }
}

fn got<T>(answer: &mut Receiver<T>) -> T {
    answer.try_recv().expect("it has been answered")
}

fn waits<T>(answer: &mut Receiver<T>) -> bool {
    matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Empty))
}
