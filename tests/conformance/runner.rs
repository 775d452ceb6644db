//! Finds vectors, hands each scenario to the replay of its folder and counts.

use crate::fields::Fields;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// One folder of vectors and how to replay a scenario of it.
pub(crate) struct Subject {
    /// The folder's name.
    pub(crate) folder: &'static str,
    /// Files that the folder's `FORMAT.md` marks as documentation, which nobody has to pass.
    pub(crate) documentation: &'static [&'static str],
    /// Replays one scenario from its start.
    pub(crate) replay: fn(&Fields<'_>) -> Result<Outcome, String>,
}

/// How a replay that found no difference went.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    /// Everything was as in Kafka.
    AsKafka,
    /// Everything was as expected, and some of it is marked as a deviation from Kafka.
    Deviated,
}

/// How many scenarios of a folder were found and what became of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    found: usize,
    failed: usize,
    pub(crate) replayed: usize,
    deviated: usize,
}

impl Tally {
    /// Scenarios that were found but neither replayed nor reported as failed.
    pub(crate) fn skipped(&self) -> usize {
        self.found - self.replayed - self.failed
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "replayed {}, deviated {}, skipped {}",
            self.replayed,
            self.deviated,
            self.skipped()
        )?;
        if self.failed > 0 {
            write!(f, ", FAILED {}", self.failed)?;
        }
        Ok(())
    }
}

/// Replays every `*.jsonl` file below `root`; a folder that no subject claims is a failure.
pub(crate) fn replay_all(
    root: &Path,
    subjects: &[&Subject],
    tallies: &mut BTreeMap<String, Tally>,
    failures: &mut Vec<String>,
) {
    for folder in sorted_entries(root) {
        let files = vectors_below(&folder);
        if files.is_empty() {
            continue;
        }
        let name = folder.file_name().expect("a listed path has a name");
        let name = name.to_string_lossy().into_owned();
        let Some(subject) = subjects.iter().find(|subject| subject.folder == name) else {
            failures.push(format!("{}: no replay for this folder", folder.display()));
            continue;
        };
        let tally = tallies.entry(name).or_default();
        let is_documentation = |file: &PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| subject.documentation.contains(&name))
        };
        for file in files.into_iter().filter(|file| !is_documentation(file)) {
            replay_file(&file, subject, tally, failures);
        }
    }
}

fn replay_file(file: &Path, subject: &Subject, tally: &mut Tally, failures: &mut Vec<String>) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        tally.found += 1;
        let (name, result) = replay_line(line, subject);
        match result {
            Ok(outcome) => {
                tally.replayed += 1;
                tally.deviated += usize::from(matches!(outcome, Outcome::Deviated));
            }
            Err(difference) => {
                tally.failed += 1;
                failures.push(format!("{}:{}: {name}: {difference}", file.display(), number + 1));
            }
        }
    }
}

fn replay_line(line: &str, subject: &Subject) -> (String, Result<Outcome, String>) {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return (String::from("?"), Err(error.to_string())),
    };
    // A scenario that is about a name has its own in `case`.
    let key = if value.get("case").is_some() { "case" } else { "name" };
    let name = value[key].as_str().unwrap_or("?").to_owned();
    let replay = AssertUnwindSafe(|| {
        let scenario = Fields::of(&value)?;
        scenario.text(key)?;
        let outcome = (subject.replay)(&scenario)?;
        scenario.all_read()?;
        Ok(outcome)
    });
    let result = catch_unwind(replay).unwrap_or_else(|_| Err(String::from("panicked")));
    (name, result)
}

fn vectors_below(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = sorted_entries(path);
        return entries.iter().flat_map(|entry| vectors_below(entry)).collect();
    }
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        return vec![path.to_owned()];
    }
    Vec::new()
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.sort();
    paths
}
