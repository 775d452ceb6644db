//! Snapshots: `OFFSET-EPOCH.checkpoint`, and `.part` behind that while it is written.

use super::files;
use bytes::Bytes;
use kafka_coordination::kraft::OffsetAndEpoch;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The files, and one that is being received.
#[derive(Debug)]
pub(crate) struct Snapshots {
    directory: PathBuf,
    /// Ascending.
    ids: Vec<OffsetAndEpoch>,
    receiving: Option<Receiving>,
}

#[derive(Debug)]
struct Receiving {
    id: OffsetAndEpoch,
    file: File,
}

impl Snapshots {
    /// Looks for the files, and deletes those that a crash has left unfinished.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let mut ids = Vec::new();
        for name in files::names(directory)? {
            if let Some(id) = snapshot_id(&name) {
                ids.push(id);
            } else if name.ends_with(".checkpoint.part") || name.ends_with(".checkpoint.deleted") {
                files::remove(&directory.join(name))?;
            }
        }
        ids.sort_unstable();
        Ok(Self { directory: directory.to_owned(), ids, receiving: None })
    }

    pub(crate) fn ids(&self) -> &[OffsetAndEpoch] {
        &self.ids
    }

    pub(crate) fn size(&self, id: OffsetAndEpoch) -> Option<u64> {
        fs::metadata(self.path(id)).ok().map(|metadata| metadata.len())
    }

    pub(crate) fn read(&self, id: OffsetAndEpoch) -> io::Result<Bytes> {
        fs::read(self.path(id)).map(Bytes::from)
    }

    /// A part of the file.
    pub(crate) fn read_part(
        &self,
        id: OffsetAndEpoch,
        position: u64,
        length: usize,
    ) -> io::Result<Bytes> {
        let mut file = File::open(self.path(id))?;
        file.seek(SeekFrom::Start(position))?;
        let mut bytes = Vec::new();
        file.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Writes a snapshot as a whole.
    pub(crate) fn write(&mut self, id: OffsetAndEpoch, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create(self.part(id))?;
        file.write_all(bytes)?;
        self.complete(id, &file)
    }

    /// Begins to receive a snapshot, in place of any other.
    pub(crate) fn open_part(&mut self, id: OffsetAndEpoch) -> io::Result<()> {
        self.drop_part()?;
        let file = File::create(self.part(id))?;
        self.receiving = Some(Receiving { id, file });
        Ok(())
    }

    pub(crate) fn write_part(&mut self, bytes: &[u8]) -> io::Result<()> {
        let receiving = self.receiving.as_mut().ok_or(io::ErrorKind::NotFound)?;
        receiving.file.write_all(bytes)
    }

    /// What was received is whole.
    pub(crate) fn complete_part(&mut self) -> io::Result<()> {
        let Receiving { id, file } = self.receiving.take().ok_or(io::ErrorKind::NotFound)?;
        self.complete(id, &file)
    }

    pub(crate) fn drop_part(&mut self) -> io::Result<()> {
        match self.receiving.take() {
            Some(Receiving { id, .. }) => files::remove(&self.part(id)),
            None => Ok(()),
        }
    }

    fn complete(&mut self, id: OffsetAndEpoch, file: &File) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(self.part(id), self.path(id))?;
        files::sync_directory(&self.directory)?;
        if let Err(place) = self.ids.binary_search(&id) {
            self.ids.insert(place, id);
        }
        Ok(())
    }

    /// Deletes the snapshots before this one.
    pub(crate) fn delete_before(&mut self, id: OffsetAndEpoch) -> io::Result<()> {
        let kept = self.ids.partition_point(|known| *known < id);
        for old in self.ids.drain(..kept).collect::<Vec<_>>() {
            files::remove(&self.path(old))?;
        }
        Ok(())
    }

    fn path(&self, id: OffsetAndEpoch) -> PathBuf {
        self.directory.join(file_name(id))
    }

    fn part(&self, id: OffsetAndEpoch) -> PathBuf {
        self.directory.join(format!("{}.part", file_name(id)))
    }
}

pub(super) fn file_name(id: OffsetAndEpoch) -> String {
    format!("{:020}-{:010}.checkpoint", id.offset, id.epoch)
}

/// The id of the snapshot of that name.
fn snapshot_id(name: &str) -> Option<OffsetAndEpoch> {
    let (offset, epoch) = name.strip_suffix(".checkpoint")?.split_once('-')?;
    let id = OffsetAndEpoch::new(offset.parse().ok()?, epoch.parse().ok()?);
    (id.offset >= 0 && id.epoch >= 0 && name == file_name(id)).then_some(id)
}
