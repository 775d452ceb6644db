//! A member of a classic group.

use crate::self_test::client::{Client, Failure};
use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
    SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;
use std::net::SocketAddr;

/// How long members may be silent, and take to join again: longer than a machine with much to do lets them wait.
pub(super) const PATIENCE_MS: i32 = 300_000;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) client: Client,
    pub(super) group: &'static str,
    pub(super) instance: Option<&'static str>,
    pub(super) id: StrBytes,
    pub(super) generation: i32,
}

impl Member {
    pub(super) async fn connect(address: SocketAddr, group: &'static str) -> Result<Self, Failure> {
        let client = Client::connect(address).await?;
        Ok(Self { client, group, instance: None, id: StrBytes::default(), generation: -1 })
    }

    fn group_id(&self) -> StrBytes {
        StrBytes::from_static_str(self.group)
    }

    fn instance_id(&self) -> Option<StrBytes> {
        self.instance.map(StrBytes::from_static_str)
    }

    pub(super) fn request(&self) -> JoinGroupRequest {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(StrBytes::from_static_str("range"))
            .with_metadata(Bytes::from_static(b"topics"));
        JoinGroupRequest::default()
            .with_group_id(self.group_id().into())
            .with_session_timeout_ms(PATIENCE_MS)
            .with_rebalance_timeout_ms(PATIENCE_MS)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance_id())
            .with_protocol_type(StrBytes::from_static_str("consumer"))
            .with_protocols(vec![protocol])
    }

    /// Joins, once more if it has to know its id first.
    pub(super) async fn join(&mut self) -> Result<JoinGroupResponse, Failure> {
        let mut joined = self.client.call(9, &self.request()).await?;
        if joined.error_code == 79 {
            self.id = joined.member_id;
            joined = self.client.call(9, &self.request()).await?;
        }
        if joined.error_code == 0 {
            self.id = joined.member_id.clone();
            self.generation = joined.generation_id;
        }
        Ok(joined)
    }

    /// Syncs; the leader with what each member gets.
    pub(super) async fn sync(
        &mut self,
        assigned: &[(&StrBytes, &'static str)],
    ) -> Result<SyncGroupResponse, Failure> {
        let assignments = assigned.iter().map(|(id, text)| {
            SyncGroupRequestAssignment::default()
                .with_member_id((*id).clone())
                .with_assignment(Bytes::from_static(text.as_bytes()))
        });
        let request = SyncGroupRequest::default()
            .with_group_id(self.group_id().into())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance_id())
            .with_protocol_type(Some(StrBytes::from_static_str("consumer")))
            .with_protocol_name(Some(StrBytes::from_static_str("range")))
            .with_assignments(assignments.collect());
        self.client.call(5, &request).await
    }

    pub(super) async fn heartbeat(&mut self) -> Result<i16, Failure> {
        let request = HeartbeatRequest::default()
            .with_group_id(self.group_id().into())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance_id());
        Ok(self.client.call(4, &request).await?.error_code)
    }

    pub(super) async fn leave(&mut self) -> Result<i16, Failure> {
        let identity = MemberIdentity::default()
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance_id());
        let request = LeaveGroupRequest::default()
            .with_group_id(self.group_id().into())
            .with_members(vec![identity]);
        let response = self.client.call(5, &request).await?;
        let left = response.members.first().map(|member| member.error_code);
        Ok(left.unwrap_or(response.error_code))
    }
}
