//! Agents get paid by x402: `payTo` is the account's `solana_address`.

use purser_tests::{Operator, Wallet};
use serde_json::json;

use super::shop::{Shop, buys, holds, packages};
use crate::history::entries_once;

#[tokio::test]
async fn stock_client_pays_an_agent_by_its_solana_address() {
    let Some(packages) = packages() else { return };
    let operator = Operator::shared().await;
    let seller = operator.creates_account("Seller").await;
    let network = operator.network();
    let address = operator.reads_account(&seller.id).await.text_of("solana_address").to_owned();
    let shop = Shop::opens(&packages, network, &address.parse().expect("base58"), 250_000, None).await;
    let buyer = Wallet::with(&operator.chain, "1").await;

    let bought = buys(&packages, &network.rpc_url, &buyer.keypair, &shop.url).await;
    assert_eq!((&bought["status"], &bought["body"]), (&json!(200), &json!({ "report": "42", "sent": "" })));
    assert_eq!(bought["receipt"]["success"], true, "{bought}");

    // Nothing in the payment names the relayer: it finds the deposit on the chain.
    let entries = entries_once(&seller, 1).await;
    let [entry] = &entries[..] else { panic!("one payment, one entry: {entries:#?}") };
    assert_eq!((&entry["type"], &entry["amount_usdc"]), (&json!("deposit"), &json!("0.250000")));
    assert_eq!(entry["tx_signature"], bought["receipt"]["transaction"]);
    assert_eq!(entry["counterparty"], buyer.token_account.to_string());
    assert_eq!(holds(&operator.chain, &seller.address).await, 250_000);
}
