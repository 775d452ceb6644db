//! Invariant 25: a cache that is told which partitions change answers as one that visits all.

#[cfg(test)]
mod equality;
mod fetcher;
mod log;
mod progress;
mod read;
mod row;
#[cfg(test)]
mod rows;
mod twins;
mod world;

#[cfg(test)]
pub(crate) use fetcher::operations;
pub(crate) use fetcher::timed_operation;
pub(crate) use twins::Twins;
