//! Who should lead after a leader that resigns.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::Leader;
use crate::kraft::voters::ReplicaKey;

impl Leader {
    /// The voters but for the leader, those that fetched farthest first: the candidates that
    /// `EndQuorumEpoch` names. Among equals the lower key comes first, and those that never fetched
    /// come last. O(voters · log voters).
    pub fn preferred_successors(&self) -> Vec<ReplicaKey> {
        let local = self.local().key;
        let others = self.voter_states().filter(|state| !state.key().matches(&local));
        let mut others: Vec<_> =
            others.map(|state| (Reverse(state.end_offset()), state.key())).collect();
        others.sort_unstable();
        others.into_iter().map(|(_, key)| key).collect()
    }
}

/// How long a voter waits for an election after a leader's `EndQuorumEpoch`, in milliseconds.
///
/// `candidates` are those that the request names, in its order, without directory ids where it has
/// none; `backoff_max_ms` is `controller.quorum.election.backoff.max.ms`. The first does not wait,
/// nor does anyone if none is named; the last but those that are not named waits half of the most,
/// each one before it half as long; who is not named waits longest. O(candidates).
///
/// ```
/// use kafka_coordination::kraft::{ReplicaKey, end_quorum_backoff_ms};
///
/// let candidates = [5, 3, 8].map(ReplicaKey::without_directory);
/// let wait = |id| {
///     let local = ReplicaKey::without_directory(id);
///     end_quorum_backoff_ms(local, candidates.into_iter(), 1_000)
/// };
/// assert_eq!([5, 3, 8, 4].map(wait), [0, 250, 500, 1_000]);
/// ```
pub fn end_quorum_backoff_ms(
    local: ReplicaKey,
    candidates: impl ExactSizeIterator<Item = ReplicaKey>,
    backoff_max_ms: u32,
) -> i64 {
    let count = candidates.len();
    if count == 0 {
        return 0;
    }
    let most = u64::from(backoff_max_ms);
    let mut candidates = candidates;
    let wait = match candidates.position(|candidate| candidate.matches(&local)) {
        None => most,
        Some(0) => 0,
        Some(place) => {
            // 31 places are enough to wait 0 ms; Kafka's shift counts 32 and more from 0 again.
            let halved = |times: usize| most >> times.min(31);
            let base = halved(count.saturating_sub(1));
            let doublings = u32::try_from(place.saturating_sub(1)).unwrap_or(u32::MAX);
            let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
            base.saturating_mul(factor).min(most)
        }
    };
    i64::try_from(wait).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::end_quorum_backoff_ms;
    use crate::kraft::voters::ReplicaKey;
    use alloc::vec::Vec;

    fn waits(candidates: i32, backoff_max_ms: u32) -> Vec<i64> {
        let wait = |local| {
            let candidates: Vec<_> = (0..candidates).map(ReplicaKey::without_directory).collect();
            let local = ReplicaKey::without_directory(local);
            end_quorum_backoff_ms(local, candidates.into_iter(), backoff_max_ms)
        };
        (0..candidates).map(wait).collect()
    }

    #[test]
    fn each_place_waits_twice_as_long() {
        assert_eq!(waits(1, 1_000), [0]);
        assert_eq!(waits(2, 1_000), [0, 500]);
        assert_eq!(waits(3, 1_000), [0, 250, 500]);
        assert_eq!(waits(4, 1_000), [0, 125, 250, 500]);
        assert_eq!(waits(5, 1_000), [0, 62, 124, 248, 496]);
    }

    #[test]
    fn no_candidate_at_all_lets_everyone_start() {
        let local = ReplicaKey::without_directory(1);
        assert_eq!(end_quorum_backoff_ms(local, Vec::new().into_iter(), 1_000), 0);
    }

    #[test]
    fn long_lists_wait_for_nothing_or_the_most() {
        assert!(waits(12, 1_000).iter().all(|&wait| wait == 0));
        assert!(waits(100, u32::MAX).iter().all(|&wait| (0..=i64::from(u32::MAX)).contains(&wait)));
    }
}
