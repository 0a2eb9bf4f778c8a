//! `cargo xtask page`: builds the audit of a browser tab, and checks that the committed build is of these sources. What compares
//! hashes costs nothing; a build costs minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// Build nothing: compare the sources with those of the committed build
    #[arg(long)]
    check: bool,
    /// With --check: build aside too, and compare the bytes
    #[arg(long, requires = "check")]
    rebuild: bool,
}

/// What `audit/page/build.sh` writes beside the module.
#[derive(Deserialize)]
struct Record {
    /// Of the module, lower-case hex.
    sha256: String,
    rustc: String,
    linker: String,
    /// Every other crate in it, with its version.
    crates: BTreeSet<String>,
    /// Every file that it was compiled from, with its hash as [`code_hash`] takes it.
    sources: BTreeMap<String, String>,
}

const BUILT: &str = "audit/page/built";
const MODULE: &str = "purser_page.wasm";
const STALE: &str = "run `cargo xtask page` and commit audit/page/built";

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let built = workspace.root.join(BUILT);
    if !args.check {
        build(workspace, &built)?;
    }
    check(&workspace.root)?;
    if args.rebuild {
        let aside = workspace.target.join("page-check");
        build(workspace, &aside)?;
        let (committed, fresh) = (Record::read(&built)?, Record::read(&aside)?);
        let tools = |record: &Record| format!("{}, {}", record.rustc, record.linker);
        ensure!(
            fresh.sha256 == committed.sha256,
            "committed: {} by {}; built here: {} by {}",
            committed.sha256,
            tools(&committed),
            fresh.sha256,
            tools(&fresh)
        );
        eprintln!("page: the committed module is what the source gives ({})", fresh.sha256);
    }
    Ok(())
}

fn build(workspace: &Workspace, out_dir: &Path) -> Result<()> {
    let mut script = command(workspace.root.join("audit/page/build.sh"));
    script.arg(out_dir);
    eprintln!("Building the audit to WebAssembly (some minutes)");
    run_command(script.stdout(Stdio::from(std::io::stderr())))
}

/// Fails unless the committed module is the recorded one, and its code and crates are still those of the record.
pub fn check(root: &Path) -> Result<()> {
    let built = root.join(BUILT);
    let record = Record::read(&built)?;
    let module = fs::read(built.join(MODULE)).with_context(|| format!("cannot read {MODULE}; {STALE}"))?;
    ensure!(hex(&Sha256::digest(&module)) == record.sha256, "{MODULE} is not the recorded one; {STALE}");
    for (file, hash) in &record.sources {
        let code = fs::read_to_string(root.join(file)).ok().map(|text| code_hash(&text));
        ensure!(code.as_ref() == Some(hash), "{file} is another than {MODULE} was built from; {STALE}");
    }
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let gone: Vec<&String> = record.crates.iter().filter(|it| !is_locked(&lock, it)).collect();
    ensure!(gone.is_empty(), "{MODULE} was built with crates that are no longer locked: {gone:?}; {STALE}");
    Ok(())
}

impl Record {
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(format!("{MODULE}.json"));
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a build record", path.display()))
    }
}

/// Of a file without lines of comment and the tests at its end: they leave the module as it is. `build.sh` does the same.
fn code_hash(text: &str) -> String {
    let mut hash = Sha256::new();
    let code = text.lines().take_while(|line| *line != "mod tests {");
    for line in code.filter(|line| !line.trim_start().starts_with("//")) {
        hash.update(line);
        hash.update("\n");
    }
    hex(&hash.finalize())
}

/// Whether `NAME VERSION` is in a `Cargo.lock`.
fn is_locked(lock: &str, named: &str) -> bool {
    let Some((name, version)) = named.split_once(' ') else { return false };
    lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_change_no_hash_and_code_does() {
        let text =
            "//! Does it.\nfn a() {\n    // why\n    b()\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        let same = text.replace("why", "because").replace("c()", "d()");
        assert_eq!(code_hash(text), code_hash(&same));
        assert_ne!(code_hash(text), code_hash(&text.replace("b()", "c()")));
        // As `build.sh` prints it.
        let code = "fn a() {\n    b()\n}\n\n#[cfg(test)]\n";
        assert_eq!(code_hash(text), hex(&Sha256::digest(code)));
    }

    #[test]
    fn crate_is_locked_in_its_version_alone() {
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\n";
        assert!(is_locked(lock, "serde 1.0.1"));
        assert!(!is_locked(lock, "serde 1.0"));
        assert!(!is_locked(lock, "serd 1.0.1"));
    }
}
