//! The transitions of replicas, as they report them.
//!
//! One call may make several. The state before and after it is public, the steps between are not: they are read from the
//! events that the crate gives to `tracing` anyway, and held against that state.

use kafka_coordination::kraft::{EpochState, EpochStateKind};
use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::OnceLock;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A state that was entered, or was found at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: EpochStateKind,
    pub(crate) epoch: i32,
    pub(crate) leader: Option<i32>,
}

impl State {
    /// What a replica shows of its state.
    pub(crate) const fn of(state: &EpochState) -> Self {
        Self { kind: state.kind(), epoch: state.epoch(), leader: state.leader_id() }
    }
}

thread_local! {
    static ENTERED: RefCell<Vec<State>> = const { RefCell::new(Vec::new()) };
}

/// Hears of transitions, and of nothing else.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("kafka_coordination::kraft::replica")
            && metadata.fields().field("state").is_some()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        ENTERED.with_borrow_mut(|entered| entered.push(fields.state()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields {
    state: String,
    leader: String,
    epoch: i32,
}

impl Fields {
    fn state(&self) -> State {
        use EpochStateKind::{Candidate, Follower, Leader, Prospective, Resigned, Unattached};
        let kinds = [Unattached, Prospective, Candidate, Follower, Leader, Resigned];
        let kind = kinds.into_iter().find(|kind| format!("{kind:?}") == self.state);
        let leader = self.leader.strip_prefix("Some(").and_then(|text| text.strip_suffix(')'));
        State {
            kind: kind.expect("a state"),
            epoch: self.epoch,
            leader: leader.map(|leader| leader.parse().expect("a leader's id")),
        }
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        if field.name() == "epoch" {
            self.epoch = i32::try_from(value).expect("an epoch");
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = match field.name() {
            "state" => &mut self.state,
            "leader" => &mut self.leader,
            _ => return,
        };
        write!(text, "{value:?}").expect("a text takes all");
    }
}

/// Hears of the transitions of this thread from now on.
pub(crate) fn listen() {
    static LISTENS: OnceLock<()> = OnceLock::new();
    LISTENS.get_or_init(|| {
        tracing::subscriber::set_global_default(Listener).expect("nobody else listens");
    });
    let _ = take();
}

/// The transitions since the last time.
pub(crate) fn take() -> Vec<State> {
    ENTERED.with_borrow_mut(std::mem::take)
}
