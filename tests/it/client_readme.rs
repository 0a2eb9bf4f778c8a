//! The transfer that `client/README.md` shows, against the network.

#[path = "../../client/examples/transfer.rs"]
mod transfer;

use purser_policy::id_with_tag;
use purser_tests::Operator;
use purser_tests::agent::random_tag;
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::signer::Signer;

use crate::history::entries_once;

#[tokio::test]
async fn transfer_of_the_readme_pays_once() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, wallet) = operator.chain.new_payee().await;
    let url = operator.network().rpc_url.clone();
    let rpc = RpcClient::new_with_commitment(url, CommitmentConfig::confirmed());
    let authority = operator.app().transfer_authority();
    let account = (operator.address, operator.chain.agent(&agent.address).await.agent.agent_id);
    let asked_at = u32::try_from(operator.chain.now().await).expect("before 2106");
    let payment = (id_with_tag([7; 8], random_tag()), asked_at);
    let pay = || transfer::pay(&rpc, operator.chain.program(), authority, account, wallet.pubkey(), payment);

    let signature = pay().await.expect("it pays").to_string();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_500_000);
    let entries = entries_once(&agent, 1).await;
    assert_eq!((&entries[0]["memo"], &entries[0]["tx_signature"]), (&"coffee".into(), &signature.into()));

    pay().await.expect_err("a tag pays once");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_500_000);
}
