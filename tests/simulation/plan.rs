//! What a seed decides once: the size of the cluster, and how bad its world is.

use crate::cluster::Dice;

/// The kinds of faults of a run and how often they come.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: usize,
    pub(crate) voters: usize,
    /// Whether nodes that are no voters add themselves.
    pub(crate) auto_join: bool,
    /// Milliseconds between two faults.
    pub(crate) fault_every: i64,
    /// Of 1,000 messages so many are lost, and so many come twice.
    pub(crate) lost: u32,
    pub(crate) doubled: u32,
    /// A message takes up to so many milliseconds; one of twenty takes twenty times that.
    pub(crate) delay: u32,
    /// A flush takes up to so many milliseconds.
    pub(crate) flush: u32,
    /// Of 1,000 writes so many fail, and the node with them.
    pub(crate) disk_errors: u32,
    /// Clocks go wrong by up to so many millionths.
    pub(crate) skew: u32,
    pub(crate) append_every: i64,
    pub(crate) change_every: i64,
    pub(crate) snapshot_every: i64,
    /// When the faults are over.
    pub(crate) healed_at: i64,
    /// When the cluster has to have made progress.
    pub(crate) ends_at: i64,
}

impl Plan {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let nodes = 3 + dice.below(5);
        let voters = (1 + dice.below(nodes)).clamp(1, 5);
        let is_calm = dice.below(8) == 0;
        let mut up_to = |most: u32| if is_calm { 0 } else { dice.number(most + 1) };
        Self {
            nodes,
            voters,
            lost: up_to(150),
            doubled: up_to(100),
            disk_errors: up_to(3),
            skew: up_to(50_000),
            delay: 1 + up_to(40),
            flush: up_to(30),
            auto_join: up_to(3) == 3,
            fault_every: 300 + i64::from(up_to(3_000)),
            append_every: 20 + i64::from(up_to(200)),
            change_every: 500 + i64::from(up_to(3_000)),
            snapshot_every: 400 + i64::from(up_to(3_000)),
            healed_at: if is_calm { 5_000 } else { 25_000 },
            ends_at: if is_calm { 30_000 } else { 60_000 },
        }
    }
}
