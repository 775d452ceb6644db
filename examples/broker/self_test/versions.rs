//! How client and broker find a common version.

use super::client::{Client, Failure, encode};
use super::{Checks, Subject};
use bytes::Buf;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, DescribeClusterRequest, InitProducerIdRequest,
    MetadataRequest,
};
use kafka_protocol::protocol::{Decodable, StrBytes};

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let name = StrBytes::from_static_str("self-test");
    let request = ApiVersionsRequest::default()
        .with_client_software_name(name.clone())
        .with_client_software_version(name);
    for version in 0..=4 {
        let response = client.call(version, &request_of(version, &request)).await?;
        let ok = response.error_code == 0 && response.api_keys.len() == 25;
        checks.that(ok, format_args!("ApiVersions {version} lists what is served"));
        let next_generation = response
            .finalized_features
            .iter()
            .any(|feature| &*feature.name == "group.version" && feature.max_version_level == 1);
        checks.equal(next_generation, version >= 3, "and the level of group.version where it can");
    }
    let bad = request.clone().with_client_software_name(StrBytes::from_static_str("-"));
    let response = client.call(3, &bad).await?;
    checks.equal(response.error_code, 42, "a client name that KIP-511 does not allow gets 42");

    let mut unknown = encode(4, 7, &request)?;
    unknown.get_mut(2..4).ok_or("too short")?.copy_from_slice(&99_i16.to_be_bytes());
    client.send(&unknown).await?;
    let mut answer = client.receive().await?.ok_or("the broker has hung up")?;
    let correlation_id = answer.try_get_i32()?;
    let response = ApiVersionsResponse::decode(&mut answer, 0)?;
    let ok = correlation_id == 7 && response.error_code == 35 && response.api_keys.len() == 1;
    checks.that(ok, "an unknown version of ApiVersions is answered in version 0 with 35");

    for (what, key, version) in
        [("an API that is not served", 4_i16, 0_i16), ("a version that is not served", 1, 99)]
    {
        let mut client = Client::connect(subject.address).await?;
        let mut bytes = key.to_be_bytes().to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend([0; 20]);
        client.send(&bytes).await?;
        checks
            .that(client.receive().await?.is_none(), format_args!("{what} closes the connection"));
    }
    others(checks, &mut client).await
}

/// Version 0 to 2 have no fields.
fn request_of(version: i16, request: &ApiVersionsRequest) -> ApiVersionsRequest {
    if version < 3 { ApiVersionsRequest::default() } else { request.clone() }
}

/// The small APIs, in each version.
async fn others(checks: &mut Checks, client: &mut Client) -> Result<(), Failure> {
    for version in 0..=13 {
        let all = MetadataRequest::default()
            .with_topics((version > 0).then(Vec::new).or(Some(Vec::new())));
        let response = client.call(version, &all).await?;
        checks.equal(
            response.brokers.len(),
            1,
            format_args!("Metadata {version} names the broker"),
        );
    }
    for version in 0..=2 {
        let request = DescribeClusterRequest::default();
        let response = client.call(version, &request).await?;
        checks.equal(
            response.brokers.len(),
            1,
            format_args!("DescribeCluster {version} names the broker"),
        );
    }
    let mut ids = Vec::new();
    for version in 0..=5 {
        let request = InitProducerIdRequest::default().with_transactional_id(None);
        let response = client.call(version, &request).await?;
        ids.push((response.error_code, *response.producer_id));
    }
    let fresh: Vec<_> = (0_i16..6).map(|_| 0).zip(0_i64..).collect();
    checks.equal(ids, fresh, "InitProducerId 0 to 5 gives each producer an id of its own");
    Ok(())
}
