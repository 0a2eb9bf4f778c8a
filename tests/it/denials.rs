//! Signed refusals: a relayer's refusals are in a file that anyone can check, whatever happens to the relayer. Changes to the
//! file or the database are found.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use purser_tests::agent::all_at_once;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::wallet::finalizes_all;
use purser_tests::{
    Agent, Answer, AppSettings, Client, Operator, TestApp, TestDatabase, TestNetwork, awaited, binaries,
    until,
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::instruction::{AccountMeta, Instruction};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

const MEMO_PROGRAM: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/// Writes a head every second.
fn with_heads() -> AppSettings {
    AppSettings { denials: Some(1), ..AppSettings::default() }
}

async fn asks(client: &Client, query: &str) -> Answer {
    let request = client.request(Method::GET, &format!("/v1/denials{query}"));
    client.sends(request.header("accept", "application/x-ndjson")).await
}

/// The operator's file, once it has `lines` lines.
pub async fn file_of(client: &Client, lines: usize) -> String {
    awaited(&format!("{lines} refusals are signed"), async || {
        let answer = asks(client, "").await.has_status(200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        assert!(answer.text.lines().count() <= lines, "no refusal is there twice");
        (answer.text.lines().count() == lines).then_some(answer.text)
    })
    .await
}

/// Runs `purser audit --denials` and returns its exit status with its report.
pub fn audits(text: &str, arguments: &[&str]) -> (i32, Value) {
    let folder = temp_folder();
    let file = folder.path().join("denials.jsonl");
    fs::write(&file, text).expect("the folder is writable");
    let mut audit = Command::new(binaries::relayer());
    audit.args(["audit", "--denials", path_text(&file), "--json"]).args(arguments).current_dir(folder.path());
    let output = audit.env_remove("PURSER_CONFIG").output().expect("the binary starts");
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| json!({ "error": String::from_utf8_lossy(&output.stderr) }));
    (output.status.code().expect("it ends by itself"), report)
}

/// Kinds and numbers of the findings.
fn found(report: &Value) -> Vec<(String, Value)> {
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("no report: {report}"));
    let pair = |one: &Value| (one["kind"].as_str().expect("a text").to_owned(), one["number"].clone());
    findings.iter().map(pair).collect()
}

/// An account that may pay 1 USDC at a time.
pub async fn bounded(operator: &Operator) -> (Agent, Pubkey) {
    let agent = operator.creates_account_with("Ada", "10").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    (agent, payee)
}

/// Gets `count` payments refused, and returns their ids.
async fn gets_refused(agent: &Agent, payee: &Pubkey, count: usize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for answer in all_at_once((0..count).map(|_| agent.pays("2.5").to(payee))).await {
        ids.insert(answer.is_error(402, "policy_violation").text_of("transfer_id").to_owned());
    }
    ids
}

fn ids_of(file: &str) -> BTreeSet<String> {
    let id = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["denial"]["transfer_id"].as_str().expect("a text").to_owned()
    };
    file.lines().map(id).collect()
}

/// Waits until the head with this number is on the chain.
async fn head_is_there(file: &str, app: &TestApp, operator: &Operator, number: u64) -> Value {
    let key = app.denials_key().pubkey().to_string();
    let mut last = Value::Null;
    for _ in 0..120 {
        let arguments = ["--denials-key", &key, "--url", &operator.network().rpc_url];
        last = audits(file, &arguments).1;
        let heads = last["heads"].as_array().cloned().unwrap_or_default();
        if heads.iter().any(|head| head["number"] == number) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("no head {number} within a minute: {last}");
}

#[tokio::test]
async fn file_of_refusals_holds_until_somebody_changes_it() {
    let app = TestApp::start(TestNetwork::own(), &with_heads()).await;
    let operator = app.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    agent.pays("1").to(&payee).await.is_settled();
    let ids = gets_refused(&agent, &payee, 12).await;
    let file = file_of(&operator.client, 12).await;
    assert_eq!(ids_of(&file), ids);
    let key = app.denials_key().pubkey().to_string();
    let (status, report) = audits(&file, &["--denials-key", &key]);
    assert_eq!((status, &report["holds"]), (0, &json!(true)), "{report}");
    assert_eq!(report["operator"], operator.address.to_string());
    // The refusal, in words that an auditor can compare with the policy.
    let first: Value = serde_json::from_str(file.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["denial"]["reason"], "single_limit_exceeded");
    assert_eq!(first["denial"]["amount_micro_usdc"], "2500000");
    assert_eq!(first["denial"]["account"], agent.address.to_string());
    assert_eq!(first["denial"]["to"], payee.to_string());
    let checks = first["denial"]["checks"].as_array().expect("a list");
    let limit = checks.iter().find(|check| check["rule"] == "max_single_transfer").expect("it is checked");
    assert_eq!((&limit["ok"], &limit["limit_micro_usdc"]), (&json!(false), &json!("1000000")));

    let report = head_is_there(&file, &app, &operator, 12).await;
    assert_eq!((&report["holds"], &report["complete"]), (&json!(true), &json!(true)), "{report}");
    assert_eq!(report["after_last_head"], 0);
    let head = report["heads"][0]["signature"].as_str().expect("a signature");
    assert!(head.len() > 60, "{report}");

    let lines: Vec<&str> = file.lines().collect();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        change(&mut lines);
        lines.join("\n")
    };
    let named = |text: &str| found(&audits(text, &["--denials-key", &key]).1);
    let one = |kind: &str, number: u64| vec![(kind.to_owned(), json!(number))];
    assert_eq!(named(&with(&|lines| drop(lines.remove(4)))), one("deleted", 5));
    assert_eq!(
        named(&with(&|lines| {
            let line = lines.remove(2);
            lines.push(line)
        })),
        one("moved", 3)
    );
    assert_eq!(named(&with(&|lines| lines[7] = lines[7].replace("2500000", "500000"))), one("edited", 8));
    // Only the head reveals a cut end.
    let cut = with(&|lines| lines.truncate(9));
    assert_eq!(audits(&cut, &["--denials-key", &key]).0, 0);
    let (status, report) = audits(&cut, &["--denials-key", &key, "--url", &operator.network().rpc_url]);
    assert_eq!((status, found(&report)), (1, one("deleted", 10)), "{report}");
    assert_eq!(report["findings"][0]["through"], 12);
    // As text, too.
    let folder = temp_folder();
    let path = folder.path().join("denials.jsonl");
    fs::write(&path, with(&|lines| drop(lines.remove(4)))).expect("the folder is writable");
    let mut audit = Command::new(binaries::relayer());
    let output = audit.args(["audit", "--denials", path_text(&path)]).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && text.contains("deleted: denial 5, txn_"), "{text}");
}

/// Pages and the file have the same bytes; a file download resumes where it ended.
#[tokio::test]
async fn a_file_goes_on_where_it_ended_and_pages_show_the_same() {
    let operator = TestApp::shared().await.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    gets_refused(&agent, &payee, 3).await;
    let first = file_of(&operator.client, 3).await;
    gets_refused(&agent, &payee, 4).await;
    let all = file_of(&operator.client, 7).await;
    let more = asks(&operator.client, "?above=3").await.has_status(200);
    assert_eq!(first + &more.text, all);
    assert_eq!(audits(&all, &[]).0, 0);
    let page = operator.client.get("/v1/denials?limit=7").await.has_status(200);
    assert_eq!((page.header("vary"), &page["has_more"]), (Some("accept"), &json!(false)));
    let lines: Vec<&str> = all.lines().rev().collect();
    assert!(page.text.starts_with(&format!("{{\"data\":[{}]", lines.join(","))), "the same bytes");
    for (query, param) in [("?limit=5", "limit"), ("?cursor=AAAA", "cursor"), ("?above=-1", "above")] {
        asks(&operator.client, query).await.blames(param);
    }
    asks(&agent.new_key().await, "").await.is_error(403, "forbidden");
}

/// The relayer is killed again and again while it refuses: each refusal that it answered is in the chain exactly once.
#[tokio::test]
async fn a_relayer_that_is_killed_signs_each_refusal_once() {
    let app = TestApp::start(TestNetwork::own(), &with_heads()).await;
    let operator = app.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    let mut ids = BTreeSet::new();
    for round in 0..4_u64 {
        let client = Client::new(&app.base_url(), Some(operator.client.key()));
        for answer in all_at_once((0..10).map(|_| agent.pays("2").to(&payee).by(&client))).await {
            ids.insert(answer.is_error(402, "policy_violation").text_of("transfer_id").to_owned());
        }
        // Before it signs, while it signs, while it writes a head, and after.
        tokio::time::sleep(Duration::from_millis(round * 700)).await;
        app.crashes();
        app.starts();
    }
    let client = Client::new(&app.base_url(), Some(operator.client.key()));
    let file = file_of(&client, ids.len()).await;
    assert_eq!(ids_of(&file), ids);
    let report = head_is_there(&file, &app, &operator, ids.len() as u64).await;
    assert_eq!(report["holds"], true, "{report}");
}

/// Dies before it stores what it signed, after that, or after its head landed: the next one goes on, and nothing is there twice.
#[tokio::test]
async fn denials_left_unsigned_are_signed_by_the_next_relayer() {
    for point in ["denials.before:1", "denials.after:1", "denial_head.after:1"] {
        let settings = AppSettings { panic_at: Some(point), ..with_heads() };
        let app = TestApp::start(TestNetwork::shared().await, &settings).await;
        let operator = app.new_operator().await;
        let (agent, payee) = bounded(&operator).await;
        // Only one: the relayer may die as soon as it has answered it.
        let ids = gets_refused(&agent, &payee, 1).await;
        let name = point.trim_end_matches(":1");
        let panics = format!("panic point {name}");
        until(&panics, async || app.log().contains(&panics)).await;
        app.crashes();
        let next = app.twin(&AppSettings { panic_at: None, ..with_heads() });
        let client = Client::new(&next.base_url(), Some(operator.client.key()));
        let file = file_of(&client, 1).await;
        assert_eq!(ids_of(&file), ids);
        let report = head_is_there(&file, &next, &operator, 1).await;
        assert_eq!(report["holds"], true, "{point}: {report}");
    }
}

#[tokio::test]
async fn two_relayers_on_one_postgres_sign_one_chain() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let (agent, payee) = bounded(&operator).await;
    let mut ids = BTreeSet::new();
    for _ in 0..5 {
        let payments = (0..20).map(|number| match number % 2 {
            0 => agent.pays("2").to(&payee),
            _ => agent.pays("2").to(&payee).by(&beside),
        });
        for answer in all_at_once(payments).await {
            ids.insert(answer.is_error(402, "policy_violation").text_of("transfer_id").to_owned());
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    let file = file_of(&beside, 100).await;
    assert_eq!(ids_of(&file), ids);
    let key = first.denials_key().pubkey().to_string();
    let (status, report) = audits(&file, &["--denials-key", &key]);
    assert_eq!(status, 0, "{report}");
}

/// Whoever owns the relayer has its key and its database, but a rewrite of anything before a written head is found.
#[tokio::test]
async fn chain_rewritten_after_its_head_is_found() {
    let app = TestApp::start(TestNetwork::own(), &with_heads()).await;
    let operator = app.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    gets_refused(&agent, &payee, 5).await;
    let file = file_of(&operator.client, 5).await;
    head_is_there(&file, &app, &operator, 5).await;
    assert!(app.stops(Duration::from_secs(60)).await);
    // Drops one refusal, and lets the relayer itself sign all later ones again.
    let connection = rusqlite::Connection::open(app.folder().join("purser.db")).expect("opened");
    for sql in [
        "PRAGMA foreign_keys = OFF",
        "DELETE FROM denials",
        "DELETE FROM transfers WHERE denial = 2",
        "UPDATE transfers SET denial = NULL",
    ] {
        connection.execute_batch(sql).expect("done");
    }
    drop(connection);
    app.starts();
    let client = Client::new(&app.base_url(), Some(operator.client.key()));
    let anew = file_of(&client, 4).await;
    let key = app.denials_key().pubkey().to_string();
    assert_eq!(audits(&anew, &["--denials-key", &key]).0, 0, "signatures do not show it");
    let url = &operator.network().rpc_url;
    let (status, report) = audits(&anew, &["--denials-key", &key, "--url", url]);
    assert_eq!((status, found(&report).last()), (1, Some(&("deleted".to_owned(), json!(5)))), "{report}");
    // And again once the number of refusals is the same.
    agent.pays("2").to(&payee).by(&client).await.is_error(402, "policy_violation");
    let anew = file_of(&client, 5).await;
    let (status, report) = audits(&anew, &["--denials-key", &key, "--url", url]);
    assert_eq!((status, found(&report).last()), (1, Some(&("rewritten".to_owned(), json!(5)))), "{report}");
}

/// A memo from another wallet is no head, even with the same text.
#[tokio::test]
async fn a_memo_that_another_wallet_signs_is_no_head() {
    let app = TestApp::start(TestNetwork::own(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    gets_refused(&agent, &payee, 2).await;
    let file = file_of(&operator.client, 2).await;
    let memo = format!("purser denials v1 {} 2 {}", operator.address, "0".repeat(64));
    let stranger = app.admin();
    let said = Instruction {
        program_id: MEMO_PROGRAM,
        accounts: vec![AccountMeta::new_readonly(stranger.pubkey(), true)],
        data: memo.into_bytes(),
    };
    // It names the policy authority, so that it appears in that key's transactions.
    let gift = Instruction {
        program_id: Pubkey::default(),
        accounts: vec![
            AccountMeta::new(stranger.pubkey(), true),
            AccountMeta::new(app.policy_authority().pubkey(), false),
        ],
        data: [&2_u32.to_le_bytes()[..], &5_000_u64.to_le_bytes()].concat(),
    };
    let landing = operator.chain.all_land(&[said, gift], &[stranger]).await;
    assert!(matches!(landing, purser_tests::DirectOutcome::Settled(_)), "{landing:?}");
    finalizes_all(&operator.chain).await;
    let key = app.denials_key().pubkey().to_string();
    let (status, report) = audits(&file, &["--denials-key", &key, "--url", &operator.network().rpc_url]);
    // There is no head to compare with: neither good nor bad.
    assert_eq!((status, &report["complete"], &report["heads"]), (2, &json!(false), &json!([])), "{report}");
}

#[tokio::test]
async fn a_key_that_moves_money_signs_no_refusals() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.crashes();
    copies(app.folder(), "transfer-authority.json", "denials-key.json");
    let said = app.refuses_to_start();
    assert!(said.contains("denials.keypair") && said.contains("keygen"), "{said}");
    fs::remove_file(app.folder().join("denials-key.json")).expect("the folder is writable");
    assert!(app.refuses_to_start().contains("denials-key.json"));
}

fn copies(folder: &Path, from: &str, to: &str) {
    fs::copy(folder.join(from), folder.join(to)).expect("the folder is writable");
}
