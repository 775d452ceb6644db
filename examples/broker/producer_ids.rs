//! Producer ids, each given out once.

use crate::broker::lock;
use crate::storage::Store;
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// The ids that may be given out next. Those of a stored broker are set aside in blocks, so that after a crash none of
/// them is given out again.
#[derive(Debug)]
pub(crate) struct ProducerIds(Mutex<Range<i64>>);

impl ProducerIds {
    pub(crate) fn new(is_stored: bool) -> Self {
        Self(Mutex::new(if is_stored { 0..0 } else { 0..i64::MAX }))
    }

    /// An id that no producer has had.
    pub(crate) fn next(&self, store: Option<&Store>) -> io::Result<i64> {
        let mut left = lock(&self.0);
        if left.is_empty()
            && let Some(store) = store
        {
            *left = store.take_producer_ids()?;
        }
        left.next().ok_or_else(|| io::Error::other("all producer ids were given out"))
    }
}
