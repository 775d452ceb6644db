//! Makes plans concrete and lets a cache carry them out, step by step.

use crate::model::Setup;
use crate::operation::{
    EpochPlan, KeyPlan, Operation, ReadsPlan, RequestPlan, SessionPlan, TimedOperation, VersionPlan,
};
use crate::reading::Reading;
use crate::request::{Key, Request};
use crate::universe::{id, name};
use kafka_coordination::fetch::{
    CacheConfig, CacheState, CacheStats, ChangeTracking, ContextKind, FetchAnswer, FetchCache,
    FetchContext, FetchMetadata, FetchParams, FetcherKind, PartitionRead, Profile, SessionState,
};
use kafka_coordination::{ErrorCode, Monotonic};
use proptest::test_runner::TestCaseResult;
use rand_pcg::Pcg64Mcg;

/// How many contexts may be open at a time.
const CONTEXTS: usize = 5;

/// A partition as a visit shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visited {
    pub(crate) key: Key,
    pub(crate) is_named: bool,
    pub(crate) params: FetchParams,
}

/// What a cache remembers and counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) state: CacheState,
    pub(crate) stats: CacheStats,
}

impl View {
    pub(crate) fn of(cache: &FetchCache) -> Self {
        Self { state: cache.export(), stats: cache.stats() }
    }

    pub(crate) fn session(&self, id: i32) -> Option<&SessionState> {
        self.state.sessions.iter().find(|session| session.id == id)
    }
}

/// A request that was accepted or refused.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// The context's number, which no other one has.
    pub(crate) context: usize,
    pub(crate) request: Request,
    pub(crate) kind: ContextKind,
    pub(crate) error: ErrorCode,
    pub(crate) session_id: i32,
    pub(crate) partition_count: usize,
    pub(crate) visited: Vec<Visited>,
}

/// A context that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) context: usize,
    pub(crate) kind: ContextKind,
    pub(crate) version: i16,
    pub(crate) uses_topic_ids: bool,
    pub(crate) readings: Vec<(Key, Reading)>,
    pub(crate) included: Vec<bool>,
    /// What `response_size` said, asked twice, and whether asking changed anything.
    pub(crate) sizes: [u64; 2],
    pub(crate) sizing_changed: bool,
    /// Whether the reads came back as they were, but for the mark on those that are included.
    pub(crate) reads_kept: bool,
    pub(crate) answer: FetchAnswer,
}

/// What a step did.
#[derive(Clone, Debug)]
pub(crate) enum Did {
    Begun(Begun),
    Visited(usize, Vec<Visited>),
    Finished(Finished),
    Throttled(usize, FetchAnswer),
    Dropped(usize),
    EpochSet(i32, i32),
    Marked,
}

/// One step, with what the cache was before and after it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) now: Monotonic,
    pub(crate) did: Did,
    pub(crate) before: View,
    pub(crate) after: View,
}

struct Open {
    number: usize,
    context: FetchContext,
    uses_topic_ids: bool,
    visited: Vec<Visited>,
}

/// A cache and those who use it.
pub(crate) struct Driver {
    pub(crate) cache: FetchCache,
    pub(crate) random: Pcg64Mcg,
    now: i64,
    open: Vec<Open>,
    contexts: usize,
    ever: Vec<i32>,
    /// What the cache was after the last step.
    last: View,
}

/// The configuration that a setup stands for.
pub(crate) fn config(setup: &Setup, tracking: ChangeTracking) -> CacheConfig {
    CacheConfig::default()
        .with_shards(setup.shards)
        .and_then(|it| it.with_slots(setup.slots))
        .and_then(|it| it.with_eviction_ms(setup.eviction_ms))
        .and_then(|it| it.with_session_partitions_max(setup.limits.session_partitions))
        .unwrap()
        .with_cached_partitions_max(setup.limits.cached_partitions)
        .with_principal_sessions_max(setup.limits.principal_sessions)
        .with_first_shard(setup.first_shard)
        .with_change_tracking(tracking)
}

/// Runs the operations; each step is shown to `look` when it is done.
pub(crate) fn run(
    setup: &Setup,
    tracking: ChangeTracking,
    operations: &[TimedOperation],
    mut look: impl FnMut(&mut Driver, &Step) -> TestCaseResult,
) -> TestCaseResult {
    let cache = FetchCache::new(config(setup, tracking));
    let mut driver = Driver {
        last: View::of(&cache),
        cache,
        random: Pcg64Mcg::new(0x9e37_79b9),
        now: 1000,
        open: Vec::new(),
        contexts: 0,
        ever: Vec::new(),
    };
    for (ms, operation) in operations {
        driver.now = driver.now.saturating_add(*ms);
        match operation {
            Operation::Fetch(request, reads) => {
                driver.step(&mut look, |driver| Some(driver.begin(request)))?;
                let last = driver.open.len() - 1;
                driver.step(&mut look, |driver| Some(driver.finish(last, reads)))?;
            }
            Operation::Begin(request) => {
                driver.step(&mut look, |driver| Some(driver.begin(request)))?;
                if driver.open.len() > CONTEXTS {
                    driver.step(&mut look, |driver| Some(driver.drop_context(0)))?;
                }
            }
            Operation::Visit(at) => driver.step(&mut look, |driver| driver.visit_again(*at))?,
            Operation::Finish(at, reads) => driver.step(&mut look, |driver| {
                let at = driver.context(*at)?;
                Some(driver.finish(at, reads))
            })?,
            Operation::Throttle(at, ms) => driver.step(&mut look, |driver| {
                let at = driver.context(*at)?;
                Some(driver.throttle(at, *ms))
            })?,
            Operation::Drop(at) => driver.step(&mut look, |driver| {
                let at = driver.context(*at)?;
                Some(driver.drop_context(at))
            })?,
            Operation::NearWrap(at, off) => {
                driver.step(&mut look, |driver| driver.set_epoch(*at, *off))?;
            }
            Operation::Mark(key, change) => driver.step(&mut look, |driver| {
                let (id, name) = (id(key.1), name(key.0));
                driver.cache.mark(id, name, key.2, *change, |_| {});
                Some(Did::Marked)
            })?,
            Operation::MarkAll => driver.step(&mut look, |driver| {
                driver.cache.mark_all();
                Some(Did::Marked)
            })?,
        }
    }
    Ok(())
}

impl Driver {
    pub(crate) const fn now(&self) -> Monotonic {
        Monotonic::from_millis(self.now)
    }

    fn step(
        &mut self,
        look: &mut impl FnMut(&mut Self, &Step) -> TestCaseResult,
        act: impl FnOnce(&mut Self) -> Option<Did>,
    ) -> TestCaseResult {
        let Some(did) = act(self) else { return Ok(()) };
        let after = View::of(&self.cache);
        let step = Step {
            now: self.now(),
            did,
            before: core::mem::replace(&mut self.last, after.clone()),
            after,
        };
        look(self, &step)
    }

    fn context(&self, at: u8) -> Option<usize> {
        usize::from(at).checked_rem(self.open.len())
    }

    fn live(&self, at: u8) -> Option<SessionState> {
        let mut sessions = self.cache.export().sessions;
        let at = usize::from(at).checked_rem(sessions.len())?;
        Some(sessions.swap_remove(at))
    }

    fn request(&self, plan: &RequestPlan) -> Request {
        let session = match plan.session {
            SessionPlan::Live(at) => self.live(at),
            _ => None,
        };
        let session_id = match plan.session {
            SessionPlan::Zero => 0,
            SessionPlan::Live(_) => session.as_ref().map_or(0, |session| session.id),
            SessionPlan::Ever(at) => {
                usize::from(at).checked_rem(self.ever.len()).map_or(0, |at| self.ever[at])
            }
            SessionPlan::MadeUp(id) => id,
        };
        let expected = session.as_ref().map_or(0, |session| session.epoch);
        let epoch = match plan.epoch {
            EpochPlan::Expected => expected,
            EpochPlan::Final => -1,
            EpochPlan::Initial => 0,
            EpochPlan::Off(by) => expected.wrapping_add(by),
            EpochPlan::MadeUp(epoch) => epoch,
        };
        let version = match (plan.version, &session) {
            (VersionPlan::Any(version), _) => version,
            (VersionPlan::Fitting(at), Some(session)) if session.uses_topic_ids => {
                13 + i16::from(at % 6)
            }
            (VersionPlan::Fitting(at), Some(_)) => 7 + i16::from(at % 6),
            (VersionPlan::Fitting(at), None) => 7 + i16::from(at % 12),
        };
        let key = |&(name_number, id_number, partition): &KeyPlan| Key {
            id: id(id_number),
            name: name(name_number).to_owned(),
            partition,
        };
        Request {
            version,
            metadata: FetchMetadata { session_id, epoch },
            fetcher: if plan.is_follower { FetcherKind::Follower } else { FetcherKind::Consumer },
            profile: Profile { read_committed: plan.read_committed, host: plan.host_profile },
            principal: plan.principal,
            wanted: plan.wanted.iter().map(|(it, params)| (key(it), *params)).collect(),
            forgotten: plan.forgotten.iter().map(key).collect(),
            names: plan.names,
        }
    }

    fn begin(&mut self, plan: &RequestPlan) -> Did {
        let request = self.request(plan);
        let now = self.now();
        let context = request.begin(&mut self.cache, now);
        let visited = visit(&mut self.cache, &context);
        let number = self.contexts;
        self.contexts += 1;
        let begun = Begun {
            context: number,
            kind: context.kind(),
            error: context.error(),
            session_id: context.session_id(),
            partition_count: context.partition_count(),
            visited: visited.clone(),
            request,
        };
        self.open.push(Open {
            number,
            uses_topic_ids: begun.request.uses_topic_ids(),
            context,
            visited,
        });
        Did::Begun(begun)
    }

    fn visit_again(&mut self, at: u8) -> Option<Did> {
        let at = self.context(at)?;
        let open = &mut self.open[at];
        open.visited = visit(&mut self.cache, &open.context);
        Some(Did::Visited(open.number, open.visited.clone()))
    }

    fn finish(&mut self, at: usize, plan: &ReadsPlan) -> Did {
        let open = self.open.remove(at);
        let (number, context) = (open.number, open.context);
        let mut readings = plan.deal(&open.visited);
        if plan.is_repeated && !readings.is_empty() {
            readings.push(readings[0].clone());
        }
        // A partition that is no longer there has no slot and cannot be handed in.
        let slot = |key: &Key| self.cache.slots(&context).find(key.id, &key.name, key.partition);
        let slots: Vec<_> = readings.iter().map(|(key, _)| slot(key)).collect();
        let (readings, mut reads): (Vec<_>, Vec<PartitionRead>) = readings
            .into_iter()
            .zip(slots)
            .filter_map(|((key, reading), slot)| Some(((key, reading), reading.at(slot?))))
            .unzip();
        let sizes = [(); 2].map(|()| self.cache.response_size(&context, &reads));
        let sizing_changed = self.last.state != self.cache.export();
        let (kind, version) = (context.kind(), context.version());
        let handed_in = reads.clone();
        let now = self.now();
        let answer = self.cache.finish(context, &mut reads, &mut self.random, now);
        if kind == ContextKind::Full && answer.session_id != 0 {
            self.ever.push(answer.session_id);
        }
        let reads_kept = handed_in.len() == reads.len()
            && handed_in.iter().zip(&reads).zip(&readings).all(
                |((before, after), (_, reading))| {
                    let is_it = reading.at(before.slot());
                    *before == is_it && before.slot() == after.slot()
                },
            );
        Did::Finished(Finished {
            context: number,
            kind,
            version,
            uses_topic_ids: open.uses_topic_ids,
            readings,
            included: reads.iter().map(PartitionRead::is_included).collect(),
            sizes,
            sizing_changed,
            reads_kept,
            answer,
        })
    }

    fn throttle(&mut self, at: usize, ms: i32) -> Did {
        let open = self.open.remove(at);
        Did::Throttled(open.number, self.cache.throttle(open.context, ms))
    }

    fn drop_context(&mut self, at: usize) -> Did {
        Did::Dropped(self.open.remove(at).number)
    }

    /// Not while contexts are open: their epochs would come back.
    fn set_epoch(&mut self, at: u8, off: i32) -> Option<Did> {
        if !self.open.is_empty() {
            return None;
        }
        let id = self.live(at)?.id;
        let epoch = i32::MAX - off;
        self.cache.set_session_epoch(id, epoch);
        Some(Did::EpochSet(id, epoch))
    }
}

/// What a context has to read.
pub(crate) fn visit(cache: &mut FetchCache, context: &FetchContext) -> Vec<Visited> {
    let visited = cache.visit(context).map(|it| Visited {
        key: Key {
            id: it.topic_id,
            name: it.topic.map(|name| name.as_str().to_owned()).unwrap_or_default(),
            partition: it.partition,
        },
        is_named: it.topic.is_some(),
        params: it.params,
    });
    visited.collect()
}

impl ReadsPlan {
    /// What is read of each of the partitions.
    pub(crate) fn deal(&self, visited: &[Visited]) -> Vec<(Key, Reading)> {
        let mut readings: Vec<_> = visited
            .iter()
            .enumerate()
            .filter(|(at, _)| self.omitted >> (at % 16) & 1 == 0)
            .map(|(at, visited)| {
                let reading = self.readings[at % self.readings.len()];
                (visited.key.clone(), reading)
            })
            .collect();
        if self.errors_last {
            readings.sort_by_key(|(_, reading)| reading.error != ErrorCode::None);
        }
        if self.is_reversed {
            readings.reverse();
        }
        readings
    }
}
