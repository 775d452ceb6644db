//! Everything that can happen to a quorum: elections, fetches, changes of voters, crashes.

use crate::replica::{Change, Log, Replica};
use crate::universe::{REPLICAS, voter_set};
use stateright::{Model, Property};
use std::hash::{Hash, Hasher};

/// How far the model goes, and a rule that is left out of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Replicas: at most five.
    pub(crate) replicas: usize,
    /// The first so many of them vote at the start.
    pub(crate) voters: usize,
    /// The last epoch that an election may start, from 1 on.
    pub(crate) epochs: u8,
    /// Requests that a leader takes up.
    pub(crate) requests: u8,
    pub(crate) fault: Fault,
}

/// A rule that is left out, to see whether that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// A leader changes voters before it has committed a record of its own epoch.
    ChangesBeforeItsFirstCommit,
    /// A leader changes voters while the last ones are not committed.
    ChangesUncommittedVoters,
    /// A record that is queued when its change is given up is forgotten.
    ForgetsQueuedRecords,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quorum {
    pub(crate) replicas: Vec<Replica>,
    /// Requests that were taken up.
    pub(crate) requests: u8,
    /// What some leader has committed.
    pub(crate) committed: Log,
    /// Whether something committed was lost.
    pub(crate) is_broken: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// A candidate is elected by these voters. Who led before, here or in an older epoch, has crashed
    /// or steps down, and forgets all but its log.
    Elect { candidate: usize, granting: u8 },
    /// A replica fetches all that it lacks; the leader learns what it had.
    Fetch { replica: usize, leader: usize },
    /// A leader takes up a change, and a new voter has caught up with it.
    Change { leader: usize, change: Change },
    /// A leader writes what is queued.
    Write { leader: usize },
    /// The time of a leader's change is over.
    Expire { leader: usize },
}

impl Quorum {
    pub(crate) fn leaders(&self) -> impl Iterator<Item = (usize, &Replica)> {
        self.replicas.iter().enumerate().filter(|(_, replica)| replica.leading.is_some())
    }

    /// Notes what is committed, and whether it fits what was.
    fn note_commits(&mut self) {
        for replica in &self.replicas {
            let Some(leading) = &replica.leading else { continue };
            let Some(mark) = leading.leader.high_watermark() else { continue };
            let committed = &replica.log[..usize::try_from(mark).unwrap()];
            let common = committed.len().min(self.committed.len());
            self.is_broken |= committed[..common] != self.committed[..common];
            if committed.len() > self.committed.len() {
                self.committed = committed.to_vec();
            }
        }
    }
}

impl Model for Bounds {
    type State = Quorum;
    type Action = Action;

    fn init_states(&self) -> Vec<Quorum> {
        let replica = Replica::new((1 << self.voters) - 1);
        vec![Quorum {
            committed: replica.log.clone(),
            replicas: vec![replica; self.replicas],
            requests: 0,
            is_broken: false,
        }]
    }

    fn actions(&self, state: &Quorum, actions: &mut Vec<Action>) {
        for candidate in 0..self.replicas {
            self.elections(state, candidate, actions);
        }
        for (leader, replica) in state.leaders() {
            let leading = replica.leading.as_ref().unwrap();
            if leading.queued.is_some() {
                // Later than this it makes no difference: the record itself holds up the next change.
                actions.extend([Action::Expire { leader }, Action::Write { leader }]);
            }
            let (_, voters) = replica.voters();
            for other in (0..self.replicas).filter(|&other| other != leader) {
                // Others follow as well, but nobody asks for what they have.
                if (voters | state.replicas[other].voters().1) >> other & 1 == 1 {
                    actions.push(Action::Fetch { replica: other, leader });
                }
            }
            if state.requests < self.requests {
                for id in (0..self.replicas).filter(|&id| id != leader || voters >> id & 1 == 1) {
                    let is_voter = voters >> id & 1 == 1;
                    let change = if is_voter { Change::Remove(id) } else { Change::Add(id) };
                    actions.push(Action::Change { leader, change });
                }
            }
        }
    }

    fn next_state(&self, before: &Quorum, action: Action) -> Option<Quorum> {
        let mut state = before.clone();
        match action {
            Action::Elect { candidate, granting } => {
                let epoch = next_epoch(&state, granting);
                for id in members(granting) {
                    state.replicas[id].epoch = epoch;
                    state.replicas[id].leading = None;
                }
                let candidate_log = &state.replicas[candidate].log;
                state.is_broken |= !candidate_log.starts_with(&state.committed);
                state.replicas[candidate].lead(candidate, epoch);
            }
            Action::Fetch { replica, leader } => {
                if !fetch(&mut state.replicas, replica, leader) {
                    return None;
                }
            }
            Action::Change { leader, change } => {
                let (Change::Add(id) | Change::Remove(id)) = change;
                if let Change::Add(_) = change {
                    // It has caught up, if it is not in a later epoch.
                    fetch(&mut state.replicas, id, leader);
                }
                if !self.change(&mut state, leader, change) {
                    return None;
                }
                state.requests += 1;
            }
            Action::Write { leader } => state.replicas[leader].write(),
            Action::Expire { leader } => {
                if !state.replicas[leader].expire() {
                    return None;
                }
            }
        }
        state.note_commits();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        crate::properties::all()
    }
}

impl Bounds {
    /// Every majority that may elect a candidate, no larger than it must be.
    fn elections(&self, state: &Quorum, candidate: usize, actions: &mut Vec<Action>) {
        let replica = &state.replicas[candidate];
        let (_, voters) = replica.voters();
        if voters >> candidate & 1 == 0 {
            return;
        }
        let majority = voter_set(voters).majority();
        for granting in 0..1_u8 << self.replicas {
            let is_least = granting.count_ones() as usize == majority;
            let of_voters = granting & !voters == 0 && granting >> candidate & 1 == 1;
            if !is_least || !of_voters {
                continue;
            }
            let grants = |id: usize| state.replicas[id].is_behind_or_level(&replica.log);
            if next_epoch(state, granting) <= self.epochs && members(granting).all(grants) {
                actions.push(Action::Elect { candidate, granting });
            }
        }
    }

    /// Has a leader take up a change; says whether it does.
    fn change(&self, state: &mut Quorum, leader: usize, change: Change) -> bool {
        let replica = &mut state.replicas[leader];
        match self.fault {
            Fault::None => replica.change(change),
            _ => replica.change_without(self.fault, change, &state.committed),
        }
    }
}

/// The first epoch in which these can all vote; a candidate that names an earlier one tries again.
fn next_epoch(state: &Quorum, granting: u8) -> u8 {
    members(granting).map(|id| state.replicas[id].epoch + 1).max().unwrap()
}

fn members(bits: u8) -> impl Iterator<Item = usize> {
    (0..REPLICAS).filter(move |id| bits >> id & 1 == 1)
}

/// A replica drops what differs from the leader's log, takes what it lacks, and tells what it has. Says
/// whether anything changes.
///
/// In truth it tells with its next fetch. That a leader may know less than it does here takes no step
/// away, as it only has to wait longer, and one that is replaced meanwhile has committed less.
fn fetch(replicas: &mut [Replica], replica: usize, leader: usize) -> bool {
    let (epoch, log, end) =
        (replicas[leader].epoch, replicas[leader].log.clone(), replicas[leader].end());
    let follower = &mut replicas[replica];
    if follower.epoch > epoch {
        return false;
    }
    let before = follower.clone();
    if follower.epoch < epoch {
        follower.leading = None;
        follower.epoch = epoch;
    }
    follower.log = log;
    let is_changed = before != *follower;
    let known = replicas[leader].known_end(replica);
    replicas[leader].fetched(replica, end);
    is_changed || known != Some(end)
}

/// By what will happen alone, and the same whichever replicas that were alike at the start play which
/// part. What a leader keeps and does not decide by, as its check-quorum interval, is left out.
impl Hash for Quorum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        crate::symmetry::least(self).hash(state);
    }
}
