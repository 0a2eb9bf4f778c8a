//! `cargo xtask check`: everything that can be said of the tree without running it.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{Workspace, command, run as run_command};
use crate::{circles, idl, imports, localnet};

pub fn run(workspace: &Workspace) -> Result<()> {
    step("formatting");
    run_command(workspace.cargo("fmt").args(["--all", "--check"]))?;
    run_command(workspace.program_tests_cargo("fmt").arg("--check"))?;
    run_command(localnet::cargo(workspace, "fmt").arg("--check"))?;

    step("direction of imports");
    imports::check(&workspace.root.join("relayer/src"))?;
    circles::check(&workspace.root.join("relayer/src"))?;

    step("lints");
    let features = ["--workspace", "--features", "purser-relayer/fault-injection"];
    run_command(lint(workspace.cargo("build").args(features)))?;
    run_command(lint(&mut workspace.program_tests_cargo("build")))?;
    run_command(lint(localnet::cargo(workspace, "build").arg("--release")))?;

    step("IDL");
    idl::check(workspace)?;

    let deny_installed =
        command("cargo").args(["deny", "--version"]).output().is_ok_and(|it| it.status.success());
    if deny_installed {
        step("dependencies");
        // Advisories are left out: they need a download that a closed network does not allow.
        run_command(workspace.cargo("deny").args(["check", "bans", "licenses", "sources"]))?;
    } else {
        step("dependencies: skipped, cargo-deny is not installed");
    }
    Ok(())
}

/// What `cargo clippy` does, on a build instead of a check: so the dependencies are those that the tests are built with, and
/// are not compiled a second time. That alone took a third of the gate.
fn lint(build: &mut Command) -> &mut Command {
    build.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    build.env("CLIPPY_ARGS", ["--deny", "warnings"].map(|word| format!("{word}__CLIPPY_HACKERY__")).concat());
    build.args(["--all-targets", "--quiet"])
}

fn step(name: &str) {
    eprintln!("check: {name}");
}
