//! Consumer groups on the wire.

mod burdens;
mod classic;
mod consumer;
mod member;
mod next;
mod offsets;
mod samples;
mod versions;

pub(super) use samples::SAMPLES;

use super::client::Failure;
use super::{Checks, Subject};
use crate::args::Args;

pub(super) async fn check(checks: &mut Checks) -> Result<(), Failure> {
    let args = Args { rebalance_delay_ms: 0, ..Args::default() };
    let (subject, server) = Subject::start(args).await?;
    versions::check(checks, &subject).await?;
    classic::check(checks, &subject).await?;
    offsets::check(checks, &subject).await?;
    next::check(checks, &subject).await?;
    server.abort();
    burdens::check(checks).await
}
