//! An account that is closed with a rest, and created anew, on the real program.

use purser_client::{Deployment, OnChainPolicy, RentRefunds};
use purser_tests::wallet::mints;
use purser_tests::{AppSettings, DirectOutcome, TestApp, TestNetwork};
use serde_json::json;
use solana_sdk::instruction::Instruction;
use solana_sdk::signer::Signer;

use super::auditor::Auditor;
use super::audits;

#[tokio::test]
async fn account_closed_with_a_rest_to_somebody_who_holds_usdc_and_created_anew_holds() {
    let app = TestApp::start(TestNetwork::own(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    let chain = operator.chain.clone();
    let (payee, _) = chain.new_payee().await;
    mints(&chain, "30", &payee).await;
    mints(&chain, "100", &ada.token_account).await;
    let ben = operator.creates_account("Ben").await;
    mints(&chain, "20", &ben.token_account).await;
    mints(&chain, "10", &ada.token_account).await;
    let (program, admin) = (chain.program(), app.admin());
    let state = chain.agent(&ada.address).await.agent;
    let refunds = RentRefunds { agent: state.rent_refund, draft: state.rent_refund };
    let wallet = admin.pubkey();
    let lands = async |call: Instruction| {
        let landing = chain.lands(call, admin).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    };
    lands(program.close_agent(wallet, operator.address, ada.address, payee, refunds)).await;
    assert_eq!(chain.usdc_micros(&payee).await, 140_000_000);
    let policy = OnChainPolicy::default();
    let create = program.create_agent(wallet, wallet, wallet, operator.address, state.agent_id, &policy);
    lands(Deployment::create_agent_over(create, wallet)).await;
    // Once more, with a rest to another account of the operator.
    mints(&chain, "5", &ada.token_account).await;
    let refunds = RentRefunds { agent: wallet, draft: wallet };
    lands(program.close_agent(wallet, operator.address, ada.address, ben.token_account, refunds)).await;

    let (url, address) = (&operator.network().rpc_url, operator.address.to_string());
    let (status, report) = audits(&["--url", url, "--operator", &address]);
    // What the network leaves out of its answers is not known; nobody is accused of it.
    assert_eq!(report["holds"], json!(true), "{report:#}");
    let open = report["checks"].to_string();
    let is_told =
        ["the node leaves out what", "the node shows no balance"].iter().any(|why| open.contains(why));
    assert!(status == 0 || is_told, "{report:#}");
    let verdict = report["verdict"].as_str().expect("a verdict");
    assert!(verdict.contains("An account was closed and created anew."), "{verdict}");
    assert_eq!(report["totals"]["last_balance_usdc"], "25.000000");
    if let Some(auditor) = Auditor::new() {
        let (own, printed) = auditor.audits(url, &ada.address).await;
        assert_eq!(own, status, "{printed}");
    }
}
