//! The first versions of the Fetch API with what conversions must look at.

pub(super) const SESSIONS: i16 = 7;
pub(super) const PREFERRED_REPLICA: i16 = 11;
/// Tagged fields, and with them the last fetched epoch.
pub(super) const TAGS: i16 = 12;
pub(super) const TOPIC_IDS: i16 = 13;
pub(super) const REPLICA_STATE: i16 = 15;
pub(super) const NODE_ENDPOINTS: i16 = 16;
