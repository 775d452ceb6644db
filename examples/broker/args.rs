//! The command line.

use crate::faults::Share;
use lexopt::prelude::*;
use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
A Kafka-compatible broker in one process. What it stores is in memory, and outlives it with --data-dir only.

  --listen HOST:PORT        where to listen (127.0.0.1:9092; port 0 takes a free one)
  --topic NAME:PARTITIONS   create this topic at the start; may be repeated
  --auto-create on|off      create topics that clients ask for (on)
  --partitions N            partitions of topics created without a number (1)
  --retention-bytes N       bytes kept of each partition (67108864)
  --data-dir DIR            keep topics, records, producers and transactions in files there too, and start from them:
                            what was answered outlives the process, even kill -9
  --segment-bytes N         bytes of a log's file, after which the next is begun and producers are saved (1048576)
  --sessions N              fetch sessions that the cache holds (1000)
  --connections N           connections served at once (10000)
  --rebalance-delay MS      how long an empty classic group waits for more members (3000)
  --heartbeat MS            how often members of next-generation groups send heartbeats (5000)
  --stats                   print a line of counters once a second
  --stats-json              the same as `stats {json}`
  --answer-71-once          answer one fetch of each client with INVALID_FETCH_SESSION_EPOCH
  --answer-70-once          answer one fetch of each client with FETCH_SESSION_ID_NOT_FOUND
  --drop-responses SHARE    store so many of the produced batches (0 to 1) and hang up instead of answering (0)
  --seed N                  draws which answers are dropped (0)
  --self-test               run a scripted client against a broker on a free port, then exit
  --help                    print this

Clients consume in groups, of the classic protocol and of the next generation (group.protocol=consumer). Two members that
share a topic, each in a terminal of its own:

  kcat -b 127.0.0.1:9092 -G readers demo
  kcat -b 127.0.0.1:9092 -G readers -X group.protocol=consumer demo     (librdkafka 2.12 or later)

but all members of one group by the same protocol. Offsets that they commit are in memory, as the records are.

Ctrl-C or SIGTERM ends it and prints its counters as `stats {json}`; SIGUSR1 prints them at once.";

/// What the command line asks for.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    pub(crate) listen: String,
    pub(crate) topics: Vec<(String, i32)>,
    pub(crate) auto_create: bool,
    pub(crate) partitions: i32,
    pub(crate) retention_bytes: usize,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) segment_bytes: u64,
    pub(crate) sessions: u32,
    pub(crate) connections: usize,
    pub(crate) rebalance_delay_ms: i32,
    pub(crate) heartbeat_ms: i32,
    pub(crate) stats: bool,
    pub(crate) stats_json: bool,
    pub(crate) answer_71_once: bool,
    pub(crate) answer_70_once: bool,
    pub(crate) drop_responses: Share,
    pub(crate) seed: u64,
    pub(crate) self_test: bool,
    pub(crate) help: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:9092".to_owned(),
            topics: Vec::new(),
            auto_create: true,
            partitions: 1,
            retention_bytes: 64 << 20,
            data_dir: None,
            segment_bytes: 1 << 20,
            sessions: 1_000,
            connections: 10_000,
            rebalance_delay_ms: 3_000,
            heartbeat_ms: 5_000,
            stats: false,
            stats_json: false,
            answer_71_once: false,
            answer_70_once: false,
            drop_responses: Share::default(),
            seed: 0,
            self_test: false,
            help: false,
        }
    }
}

impl Args {
    /// Reads the process's arguments.
    pub(crate) fn parse() -> Result<Self, lexopt::Error> {
        let mut args = Self::default();
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("listen") => args.listen = parser.value()?.string()?,
                Long("topic") => args.topics.push(parser.value()?.parse_with(topic)?),
                Long("auto-create") => args.auto_create = parser.value()?.parse_with(on_or_off)?,
                Long("partitions") => args.partitions = parser.value()?.parse_with(partitions)?,
                Long("retention-bytes") => args.retention_bytes = parser.value()?.parse()?,
                Long("data-dir") => args.data_dir = Some(parser.value()?.into()),
                Long("segment-bytes") => args.segment_bytes = parser.value()?.parse()?,
                Long("sessions") => args.sessions = parser.value()?.parse()?,
                Long("connections") => args.connections = parser.value()?.parse()?,
                Long("rebalance-delay") => {
                    args.rebalance_delay_ms = parser.value()?.parse_with(milliseconds)?;
                }
                Long("heartbeat") => {
                    args.heartbeat_ms = parser.value()?.parse_with(milliseconds)?;
                }
                Long("stats") => args.stats = true,
                Long("stats-json") => args.stats_json = true,
                Long("answer-71-once") => args.answer_71_once = true,
                Long("answer-70-once") => args.answer_70_once = true,
                Long("drop-responses") => {
                    args.drop_responses = parser.value()?.parse_with(Share::parse)?;
                }
                Long("seed") => args.seed = parser.value()?.parse()?,
                Long("self-test") => args.self_test = true,
                Short('h') | Long("help") => args.help = true,
                other => return Err(other.unexpected()),
            }
        }
        Ok(args)
    }
}

fn topic(text: &str) -> Result<(String, i32), String> {
    let (name, count) = text.rsplit_once(':').ok_or("expected NAME:PARTITIONS")?;
    Ok((name.to_owned(), partitions(count)?))
}

fn partitions(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(count @ 1..) => Ok(count),
        _ => Err(format!("{text:?} is no number of partitions")),
    }
}

fn milliseconds(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(ms @ 0..) => Ok(ms),
        _ => Err(format!("{text:?} is no number of milliseconds")),
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}
