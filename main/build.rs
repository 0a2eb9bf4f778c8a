//! Says which commit the program is built from. In a crate of its own: only this one is built anew after each commit.

use std::path::Path;
use std::process::Command;

const COMMIT: &str = "PURSER_COMMIT";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={COMMIT}");
    let given = std::env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(checked_out).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env={COMMIT}={commit}");
}

/// `None` where the sources are no clone: without git, in an archive, also in one that lies in another repository.
fn checked_out() -> Option<String> {
    let root = Path::new("..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // The second has a line for each commit.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
