//! `Heartbeat`, and the commits of offsets, which count as one.

use super::{Claim, Group, State};
use kafka_coordination::{ErrorCode, Monotonic};

impl Group {
    /// A member says that it is there, and learns whether it has to join again.
    pub(crate) fn heartbeat(&mut self, claim: Claim<'_>, now: Monotonic) -> Result<(), ErrorCode> {
        self.check_generation(claim)?;
        self.heard_of(claim.member_id, now);
        match self.state {
            State::Empty => Err(ErrorCode::UnknownMemberId),
            State::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
        }
    }

    /// Whether offsets may be committed: by a member of this generation, or by anybody while there is no member.
    pub(crate) fn check_commit(
        &mut self,
        claim: Claim<'_>,
        now: Monotonic,
    ) -> Result<(), ErrorCode> {
        if claim.generation < 0 && self.state == State::Empty {
            return Ok(());
        }
        self.check_generation(claim)?;
        match self.state {
            // Its assignment is not known yet.
            State::CompletingRebalance => Err(ErrorCode::RebalanceInProgress),
            State::Empty | State::PreparingRebalance | State::Stable => {
                self.heard_of(claim.member_id, now);
                Ok(())
            }
        }
    }

    fn check_generation(&self, claim: Claim<'_>) -> Result<(), ErrorCode> {
        self.check_member(claim.member_id, claim.instance_id)?;
        if claim.generation == self.generation { Ok(()) } else { Err(ErrorCode::IllegalGeneration) }
    }

    fn heard_of(&mut self, member_id: &str, now: Monotonic) {
        if let Some(member) = self.members.get_mut(member_id) {
            member.heard_of(now);
        }
    }
}
