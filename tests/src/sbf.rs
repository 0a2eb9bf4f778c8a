//! Builds of the program with `sbf/build.sh`, where `cargo xtask sbf --check` unpacked its compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::binaries::workspace;
use crate::network::path_text;

/// Set by cargo for whoever runs this. Build scripts watch some of these, so a cargo below would build anew.
const SET_BY_CARGO: [&str; 6] =
    ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "OUT_DIR"];

/// Whether the compiler is there, which comes from Debian's archive. Says so if not.
pub fn has_compiler() -> bool {
    let is_debian =
        fs::read_to_string("/etc/os-release").is_ok_and(|it| it.lines().any(|it| it == "ID=debian"));
    let home =
        env::var_os("SBF_HOME").map_or_else(|| PathBuf::from("/var/cache/sbf-toolchain"), PathBuf::from);
    let is_there = is_debian && home.join("llvm-23/version").is_file();
    if !is_there {
        eprintln!(
            "not run: the program's compiler is not unpacked; on Debian `cargo xtask sbf --check` does it"
        );
    }
    is_there
}

/// Builds the program with one of the fuzzer's mistakes in it (`programs/purser/tests/fuzz/mutants`), from a copy of the
/// source in `folder`.
pub fn builds_mutant(name: &str, folder: &Path) -> PathBuf {
    let mutant = workspace().join("programs/purser/tests/fuzz/mutants").join(name).with_extension("patch");
    let script = r#"mkdir tree && tar -C "$SOURCE" --exclude ./target --exclude ./.git -c . | tar -C tree -x
        patch --strip=1 --silent --force --directory tree --input "$MUTANT"
        tree/sbf/build.sh tree/programs/purser built"#;
    let mut shell = shell(script, folder);
    shell.env("SOURCE", path_text(&workspace())).env("MUTANT", path_text(&mutant));
    let output = shell.output().expect("there is a shell");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    folder.join("built/purser.so")
}

/// A shell that runs a line as it is typed in `folder`.
pub fn shell(line: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-ec", line]).current_dir(folder);
    for variable in SET_BY_CARGO {
        shell.env_remove(variable);
    }
    shell
}
