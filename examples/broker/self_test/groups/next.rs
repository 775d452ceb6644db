//! Groups of the next generation: the broker assigns, and topics change under them.

use super::consumer::Consumer;
use super::member::Member;
use crate::self_test::client::{Client, Failure, Named};
use crate::self_test::{Checks, Subject};
use kafka_coordination::ErrorCode;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, CreatePartitionsRequest, ListGroupsRequest,
};
use kafka_protocol::protocol::StrBytes;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    refused(checks, subject).await?;
    let topic = client.create("assigned", 4).await?;
    let mut one = Consumer::connect(subject.address, "next", "one").await?;
    let mut other = Consumer::connect(subject.address, "next", "other").await?;
    one.join(&["assigned", "later"]).await?;
    checks.equal(one.count(), 4, "the first member is assigned everything");
    other.join(&["assigned", "later"]).await?;
    settle(&mut one, &mut other).await?;
    checks.equal((one.count(), other.count()), (2, 2), "two members have two partitions each");

    changes(checks, subject, &mut client, &topic, [&mut one, &mut other]).await?;
    shown(checks, &mut client).await?;
    offsets(checks, &topic, &mut one).await?;

    let mut classic = Member::connect(subject.address, "next").await?;
    checks.equal(classic.join().await?.error_code, 23, "a classic member cannot join: 23");
    checks.equal(other.leave().await?, 0, "a member leaves");
    settle_one(&mut one).await?;
    checks.equal(one.count(), 9, "and the other takes over");
    checks.equal(one.leave().await?, 0, "until it leaves too");
    checks.equal(one.beat().await?, 69, "and the group is gone");
    regexes(checks, subject, &mut client).await
}

/// Heartbeats of both until nothing moves any more.
async fn settle(one: &mut Consumer, other: &mut Consumer) -> Result<(), Failure> {
    for _ in 0..4 {
        settle_one(one).await?;
        settle_one(other).await?;
    }
    Ok(())
}

async fn settle_one(member: &mut Consumer) -> Result<(), Failure> {
    match member.beat().await? {
        0 => Ok(()),
        error => Err(format!("heartbeat: error {error}").into()),
    }
}

async fn refused(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    for version in 0..=1 {
        let mut stranger = Consumer::connect(subject.address, "nobody's", "stranger").await?;
        stranger.version = version;
        stranger.epoch = 1;
        let code = stranger.beat().await?;
        checks.equal(code, 69, format_args!("ConsumerGroupHeartbeat {version} of no group: 69"));
        stranger.id = StrBytes::default();
        stranger.epoch = 0;
        let code = stranger.join(&["any"]).await?;
        // An older member gets its id from the broker.
        let expected = if version == 0 { 0 } else { 42 };
        checks.equal(code, expected, format_args!("version {version} without an id: {expected}"));
        if code == 0 {
            stranger.leave().await?;
        }
    }
    let mut classic = Member::connect(subject.address, "classic").await?;
    classic.join().await?;
    let mut stranger = Consumer::connect(subject.address, "classic", "stranger").await?;
    let code = stranger.join(&["any"]).await?;
    checks.equal(code, 69, "a member of the next generation cannot join a classic group: 69");
    classic.leave().await?;
    Ok(())
}

/// What changes of topics do to the group's epoch.
async fn changes(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
    topic: &Named,
    [one, other]: [&mut Consumer; 2],
) -> Result<(), Failure> {
    let counts = || subject.broker.cached().groups;
    let before = counts();
    client.create("unrelated", 1).await?;
    settle(one, other).await?;
    let now = counts();
    checks.equal(
        (now.epoch_bumps, now.refreshes),
        (before.epoch_bumps, before.refreshes),
        "a topic that nobody wants is not even looked at",
    );
    subject.broker.touch_topic(topic.id).map_err(ErrorCode::name)?;
    settle(one, other).await?;
    let now = counts();
    checks.equal(
        (now.epoch_bumps, now.refreshes),
        (before.epoch_bumps, before.refreshes + 1),
        "a change that changes nothing of what counts is looked at once, and bumps no epoch",
    );

    let wanted = CreatePartitionsTopic::default()
        .with_name(topic.name.clone().into())
        .with_count(6)
        .with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![wanted]);
    client.call(3, &request).await?;
    // One heartbeat each: nobody has to give anything up.
    settle_one(one).await?;
    settle_one(other).await?;
    checks.equal((one.count(), other.count()), (3, 3), "added partitions come with a heartbeat");
    checks.equal(counts().epoch_bumps, before.epoch_bumps + 1, "and with one epoch");

    client.create("later", 3).await?;
    settle(one, other).await?;
    let shares = (one.count().max(other.count()), one.count() + other.count());
    checks.equal(shares, (5, 9), "a topic that was subscribed to before it was there is shared");
    checks.equal(counts().epoch_bumps, before.epoch_bumps + 2, "with one epoch more");
    checks.equal(one.epoch, other.epoch, "both members are at it");
    Ok(())
}

async fn shown(checks: &mut Checks, client: &mut Client) -> Result<(), Failure> {
    let name = StrBytes::from_static_str("next");
    for version in 0..=1 {
        let request = ConsumerGroupDescribeRequest::default()
            .with_group_ids(vec![name.clone().into(), StrBytes::from_static_str("no").into()]);
        let response = client.call(version, &request).await?;
        let ok = matches!(&*response.groups, [next, none]
            if &*next.group_state == "Stable"
                && next.members.len() == 2
                && next.group_epoch == next.assignment_epoch
                && next.members.iter().all(|member| member.assignment == member.target_assignment)
                && none.error_code == 69);
        checks.that(ok, format_args!("ConsumerGroupDescribe {version} shows the group"));
    }
    let consumers =
        ListGroupsRequest::default().with_types_filter(vec![StrBytes::from_static_str("consumer")]);
    let response = client.call(5, &consumers).await?;
    let names: Vec<_> = response.groups.iter().map(|group| group.group_id.0.clone()).collect();
    checks.equal(names, vec![name], "ListGroups tells it from classic ones");
    Ok(())
}

async fn offsets(checks: &mut Checks, topic: &Named, member: &mut Consumer) -> Result<(), Failure> {
    let epoch = member.epoch;
    for (epoch, code) in [(epoch, 0), (epoch - 1, 113), (-1, 25)] {
        let (committed, read) = member.commit_and_read(topic, epoch).await?;
        checks.equal(
            (committed, read),
            (code, code),
            format_args!("offsets are committed and read in the member's epoch only: {code}"),
        );
    }
    Ok(())
}

async fn regexes(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    client.create("regex-one", 2).await?;
    client.create("regex-two", 2).await?;
    let mut member = Consumer::connect(subject.address, "matching", "one").await?;
    checks.equal(member.join_matching("regex-(").await?, 128, "a bad regular expression: 128");
    checks.equal(member.join_matching("regex-.*").await?, 0, "a good one is matched");
    checks.equal(member.count(), 4, "and its topics are assigned");
    member.leave().await?;
    Ok(())
}
