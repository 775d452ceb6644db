//! What a broker believes that a plugin stores for a streams group (KIP-1331, KAFKA-20748), kept true
//! through crashes, errors and races.
//!
//! A client of Kafka Streams may push a description of its topology, which the group coordinator hands
//! to a plugin, an asynchronous store outside of it. The group's metadata record says what the plugin
//! holds. No write can change both at once, so before each call that may change the plugin it is made
//! durable that nobody knows: [`StoredEpoch::Uncertain`], the *barrier*. Whatever is interrupted then,
//! a member is asked for the description again, or the plugin is told to delete it, before the group
//! goes.
//!
//! [`TopologyManager`] runs that for the groups of one shard: pushes, the cleanup of empty groups,
//! `DeleteGroups`, classic members that join an empty streams group, heartbeats and descriptions.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | topology epoch | the version of a group's topology, which its clients choose; *current*: that of the group now |
//! | stored epoch | the durable belief: nothing, uncertain, or held at an epoch |
//! | failed epoch | the highest epoch whose description the plugin refused for good |
//! | barrier | the write of "uncertain" before a plugin call; *covered*: it was uncertain before |
//! | finalize | the write after the plugin deleted a description |
//! | ask | set `TopologyDescriptionRequired` in the answer to a heartbeat |
//! | window | the time in which a group is not asked, or not converted, again |
//! | latest, committed | the state with all that was written; that of the last committed offset |
//! | token | orders the plugin calls of a group, across its coordinators |
//!
//! # How a host drives it
//!
//! 1. [`loaded`](TopologyManager::loaded) when the shard is, with the leader epoch; then
//!    [`observe`](TopologyManager::observe) for each streams group, and again whenever one changes: in
//!    the one place where records are applied. [`unloaded`](TopologyManager::unloaded) when it leaves.
//! 2. Requests go to [`push`](TopologyManager::push), [`delete_groups`](TopologyManager::delete_groups)
//!    and [`classic_join`](TopologyManager::classic_join); [`heartbeat`](TopologyManager::heartbeat)
//!    and [`describe`](TopologyManager::describe) answer at once. They read the groups, which are the
//!    host's, through [`Groups`].
//! 3. After each call, carry out what [`poll_effect`](TopologyManager::poll_effect) gives, in its
//!    order, before anything else changes a group. Report ends to
//!    [`written`](TopologyManager::written), [`set_ended`](TopologyManager::set_ended) and
//!    [`delete_ended`](TopologyManager::delete_ended), whenever they come.
//! 4. Each record of a group carries its [`Belief`] on, whatever it is written for.
//! 5. A write that removes or converts a group first asks
//!    [`may_remove`](TopologyManager::may_remove).
//! 6. [`handle_timeout`](TopologyManager::handle_timeout) at
//!    [`next_deadline`](TopologyManager::next_deadline).
//!
//! ```
//! use kafka_coordination::Monotonic;
//! use kafka_coordination::topology::{
//!     Belief, Description, Effect, Ending, Fencing, Groups, Life, Plugin, PushRequest, StoredEpoch,
//!     StreamsGroup, TopologyConfig, TopologyEpoch, TopologyManager,
//! };
//! # use core::num::NonZeroU32;
//! # struct Least;
//! # impl kafka_coordination::Random for Least {
//! #     fn below(&mut self, _: NonZeroU32) -> u32 { 0 }
//! # }
//!
//! // The host's groups: here one, whose records are committed as they are written.
//! struct One(StreamsGroup);
//! impl Groups for One {
//!     fn latest(&self, _: &str) -> Option<StreamsGroup> { Some(self.0) }
//!     fn committed(&self, _: &str) -> Option<StreamsGroup> { Some(self.0) }
//!     fn has_member(&self, _: &str, member_id: &str) -> bool { member_id == "m" }
//!     fn has_offsets(&self, _: &str) -> bool { false }
//! }
//! let current = TopologyEpoch::new(3);
//! let mut group = One(StreamsGroup { current, belief: Belief::NEW, life: Life::Live });
//!
//! let (now, random) = (Monotonic::from_millis(0), &mut Least);
//! let config = TopologyConfig::default().with_plugin(Plugin::Present(Fencing::Tokens));
//! let mut manager = TopologyManager::new(config);
//! manager.loaded(0, now)?;
//! manager.observe("g", Some(&group.0));
//!
//! let description = Description::WellFormed;
//! let request = PushRequest { group_id: "g", member_id: "m", topology_epoch: 3, description };
//! manager.push(&request, &group, random, now);
//! let mut seen = Vec::new();
//! while let Some(effect) = manager.poll_effect() {
//!     match effect {
//!         Effect::Write { operation, beliefs, .. } => {
//!             group.0.belief = beliefs[0].belief;
//!             seen.push(group.0.belief.stored);
//!             manager.observe("g", Some(&group.0));
//!             manager.written(operation, Ok(()), &group, random, now);
//!         }
//!         Effect::Set { call, .. } => manager.set_ended(&call, Ending::Done, &group, random, now),
//!         Effect::AnswerPush { result, .. } => assert_eq!(result, Ok(())),
//!         other => panic!("{other:?}"),
//!     }
//! }
//! let held = TopologyEpoch::new(3).map(StoredEpoch::Held);
//! assert_eq!(seen, [Some(StoredEpoch::Uncertain), held].map(Option::unwrap_or_default));
//! # Ok::<(), kafka_coordination::topology::LoadError>(())
//! ```
//!
//! # What goes on at once
//!
//! Kafka lets operations of one group overlap, does not look at the stored epoch when it removes a
//! group, and cannot tell a late call of an old coordinator: each of the three loses or leaks
//! descriptions. Here a group has one operation at a time, from its barrier to its last write; who
//! comes second is sent away with an error that is tried again. A group stays until it is known that
//! the plugin holds nothing of it. Calls carry [tokens](Token), or are kept apart in time
//! ([`Fencing`]).
//!
//! For hosts that run the operations themselves, Kafka's tables are functions: [`mark`],
//! [`after_set`], [`after_refusal`], [`after_delete`], [`Heartbeat::wanted`], [`Described::decide`],
//! [`PushRequest::validate`], [`Ending::of_set`], [`settle`], [`answered`]; and [`Backoff`] keeps
//! windows as Kafka does.
//!
//! # Invariants
//!
//! By the latest and by the committed state, if nobody but the manager calls the plugin, and calls are
//! fenced or live no longer than was said:
//!
//! - TB-1: a call that may take effect is covered: what is stored is uncertain, or what the call leaves.
//! - TB-2: if an epoch is held, it is the one that the plugin holds, and no delete may take effect.
//! - TB-3: if nothing is stored, the plugin holds nothing, and no set may take effect.
//! - TB-4: of what is no streams group, the plugin holds nothing, and no call may take effect.
//! - TB-5: when the plugin is called, "uncertain" is committed, and is the latest.
//! - TB-6: what is told to have failed is uncertain or as it was, unless its write was durable after
//!   all.
//! - TB-7: no epoch is held but one that the plugin took.
//! - TB-8: a held epoch becomes uncertain before anything else; the failed epoch does not go down.
//! - TB-9: in a window, one member is asked.
//! - TB-10: windows of one epoch get longer until they are cleared, and only for their own epoch.
//! - TB-11: a failed delete ends no window.
//! - TB-12: no group is marked to be deleted from the plugin that is live then, or of which it holds nothing.
//! - TB-13: if the plugin works, a group with a member is stored in the end, and one without goes.
//! - TB-14: a group has one operation at a time.
//! - TB-15: nothing is kept of groups that left, nor of a shard that did, but for calls without
//!   answer.
//! - TB-16: a manager that left and entered goes on as before.
//! - TB-17: each operation is answered once, when its write or call ends, is given up, or its shard leaves.
//!
//! TB-1 to TB-4 and TB-13 are also explored exhaustively, for every order of steps of a few
//! operations on one group.

mod backoff;
mod barrier;
mod call;
mod config;
mod counters;
mod describe;
mod ending;
mod epoch;
mod gate;
mod group;
mod manager;
mod operation;
mod plugin;
mod push;
mod state;

pub use backoff::{Backoff, BackoffConfig, BackoffConfigError, Window};
pub use barrier::{Caller, Mark, after_delete, after_refusal, after_set, mark};
pub use call::{DeleteCall, SetCall, Token};
pub use config::{Fencing, Plugin, TopologyConfig};
pub use counters::TopologyCounters;
pub use describe::{Describe, Described, DescriptionStatus, GetEnding};
pub use ending::{DELETE_FAILED, Ending, SetOutcome, answered, settle};
pub use epoch::{Belief, EpochError, StoredEpoch, TopologyEpoch};
pub use gate::Heartbeat;
pub use group::{Groups, Life, StreamsGroup};
pub use manager::{ClassicJoin, Cleanup, LoadError, TopologyManager};
pub use operation::{Atomicity, BeliefWrite, Effect, Operation, OperationId};
pub use plugin::InMemoryPlugin;
pub use push::{Description, PushError, PushRequest};
pub use state::{CallState, ShardState, TopologyState, TopologyStateError};
