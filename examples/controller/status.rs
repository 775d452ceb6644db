//! `--status`: what a quorum says of itself.

use crate::client::{Client, Failure};
use crate::{load, say};
use kafka_coordination::kraft::{Address, BootstrapServers, DirectoryId};
use kafka_coordination::{Clock, ErrorCode, SystemClock};
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::describe_quorum_response::{
    PartitionData as Described, ReplicaState,
};
use kafka_protocol::messages::{DescribeQuorumRequest, DescribeQuorumResponse};
use kafka_protocol::protocol::StrBytes;

/// The version of `DescribeQuorum` that tells directories and listeners.
const VERSION: i16 = 2;

/// Asks who leads, by the word of these nodes, and prints what the leader says. Whether there is one.
pub(crate) async fn run(nodes: &BootstrapServers) -> Result<bool, Failure> {
    let nodes: Vec<_> = nodes.iter().map(|(_, address)| address.clone()).collect();
    for address in &nodes {
        let Address { host, port } = address;
        match load::describe_cluster(address).await {
            Ok(cluster) => say(&format!("{host}:{port}: leader {}", cluster.controller_id.0)),
            Err(error) => say(&format!("{host}:{port}: {error}")),
        }
    }
    let Some((_, leader)) = load::leader(&nodes).await else { return Ok(false) };
    print(&describe(&leader).await?)
}

/// What a node answers to `DescribeQuorum`.
pub(crate) async fn describe(address: &Address) -> Result<DescribeQuorumResponse, Failure> {
    let partition = PartitionData::default().with_partition_index(0);
    let topic = TopicData::default()
        .with_topic_name(StrBytes::from_static_str(crate::node::METADATA_TOPIC).into())
        .with_partitions(vec![partition]);
    let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
    Client::connect(address).await?.call(VERSION, &request).await
}

/// The description of the partition.
pub(crate) fn partition(response: &DescribeQuorumResponse) -> Option<&Described> {
    response.topics.first()?.partitions.first()
}

fn print(response: &DescribeQuorumResponse) -> Result<bool, Failure> {
    let partition = partition(response).ok_or("no partition was answered")?;
    if partition.error_code != 0 {
        let error = ErrorCode::from_code(partition.error_code);
        return Err(error.unwrap_or(ErrorCode::UnknownServerError).name().into());
    }
    let Described { leader_id, leader_epoch, high_watermark, .. } = partition;
    say(&format!(
        "leader {} in epoch {leader_epoch}, committed up to {high_watermark}",
        leader_id.0
    ));
    say("    id  role      directory                log end       lag  caught up     at");
    let voters = partition.current_voters.iter().map(|replica| ("voter", replica));
    let observers = partition.observers.iter().map(|replica| ("observer", replica));
    let replicas: Vec<_> = voters.chain(observers).collect();
    let end = replicas.iter().map(|(_, replica)| replica.log_end_offset).max().unwrap_or(0);
    for (role, replica) in replicas {
        say(&row(response, role, replica, end));
    }
    Ok(true)
}

fn row(response: &DescribeQuorumResponse, role: &str, replica: &ReplicaState, end: i64) -> String {
    let id = replica.replica_id;
    let directory = DirectoryId::from_uuid(replica.replica_directory_id);
    let directory = directory.map_or_else(|| "-".to_owned(), |directory| directory.to_string());
    let lag = end.saturating_sub(replica.log_end_offset);
    let caught_up = match replica.last_caught_up_timestamp {
        timestamp @ 0.. => {
            let ago = SystemClock::new().timestamp().as_millis().saturating_sub(timestamp).max(0);
            format!("{ago} ms ago")
        }
        _ => "never".to_owned(),
    };
    let node = response.nodes.iter().find(|node| node.node_id == id);
    let listeners = node.iter().flat_map(|node| &node.listeners);
    let at: Vec<_> = listeners.map(|it| format!("{}://{}:{}", it.name, it.host, it.port)).collect();
    let (id, end, at) = (id.0, replica.log_end_offset, at.join(","));
    format!("{id:>6}  {role:<8}  {directory:<22}  {end:>9} {lag:>9}  {caught_up:<12}  {at}")
}
