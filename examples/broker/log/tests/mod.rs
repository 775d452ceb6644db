//! Logs by themselves: the transaction index, and what is opened after a crash.

mod aborted;
mod crash;
