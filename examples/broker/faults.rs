//! Faults on demand: answers that get lost, by which clients must send their batches again.

use crate::broker::lock;
use kafka_coordination::Random;
use rand_pcg::Pcg32;
use std::num::NonZeroU32;
use std::sync::Mutex;

/// What a whole is, of which a share is lost.
const MILLION: NonZeroU32 = NonZeroU32::new(1_000_000).unwrap();

/// Which share of something is lost, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share(u32);

impl Share {
    /// A number from 0 to 1.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no number from 0 to 1");
        let share: f64 = text.parse().map_err(|_| wrong())?;
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong());
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000000")]
        Ok(Self((share * f64::from(MILLION.get())).round() as u32))
    }
}

/// Draws which answers are lost: the same ones for the same seed and order of requests.
#[derive(Debug)]
pub(crate) struct Faults {
    responses: Share,
    random: Mutex<Pcg32>,
}

impl Faults {
    pub(crate) fn new(responses: Share, seed: u64) -> Self {
        Self { responses, random: Mutex::new(Pcg32::new(seed, 0)) }
    }

    /// Whether the answer that is due now gets lost.
    pub(crate) fn loses_response(&self) -> bool {
        self.responses.0 > 0 && lock(&self.random).below(MILLION) < self.responses.0
    }
}
