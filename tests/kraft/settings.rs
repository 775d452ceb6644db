//! How many cases a property is tried with.

use proptest::test_runner::Config;

/// So many, or as many as the environment variable `PROPTEST_CASES` says. Failures are printed
/// instead of kept in a file.
pub(crate) fn cases(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|it| it.parse().ok()).unwrap_or(cases);
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}
