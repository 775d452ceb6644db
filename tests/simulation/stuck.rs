//! The two ways in which a cluster that is whole cannot go on: those of Kafka, which the crate shares.
//!
//! A leader that wrote its own removal and crashed before enough of the others had it is no voter by its own log: it stands
//! for no election any more. It votes as every replica does, but for no shorter log than its own, and theirs are. Without
//! its vote nobody is elected, if the voters that the others know need it.
//!
//! Or a leader crashed for good, before a replica that it had added to the voters knew of that. Such a replica goes on as an
//! observer, which does not stand for election, and grants no pre-vote because it has fetched from that leader (KIP-996).

use crate::node::Node;
use kafka_coordination::kraft::{
    EpochState, EpochStateKind, OffsetAndEpoch, Replica, ReplicaKey, VoterSet,
};

/// A replica, with what counts for elections.
struct Standing<'a> {
    key: ReplicaKey,
    end: OffsetAndEpoch,
    /// The last voters in its log, and those before them.
    voters: &'a VoterSet,
    before: Option<&'a VoterSet>,
    /// Whether it follows a leader that it has fetched from.
    is_loyal: bool,
}

impl<'a> Standing<'a> {
    fn new(node: &Node, replica: &'a Replica) -> Self {
        let control = replica.control_log();
        let sets: Vec<_> = control.voter_sets().map(|(_, voters)| voters).collect();
        let before = sets.len().checked_sub(2).map(|place| sets[place]);
        let is_loyal = match replica.quorum().state() {
            EpochState::Follower(follower) => follower.has_fetched_from_leader(),
            _ => false,
        };
        let (end, voters) = (replica.log().end(), control.voters());
        Self { key: node.key(), end, voters, before, is_loyal }
    }

    fn is_voter(&self) -> bool {
        self.voters.is_voter(&self.key)
    }

    /// Whether these voters would elect it: a majority of them is there, with logs that are no longer than its own.
    fn is_electable_by(&self, voters: &VoterSet, all: &[Self]) -> bool {
        self.has_votes(voters, all, |_| true)
    }

    fn has_votes(
        &self,
        voters: &VoterSet,
        all: &[Self],
        may_grant: impl Fn(&Self) -> bool,
    ) -> bool {
        let grants = |other: &&Self| {
            voters.is_voter(&other.key) && other.end <= self.end && may_grant(other)
        };
        voters.is_voter(&self.key) && all.iter().filter(grants).count() >= voters.majority()
    }

    /// Whether these voters would elect it without those who cannot know that their leader is gone.
    fn is_electable_by_the_disloyal(&self, voters: &VoterSet, all: &[Self]) -> bool {
        self.has_votes(voters, all, |other| other.is_voter() || !other.is_loyal)
    }

    /// Whether it would be elected if it had not removed itself.
    fn is_kept_out_by_its_removal(&self, all: &[Self]) -> bool {
        let removed = self.before.and_then(|before| before.remove_voter(&self.key).ok());
        removed.as_ref() == Some(self.voters)
            && self.before.is_some_and(|before| self.is_electable_by(before, all))
    }
}

/// Why nobody can ever lead again; none if somebody does or can: all replicas are up, nobody would be elected, and either
/// it is only for the pre-votes of observers, or the longest log, those of observers apart, is that of a replica that is kept
/// out by nothing but its own removal.
pub(crate) fn why_stuck(nodes: &[Node]) -> Option<String> {
    let replicas: Option<Vec<_>> =
        nodes.iter().map(|node| Some((node, node.replica.as_ref()?))).collect();
    let replicas = replicas?;
    let leads = |(_, replica): &(&Node, &Replica)| {
        replica.quorum().state().kind() == EpochStateKind::Leader
    };
    if replicas.iter().any(leads) {
        return None;
    }
    let all: Vec<_> = replicas.iter().map(|(node, replica)| Standing::new(node, replica)).collect();
    if all.iter().any(|it| it.is_electable_by_the_disloyal(it.voters, &all)) {
        return None;
    }
    if let Some(defied) = all.iter().find(|it| it.is_electable_by(it.voters, &all)) {
        return Some(format!("{} lacks the pre-votes of voters that do not know it", defied.key));
    }
    let removed =
        all.iter().filter(|it| it.is_kept_out_by_its_removal(&all)).max_by_key(|it| it.end)?;
    // Others that are no voters may have fetched more from it, which nobody counts.
    if all.iter().any(|it| it.is_voter() && it.end >= removed.end) {
        return None;
    }
    Some(format!(
        "{} has removed itself from {:?}",
        removed.key,
        removed.before?.ids().collect::<Vec<_>>()
    ))
}
