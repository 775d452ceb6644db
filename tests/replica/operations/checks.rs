//! What a host does for a replica, and what it finds out about it then.

use super::{Host, Outcome, Sent, show};
use kafka_coordination::kraft::{
    Answer, Correlation, Effect, ElectionState, Endpoints, EpochState, EpochStateKind, Fatal, Node,
    Reply, Request, TransitionError,
};

impl Host<'_> {
    pub(super) fn carry_out(&mut self) {
        let most = 100 + 4 * self.waiting.len() + self.disk.log.len();
        for count in 0.. {
            let Some(effect) = self.replica.poll_effect() else { return };
            assert!(count < most, "too many effects at once");
            self.act(effect);
        }
    }

    pub(super) fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Persist(persist) => {
                let before = self.disk.election.as_ref().map_or(0, ElectionState::epoch);
                assert!(persist.election.epoch() >= before, "L1");
                self.disk.election = Some(persist.election);
            }
            Effect::Send { correlation, to, request } => self.send(correlation, &to, request),
            Effect::Reply { request, reply } => {
                assert!(self.waiting.remove(&request), "{request:?} is answered twice: L16");
                self.check_reply(&reply);
            }
            Effect::Append(batch) => {
                assert_eq!(batch.base_offset, self.disk.end_offset(), "L18");
                let newest = self.disk.log.last().map_or(0, |batch| batch.epoch);
                assert!(batch.epoch >= newest && batch.epoch <= self.durable_epoch(), "L11");
                self.disk.log.push(batch);
            }
            Effect::Flush { end_offset } => self.outcomes.push_back(Outcome::Flushed(end_offset)),
            Effect::Truncate { end_offset } => {
                assert!(end_offset >= self.shown.high_watermark, "L10");
                self.outcomes.push_back(Outcome::Truncated(end_offset));
            }
            Effect::HighWatermark(offset) => {
                assert!(offset >= self.told, "L10: {offset} after {}", self.told);
                self.told = offset;
            }
            Effect::InstallSnapshot(id) => self.outcomes.push_back(Outcome::Installed(id)),
            Effect::Deliver { from, to } => {
                assert!(self.applied.is_none_or(|next| from == next) && from < to, "L17");
                assert!(to <= self.replica.log().high_watermark(), "L17");
                self.applied = Some(to);
                self.outcomes.push_back(Outcome::Applied(to));
            }
            Effect::LoadSnapshot(id) => {
                assert!(self.applied.is_none_or(|next| next < id.offset), "L17");
                self.applied = Some(id.offset);
                self.outcomes.push_back(Outcome::Applied(id.offset));
            }
            Effect::LeaderChanged { epoch, .. } => {
                assert!(epoch >= self.announced, "L17");
                self.announced = epoch;
            }
            Effect::ShutdownCompleted { .. } => self.is_over = true,
            _ => {}
        }
    }

    pub(super) fn durable_epoch(&self) -> i32 {
        self.disk.election.as_ref().map_or(0, ElectionState::epoch)
    }

    pub(super) fn send(&mut self, correlation: Correlation, to: &Node, request: Request) {
        let epoch = match &request {
            Request::Vote(vote) => {
                let voted = self.disk.election.as_ref().and_then(ElectionState::voted_key);
                assert!(vote.is_pre_vote || voted == Some(vote.candidate), "L4: {vote:?}");
                vote.epoch
            }
            Request::Fetch(fetch) => fetch.leader_epoch,
            Request::FetchSnapshot(fetch) => fetch.leader_epoch,
            Request::BeginQuorumEpoch(begin) => begin.epoch,
            Request::EndQuorumEpoch(end) => end.epoch,
            _ => self.durable_epoch(),
        };
        assert!(epoch <= self.durable_epoch(), "L4: {request:?}");
        let role = self.replica.quorum().generation();
        let timeout_ms = i64::from(self.config.request_timeout_ms);
        let now = self.now;
        let is_awaited = |(_, _, at, then): &Sent| {
            *then == role && now.millis_since(*at) < timeout_ms && now >= *at
        };
        let (awaited, over) = std::mem::take(&mut self.sent).into_iter().partition(is_awaited);
        let over: Vec<_> = over;
        self.sent = awaited;
        self.late.extend(over);
        let is_fetch = |it: &Request| matches!(it, Request::Fetch(_) | Request::FetchSnapshot(_));
        let fetches = self.sent.iter().filter(|(_, sent, ..)| is_fetch(sent)).count();
        let is_first = fetches == 0 || !is_fetch(&request);
        assert!(is_first, "a second fetch, to {to:?}: L13, {:?}", self.sent);
        self.sent.push((correlation, request, now, role));
    }

    /// What an answer says is durable.
    pub(super) fn check_reply(&self, reply: &Reply) {
        fn said<T>(answer: &Answer<T>) -> Option<(i32, Option<i32>)> {
            answer.partition.as_ref().map(|partition| (partition.epoch, partition.leader_id))
        }
        let said = match reply {
            Reply::Vote(answer) => said(answer),
            Reply::BeginQuorumEpoch(answer) | Reply::EndQuorumEpoch(answer) => said(answer),
            Reply::Fetch(answer) => said(answer),
            Reply::FetchSnapshot(answer) => said(answer),
            _ => None,
        };
        let disk = self.disk.election.as_ref();
        let durable = disk.map(|disk| (disk.epoch(), disk.leader_id()));
        assert!(said.is_none() || said == durable, "L4: {reply:?}, and {disk:?} is durable");
    }

    pub(super) fn check(&mut self) {
        let (replica, before) = (&self.replica, &self.shown);
        let (state, log) = (replica.quorum().state(), replica.log());
        let now = show(replica);
        assert!(now.epoch >= before.epoch, "L1");
        let leads = matches!(state.kind(), EpochStateKind::Leader | EpochStateKind::Resigned);
        if now.epoch == before.epoch && now.generation != before.generation {
            assert!(before.leader_id.is_none() || now.leader_id == before.leader_id, "L2");
            assert!(before.voted.is_none() || now.voted == before.voted || leads, "L2");
        }
        let durable = self.disk.election.as_ref().expect("a start writes it");
        let state_now = state.election();
        let says = |it: &ElectionState| (it.epoch(), it.leader_id(), it.voted_key());
        let is_same = says(durable) == says(&state_now);
        // Of a resigned leader that starts again the file may have a vote.
        assert!(is_same || matches!(state, EpochState::Resigned(_)), "L3: {state_now:?}");
        match state {
            EpochState::Follower(follower) => {
                assert!(!follower.leader_endpoints().is_empty(), "L6");
                assert_ne!(Some(follower.leader_id()), self.config.quorum.local_id, "L6");
            }
            EpochState::Leader(leader) => {
                let start = leader.epoch_start_offset();
                assert!(leader.high_watermark().is_none_or(|offset| offset > start), "L7");
                let is_begun = log.last_fetched_epoch() == now.epoch;
                assert!(is_begun, "a leader whose epoch is not begun: {log:?}");
            }
            EpochState::Unattached(_) | EpochState::Candidate(_) => {
                assert!(state.leader_endpoints().is_none_or(Endpoints::is_empty), "L6");
            }
            _ => {}
        }
        assert!(now.high_watermark >= before.high_watermark, "L10");
        assert!(log.start_offset() <= log.high_watermark().max(log.start_offset()), "L10");
        assert!(log.high_watermark() <= log.end_offset(), "L10");
        let is_replaced = self
            .outcomes
            .iter()
            .any(|it| matches!(it, Outcome::Truncated(_) | Outcome::Installed(_)));
        if !is_replaced && replica.fatal().is_none() {
            let disk = self.disk.end_offset();
            assert_eq!(log.end_offset(), disk, "{log:?} {:?}", self.disk.snapshots.keys());
        }
        // Before anything is read the next offset is one before the log's.
        assert_eq!(replica.control_log().next_offset().max(0), log.end_offset(), "L12");
        let latest = self.disk.control_log();
        let (voters, known) = (latest.voters(), replica.control_log().voters());
        assert!(
            voters == known || is_replaced || replica.fatal().is_some(),
            "L12: {known:?}, not {voters:?} of {:?} {:?} {log:?}",
            self.disk.log,
            self.disk.snapshots
        );
        match replica.fatal() {
            None
            | Some(
                Fatal::Diverged { .. }
                | Fatal::Unauthorised
                | Fatal::Transition(TransitionError::LastEpoch),
            ) => {}
            Some(other) => panic!("{other:?}"),
        }
        self.is_over |= replica.fatal().is_some();
        self.shown = now;
    }

    /// Every request that waits is answered in time.
    pub(super) fn settle(&mut self) {
        for _ in 0..4 {
            while !self.outcomes.is_empty() && !self.is_over {
                self.report();
                self.carry_out();
                self.check();
            }
            if self.is_over || self.now.as_millis() > i64::MAX / 2 {
                break;
            }
            self.now = self.now.saturating_add(1 << 32);
            self.tick();
            self.check();
        }
        let is_cut_short = self.replica.fatal().is_some() || self.now.as_millis() > i64::MAX / 2;
        assert!(is_cut_short || self.waiting.is_empty(), "L16: {:?}", self.waiting);
    }
}
