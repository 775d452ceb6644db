//! What a message means for the epoch and its leader, told from what is public of the replica that gets it.
//!
//! This is the table of common response handling written down a second time: the cases that it names are counted, and
//! what the replica makes of a message is held against it.

use crate::cases::{Maybe, Row, Sender};
use crate::node::{LISTENER, Node};
use crate::transitions::State;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::EpochStateKind::{Candidate, Follower, Prospective, Unattached};
use kafka_coordination::kraft::{Answer, Endpoints, ListenerName, Replica, Request, Response};

/// What the replica has to do, first of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forecast {
    /// It stays in its state.
    Stays,
    /// It enters this state.
    Enters(State),
    /// What it does depends on more than the epoch and its leader.
    Open,
}

/// What a message means.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) rows: Vec<Row>,
    pub(crate) forecast: Forecast,
}

/// What is known of the leader before the message.
struct Known<'a> {
    replica: &'a Replica,
    local_id: i32,
    state: State,
    endpoints: usize,
}

impl<'a> Known<'a> {
    fn new(node: &'a Node) -> Self {
        let replica = node.replica.as_ref().expect("it is up");
        let state = replica.quorum().state();
        Self {
            replica,
            local_id: node.id(),
            endpoints: state.leader_endpoints().map_or(0, Endpoints::len),
            state: State::of(state),
        }
    }

    fn of_voters(&self, leader: i32) -> usize {
        self.replica.control_log().voters().endpoints(leader).len()
    }

    /// What a message may ask for that is not older than the state.
    fn maybe(&self, leader: Option<i32>, epoch: i32, endpoints: usize) -> (Maybe, Forecast) {
        let enters = |kind| Forecast::Enters(State { kind, epoch, leader });
        if epoch > self.state.epoch {
            return match leader {
                Some(_) if endpoints > 0 => (Maybe::NewLeader, enters(Follower)),
                Some(_) => (Maybe::NewLeaderSomewhere, enters(Unattached)),
                None => (Maybe::NewEpoch, enters(Unattached)),
            };
        }
        match (leader, self.state.leader) {
            (Some(_), None) if endpoints > 0 => (Maybe::Leader, enters(Follower)),
            (Some(_), None) => (Maybe::LeaderSomewhere, enters(Unattached)),
            (Some(named), Some(known)) if named == known && endpoints > self.endpoints => {
                (Maybe::Endpoints, enters(Follower))
            }
            _ => (Maybe::Nothing, Forecast::Stays),
        }
    }

    fn common(&self, error: ErrorCode, leader: Option<i32>, epoch: i32, said: usize) -> Meaning {
        // A replica does not learn from others that it leads.
        let leader = leader.filter(|leader| *leader != self.local_id);
        let of_voters = leader.map_or(0, |leader| self.of_voters(leader));
        let endpoints = if said == 0 { of_voters } else { said };
        let mut rows = Vec::new();
        if said == 0 && of_voters > 0 {
            rows.push(Row::EndpointsOfVoters);
        }
        let of_error = match error {
            ErrorCode::UnknownLeaderEpoch => Some(Row::UnknownLeaderEpoch),
            ErrorCode::FencedLeaderEpoch => Some(Row::Fenced),
            ErrorCode::NotLeaderOrFollower => Some(Row::NotLeader),
            _ => None,
        };
        rows.extend(of_error);
        if epoch < self.state.epoch {
            rows.push(Row::OldEpoch);
            return Meaning { rows, forecast: Forecast::Stays };
        }
        if of_error == Some(Row::UnknownLeaderEpoch) {
            return Meaning { rows, forecast: Forecast::Stays };
        }
        if epoch > self.state.epoch {
            rows.push(Row::NewEpoch);
        }
        if epoch > self.state.epoch || of_error.is_some() {
            let (maybe, forecast) = self.maybe(leader, epoch, endpoints);
            rows.push(Row::Maybe(Sender::Answer, maybe));
            return Meaning { rows, forecast };
        }
        let mut means = |row, forecast| {
            rows.push(row);
            Meaning { rows: std::mem::take(&mut rows), forecast }
        };
        let follows = State { kind: Follower, epoch, leader };
        let is_somewhere = endpoints == 0;
        let row = if error.is_none() { Row::NamesLeader } else { Row::FailsAndNamesLeader };
        match (leader, self.state.leader) {
            (Some(_), None) if is_somewhere => {
                return means(row, Forecast::Enters(State { kind: Unattached, ..follows }));
            }
            (Some(_), None) => return means(row, Forecast::Enters(follows)),
            (Some(named), Some(known))
                if named == known && self.state.kind == Unattached && !is_somewhere =>
            {
                return means(Row::PlacesLeader, Forecast::Enters(follows));
            }
            _ => {}
        }
        match error {
            ErrorCode::BrokerNotAvailable => means(Row::BrokerNotAvailable, Forecast::Stays),
            ErrorCode::InvalidVoterKey => means(Row::InvalidVoterKey, Forecast::Stays),
            ErrorCode::InvalidRequest => means(Row::InvalidRequest, Forecast::Stays),
            ErrorCode::None => means(Row::Success, Forecast::Open),
            _ => means(Row::OtherError, Forecast::Open),
        }
    }

    fn answer<T>(&self, answer: &Answer<T>) -> Meaning {
        if !answer.error.is_none() {
            return Self::unanswered(answer.error);
        }
        let Some(partition) = &answer.partition else {
            return Meaning { rows: Vec::new(), forecast: Forecast::Stays };
        };
        let said = partition.leader_id.map_or_else(Endpoints::empty, |leader| {
            let nodes = answer.nodes.iter().map(|node| (node.id, node.host.as_str(), node.port));
            Endpoints::from_response(&ListenerName::new(LISTENER), leader, nodes)
        });
        self.common(partition.error, partition.leader_id, partition.epoch, said.len())
    }

    fn unanswered(error: ErrorCode) -> Meaning {
        let is_there = error != ErrorCode::BrokerNotAvailable;
        let row = if is_there { Row::Unanswered } else { Row::Unavailable };
        Meaning { rows: vec![row], forecast: Forecast::Stays }
    }
}

/// What an answer means that the replica waits for, to what was asked.
pub(crate) fn of_answer(node: &Node, request: &Request, response: &Response) -> Meaning {
    let known = Known::new(node);
    let open = Meaning { rows: Vec::new(), forecast: Forecast::Open };
    match response {
        _ if matches!(request, Request::ApiVersions) => open,
        Response::Failed(error) | Response::Vote(Answer { error, .. })
            if *error == ErrorCode::UnsupportedVersion && known.state.kind == Prospective =>
        {
            let epoch = known.state.epoch + 1;
            let stands = State { kind: Candidate, epoch, leader: None };
            Meaning { rows: vec![Row::NoPreVotes], forecast: Forecast::Enters(stands) }
        }
        Response::Failed(error) => Known::unanswered(*error),
        Response::Vote(answer) => known.answer(answer),
        Response::BeginQuorumEpoch(answer) | Response::EndQuorumEpoch(answer) => {
            known.answer(answer)
        }
        Response::Fetch(answer) => known.answer(answer),
        Response::FetchSnapshot(answer) => known.answer(answer),
        Response::UpdateVoter { error, leader_id, epoch, leader_endpoints } => {
            known.common(*error, *leader_id, *epoch, leader_endpoints.len())
        }
        _ => open,
    }
}

/// What a request means.
pub(crate) fn of_request(node: &Node, request: &Request) -> Meaning {
    let known = Known::new(node);
    let (leader, epoch, said) = match request {
        Request::BeginQuorumEpoch(begin) => {
            (begin.leader_id, begin.epoch, begin.leader_endpoints.len())
        }
        Request::EndQuorumEpoch(end) => (end.leader_id, end.epoch, end.leader_endpoints.len()),
        _ => return Meaning { rows: Vec::new(), forecast: Forecast::Open },
    };
    let is_another = epoch == known.state.epoch
        && known.state.leader.is_some_and(|known| known != leader)
        || leader == known.local_id;
    if epoch < known.state.epoch || is_another {
        return Meaning { rows: Vec::new(), forecast: Forecast::Stays };
    }
    let endpoints = if said == 0 { known.of_voters(leader) } else { said };
    let (maybe, forecast) = known.maybe(Some(leader), epoch, endpoints);
    Meaning { rows: vec![Row::Maybe(Sender::Request, maybe)], forecast }
}

impl Forecast {
    /// Whether a replica has done what it had to, given the states that it entered.
    pub(crate) fn is_met(self, entered: &[State]) -> bool {
        match self {
            Self::Stays => entered.is_empty(),
            Self::Enters(state) => entered.first() == Some(&state),
            Self::Open => true,
        }
    }
}
