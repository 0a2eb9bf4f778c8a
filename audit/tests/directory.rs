//! Directories from which something was taken, to which something was added, or which say more than is in them.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::fs;

use purser_audit::report::{Report, text};
use purser_client::OnChainPolicy;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use support::{Paying, TestChain, audited, tried};

const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";
const STRANGER: Pubkey = Pubkey::new_from_array([99; 32]);

fn paid() -> TestChain {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    chain.pays(&Paying::usdc(9));
    chain.saves();
    chain
}

/// Audits what a change of `audit.json` leaves.
fn told(change: impl FnOnce(&mut Value, &TestChain)) -> Result<Report, String> {
    let chain = paid();
    chain.spoils("audit", |manifest| change(manifest, &chain));
    tried(chain.folder.path()).map_err(|error| error.to_string())
}

/// The open points of an audit that accuses nobody.
fn left_open(report: &Report) -> String {
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(report));
    report.checks.iter().flat_map(|check| check.unchecked.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn scope_is_an_address_or_absent_and_the_first_line_says_one_account() {
    for (account, says) in [("all", "is not an address"), ("", "is not an address")] {
        let error = told(|manifest, _| manifest["account"] = json!(account)).expect_err("it is refused");
        assert!(error.contains(says), "{error}");
    }
    for agents in [json!([]), json!([STRANGER.to_string()])] {
        let error = told(|manifest, chain| {
            manifest["account"] = json!(chain.agent.to_string());
            manifest["agents"] = agents;
        });
        assert!(error.as_ref().is_err_and(|it| it.contains("lists others or none")), "{error:?}");
    }
    let report = told(|manifest, chain| manifest["account"] = json!(chain.agent.to_string()));
    let report = report.expect("one account can be audited");
    assert!(report.verdict.starts_with("ONE account was audited"), "{}", report.verdict);
    assert!(report.holds && report.complete, "{}", text(&report));
}

#[test]
fn whatever_an_audit_saves_and_is_missing_leaves_it_incomplete() {
    let chain = paid();
    let program = Pubkey::find_program_address(
        &[purser_client::purser::ID.as_ref()],
        &purser_client::UPGRADEABLE_LOADER,
    );
    for file in [
        format!("accounts/{CLOCK}"),
        format!("accounts/{}", program.0),
        format!("signatures/{}", program.0),
        format!("accounts/{}", chain.purse_of(&chain.agent)),
    ] {
        chain.saves();
        fs::remove_file(chain.folder.path().join(format!("{file}.json"))).expect("it was saved");
        let open = left_open(&audited(chain.folder.path()));
        let address = file.rsplit('/').next().expect("a name");
        assert!(open.contains(address) && open.contains("not saved"), "{file}: {open}");
    }
}

#[test]
fn accounts_that_nodes_list_and_those_that_were_created_have_to_be_the_same() {
    let report = told(|manifest, _| {
        manifest["standing"].as_array_mut().expect("a list").push(json!(STRANGER.to_string()));
    });
    let open = left_open(&report.expect("it can be done"));
    assert!(open.contains(&format!("{STRANGER} stands on the chain")), "{open}");
    let report = told(|manifest, _| manifest["standing"] = json!([]));
    let open = left_open(&report.expect("it can be done"));
    assert!(open.contains("no node lists the account"), "{open}");
}

#[test]
fn end_that_no_account_reaches_is_none() {
    let report = told(|manifest, _| manifest["until_slot"] = json!(1_000_000_000_000_u64));
    let open = left_open(&report.expect("it can be done"));
    assert!(open.contains("is said to end with slot 1000000000000"), "{open}");
    // Not even where every account says so: the chain's clock does not.
    let chain = paid();
    chain.spoils("audit", |manifest| manifest["until_slot"] = json!(1_000_000_000_000_u64));
    chain.spoils(&format!("accounts/{CLOCK}"), |snapshot| snapshot["slot"] = json!(1_000_000_000_000_u64));
    let open = left_open(&audited(chain.folder.path()));
    assert!(open.contains("the chain's clock in it is of slot"), "{open}");
}

#[test]
fn directory_of_another_version_is_neither_good_nor_accused() {
    for version in [json!(1), Value::Null, json!(3)] {
        let error = told(|manifest, _| manifest["version"] = version).expect_err("it is refused");
        assert!(error.contains("gather again"), "{error}");
    }
}

#[test]
fn directory_that_is_being_read_into_is_not_audited() {
    // Its accounts may be of now, beside lists of before: nobody is accused of that.
    let error = told(|manifest, _| manifest["is_whole"] = json!(false)).expect_err("it is refused");
    assert!(error.contains("goes on or was interrupted"), "{error}");
}

#[test]
fn surplus_is_named_and_odd_names_are_no_part_of_the_root() {
    let chain = paid();
    let root = audited(chain.folder.path()).archive_sha256;
    fs::write(chain.folder.path().join("accounts/odd name.json"), "{}").expect("the folder is writable");
    fs::write(chain.folder.path().join("transactions/.json"), "{}").expect("the folder is writable");
    assert_eq!(audited(chain.folder.path()).archive_sha256, root);
    let name = format!("accounts/{STRANGER}.json");
    fs::write(chain.folder.path().join(&name), r#"{"slot":1,"account":null}"#)
        .expect("the folder is writable");
    let report = audited(chain.folder.path());
    assert_ne!(report.archive_sha256, root);
    assert!(report.holds && report.complete, "{}", text(&report));
    assert!(report.remarks.iter().any(|remark| remark.text.contains(&name)), "{}", text(&report));
}

#[test]
fn transaction_that_is_listed_as_done_and_shown_as_failed_cannot_be_told() {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let payment = chain.pays(&Paying::usdc(9));
    chain.saves();
    chain.spoils(&format!("transactions/{payment}"), |transaction| {
        transaction["meta"]["err"] = json!({ "InstructionError": [0, "Custom"] });
    });
    let error = tried(chain.folder.path()).expect_err("it is refused").to_string();
    assert!(error.contains(&payment) && error.contains("shows it as failed"), "{error}");
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_read() {
    use purser_audit::{Request, Source, audit};

    let refused = |chain: &TestChain| {
        let request =
            Request { source: Source::Saved(chain.folder.path().to_owned()), api: None, explorer: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let error = runtime.block_on(audit(request, &|_| {})).expect_err("it is refused").to_string();
        assert!(error.contains("no regular file"), "{error}");
        let printed = support::auditor::status(chain.folder.path());
        assert!(printed.is_none_or(|(status, said)| status == 2 && said.contains("no regular file")));
    };
    for name in ["audit.json".to_owned(), format!("accounts/{CLOCK}.json")] {
        let chain = paid();
        let file = chain.folder.path().join(&name);
        fs::remove_file(&file).expect("it was saved");
        std::os::unix::fs::symlink("/dev/zero", &file).expect("the folder is writable");
        refused(&chain);
        fs::remove_file(&file).expect("it is there");
        let made = std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo is there");
        assert!(made.success());
        refused(&chain);
    }
}

#[test]
fn links_of_a_report_lead_to_pages_alone() {
    use purser_audit::{Request, Source, audit};

    let chain = paid();
    for template in
        ["javascript:alert('{signature}')", "data:text/html,{signature}", "https://explorer.example/tx"]
    {
        let request = Request {
            source: Source::Saved(chain.folder.path().to_owned()),
            api: None,
            explorer: Some(template.to_owned()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let error = runtime.block_on(audit(request, &|_| {})).expect_err("it is refused").to_string();
        assert!(error.contains("https://"), "{template}: {error}");
        // `auditor.mts` writes no links.
        let (status, said) = support::page::links_to(chain.folder.path(), template);
        assert_eq!(status, 2, "{template}: {said}");
        assert!(said.as_str().is_some_and(|said| said.contains("https://")), "{template}: {said}");
    }
}
