//! Cargo builds that show their progress and return what they built.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use purser_dev::Progress;
use serde::Deserialize;

use crate::workspace::{command, text};

/// The result of a build.
#[derive(Debug, Default)]
pub struct Built {
    /// The programs that run tests.
    pub tests: Vec<TestProgram>,
    pub warnings: usize,
}

#[derive(Debug, Clone)]
pub struct TestProgram {
    pub path: PathBuf,
    /// The root source file of its tests: `relayer/app/src/lib.rs`.
    pub source: PathBuf,
    /// The package's folder, in which cargo runs tests.
    pub folder: PathBuf,
}

/// A line of cargo's `--message-format json`: https://doc.rust-lang.org/cargo/reference/external-tools.html
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Artifact {
        package_id: String,
        manifest_path: PathBuf,
        target: Target,
        profile: Profile,
        executable: Option<PathBuf>,
        fresh: bool,
    },
    #[serde(rename = "compiler-message")]
    Diagnosed { message: Diagnostic },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    rendered: Option<String>,
    level: String,
}

/// Builds `what`, which takes `from_nothing` on two cores if nothing is compiled yet.
pub fn build(what: &str, from_nothing: &str, cargo: &mut Command) -> Result<Built> {
    let progress = Progress::begin(format!("Building {what} ({from_nothing} from nothing)"));
    let crates = crates_of(cargo);
    let colours = if std::io::stderr().is_terminal() { "json-diagnostic-rendered-ansi" } else { "json" };
    cargo.args(["--quiet", "--message-format", colours]).stdout(Stdio::piped());
    let mut child = cargo.spawn().with_context(|| format!("cannot start {}", text(cargo)))?;
    let mut built = Built::default();
    let (mut done, mut compiled) = (BTreeSet::new(), BTreeSet::new());
    for line in BufReader::new(child.stdout.take().context("cargo has no stdout")?).lines() {
        match serde_json::from_str(&line?) {
            Ok(Message::Artifact { package_id, manifest_path, target, profile, executable, fresh }) => {
                if !fresh {
                    compiled.insert(package_id.clone());
                }
                if !target.kind.iter().any(|kind| kind == "custom-build") {
                    done.insert(package_id);
                }
                progress.show(match crates {
                    // An estimate by `cargo tree`, which leaves some out.
                    Some(crates) if done.len() <= crates => format!("{} of {crates} crates", done.len()),
                    Some(_) | None => format!("{} crates", done.len()),
                });
                if let (true, Some(path)) = (profile.test, executable) {
                    let folder = manifest_path.parent().context("a manifest has a folder")?.to_path_buf();
                    built.tests.push(TestProgram { path, source: target.src_path, folder });
                }
            }
            Ok(Message::Diagnosed { message }) => {
                progress.beside(|| eprint!("{}", message.rendered.unwrap_or_default()));
                built.warnings += usize::from(message.level == "warning");
            }
            Ok(Message::Other) | Err(_) => {}
        }
    }
    if !child.wait()?.success() {
        bail!("cannot build {what}: {} failed", text(cargo));
    }
    let seconds = progress.end().as_secs();
    let compiled = match compiled.len() {
        0 => "nothing was left to compile".to_owned(),
        some => format!("{some} of {} crates compiled", done.len()),
    };
    eprintln!("Built {what} in {seconds} s: {compiled}");
    Ok(built)
}

/// How many crates the build has; cargo only shows that on terminals.
fn crates_of(build: &Command) -> Option<usize> {
    let mut tree = command("cargo");
    tree.args(["tree", "--prefix", "none", "--format", "{p}"]);
    tree.current_dir(build.get_current_dir()?).stderr(Stdio::null());
    let mut words = build.get_args().map(|word| word.to_str().unwrap_or_default());
    let (mut all, mut targets, mut with_tests) = (false, Vec::new(), false);
    while let Some(word) = words.next() {
        match word {
            "--workspace" => all = true,
            "--bin" => targets.push(words.next()?),
            "--example" => {
                targets.push(words.next()?);
                with_tests = true;
            }
            "--all-targets" | "--no-run" => with_tests = true,
            "--locked" => {
                tree.arg(word);
            }
            "--package" | "--features" => {
                tree.arg(word).arg(words.next()?);
            }
            _ => {}
        }
    }
    // The features come from the whole workspace, the crates from the targets.
    if all && targets.is_empty() {
        tree.arg("--workspace");
    } else if all {
        for package in packages_with(build.get_current_dir()?, &targets)? {
            tree.args(["--package", &package]);
        }
    }
    tree.args(["--edges", if with_tests { "normal,build,dev" } else { "normal,build" }]);
    let output = tree.output().ok().filter(|output| output.status.success())?;
    let listed = String::from_utf8(output.stdout).ok()?;
    // "name v1.2.3 (proc-macro) (*)": the last if it was listed before.
    let crates: BTreeSet<_> =
        listed.lines().filter(|line| !line.is_empty()).map(|line| line.split(" (").next()).collect();
    Some(crates.len())
}

fn packages_with(workspace: &Path, targets: &[&str]) -> Option<Vec<String>> {
    let mut metadata = command("cargo");
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(workspace);
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.output().ok()?.stdout).ok()?;
    let is_wanted = |target: &serde_json::Value| {
        let is_lib = target["kind"][0] == "lib" || target["kind"][0] == "cdylib";
        !is_lib && target["name"].as_str().is_some_and(|name| targets.contains(&name))
    };
    let packages = metadata["packages"].as_array()?.iter();
    let with = packages.filter(|package| package["targets"].as_array().into_iter().flatten().any(is_wanted));
    Some(with.filter_map(|package| package["name"].as_str().map(str::to_owned)).collect())
}
