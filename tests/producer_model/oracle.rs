//! The model: all that was ever written, and what follows from it, computed anew at each question.

use kafka_coordination::ErrorCode;
use kafka_coordination::producer::{
    Batch, CachedBatch, Content, EndMarker, EpochBump, MarkerKind, Origin, Verify, WINDOW,
};
use std::collections::BTreeMap;

const MAX: i64 = 1 << 31;

/// What happened to the log, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Written(Batch),
    Expired { now: i64 },
}

/// What the model says of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    New,
    /// First and last offset, and timestamp.
    Duplicate(i64, i64, i64),
    Refused(ErrorCode),
}

/// What is known of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) timestamp: i64,
    pub(crate) open: Option<i64>,
    /// All batches of the epoch: first and last sequence, and what is remembered.
    pub(crate) batches: Vec<(i64, i64, CachedBatch)>,
}

/// A transaction, from its first offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub(crate) first: i64,
    pub(crate) producer: i64,
    pub(crate) marker: Option<i64>,
    pub(crate) is_aborted: bool,
}

/// A pending verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) guard: u64,
    pub(crate) lowest: i32,
    pub(crate) epoch: i16,
    pub(crate) bump: bool,
    pub(crate) created: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    pub(crate) events: Vec<Event>,
    pub(crate) pending: BTreeMap<i64, Pending>,
    pub(crate) guards: u64,
    pub(crate) high_watermark: i64,
    /// How many of the ended transactions are confirmed.
    pub(crate) confirmed: usize,
    pub(crate) end: i64,
    pub(crate) expiration_ms: i64,
    pub(crate) verify: Verify,
}

/// By what an append is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) origin: Origin,
    pub(crate) guard: Option<u64>,
    pub(crate) version: u8,
}

impl Oracle {
    pub(crate) const fn new(expiration_ms: i64, verify: Verify) -> Self {
        Self {
            events: Vec::new(),
            pending: BTreeMap::new(),
            guards: 0,
            high_watermark: 0,
            confirmed: 0,
            end: 0,
            expiration_ms,
            verify,
        }
    }

    pub(crate) fn producers(&self) -> Vec<i64> {
        let mut ids: Vec<_> = { self.events.iter() }
            .filter_map(|event| match event {
                Event::Written(batch) => Some(batch.producer_id),
                Event::Expired { .. } => None,
            })
            .filter(|&id| self.known(id).is_some())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What the whole history says of a producer.
    pub(crate) fn known(&self, producer: i64) -> Option<Known> {
        let mut known: Option<Known> = None;
        for event in &self.events {
            match event {
                Event::Expired { now } => {
                    let is_old = |it: &Known| now - it.timestamp >= self.expiration_ms;
                    known = known.filter(|it| it.open.is_some() || !is_old(it));
                }
                Event::Written(batch) if batch.producer_id == producer => {
                    let it = known.get_or_insert(Known {
                        epoch: -1,
                        coordinator_epoch: -1,
                        timestamp: -1,
                        open: None,
                        batches: Vec::new(),
                    });
                    learn(it, batch);
                }
                Event::Written(_) => {}
            }
        }
        known
    }

    /// All transactions ever started, by first offset.
    pub(crate) fn transactions(&self) -> Vec<Transaction> {
        let mut all: Vec<Transaction> = Vec::new();
        for event in &self.events {
            let Event::Written(batch) = event else { continue };
            let open =
                all.iter_mut().find(|it| it.producer == batch.producer_id && it.marker.is_none());
            match batch.content {
                Content::Data { is_transactional: true, .. } if open.is_none() => {
                    all.push(Transaction {
                        first: batch.base_offset,
                        producer: batch.producer_id,
                        marker: None,
                        is_aborted: false,
                    });
                }
                Content::Marker(EndMarker { kind, .. }) => {
                    if let Some(open) = open {
                        open.marker = Some(batch.base_offset);
                        open.is_aborted = kind == MarkerKind::Abort;
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// The ended transactions by marker.
    pub(crate) fn ended(&self) -> Vec<Transaction> {
        let mut ended: Vec<_> =
            { self.transactions() }.into_iter().filter(|it| it.marker.is_some()).collect();
        ended.sort_by_key(|it| it.marker);
        ended
    }

    /// The transactions that are open or ended and not confirmed, by first offset.
    pub(crate) fn ongoing(&self) -> Vec<(i64, i64)> {
        let confirmed: Vec<_> = self.ended()[..self.confirmed].to_vec();
        let all = self.transactions().into_iter();
        all.filter(|it| !confirmed.contains(it)).map(|it| (it.first, it.producer)).collect()
    }

    /// The confirmed transactions whose marker the high watermark has not passed, by first offset.
    pub(crate) fn unreplicated(&self) -> Vec<(i64, i64, i64)> {
        let ended = self.ended();
        let mut found: Vec<_> = ended[..self.confirmed]
            .iter()
            .map(|it| (it.first, it.producer, it.marker.unwrap()))
            .filter(|&(_, _, marker)| marker >= self.high_watermark)
            .collect();
        found.sort_unstable();
        found
    }

    /// The last stable offset that the index has of the ended transaction of that number: as if all
    /// after its marker had not been written yet.
    pub(crate) fn indexed(&self, number: usize) -> (Transaction, i64) {
        let it = self.ended()[number];
        let marker = it.marker.unwrap();
        let open = { self.transactions() }
            .into_iter()
            .filter(|other| other.first < marker && other.marker.is_none_or(|end| end > marker))
            .map(|other| other.first);
        (it, open.min().unwrap_or(marker + 1))
    }

    pub(crate) fn judge(&self, batch: &Batch, terms: Terms) -> Answer {
        let known = self.known(batch.producer_id);
        match self.refusal_or_duplicate(batch, terms, known.as_ref()) {
            Ok(None) => Answer::New,
            Ok(Some(batch)) => Answer::Duplicate(
                batch.first_offset(),
                batch.last_offset,
                batch.timestamp.as_millis(),
            ),
            Err(code) => Answer::Refused(code),
        }
    }

    fn refusal_or_duplicate(
        &self,
        batch: &Batch,
        terms: Terms,
        known: Option<&Known>,
    ) -> Result<Option<CachedBatch>, ErrorCode> {
        let epoch = batch.producer_epoch;
        let current = known.map_or(-1, |it| it.epoch);
        let open = known.and_then(|it| it.open);
        match batch.content {
            Content::Data { base_sequence, is_transactional, .. } => {
                let is_client = terms.origin == Origin::Client;
                if is_client && (base_sequence < 0 || epoch < 0) {
                    return Err(ErrorCode::InvalidRecord);
                }
                let (first, last) = span(batch, base_sequence);
                if let Some(known) = known.filter(|it| is_client && it.epoch == epoch) {
                    let recent = known.batches.iter().rev().take(WINDOW).rev();
                    let same = { recent }.find(|it| (it.0, it.1) == (first, last));
                    if let Some((_, _, batch)) = same {
                        return Ok(Some(*batch));
                    }
                }
                let is_open = open.is_some() && epoch == current;
                let needs_guard = matches!(terms.origin, Origin::Client | Origin::Coordinator);
                if epoch < current {
                    return Err(ErrorCode::InvalidProducerEpoch);
                }
                let pending = self.pending.get(&batch.producer_id);
                if needs_guard && is_transactional && !is_open && self.verify == Verify::On {
                    let is_verified =
                        terms.guard.is_some() && terms.guard == pending.map(|it| it.guard);
                    if !is_verified {
                        return Err(ErrorCode::InvalidTxnState);
                    }
                }
                if is_client && !Self::is_in_order(known, pending, epoch, base_sequence) {
                    return Err(ErrorCode::OutOfOrderSequenceNumber);
                }
                if open.is_some() && (!is_transactional || epoch > current) {
                    return Err(ErrorCode::InvalidTxnState);
                }
            }
            Content::Marker(marker) => {
                if terms.origin == Origin::Client {
                    return Err(ErrorCode::InvalidRecord);
                }
                let is_late =
                    terms.version >= 2 && open.is_some() && epoch == current && epoch < i16::MAX;
                if epoch < current || is_late {
                    return Err(ErrorCode::InvalidProducerEpoch);
                }
                if known.is_some_and(|it| it.coordinator_epoch > marker.coordinator_epoch) {
                    return Err(ErrorCode::TransactionCoordinatorFenced);
                }
            }
            Content::EmptiedMarker { .. } => {}
        }
        Ok(None)
    }

    fn is_in_order(
        known: Option<&Known>,
        pending: Option<&Pending>,
        epoch: i16,
        base_sequence: i32,
    ) -> bool {
        let newest = known.and_then(|it| it.batches.last());
        if let Some(pending) = pending {
            if pending.bump && base_sequence != 0 && newest.is_none() {
                return false;
            }
            // Sequences of these tests lie closer together than 2^30, or an offset commit's is -1.
            let is_above = if pending.lowest < 0 {
                true
            } else {
                let ahead = (i64::from(base_sequence) - i64::from(pending.lowest)).rem_euclid(MAX);
                ahead > 0 && ahead < MAX / 2
            };
            if is_above {
                return false;
            }
        }
        match known {
            None => true,
            Some(known) if known.epoch == epoch => {
                let next = newest.map_or(0, |it| (it.1 + 1).rem_euclid(MAX));
                i64::from(base_sequence) == next
            }
            Some(known) => known.epoch == -1 || base_sequence == 0,
        }
    }

    /// Follows a batch that was judged new.
    pub(crate) fn write(&mut self, batch: &Batch) {
        if let Some(pending) = self.pending.get(&batch.producer_id) {
            let next_one =
                matches!(batch.content, Content::Marker(_) | Content::EmptiedMarker { .. })
                    && pending.bump
                    && pending.epoch == batch.producer_epoch;
            let is_plain = matches!(batch.content, Content::Data { is_transactional: false, .. });
            if !next_one && !is_plain {
                self.pending.remove(&batch.producer_id);
            }
        }
        self.events.push(Event::Written(*batch));
        self.end = batch.last_offset + 1;
    }

    pub(crate) fn verify(
        &mut self,
        producer: i64,
        sequence: i32,
        epoch: i16,
        bump: EpochBump,
        now: i64,
    ) -> Result<Option<u64>, ErrorCode> {
        let known = self.known(producer);
        let current = known.as_ref().map_or(-1, |it| it.epoch);
        if epoch < current {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if epoch == current && known.is_some_and(|it| it.open.is_some()) {
            return Ok(None);
        }
        let bump = bump == EpochBump::Supported;
        if let Some(pending) = self.pending.get_mut(&producer) {
            if epoch < pending.epoch {
                return Ok(Some(pending.guard));
            }
            if bump == pending.bump {
                let behind = i64::from(pending.lowest) - i64::from(sequence);
                let is_lower = if sequence < 0 || pending.lowest < 0 {
                    behind > 0
                } else {
                    (1..MAX / 2).contains(&behind.rem_euclid(MAX))
                };
                if epoch > pending.epoch || is_lower {
                    pending.lowest = sequence;
                    pending.epoch = epoch;
                }
                return Ok(Some(pending.guard));
            }
        }
        self.guards += 1;
        let guard = self.guards;
        let new = Pending { guard, lowest: sequence, epoch, bump, created: now };
        self.pending.insert(producer, new);
        Ok(Some(guard))
    }

    pub(crate) fn expire(&mut self, now: i64) {
        self.events.push(Event::Expired { now });
        let expiration = self.expiration_ms;
        self.pending.retain(|_, it| now - it.created < expiration);
    }
}

/// First and last sequence of a batch of data.
fn span(batch: &Batch, base_sequence: i32) -> (i64, i64) {
    let first = i64::from(base_sequence);
    if first < 0 {
        return (first, first);
    }
    (first, (first + batch.last_offset - batch.base_offset) % MAX)
}

fn learn(known: &mut Known, batch: &Batch) {
    let is_emptied = matches!(batch.content, Content::EmptiedMarker { .. });
    if batch.producer_epoch > known.epoch || (!is_emptied && batch.producer_epoch != known.epoch) {
        known.epoch = batch.producer_epoch;
        known.batches.clear();
    }
    match batch.content {
        Content::Data { base_sequence, max_timestamp, is_transactional } => {
            let (first, last) = span(batch, base_sequence);
            let remembered = CachedBatch {
                last_sequence: i32::try_from(last).unwrap(),
                last_offset: batch.last_offset,
                offset_delta: i32::try_from(batch.last_offset - batch.base_offset).unwrap(),
                timestamp: max_timestamp,
            };
            known.batches.push((first, last, remembered));
            known.timestamp = max_timestamp.as_millis();
            if is_transactional {
                known.open = known.open.or(Some(batch.base_offset));
            }
        }
        Content::Marker(marker) => {
            known.coordinator_epoch = marker.coordinator_epoch;
            known.timestamp = marker.timestamp.as_millis();
            known.open = None;
        }
        Content::EmptiedMarker { .. } => {}
    }
}
