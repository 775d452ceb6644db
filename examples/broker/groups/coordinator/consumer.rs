//! Requests of members of consumer groups of the next generation.

use super::{Coordinator, Group, MAX_TEXT, check_name};
use crate::groups::consumer::{self, Heartbeat, LEAVE, LEAVE_FOR_NOW, Refusal, Told};
use kafka_coordination::{ErrorCode, Monotonic};

const NO_GROUP: Refusal = (ErrorCode::GroupIdNotFound, "there is no such consumer group");

impl Coordinator {
    /// `ConsumerGroupHeartbeat`.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        name: &str,
        heartbeat: &Heartbeat,
        now: Monotonic,
    ) -> Result<Told, Refusal> {
        check_heartbeat(name, heartbeat)?;
        let is_joining = heartbeat.member_epoch == 0;
        match self.group(name) {
            None if !is_joining => return Err(NO_GROUP),
            // Its members have to leave first.
            Some(Group::Classic(_)) => return Err(NO_GROUP),
            None | Some(Group::Consumer(_)) => {}
        }
        let config = self.config;
        self.create(name, || Group::Consumer(consumer::Group::new(name, config)))
            .map_err(|error| (error, "there are too many groups"))?;
        let room = self.room();
        let told = self.change(name, |group, cluster| match group {
            Group::Consumer(group) if matches!(heartbeat.member_epoch, LEAVE | LEAVE_FOR_NOW) => {
                group.leave(heartbeat, cluster, now)
            }
            Group::Consumer(group) => group.heartbeat(heartbeat, cluster, room, now),
            Group::Classic(_) => Err(NO_GROUP),
        });
        told.unwrap_or(Err(NO_GROUP))
    }

    /// How often members are to send heartbeats, in milliseconds.
    pub(crate) fn heartbeat_interval_ms(&self) -> i32 {
        self.config.consumer_heartbeat_ms
    }
}

fn check_heartbeat(name: &str, heartbeat: &Heartbeat) -> Result<(), Refusal> {
    check_name(name).map_err(|error| match error {
        // What Kafka answers to an empty name here.
        ErrorCode::InvalidGroupId if name.is_empty() => (ErrorCode::InvalidRequest, "no group"),
        error => (error, "no group can have this name"),
    })?;
    let texts = [
        Some(&heartbeat.client_id),
        Some(&heartbeat.client_host),
        Some(&heartbeat.member_id),
        heartbeat.instance_id.as_ref(),
        heartbeat.rack_id.as_ref(),
    ];
    if texts.into_iter().flatten().any(|text| text.len() > MAX_TEXT) {
        return Err((ErrorCode::InvalidRequest, "an id or a name is too long"));
    }
    Ok(())
}
