//! What a faulty replica makes of what it gets and gives.

use crate::fault::Fault;
use crate::flight::Flights;
use crate::node::{Node, id};
use kafka_coordination::kraft::{
    BatchContent, ControlRecord, Correlation, Effect, EpochState, EpochStateKind, LogBatch,
    PartitionAnswer, Request, Response, VoteRequest, VoterNode, VoterSet, majority_end_offset,
};

/// A request, as a faulty replica takes it.
pub(crate) fn request(fault: Fault, node: &Node, request: &mut Request) {
    let replica = node.replica.as_ref().expect("it is up");
    let log_end = replica.log().end();
    match request {
        Request::Vote(vote) if fault == Fault::GrantsToShorterLogs => {
            let VoteRequest { epoch, is_pre_vote, .. } = *vote;
            // One that is not legal is not looked at.
            if log_end.epoch < epoch + i32::from(is_pre_vote) {
                vote.log_end = vote.log_end.max(log_end);
            }
        }
        Request::Fetch(fetch) => {
            let EpochState::Leader(leader) = replica.quorum().state() else { return };
            let voters = leader.voters();
            match fault {
                Fault::FetchCountsForMore => fetch.log_end = log_end,
                Fault::ObserversCount if !voters.is_voter(&fetch.replica) => {
                    let other = voters.keys().find(|voter| *voter != node.key());
                    fetch.replica = other.unwrap_or(fetch.replica);
                }
                Fault::OtherDirectoryCounts => {
                    let voter = voters.get(fetch.replica.id).map(|voter| voter.key);
                    fetch.replica = voter.unwrap_or(fetch.replica);
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// What a leader that counts replicas, and not records of its own epoch, thinks is committed.
pub(crate) fn counted(node: &Node) -> Option<i64> {
    let EpochState::Leader(leader) = node.replica.as_ref()?.quorum().state() else { return None };
    if leader.high_watermark().is_some() {
        return None;
    }
    let ends = leader.voter_states().map(|voter| voter.end_offset().unwrap_or(-1));
    let mut ends: Vec<_> = ends.collect();
    majority_end_offset(&mut ends).filter(|end| *end > 0)
}

/// An answer that the replica does not wait for, as a faulty one takes it: for the answer to what it asks now.
pub(crate) fn late(
    fault: Fault,
    node: &Node,
    from: usize,
    response: &Response,
) -> Option<(Correlation, Response)> {
    let state = node.replica.as_ref()?.quorum().state();
    let mut response = response.clone();
    match &mut response {
        Response::Vote(answer)
            if fault == Fault::CountsOldVotes && state.kind() == EpochStateKind::Candidate =>
        {
            let vote = answer.partition.as_mut().filter(|vote| vote.body)?;
            let out = vote_to(&node.flights, Some(from))?;
            (vote.epoch, vote.leader_id) = (state.epoch(), None);
            Some((out, response))
        }
        Response::Fetch(answer)
            if fault == Fault::TakesLateRecords && state.kind() == EpochStateKind::Follower =>
        {
            let PartitionAnswer { leader_id, epoch, body, .. } = answer.partition.as_mut()?;
            (*epoch, *leader_id) = (state.epoch(), state.leader_id());
            // The replica knows by itself what does not continue its log.
            let end = node.disk.end_offset();
            body.records.retain(|batch| batch.base_offset >= end);
            let mut out = node.flights.iter();
            let (out, _) = out.find(|(_, request)| matches!(request, Request::Fetch(_)))?;
            Some((out, response))
        }
        _ => None,
    }
}

/// A vote that is asked for: of this node, or of anybody.
fn vote_to(flights: &Flights, node: Option<usize>) -> Option<Correlation> {
    let asks = |request: &Request| match request {
        Request::Vote(vote) => {
            let voter = vote.voter.map(|voter| voter.id);
            !vote.is_pre_vote && node.is_none_or(|node| voter == Some(id(node)))
        }
        _ => false,
    };
    flights.iter().find(|(_, request)| asks(request)).map(|(correlation, _)| correlation)
}

/// Another vote that one that was granted counts for.
pub(crate) fn other_vote(node: &Node, response: &Response) -> Option<Correlation> {
    let state = node.replica.as_ref()?.quorum().state();
    let Response::Vote(answer) = response else { return None };
    let is_granted = answer.partition.as_ref().is_some_and(|vote| vote.body);
    if !is_granted || state.kind() != EpochStateKind::Candidate {
        return None;
    }
    vote_to(&node.flights, None)
}

/// Records that a leader has sent, as a replica takes them that has read this far before.
pub(crate) fn overlook(node: &mut Node, response: &mut Response) {
    let Response::Fetch(answer) = response else { return };
    let Some(partition) = &mut answer.partition else { return };
    for batch in &mut partition.body.records {
        if batch.base_offset >= node.unread_below {
            continue;
        }
        if let BatchContent::Encoded { bytes, control: Some(_) } = &batch.content {
            let bytes = bytes.clone();
            let unread = BatchContent::Encoded { bytes, control: None };
            let read = LogBatch { content: unread, ..batch.clone() };
            node.unread.insert(batch.base_offset, std::mem::replace(batch, read));
        }
    }
}

/// An effect, as a faulty node carries it out.
pub(crate) fn effect(
    fault: Fault,
    node: &mut Node,
    others: &[VoterNode],
    effect: Effect,
) -> Effect {
    let replica = node.replica.as_ref().expect("it is up");
    let (start, high_watermark, end) = {
        let log = replica.log();
        (log.start_offset(), log.high_watermark(), log.end_offset())
    };
    match (fault, effect) {
        (Fault::TwoVotersAtOnce, Effect::Append(batch)) => {
            Effect::Append(with_two_voters(batch, others))
        }
        (Fault::OverlooksVoters, Effect::Append(batch)) => {
            Effect::Append(node.unread.remove(&batch.base_offset).unwrap_or(batch))
        }
        (Fault::OverlooksVoters, Effect::Truncate { end_offset }) => {
            node.unread_below = end;
            Effect::Truncate { end_offset }
        }
        (Fault::TruncatesCommitted, Effect::Truncate { .. }) if high_watermark > start => {
            Effect::Truncate { end_offset: high_watermark - 1 }
        }
        (Fault::DeliversUncommitted, Effect::Deliver { from, .. }) => {
            Effect::Deliver { from, to: end }
        }
        (_, effect) => effect,
    }
}

/// The batch with another node among the voters that it names.
fn with_two_voters(batch: LogBatch, others: &[VoterNode]) -> LogBatch {
    let BatchContent::Control(records) = batch.content else { return batch };
    let more = |voters: &VoterSet| {
        let other = others.iter().find(|other| voters.get(other.key.id).is_none());
        other.and_then(|other| voters.add_voter(other.clone()).ok())
    };
    let records = records.into_iter().map(|record| match record {
        ControlRecord::Voters(voters) if voters.len() > 1 => {
            ControlRecord::Voters(more(&voters).unwrap_or(voters))
        }
        record => record,
    });
    LogBatch { content: BatchContent::Control(records.collect()), ..batch }
}

/// Whether a leader goes on that has removed itself.
pub(crate) fn goes_on(node: &Node) -> bool {
    let state = node.replica.as_ref().map(|replica| replica.quorum().state());
    let is_to_resign =
        matches!(state, Some(EpochState::Leader(leader)) if leader.is_resignation_requested());
    is_to_resign && !node.is_voter()
}
