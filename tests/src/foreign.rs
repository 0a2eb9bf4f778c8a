//! Third-party programs, in Python and Node, that the tests run. `.ci/run` installs them, and environment variables name their
//! folders. A test whose variable is not set says so and skips.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tempfile::TempDir;
use tokio::process::Command;

use crate::binaries;
use crate::network::temp_folder;

/// The folder with Python programs such as `schemathesis`.
pub fn python() -> Option<PathBuf> {
    let python = PathBuf::from(found("PURSER_PYTHON")?);
    python.parent().map(Path::to_path_buf)
}

/// The same for LangChain, whose packages need an older MCP.
pub fn langchain() -> Option<PathBuf> {
    let python = PathBuf::from(found("PURSER_LANGCHAIN")?);
    python.parent().map(Path::to_path_buf)
}

/// The folder with the npm packages. Their programs are in its `.bin`, with the version of `node` that they need.
pub fn node_modules() -> Option<PathBuf> {
    found("PURSER_NODE_MODULES").map(PathBuf::from)
}

/// The folder with npm `@solana/pay`, which wants another `@solana/kit` than the others.
pub fn solana_pay() -> Option<PathBuf> {
    found("PURSER_SOLANA_PAY").map(PathBuf::from)
}

fn found(variable: &str) -> Option<String> {
    let value = env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        eprintln!("not run: {variable} is not set");
    }
    value
}

/// A file that a third-party program gets.
pub fn file(name: &str) -> PathBuf {
    binaries::workspace().join("tests/foreign").join(name)
}

/// A folder with `tests/foreign/auditor`, as the page for auditors sets it up.
pub fn auditor(modules: &Path) -> TempDir {
    let folder = temp_folder();
    let scripts =
        fs::read_dir(file("auditor")).expect("it is there").map(|entry| entry.expect("it is there").path());
    let idl = ["purser.json", "purser.so.json"]
        .map(|name| binaries::workspace().join("programs/purser/idl").join(name));
    for from in scripts.chain(idl) {
        let to = folder.path().join(from.file_name().expect("files have names"));
        fs::copy(&from, to).expect("the folder is writable");
    }
    std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).expect("the folder is writable");
    folder
}

/// A shell in `folder` that prefers the programs in these folders, and `purser`, to all others.
pub fn shell(folder: &Path, programs: &[PathBuf], line: &str) -> Command {
    let own = folder.join("bin");
    if !own.exists() {
        fs::create_dir(&own).expect("the folder is writable");
        std::os::unix::fs::symlink(binaries::relayer(), own.join("purser")).expect("the folder is writable");
    }
    let usual = env::var_os("PATH").unwrap_or_default();
    let paths = [own].into_iter().chain(programs.iter().cloned()).chain(env::split_paths(&usual));
    let mut shell = Command::new("sh");
    shell.args(["-ec", line]).current_dir(folder).kill_on_drop(true);
    shell.env("PATH", env::join_paths(paths).expect("folders have plain names"));
    shell
}

/// A command's output; panics with all of it if the command fails.
pub async fn printed(mut command: Command) -> String {
    let output = command.output().await.expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {printed}\n{complaint}");
    printed
}
