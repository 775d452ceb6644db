//! Nodes as child processes, with their directories.

use super::until;
use crate::client::Failure;
use crate::load::{self, check};
use crate::random::HostRandom;
use crate::status;
use kafka_coordination::kraft::{Address, DirectoryId};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CLUSTER_ID: &str = "ZzZzZzZzZzZzZzZzZzZzZg";

/// Nodes that there are, or may be.
const NODES: [i32; 5] = [1, 2, 3, 4, 5];

/// The nodes. They end with this value.
#[derive(Debug)]
pub(super) struct Cluster {
    directory: PathBuf,
    nodes: BTreeMap<i32, Node>,
}

#[derive(Debug)]
struct Node {
    address: Address,
    directory_id: DirectoryId,
    process: Option<Child>,
}

impl Cluster {
    /// No node yet, but places for them.
    pub(super) fn new() -> Result<Self, Failure> {
        let mut random = HostRandom::new();
        let name = format!("kafka-coordination-controller-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory)?;
        // All at a time, so that they differ; each is free again for its node.
        let listeners = NODES.map(|_| TcpListener::bind(("127.0.0.1", 0)));
        let mut nodes = BTreeMap::new();
        for (id, listener) in NODES.into_iter().zip(listeners) {
            let port = listener?.local_addr()?.port();
            let address = Address { host: "127.0.0.1".into(), port };
            let directory_id = DirectoryId::random(&mut random);
            nodes.insert(id, Node { address, directory_id, process: None });
        }
        Ok(Self { directory, nodes })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn delete(&mut self) {
        for node in self.nodes.values_mut() {
            node.end();
        }
        // What is left of it is no failure.
        drop(fs::remove_dir_all(&self.directory));
    }

    /// Where the nodes are that run.
    pub(super) fn addresses(&self) -> Vec<Address> {
        let running = self.nodes.values().filter(|node| node.process.is_some());
        running.map(|node| node.address.clone()).collect()
    }

    pub(super) fn address(&self, id: i32) -> Result<Address, Failure> {
        let node = self.nodes.get(&id).ok_or("no such node")?;
        Ok(node.address.clone())
    }

    pub(super) fn addresses_of(&self, ids: &[i32]) -> Result<Vec<Address>, Failure> {
        ids.iter().map(|id| self.address(*id)).collect()
    }

    pub(super) fn directory_id(&self, id: i32) -> Result<DirectoryId, Failure> {
        let meta = fs::read_to_string(self.data_dir(id).join("meta.properties"))?;
        let line = meta.lines().find_map(|line| line.strip_prefix("directory.id="));
        Ok(line.ok_or("no directory id")?.parse()?)
    }

    fn data_dir(&self, id: i32) -> PathBuf {
        self.directory.join(id.to_string())
    }

    /// Starts one of the first voters, which are these.
    pub(super) fn start_voter(&mut self, id: i32, voters: &[i32]) -> Result<(), Failure> {
        let voter = |id: &i32| {
            let Node { address, directory_id, .. } = self.nodes.get(id)?;
            Some(format!("{id}@{}:{}:{directory_id}", address.host, address.port))
        };
        let voters: Vec<_> = voters.iter().filter_map(voter).collect();
        self.start(id, &["--initial-controllers".to_owned(), voters.join(",")])
    }

    /// Starts a node that knows nobody but whom to ask.
    pub(super) fn start_observer(&mut self, id: i32) -> Result<(), Failure> {
        let servers = self.servers();
        self.start(id, &["--bootstrap-servers".to_owned(), servers])
    }

    /// The nodes that run, as a configuration names them.
    fn servers(&self) -> String {
        let addresses = self.addresses();
        let servers: Vec<_> =
            addresses.iter().map(|at| format!("{}:{}", at.host, at.port)).collect();
        servers.join(",")
    }

    /// Starts a node again, which finds on its disk what it has to know.
    pub(super) fn restart(&mut self, id: i32) -> Result<(), Failure> {
        self.start(id, &[])
    }

    fn start(&mut self, id: i32, more: &[String]) -> Result<(), Failure> {
        let data_dir = self.data_dir(id);
        let output = self.directory.join(format!("{id}.log"));
        let output = OpenOptions::new().create(true).append(true).open(output)?;
        let node = self.nodes.get_mut(&id).ok_or("no such node")?;
        let process = Command::new(std::env::current_exe()?)
            .args(["--id", &id.to_string(), "--cluster-id", CLUSTER_ID])
            .args(["--listen", &format!("{}:{}", node.address.host, node.address.port)])
            .args(["--snapshot-records", "1000", "--election-timeout", "300"])
            .args(["--fetch-timeout", "600", "--data-dir"])
            .arg(data_dir)
            .args(more)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        node.process = Some(process);
        Ok(())
    }

    /// Kills a node as `kill -9` does.
    pub(super) fn kill(&mut self, id: i32) -> Result<(), Failure> {
        self.nodes.get_mut(&id).ok_or("no such node")?.end();
        Ok(())
    }

    /// Holds a node as it is, or lets it go on.
    pub(super) fn pause(&self, id: i32, is_paused: bool) -> Result<(), Failure> {
        let process = self.nodes.get(&id).and_then(|node| node.process.as_ref());
        signal(process.ok_or("it does not run")?, if is_paused { "-STOP" } else { "-CONT" })
    }

    /// Replaces a node by a new one at the same place, with an empty disk and a wish to be a voter.
    pub(super) fn replace(&mut self, id: i32) -> Result<(), Failure> {
        self.kill(id)?;
        fs::remove_dir_all(self.data_dir(id))?;
        let servers = self.servers();
        self.start(id, &["--auto-join".to_owned(), "--bootstrap-servers".to_owned(), servers])
    }

    /// Tells these nodes to end, and waits until they have. They say that all is well.
    pub(super) async fn terminate(&mut self, ids: &[i32]) -> Result<(), Failure> {
        let mut nodes: Vec<_> = self.nodes.iter_mut().filter(|(id, _)| ids.contains(id)).collect();
        for (_, node) in &mut nodes {
            let Some(process) = &mut node.process else { continue };
            if cfg!(unix) {
                signal(process, "-TERM")?;
            } else {
                process.kill()?;
            }
        }
        for (id, node) in nodes {
            let Some(mut process) = node.process.take() else { continue };
            let mut status = None;
            until(&format!("{id} ends"), async || {
                status = process.try_wait()?;
                Ok(status.is_some())
            })
            .await?;
            if cfg!(unix) && !status.is_some_and(|status| status.success()) {
                return Err(format!("{id} has ended with {status:?}").into());
            }
        }
        Ok(())
    }

    /// Who leads, once somebody does.
    pub(super) async fn leader(&self) -> Result<(i32, Address), Failure> {
        let addresses = self.addresses();
        let mut found = None;
        until("somebody leads", async || {
            let Some((id, address)) = load::leader(&addresses).await else { return Ok(false) };
            // Who is said to lead may be dead, or may not know yet.
            let description = status::describe(&address).await?;
            let leads = status::partition(&description).is_some_and(|it| it.error_code == 0);
            found = Some((id, address)).filter(|_| leads);
            Ok(leads)
        })
        .await?;
        found.ok_or_else(|| "nobody leads".into())
    }

    /// Waits until a node has what the leader has now.
    pub(super) async fn caught_up(&self, id: i32) -> Result<(), Failure> {
        let (_, leader) = self.leader().await?;
        let records = check::count(&leader).await?;
        let address = self.address(id)?;
        until(&format!("{id} catches up"), async || Ok(check::count(&address).await? >= records))
            .await
    }

    /// Waits until these are the voters, by the leader's word.
    pub(super) async fn has_voters(&self, voters: &[i32]) -> Result<(), Failure> {
        until(&format!("the voters are {voters:?}"), async || {
            let (_, leader) = self.leader().await?;
            let response = status::describe(&leader).await?;
            let partition = status::partition(&response).ok_or("no partition")?;
            let mut ids: Vec<_> =
                partition.current_voters.iter().map(|voter| voter.replica_id.0).collect();
            ids.sort_unstable();
            Ok(ids == voters)
        })
        .await
    }

    /// Waits until this node is a voter with another directory than this one.
    pub(super) async fn has_replaced(&self, id: i32, old: DirectoryId) -> Result<(), Failure> {
        until(&format!("{id} is a voter again"), async || {
            let (_, leader) = self.leader().await?;
            let response = status::describe(&leader).await?;
            let partition = status::partition(&response).ok_or("no partition")?;
            let voter = partition.current_voters.iter().find(|voter| voter.replica_id == id);
            let directory = voter.map(|voter| DirectoryId::from_uuid(voter.replica_directory_id));
            Ok(directory.is_some_and(|directory| directory != Some(old)))
        })
        .await
    }

    /// Kills a node, appends half a batch to its log, and starts it again: it comes back with what it had.
    pub(super) async fn tear(&mut self, id: i32) -> Result<(), Failure> {
        self.kill(id)?;
        let directory = self.data_dir(id).join("__cluster_metadata-0");
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let torn = [0; 40];
                OpenOptions::new().append(true).open(path)?.write_all(&torn)?;
            }
        }
        self.restart(id)?;
        self.caught_up(id).await?;
        let output = fs::read_to_string(self.directory.join(format!("{id}.log")))?;
        if output.contains("cut 40 bytes off the log") {
            return Ok(());
        }
        Err(format!("{id} has not cut the log").into())
    }
}

fn signal(process: &Child, name: &str) -> Result<(), Failure> {
    let status = Command::new("kill").args([name, &process.id().to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(format!("kill {name}: {status}").into()) }
}

impl Node {
    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            // One that has ended by itself needs no killing.
            drop(process.kill());
            drop(process.wait());
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in self.nodes.values_mut() {
            node.end();
        }
    }
}
