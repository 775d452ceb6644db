//! Each API in each version, asked by strangers.

use super::samples;
use crate::self_test::client::{Client, Failure};
use crate::self_test::hostile::name;
use crate::self_test::{Checks, Subject};
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::{
    FindCoordinatorRequest, HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest,
};

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    coordinator(checks, subject, &mut client).await?;
    for version in 0..=9 {
        for (timeout, error) in [(10_000, 25), (1, 26), (i32::MAX, 26)] {
            let request = samples::join(version).with_session_timeout_ms(timeout);
            let response = client.call(version, &request).await?;
            checks.equal(
                response.error_code,
                error,
                format_args!("JoinGroup {version} of a stranger with a session of {timeout} ms"),
            );
        }
        let nameless = samples::join(version)
            .with_session_timeout_ms(10_000)
            .with_group_id(kafka_protocol::messages::GroupId::default());
        let code = client.call(version, &nameless).await?.error_code;
        checks.equal(code, 24, format_args!("JoinGroup {version} of a group without a name"));
    }
    for version in 0..=5 {
        let request =
            SyncGroupRequest::default().with_group_id(name().into()).with_member_id(name());
        let code = client.call(version, &request).await?.error_code;
        checks.equal(code, 25, format_args!("SyncGroup {version} of a stranger"));
    }
    for version in 0..=4 {
        let request =
            HeartbeatRequest::default().with_group_id(name().into()).with_member_id(name());
        let code = client.call(version, &request).await?.error_code;
        checks.equal(code, 25, format_args!("Heartbeat {version} of a stranger"));
    }
    for version in 0..=5 {
        let request = LeaveGroupRequest::default().with_group_id(name().into());
        let code = if version < 3 {
            client.call(version, &request.with_member_id(name())).await?.error_code
        } else {
            let member = MemberIdentity::default().with_member_id(name());
            let response = client.call(version, &request.with_members(vec![member; 2])).await?;
            match &*response.members {
                [one, other] if one.error_code == other.error_code => one.error_code,
                _ => -1,
            }
        };
        checks.equal(code, 25, format_args!("LeaveGroup {version} of strangers"));
    }
    Ok(())
}

async fn coordinator(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let port = i32::from(subject.address.port());
    for version in 0..=6 {
        let request = FindCoordinatorRequest::default();
        let found = if version < 4 {
            let response = client.call(version, &request.with_key(name())).await?;
            vec![(response.error_code, *response.node_id, response.port)]
        } else {
            let request = request.with_coordinator_keys(vec![name(), name()]);
            let response = client.call(version, &request).await?;
            let found = response.coordinators.iter();
            found.map(|found| (found.error_code, *found.node_id, found.port)).collect()
        };
        let ok = !found.is_empty() && found.iter().all(|found| *found == (0, 1, port));
        checks.that(ok, format_args!("FindCoordinator {version} finds the broker"));
    }
    Ok(())
}
