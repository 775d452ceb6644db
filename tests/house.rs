//! The rules of the house: the source reaches for nothing outside, and its arrows run one way.
#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    reason = "a test has the standard library, and may fail by panicking"
)]

use kafka_coordination::fetch::{
    CacheConfig, CacheStats, FetchAnswer, FetchCache, FetchContext, FetchPartition, FetchRequest,
    PartitionRead, Slot,
};
use kafka_coordination::group::{
    GroupMetadata, GroupSubscription, GroupUpdate, ImageHasher, MetadataHash, NewTopics,
    Subscriptions, TopicHash, TopicHasher,
};
use kafka_coordination::group_record::{
    ConsumerGroupMetadataValue, GroupRecordKey, ShareGroupMetadataValue, StreamsGroupMetadataValue,
};
use kafka_coordination::kraft::{
    ChangeEffect, ChangeError, ControlLog, ControlRecord, DynamicVoters, FormatPlan, FormatRequest,
    Leader, LeaderError, NodeConfig, QuorumDescription, UpgradeError, VoterChanges, VoterHistory,
    VoterSet, VotersRecord,
};
use kafka_coordination::metadata::{
    ChangedTopic, ClusterImage, ImageChanges, ImageDelta, ImageError, TopicView,
};
use kafka_coordination::producer::{
    Append, Batch, PartitionState, ProducerConfig, ProducerEntry, ProducerStates, Rebuild,
    Snapshots, Verification,
};
use kafka_coordination::topology::{
    Backoff, DeleteCall, Effect, InMemoryPlugin, SetCall, TopologyConfig, TopologyManager,
    TopologyState,
};
use kafka_coordination::{
    ErrorCode, ManualClock, Monotonic, ParseTopicIdError, Timestamp, TopicId, TopicIdPartition,
    TopicName, TopicPartition, UnknownErrorName,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that each make one kind of decision, and know nothing of one another.
const MACHINES: [&str; 5] = ["fetch", "producer", "kraft", "group", "topology"];

/// The Rust files below a directory, each as its path from there and its text.
fn files(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((
                    path.strip_prefix(root).unwrap().to_path_buf(),
                    fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    found.sort();
    found
}

fn source() -> Vec<(PathBuf, String)> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// The lines that are compiled into the library, numbered from 1: no comments, and nothing from `#[cfg(test)]` before a
/// module on, which stands at the end of a file.
fn library_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let library = text.get(..tests).unwrap_or_default();
    let lines = library.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.starts_with("//"))
}

/// Whether `line` has `word` not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

/// The lines that name the standard library without an attribute above them that asks for the feature `std`.
fn ungated_std(text: &str) -> Vec<usize> {
    let mut gated = false;
    let mut found = Vec::new();
    for (number, line) in library_lines(text) {
        if line.starts_with("#[") {
            gated |= line.starts_with("#[cfg(")
                && line.contains("feature = \"std\"")
                && !line.contains("not(");
            continue;
        }
        let names_std =
            has_word(line, "std") && (line.contains("std::") || line == "extern crate std;");
        if names_std && !gated {
            found.push(number);
        }
        gated = false;
    }
    found
}

/// The lines of a file in `src` that name a module which stands above or beside it.
fn wrong_arrows(path: &Path, text: &str) -> Vec<usize> {
    let top =
        path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
    if top == "lib" || top == "wire" {
        return Vec::new();
    }
    let forbidden: Vec<String> = MACHINES
        .iter()
        .chain(&["wire"])
        .filter(|&&module| module != top)
        .map(|module| format!("crate::{module}"))
        .collect();
    let lines = library_lines(text)
        .filter(|(_, line)| forbidden.iter().any(|module| has_word(line, module)));
    lines.map(|(number, _)| number).collect()
}

#[test]
fn the_standard_library_is_named_only_behind_its_feature() {
    for (path, text) in source() {
        // `wire` as a whole is behind a feature that brings `std`.
        if !path.starts_with("wire") {
            assert_eq!(ungated_std(&text), Vec::<usize>::new(), "lines of src/{}", path.display());
        }
    }
}

#[test]
fn no_machine_knows_another_or_the_wire() {
    for (path, text) in source() {
        assert_eq!(
            wrong_arrows(&path, &text),
            Vec::<usize>::new(),
            "lines of src/{}",
            path.display()
        );
    }
}

#[test]
fn the_search_for_the_standard_library_finds_it() {
    assert_eq!(ungated_std("use core::fmt;\nuse std::fs;\n"), [2]);
    assert_eq!(ungated_std("extern crate std;\n"), [1]);
    assert_eq!(ungated_std("#[cfg(not(feature = \"std\"))]\nuse std::fs;\n"), [2]);
    assert_eq!(
        ungated_std("#[cfg(feature = \"std\")]\nfn f() {}\nfn g() -> ::std::string::String;\n"),
        [3]
    );
    assert_eq!(
        ungated_std("#[cfg(feature = \"std\")]\n#[derive(Debug)]\nuse std::fs;\n"),
        Vec::<usize>::new()
    );
    assert_eq!(
        ungated_std(
            "// std::fs\nuse alloc::vec;\nuse nostd::x;\n#[cfg(test)]\nmod tests {\nuse std::fs;"
        ),
        Vec::<usize>::new()
    );
}

#[test]
fn the_search_for_wrong_arrows_finds_them() {
    let found = |path: &str, text| wrong_arrows(Path::new(path), text);
    assert_eq!(found("fetch/cache.rs", "use crate::topic::X;\nuse crate::producer::Y;\n"), [2]);
    assert_eq!(found("fetch/cache.rs", "use crate::wire::X;\n"), [1]);
    assert_eq!(found("metadata/image.rs", "use crate::fetch::X;\n"), [1]);
    assert_eq!(found("topic.rs", "fn f() -> crate::group::X;\n"), [1]);
    assert_eq!(
        found("group/hash.rs", "use crate::group_record::X;\nuse crate::group::Y;\n"),
        Vec::<usize>::new()
    );
    assert_eq!(found("wire/fetch.rs", "use crate::fetch::X;\n"), Vec::<usize>::new());
}

/// Compiles only for types that may be sent to and shared with other threads.
const fn threads<T: Send + Sync>() {}

const _: () = {
    threads::<ErrorCode>();
    threads::<UnknownErrorName>();
    threads::<Monotonic>();
    threads::<Timestamp>();
    threads::<ManualClock>();
    threads::<TopicId>();
    threads::<ParseTopicIdError>();
    threads::<TopicName>();
    threads::<TopicPartition>();
    threads::<TopicIdPartition>();
    threads::<ClusterImage>();
    threads::<ImageDelta>();
    threads::<ImageChanges>();
    threads::<ChangedTopic>();
    threads::<ImageError>();
    threads::<TopicView<'_>>();
    threads::<FetchCache>();
    threads::<CacheConfig>();
    threads::<CacheStats>();
    threads::<FetchContext>();
    threads::<FetchRequest<'_>>();
    threads::<FetchPartition<'_>>();
    threads::<PartitionRead>();
    threads::<FetchAnswer>();
    threads::<Slot>();
    threads::<TopicHash>();
    threads::<MetadataHash>();
    threads::<TopicHasher>();
    threads::<ImageHasher<'_, ClusterImage>>();
    threads::<Subscriptions>();
    threads::<GroupSubscription>();
    threads::<GroupMetadata>();
    threads::<GroupUpdate>();
    threads::<NewTopics>();
    threads::<GroupRecordKey<'_>>();
    threads::<ConsumerGroupMetadataValue>();
    threads::<ShareGroupMetadataValue>();
    threads::<StreamsGroupMetadataValue>();
    threads::<Append>();
    threads::<Batch>();
    threads::<PartitionState>();
    threads::<ProducerConfig>();
    threads::<ProducerEntry>();
    threads::<ProducerStates>();
    threads::<Rebuild>();
    threads::<Snapshots>();
    threads::<Verification>();
    threads::<Backoff>();
    threads::<DeleteCall>();
    threads::<Effect>();
    threads::<InMemoryPlugin<()>>();
    threads::<SetCall>();
    threads::<TopologyConfig>();
    threads::<TopologyManager>();
    threads::<TopologyState>();
    threads::<VoterSet>();
    threads::<VoterHistory>();
    threads::<ControlLog>();
    threads::<ControlRecord>();
    threads::<VotersRecord<'_>>();
    threads::<DynamicVoters>();
    threads::<NodeConfig>();
    threads::<FormatRequest<'_>>();
    threads::<FormatPlan>();
    threads::<Leader>();
    threads::<VoterChanges>();
    threads::<ChangeEffect>();
    threads::<LeaderError>();
    threads::<QuorumDescription>();
    threads::<ChangeError>();
    threads::<UpgradeError>();
};

#[cfg(feature = "std")]
const _: () = threads::<kafka_coordination::SystemClock>();
