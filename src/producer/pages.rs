//! A vector in pages, which grows without copying what it holds.

use alloc::vec::Vec;

/// How many elements a page has. A power of two.
const PAGE: usize = 512;

/// Elements by number, from 0 up.
///
/// A vector that doubles wastes up to half of its memory; this one wastes at most an eighth, or four
/// elements.
#[derive(Clone, Debug)]
pub(super) struct Pages<T> {
    pages: Vec<Vec<T>>,
}

impl<T: Copy> Pages<T> {
    pub(super) fn with_capacity(elements: usize) -> Self {
        let full = elements / PAGE;
        let mut pages: Vec<_> = (0..full).map(|_| Vec::with_capacity(PAGE)).collect();
        if !elements.is_multiple_of(PAGE) {
            pages.push(Vec::with_capacity(elements % PAGE));
        }
        Self { pages }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.pages.get(at / PAGE)?.get(at % PAGE)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.pages.get_mut(at / PAGE)?.get_mut(at % PAGE)
    }

    /// Appends a copy of an element behind the `len` that there are.
    #[inline]
    pub(super) fn push(&mut self, len: usize, element: &T) {
        let page = len / PAGE;
        if page == self.pages.len() {
            self.pages.push(Vec::new());
        }
        if let Some(page) = self.pages.get_mut(page) {
            if page.len() == page.capacity() {
                page.reserve_exact((len / 8).clamp(4, PAGE - page.len()));
            }
            page.push(*element);
        }
    }

    /// Drops all elements from number `len` on, and the pages that are then empty.
    pub(super) fn truncate(&mut self, len: usize) {
        self.pages.truncate(len.div_ceil(PAGE));
        if let Some(page) = self.pages.get_mut(len / PAGE) {
            page.truncate(len % PAGE);
        }
    }
}
