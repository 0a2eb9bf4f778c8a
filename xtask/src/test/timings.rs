//! What took long: the slowest tests, and the time of each file of tests.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

#[derive(Debug, Default)]
pub struct Timings {
    tests: Vec<(String, Duration)>,
}

impl Timings {
    pub fn add(&mut self, tests: impl IntoIterator<Item = (String, Duration)>) {
        self.tests.extend(tests);
    }

    /// A table of both, for people.
    pub fn table(mut self) -> String {
        let mut files = BTreeMap::<&str, (usize, Duration)>::new();
        for (test, took) in &self.tests {
            let file = files.entry(test.rsplit_once("::").map_or(test, |(file, _)| file)).or_default();
            *file = (file.0 + 1, file.1 + *took);
        }
        let mut table = String::from("Seconds by file, of tests that run beside each other:\n");
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by_key(|(_, (_, took))| std::cmp::Reverse(*took));
        for (file, (tests, took)) in files {
            let _ = writeln!(table, "{:>8.1}  {file} ({tests})", took.as_secs_f32());
        }
        self.tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        table.push_str("The slowest tests:");
        for (test, took) in self.tests.iter().take(SLOWEST) {
            let _ = write!(table, "\n{:>8.1}  {test}", took.as_secs_f32());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tests_and_files_stand_first() {
        let mut timings = Timings::default();
        let of = |test: &str, seconds| (test.to_owned(), Duration::from_secs(seconds));
        timings.add([of("it a::quick", 1), of("it b::slow", 3), of("it a::slowest", 4)]);
        let table = timings.table();
        let lines: Vec<_> = table.lines().map(str::trim).collect();
        assert_eq!(lines[1..3], ["5.0  it a (2)", "3.0  it b (1)"]);
        assert_eq!(lines[4..], ["4.0  it a::slowest", "3.0  it b::slow", "1.0  it a::quick"]);
    }
}
