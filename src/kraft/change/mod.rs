//! Changes of voters: one is under way at a time.

mod add;
mod admission;
mod config;
mod decision;
mod effect;
mod error;
mod pending;
mod probe;
mod remove;
mod request;
mod update;
mod upgrade;
mod voter_changes;

pub use admission::{Receiver, ReceiverRole, admit_add, admit_remove, admit_update};
pub use config::ChangeConfig;
pub use decision::{
    LogVoters, PendingChange, Progress, Situation, UpdatedVoters, check_add, check_update,
    decide_add, decide_remove, decide_update,
};
pub use effect::{AppendId, ChangeEffect, Connection, CurrentLeader, ProbeId, ProbeOutcome};
pub use error::ChangeError;
pub use request::{Acknowledge, AddVoter, RemoveVoter, RequestId, UpdateVoter};
pub use upgrade::{UpgradeDecision, UpgradeError, UpgradeMode, decide_upgrade};
pub use voter_changes::VoterChanges;
