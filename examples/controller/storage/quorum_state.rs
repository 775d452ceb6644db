//! `quorum-state`: what the replica has promised in elections.

use super::files;
use kafka_coordination::kraft::{ElectionState, Persist};
use std::io;
use std::path::Path;

const FILE: &str = "quorum-state";

pub(super) fn read(directory: &Path) -> io::Result<Option<ElectionState>> {
    let path = directory.join(FILE);
    let Some(content) = files::read(&path)? else { return Ok(None) };
    ElectionState::from_file(&content).map(Some).map_err(|error| files::invalid(&path, error))
}

pub(super) fn write(directory: &Path, persist: &Persist) -> io::Result<()> {
    let content = persist.election.to_file(persist.version);
    files::replace(&directory.join(FILE), content.as_bytes())
}
