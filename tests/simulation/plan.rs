//! What a seed decides once: the size of the cluster, and how bad its world is.

use crate::dice::Dice;

/// Where the voters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the log, at level 1 of `kraft.version`.
    Log,
    /// In the configuration, at level 0.
    Configuration,
    /// In the configuration until the level is raised.
    ConfigurationAtFirst,
}

impl Home {
    /// Whether they are those of the configuration at first.
    pub(crate) fn is_static(self) -> bool {
        self != Self::Log
    }
}

/// The kinds of faults of a run and how often they come.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: usize,
    pub(crate) voters: usize,
    pub(crate) home: Home,
    /// Endpoints of a node, and how many of them the first voters are known by.
    pub(crate) listeners: usize,
    pub(crate) listeners_known: usize,
    /// Whether nodes that are no voters at first know of none.
    pub(crate) strangers: bool,
    /// Whether nodes that are no voters add themselves.
    pub(crate) auto_join: bool,
    /// Whether a node loses its disk and comes back with another one.
    pub(crate) wipes: bool,
    /// Of 1,000 nodes so many speak older versions of the protocol.
    pub(crate) old: u32,
    /// Milliseconds between two faults.
    pub(crate) fault_every: i64,
    /// Of 1,000 messages so many are lost, and so many come twice.
    pub(crate) lost: u32,
    pub(crate) doubled: u32,
    /// Of 1,000 answers so many are replaced by a refusal.
    pub(crate) refused: u32,
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
        let is_static = dice.below(6) == 0;
        let wipes = !is_static && dice.below(5) == 0;
        let least = if wipes { 3 } else { 1 };
        let voters = (1 + dice.below(nodes)).clamp(least, 5);
        let listeners = 1 + dice.below(2);
        let listeners_known = if is_static { 1 } else { 1 + dice.below(listeners) };
        let is_calm = dice.below(8) == 0;
        let mut up_to = |most: u32| if is_calm { 0 } else { dice.number(most + 1) };
        Self {
            nodes,
            voters,
            home: match is_static {
                true if up_to(2) > 0 => Home::ConfigurationAtFirst,
                true => Home::Configuration,
                false => Home::Log,
            },
            listeners,
            listeners_known,
            strangers: !is_static && up_to(1) > 0,
            wipes,
            old: if up_to(3) == 3 { up_to(700) } else { 0 },
            lost: up_to(150),
            doubled: up_to(100),
            refused: if up_to(2) == 2 { up_to(30) } else { 0 },
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
            ends_at: if is_calm { 25_000 } else { 45_000 },
        }
    }

    /// Three voters and an observer in a world without faults.
    pub(crate) fn calm() -> Self {
        Self {
            nodes: 4,
            voters: 3,
            home: Home::Log,
            listeners: 1,
            listeners_known: 1,
            strangers: false,
            auto_join: false,
            wipes: false,
            old: 0,
            fault_every: i64::MAX,
            lost: 0,
            doubled: 0,
            refused: 0,
            delay: 1,
            flush: 0,
            disk_errors: 0,
            skew: 0,
            append_every: 100,
            change_every: i64::MAX,
            snapshot_every: i64::MAX,
            healed_at: i64::MAX,
            ends_at: i64::MAX,
        }
    }
}
