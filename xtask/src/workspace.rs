//! Paths on this machine, and how commands run there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Variables that cargo sets for this process. Build scripts watch some of these, so a nested cargo must not see
/// them: it would rebuild what a plain `cargo build` has built, and the other way round.
const SET_BY_CARGO: [&str; 6] =
    ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "OUT_DIR"];

pub struct Workspace {
    pub root: PathBuf,
    /// The target directory cargo uses here (`CARGO_TARGET_DIR`, cargo's configuration, or `target/`).
    pub target: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self> {
        let manifest_dir =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest_dir).parent().context("xtask has no parent folder")?.to_path_buf();
        let mut metadata = command("cargo");
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        metadata.arg("--manifest-path").arg(root.join("Cargo.toml"));
        let metadata: serde_json::Value = serde_json::from_str(&output_of(&mut metadata)?)?;
        let target =
            metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(Self { target: target.into(), root })
    }

    /// `cargo` in the root workspace, building into its target directory.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = command("cargo");
        cargo.arg(subcommand).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        if env::var_os("CI").is_some() && subcommand != "fmt" {
            cargo.arg("--locked");
        }
        cargo
    }

    /// `cargo` in the workspace of the program's tests, whose lock excludes the root's. It has its own target directory: it
    /// builds the program with other versions of the same crates, and one directory would mix them up.
    pub fn program_tests_cargo(&self, subcommand: &str) -> Command {
        self.forget_other_checkout();
        let mut cargo = command("cargo");
        cargo
            .arg(subcommand)
            .current_dir(self.program_dir().join("tests"))
            .env("CARGO_TARGET_DIR", self.program_tests_target());
        if subcommand != "fmt" {
            cargo.arg("--locked");
        }
        cargo
    }

    /// Cargo names the program's library without a hash, so that of another checkout in the same directory would be taken for this one's.
    fn forget_other_checkout(&self) {
        let target = self.program_tests_target();
        let (note, root) = (target.join("checkout"), self.root.to_string_lossy());
        if fs::read_to_string(&note).is_ok_and(|noted| noted == root) {
            return;
        }
        for library in ["libpurser.rlib", "libpurser.so"] {
            // Before the first build there is none.
            let _ = fs::remove_file(target.join("debug/deps").join(library));
        }
        // Without the note, the next build removes them again.
        let _ = fs::create_dir_all(&target).and_then(|()| fs::write(note, &*root));
    }

    pub fn program_tests_target(&self) -> PathBuf {
        self.target.join("program-tests")
    }

    pub fn program_dir(&self) -> PathBuf {
        self.root.join("programs/purser")
    }

    /// The committed build of the program.
    pub fn program_so(&self) -> PathBuf {
        self.program_dir().join("idl/purser.so")
    }

    /// The relayer that `cargo build` leaves.
    pub fn relayer(&self) -> PathBuf {
        self.target.join("debug/purser")
    }

    /// Builds the relayer alone, but from the whole workspace, so that cargo gives its dependencies the same features as in
    /// every other build; on its own it would need a second set of them.
    pub fn relayer_cargo(&self) -> Command {
        let mut cargo = self.cargo("build");
        cargo.args(["--workspace", "--bin", "purser"]);
        cargo
    }

    /// The relayer with crash points that `build_crash_runs` leaves.
    pub fn fault_injection(&self) -> PathBuf {
        self.target.join("debug/purser-fault-injection")
    }
}

/// A command without the variables that cargo set for this process.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let package_fact = name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_"));
        if package_fact || SET_BY_CARGO.iter().any(|set| name == *set) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end; fails unless it succeeds, and names it.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", text(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", text(command));
    }
    Ok(())
}

/// Runs a command and returns its stdout. Its stderr only appears in the error.
pub fn output_of(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", text(command)))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed ({})\n{}", text(command), output.status, log.trim_end());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The command as a person would type it, without its environment.
pub fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
