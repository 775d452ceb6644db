//! Changes of voters, as a leader decides them.

mod add;
mod elections;
mod refusals;
mod remove;
mod update;
mod upgrade;
