//! `UpdateFeatures`: the level of `kraft.version`, which is the one feature here.

use super::Node;
use kafka_coordination::kraft::{KRaftVersion, UpgradeMode};
use kafka_coordination::{Clock, ErrorCode};
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::update_features_response::UpdatableFeatureResult;
use kafka_protocol::messages::{UpdateFeaturesRequest, UpdateFeaturesResponse};
use kafka_protocol::protocol::StrBytes;

/// The feature.
pub(super) const KRAFT_VERSION: &str = "kraft.version";

/// The last version of the response that says of each feature what became of it.
const LAST_WITH_RESULTS: i16 = 1;

/// An upgrade, in contrast to the two kinds of downgrades.
const UPGRADE: i8 = 1;

impl Node {
    pub(super) fn update_features(
        &mut self,
        version: i16,
        request: &UpdateFeaturesRequest,
    ) -> UpdateFeaturesResponse {
        let mode =
            if request.validate_only { UpgradeMode::ValidateOnly } else { UpgradeMode::Apply };
        let mut response = UpdateFeaturesResponse::default();
        for update in &request.feature_updates {
            let (error, message) = match self.update_feature(update, mode) {
                Ok(()) => (ErrorCode::None, None),
                Err((error, message)) => (error, Some(StrBytes::from_string(message))),
            };
            if version > LAST_WITH_RESULTS || error == ErrorCode::NotController {
                // The first that fails speaks for all.
                if !error.is_none() {
                    return response.with_error_code(error.code()).with_error_message(message);
                }
            } else {
                let result = UpdatableFeatureResult::default()
                    .with_feature(update.feature.clone())
                    .with_error_code(error.code())
                    .with_error_message(message);
                response.results.push(result);
            }
        }
        response
    }

    fn update_feature(
        &mut self,
        update: &FeatureUpdateKey,
        mode: UpgradeMode,
    ) -> Result<(), (ErrorCode, String)> {
        let invalid = |reason: String| (ErrorCode::InvalidUpdateVersion, reason);
        if update.feature.as_str() != KRAFT_VERSION {
            return Err(invalid(format!("feature {} is not known", update.feature)));
        }
        if update.upgrade_type != UPGRADE {
            return Err(invalid(format!("{KRAFT_VERSION} cannot go down")));
        }
        let level = KRaftVersion::from_level(update.max_version_level)
            .map_err(|error| invalid(error.to_string()))?;
        let (epoch, now) = (self.replica.quorum().epoch(), self.clock.monotonic());
        match self.replica.upgrade_kraft_version(epoch, level, mode, now) {
            Ok(_) => Ok(()),
            // To an administrator it is the controller that he has missed.
            Err(error) if error.code() == ErrorCode::NotLeaderOrFollower => {
                Err((ErrorCode::NotController, error.to_string()))
            }
            Err(error) => Err((error.code(), error.to_string())),
        }
    }
}
