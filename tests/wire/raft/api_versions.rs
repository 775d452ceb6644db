//! What two nodes have in common.

use super::{bytes, kafka, listener, preamble};
use bytes::Bytes;
use kafka_coordination::ErrorCode;
use kafka_coordination::kraft::{Response, SupportedVersions};
use kafka_coordination::wire::kraft::{
    PeerVersions, ReplyTo, api_versions_response, decode_answer, served_versions,
    unsupported_api_versions,
};
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::protocol::Decodable;

#[test]
fn apis_and_levels_are_told_as_kafka_tells_them() {
    for (version, expected) in kafka::API_VERSIONS_TOLD {
        let apis = [(1, 4..=17), (18, 0..=5), (52, 0..=1)];
        let response = api_versions_response(apis, SupportedVersions::ALL, *version);
        let encoded = ReplyTo::new(preamble(18, *version)).encode(&response).unwrap();
        assert_eq!(encoded, bytes(expected), "version {version}");
    }
}

#[test]
fn levels_from_1_on_are_told_from_version_3() {
    let levels = SupportedVersions::new(1, 1).unwrap();
    for version in 0..=4 {
        let response = api_versions_response([], levels, version);
        assert_eq!(response.supported_features.len(), usize::from(version >= 3));
    }
}

#[test]
fn the_latest_version_in_common_is_the_one_to_send_at() {
    for (version, answer) in kafka::API_VERSIONS_TOLD {
        let (error, peer) = PeerVersions::decode(preamble(18, *version), bytes(answer)).unwrap();
        assert_eq!(error, ErrorCode::None);
        // Kafka 4.4 has a later version of `ApiVersions` than this crate sends.
        let versions = [1, 18, 52, 53, 55].map(|api_key| peer.version(api_key));
        assert_eq!(versions, [Some(17), Some(4), Some(1), None, None], "version {version}");
    }
    let too_new = api_versions_response([(1, 19..=20)], SupportedVersions::ALL, 4);
    assert_eq!(PeerVersions::of(&too_new).version(1), None);
    let too_old = api_versions_response([(1, 4..=12)], SupportedVersions::ALL, 4);
    assert_eq!(PeerVersions::of(&too_old).version(1), None);
}

#[test]
fn a_voter_tells_which_levels_it_supports() {
    for (version, answer) in kafka::API_VERSIONS_TOLD {
        let decoded = decode_answer(preamble(18, *version), bytes(answer), &listener());
        let supported_versions = (*version == 4).then_some(SupportedVersions::ALL);
        let expected = Response::ApiVersions { error: ErrorCode::None, supported_versions };
        assert_eq!(decoded, Ok(expected), "version {version}");
    }
}

/// KIP-511.
#[test]
fn a_version_that_is_not_known_is_answered_in_the_form_of_version_0() {
    let (_, expected) = kafka::API_VERSIONS_UNSUPPORTED[0];
    let sent = preamble(18, 5);
    assert_eq!(unsupported_api_versions(sent).unwrap(), bytes(expected));

    // Who asked reads it so, and asks again.
    let (error, peer) = PeerVersions::decode(preamble(18, 4), bytes(expected)).unwrap();
    assert_eq!(error, ErrorCode::UnsupportedVersion);
    assert_eq!((peer.version(18), peer.version(1)), (Some(4), None));
    let failed = decode_answer(preamble(18, 4), bytes(expected), &listener());
    let error = ErrorCode::UnsupportedVersion;
    assert_eq!(failed, Ok(Response::ApiVersions { error, supported_versions: None }));
}

#[test]
fn what_is_served_is_in_order_and_told_whole() {
    let keys: Vec<_> = served_versions().map(|(api_key, _)| api_key).collect();
    assert_eq!(keys, [1, 18, 52, 53, 54, 55, 59, 80, 81, 82]);
    let response = api_versions_response(served_versions(), SupportedVersions::ALL, 4);
    let encoded = ReplyTo::new(preamble(18, 4)).encode(&response).unwrap();
    // No tagged fields in the header, at any version.
    let decoded = ApiVersionsResponse::decode(&mut encoded.slice(4..), 4).unwrap();
    assert_eq!(decoded, response);
    let peer = PeerVersions::of(&response);
    let sent = [1, 18, 52, 53, 54, 59, 80, 81, 82].map(|api_key| peer.version(api_key).unwrap());
    assert_eq!(sent, [18, 4, 2, 1, 1, 1, 1, 0, 0]);
    assert_eq!(
        PeerVersions::decode(preamble(18, 4), Bytes::new()).map_err(|error| error.code()),
        Err(ErrorCode::InvalidRequest)
    );
}
