//! `--self-test`: quorums of child processes that are killed, restarted, grown and shrunk while records are written.

mod cluster;
mod voters;

use crate::client::Failure;
use crate::load::writer::Run;
use crate::load::{WRITERS, check_nodes};
use crate::random::HostRandom;
use cluster::Cluster;
use std::fmt::Display;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long anything may take that is to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Records that have to be acknowledged after something has gone wrong.
const PROGRESS: u64 = 400;

/// Runs everything. Whether all of it held.
pub(crate) async fn run() -> Result<bool, Failure> {
    let start = Instant::now();
    let mut cluster = Cluster::new()?;
    let outcome = scenario(&mut cluster).await;
    let seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(records) => {
            cluster.delete();
            println!("all held in {seconds:.1} s, {records} records");
            Ok(true)
        }
        Err(error) => {
            println!("FAILED after {seconds:.1} s: {error}\nsee {}", cluster.directory().display());
            Ok(false)
        }
    }
}

/// Gives how many records were written.
async fn scenario(cluster: &mut Cluster) -> Result<usize, Failure> {
    let first = [1, 2, 3];
    let all = [1, 2, 3, 4, 5];
    for id in first {
        cluster.start_voter(id, &first)?;
    }
    let (leader, _) = cluster.leader().await?;
    ok(format_args!("three nodes elect {leader}"));

    let run = Run::start(cluster.addresses(), HostRandom::new().draw(), WRITERS);
    progress(&run).await?;
    ok("records are written");
    kill_in_turn(cluster, &run, &first).await?;
    for id in [4, 5] {
        cluster.start_observer(id)?;
        cluster.caught_up(id).await?;
        voters::add(cluster, id).await?;
    }
    cluster.has_voters(&all).await?;
    run.ask(cluster.addresses());
    ok("two more are voters");
    kill_together(cluster, &run, &all).await?;
    let old = cluster.directory_id(4)?;
    cluster.replace(4)?;
    cluster.has_replaced(4, old).await?;
    ok("4 has lost its disk and is a voter again");
    let left = shrink(cluster, &run, &all).await?;

    let logs = run.stop().await;
    let found = check_nodes(&cluster.addresses(), &logs, PATIENCE).await?;
    ok("all that was acknowledged is on all five, once and in order");
    cluster.tear(left.first().copied().unwrap_or(1)).await?;
    ok("a torn batch is cut off");
    cluster.terminate(&all).await?;
    for id in all {
        cluster.restart(id)?;
    }
    cluster.has_voters(&left).await?;
    check_nodes(&cluster.addresses(), &logs, PATIENCE).await?;
    ok("all of it is there after all have ended and started again");
    let run = Run::start(cluster.addresses(), HostRandom::new().draw(), WRITERS);
    progress(&run).await?;
    let logs = run.stop().await;
    let more = check_nodes(&cluster.addresses(), &logs, PATIENCE).await?;
    ok("and more is written");
    Ok(found + more)
}

/// Kills each node while records are written, and then whoever leads; at last a leader is told to end.
async fn kill_in_turn(cluster: &mut Cluster, run: &Run, ids: &[i32]) -> Result<(), Failure> {
    for id in ids {
        let (leader, _) = cluster.leader().await?;
        let role = if *id == leader { "the leader" } else { "a follower" };
        cluster.kill(*id)?;
        come_back(cluster, run, &[*id]).await?;
        ok(format_args!("kill -9 of {id}, {role}"));
    }
    let (leader, _) = cluster.leader().await?;
    cluster.kill(leader)?;
    come_back(cluster, run, &[leader]).await?;
    ok(format_args!("kill -9 of {leader}, the leader"));
    let (leader, _) = cluster.leader().await?;
    cluster.terminate(&[leader]).await?;
    come_back(cluster, run, &[leader]).await?;
    ok(format_args!("{leader} has led and handed over"));
    if cfg!(unix) {
        let (leader, _) = cluster.leader().await?;
        cluster.pause(leader, true)?;
        let others: Vec<_> = ids.iter().copied().filter(|id| *id != leader).collect();
        run.ask(cluster.addresses_of(&others)?);
        progress(run).await?;
        cluster.pause(leader, false)?;
        run.ask(cluster.addresses());
        cluster.caught_up(leader).await?;
        ok(format_args!("{leader} has led, was held up and sees that another leads"));
    }
    Ok(())
}

/// Kills two of five nodes at once, and then all of them.
async fn kill_together(cluster: &mut Cluster, run: &Run, all: &[i32]) -> Result<(), Failure> {
    let (leader, _) = cluster.leader().await?;
    let other = all.iter().copied().find(|id| *id != leader).unwrap_or(leader);
    cluster.kill(leader)?;
    cluster.kill(other)?;
    come_back(cluster, run, &[leader, other]).await?;
    ok(format_args!("kill -9 of {leader}, the leader, and {other} of five"));
    for id in all {
        cluster.kill(*id)?;
    }
    for id in all {
        cluster.restart(*id)?;
    }
    progress(run).await?;
    ok("kill -9 of all five");
    Ok(())
}

/// Records are written without these nodes, which then are started again and get what they have missed.
async fn come_back(cluster: &mut Cluster, run: &Run, ids: &[i32]) -> Result<(), Failure> {
    progress(run).await?;
    for id in ids {
        cluster.restart(*id)?;
        cluster.caught_up(*id).await?;
    }
    Ok(())
}

/// Removes two voters, each while it leads. Gives those that are left.
async fn shrink(cluster: &Cluster, run: &Run, all: &[i32]) -> Result<Vec<i32>, Failure> {
    let mut left = all.to_vec();
    for _ in 0..2 {
        let (leader, _) = cluster.leader().await?;
        voters::remove(cluster, leader).await?;
        left.retain(|id| *id != leader);
        cluster.has_voters(&left).await?;
        progress(run).await?;
        ok(format_args!("{leader} has led and is no voter any more"));
    }
    Ok(left)
}

fn ok(what: impl Display) {
    println!("ok  {what}");
}

/// Waits until more records were acknowledged.
async fn progress(run: &Run) -> Result<(), Failure> {
    let goal = run.acknowledged() + PROGRESS;
    until("records are acknowledged", async || Ok(run.acknowledged() >= goal)).await
}

/// Waits until something holds. While it cannot be asked, it does not.
async fn until(
    what: &str,
    mut holds: impl AsyncFnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        let outcome = holds().await;
        if matches!(outcome, Ok(true)) {
            return Ok(());
        }
        if start.elapsed() >= PATIENCE {
            let why = outcome.err().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!("{what}: not within {} s{why}", PATIENCE.as_secs()).into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}
