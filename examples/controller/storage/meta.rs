//! `meta.properties`: whose directory it is. The file is Kafka's.

use super::files;
use kafka_coordination::kraft::DirectoryId;
use std::io;
use std::path::Path;

const FILE: &str = "meta.properties";
const VERSION: &str = "1";

/// Whose directory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "the names of the properties")]
pub(crate) struct Meta {
    pub(crate) cluster_id: String,
    pub(crate) node_id: i32,
    pub(crate) directory_id: DirectoryId,
}

impl Meta {
    /// Reads the file, if the directory is formatted.
    pub(super) fn read(root: &Path) -> io::Result<Option<Self>> {
        let path = root.join(FILE);
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let content = String::from_utf8(content).map_err(|error| files::invalid(&path, error))?;
        let meta = Self::parse(&content).map_err(|error| files::invalid(&path, error))?;
        Ok(Some(meta))
    }

    pub(super) fn write(&self, root: &Path) -> io::Result<()> {
        let Self { cluster_id, node_id, directory_id } = self;
        let content = format!(
            "#\ncluster.id={cluster_id}\ndirectory.id={directory_id}\nnode.id={node_id}\nversion={VERSION}\n"
        );
        files::replace(&root.join(FILE), content.as_bytes())
    }

    fn parse(content: &str) -> Result<Self, String> {
        let get = |key: &str| {
            let lines = content.lines().map(str::trim).filter(|line| !line.starts_with('#'));
            let mut properties = lines.filter_map(|line| line.split_once('='));
            let found = properties.find(|(name, _)| name.trim() == key);
            found.map(|(_, value)| value.trim()).ok_or_else(|| format!("no {key}"))
        };
        if get("version")? != VERSION {
            return Err(format!("version {} is not known", get("version")?));
        }
        Ok(Self {
            cluster_id: get("cluster.id")?.to_owned(),
            node_id: get("node.id")?.parse().map_err(|error| format!("node.id: {error}"))?,
            directory_id: get("directory.id")?
                .parse()
                .map_err(|error| format!("directory.id: {error}"))?,
        })
    }
}
