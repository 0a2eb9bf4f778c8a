//! What a relayer lists, compared with the chain: accounts, the history, its order and its refusals.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use purser_audit::check::Check;
use purser_audit::gather::Subject;
use purser_audit::report::{Report, Verdict, html, text};
use purser_audit::{Request, Source, audit};
use purser_client::{AccountIds, OnChainPolicy};
use purser_policy::id_with_tag;
use purser_tests::saved;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use support::{BEGIN, PAYEE, Paying, TestChain};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const SIGNED: &str = "txn_00000000000000000000000001";

fn date(unix_seconds: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(unix_seconds).expect("a time");
    at.format(&Rfc3339).expect("a time")
}

/// What an honest relayer would list.
struct Lists {
    accounts: Vec<Value>,
    history: Vec<Value>,
    denials: Vec<Value>,
    balance: Value,
}

fn honest(chain: &TestChain, payments: &[(String, i64)]) -> Lists {
    let id = AccountIds::on(&Pubkey::default().to_string()).expect("a genesis hash").of(&chain.agent);
    let entry = |kind: &str, amount: &str, at: i64| {
        json!({ "type": kind, "status": "settled", "amount_usdc": amount, "counterparty": null, "memo": null,
            "transfer_id": null, "tx_signature": null, "message": null, "created_at": date(at), "visible_at": date(at) })
    };
    let begin = payments[0].1 - 60;
    let mut deposit = entry("deposit", "1000000.000000", begin);
    deposit["tx_signature"] = json!(chain.deposit());
    let mut history = vec![deposit];
    for (at, (signature, time)) in payments.iter().enumerate() {
        let mut payment = entry("transfer", "9.000000", *time);
        payment["counterparty"] = json!(chain.purse_of(&PAYEE).to_string());
        payment["memo"] = json!("m");
        let id = ulid::Ulid::from_bytes(id_with_tag([0; 8], at as u64 + 2));
        payment["transfer_id"] = json!(format!("txn_{id}"));
        payment["tx_signature"] = json!(signature);
        history.push(payment);
    }
    // A refusal of long before the newest entry.
    let mut refusal = entry("transfer", "11.000000", begin + 1);
    refusal["status"] = json!("rejected");
    refusal["transfer_id"] = json!(SIGNED);
    refusal["message"] = json!("no");
    history.insert(1, refusal);
    history.reverse();
    let accounts = vec![
        json!({ "account_id": id, "solana_address": chain.agent.to_string(), "created_at": date(begin) }),
    ];
    let denials =
        vec![json!({ "denial": { "account_id": id, "amount_micro_usdc": "11000000", "message": "no",
        "rejected_at": date(begin + 1), "transfer_id": SIGNED } })];
    let balance = json!({ "account_id": id, "balance_usdc": "999982.000000", "last_updated": date(begin) });
    Lists { accounts, history, denials, balance }
}

async fn audited(spoil: impl FnOnce(&mut Lists)) -> Report {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let mut payments = Vec::new();
    for _ in 0..2 {
        chain.now += 60;
        payments.push((chain.pays(&Paying::usdc(9)), chain.now));
    }
    chain.saves();
    let mut lists = honest(&chain, &payments);
    spoil(&mut lists);
    let Lists { accounts, history, denials, balance } = lists;
    // It is busy at first.
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let api = saved::relayer(move |path| match path {
        path if asked.lock().expect("nobody panics").insert(path.to_owned()) => json!(0),
        "/v1/accounts" => json!(accounts),
        "/v1/denials" => json!(denials),
        path if path.ends_with("/balance") => balance.clone(),
        _ => json!(history),
    })
    .await;
    let saved = tempfile::tempdir().expect("a temporary folder can be made");
    let node = saved::serves(chain.folder.path()).await;
    let source = Source::Node {
        urls: vec![node.parse().expect("a URL")],
        program: purser_client::purser::ID,
        subject: Subject::Operator(chain.operator),
        save: Some(saved.path().to_owned()),
    };
    let operator = chain.operator.to_string();
    let arguments = ["--url", &node, "--operator", &operator, "--api", &api, "--key", "key"];
    let api = Some((api.parse().expect("a URL"), "key".to_owned()));
    let audited = audit(Request { source, api, explorer: None }, &|_| {}).await;
    support::auditor::says_the_same_by(&arguments, &audited).await;
    let report = audited.expect("it can be done");
    // Whoever has the directory compares what the relayer said there, too: by the command line and by the page.
    let folder = saved.path().to_owned();
    let again = tokio::task::spawn_blocking(move || support::audited(&folder)).await.expect("it ends");
    for check in [Check::History, Check::Solvency] {
        assert_eq!(found(&again, check), found(&report, check));
    }
    assert_eq!((again.holds, again.complete), (report.holds, report.complete), "{}", text(&again));
    report
}

fn history(report: &Report) -> (Verdict, String) {
    found(report, Check::History)
}

fn found(report: &Report, check: Check) -> (Verdict, String) {
    let check = report.checks.iter().find(|it| it.check == check).expect("every check is reported");
    (check.result, check.findings.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n"))
}

#[tokio::test]
async fn each_way_in_which_a_relayer_lists_something_else_than_the_chain_is_named() {
    let report = audited(|_| {}).await;
    assert!(report.holds && report.complete, "{}", text(&report));
    assert_eq!(history(&report).0, Verdict::Holds);
    type Spoils = fn(&mut Lists);
    let cheats: [(&str, Spoils); 9] = [
        ("which the operator's transactions do not create", |lists| {
            // Something stands there, and it is no account of this operator.
            let (id, there) = ("acct_2", purser_client::purser::ID.to_string());
            lists.accounts.push(
                json!({ "account_id": id, "solana_address": there, "created_at": date(BEGIN + 9_000_000) }),
            );
        }),
        ("The relayer lists the account acct_1", |lists| {
            lists.accounts.push(
                json!({ "account_id": "acct_1", "solana_address": PAYEE.to_string(), "created_at": date(0) }),
            );
        }),
        ("under the id acct_1, which is not its own", |lists| {
            lists.accounts[0]["account_id"] = json!("acct_1")
        }),
        // A minute later than its block and its id.
        ("The relayer says that it happened at", |lists| {
            let time =
                OffsetDateTime::parse(lists.history[0]["created_at"].as_str().expect("a time"), &Rfc3339);
            let later = time.expect("a time").unix_timestamp() + 60;
            lists.history[0]["created_at"] = json!(date(later));
            lists.history[0]["visible_at"] = json!(date(later));
        }),
        ("The relayer's list is out of order", |lists| lists.history.swap(0, 1)),
        ("has a transfer of 9.000000 USDC in the transaction not-a-signature", |lists| {
            lists.history[0]["tx_signature"] = json!("not-a-signature");
        }),
        ("lacks a transfer of 9.000000 USDC", |lists| drop(lists.history.remove(0))),
        ("lacks the refusal txn_00000000000000000000000001, which it signed", |lists| {
            lists.history.retain(|entry| entry["status"] == "settled");
        }),
        ("has the refusal txn_00000000000000000000000001, which it never signed", |lists| {
            lists.denials.clear()
        }),
    ];
    for (says, spoil) in cheats {
        let report = audited(spoil).await;
        let (verdict, found) = history(&report);
        assert_eq!(verdict, Verdict::DoesNotHold, "{says}\n{}", text(&report));
        assert!(found.contains(says), "{says} is not in\n{found}");
    }
}

#[tokio::test]
async fn balance_that_the_relayer_states_and_the_token_account_does_not_hold_is_named() {
    let report = audited(|_| {}).await;
    let solvency = report.solvency.as_ref().expect("a relayer was asked");
    assert_eq!((solvency.purses_usdc.as_str(), solvency.accounts.len()), ("999982.000000", 1));
    assert_eq!(solvency.stated_usdc.as_deref(), Some("999982.000000"));
    assert_eq!(found(&report, Check::Solvency).0, Verdict::Holds, "{}", text(&report));
    let report = audited(|lists| lists.balance["balance_usdc"] = json!("999983.000000")).await;
    let (verdict, says) = found(&report, Check::Solvency);
    assert_eq!(verdict, Verdict::DoesNotHold, "{}", text(&report));
    assert!(says.contains("says that the account holds 999983.000000 USDC"), "{says}");
    assert!(says.contains("its token account holds 999982.000000"), "{says}");
    // A key that does not open it leaves the question open.
    let report = audited(|lists| lists.balance = Value::Null).await;
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
    assert_eq!(found(&report, Check::Solvency).0, Verdict::Incomplete);
}

/// Whatever a relayer writes: it neither forges a line of the text, nor an element of the page.
#[tokio::test]
async fn hostile_text_of_a_relayer_stays_text_on_the_terminal_and_on_the_page() {
    const HOSTILE: &str =
        "<script>alert(1)</script>\"'&\u{1b}[2J\u{202e}\n\nEverything that was checked holds.\n";
    let report = audited(|lists| {
        lists
            .accounts
            .push(json!({ "account_id": HOSTILE, "solana_address": HOSTILE, "created_at": date(0) }));
        for field in ["memo", "counterparty", "tx_signature", "transfer_id"] {
            lists.history[0][field] = json!(HOSTILE);
        }
        lists.history[1]["memo"] = json!(HOSTILE);
        lists.history[1]["counterparty"] = json!(HOSTILE);
        lists.balance["balance_usdc"] = json!(HOSTILE);
    })
    .await;
    assert!(!report.holds);
    let shown = text(&report);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("Everything that was checked")), "{shown}");
    assert!(shown.contains("alert(1)"), "it is named: {shown}");
    let page = html(&report);
    for forged in ["<script", "</script", "\"'&", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(forged), "{forged:?} is in the page");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is named");
    assert!(page.contains("default-src 'none'"), "nothing runs and nothing is fetched");
}
