//! The output of Rust's own test runner, read line by line.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Output {
    /// How many tests the runner announced, and how many of them have ended.
    announced: Option<u64>,
    ended: u64,
    section: Section,
    /// The names of failed tests, from the last list.
    names: Vec<String>,
    /// How long each test took.
    times: Vec<(String, Duration)>,
    outcome: Option<Outcome>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    /// From "failures:" to "test result:": first the tests' output, then their names.
    Failures,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
    pub names: Vec<String>,
    pub times: Vec<(String, Duration)>,
}

impl Output {
    /// Reads a line. Returns whether to show it: failures, the tests' own output and why a test is ignored, nothing else.
    pub fn read(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.outcome = Some(Outcome::read(result));
            self.section = Section::Tests;
            return false;
        }
        if line == "failures:" {
            self.section = Section::Failures;
            self.names.clear();
            return true;
        }
        if self.section == Section::Failures {
            if let Some(name) = line.strip_prefix("    ").filter(|name| !name.contains(' ')) {
                self.names.push(name.to_owned());
            }
            return true;
        }
        if let Some(announced) = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test")) {
            self.announced = announced.0.parse().ok();
            return self.announced.is_none();
        }
        if let Some((test, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            let (word, time) = rest.split_once(" <").unwrap_or((rest, ""));
            if ["ok", "FAILED"].contains(&word) || word.starts_with("ignored") {
                self.ended += 1;
                let seconds = time.strip_suffix("s>").and_then(|time| time.parse().ok());
                self.times.extend(seconds.map(|seconds| (test.to_owned(), Duration::from_secs_f64(seconds))));
                return word.starts_with("ignored, ");
            }
        }
        !line.is_empty() && !line.ends_with("has been running for over 60 seconds")
    }

    pub fn how_far(&self) -> String {
        format!("{} of {} tests", self.ended, self.announced.unwrap_or_default())
    }

    /// If the runner fails without a result, or contradicts it, that is one more failure.
    pub fn ended(self, well: bool) -> Outcome {
        let mut outcome = self.outcome.unwrap_or_default();
        outcome.names = self.names;
        outcome.times = self.times;
        if !well && outcome.failed == 0 {
            outcome.failed = 1;
            outcome.names = vec!["(ended without a result)".to_owned()];
        }
        outcome
    }
}

impl Outcome {
    fn read(result: &str) -> Self {
        let mut outcome = Self::default();
        for part in result.split(['.', ';']) {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => outcome.passed = number.parse().unwrap_or(0),
                Some((number, "failed")) => outcome.failed = number.parse().unwrap_or(0),
                Some((number, "ignored")) => outcome.ignored = number.parse().unwrap_or(0),
                Some(_) | None => {}
            }
        }
        outcome
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(f, ", {} ignored", self.ignored)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines shown, and the outcome.
    fn read(text: &str, well: bool) -> (Vec<&str>, Outcome) {
        let mut output = Output::default();
        let shown = text.lines().filter(|line| output.read(line)).collect();
        (shown, output.ended(well))
    }

    #[test]
    fn passing_tests_are_counted_and_ignored_ones_shown_with_their_reason() {
        let (shown, outcome) = read(
            "\nrunning 3 tests\ntest a ... ok\ntest b::c ... ignored, takes long\n\
             test d has been running for over 60 seconds\ntest d - should panic ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s\n",
            true,
        );
        assert_eq!(shown, ["test b::c ... ignored, takes long"]);
        assert_eq!((outcome.passed, outcome.failed, outcome.ignored), (2, 0, 1));
    }

    #[test]
    fn failing_test_is_shown_with_its_output_and_named() {
        let (shown, outcome) = read(
            "running 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout ----\n    word\n\
             assertion failed\n\nfailures:\n    b::c\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s\n",
            false,
        );
        assert!(shown.contains(&"assertion failed") && shown.contains(&"---- b::c stdout ----"), "{shown:?}");
        assert_eq!((outcome.passed, outcome.failed, outcome.names), (1, 1, vec!["b::c".to_owned()]));
    }

    #[test]
    fn time_of_each_test_is_read() {
        let (shown, outcome) =
            read("running 2 tests\ntest a::b ... ok <1.250s>\ntest c ... FAILED <0.001s>\n", false);
        assert!(shown.is_empty(), "{shown:?}");
        let times = outcome.times.iter().map(|(test, took)| (test.as_str(), took.as_millis()));
        assert_eq!(times.collect::<Vec<_>>(), [("a::b", 1_250), ("c", 1)]);
    }

    #[test]
    fn output_past_the_runner_is_shown() {
        let (shown, _) = read("running 1 test\nskipped: no Postgres\ntest a ... ok\n", true);
        assert_eq!(shown, ["skipped: no Postgres"]);
    }

    #[test]
    fn runner_that_dies_is_a_failure() {
        let (_, outcome) = read("running 3 tests\ntest a ... ok\n", false);
        assert_eq!((outcome.failed, outcome.names.len()), (1, 1));
        assert_eq!(read("", false).1.failed, 1);
    }
}
