//! What has to hold of one replica at any moment, and of what it does from one moment to the next.
//!
//! - What is in memory is durable, and epochs, leaders, votes and high watermarks do not go back.
//! - Each state has what belongs to it: a follower a leader to be found, a leader nothing committed before its epoch.
//! - Who stands for election is a voter.
//! - The log is what its books say, and no batch is of a later epoch than the replica.
//! - A follower's patience is restored by answers of its leader alone.
//! - Every request is answered in time.

use crate::ledger::Ledger;
use crate::node::{Machine, Node, Shown};
use crate::transitions::State;
use kafka_coordination::Monotonic;
use kafka_coordination::kraft::{
    Answer, ControlLog, ElectionState, Endpoints, EpochState, EpochStateKind, Replica, Request,
    Response,
};

/// What was handed to the replica since it was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// What may restore a follower's patience.
    LeaderAnswers,
    Other,
}

/// What a replica shows.
pub(crate) fn show(node: &Node, replica: &Replica, clock: Monotonic) -> Shown {
    let state = replica.quorum().state();
    let gives_up = match state {
        EpochState::Follower(follower) => {
            let remaining = follower.remaining_fetch_ms(clock);
            (remaining > 0).then(|| clock.saturating_add(remaining))
        }
        _ => None,
    };
    Shown {
        state: State::of(state),
        generation: replica.quorum().generation(),
        voted: state.voted_key(),
        endpoints: state.leader_endpoints().map_or(0, Endpoints::len),
        high_watermark: state.high_watermark(),
        log_high_watermark: replica.log().high_watermark(),
        is_observer: !replica.control_log().voters().is_voter(&node.key()),
        gives_up,
    }
}

/// What may not happen from one moment to the next.
pub(crate) fn check_step(node: &Node, now: &Shown, cause: Cause) -> Result<(), String> {
    let (place, Some(before)) = (node.place, &node.shown) else { return Ok(()) };
    let (old, new) = (before.state, now.state);
    let err = |what: &str| Err(format!("node {place} {what}: {before:?}, then {now:?}"));
    if new.epoch < old.epoch {
        return err("goes back to an earlier epoch");
    }
    if new.epoch == old.epoch {
        if old.leader.is_some() && new.leader != old.leader {
            return err("changes its mind on who leads");
        }
        let leads = matches!(new.kind, EpochStateKind::Leader | EpochStateKind::Resigned);
        if before.voted.is_some() && now.voted != before.voted && !leads {
            return err("changes its vote");
        }
    }
    if now.log_high_watermark < before.log_high_watermark {
        return err("takes back what is committed in its log");
    }
    let forgets = matches!(new.kind, EpochStateKind::Leader | EpochStateKind::Resigned);
    if now.high_watermark < before.high_watermark && (!forgets || new == old) {
        return err("takes back what is committed");
    }
    let is_same = now.generation == before.generation;
    if is_same && now.gives_up > before.gives_up && cause == Cause::Other {
        return err("waits longer for its leader");
    }
    Ok(())
}

/// What is said of an epoch and of a vote in it is durable.
pub(crate) fn check_asked(node: &Node, request: &Request) -> Result<(), String> {
    let (epoch, is_vote) = match request {
        Request::Vote(vote) => (vote.epoch, !vote.is_pre_vote),
        Request::BeginQuorumEpoch(begin) => (begin.epoch, false),
        Request::EndQuorumEpoch(end) => (end.epoch, false),
        Request::Fetch(fetch) => (fetch.leader_epoch, false),
        Request::FetchSnapshot(fetch) => (fetch.leader_epoch, false),
        Request::UpdateVoter(update) => (update.leader_epoch, false),
        _ => return Ok(()),
    };
    let disk = node.disk.election().filter(|disk| disk.epoch() == epoch);
    let voted = disk.as_ref().and_then(ElectionState::voted_key);
    if disk.is_some() && (!is_vote || voted.is_some_and(|voted| voted.matches(&node.key()))) {
        return Ok(());
    }
    Err(format!("node {} sends {request:?}, and {disk:?} is durable", node.place))
}

/// What an answer says of the epoch, its leader and a vote is durable.
pub(crate) fn check_answered(
    node: &Node,
    ledger: &Ledger,
    request: &Request,
    response: &Response,
) -> Result<(), String> {
    fn said<T>(answer: &Answer<T>) -> Option<(i32, Option<i32>)> {
        answer.partition.as_ref().map(|partition| (partition.epoch, partition.leader_id))
    }
    let said = match response {
        Response::Vote(answer) => said(answer),
        Response::BeginQuorumEpoch(answer) | Response::EndQuorumEpoch(answer) => said(answer),
        Response::Fetch(answer) => said(answer),
        Response::FetchSnapshot(answer) => said(answer),
        _ => None,
    };
    let (place, disk) = (node.place, node.disk.election());
    let durable = disk.as_ref().map(|disk| (disk.epoch(), disk.leader_id()));
    if said.is_some() && said != durable {
        return Err(format!("node {place} answers {response:?}, and {disk:?} is durable"));
    }
    let (Request::Vote(vote), Response::Vote(answer)) = (request, response) else { return Ok(()) };
    let grants = answer.partition.as_ref().is_some_and(|partition| partition.body);
    let kind = node.replica.as_ref().map(|replica| replica.quorum().state().kind());
    match kind {
        Some(EpochStateKind::Unattached | EpochStateKind::Prospective) if grants => {}
        Some(EpochStateKind::Leader) | None if grants => {
            return Err(format!("leader {place} grants {vote:?}"));
        }
        Some(kind) if grants && !vote.is_pre_vote => {
            return Err(format!("{kind:?} {place} grants {vote:?}"));
        }
        _ => {}
    }
    if grants && !vote.is_pre_vote {
        return ledger.granted(node, vote.epoch, &vote.candidate);
    }
    Ok(())
}

/// What holds at any moment.
pub(crate) fn check(node: &Node, ledger: &mut Ledger, is_persisting: bool) -> Result<(), String> {
    let Some(replica) = &node.replica else { return Ok(()) };
    let place = node.place;
    if let Some(fatal) = replica.fatal() {
        return Err(format!("node {place} has stopped: {fatal}"));
    }
    let state = replica.quorum().state();
    if let Some(leader) = state.leader_id() {
        ledger.led_by(state.epoch(), leader)?;
    }
    let (disk, memory) = (node.disk.election(), replica.quorum().election());
    if is_persisting && !disk.as_ref().is_some_and(|disk| is_same(disk, &memory)) {
        return Err(format!("node {place} is {memory:?}, and {disk:?} is durable"));
    }
    let endpoints = state.leader_endpoints().map_or(0, Endpoints::len);
    match state {
        EpochState::Follower(follower) if endpoints == 0 || follower.leader_id() == node.id() => {
            return Err(format!("node {place} follows {}", follower.leader_id()));
        }
        EpochState::Leader(leader) => {
            let start = leader.epoch_start_offset();
            if leader.high_watermark().is_some_and(|offset| offset <= start) {
                return Err(format!("leader {place} commits nothing of its own epoch"));
            }
        }
        EpochState::Prospective(_) | EpochState::Candidate(_) if !node.is_voter() => {
            return Err(format!("node {place} stands for election and is no voter"));
        }
        EpochState::Unattached(_) | EpochState::Candidate(_) if endpoints > 0 => {
            return Err(format!("node {place} follows nobody, and knows where"));
        }
        _ => {}
    }
    check_log(node, replica)
}

fn check_log(node: &Node, replica: &Replica) -> Result<(), String> {
    let (place, log, control) = (node.place, replica.log(), replica.control_log());
    let (start, high_watermark, end) = (log.start_offset(), log.high_watermark(), log.end_offset());
    let first = log.snapshots().first().copied();
    let is_sound = start <= high_watermark
        && high_watermark <= end
        && control.next_offset() == end
        && replica.quorum().state().high_watermark().is_none_or(|offset| offset <= end)
        && first.is_none_or(|first| start <= first.offset || first.offset == 0)
        && (start == 0 || first.is_some_and(|first| first.offset == start));
    if !is_sound {
        return Err(format!(
            "the log of node {place} is {log:?}, read up to {}",
            control.next_offset()
        ));
    }
    if log.last_fetched_epoch() > replica.quorum().epoch() {
        return Err(format!("the log of node {place} is of a later epoch than the node"));
    }
    Ok(())
}

/// The state machine is told who leads.
pub(crate) fn check_leader_change(
    node: &Node,
    leader: Option<i32>,
    epoch: i32,
) -> Result<(), String> {
    let (place, Machine { next_offset, leader: last, .. }) = (node.place, node.machine);
    let is_news = last.is_none_or(|(last_leader, last_epoch)| {
        epoch > last_epoch || epoch == last_epoch && last_leader.is_none() && leader.is_some()
    });
    if !is_news {
        return Err(format!("node {place} is told of {leader:?} in {epoch} late"));
    }
    let replica = node.replica.as_ref().expect("it is up");
    if let EpochState::Leader(own) = replica.quorum().state()
        && leader == Some(node.id())
        && epoch == own.epoch()
        && next_offset <= own.epoch_start_offset()
    {
        return Err(format!("node {place} is told to lead {epoch}, and is at {next_offset}"));
    }
    Ok(())
}

/// What holds when the replica has nothing to do at this moment.
pub(crate) fn check_rest(node: &Node, replica: &Replica, clock: Monotonic) -> Result<(), String> {
    let place = node.place;
    for (id, owed) in &node.owed {
        let patience = match &owed.request {
            Some(Request::Fetch(fetch)) => i64::from(fetch.max_wait_ms),
            Some(Request::AddVoter(_) | Request::RemoveVoter(_) | Request::UpdateVoter(_))
            | None => i64::from(node.config.request_timeout_ms),
            Some(_) => 0,
        };
        if clock.millis_since(owed.since) > patience || patience == 0 {
            return Err(format!("node {place} does not answer {id:?}: {owed:?}"));
        }
    }
    let state = replica.quorum().state();
    if let EpochState::Leader(leader) = state
        && leader.is_resignation_requested()
    {
        return Err(format!("leader {place} is to resign, and does not"));
    }
    let leads_alone = state.kind() == EpochStateKind::Leader
        && replica.control_log().voters().is_only_voter(&node.key());
    if node.is_voter() && !leads_alone && replica.next_deadline().is_none() {
        return Err(format!("voter {place} waits for ever"));
    }
    Ok(())
}

/// What a replica knows of its log is what its disk says, to one who reads it for the first time. Costly.
pub(crate) fn check_books(node: &Node) -> Result<(), String> {
    let Some(replica) = &node.replica else { return Ok(()) };
    let place = node.place;
    let ends = (node.disk.end_offset(), replica.log().end_offset());
    if ends.0 != ends.1 {
        return Err(format!("the log of node {place} ends at {} and not at {}", ends.0, ends.1));
    }
    let scratch = node.disk.control_log(None);
    let books = replica.control_log();
    // Before the latest snapshot they may know more, or less.
    let from = node.disk.snapshots.keys().map(|id| id.offset - 1).max().unwrap_or(-1);
    let entries = [&scratch, books].into_iter().flat_map(|log| {
        let voters = log.voter_sets().map(|(offset, _)| offset);
        voters.chain(log.kraft_versions().map(|(offset, _)| offset)).collect::<Vec<_>>()
    });
    let changes = entries.chain([from]).filter(|offset| *offset >= from);
    for offset in changes.filter(|offset| *offset < scratch.next_offset()) {
        let (read, known) = (scratch.voters_at(offset), books.voters_at(offset));
        if read != known || scratch.kraft_version_at(offset) != books.kraft_version_at(offset) {
            return Err(format!("node {place} knows {known:?} at {offset}, its log says {read:?}"));
        }
    }
    let view = |log: &ControlLog| (log.voters().clone(), log.kraft_version(), log.next_offset());
    if view(&scratch) != view(books) {
        return Err(format!(
            "node {place} reads {:?}, its log says {:?}",
            view(books),
            view(&scratch)
        ));
    }
    Ok(())
}

/// Whether what is durable is what is in memory. Voters are no part of it, nor is the directory of a vote in a file of an
/// older version.
fn is_same(disk: &ElectionState, memory: &ElectionState) -> bool {
    let is_vote_same = match (disk.voted_key(), memory.voted_key()) {
        (Some(disk), Some(memory)) => disk.matches(&memory),
        (disk, memory) => disk == memory,
    };
    is_vote_same && disk.epoch() == memory.epoch() && disk.leader_id() == memory.leader_id()
}
