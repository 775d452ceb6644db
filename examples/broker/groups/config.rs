//! What groups are allowed to be, under the names of Kafka's properties.

/// The limits of groups, in milliseconds, numbers and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupConfig {
    /// `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.
    pub(crate) min_session_ms: i32,
    pub(crate) max_session_ms: i32,
    /// `group.initial.rebalance.delay.ms`: how long the first members of an empty group wait for more.
    pub(crate) initial_rebalance_delay_ms: i32,
    /// How long a member that has never been answered may wait in `JoinGroup`; it is there no more if it does.
    pub(crate) new_member_join_ms: i32,
    /// `group.max.size` and `group.consumer.max.size`.
    pub(crate) max_members: usize,
    /// `group.consumer.session.timeout.ms`.
    pub(crate) consumer_session_ms: i32,
    /// `group.consumer.heartbeat.interval.ms`.
    pub(crate) consumer_heartbeat_ms: i32,
    /// `offset.metadata.max.bytes`.
    pub(crate) max_offset_metadata: usize,
    /// The most groups with members.
    pub(crate) max_groups: usize,
    /// The most committed offsets of all groups.
    pub(crate) max_offsets: usize,
    /// The most memory that groups and offsets take together, roughly.
    pub(crate) max_bytes: usize,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            min_session_ms: 6_000,
            max_session_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            new_member_join_ms: 300_000,
            max_members: 1_000,
            consumer_session_ms: 45_000,
            consumer_heartbeat_ms: 5_000,
            max_offset_metadata: 4_096,
            max_groups: 10_000,
            max_offsets: 1_000_000,
            max_bytes: 64 << 20,
        }
    }
}
