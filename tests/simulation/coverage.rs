//! What all seeds together have to come by: every transition that there is, and every case of a message.

use crate::cases::{First, Maybe, Row, Sender};
use crate::transitions::State;
use kafka_coordination::kraft::EpochStateKind::{
    self, Candidate, Follower, Leader, Prospective, Resigned, Unattached,
};
use std::collections::HashMap;
use std::fmt;

/// How epochs change in a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Epochs {
    Same,
    Higher,
    /// It is the next one.
    Next,
}

/// What a transition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Into {
    State(EpochStateKind, Epochs),
    /// Stays, and has voted.
    AddsVote,
    /// To `Unattached` in the same epoch, whose leader becomes known by its id alone.
    ///
    /// Kafka has no such transition: its process ends where the crate makes one.
    LearnsLeader,
}

/// A cell of the matrix of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell(EpochStateKind, Into);

const fn cell(from: EpochStateKind, to: EpochStateKind, epochs: Epochs) -> Cell {
    Cell(from, Into::State(to, epochs))
}

/// Every transition that may be made; what is not here is an error.
///
/// Not in the table, though a state's own guards would let it pass, is `Resigned` to `Follower` in the same epoch: a
/// replica has resigned from an epoch that it led itself, and an epoch has one leader.
const CELLS: [Cell; 29] = [
    cell(Unattached, Unattached, Epochs::Higher),
    Cell(Unattached, Into::AddsVote),
    Cell(Unattached, Into::LearnsLeader),
    cell(Unattached, Prospective, Epochs::Same),
    cell(Unattached, Follower, Epochs::Same),
    cell(Unattached, Follower, Epochs::Higher),
    cell(Prospective, Unattached, Epochs::Same),
    cell(Prospective, Unattached, Epochs::Higher),
    Cell(Prospective, Into::AddsVote),
    Cell(Prospective, Into::LearnsLeader),
    cell(Prospective, Candidate, Epochs::Next),
    cell(Prospective, Follower, Epochs::Same),
    cell(Prospective, Follower, Epochs::Higher),
    cell(Candidate, Unattached, Epochs::Higher),
    Cell(Candidate, Into::LearnsLeader),
    cell(Candidate, Prospective, Epochs::Same),
    cell(Candidate, Leader, Epochs::Same),
    cell(Candidate, Follower, Epochs::Same),
    cell(Candidate, Follower, Epochs::Higher),
    cell(Follower, Unattached, Epochs::Higher),
    cell(Follower, Prospective, Epochs::Same),
    cell(Follower, Follower, Epochs::Same),
    cell(Follower, Follower, Epochs::Higher),
    cell(Leader, Unattached, Epochs::Higher),
    cell(Leader, Follower, Epochs::Higher),
    cell(Leader, Resigned, Epochs::Same),
    cell(Resigned, Unattached, Epochs::Higher),
    cell(Resigned, Prospective, Epochs::Same),
    cell(Resigned, Follower, Epochs::Higher),
];

/// Those of them that a replica makes that is no voter.
const OBSERVERS: [Cell; 8] = [
    cell(Unattached, Unattached, Epochs::Higher),
    Cell(Unattached, Into::AddsVote),
    Cell(Unattached, Into::LearnsLeader),
    cell(Unattached, Follower, Epochs::Same),
    cell(Unattached, Follower, Epochs::Higher),
    cell(Follower, Unattached, Epochs::Higher),
    cell(Follower, Follower, Epochs::Same),
    cell(Follower, Follower, Epochs::Higher),
];

impl Cell {
    /// The cell of a transition; none if it must not be made.
    pub(crate) fn of(from: State, to: State) -> Option<Self> {
        let learns = from.leader.is_none() && to.leader.is_some();
        let into = match to.epoch - from.epoch {
            0 if to.kind == Unattached && learns => Into::LearnsLeader,
            0 if to.kind == from.kind && to.leader == from.leader && to.kind != Follower => {
                Into::AddsVote
            }
            0 => Into::State(to.kind, Epochs::Same),
            1 if to.kind == Candidate => Into::State(to.kind, Epochs::Next),
            1.. => Into::State(to.kind, Epochs::Higher),
            _ => return None,
        };
        let cell = Self(from.kind, into);
        CELLS.contains(&cell).then_some(cell)
    }

    pub(crate) const fn is_vote(self) -> bool {
        matches!(self.1, Into::AddsVote)
    }

    /// Whether it brings a follower more endpoints of its leader.
    pub(crate) fn is_about_endpoints(self) -> bool {
        self == cell(Follower, Follower, Epochs::Same)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Into::State(to, epochs) => write!(f, "{:?} to {to:?}, {epochs:?} epoch", self.0),
            Into::AddsVote => write!(f, "{:?} adds a vote", self.0),
            Into::LearnsLeader => write!(f, "{:?} to Unattached that knows a leader", self.0),
        }
    }
}

const ROWS: [Row; 17] = [
    Row::Unavailable,
    Row::Unanswered,
    Row::NoPreVotes,
    Row::EndpointsOfVoters,
    Row::OldEpoch,
    Row::UnknownLeaderEpoch,
    Row::NewEpoch,
    Row::Fenced,
    Row::NotLeader,
    Row::NamesLeader,
    Row::FailsAndNamesLeader,
    Row::PlacesLeader,
    Row::BrokerNotAvailable,
    Row::InvalidVoterKey,
    Row::InvalidRequest,
    Row::Success,
    Row::OtherError,
];

const MAYBES: [Maybe; 7] = [
    Maybe::NewLeader,
    Maybe::NewLeaderSomewhere,
    Maybe::NewEpoch,
    Maybe::Leader,
    Maybe::LeaderSomewhere,
    Maybe::Endpoints,
    Maybe::Nothing,
];

const FIRSTS: [First; 7] = [
    First::OfLog,
    First::Led,
    First::Followed,
    First::FollowedSomebody,
    First::Stood,
    First::Voted,
    First::Plain,
];

/// Something to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Transition(Cell),
    OfObserver(Cell),
    Message(Row),
    Start(First),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transition(cell) => cell.fmt(f),
            Self::OfObserver(cell) => write!(f, "observer: {cell}"),
            Self::Message(row) => write!(f, "message: {row:?}"),
            Self::Start(first) => write!(f, "start: {first:?}"),
        }
    }
}

/// How often each was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(HashMap<Item, u64>);

impl Coverage {
    pub(crate) fn transition(&mut self, cell: Cell, is_observer: bool) {
        self.count(Item::Transition(cell), 1);
        if is_observer && OBSERVERS.contains(&cell) {
            self.count(Item::OfObserver(cell), 1);
        }
    }

    pub(crate) fn message(&mut self, row: Row) {
        self.count(Item::Message(row), 1);
    }

    pub(crate) fn start(&mut self, first: First) {
        self.count(Item::Start(first), 1);
    }

    fn count(&mut self, item: Item, times: u64) {
        *self.0.entry(item).or_default() += times;
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (item, times) in other.0 {
            self.count(item, times);
        }
    }

    fn seen(&self, item: Item) -> u64 {
        self.0.get(&item).copied().unwrap_or(0)
    }

    /// All that there is to see, with how often it was.
    pub(crate) fn all(&self) -> Vec<(String, u64)> {
        items().map(|item| (item.to_string(), self.seen(item))).collect()
    }

    /// What seeds should have come by, and have not.
    pub(crate) fn missed(&self) -> Vec<String> {
        let missed = items().filter(|item| !DIRECTED.contains(item) && self.seen(*item) == 0);
        missed.map(|item| item.to_string()).collect()
    }

    /// What should have been made on purpose, and was not.
    pub(crate) fn missed_on_purpose(&self) -> Vec<String> {
        let missed = DIRECTED.iter().filter(|item| self.seen(**item) == 0);
        missed.map(ToString::to_string).collect()
    }
}

fn items() -> impl Iterator<Item = Item> {
    let cells = CELLS.map(Item::Transition).into_iter().chain(OBSERVERS.map(Item::OfObserver));
    let maybes = [Sender::Answer, Sender::Request].into_iter().flat_map(|sender| {
        let cases = MAYBES.into_iter().filter(move |maybe| is_possible(sender, *maybe));
        cases.map(move |maybe| Row::Maybe(sender, maybe))
    });
    let rows = ROWS.into_iter().chain(maybes).map(Item::Message);
    cells.chain(rows).chain(FIRSTS.map(Item::Start))
}

/// What sound clusters do not come by; scenarios make it on purpose.
///
/// - That the epoch's leader becomes known by its id alone: who knows the leader has its endpoints or finds them among the
///   voters, and who does not know the voters asks those who do.
/// - A log of a later epoch than the election state beside it: a host does not lose the one and keep the other.
const DIRECTED: [Item; 8] = [
    Item::Transition(Cell(Unattached, Into::LearnsLeader)),
    Item::Transition(Cell(Prospective, Into::LearnsLeader)),
    Item::Transition(Cell(Candidate, Into::LearnsLeader)),
    Item::OfObserver(Cell(Unattached, Into::LearnsLeader)),
    Item::Message(Row::Maybe(Sender::Answer, Maybe::LeaderSomewhere)),
    Item::Message(Row::Maybe(Sender::Request, Maybe::LeaderSomewhere)),
    Item::Message(Row::Maybe(Sender::Request, Maybe::NewLeaderSomewhere)),
    Item::Start(First::OfLog),
];

/// Requests come from a leader, and name it.
fn is_possible(sender: Sender, maybe: Maybe) -> bool {
    sender == Sender::Answer || maybe != Maybe::NewEpoch
}
