//! `tests/foreign/auditor`, which shares no code with `purser audit`, reaches the same verdict and exit status: on the chain
//! itself, and on each way of cheating, served by a node that has only what an audit saved.

use std::fs;
use std::path::PathBuf;

use purser_tests::binaries::workspace;
use purser_tests::network::temp_folder;
use purser_tests::{foreign, saved};
use solana_sdk::pubkey::Pubkey;
use tempfile::TempDir;

use super::{Cheat, Scene};

/// The command line of the page for auditors.
const COMMAND: &str = "node auditor.mts --url \"$RPC_URL\" --account \"$ACCOUNT\" --idl purser.json";

/// The script in a folder with its packages.
pub(super) struct Auditor {
    folder: TempDir,
    modules: PathBuf,
}

impl Auditor {
    /// `None` if the packages are missing.
    pub(super) fn new() -> Option<Auditor> {
        let modules = foreign::node_modules()?;
        if !modules.join("@anchor-lang/core").exists() {
            eprintln!("not run: @anchor-lang/core is not installed");
            return None;
        }
        Some(Auditor { folder: foreign::auditor(&modules), modules })
    }

    /// Returns its exit status and output.
    pub(super) async fn audits(&self, url: &str, account: &Pubkey) -> (i32, String) {
        let mut shell = foreign::shell(self.folder.path(), &[self.modules.join(".bin")], COMMAND);
        shell.env("RPC_URL", url).env("ACCOUNT", account.to_string());
        let output = shell.output().await.expect("there is a shell");
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code().expect("it ends by itself"), String::from_utf8_lossy(&printed).into_owned())
    }
}

/// Sets the script up by the page's own commands, in a folder that looks like a checkout, and audits with it.
async fn audits_as_printed(url: &str, account: &Pubkey) -> String {
    let blocks = super::printed("console");
    let commands =
        blocks.iter().find(|block| block.ends_with(&format!("{COMMAND}\n"))).expect("the page has it");
    let folder = temp_folder();
    for part in ["tests", "programs"] {
        std::os::unix::fs::symlink(workspace().join(part), folder.path().join(part))
            .expect("the folder is writable");
    }
    let mut shell = foreign::shell(folder.path(), &[], commands);
    shell.env("RPC_URL", url).env("ACCOUNT", account.to_string());
    foreign::printed(shell).await
}

#[tokio::test]
async fn auditor_that_knows_the_idl_alone_comes_to_the_same_verdict() {
    let Some(auditor) = Auditor::new() else { return };
    let scene = Scene::new().await;
    assert_eq!(scene.audited(&[]).0, 0);
    let ada = scene.ada.address;
    for account in [ada, scene.ben.address] {
        let (status, printed) = auditor.audits(scene.url(), &account).await;
        assert_eq!(status, 0, "{printed}");
        assert!(printed.contains("Everything that was checked holds."), "{printed}");
    }
    let printed = audits_as_printed(scene.url(), &ada).await;
    let sums = "4 payments of 10.500000 USDC, 100.000000 USDC came, 5.000000 USDC were withdrawn, 84.500000 USDC are left";
    assert!(printed.contains(sums), "{printed}");

    for Cheat { copy, found } in scene.cheats() {
        let (status, printed) = auditor.audits(&saved::serves(copy.folder.path()).await, &ada).await;
        assert_eq!(status, copy.audited().0, "{found:?}\n{printed}");
        for (check, _) in found {
            assert!(printed.contains(&format!("{check}: ")), "{check} is not in\n{printed}");
        }
    }
    for (copy, _) in scene.untellable() {
        let (status, printed) = auditor.audits(&saved::serves(copy.folder.path()).await, &ada).await;
        assert_eq!(status, 2, "{printed}");
    }
    let modified = scene.lets_too_much_pass().await;
    let (status, printed) = auditor.audits(&saved::serves(modified.folder.path()).await, &ada).await;
    assert_eq!(status, modified.audited().0, "{printed}");
    assert!(printed.contains("single_limit: Payment 3 of 12.000000 USDC"), "{printed}");

    let (forged, _) = scene.adds_a_line_of_another_program();
    let (status, printed) = auditor.audits(&saved::serves(forged.folder.path()).await, &ada).await;
    assert_eq!((status, forged.audited().0), (0, 0), "{printed}");
    let lost = scene.copy();
    fs::remove_file(lost.transaction(&scene.payments[0])).expect("it was saved");
    let (status, printed) = auditor.audits(&saved::serves(lost.folder.path()).await, &ada).await;
    assert_eq!((status, lost.audited().0), (2, 2), "{printed}");
    assert_eq!(auditor.audits(scene.url(), &Pubkey::new_unique()).await.0, 2);
}
