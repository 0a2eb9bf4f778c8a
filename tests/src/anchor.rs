//! What an operator types: `anchor run NAME -- ARGS`.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Once;

use crate::binaries;

/// Does with a script of the `Anchor.toml` beside its folder what Anchor does.
const STAND_IN: &str = r#"#!/bin/bash
set -eu
cd "$(dirname "$0")/.."
named() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Anchor.toml; }
[ "$1" = run ]
line=$(named "$2")
[ -n "$line" ]
shift 2
if [ $# -gt 0 ]; then [ "$1" = -- ]; shift; fi
export ANCHOR_PROVIDER_URL=$(named cluster) ANCHOR_WALLET=$(named wallet)
exec bash -c "$line $*" </dev/null
"#;

static NOTED: Once = Once::new();

/// Anchor's own command line, if `PURSER_ANCHOR` names it (`sbf/anchor.sh`). Without it, there is a note on standard error.
fn program() -> Option<OsString> {
    let anchor = std::env::var_os("PURSER_ANCHOR");
    if anchor.is_none() {
        NOTED.call_once(|| {
            // Bypasses the test runner, which hides what passing tests print.
            let _ = writeln!(
                std::io::stderr(),
                "not tested with Anchor's own command line, since PURSER_ANCHOR is not set: a shell runs the scripts of Anchor.toml"
            );
        });
    }
    anchor
}

/// Runs a script of `Anchor.toml` as Anchor does: a shell runs its line, followed by the arguments, in the workspace's root,
/// with cluster and wallet in the environment and no standard input. `migrate` is the `purser-migrate` that the tests were
/// built with: another build would have other features.
pub fn run(url: &str, wallet: &Path, migrate: &Path, name: &str, arguments: &str) -> Output {
    let mut command = match program() {
        Some(anchor) => {
            let mut command = Command::new(anchor);
            command.args(["run", name, "--provider.cluster", url, "--provider.wallet"]);
            command.arg(wallet).arg("--").args(arguments.split(' '));
            command
        }
        None => {
            let mut command = Command::new("bash");
            command.arg("-c").arg(format!("{} {arguments}", script(name)));
            command.env("ANCHOR_PROVIDER_URL", url).env("ANCHOR_WALLET", wallet);
            command
        }
    };
    command.env("PURSER_MIGRATE", migrate).current_dir(binaries::workspace()).stdin(Stdio::null());
    command.output().expect("a shell, or what PURSER_ANCHOR names, starts")
}

/// Makes a folder what an operator's checkout is: with an `Anchor.toml` that names this cluster and this wallet, and the scripts.
/// In its `bin`, which is there already, is `anchor`.
pub fn is_set_up(folder: &Path, url: &str, wallet: &Path) {
    let own = fs::read_to_string(binaries::workspace().join("Anchor.toml")).expect("it is there");
    let wallet = wallet.display();
    let set = own
        .replace("\ncluster = \"localnet\"\n", &format!("\ncluster = \"{url}\"\n"))
        .replace("\nwallet = \"~/.config/solana/id.json\"\n", &format!("\nwallet = \"{wallet}\"\n"));
    assert!(set.contains(url) && set.contains(&wallet.to_string()), "{own}");
    fs::write(folder.join("Anchor.toml"), set).expect("the folder is writable");
    symlink(binaries::workspace().join("migrations"), folder.join("migrations")).expect("it is writable");
    let anchor = folder.join("bin/anchor");
    match program() {
        Some(program) => symlink(program, anchor).expect("the folder is writable"),
        None => {
            fs::write(&anchor, STAND_IN).expect("the folder is writable");
            fs::set_permissions(&anchor, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        }
    }
}

/// The command that `Anchor.toml` has under a name.
fn script(name: &str) -> String {
    let text = fs::read_to_string(binaries::workspace().join("Anchor.toml")).expect("it is there");
    let start = format!("{name} = \"");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'));
    line.unwrap_or_else(|| panic!("Anchor.toml has no script {name}")).to_owned()
}
