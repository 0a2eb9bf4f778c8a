//! Payments by a grant of the admin: both auditors replay them.

use purser_client::purser::{GrantPayee, GrantTerms};
use purser_tests::agent::random_tag;
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, DirectOutcome, TestApp, TestNetwork};
use serde_json::json;
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::auditor::Auditor;
use super::audits;
use crate::history::entries_once;

#[tokio::test]
async fn payments_past_list_and_limits_by_the_admins_grants_hold() {
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
    // A deposit and two payments.
    entries_once(&ada, 3).await;

    let (url, address) = (&operator.network().rpc_url, operator.address.to_string());
    let (status, report) = audits(&["--url", url, "--operator", &address]);
    assert_eq!(status, 0, "{report}");
    if let Some(auditor) = Auditor::new() {
        let (status, printed) = auditor.audits(url, &ada.address).await;
        assert_eq!(status, 0, "{printed}");
        assert!(printed.contains("2 payments of 18.000000 USDC"), "{printed}");
    }
}
