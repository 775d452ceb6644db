//! The journal, after a crash and after damage.

use super::Journal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A path for a journal, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let own = format!("kafka-coordination-{}-{name}.journal", std::process::id());
        Self(std::env::temp_dir().join(own))
    }

    fn open(&self) -> std::io::Result<(Journal, Vec<Value>)> {
        Journal::open(self.0.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn record(number: usize) -> Value {
    json!({ "number": number, "text": "two\nlines" })
}

#[test]
fn a_journal_that_is_cut_anywhere_keeps_the_records_before() {
    let place = Place::new("cut");
    let (mut journal, records) = place.open().unwrap();
    assert!(records.is_empty());
    let mut ends = vec![0];
    for number in 0..3 {
        journal.append(&record(number)).unwrap();
        ends.push(fs::metadata(&place.0).unwrap().len());
    }
    let whole = fs::read(&place.0).unwrap();
    for len in 0..=whole.len() {
        fs::write(&place.0, &whole[..len]).unwrap();
        let (mut journal, records) = place.open().unwrap();
        let kept = ends.iter().filter(|end| **end > 0 && **end <= len as u64).count();
        assert_eq!(records, (0..kept).map(record).collect::<Vec<_>>(), "{len} bytes");
        journal.append(&record(9)).unwrap();
        let (_, records) = place.open().unwrap();
        assert_eq!(records.last(), Some(&record(9)), "what is appended next is not lost");
        assert_eq!(records.len(), kept + 1);
    }
}

#[test]
fn damage_before_the_last_line_is_told() {
    let place = Place::new("damage");
    let (mut journal, _) = place.open().unwrap();
    journal.append(&record(0)).unwrap();
    let first = fs::metadata(&place.0).unwrap().len();
    journal.append(&record(1)).unwrap();
    let whole = fs::read(&place.0).unwrap();
    for at in 0..usize::try_from(first).unwrap() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&place.0, bytes).unwrap();
        assert!(place.open().is_err(), "byte {at}");
    }
}

#[test]
fn a_rewritten_journal_holds_what_it_was_told_and_goes_on() {
    let place = Place::new("rewritten");
    let (mut journal, _) = place.open().unwrap();
    for number in 0..30_000 {
        journal.append(&record(number)).unwrap();
    }
    assert!(journal.is_long());
    journal.rewrite([record(29_999)].into_iter()).unwrap();
    assert!(!journal.is_long());
    journal.append(&record(30_000)).unwrap();
    let (_, records) = place.open().unwrap();
    assert_eq!(records, [record(29_999), record(30_000)]);
}
