//! Where the binaries under test are: an environment variable, or the folder that `cargo xtask test` builds them into.

use std::path::{Path, PathBuf};
use std::{env, fs};

use solana_sdk::pubkey::Pubkey;

/// The relayer, `purser`. Set `PURSER_BIN` to use another one.
pub fn relayer() -> PathBuf {
    let beside_the_tests = profile_dir().join(format!("purser{}", env::consts::EXE_SUFFIX));
    found("PURSER_BIN", beside_the_tests, "the relayer")
}

/// The relayer with crash points in it. Set `PURSER_FAULT_INJECTION_BIN` to use another one.
pub fn fault_injection_relayer() -> PathBuf {
    let beside_the_tests = profile_dir().join(format!("purser-fault-injection{}", env::consts::EXE_SUFFIX));
    found("PURSER_FAULT_INJECTION_BIN", beside_the_tests, "the relayer with crash points")
}

/// The relayer without extensions. Set `PURSER_WITHOUT_EXTENSIONS_BIN` to use another one.
pub fn relayer_without_extensions() -> PathBuf {
    let beside_the_tests =
        profile_dir().join(format!("purser-without-extensions{}", env::consts::EXE_SUFFIX));
    found("PURSER_WITHOUT_EXTENSIONS_BIN", beside_the_tests, "the relayer without extensions")
}

/// The audit without the relayer, as `cargo xtask bench audit` builds it. `PURSER_AUDIT_BIN` names it.
pub fn audit_alone() -> PathBuf {
    found("PURSER_AUDIT_BIN", profile_dir().join("audit_alone"), "the audit")
}

/// The network process, `purser-localnet`. Set `PURSER_LOCALNET_BIN` to use another one.
pub fn localnet() -> PathBuf {
    let name = format!("localnet/release/purser-localnet{}", env::consts::EXE_SUFFIX);
    found("PURSER_LOCALNET_BIN", target_dir().join(name), "the network process")
}

/// The built program. Set `PURSER_PROGRAM_SO` to use another one.
pub fn program_so() -> PathBuf {
    found("PURSER_PROGRAM_SO", workspace().join("programs/purser/idl/purser.so"), "the built program")
}

/// The same build with another address in `declare_id!`. The source's address stands in it as data, and in the instructions
/// that compare with it, four bytes in each.
pub fn program_that_declares(id: &Pubkey) -> Vec<u8> {
    const PIECE: usize = 4;
    let mut program = fs::read(program_so()).expect("the built program can be read");
    for (known, new) in purser::ID.as_array().chunks(PIECE).zip(id.as_array().chunks(PIECE)) {
        let places: Vec<usize> =
            (0..=program.len() - PIECE).filter(|at| program[*at..].starts_with(known)).collect();
        assert!(!places.is_empty(), "the built program declares another address");
        for at in places {
            program[at..at + PIECE].copy_from_slice(new);
        }
    }
    program
}

/// The folder of the workspace's `Cargo.toml`.
pub fn workspace() -> PathBuf {
    let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.parent().unwrap_or(manifest_dir).to_path_buf()
}

fn found(variable: &str, default: PathBuf, what: &str) -> PathBuf {
    let path = env::var_os(variable).map_or(default, PathBuf::from);
    assert!(
        path.is_file(),
        "{what} is missing at {}: `cargo xtask test` builds everything and runs the tests ({variable} names another file)",
        path.display()
    );
    path
}

/// `target/debug`: the running test is `target/debug/deps/it-*`, a running tool is `target/debug/crash`.
fn profile_dir() -> PathBuf {
    let this_program = env::current_exe().expect("the running program has a path");
    let folder = this_program.parent().expect("a program lies in a folder");
    let in_deps = folder.file_name().is_some_and(|name| name == "deps");
    if in_deps { folder.parent().unwrap_or(folder).to_path_buf() } else { folder.to_path_buf() }
}

/// The folder of cargo's output.
pub fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace().join(dir),
        None => profile_dir().parent().expect("target/<profile> has a parent").to_path_buf(),
    }
}
