//! `cargo xtask prove`: z3 proves the claims about the spend window; see `prove/prove.py`.

use anyhow::Result;

use crate::parts::service_example;
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// The window's real size too, and 10,000,000 steps against the Rust instead of 400,000: about 8 minutes
    #[arg(long)]
    long: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.root.join("prove");
    let venv = workspace.target.join("prove");
    let python = venv.join("bin/python");
    if !python.exists() {
        run_command(command("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    // Quick if z3 is already installed.
    let mut install = command(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    run_command(install.arg(folder.join("requirements.txt")).stdout(std::io::stderr()))?;
    let mut prove = command(&python);
    prove.arg(folder.join("prove.py"));
    prove.arg("--rust").arg(service_example(workspace, "window_states")?);
    if args.long {
        prove.arg("--long");
    }
    if args.json {
        prove.arg("--json");
    }
    run_command(&mut prove)
}
