//! Votes: asked for, granted, counted.

use super::{Context, Fatal, Replica, RequestHeader};
use crate::error_code::ErrorCode;
use crate::kraft::change::RequestId;
use crate::kraft::effect::Reply;
use crate::kraft::epoch::EpochState;
use crate::kraft::rpc::VoteRequest;
use crate::random::Random;
use crate::time::Monotonic;

impl Replica {
    /// Answers a `Vote`.
    ///
    /// The epoch that it names is taken over even if the vote is not granted, be it a pre-vote or meant for another
    /// directory. A vote that is granted is durable before it is answered.
    pub fn handle_vote(
        &mut self,
        id: RequestId,
        header: &RequestHeader<'_>,
        request: &VoteRequest,
        random: &mut dyn Random,
        now: Monotonic,
    ) {
        self.run(now, random, |replica, context| {
            if let Some(error) = replica.check_header(header) {
                replica.reply(id, Reply::Vote(crate::kraft::rpc::Answer::failed(error)));
                return Ok(());
            }
            let verdict = replica.vote(request, context)?;
            let (error, granted) = match verdict {
                Ok(granted) => (ErrorCode::None, granted),
                Err(error) => (error, false),
            };
            let answer = replica.answer(header, error, granted);
            replica.reply(id, Reply::Vote(answer));
            Ok(())
        });
    }

    fn vote(
        &mut self,
        request: &VoteRequest,
        context: &mut Context<'_>,
    ) -> Result<Result<bool, ErrorCode>, Fatal> {
        let VoteRequest { voter, candidate, epoch, log_end, is_pre_vote } = *request;
        // Who asks for votes in an epoch has no record of it yet; who asks in advance may.
        let is_legal = log_end.offset >= 0
            && log_end.epoch >= 0
            && if is_pre_vote { log_end.epoch <= epoch } else { log_end.epoch < epoch };
        if !is_legal {
            return Ok(Err(ErrorCode::InvalidRequest));
        }
        if let Some(error) = self.check_sender(candidate.id, epoch) {
            return Ok(Err(error));
        }
        if !is_pre_vote && Some(candidate.id) == self.config.quorum.local_id {
            return Ok(Err(ErrorCode::InvalidRequest));
        }
        if epoch > self.quorum.epoch() {
            self.become_unattached(epoch, None, context)?;
        }
        if !self.is_meant(voter) {
            return Ok(Err(ErrorCode::InvalidVoterKey));
        }
        let is_up_to_date = log_end >= self.log.end();
        // Who has no node id has no vote to give.
        let granted = self.config.quorum.local_id.is_some()
            && self.quorum.can_grant_vote(candidate, is_up_to_date, is_pre_vote);
        if granted && !is_pre_vote && self.quorum.state().voted_key().is_none() {
            self.add_vote(candidate, context)?;
        }
        Ok(Ok(granted))
    }

    /// Takes down what a voter has answered.
    pub(super) fn take_vote(
        &mut self,
        voter: i32,
        granted: bool,
        context: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        let state = self.quorum.state_mut();
        let is_nominee = matches!(state, EpochState::Prospective(_) | EpochState::Candidate(_));
        // A vote that cannot be taken down, as of a voter that was removed, is none.
        if is_nominee && state.record_vote(voter, granted).is_ok() {
            return self.count_votes(context);
        }
        Ok(())
    }
}
