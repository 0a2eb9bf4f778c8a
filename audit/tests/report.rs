//! What a report says: from when to when, what left meanwhile, and in the form that its schema describes.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::path::PathBuf;

use purser_audit::report::{Report, Verdict, html, text};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use purser_tests::foreign;
use serde_json::Value;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{PAYEE, Paying, TestChain};

/// Limits that were lifted for a minute, in which 900 USDC left; then another policy authority, and a halt.
fn eventful() -> (TestChain, Keypair) {
    let tight = OnChainPolicy {
        max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(10_000_000)),
        max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(20_000_000)),
        ..OnChainPolicy::default()
    };
    let mut chain = TestChain::new(&tight, 0);
    let pays = |chain: &mut TestChain, amount| {
        chain.now += 30;
        chain.pays(&Paying::usdc(amount))
    };
    pays(&mut chain, 5);
    let key = chain.policy_key.insecure_clone();
    chain.sets_policy(&OnChainPolicy::default(), &key);
    pays(&mut chain, 900);
    chain.now += 30;
    chain.sets_policy(&tight, &key);
    let next = Keypair::new_from_array([5; 32]);
    chain.now += 60;
    chain.rotates_policy_key(&next);
    chain.now += 60;
    chain.halts();
    (chain, next)
}

#[test]
fn report_says_who_held_which_key_what_left_under_each_policy_and_what_was_halted() {
    let (chain, next) = eventful();
    let report = chain.audited();
    assert!(report.holds, "{}", text(&report));
    let account = &report.accounts[0];
    let left: Vec<(u32, u64, &str, bool)> = account
        .policies
        .iter()
        .map(|it| (it.version, it.payments, it.paid_usdc.as_str(), it.until.is_some()))
        .collect();
    assert_eq!(left, [(1, 1, "5.000000", true), (2, 1, "900.000000", true), (3, 0, "0.000000", false)]);
    assert_eq!(
        (account.out_usdc.as_str(), account.deposited_usdc.as_str()),
        ("905.000000", "1000000.000000")
    );
    assert_eq!(report.totals.out_usdc, account.out_usdc);
    assert_eq!(report.totals.last_balance_usdc, "999095.000000");
    assert_eq!(report.loosenings.len(), 1);

    let roles = |name: &str| -> Vec<(String, Option<String>)> {
        let of = report.roles.iter().filter(|it| it.role.words() == name);
        of.map(|it| (it.key.clone(), it.until.as_ref().map(|until| until.time.clone()))).collect()
    };
    let authorities = roles("policy authority");
    assert_eq!(authorities.len(), 2);
    assert!(authorities[0].1.is_some(), "the first one ended: {authorities:?}");
    assert_eq!(authorities[1], (next.pubkey().to_string(), None));
    assert_eq!(roles("admin"), [(chain.admin.pubkey().to_string(), None)]);
    assert_eq!(report.delays.iter().map(|it| it.seconds).collect::<Vec<_>>(), [0]);
    let halt = &report.halts[0];
    assert_eq!(
        (&halt.account, &halt.by, halt.until.is_none()),
        (&None, &chain.admin.pubkey().to_string(), true)
    );

    let shown = text(&report);
    let span = format!("from {} to {}", account.policies[1].from.time, account.policies[2].from.time);
    for said in [
        format!("version 2 {span}: 900.000000 USDC left, in 1 payments"),
        format!("policy authority {}, from", next.pubkey()),
        format!("the operator by {}, from", chain.admin.pubkey()),
        "All 1 accounts".to_owned(),
        report.archive_sha256.clone(),
    ] {
        assert!(shown.contains(&said), "{said} is not in\n{shown}");
    }
    let page = html(&report);
    assert!(page.contains(&format!("Version 2, {span}")), "{page}");
    // No policy asked for a memo.
    let memo = report.checks.iter().find(|it| it.title == "Memo").expect("every check is reported");
    assert_eq!(memo.result, Verdict::NothingToCheck);
    assert!(page.contains("<section class=\"vacuous\"><h3>Memo"), "{page}");
}

#[test]
fn account_that_was_resumed_or_whose_policy_authority_came_back_has_both_times() {
    let (mut chain, _) = eventful();
    chain.now += 60;
    chain.resumes();
    let first = Keypair::new_from_array([2; 32]);
    chain.rotates_policy_key(&first);
    let report = chain.audited();
    assert!(report.holds, "{}", text(&report));
    let halt = &report.halts[0];
    assert!(halt.until.is_some() && halt.resumed_by == Some(chain.admin.pubkey().to_string()), "{halt:?}");
    let times = report.roles.iter().filter(|it| it.key == first.pubkey().to_string());
    assert_eq!(times.map(|it| it.until.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn same_past_has_the_same_root_and_anything_else_another() {
    let (chain, _) = eventful();
    let report = chain.audited();
    assert_eq!(report.archive_sha256, support::audited(chain.folder.path()).archive_sha256);
    chain.spoils(&format!("transactions/{}", chain.deposit()), |transaction| {
        transaction["meta"]["logMessages"] = Value::Null;
    });
    let other = support::audited(chain.folder.path());
    assert_eq!(report.inputs_sha256, other.inputs_sha256, "the signatures are the same");
    assert_ne!(report.archive_sha256, other.archive_sha256);
}

fn schema() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/audit-report.schema.json")
}

/// Every form of a report that tests make, against the schema that is published.
#[tokio::test]
async fn reports_are_what_their_schema_says() {
    let (chain, _) = eventful();
    let mut reports = tokio::task::spawn_blocking(move || {
        let honest = chain.audited();
        chain.spoils(&format!("transactions/{}", chain.deposit()), |transaction| {
            transaction["transaction"]["message"]["instructions"][0]["data"] = "111".into();
        });
        let spoilt = support::audited(chain.folder.path());
        chain.spoils("audit", |manifest| manifest["standing"] = Value::Null);
        let mut withdrawn = TestChain::new(&OnChainPolicy::default(), 86_400);
        withdrawn.withdraws(7_000_000, &PAYEE);
        [honest, spoilt, support::audited(chain.folder.path()), withdrawn.audited()]
    })
    .await
    .expect("they are made");
    reports[0].tool_sha256 = Some("00".repeat(32));
    assert_eq!(reports[3].withdrawals.len(), 1);
    assert_eq!(reports[3].withdrawals[0].recipient_owner, Some(PAYEE.to_string()));
    assert_eq!(
        reports.each_ref().map(|it| (it.holds, it.complete)),
        [(true, true), (false, true), (false, false), (true, true)]
    );
    validates(&reports).await;
}

async fn validates(reports: &[Report]) {
    let Some(python) = foreign::python() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = tokio::process::Command::new(python.join("python"));
    command.arg(foreign::file("schema.py")).arg(schema());
    for (at, report) in reports.iter().enumerate() {
        let file = folder.path().join(format!("{at}.json"));
        std::fs::write(&file, serde_json::to_string(report).expect("JSON")).expect("the folder is writable");
        command.arg(file);
    }
    foreign::printed(command).await;
}
