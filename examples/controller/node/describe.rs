//! What the node says of itself and of the cluster.

use super::Node;
use super::features::KRAFT_VERSION;
use crate::api;
use kafka_coordination::kraft::{DescribeVersion, QuorumDescription, SupportedVersions};
use kafka_coordination::wire::kraft::api_versions_response;
use kafka_coordination::{Clock, ErrorCode};
use kafka_protocol::messages::api_versions_response::FinalizedFeatureKey;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{
    ApiVersionsResponse, DescribeClusterRequest, DescribeClusterResponse,
};
use kafka_protocol::protocol::StrBytes;
use serde_json::json;

/// The first version of `ApiVersions` with features.
const FEATURES: i16 = 3;

/// The endpoint type of controllers (KIP-919).
const CONTROLLER: i8 = 2;

impl Node {
    /// The answer to `ApiVersions`, with the level of `kraft.version` that is in force.
    pub(super) fn api_versions(&self, version: i16) -> ApiVersionsResponse {
        let level = self.replica.kraft_version().level();
        let finalized = FinalizedFeatureKey::default()
            .with_name(StrBytes::from_static_str(KRAFT_VERSION))
            .with_min_version_level(level)
            .with_max_version_level(level);
        let finalized = Some(finalized).filter(|_| version >= FEATURES && level > 0);
        api_versions_response(api::versions(), SupportedVersions::ALL, version)
            .with_finalized_features_epoch(self.replica.log().high_watermark())
            .with_finalized_features(finalized.into_iter().collect())
    }

    /// The voters, where others reach them, and who leads: what clients with `bootstrap.controllers` begin with.
    pub(super) fn describe_cluster(
        &self,
        version: i16,
        request: &DescribeClusterRequest,
    ) -> DescribeClusterResponse {
        let response = DescribeClusterResponse::default();
        if request.endpoint_type != CONTROLLER {
            // Version 0 cannot say that it means a controller.
            let error = match (version, request.endpoint_type) {
                (0, _) => ErrorCode::InvalidRequest,
                (_, 1) => ErrorCode::MismatchedEndpointType,
                _ => ErrorCode::UnsupportedEndpointType,
            };
            return response.with_error_code(error.code());
        }
        let voters = self.replica.control_log().voters().iter();
        let controllers = voters.filter_map(|voter| {
            let endpoint = voter.endpoints.get(&self.listener)?;
            let host = StrBytes::from_string(endpoint.host.to_string());
            let controller = DescribeClusterBroker::default().with_broker_id(voter.key.id.into());
            Some(controller.with_host(host).with_port(endpoint.port.into()))
        });
        response
            .with_endpoint_type(CONTROLLER)
            .with_cluster_id(StrBytes::from_string(self.cluster_id.clone()))
            .with_controller_id(self.replica.quorum().state().leader_id().unwrap_or(-1).into())
            .with_brokers(controllers.collect())
    }

    pub(super) fn describe_quorum(&mut self, version: i16) -> Option<QuorumDescription> {
        let version = match version {
            ..1 => DescribeVersion::V0,
            1 => DescribeVersion::V1,
            2.. => DescribeVersion::V2,
        };
        let (now, timestamp) = (self.clock.monotonic(), self.clock.timestamp());
        self.replica.describe_quorum(version, now, timestamp)
    }

    /// The state, for who watches.
    pub(super) fn report(&self) -> String {
        let (quorum, log) = (self.replica.quorum(), self.replica.log());
        let state = quorum.state();
        let voters: Vec<_> = self.replica.control_log().voters().ids().collect();
        let snapshots: Vec<_> = log.snapshots().iter().map(ToString::to_string).collect();
        let report = json!({
            "id": self.replica.config().quorum.local_id,
            "role": format!("{:?}", state.kind()),
            "epoch": state.epoch(),
            "leader": state.leader_id(),
            "voters": voters,
            "log_start": log.start_offset(),
            "log_end": log.end_offset(),
            "high_watermark": log.high_watermark(),
            "snapshots": snapshots,
            "records": self.machine.records().len(),
        });
        report.to_string()
    }
}
