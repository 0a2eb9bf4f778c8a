//! What an operator types: `anchor run NAME -- ARGS`.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::binaries;

/// Runs a script of `Anchor.toml` as Anchor does: a shell runs its line, followed by the arguments, in the workspace's root,
/// with cluster and wallet in the environment and no standard input. If `PURSER_ANCHOR` names Anchor's own command line
/// (`sbf/anchor.sh`), that runs it. `migrate` is the `purser-migrate` that the tests were built with: another build would
/// have other features.
pub fn run(url: &str, wallet: &Path, migrate: &Path, name: &str, arguments: &str) -> Output {
    let mut command = match std::env::var_os("PURSER_ANCHOR") {
        Some(anchor) => {
            let mut command = Command::new(anchor);
            command.args(["run", name, "--provider.cluster", url, "--provider.wallet"]);
            command.arg(wallet).arg("--").args(arguments.split(' '));
            command
        }
        None => {
            eprintln!("PURSER_ANCHOR is not set: the script `{name}` is run without Anchor");
            let mut command = Command::new("bash");
            command.arg("-c").arg(format!("{} {arguments}", script(name)));
            command.env("ANCHOR_PROVIDER_URL", url).env("ANCHOR_WALLET", wallet);
            command
        }
    };
    command.env("PURSER_MIGRATE", migrate).current_dir(binaries::workspace()).stdin(Stdio::null());
    command.output().expect("a shell, or what PURSER_ANCHOR names, starts")
}

/// The command that `Anchor.toml` has under a name.
fn script(name: &str) -> String {
    let text = std::fs::read_to_string(binaries::workspace().join("Anchor.toml")).expect("it is there");
    let start = format!("{name} = \"");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'));
    line.unwrap_or_else(|| panic!("Anchor.toml has no script {name}")).to_owned()
}
