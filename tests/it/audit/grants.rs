//! Payments beyond a policy, with the real program: both auditors replay them, and grants, approvers and budgets stand as they replay.

use std::fs;

use csv::StringRecord;
use purser_client::DraftAccounts;
use purser_client::purser::{Bounds, BudgetCaps, GrantPayee, GrantTerms};
use purser_tests::agent::random_tag;
use purser_tests::network::{path_text, temp_folder};
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, DirectOutcome, TestApp, TestNetwork, Wallet};
use serde_json::json;
use sha2::{Digest, Sha256};
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::auditor::Auditor;
use super::{audits, check, remarks};
use crate::history::entries_once;

const MEMO_PROGRAM: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// Empty ones, which fill a log.
const MEMOS: usize = 46;

#[tokio::test]
async fn payments_past_list_and_limits_and_through_a_budget_hold() {
    let settings = AppSettings { indexer_interval_ms: 200, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own(), &settings).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    let chain = operator.chain.clone();
    mints(&chain, "100", &ada.token_account).await;
    ada.sets_policy(json!({ "max_single_transfer": 1, "max_daily_spend": 5 })).await;
    let (payee, payee_wallet) = chain.new_payee().await;
    let (program, admin) = (chain.program(), app.admin());
    let lands = async |instructions: &[Instruction], signer: &Keypair| {
        let outcome = chain.all_land(instructions, &[signer]).await;
        assert!(matches!(outcome, DirectOutcome::Settled(_)), "{outcome:?}");
    };
    let (wallet, at) = (admin.pubkey(), (operator.address, ada.address));
    let terms = GrantTerms {
        payee: GrantPayee::Wallet(payee_wallet.pubkey()),
        amount: 3_000_000,
        expires_at: chain.now().await + 3_600,
        beyond_allowlist: true,
        beyond_single_limit: true,
        beyond_daily_limit: false,
        tag: None,
        memo_hash: None,
        policy_version: None,
    };
    lands(&[program.open_grant(wallet, wallet, wallet, at, 1, terms)], admin).await;
    let past = GrantTerms { amount: 20_000_000, beyond_daily_limit: true, ..terms };
    lands(&[program.open_grant(wallet, wallet, wallet, at, 2, past)], admin).await;
    for (usdc, grant) in [("3", 1), ("15", 2)] {
        let order = ada.order(usdc, &payee, "by grant", random_tag());
        let order = chain.order(&order).await;
        let payer = app.transfer_authority();
        let grant = program.grant_address(&ada.address, grant);
        lands(&[program.transfer_extended(payer.pubkey(), &order, Some(grant), None)], payer).await;
    }
    assert_eq!(chain.usdc_micros(&payee).await, 18_000_000);
    // Closed by anyone: it is spent.
    let (stranger, grant) = (app.transfer_authority(), program.grant_address(&ada.address, 1));
    lands(&[program.close_grant(stranger.pubkey(), operator.address, grant, wallet)], stranger).await;

    // What the last grant let past the daily limit counts in it.
    ada.sets_policy(json!({ "max_single_transfer": 1, "max_daily_spend": 50 })).await;
    // An approver's, of which the wallet shows a memo; and through a budget, under a cap for 30 days.
    let approver = Wallet::with(&chain, "0").await.keypair;
    let (key, tag) = (approver.pubkey(), random_tag());
    lands(&[program.set_approver(wallet, operator.address, key, 5_000_000, 8_000_000)], admin).await;
    let state = chain.agent(&ada.address).await.agent;
    let approved = GrantTerms {
        amount: 2_000_000,
        tag: Some(tag),
        memo_hash: Some(Sha256::digest("approved").into()),
        policy_version: Some(state.policy_version),
        ..terms
    };
    lands(&program.approve(key, key, key, at, 3, approved), &approver).await;
    let caps =
        |usdc: u64| BudgetCaps { max_daily_spend: usdc * 1_000_000, max_30_day_spend: Some(50_000_000) };
    let budget = program.budget_address(&operator.address, 1);
    lands(&[program.set_budget(wallet, operator.address, 1, caps(20), None)], admin).await;
    let bounds = Bounds { max_30_day_spend: Some(40_000_000), budget: Some(budget), ..Bounds::default() };
    let by_admin = DraftAccounts { authority: wallet, operator: operator.address, agent: ada.address };
    lands(&[program.set_bounds(by_admin, wallet, state.rent_refund, bounds, Some(Bounds::default()))], admin)
        .await;
    for (tag, memo, grant) in [(tag, "approved", Some(3)), (random_tag(), "bound", None)] {
        let usdc = if grant.is_some() { "2" } else { "0.5" };
        let order = ada.order(usdc, &payee, memo, tag);
        let order = chain.order(&order).await;
        let payer = app.transfer_authority();
        let grant = grant.map(|id| program.grant_address(&ada.address, id));
        // What comes before it fills the log, so that its events are cut off: what was signed tells.
        let mut calls = vec![Instruction::new_with_bytes(MEMO_PROGRAM, &[], Vec::new()); MEMOS];
        calls.push(program.transfer_extended(payer.pubkey(), &order, grant, Some(budget)));
        lands(&calls, payer).await;
    }
    lands(&[program.set_budget(wallet, operator.address, 1, caps(30), Some(caps(20)))], admin).await;
    assert_eq!(chain.usdc_micros(&payee).await, 20_500_000);
    // A deposit and four payments.
    entries_once(&ada, 5).await;

    let (url, address) = (&operator.network().rpc_url, operator.address.to_string());
    let folder = temp_folder();
    let ledger = folder.path().join("ledger.csv");
    let (status, report) = audits(&["--url", url, "--operator", &address, "--csv", path_text(&ledger)]);
    assert_eq!(status, 0, "{report}");
    assert!(remarks(&report).contains("event(s) were cut off by full logs"), "{}", remarks(&report));
    // Operator, account, token account, two grants, approver and budget, at least.
    assert!(check(&report, "state")["examined"].as_u64() > Some(7), "{report}");
    let verdict = report["verdict"].as_str().expect("a verdict");
    assert!(verdict.contains("20.000000 USDC left by grants. A budget was raised."), "{verdict}");
    // The balance after each movement, and who approved the payment.
    let ledger = fs::read_to_string(&ledger).expect("the ledger was written");
    let mut rows = csv::Reader::from_reader(ledger.trim_start_matches('\u{feff}').as_bytes());
    let heads = rows.headers().expect("column names").clone();
    let named = |row: &StringRecord| {
        ["type", "balance_usdc", "approved_as", "approved_by"].map(|name| {
            let at = heads.iter().position(|head| head == name).expect("a column");
            row[at].to_owned()
        })
    };
    let rows: Vec<_> = rows.records().map(|row| named(&row.expect("a row"))).collect();
    let (admin, approver) = (wallet.to_string(), key.to_string());
    let expected = [
        ["deposit", "100.000000", "", ""],
        ["payment", "97.000000", "admin", &admin],
        ["payment", "82.000000", "admin", &admin],
        ["payment", "80.000000", "approver", &approver],
        ["payment", "79.500000", "", ""],
    ];
    assert_eq!(rows, expected);
    if let Some(auditor) = Auditor::new() {
        let (status, printed) = auditor.audits(url, &ada.address).await;
        assert_eq!(status, 0, "{printed}");
        assert!(printed.contains("4 payments of 20.500000 USDC"), "{printed}");
    }
}
