//! `--load`: appends numbered records through whoever leads, and looks for each of them on every node.

pub(crate) mod check;
pub(crate) mod writer;

use crate::client::{Client, Failure};
use crate::random::HostRandom;
use crate::say;
use kafka_coordination::kraft::{Address, BootstrapServers};
use kafka_protocol::messages::{DescribeClusterRequest, DescribeClusterResponse};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use writer::{Log, Run};

/// Writers at work at a time: each waits for one answer at a time.
pub(crate) const WRITERS: usize = 4;

/// How long nothing may be acknowledged before the run is given up.
const STALLED: Duration = Duration::from_secs(30);

/// How long the nodes may take to catch up at the end.
const CATCH_UP: Duration = Duration::from_secs(30);

/// The version of `DescribeCluster` and the type of endpoint by which controllers are asked.
const DESCRIBE_CLUSTER: i16 = 1;
const CONTROLLER: i8 = 2;

/// Appends so many records and checks them. Whether all is well.
pub(crate) async fn run(nodes: &BootstrapServers, records: u64) -> Result<bool, Failure> {
    let nodes: Vec<Address> = nodes.iter().map(|(_, address)| address.clone()).collect();
    let start = Instant::now();
    let run = Run::start(nodes.clone(), HostRandom::new().draw(), WRITERS);
    let (mut last, mut since) = (0, Instant::now());
    while last < records && since.elapsed() < STALLED {
        sleep(Duration::from_millis(50)).await;
        let acknowledged = run.acknowledged();
        if acknowledged > last {
            (last, since) = (acknowledged, Instant::now());
        }
    }
    let logs = run.stop().await;
    let acknowledged: usize = logs.iter().map(|log| log.acknowledged.len()).sum();
    let seconds = start.elapsed().as_secs_f64();
    say(&format!("{acknowledged} records acknowledged in {seconds:.1} s"));
    if last < records {
        say(&format!("FAILED  nothing was acknowledged for {} s", STALLED.as_secs()));
        return Ok(false);
    }
    match check_nodes(&nodes, &logs, CATCH_UP).await {
        Ok(found) => {
            let nodes = nodes.len();
            say(&format!(
                "each of them is on each of {nodes} nodes, once and in order ({found} records)"
            ));
            Ok(true)
        }
        Err(error) => {
            say(&format!("FAILED  {error}"));
            Ok(false)
        }
    }
}

/// Looks for what was acknowledged on every node, until it is there or so much time is over. Gives how many records of the
/// run there are.
pub(crate) async fn check_nodes(
    nodes: &[Address],
    logs: &[Log],
    time: Duration,
) -> Result<usize, Failure> {
    let start = Instant::now();
    loop {
        match check_once(nodes, logs).await {
            Err(_) if start.elapsed() < time => sleep(Duration::from_millis(100)).await,
            outcome => return outcome,
        }
    }
}

async fn check_once(nodes: &[Address], logs: &[Log]) -> Result<usize, Failure> {
    let mut found = None;
    for node in nodes {
        let Address { host, port } = node;
        let records = check::records(node, logs).await;
        let records = records.map_err(|error| format!("{host}:{port}: {error}"))?;
        if *found.get_or_insert_with(|| records.clone()) != records {
            return Err(format!("{host}:{port} has other records than the first node").into());
        }
    }
    Ok(found.map_or(0, |records| records.len()))
}

/// What a controller says of the cluster: who the voters are and who leads.
pub(crate) async fn describe_cluster(node: &Address) -> Result<DescribeClusterResponse, Failure> {
    let request = DescribeClusterRequest::default().with_endpoint_type(CONTROLLER);
    Client::connect(node).await?.call(DESCRIBE_CLUSTER, &request).await
}

/// Where the leader is, as the first of the nodes says that knows.
pub(crate) async fn leader(nodes: &[Address]) -> Option<(i32, Address)> {
    for node in nodes {
        let Ok(cluster) = describe_cluster(node).await else { continue };
        let controller = cluster.brokers.iter().find(|it| it.broker_id == cluster.controller_id);
        let address = controller.and_then(|controller| {
            let port = u16::try_from(controller.port).ok()?;
            Some(Address { host: controller.host.as_str().into(), port })
        });
        if let Some(address) = address {
            return Some((cluster.controller_id.0, address));
        }
    }
    None
}
