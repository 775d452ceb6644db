//! Members of a classic group come, share and go.

use super::member::Member;
use crate::self_test::client::Failure;
use crate::self_test::{Checks, Subject};
use kafka_protocol::messages::{DescribeGroupsRequest, ListGroupsRequest};
use kafka_protocol::protocol::StrBytes;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut first = Member::connect(subject.address, "shared").await?;
    let told = first.client.call(9, &first.request()).await?;
    let ok = told.error_code == 79 && told.member_id.starts_with("self-test-");
    checks.that(ok, "a member is told its id first: 79");
    // It uses the id, for the others would wait for it.
    first.id = told.member_id;
    let joined = first.join().await?;
    let ok = joined.generation_id == 1 && joined.leader == first.id && joined.members.len() == 1;
    checks.that(ok, "the first member leads");
    checks.equal(first.heartbeat().await?, 0, "it may wait with its assignment");
    let alone = first.id.clone();
    let synced = first.sync(&[(&alone, "everything")]).await?;
    checks.equal(&*synced.assignment, b"everything", "it gets what it has assigned");

    let mut second = Member::connect(subject.address, "shared").await?;
    share(checks, &mut first, &mut second).await?;
    shown(checks, &mut first).await?;
    take_over(checks, &mut first, &mut second).await?;
    statics(checks, subject).await
}

/// The second joins while the first is told to join again.
async fn share(
    checks: &mut Checks,
    first: &mut Member,
    second: &mut Member,
) -> Result<(), Failure> {
    let (joined, rejoined) = tokio::join!(second.join(), async {
        loop {
            match first.heartbeat().await? {
                27 => return first.join().await,
                0 => tokio::task::yield_now().await,
                error => return Err(format!("heartbeat: error {error}").into()),
            }
        }
    });
    let (joined, rejoined) = (joined?, rejoined?);
    checks.equal(
        (joined.generation_id, rejoined.generation_id),
        (2, 2),
        "a second member makes a new generation, of which the first hears by its heartbeat",
    );
    let leads = joined.members.is_empty() && rejoined.members.len() == 2;
    checks.that(leads, "only the leader is told who is there");
    let (one, other) = (first.id.clone(), second.id.clone());
    let assigned = [(&one, "half"), (&other, "rest")];
    let (waited, synced) = tokio::join!(second.sync(&[]), first.sync(&assigned));
    let assigned = (waited?.assignment, synced?.assignment);
    checks.that(assigned.0 == "rest" && assigned.1 == "half", "each gets its part from the leader");
    first.generation = 1;
    checks.equal(first.heartbeat().await?, 22, "the generation before is refused: 22");
    first.generation = 2;
    Ok(())
}

async fn shown(checks: &mut Checks, member: &mut Member) -> Result<(), Failure> {
    let group = StrBytes::from_static_str("shared");
    for version in 0..=6 {
        let request = DescribeGroupsRequest::default()
            .with_groups(vec![group.clone().into(), group.clone().into()]);
        let response = member.client.call(version, &request).await?;
        let ok = matches!(&*response.groups, [shared]
            if &*shared.group_state == "Stable" && shared.members.len() == 2);
        checks.that(ok, format_args!("DescribeGroups {version} shows the group"));
    }
    let other = StrBytes::from_static_str("nobody's").into();
    let request = DescribeGroupsRequest::default().with_groups(vec![other]);
    for (version, error) in [(5, 0), (6, 69)] {
        let response = member.client.call(version, &request).await?;
        let ok = matches!(&*response.groups, [dead]
            if &*dead.group_state == "Dead" && dead.error_code == error);
        checks.that(ok, format_args!("DescribeGroups {version} finds no group: {error}"));
    }
    for version in 0..=5 {
        let response = member.client.call(version, &ListGroupsRequest::default()).await?;
        let ok = response.groups.iter().any(|listed| listed.group_id.0 == group);
        checks.that(ok, format_args!("ListGroups {version} lists the group"));
    }
    let empty =
        ListGroupsRequest::default().with_states_filter(vec![StrBytes::from_static_str("Empty")]);
    let response = member.client.call(5, &empty).await?;
    let ok = response.groups.iter().all(|listed| listed.group_id.0 != group);
    checks.that(ok, "but not among the empty ones");
    Ok(())
}

/// The first leaves, and the second goes on alone.
async fn take_over(
    checks: &mut Checks,
    first: &mut Member,
    second: &mut Member,
) -> Result<(), Failure> {
    checks.equal(first.leave().await?, 0, "a member leaves");
    checks.equal(first.leave().await?, 25, "and is there no more");
    checks.equal(second.heartbeat().await?, 27, "the other is to join again");
    let joined = second.join().await?;
    checks.equal((joined.generation_id, joined.members.len()), (3, 1), "and leads now");
    let id = second.id.clone();
    let synced = second.sync(&[(&id, "everything")]).await?;
    checks.equal(&*synced.assignment, b"everything", "and takes over");
    checks.equal(second.leave().await?, 0, "until it leaves too");
    checks.equal(second.heartbeat().await?, 25, "and the group is gone");
    Ok(())
}

/// A static member comes back without its id, and nothing changes for it.
async fn statics(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut before = Member::connect(subject.address, "static").await?;
    before.instance = Some("one");
    before.join().await?;
    let id = before.id.clone();
    before.sync(&[(&id, "everything")]).await?;
    let mut after = Member::connect(subject.address, "static").await?;
    after.instance = Some("one");
    let joined = after.join().await?;
    let ok = joined.generation_id == before.generation && joined.skip_assignment;
    checks.that(ok, "a static member comes back into its generation");
    let synced = after.sync(&[]).await?;
    checks.equal(&*synced.assignment, b"everything", "and keeps what it had");
    checks.equal(before.heartbeat().await?, 82, "under its old id it is fenced: 82");
    checks.equal(after.leave().await?, 0, "it leaves");
    Ok(())
}
