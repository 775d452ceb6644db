//! The transaction index against a look at every entry.

use crate::log::aborted::{Aborted, AbortedTransactions};

fn entry(first_offset: i64, last_offset: i64, last_stable_offset: i64) -> Aborted {
    Aborted { producer_id: first_offset, first_offset, last_offset, last_stable_offset }
}

/// Three transactions of which one is open for long, and what is stable after each of them.
const ENTRIES: [(i64, i64, i64); 5] =
    [(0, 4, 2), (6, 9, 2), (2, 12, 11), (11, 15, 16), (20, 29, 30)];

#[test]
fn those_between_two_offsets_are_found() {
    let mut index = AbortedTransactions::default();
    for (first, last, stable) in ENTRIES {
        index.push(entry(first, last, stable));
    }
    for from in 0..32 {
        for until in from..32 {
            let found: Vec<_> =
                index.within(from, until).iter().map(|it| it.first_offset).collect();
            let expected: Vec<_> = { ENTRIES.iter() }
                .filter(|(first, last, _)| *last >= from && *first < until)
                .map(|(first, ..)| *first)
                .collect();
            // What is asked for is stable, so that nothing behind the first entry that says so is among it.
            let is_stable =
                |at: i64| ENTRIES.iter().all(|(first, last, _)| at <= *first || at > *last);
            if is_stable(until) {
                assert_eq!(found, expected, "from {from} until {until}");
            }
        }
    }
}

#[test]
fn entries_have_the_bytes_of_kafkas_index() {
    let aborted =
        Aborted { producer_id: 1, first_offset: 2, last_offset: 3, last_stable_offset: 4 };
    let bytes = aborted.encode();
    let expected = [
        &[0, 0][..],
        &1_i64.to_be_bytes(),
        &2_i64.to_be_bytes(),
        &3_i64.to_be_bytes(),
        &4_i64.to_be_bytes(),
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(Aborted::decode(&bytes), Some(aborted));
    assert_eq!(Aborted::decode(&bytes[..33]), None);
    let mut later = bytes;
    later[1] = 1;
    assert_eq!(Aborted::decode(&later), None, "a version that is not known");
}

#[test]
fn an_index_is_cut_at_both_ends() {
    let mut index = AbortedTransactions::default();
    for (first, last, stable) in ENTRIES {
        index.push(entry(first, last, stable));
    }
    index.forget_before(9);
    index.forget_from(15);
    let left: Vec<_> = index.within(0, 100).iter().map(|it| it.first_offset).collect();
    assert_eq!(left, [6, 2]);
}
