//! `cargo xtask test`: every test there is, in every workspace, counted together.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::localnet;
use crate::postgres::{self, Found, Postgres};
use crate::workspace::{Workspace, text};

#[derive(clap::Args)]
pub struct Args {
    /// Print the closing count as JSON, and everything else to stderr
    #[arg(long)]
    json: bool,
    /// Handed to every test runner: a part of the names to run, or the runner's own options
    #[arg(last = true)]
    filter: Vec<String>,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    localnet::ensure_built(workspace)?;
    workspace.build_relayer()?;
    workspace.build_fault_injection()?;
    let mut tally = Tally::default();
    let postgres = Postgres::find();
    match &postgres {
        Ok(Found::Named | Found::Own(_)) => {}
        Ok(Found::Missing(how_to_have_one)) => eprintln!("{how_to_have_one}"),
        Err(error) => {
            eprintln!("error: {error:#}");
            tally.failed += 1;
        }
    }
    let mut root = workspace.cargo("test");
    root.arg("--workspace");
    let program = workspace.program_tests_cargo("test");
    let mut network = localnet::cargo(workspace, "test");
    network.arg("--release");
    let anchor = anchor(workspace);
    for mut runner in [root, program, network] {
        runner.arg("--no-fail-fast").arg("--").args(&args.filter);
        runner.env("PURSER_LOCALNET_BIN", localnet::binary(workspace));
        runner.env("PURSER_BIN", workspace.relayer());
        if let Some(anchor) = &anchor {
            runner.env("PURSER_ANCHOR", anchor);
        }
        if let Ok(Found::Own(postgres)) = &postgres {
            runner.env(postgres::VARIABLE, postgres.url());
        }
        count(&mut runner, args.json, &mut tally)?;
    }
    drop(postgres);
    if args.json {
        println!("{}", serde_json::to_string(&tally)?);
    } else {
        println!("{} passed, {} failed", tally.passed, tally.failed);
    }
    // Nothing more is printed: the count is the last line, also when it is a sad one.
    let all_well = tally.failed == 0 && tally.passed > 0;
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Anchor's own command line, where it can be had.
fn anchor(workspace: &Workspace) -> Option<PathBuf> {
    let anchor = workspace.root.join("sbf/anchor.sh");
    let found = Command::new(&anchor).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Some(anchor);
    }
    eprintln!("anchor cannot be had from npm: the commands of docs/operating.md are run without it");
    None
}

/// Runs one cargo test run, shows what it says and adds what it counted.
fn count(runner: &mut Command, to_stderr: bool, tally: &mut Tally) -> Result<()> {
    let failed_before = tally.failed;
    let mut child =
        runner.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", text(runner)))?;
    let stdout = child.stdout.take().context("the test runner has no stdout")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if to_stderr {
            writeln!(std::io::stderr(), "{line}")?;
        } else {
            writeln!(std::io::stdout(), "{line}")?;
        }
        tally.read(&line);
    }
    tally.end_of_run();
    if !child.wait()?.success() && tally.failed == failed_before {
        // It did not even compile, or could not start.
        tally.failed += 1;
    }
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// A harness said "running" and has not said "test result" yet.
    #[serde(skip)]
    harness_open: bool,
}

impl Tally {
    fn read(&mut self, line: &str) {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.end_of_run();
            self.harness_open = true;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.harness_open = false;
            for part in result.split(['.', ';']) {
                match part.trim().split_once(' ') {
                    Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                    Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                    Some((number, "ignored")) => self.ignored += number.parse().unwrap_or(0),
                    Some(_) | None => {}
                }
            }
        }
    }

    /// A harness that died without its result line is one failure.
    fn end_of_run(&mut self) {
        if std::mem::take(&mut self.harness_open) {
            self.failed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally_of(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally.end_of_run();
        tally
    }

    #[test]
    fn results_of_several_harnesses_are_summed() {
        let tally = tally_of(&[
            "running 3 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s",
            "running 1 test",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ]);
        assert_eq!((tally.passed, tally.failed, tally.ignored), (2, 1, 1));
    }

    #[test]
    fn harness_that_dies_counts_as_a_failure() {
        let tally = tally_of(&[
            "running 3 tests",
            "running 1 test",
            "test result: ok. 1 passed; 0 failed; 0 ignored",
        ]);
        assert_eq!((tally.passed, tally.failed), (1, 1));
        assert_eq!(tally_of(&["running 3 tests"]).failed, 1);
    }
}
