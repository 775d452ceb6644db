//! Invariant 25: a cache that is told which partitions change answers as one that visits all.

#[cfg(test)]
mod equality;
pub(crate) mod fetcher;
mod log;
mod progress;
#[cfg(test)]
mod quiet;
mod read;
mod row;
#[cfg(test)]
mod rows;
mod twins;
mod world;

#[cfg(test)]
pub(crate) use fetcher::operations;
pub(crate) use twins::Twins;
pub(crate) use world::{FEW, TOPICS};
