//! What the broker does by itself as time goes by.

use crate::broker::{Broker, lock};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// How often overdue transactions are looked for.
const TRANSACTIONS: Duration = Duration::from_secs(1);
/// How often producers of old age are looked for (Kafka's `producer.id.expiration.check.interval.ms`).
const PRODUCERS: Duration = Duration::from_secs(600);

/// Looks after the broker for ever.
pub(crate) async fn run(broker: Arc<Broker>) {
    let (mut transactions, mut producers) = (interval(TRANSACTIONS), interval(PRODUCERS));
    for timer in [&mut transactions, &mut producers] {
        timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    }
    loop {
        tokio::select! {
            _ = transactions.tick() => broker.transactions.tend(&broker),
            _ = producers.tick() => expire_producers(&broker),
        }
    }
}

fn expire_producers(broker: &Broker) {
    let now = broker.timestamp();
    for log in broker.topics().all().flat_map(|topic| &topic.logs) {
        lock(log).expire_producers(now);
    }
}
