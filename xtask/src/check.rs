//! `cargo xtask check`: everything that can be checked without running the tests.

use anyhow::{Result, ensure};

use crate::parts::{Part, has_clippy};
use crate::workspace::{Workspace, command, run as run_command};
use crate::{circles, frozen, idl, imports, lines, localnet, names, page, pages};

#[derive(clap::Args)]
pub struct Args {
    /// Check nothing, and freeze the migrations: for a release
    #[arg(long)]
    freeze: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if args.freeze {
        return frozen::freeze(&workspace.root);
    }
    step("formatting");
    run_command(workspace.cargo("fmt").args(["--all", "--check"]))?;
    run_command(workspace.program_tests_cargo("fmt").arg("--check"))?;
    run_command(localnet::cargo(workspace, "fmt").arg("--check"))?;

    step("direction of imports");
    imports::check(&workspace.root)?;
    circles::check_all(&workspace.root)?;

    step("budgets of lines");
    lines::check_budgets(workspace)?;

    step("released migrations");
    frozen::check(&workspace.root)?;

    step("module of the audit's page");
    page::check(&workspace.root)?;

    step("pages");
    pages::check(&workspace.root)?;

    step("names of types");
    for folder in circles::crates_under(&workspace.root)? {
        // Each command of xtask has its `Args`.
        if !folder.ends_with("tests") && !folder.ends_with("xtask") {
            names::check(&folder.join("src"))?;
        }
    }

    step("lints");
    ensure!(has_clippy(), "clippy is not installed: `rustup component add clippy`");
    let mut warnings = 0;
    for part in Part::ALL {
        warnings += part.build(workspace, false)?.warnings;
    }
    ensure!(warnings == 0, "{warnings} warnings");

    step("IDL");
    idl::check(workspace)?;

    let deny_installed =
        command("cargo").args(["deny", "--version"]).output().is_ok_and(|it| it.status.success());
    if deny_installed {
        step("dependencies");
        // Advisories are left out: they need a download, which a closed network does not allow.
        run_command(workspace.cargo("deny").args(["check", "bans", "licenses", "sources"]))?;
    } else {
        step("dependencies: skipped, cargo-deny is not installed");
    }
    Ok(())
}

fn step(name: &str) {
    eprintln!("check: {name}");
}
