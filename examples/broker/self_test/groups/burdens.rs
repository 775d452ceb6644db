//! Members that wait. What they must not leave in the broker's memory meanwhile shows where the self-test's memory is
//! counted.

use super::member::Member;
use crate::args::Args;
use crate::self_test::client::Failure;
use crate::self_test::{Checks, Subject};
use kafka_protocol::protocol::StrBytes;

/// So many members send a megabyte that is nothing to the group: more than the whole self-test may hold.
const MEMBERS: usize = 24;
const MEGABYTE: usize = 1_000_000;
/// How long the group waits for them.
const DELAY_MS: i32 = 500;

pub(super) async fn check(checks: &mut Checks) -> Result<(), Failure> {
    let args = Args { rebalance_delay_ms: DELAY_MS, ..Args::default() };
    let (subject, server) = Subject::start(args).await?;
    let mut joining = Vec::new();
    for _ in 0..MEMBERS {
        let mut member = Member::connect(subject.address, "waiting").await?;
        member.id = member.client.call(9, &member.request()).await?.member_id;
        let reason = StrBytes::from_string("r".repeat(MEGABYTE));
        let request = member.request().with_reason(Some(reason));
        let bytes = crate::self_test::client::encode(9, 1, &request)?;
        drop(request);
        member.client.send(&bytes).await?;
        joining.push(member);
    }
    let mut answered = 0;
    for member in &mut joining {
        answered += usize::from(member.client.receive().await?.is_some());
    }
    checks.equal(answered, MEMBERS, "members that bring much and wait are answered");
    server.abort();
    Ok(())
}
