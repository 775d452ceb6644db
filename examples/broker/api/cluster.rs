//! `DescribeCluster`: the cluster is this broker.

use crate::broker::{Broker, NODE_ID};
use crate::server::Peer;
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{BrokerId, DescribeClusterRequest, DescribeClusterResponse};
use kafka_protocol::protocol::StrBytes;

/// The kind of endpoint that clients of a broker ask for; the other kind is controllers.
const BROKERS: i8 = 1;

pub(super) fn answer(
    broker: &Broker,
    peer: &Peer,
    version: i16,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    let response = DescribeClusterResponse::default().with_endpoint_type(BROKERS);
    if version >= 1 && request.endpoint_type != BROKERS {
        let text = "this broker knows of brokers only";
        return response
            .with_error_code(ErrorCode::UnsupportedEndpointType.code())
            .with_error_message(Some(StrBytes::from_static_str(text)));
    }
    let node = DescribeClusterBroker::default()
        .with_broker_id(BrokerId(NODE_ID))
        .with_host(StrBytes::from_string(peer.reached_at.ip().to_string()))
        .with_port(peer.reached_at.port().into());
    response
        .with_cluster_id(StrBytes::from_string(broker.cluster_id.clone()))
        .with_controller_id(BrokerId(NODE_ID))
        .with_brokers(vec![node])
}
