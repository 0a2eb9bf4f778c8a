//! Signed refusals against the chain: heads of every key that was policy authority, and each refusal decided again.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::io::Write;

use purser_audit::denials::Kind;
use purser_audit::{DenialsReport, DenialsRequest, audit_denials, denials_text};
use purser_client::purser::Bounds;
use purser_client::{AccountIds, OnChainPolicy, OwnedAllowlist};
use purser_policy::{Limit, UsdcAmount};
use purser_tests::saved;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{MICROS, PAYEE, Paying, TestChain};

fn denials_key() -> Keypair {
    Keypair::new_from_array([30; 32])
}

/// At most 10 USDC at once, 30 in a day, to the payee alone.
fn strict() -> OnChainPolicy {
    let usdc = |amount: u64| Limit::AtMost(UsdcAmount::from_micros(amount * MICROS));
    OnChainPolicy {
        max_single_transfer: usdc(10),
        max_daily_spend: usdc(30),
        allowlist: OwnedAllowlist::only(vec![PAYEE.to_bytes()], Vec::new()),
        ..OnChainPolicy::default()
    }
}

/// A payment of 11 USDC that the single limit refused, at the chain's time.
fn refusal(chain: &TestChain) -> Value {
    let ids = AccountIds::on(&Pubkey::default().to_string()).expect("a genesis hash");
    let at = time::OffsetDateTime::from_unix_timestamp(chain.now).expect("a time");
    let at = at.format(&time::format_description::well_known::Rfc3339).expect("a time");
    json!({
        "account": chain.agent.to_string(), "account_id": ids.of(&chain.agent), "amount_micro_usdc": "11000000",
        "checks": [
            { "limit_micro_usdc": "10000000", "ok": false, "rule": "max_single_transfer", "used_micro_usdc": "0" },
            { "limit_micro_usdc": "30000000", "ok": true, "rule": "max_daily_spend", "used_micro_usdc": "0" },
        ],
        "message": "m", "network": "test", "operator": chain.operator.to_string(), "operator_id": "op_1",
        "policy_version": 1, "reason": "single_limit_exceeded", "rejected_at": at, "requested_at": at,
        "to": Pubkey::new_from_array([99; 32]).to_string(), "version": 1,
    })
}

/// Signs refusals as a chain: the file, and the hash of each.
fn signed(refusals: &[Value]) -> (String, Vec<String>) {
    let key = denials_key();
    let (mut file, mut hashes, mut before) = (String::new(), Vec::new(), (hex::encode([0; 32]), Value::Null));
    for (at, refusal) in refusals.iter().enumerate() {
        let mut document = refusal.clone();
        let transfer = format!("txn_{}", ulid::Ulid::from_parts(1, at as u128 + 1));
        document["number"] = json!(at + 1);
        document["key"] = json!(key.pubkey().to_string());
        document["previous_sha256"] = json!(before.0);
        document["previous_transfer_id"] = before.1;
        document["transfer_id"] = json!(transfer);
        let text = document.to_string();
        let signature = key.sign_message(text.as_bytes());
        file += &format!("{{\"denial\":{text},\"signature\":\"{signature}\"}}\n");
        before = (hex::encode(Sha256::digest(text.as_bytes())), json!(transfer));
        hashes.push(before.0.clone());
    }
    (file, hashes)
}

async fn audited(chain: &TestChain, file: &str) -> DenialsReport {
    chain.saves();
    let mut path = tempfile::NamedTempFile::new().expect("a file");
    path.write_all(file.as_bytes()).expect("written");
    let url = saved::serves(chain.folder.path()).await;
    let (operator, key) = (chain.operator.to_string(), denials_key().pubkey().to_string());
    let refusals = path.path().display().to_string();
    let arguments = ["--denials", &refusals, "--denials-key", &key, "--operator", &operator, "--url", &url];
    let request = DenialsRequest {
        file: path.path().to_owned(),
        keys: vec![denials_key().pubkey()],
        operator: Some(chain.operator),
        nodes: vec![url.parse().expect("a URL")],
        save: None,
        program: purser_client::purser::ID,
    };
    let report = audit_denials(request, &|_| {}).await.expect("it can be done");
    support::auditor::finds_the_same(&arguments, &report).await;
    support::page::finds_the_same(path.path(), &url, &operator, &key, &report).await;
    report
}

/// Without a node.
async fn audited_alone(file: &str) -> DenialsReport {
    let mut path = tempfile::NamedTempFile::new().expect("a file");
    path.write_all(file.as_bytes()).expect("written");
    let request = DenialsRequest {
        file: path.path().to_owned(),
        keys: vec![denials_key().pubkey()],
        operator: None,
        nodes: Vec::new(),
        save: None,
        program: purser_client::purser::ID,
    };
    audit_denials(request, &|_| {}).await.expect("it can be done")
}

#[tokio::test]
async fn chain_that_was_signed_anew_is_found_though_the_policy_authority_was_rotated() {
    let mut chain = TestChain::new(&strict(), 0);
    let honest: Vec<Value> = (0..3).map(|_| refusal(&chain)).collect();
    let (file, hashes) = signed(&honest);
    chain.writes_head(3, &hashes[2]);
    let report = audited(&chain, &file).await;
    assert!(report.holds && report.complete, "{}", denials_text(&report));
    chain.now += 60;
    chain.rotates_policy_key(&Keypair::new_from_array([31; 32]));
    let report = audited(&chain, &file).await;
    assert!(report.holds && report.complete, "heads of the key before count: {}", denials_text(&report));
    let report = audited(&chain, "").await;
    assert!(!report.holds, "an empty file: {}", denials_text(&report));
    assert!(denials_text(&report).contains("denials 1 to 3"), "{}", denials_text(&report));

    // The last refusal is left out, another is signed in its place, and the new key writes its head.
    let mut other = honest.clone();
    other[2]["amount_micro_usdc"] = json!("12000000");
    let (anew, anew_hashes) = signed(&other);
    chain.writes_head(3, &anew_hashes[2]);
    for text in [&file, &anew] {
        let report = audited(&chain, text).await;
        let told = denials_text(&report);
        assert!(!report.holds && told.contains("rewritten: denial 3"), "{told}");
        assert!(told.contains("whoever signs heads has written both"), "{told}");
    }
}

#[tokio::test]
async fn each_refusal_is_decided_again_at_its_place_in_the_replay() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    let budget = chain.sets_budget(25 * MICROS, &admin);
    let bounds = Bounds { max_30_day_spend: Some(27 * MICROS), budget: Some(budget), ..Bounds::default() };
    chain.sets_bounds(bounds, &admin);
    chain.now += 3_600;
    let with = |changes: Value| {
        let mut refusal = refusal(&chain);
        for (name, value) in changes.as_object().expect("fields") {
            refusal[name] = value.clone();
        }
        refusal
    };
    let month = |reason: &str, limit: u64, amount: u64| {
        let rule = if reason == "budget_exceeded" { "budget" } else { "max_30_day_spend" };
        let limit = (limit * MICROS).to_string();
        let check =
            json!({ "limit_micro_usdc": limit, "ok": false, "rule": rule, "used_micro_usdc": "20000000" });
        with(
            json!({ "reason": reason, "checks": [check], "amount_micro_usdc": (amount * MICROS).to_string() }),
        )
    };
    let stranger = Keypair::new_from_array([40; 32]).pubkey().to_string();
    let cases = [
        (with(json!({})), None),
        (with(json!({ "reason": "recipient_not_allowed" })), None),
        (with(json!({ "reason": "memo_too_long" })), None),
        (with(json!({ "policy_version": null })), None),
        (with(json!({ "account": stranger })), Some("never was an account of the operator")),
        (with(json!({ "account_id": "acct_00000000000000000000000001" })), Some("has another id")),
        (with(json!({ "policy_version": 99 })), Some("policy version 99 never was in force")),
        (with(json!({ "amount_micro_usdc": "9000000" })), Some("within the single limit")),
        (with(json!({ "reason": "paused" })), Some("the policy was not paused")),
        (with(json!({ "reason": "halted" })), Some("nothing was halted then")),
        (with(json!({ "reason": "memo_required" })), Some("the policy needed no memo")),
        (
            with(json!({ "reason": "daily_limit_exceeded", "amount_micro_usdc": "9000000" })),
            Some("at most 20.000000 USDC had left"),
        ),
        (with(json!({ "reason": "grant_required" })), Some("the account paid without grants")),
        (month("month_limit_exceeded", 27, 8), None),
        (month("month_limit_exceeded", 27, 7), Some("at most 20.000000 USDC had left in 30 days")),
        (
            month("month_limit_exceeded", 40, 30),
            Some("states the limit 40.000000, and none such was in force"),
        ),
        (month("budget_exceeded", 25, 6), None),
        (month("budget_exceeded", 25, 5), Some("at most 20.000000 USDC had left in a day")),
        (month("budget_exceeded", 24, 30), Some("states the limit 24.000000, and none such was in force")),
        // The check itself may be missing.
        (with(json!({ "reason": "month_limit_exceeded", "amount_micro_usdc": "8000000" })), None),
        (with(json!({ "amount_micro_usdc": "eleven" })), Some("its amount is none")),
        (with(json!({ "amount_micro_usdc": "-1" })), Some("its amount is none")),
        (with(json!({ "rejected_at": "2130-01-01T00:00:00Z" })), Some("and what was read ends at")),
        (
            with(json!({ "rejected_at": "2130-01-01T00:00:00Z", "account": stranger })),
            Some("and what was read ends at"),
        ),
        (with(json!({ "rejected_at": "2030-01-01T00:00:00Z" })), Some("and not then")),
        (with(json!({ "rejected_at": "soon" })), Some("its time cannot be read")),
        (with(json!({ "reason": "because" })), Some("is no reason")),
        (
            with(json!({ "checks": [
                { "limit_micro_usdc": "5000000", "ok": false, "rule": "max_single_transfer", "used_micro_usdc": "0" }] })),
            Some("it states the limit 5.000000, and the policy's was 10.000000"),
        ),
    ];
    for amount in [10, 10] {
        chain.pays(&Paying::usdc(amount));
    }
    // The last payments are long ago, so that no refusal of before is newer than what was read.
    chain.now += 3_600;
    chain.pays(&Paying::usdc(1));
    chain.now += 3_600;
    chain.pays(&Paying::usdc(1));
    let refusals: Vec<Value> = cases.iter().map(|(refusal, _)| refusal.clone()).collect();
    let (file, hashes) = signed(&refusals);
    chain.writes_head(refusals.len(), hashes.last().expect("some"));
    let report = audited(&chain, &file).await;
    for (at, (refusal, says)) in cases.iter().enumerate() {
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.number == Some(at as u64 + 1))
            .map(|finding| finding.text.as_str())
            .collect();
        match says {
            None => assert!(found.is_empty(), "{refusal}: {found:?}"),
            Some(says) => assert!(found.len() == 1 && found[0].contains(says), "{refusal}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn refusals_by_caps_that_an_account_does_not_have_are_untrue() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    let budget = chain.sets_budget(5 * MICROS, &admin);
    let by = |chain: &TestChain, reason: &str| {
        let mut refusal = refusal(chain);
        refusal["reason"] = json!(reason);
        refusal
    };
    let mut all = vec![by(&chain, "month_limit_exceeded"), by(&chain, "budget_exceeded")];
    chain.now += 3_600;
    let bounds = Bounds { max_30_day_spend: Some(6 * MICROS), budget: Some(budget), ..Bounds::default() };
    chain.sets_bounds(bounds, &admin);
    all.extend([by(&chain, "month_limit_exceeded"), by(&chain, "budget_exceeded")]);
    chain.now += 3_600;
    // Through a budget that is closed nothing is paid.
    chain.closes_budget();
    chain.now += 3_600;
    let mut closed = by(&chain, "budget_exceeded");
    closed["checks"] =
        json!([{ "limit_micro_usdc": "0", "ok": false, "rule": "budget", "used_micro_usdc": "0" }]);
    all.push(closed);
    chain.sets_bounds(Bounds::default(), &admin);
    chain.now += 3_600;
    all.extend([by(&chain, "month_limit_exceeded"), by(&chain, "budget_exceeded")]);
    chain.now += 3_600;
    let (file, hashes) = signed(&all);
    chain.writes_head(all.len(), hashes.last().expect("some"));
    let report = audited(&chain, &file).await;
    let untrue: Vec<_> = report.findings.iter().filter_map(|finding| finding.number).collect();
    assert_eq!(untrue, [1, 2, 6, 7], "{}", denials_text(&report));
}

#[tokio::test]
async fn lines_of_any_system_are_the_same_and_what_is_too_much_is_added() {
    let mut chain = TestChain::new(&strict(), 0);
    let (file, hashes) = signed(&[refusal(&chain), refusal(&chain)]);
    chain.writes_head(2, &hashes[1]);
    let windows = file.replace('\n', "\r\n");
    for honest in [
        &file,
        &windows,
        &format!("\u{feff}{file}"),
        &format!("{file}\n"),
        &format!("\u{feff}{windows}\r\n\r\n"),
    ] {
        let report = audited(&chain, honest).await;
        assert!(report.holds && report.complete, "{honest:?}: {}", denials_text(&report));
        assert_eq!(report.lines, 2, "{honest:?}");
    }
    let kinds =
        |report: &DenialsReport| report.findings.iter().map(|it| (it.kind, it.number)).collect::<Vec<_>>();
    let surplus = audited_alone(&format!("{file}tea\n")).await;
    assert_eq!(kinds(&surplus), [(Kind::Added, None)]);
    // Cut short, it stands for the denial that Solana has.
    let cut = file.trim_end().rsplit_once(',').expect("a signature").0;
    assert_eq!(kinds(&audited(&chain, cut).await), [(Kind::Edited, Some(2))]);
}

#[tokio::test]
async fn refusal_for_want_of_a_grant_holds_while_the_account_pays_by_grants_alone() {
    let mut chain = TestChain::new(&strict(), 0);
    let policy_key = chain.policy_key.insecure_clone();
    let for_want = |chain: &TestChain| {
        let mut refusal = refusal(chain);
        refusal["reason"] = json!("grant_required");
        refusal
    };
    let before = for_want(&chain);
    chain.now += 3_600;
    chain.sets_bounds(Bounds { by_grant_only: true, ..Bounds::default() }, &policy_key);
    let meanwhile = for_want(&chain);
    chain.now += 3_600;
    chain.sets_bounds(Bounds::default(), &policy_key);
    chain.now += 3_600;
    let after = for_want(&chain);
    chain.now += 3_600;
    let (file, hashes) = signed(&[before, meanwhile, after]);
    chain.writes_head(3, &hashes[2]);
    let report = audited(&chain, &file).await;
    let untrue: Vec<_> = report.findings.iter().map(|finding| finding.number).collect();
    assert_eq!(untrue, [Some(1), Some(3)], "{}", denials_text(&report));
}
