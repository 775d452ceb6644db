//! What every file of the directory needs: to be there whole, or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Makes the names in a directory durable: files that were made, renamed or deleted.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory is no file that could be opened.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Replaces a file: after a crash at any time it holds its old content or its new one.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Deletes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The content of a file, if it is there.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names of the files in a directory, if it is there.
pub(super) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Content that makes no sense.
pub(super) fn invalid(path: &Path, reason: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {reason}", path.display()))
}
