//! A consumer group, driven without a network and with a clock of its own.

mod heartbeats;
mod metadata;
mod random;
mod regexes;
mod statics;
mod uniform;

use super::{Assignment, Cluster, Group, Heartbeat, LEAVE, Refusal, Told};
use crate::groups::GroupConfig;
use crate::log::{Log, LogConfig};
use crate::topics::{Topic, Topics};
use kafka_coordination::group::{NewTopics, Subscriptions};
use kafka_coordination::metadata::MetadataImage;
use kafka_coordination::producer::ProducerConfig;
use kafka_coordination::{ErrorCode, Monotonic, TopicId, TopicName};
use std::sync::{Arc, Mutex};

const SESSION: i64 = 45_000;
const REBALANCE: i64 = 10_000;
const ROOM: usize = 1 << 20;

const FOO: TopicId = TopicId::from_u128(1);

/// A group, the cluster and the time.
struct World {
    group: Group,
    cluster: Cluster,
    now: Monotonic,
}

impl World {
    /// A cluster with one topic.
    fn new(partitions: usize) -> Self {
        let cluster = Cluster {
            topics: Topics::default(),
            subscriptions: Subscriptions::new(7),
            new_topics: NewTopics::new(),
            refreshes: 0,
            epoch_bumps: 0,
        };
        let group = Group::new("group", GroupConfig { max_members: 4, ..GroupConfig::default() });
        let mut world = Self { group, cluster, now: Monotonic::from_millis(0) };
        world.put(FOO, "foo", partitions);
        world
    }

    /// Creates a topic or gives it more partitions.
    fn put(&mut self, id: TopicId, name: &str, partitions: usize) {
        let producers = ProducerConfig::default();
        let config = LogConfig { retention_bytes: 1, segment_bytes: 1, producers };
        let logs = (0..partitions).map(|_| Arc::new(Mutex::new(Log::new(&config))));
        let topic = Topic { id, name: TopicName::from(name), logs: logs.collect() };
        let mut topics = self.cluster.topics.clone();
        topics.put(topic).unwrap();
        self.tell(topics);
    }

    fn tell(&mut self, topics: Topics) {
        let subscriptions = &mut self.cluster.subscriptions;
        if subscriptions.on_image_changes(topics.changes(), topics.image()).len() > 0 {
            self.group.request_refresh();
        }
        let created = topics.changes().created().len();
        self.cluster.new_topics.on_image(topics.image().offset(), created);
        self.cluster.topics = topics;
    }

    fn send(&mut self, heartbeat: &Heartbeat) -> Result<Told, Refusal> {
        self.group.heartbeat(heartbeat, &mut self.cluster, ROOM, self.now)
    }

    /// A member joins.
    fn join(&mut self, id: &str, topics: &[&str]) -> Client {
        let mut client =
            Client { id: id.to_owned(), instance: None, epoch: 0, owned: Assignment::new() };
        client.join(self, topics).unwrap();
        client
    }

    fn pass(&mut self, ms: i64) {
        self.now = self.now.saturating_add(ms);
        self.group.handle_timeout(&mut self.cluster, self.now);
    }
}

/// A member as its client sees it: it has what it was told, and says so.
#[derive(Clone, Debug)]
struct Client {
    id: String,
    instance: Option<String>,
    epoch: i32,
    owned: Assignment,
}

impl Client {
    fn request(&self) -> Heartbeat {
        Heartbeat {
            client_id: "client".to_owned(),
            client_host: "host".to_owned(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            instance_id: self.instance.clone(),
            rack_id: None,
            rebalance_timeout_ms: None,
            topics: None,
            regex: None,
            server_assignor: None,
            owned: None,
        }
    }

    fn join(&mut self, world: &mut World, topics: &[&str]) -> Result<(), Refusal> {
        self.epoch = 0;
        self.owned.clear();
        let mut heartbeat = self.request();
        heartbeat.rebalance_timeout_ms = Some(REBALANCE.try_into().unwrap());
        heartbeat.topics = Some(topics.iter().map(|topic| (*topic).to_owned()).collect());
        heartbeat.owned = Some(Assignment::new());
        self.take(world.send(&heartbeat))
    }

    /// Says what it has.
    fn beat(&mut self, world: &mut World) -> Result<(), Refusal> {
        let mut heartbeat = self.request();
        heartbeat.owned = Some(self.owned.clone());
        self.take(world.send(&heartbeat))
    }

    /// Says that it is there, and nothing else.
    fn idle(&mut self, world: &mut World) -> Result<Option<Assignment>, Refusal> {
        let told = world.send(&self.request())?;
        self.epoch = told.member_epoch;
        Ok(told.assignment)
    }

    fn subscribe(&mut self, world: &mut World, topics: &[&str]) {
        let mut heartbeat = self.request();
        heartbeat.topics = Some(topics.iter().map(|topic| (*topic).to_owned()).collect());
        self.take(world.send(&heartbeat)).unwrap();
    }

    fn leave(&self, world: &mut World) -> Result<Told, Refusal> {
        let mut heartbeat = self.request();
        heartbeat.member_epoch = LEAVE;
        world.group.leave(&heartbeat, &mut world.cluster, world.now)
    }

    fn take(&mut self, told: Result<Told, Refusal>) -> Result<(), Refusal> {
        let told = told?;
        self.epoch = told.member_epoch;
        if let Some(assignment) = told.assignment {
            self.owned = assignment;
        }
        Ok(())
    }

    fn count(&self) -> usize {
        super::member::size(&self.owned)
    }
}

/// Heartbeats of all until nothing changes any more.
fn settle(world: &mut World, clients: &mut [&mut Client]) {
    for _ in 0..10 {
        for client in clients.iter_mut() {
            client.beat(world).unwrap();
        }
    }
}
