//! What outlives the process: files below `--data-dir`.

mod journal;

pub(crate) use journal::Journal;
