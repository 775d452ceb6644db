//! Measures a case and its floor in one process, alternating, so that what the machine does meanwhile concerns both.

use criterion::Criterion;
use std::time::{Duration, Instant};

/// How often floor and case take turns; the figures are medians.
const ROUNDS: usize = 101;
/// How long one turn takes: short enough to be seldom interrupted.
const TURN: Duration = Duration::from_micros(300);

/// Criterion as all benches set it up, with what the command line says.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args()
}

/// Measures `case` beside `floor`, which does the same work with nothing around it, and prints
/// `ratio NAME: floor .. ns, crate .. ns, ratio ..`; the ratio is the median of those within a round. Then hands both to
/// Criterion.
///
/// Without `--bench`, as under `cargo test`, each runs once.
pub(crate) fn paired(
    criterion: &mut Criterion,
    name: &str,
    mut floor: impl FnMut(),
    mut case: impl FnMut(),
) {
    if is_measuring(name) {
        let (floor_turns, case_turns) = (turns(&mut floor), turns(&mut case));
        let mut rounds: Vec<_> = (0..ROUNDS)
            .map(|_| (nanoseconds(&mut floor, floor_turns), nanoseconds(&mut case, case_turns)))
            .collect();
        let ratio = median(&mut rounds, |(floor, case)| case / floor);
        let floor = median(&mut rounds, |(floor, _)| floor);
        let case = median(&mut rounds, |(_, case)| case);
        println!("ratio {name}: floor {floor:.1} ns, crate {case:.1} ns, ratio {ratio:.2}");
    }
    let mut group = criterion.benchmark_group(name);
    group.bench_function("floor", |bencher| bencher.iter(&mut floor));
    group.bench_function("crate", |bencher| bencher.iter(&mut case));
    group.finish();
}

/// Whether the program was asked to measure, and `name` passes its filter.
pub(crate) fn is_measuring(name: &str) -> bool {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    let is_chosen =
        filters.peek().is_none() || filters.any(|filter| name.contains(filter.as_str()));
    is_chosen
        && arguments.iter().any(|argument| argument == "--bench")
        && !arguments.iter().any(|argument| argument == "--test")
}

/// How many runs make a turn; also the warm-up.
fn turns(work: &mut impl FnMut()) -> u32 {
    let mut turns = 1;
    loop {
        let start = Instant::now();
        for _ in 0..turns {
            work();
        }
        if start.elapsed() >= TURN {
            return turns;
        }
        turns *= 2;
    }
}

fn nanoseconds(work: &mut impl FnMut(), turns: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..turns {
        work();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
}

pub(crate) fn median(rounds: &mut [(f64, f64)], of: impl Fn((f64, f64)) -> f64) -> f64 {
    rounds.sort_by(|one, other| of(*one).total_cmp(&of(*other)));
    of(rounds[rounds.len() / 2])
}
