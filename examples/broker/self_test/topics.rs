//! Topics that come and go while a session holds them.

use super::client::{Client, Failure, Named, batch};
use super::fetcher::Fetcher;
use super::{BY_ID, BY_NAME, Checks, Subject};
use kafka_coordination::{ErrorCode, TopicId};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreatePartitionsRequest, DeleteTopicsRequest, MetadataRequest};
use kafka_protocol::protocol::StrBytes;
use std::time::{Duration, Instant};
use tokio::time::sleep;

pub(super) async fn check(checks: &mut Checks, subject: &Subject) -> Result<(), Failure> {
    let mut client = Client::connect(subject.address).await?;
    administration(checks, &mut client).await?;
    late(checks, subject, &mut client).await?;
    unresolved(checks, subject, &mut client).await?;
    recreated_by_id(checks, subject, &mut client).await?;
    recreated_by_name(checks, subject, &mut client).await?;
    grown(checks, subject, &mut client).await
}

async fn administration(checks: &mut Checks, client: &mut Client) -> Result<(), Failure> {
    let topic = client.create("administered", 2).await?;
    for (what, name, partitions) in [
        ("an existing name", "administered", 1),
        ("a bad name", "a b", 1),
        ("a negative number of partitions", "negative", -2),
        ("too many partitions", "huge", i32::MAX),
    ] {
        checks.that(
            client.create(name, partitions).await.is_err(),
            format_args!("{what} is refused"),
        );
    }
    let wanted = MetadataRequestTopic::default().with_name(None).with_topic_id(topic.id.into());
    let by_id = MetadataRequest::default().with_topics(Some(vec![wanted]));
    let response = client.call(13, &by_id).await?;
    let found = response.topics.first().ok_or("no topic")?;
    let ok = found.name.as_deref() == Some(&topic.name) && found.partitions.len() == 2;
    checks.that(ok, "Metadata finds a topic by its id");
    let nameless = MetadataRequestTopic::default()
        .with_name(Some(StrBytes::default().into()))
        .with_topic_id(topic.id.into());
    let response =
        client.call(13, &MetadataRequest::default().with_topics(Some(vec![nameless]))).await?;
    let found = response.topics.first().and_then(|found| found.name.as_deref());
    checks.equal(found, Some(&topic.name), "beside an empty name too");
    delete(client, &topic).await?;
    let response = client.call(13, &by_id).await?;
    checks.equal(
        response.topics.first().map(|found| found.error_code),
        Some(100),
        "and answers 100 once it is deleted",
    );

    let auto = StrBytes::from_static_str("auto");
    let wanted = MetadataRequestTopic::default().with_name(Some(auto.into()));
    let request = MetadataRequest::default()
        .with_topics(Some(vec![wanted]))
        .with_allow_auto_topic_creation(false);
    for (may_create, expected) in [(false, 3), (true, 0)] {
        let request = request.clone().with_allow_auto_topic_creation(may_create);
        let response = client.call(13, &request).await?;
        let code = response.topics.first().map(|found| found.error_code);
        checks.equal(
            code,
            Some(expected),
            format_args!("a topic asked for is created: {may_create}"),
        );
    }
    Ok(())
}

/// A topic is created after a session has asked for it by name.
async fn late(checks: &mut Checks, subject: &Subject, client: &mut Client) -> Result<(), Failure> {
    let topic = Named { id: TopicId::ZERO, name: StrBytes::from_static_str("late") };
    let mut fetcher = Fetcher::connect(subject.address, BY_NAME).await?;
    for round in ["first", "second"] {
        let answer = fetcher.fetch(&[(&topic, 0, 0)]).await?;
        checks.equal(
            answer.errors(),
            vec![(0, 3)],
            format_args!("a missing topic gets 3, {round} time"),
        );
    }
    client.create("late", 1).await?;
    client.produce(&topic, 0, batch(&[1], 1)?).await?;
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(answer.with_records(), vec![0], "and is served once it is created");
    Ok(())
}

/// A topic id is known to the client before the broker has heard of it.
async fn unresolved(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let topic =
        Named { id: TopicId::from_u128(0xfeed), name: StrBytes::from_static_str("unresolved") };
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    let answer = fetcher.fetch(&[(&topic, 0, 0)]).await?;
    let ok = answer.error == 0 && answer.session_id > 0 && answer.errors() == [(0, 100)];
    checks.that(ok, "an unknown topic id gets 100, in a session");
    checks.equal(fetcher.fetch(&[]).await?.errors(), vec![(0, 100)], "and again");
    let created = subject.broker.create_topic_as(topic.id, &topic.name, 1);
    created.map_err(ErrorCode::name)?;
    client.produce(&topic, 0, batch(&[1], 1)?).await?;
    let answer = fetcher.fetch(&[]).await?;
    checks.equal(answer.with_records(), vec![0], "and is served once the broker knows it");
    Ok(())
}

async fn recreated_by_id(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let old = client.create("again", 1).await?;
    let other = client.create("stays", 1).await?;
    client.produce(&old, 0, batch(&[1], 1)?).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    fetcher.fetch(&[(&old, 0, 1), (&other, 0, 0)]).await?;
    fetcher.max_wait_ms = 10_000;
    let started = Instant::now();
    let (answer, deleted) = tokio::join!(fetcher.fetch(&[]), async {
        sleep(Duration::from_millis(200)).await;
        delete(client, &old).await
    });
    deleted?;
    let ok = started.elapsed() < Duration::from_secs(5) && answer?.errors() == [(0, 3)];
    checks.that(ok, "a deleted topic wakes a session that waits");
    fetcher.max_wait_ms = 0;
    for round in ["told", "told again"] {
        checks.equal(
            fetcher.fetch(&[]).await?.errors(),
            vec![(0, 3)],
            format_args!("a deleted topic is {round}"),
        );
    }
    let new = client.create("again", 1).await?;
    client.produce(&new, 0, batch(&[1], 1)?).await?;
    checks.equal(
        fetcher.fetch(&[]).await?.errors(),
        vec![(0, 103)],
        "its successor is not taken for it: 103",
    );
    let answer = fetcher.fetch_and_forget(&[(&new, 0, 0)], &[(&old, 0)]).await?;
    let ids: Vec<_> = answer.partitions.iter().map(|partition| partition.topic_id).collect();
    checks.that(ids == [new.id] && answer.with_records() == [0], "and is served under its own id");
    Ok(())
}

async fn recreated_by_name(
    checks: &mut Checks,
    subject: &Subject,
    client: &mut Client,
) -> Result<(), Failure> {
    let topic = client.create("again-by-name", 1).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_NAME).await?;
    fetcher.fetch(&[(&topic, 0, 0)]).await?;
    delete(client, &topic).await?;
    checks.equal(
        fetcher.fetch(&[]).await?.errors(),
        vec![(0, 3)],
        "a topic deleted under a session by name gets 3",
    );
    let topic = client.create("again-by-name", 1).await?;
    client.produce(&topic, 0, batch(&[1], 1)?).await?;
    checks.equal(fetcher.fetch(&[]).await?.with_records(), vec![0], "and its successor is served");
    Ok(())
}

async fn grown(checks: &mut Checks, subject: &Subject, client: &mut Client) -> Result<(), Failure> {
    let topic = client.create("grown", 1).await?;
    let mut fetcher = Fetcher::connect(subject.address, BY_ID).await?;
    let answer = fetcher.fetch(&[(&topic, 0, 0), (&topic, 1, 0)]).await?;
    checks.equal(answer.errors(), vec![(0, 0), (1, 3)], "a missing partition gets 3");
    for (count, expected) in [(1, 37), (2, 0)] {
        let wanted = CreatePartitionsTopic::default()
            .with_name(topic.name.clone().into())
            .with_count(count)
            .with_assignments(None);
        let request = CreatePartitionsRequest::default().with_topics(vec![wanted]);
        let response = client.call(3, &request).await?;
        let code = response.results.first().map(|result| result.error_code);
        checks.equal(code, Some(expected), format_args!("CreatePartitions to {count}"));
    }
    checks.equal(
        fetcher.fetch(&[]).await?.errors(),
        vec![(1, 0)],
        "and is served once it is there",
    );
    Ok(())
}

pub(super) async fn delete(client: &mut Client, topic: &Named) -> Result<(), Failure> {
    let wanted = DeleteTopicState::default().with_name(None).with_topic_id(topic.id.into());
    let request = DeleteTopicsRequest::default().with_topics(vec![wanted]);
    let response = client.call(6, &request).await?;
    match response.responses.first() {
        Some(deleted) if deleted.error_code == 0 => Ok(()),
        answer => Err(format!("{} cannot be deleted: {answer:?}", topic.name).into()),
    }
}
