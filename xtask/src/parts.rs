//! The three workspaces with everything in them, tests included. `check` takes its lints from the build that `test` runs, so
//! nothing is compiled twice.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::build::{Built, build};
use crate::localnet;
use crate::workspace::{Workspace, command};

#[derive(Debug, Clone, Copy)]
pub enum Part {
    Service,
    Program,
    Network,
}

impl Part {
    pub const ALL: [Self; 3] = [Self::Network, Self::Service, Self::Program];

    /// With `optional_features`, the tests of the service expect a relayer that has them.
    pub fn build(self, workspace: &Workspace, optional_features: bool) -> Result<Built> {
        let (what, from_nothing, mut cargo) = match self {
            Self::Network => {
                let mut cargo = localnet::cargo(workspace, "build");
                cargo.arg("--release");
                ("the embedded network and its tests", localnet::FROM_NOTHING, cargo)
            }
            Self::Service => {
                let mut cargo = workspace.cargo("build");
                cargo.args(["--workspace", "--features", "purser-relayer/fault-injection"]);
                if optional_features {
                    cargo.args(["--features", "purser-tests/optional-features"]);
                }
                ("the service and its tests", "about 12 minutes", cargo)
            }
            Self::Program => {
                ("the program's tests", "about 5 minutes", workspace.program_tests_cargo("build"))
            }
        };
        build(what, from_nothing, linted(&mut cargo).args(["--all-targets", "--keep-going"]))
    }
}

impl Workspace {
    /// Builds the crash runs, and the relayer that can die at a chosen step (see `core/src/crash_point.rs`).
    pub fn build_crash_runs(&self) -> Result<()> {
        let mut cargo = self.cargo("build");
        cargo.args(["--workspace", "--bin", "purser-fault-injection", "--bin", "crash"]);
        cargo.args(["--features", "purser-relayer/fault-injection"]);
        build("the relayer with crash points, and the crash runs", "about 9 minutes", &mut cargo).map(drop)
    }
}

/// Keys in cloud services, whose SDKs take minutes to build, and traces.
const OPTIONAL_FEATURES: &str =
    "purser-relayer/signer-aws-kms,purser-relayer/signer-gcp-kms,purser-relayer/otel";

/// The relayer as it ships, without crash points, from the same crates as [`Part::Service`]; `optional_features` add more.
pub fn build_shipped_relayer(workspace: &Workspace, optional_features: bool) -> Result<Built> {
    let mut cargo = workspace.relayer_cargo();
    if optional_features {
        cargo.args(["--features", OPTIONAL_FEATURES]);
    }
    build("the relayer as it ships", "about 14 minutes", linted(&mut cargo))
}

/// An example of the program's tests. It uses their profile, because the program's own code becomes machine code in any.
pub fn program_example(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let mut cargo = workspace.program_tests_cargo("build");
    build(&format!("the example {name}"), "about 5 minutes", linted(&mut cargo).args(["--example", name]))?;
    Ok(workspace.program_tests_target().join("debug/examples").join(name))
}

/// An example of the service's workspace.
pub fn service_example(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--workspace", "--example", name]);
    build(&format!("the example {name}"), "about a minute", linted(&mut cargo))?;
    Ok(workspace.target.join("debug/examples").join(name))
}

/// Lints like an installed `cargo clippy`, but on a build instead of a check: so it shares its dependencies with the tests.
pub fn linted(build: &mut Command) -> &mut Command {
    if has_clippy() {
        build.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    }
    build
}

pub fn has_clippy() -> bool {
    let mut asked = command("clippy-driver");
    let is_there = asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there.is_ok_and(|status| status.success())
}
