//! What holds after each step, whatever fetchers and hosts do: one test an invariant. They judge
//! what the cache says and exports, not what the model does.

mod cache;
mod response;
mod session;

use crate::driver::{Did, Driver, Step};
use crate::operation::{operations, setup};
use crate::settings::cases;
use kafka_coordination::fetch::ChangeTracking;
use proptest::test_runner::{TestCaseResult, TestRunner};

/// How many lists of operations an invariant is tried with.
const CASES: u32 = 40;

/// Shows each step of random runs to the check that `check` makes for a run.
fn after_each_step<C>(check: impl Fn() -> C)
where
    C: FnMut(&mut Driver, &Step) -> TestCaseResult,
{
    let mut runner = TestRunner::new(cases(CASES));
    let input = (setup(), operations(60));
    let result = runner.run(&input, |(setup, operations)| {
        crate::driver::run(&setup, ChangeTracking::Off, &operations, check())
    });
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

/// The session that a step created.
fn created(step: &Step) -> Option<i32> {
    match &step.did {
        Did::Finished(finished) => {
            let id = finished.answer.session_id;
            let is_new = id != 0 && step.before.session(id).is_none();
            (is_new && step.after.session(id).is_some()).then_some(id)
        }
        _ => None,
    }
}
