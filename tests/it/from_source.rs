//! From a copy of the committed files: the build, and a program under an address of one's own, with the commands of
//! docs/run/set-up.md as printed. Compiling takes minutes: only `PURSER_TEST_LONG=1` does that.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use purser_tests::binaries;
use solana_sdk::pubkey::Pubkey;

use crate::set_up::{
    Scene, has_a_wallet, named, pays, pays_and_audits, printed, printed_once, sets_up_managed, word,
};

/// As it was typed last: after a change, type it.
const BUILD: &str = "cargo build --locked --release --bin purser --bin purser-migrate --features purser-main/jemalloc\n\
                     export PATH=\"$PWD/target/release:$PATH\"\n";

fn may_compile() -> bool {
    std::env::var_os("PURSER_TEST_LONG").is_some()
}

/// A copy of the committed files, with this folder for its build output.
fn copies_the_files(scene: &mut Scene, target: &Path) {
    let (from, to) = (binaries::workspace(), scene.folder.path().join("source"));
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&from).output();
    let listed = String::from_utf8(listed.expect("there is git").stdout).expect("UTF-8 names");
    for name in listed.split_terminator('\0') {
        let copy = to.join(name);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("the folder is writable");
        fs::copy(from.join(name), copy).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    fs::create_dir_all(target).expect("the folder is writable");
    symlink(target, to.join("target")).expect("the folder is writable");
    scene.place = to;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_the_page_builds_lead_to_a_first_payment() {
    let build = printed_once("build");
    assert_eq!(build, BUILD);
    if !may_compile() {
        return;
    }
    let mut scene = Scene::set().await;
    copies_the_files(&mut scene, &binaries::target_dir());
    let path = scene.types(&format!("{build}echo \"$PATH\""));
    // The last of a name counts.
    scene.variables.push(("PATH", path.trim().to_owned()));
    let release = scene.place.join("target/release");
    for program in ["purser", "purser-migrate"] {
        let found = scene.types(&format!("command -v {program}"));
        assert_eq!(found.trim(), release.join(program).to_string_lossy());
    }
    let key = sets_up_managed(&mut scene).await;
    let (_serving, url) = scene.serves();
    pays(&mut scene, &url, &key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn program_of_ones_own_is_built_deployed_paid_through_and_audited() {
    let blocks = printed("program");
    let [keygen, declare, build, init, migrate, key, audit] = &blocks[..] else { panic!("{blocks:?}") };
    let mut scene = Scene::set().await;
    // Cargo takes a package of two checkouts for the same one: what has another address must not get among the others.
    copies_the_files(&mut scene, &binaries::target_dir().join("from-source"));
    let id = word(&scene.types(keygen), |word| word.parse::<Pubkey>().is_ok());
    scene.variables.push(("PROGRAM_ID", id.clone()));
    scene.types(declare);
    for file in ["programs/purser/src/lib.rs", "Anchor.toml"] {
        let text = fs::read_to_string(scene.place.join(file)).expect("it is committed");
        assert!(text.contains(&id) && !text.contains(&purser::ID.to_string()), "{text}");
    }
    let made = scene.types(init);
    has_a_wallet(&mut scene, &made, 5).await;
    // So far the committed build lies there, which declares another address.
    let refused = scene.is_refused(migrate);
    assert!(refused.contains(&format!("does not declare {id}")), "{refused}");
    if !may_compile() {
        return;
    }
    if !fs::read_to_string("/etc/os-release").is_ok_and(|text| text.lines().any(|line| line == "ID=debian")) {
        let _ =
            writeln!(std::io::stderr(), "skipped: a program of one's own, which is built on Debian alone");
        return;
    }
    scene.types(build);
    let created = scene.types(migrate);
    scene.variables.push(("OPERATOR", named(&created, "operator")));
    let listed = scene.types(&printed("self-custodied")[1]);
    scene.variables.push(("OPERATOR_ID", word(&listed, |word| word.starts_with("op_"))));
    let key = named(&scene.types(key), "key");
    let (_serving, url) = scene.serves();
    pays_and_audits(&mut scene, &url, &key, audit).await;
}
