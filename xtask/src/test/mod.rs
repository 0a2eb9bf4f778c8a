//! `cargo xtask test`: every test in every workspace, counted together.
//!
//! Cargo builds the test programs and we run them, as `cargo test` would. The one example of the documentation, in
//! `client/README.md`, is run by `tests/it/client_readme.rs`.

pub mod groups;
mod load;
mod output;
mod timings;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use purser_dev::Progress;
use serde::Serialize;

use crate::build::TestProgram;
use crate::localnet;
use crate::parts::{Part, build_shipped_relayer};
use crate::postgres::{self, Found, Postgres};
use crate::workspace::{Workspace, command};
use groups::{GROUPS, Group};
use load::Load;
use output::{Outcome, Output};
use timings::Timings;

const BLACK_BOX: &str = "tests/it/main.rs";
/// Waits more than it computes, so it runs beside the programs before the black-box tests.
const WAITS: &str = "migrations/tests/wallet/main.rs";
/// Three for each of two cores, as most tests wait: for slots, finality and the start of processes, or for what expires.
const TESTS_AT_ONCE: &str = "6";

#[derive(clap::Args)]
pub struct Args {
    /// Print the closing count as JSON, and everything else to stderr
    #[arg(long)]
    json: bool,
    /// Run every test N times with two busy cores beside it, go on at failures, and report which tests failed how often
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Run the groups too, with the relayer as it ships: other people's clients, generators, a browser, packages, clusters
    #[arg(long)]
    full: bool,
    /// Run the tests of these groups alone (`cargo xtask groups` lists them)
    #[arg(long, value_name = "NAME", conflicts_with = "full")]
    group: Vec<String>,
    /// Build the relayer with every feature that no usual build has, and try them: keys in AWS KMS and Google Cloud KMS, traces
    #[arg(long)]
    optional_features: bool,
    /// Handed to every test program: a part of the names to run, or the options of Rust's own test runner
    /// With a part of a name, tests of the groups run too
    #[arg(last = true)]
    filter: Vec<String>,
}

impl Args {
    fn tier(&self) -> Result<Tier> {
        let groups = self.group.iter().map(|name| Group::named(name)).collect::<Result<Vec<_>>>()?;
        Ok(match (self.full, groups.is_empty()) {
            (true, _) => Tier::Full,
            (false, true) if self.filter.is_empty() => Tier::Fast,
            (false, true) => Tier::Chosen,
            (false, false) => Tier::Groups(groups),
        })
    }
}

/// Which tests run.
enum Tier {
    /// All but the groups: money, truth, access and data.
    Fast,
    /// The tests that a filter names, wherever they are.
    Chosen,
    /// Some groups alone.
    Groups(Vec<&'static Group>),
    Full,
}

impl Tier {
    /// Whether the relayer under test is the one that ships. A build of its own, so the fast tier takes the one with crash points.
    fn ships(&self) -> bool {
        match self {
            Self::Fast | Self::Chosen => false,
            Self::Groups(groups) => groups.iter().any(|group| group.name == "packages"),
            Self::Full => true,
        }
    }

    /// Whether it has tests in a program other than the black-box tests.
    fn has_unit_tests(&self) -> bool {
        match self {
            Self::Fast | Self::Chosen | Self::Full => true,
            Self::Groups(_) => false,
        }
    }

    /// What the black-box tests' runner is told.
    fn choice(&self) -> Vec<&'static str> {
        match self {
            Self::Fast => {
                GROUPS.iter().flat_map(|group| group.tests).flat_map(|test| ["--skip", test]).collect()
            }
            Self::Groups(groups) => groups.iter().flat_map(|group| group.tests).copied().collect(),
            Self::Chosen | Self::Full => Vec::new(),
        }
    }
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    let tier = args.tier()?;
    let mut tally = Tally::default();
    let mut timings = Timings::default();
    let mut programs = build(workspace, &tier, args.optional_features, &mut tally);
    if !tier.has_unit_tests() {
        programs.retain(|program| program.source.ends_with(BLACK_BOX));
    }
    let postgres = Postgres::find();
    match &postgres {
        Ok(Found::Named | Found::Own(_)) => {}
        Ok(Found::Missing(how_to_have_one)) => eprintln!("{how_to_have_one}"),
        Err(error) => tally.fail(error),
    }
    let room = TestSetup { workspace, postgres: &postgres, anchor: anchor(workspace), tier: &tier, args };
    let mut failures = BTreeMap::<String, u32>::new();
    for round in 1..=args.repeat.unwrap_or(1) {
        let load = args.repeat.map(|rounds| {
            eprintln!("Round {round} of {rounds}, beside {} busy cores", load::CORES);
            Load::start()
        });
        for (name, ended) in room.run_all(&programs)? {
            tally.add(&ended);
            timings.add(ended.times.into_iter().map(|(test, took)| (format!("{name} {test}"), took)));
            for failed in ended.names {
                *failures.entry(format!("{name} {failed}")).or_default() += 1;
            }
        }
        drop(load);
    }
    if let Some(rounds) = args.repeat {
        room.say(&often(&failures, rounds))?;
    }
    if args.filter.is_empty() {
        room.say(&timings.table())?;
    }
    if let Tier::Groups(groups) = &tier {
        for group in groups {
            let failed =
                failures.keys().filter(|test| group.has(test.trim_start_matches(BLACK_BOX).trim_start()));
            room.say(&format!("group {}: {} failed", group.name, failed.count()))?;
        }
    }
    drop(postgres);
    if args.json {
        println!("{}", serde_json::to_string(&tally)?);
    } else {
        println!("{} passed, {} failed", tally.passed, tally.failed);
    }
    // Nothing is printed after this: the count is the last line even when tests failed.
    let all_well = tally.failed == 0 && tally.passed > 0;
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A part that does not compile counts as one failure, and the rest is still tested.
fn build(workspace: &Workspace, tier: &Tier, optional_features: bool, tally: &mut Tally) -> Vec<TestProgram> {
    let mut programs = Vec::new();
    let parts = Part::ALL.into_iter().map(|part| part.build(workspace, optional_features));
    // Last, because it puts its relayer where the service's part leaves one with crash points.
    let shipped = tier.ships().then_some(|| build_shipped_relayer(workspace, optional_features));
    for built in parts.chain(shipped.into_iter().map(|build| build())) {
        match built {
            Ok(built) => programs.extend(built.tests),
            Err(error) => tally.fail(&error),
        }
    }
    programs
}

/// Which tests failed, the most frequent first.
fn often(failures: &BTreeMap<String, u32>, rounds: u32) -> String {
    if failures.is_empty() {
        return format!("No test failed in {rounds} rounds.");
    }
    let mut rows: Vec<_> = failures.iter().collect();
    rows.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    let rows: String = rows.iter().map(|(test, times)| format!("\n{times:>6}  {test}")).collect();
    format!("Failed, in {rounds} rounds:{rows}")
}

/// Anchor's own command line, if it can be installed.
fn anchor(workspace: &Workspace) -> Option<PathBuf> {
    let anchor = workspace.root.join("sbf/anchor.sh");
    let found = Command::new(&anchor).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Some(anchor);
    }
    eprintln!("anchor cannot be had from npm: the commands of the operators' pages are run without it");
    None
}

/// The environment of test programs.
struct TestSetup<'a> {
    workspace: &'a Workspace,
    postgres: &'a Result<Found>,
    anchor: Option<PathBuf>,
    tier: &'a Tier,
    args: &'a Args,
}

impl TestSetup<'_> {
    /// Runs the test programs, the black-box tests when the others are done.
    fn run_all(&self, programs: &[TestProgram]) -> Result<Vec<(String, Outcome)>> {
        let of = |end| programs.iter().filter(move |program| program.source.ends_with(end));
        let is_other =
            |program: &&TestProgram| !program.source.ends_with(WAITS) && !program.source.ends_with(BLACK_BOX);
        let run = |program| self.run(program);
        let mut all = std::thread::scope(|scope| {
            let waits = scope.spawn(|| of(WAITS).map(run).collect::<Result<Vec<_>>>());
            let mut all = programs.iter().filter(is_other).map(run).collect::<Result<Vec<_>>>()?;
            all.extend(waits.join().map_err(|_| anyhow!("a thread panicked"))??);
            anyhow::Ok(all)
        })?;
        all.extend(of(BLACK_BOX).map(run).collect::<Result<Vec<_>>>()?);
        Ok(all)
    }

    /// Runs a test program. Prints one line, and the output of failed tests. Returns its name, too.
    fn run(&self, program: &TestProgram) -> Result<(String, Outcome)> {
        let name = program
            .source
            .strip_prefix(&self.workspace.root)
            .unwrap_or(&program.source)
            .display()
            .to_string();
        let progress = Progress::begin_quietly(format!("Running {name}"));
        let begun = Instant::now();
        let mut child = self.command(program).spawn().with_context(|| format!("cannot start {name}"))?;
        let mut output = Output::default();
        for line in BufReader::new(child.stdout.take().context("it has no stdout")?).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if output.read(&line) {
                progress.beside(|| drop(self.say(&line)));
            }
            progress.show(output.how_far());
        }
        let status = child.wait()?;
        progress.end();
        let ended = output.ended(status.success());
        if ended.passed + ended.failed + ended.ignored > 0 {
            self.say(&format!("{name}: {ended} in {:.1} s", begun.elapsed().as_secs_f32()))?;
        }
        Ok((name, ended))
    }

    fn command(&self, program: &TestProgram) -> Command {
        let mut runs = command(&program.path);
        // Its own test runner measures each test only if it may do what is not stable yet.
        runs.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        runs.args(["--test-threads", TESTS_AT_ONCE]);
        if program.source.ends_with(BLACK_BOX) {
            runs.args(self.tier.choice());
        }
        runs.args(&self.args.filter).current_dir(&program.folder).stdout(Stdio::piped());
        runs.env("CARGO_MANIFEST_DIR", &program.folder);
        runs.env("PURSER_LOCALNET_BIN", localnet::binary(self.workspace));
        runs.env("PURSER_BIN", self.workspace.relayer());
        runs.env("PURSER_FAULT_INJECTION_BIN", self.workspace.fault_injection());
        if let Some(anchor) = &self.anchor {
            runs.env("PURSER_ANCHOR", anchor);
        }
        if let Ok(Found::Own(postgres)) = self.postgres {
            runs.env(postgres::VARIABLE, postgres.url());
        }
        runs
    }

    fn say(&self, line: &str) -> std::io::Result<()> {
        if self.args.json {
            writeln!(std::io::stderr(), "{line}")
        } else {
            writeln!(std::io::stdout(), "{line}")
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    fn add(&mut self, ended: &Outcome) {
        self.passed += ended.passed;
        self.failed += ended.failed;
        self.ignored += ended.ignored;
    }

    /// Counts an error outside the tests that keeps them from running.
    fn fail(&mut self, error: &anyhow::Error) {
        eprintln!("error: {error:#}");
        self.failed += 1;
    }
}
