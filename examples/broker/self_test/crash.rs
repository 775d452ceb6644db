//! What a broker leaves behind that is killed.

use super::client::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory for a test, which goes with it.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Result<Self, Failure> {
        let own = format!("kafka-coordination-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(own);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What is there if the broker that uses the directory is killed now.
    pub(crate) fn crash(&self, name: &str) -> Result<Self, Failure> {
        let image = Self::new(name)?;
        copy(&self.0, &image.0)?;
        Ok(image)
    }

    /// The files with this extension, by path, so that those of a log are in the order of their offsets.
    pub(crate) fn files(&self, extension: &str) -> Result<Vec<PathBuf>, Failure> {
        let mut found = Vec::new();
        find(&self.0, extension, &mut found)?;
        found.sort();
        Ok(found)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn find(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, extension, found)?;
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    Ok(())
}
