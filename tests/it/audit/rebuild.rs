//! The page's way to trust the source alone: the program is built from it, and compared with the one on chain.

use std::path::{Path, PathBuf};
use std::{env, fs};

use purser_tests::network::{path_text, temp_folder};
use purser_tests::{TestNetwork, binaries, sbf};
use serde_json::Value;

use super::printed;

#[tokio::test]
async fn program_on_chain_is_compared_with_a_rebuild_by_the_commands_of_the_page() {
    if !sbf::has_compiler() || !builds_into_target() {
        return;
    }
    let blocks = printed("console");
    let rebuild =
        blocks.iter().find(|block| block.starts_with("cargo xtask sbf --check")).expect("it is there");
    let network = TestNetwork::shared().await;
    let folder = temp_folder();
    std::os::unix::fs::symlink(binaries::relayer(), folder.path().join("purser"))
        .expect("the folder is writable");
    let path = format!("{}:{}", path_text(folder.path()), env::var("PATH").unwrap_or_default());
    let mut shell = sbf::shell(rebuild, &binaries::workspace());
    let output = shell.env("PATH", path).env("RPC_URL", &network.rpc_url).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let (record, verdict) = said.split_once("}\n").unwrap_or_else(|| panic!("{said}{complaint}"));
    let record: Value = serde_json::from_str(&format!("{record}}}")).expect("the record of a build");
    let committed = fs::read(binaries::workspace().join("programs/purser/idl/purser.so.json"));
    let committed: Value = serde_json::from_slice(&committed.expect("it is committed")).expect("JSON");
    // Newer tools of Debian's give other bytes, which is what the commands have to say then.
    let (status, expected) =
        if record["sha256"] == committed["sha256"] { (0, "same") } else { (1, "another program") };
    assert_eq!(output.status.code(), Some(status), "{said}{complaint}");
    assert!(verdict.contains(expected), "{said}");
    assert!(verdict.contains(record["sha256"].as_str().expect("a hash")), "{said}");
}

/// The page names `target/`, which is another folder if cargo is told so.
fn builds_into_target() -> bool {
    let own = |path: &Path| path.canonicalize().ok();
    let target = own(&binaries::workspace().join("target"));
    let is_own = target
        .is_some_and(|target| own(&PathBuf::from("/proc/self/exe")).is_some_and(|it| it.starts_with(target)));
    if !is_own {
        eprintln!("not run: cargo builds elsewhere than in target/, which the page names");
    }
    is_own
}
