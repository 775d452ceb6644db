//! Offsets are committed, read again, and go with their topic.

use super::member::Member;
use crate::self_test::client::{Client, Failure, Named};
use crate::self_test::{Checks, Subject};
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{DeleteTopicsRequest, OffsetCommitRequest, OffsetFetchRequest};
use kafka_protocol::protocol::StrBytes;

const GROUP: &str = "committing";

/// Partition, offset and error.
type Read = Vec<(i32, i64, i16)>;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    let topic = client.create("committed", 2).await?;
    for version in 2..=9 {
        let offset = i64::from(version);
        let committed = commit(&mut client, version, &commit_of(&topic, offset)).await?;
        checks.equal(
            committed,
            vec![0, 12, 3],
            format_args!("OffsetCommit {version} without members: stored, too long, no partition"),
        );
        let read = read(&mut client, 9, Some(&topic)).await?;
        checks.equal(read, vec![(0, offset, 0), (1, -1, 0)], "and read again");
    }
    for version in 1..=9 {
        let some = read(&mut client, version, Some(&topic)).await?;
        checks.equal(
            some,
            vec![(0, 9, 0), (1, -1, 0)],
            format_args!("OffsetFetch {version} tells each partition once"),
        );
    }
    for version in 2..=9 {
        let all = read(&mut client, version, None).await?;
        checks.equal(all, vec![(0, 9, 0)], format_args!("OffsetFetch {version} tells all"));
    }
    members(checks, subject, &topic).await?;

    let delete = DeleteTopicsRequest::default().with_topic_names(vec![topic.name.clone().into()]);
    client.call(5, &delete).await?;
    checks.equal(read(&mut client, 9, None).await?, vec![], "they go with their topic");
    Ok(())
}

/// In a group with members only these commit, in their generation.
async fn members(checks: &mut Checks, subject: &Subject, topic: &Named) -> Result<(), Failure> {
    let mut member = Member::connect(subject.address, GROUP).await?;
    member.join().await?;
    let request = commit_of(topic, 1);
    let mine = request.clone().with_member_id(member.id.clone());
    let first = |codes: Vec<i16>| codes.first().copied();
    for (what, request, code) in [
        ("a stranger cannot commit", request, 25),
        ("nor a member without its generation", mine.clone(), 22),
        (
            "nor one before it has its assignment",
            mine.clone().with_generation_id_or_member_epoch(1),
            27,
        ),
    ] {
        let codes = commit(&mut member.client, 9, &request).await?;
        checks.equal(first(codes), Some(code), format_args!("{what}: {code}"));
    }
    let id = member.id.clone();
    member.sync(&[(&id, "everything")]).await?;
    let request = mine.with_generation_id_or_member_epoch(1);
    let codes = commit(&mut member.client, 9, &request).await?;
    checks.equal(first(codes), Some(0), "a member commits");
    member.leave().await?;
    let codes = commit(&mut member.client, 9, &request).await?;
    checks.equal(first(codes), Some(25), "but not after it has left");
    Ok(())
}

/// Of a partition, with metadata that is too long for the next one, and of one that does not exist.
fn commit_of(topic: &Named, offset: i64) -> OffsetCommitRequest {
    let partition = |index| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_offset(offset)
    };
    let long = StrBytes::from_string("m".repeat(4_097));
    let partitions =
        vec![partition(0), partition(1).with_committed_metadata(Some(long)), partition(2)];
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic.name.clone().into())
        .with_partitions(partitions);
    OffsetCommitRequest::default()
        .with_group_id(StrBytes::from_static_str(GROUP).into())
        .with_topics(vec![topic])
}

async fn commit(
    client: &mut Client,
    version: i16,
    request: &OffsetCommitRequest,
) -> Result<Vec<i16>, Failure> {
    let response = client.call(version, request).await?;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.map(|partition| partition.error_code).collect())
}

/// What the group has committed for two partitions, one of which is asked for twice; for all without a topic.
async fn read(client: &mut Client, version: i16, topic: Option<&Named>) -> Result<Read, Failure> {
    let group = StrBytes::from_static_str(GROUP);
    let indexes = vec![0, 1, 0];
    if version < 8 {
        let topics = topic.map(|topic| {
            let wanted = OffsetFetchRequestTopic::default().with_name(topic.name.clone().into());
            vec![wanted.with_partition_indexes(indexes)]
        });
        let request = OffsetFetchRequest::default().with_group_id(group.into()).with_topics(topics);
        let response = client.call(version, &request).await?;
        let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
        let read =
            partitions.map(|one| (one.partition_index, one.committed_offset, one.error_code));
        return Ok(read.collect());
    }
    let topics = topic.map(|topic| {
        let wanted = OffsetFetchRequestTopics::default().with_name(topic.name.clone().into());
        vec![wanted.with_partition_indexes(indexes)]
    });
    let wanted = OffsetFetchRequestGroup::default().with_group_id(group.into()).with_topics(topics);
    let request = OffsetFetchRequest::default().with_groups(vec![wanted.clone(), wanted]);
    let response = client.call(version, &request).await?;
    let topics = response.groups.iter().flat_map(|group| &group.topics);
    let partitions = topics.flat_map(|topic| &topic.partitions);
    let read = partitions.map(|one| (one.partition_index, one.committed_offset, one.error_code));
    Ok(read.collect())
}
