//! A wallet as the payee: its associated USDC token account is paid, whoever owned it, closed it or froze it meanwhile.

use purser_tests::agent::{Payment, unique_key};
use purser_tests::chain::TOKEN_PROGRAM;
use purser_tests::{Agent, Answer, Operator, Receiver};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::mcp::{calls, succeeds};
use crate::webhooks::{TRANSFERS, registers};

pub(crate) const SYSTEM_PROGRAM: Pubkey = Pubkey::new_from_array([0; 32]);
/// Bytes of a token account: who owns it.
const OWNER: std::ops::Range<usize> = 32..64;

pub(crate) fn to_wallet(payment: Payment, wallet: &Pubkey) -> Payment {
    payment.field("to", json!({ "wallet": wallet.to_string() }))
}

async fn agent() -> Agent {
    Operator::shared().await.creates_account_with("Ada", "20").await
}

/// Gives the token account of `wallet` another owner, as its owner may.
pub(crate) async fn gives_away(agent: &Agent, wallet: &Pubkey, to: &Pubkey) {
    let chain = &agent.operator.chain;
    let token_account = chain.usdc_account_of(wallet);
    let mut data = chain.data(&token_account).await.expect("a token account");
    data[OWNER].copy_from_slice(to.as_ref());
    chain.sets_account(&token_account, &TOKEN_PROGRAM, &data).await;
}

/// Gives a wallet an empty token account, over the lamports that lie there.
pub(crate) async fn opens(agent: &Agent, wallet: &Pubkey) {
    let chain = &agent.operator.chain;
    let (like, _) = chain.new_payee().await;
    let mut data = chain.data(&like).await.expect("a token account");
    data[OWNER].copy_from_slice(wallet.as_ref());
    chain.sets_account(&chain.usdc_account_of(wallet), &TOKEN_PROGRAM, &data).await;
}

fn is_invalid(answer: Answer, said: &str) {
    let refused = answer.is_error(422, "invalid_recipient");
    assert!(refused.text_of("message").contains(said), "{said}: {}", refused.text);
}

#[tokio::test]
async fn wallet_is_paid_once_and_told_with_its_token_account() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let agent = operator.creates_account_with("Ada", "20").await;
    registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let (token_account, wallet) = operator.chain.new_payee().await;
    let wallet = wallet.pubkey();
    let preview = to_wallet(agent.previews("1"), &wallet).await.has_status(200);
    assert_eq!(preview["allowed"], true, "{}", preview.text);
    let payment = to_wallet(agent.pays("1"), &wallet);
    let paid = payment.clone().await.is_settled();
    assert_eq!(paid["to"], token_account.to_string());
    assert_eq!(paid["to_wallet"], wallet.to_string());
    let again = payment.clone().await.is_settled();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = payment.clone().to(&token_account).await.is_error(409, "idempotency_conflict");
    assert_eq!(other["transfer_id"], paid["transfer_id"]);
    // With SOL it is a wallet as well, and once more it is paid by what is known without asking.
    operator.chain.funds(&wallet, 1).await;
    for _ in 0..3 {
        payment.clone().key(&unique_key()).await.is_settled();
    }
    assert_eq!(operator.chain.usdc_micros(&token_account).await, 4_000_000);
    for delivery in receiver.waits_for("/a", 2).await {
        let data = &delivery.event()["data"];
        assert_eq!((&data["to"], &data["to_wallet"]), (&paid["to"], &paid["to_wallet"]));
    }
    let history = operator.client.get(&agent.path("/transactions")).await.has_status(200);
    assert_eq!(history["data"][0]["counterparty"], token_account.to_string(), "{}", history.text);
    // As a text it is refused, and told how it is paid.
    is_invalid(agent.pays("1").to(&wallet).await, &format!("{{\"wallet\": \"{wallet}\"}}"));
}

#[tokio::test]
async fn token_account_that_its_wallet_gave_away_is_not_paid_by_the_wallet() {
    let agent = agent().await;
    let chain = &agent.operator.chain;
    for owner in [Keypair::new().pubkey(), agent.address] {
        let (token_account, wallet) = chain.new_payee().await;
        let payment = to_wallet(agent.pays("1"), &wallet.pubkey());
        payment.clone().await.is_settled();
        gives_away(&agent, &wallet.pubkey(), &owner).await;
        // What is known without asking may be a moment old, and is never what a refusal stands on.
        agent.lets_the_relayer_read(&agent.operator.client, &token_account).await;
        is_invalid(payment.key(&unique_key()).await, &format!("{token_account} belongs to {owner}"));
        assert_eq!(chain.usdc_micros(&token_account).await, 1_000_000);
        // By its own address it is paid as ever, but by the account that owns it.
        if owner != agent.address {
            agent.pays("1").to(&token_account).await.is_settled();
        }
    }
}

#[tokio::test]
async fn payee_that_is_no_wallet_is_422_by_what_it_is_though_it_has_a_token_account() {
    let agent = agent().await;
    let chain = &agent.operator.chain;
    let sibling = agent.operator.creates_account("Ben").await;
    let vault = Pubkey::find_program_address(&[b"vault"], &Keypair::new().pubkey()).0;
    let (payee, _) = chain.new_payee().await;
    let other_mint = chain.new_payee_of_other_mint().await;
    for (address, said) in [
        (vault, "is no wallet's"),
        (sibling.address, "is no wallet's"),
        (payee, "and is a token account"),
        (other_mint, "and is a token account"),
        (TOKEN_PROGRAM, "and is a program"),
        (chain.usdc_mint, "that a program owns"),
    ] {
        chain.sets_usdc(&address, 0).await;
        is_invalid(to_wallet(agent.pays("1"), &address).await, said);
        is_invalid(to_wallet(agent.previews("1"), &address).await, said);
    }
    is_invalid(to_wallet(agent.pays("1"), &agent.address).await, "the account that pays");
    // A vault with lamports is one still.
    chain.sets_account(&vault, &SYSTEM_PROGRAM, &[]).await;
    is_invalid(to_wallet(agent.pays("1"), &vault).await, "is no wallet's");
    agent.pays("1").to(&chain.usdc_account_of(&vault)).await.is_settled();
    assert_eq!(agent.balance_micros().await, 19_000_000);
}

#[tokio::test]
async fn token_account_that_comes_freezes_or_goes_is_paid_or_refused_and_the_key_pays_later() {
    let agent = agent().await;
    let chain = &agent.operator.chain;
    let wallet = Keypair::new().pubkey();
    let payment = to_wallet(agent.pays("1"), &wallet);
    let preview = to_wallet(agent.previews("1"), &wallet).await.has_status(200);
    assert_eq!(preview["error"], "recipient_has_no_token_account");
    // Lamports alone are no token account.
    let token_account = chain.usdc_account_of(&wallet);
    chain.sets_account(&token_account, &SYSTEM_PROGRAM, &[]).await;
    payment.clone().await.is_error(422, "recipient_has_no_token_account");
    opens(&agent, &wallet).await;
    payment.await.is_settled();
    let frozen = to_wallet(agent.pays("1"), &wallet);
    assert_eq!(to_wallet(agent.previews("1"), &wallet).await.has_status(200)["allowed"], true);
    chain.freezes(&wallet, true).await;
    frozen.clone().await.is_error(422, "invalid_recipient");
    chain.freezes(&wallet, false).await;
    frozen.await.is_settled();
    assert_eq!(chain.usdc_micros(&token_account).await, 2_000_000);
    // Closed between preview and payment: refused by us or by the program, and paid once it is there again.
    let closed = to_wallet(agent.pays("1"), &wallet);
    assert_eq!(to_wallet(agent.previews("1"), &wallet).await.has_status(200)["allowed"], true);
    chain.sets_account(&token_account, &SYSTEM_PROGRAM, &[]).await;
    let refused = closed.clone().await;
    assert_eq!((refused.status, &refused["status"]), (422, &json!("failed")), "{}", refused.text);
    opens(&agent, &wallet).await;
    closed.await.is_settled();
    assert_eq!(agent.balance_micros().await, 17_000_000);
}

#[tokio::test]
async fn payments_while_the_issuer_freezes_and_thaws_are_paid_or_refused_and_all_end() {
    let agent = agent().await;
    let chain = &agent.operator.chain;
    let (token_account, wallet) = chain.new_payee().await;
    let wallet = wallet.pubkey();
    let storms = async {
        for is_frozen in [true, false].repeat(10) {
            chain.freezes(&wallet, is_frozen).await;
        }
    };
    let pays = async {
        let mut settled = 0;
        for _ in 0..10 {
            let answer = to_wallet(agent.pays("0.1"), &wallet).await;
            match answer.status {
                200 => settled += 1,
                _ => _ = answer.is_error(422, "invalid_recipient"),
            }
        }
        settled
    };
    let ((), settled) = tokio::join!(storms, pays);
    assert_eq!(chain.usdc_micros(&token_account).await, settled * 100_000);
    assert_eq!(agent.balance_micros().await, 20_000_000 - settled * 100_000);
}

#[tokio::test]
async fn allowlist_with_the_wallet_lets_it_be_paid_and_refuses_others_before_their_token_accounts_matter() {
    let agent = agent().await;
    let (token_account, wallet) = agent.operator.chain.new_payee().await;
    let stranger = Keypair::new().pubkey();
    for entry in [
        json!({ "wallet": wallet.pubkey().to_string() }),
        json!({ "token_account": token_account.to_string() }),
    ] {
        agent.sets_policy(json!({ "allowed_counterparties": [entry] })).await;
        to_wallet(agent.pays("1"), &wallet.pubkey()).await.is_settled();
        let refused = to_wallet(agent.pays("1"), &stranger).await.is_error(402, "policy_violation");
        assert_eq!(refused.failed_checks(), ["allowed_counterparties"]);
    }
}

#[tokio::test]
async fn agent_pays_a_wallet_over_mcp() {
    let agent = agent().await;
    let key = agent.new_key().await;
    let (token_account, wallet) = agent.operator.chain.new_payee().await;
    let with =
        |to: Value| json!({ "to": to, "to_is_wallet": true, "amount": "1", "idempotency_key": unique_key() });
    let paid = calls(&key, "send_transfer", with(json!(wallet.pubkey().to_string()))).await;
    assert_eq!(succeeds(&paid)["to"], token_account.to_string());
    let absent = calls(&key, "send_transfer", with(json!(Keypair::new().pubkey().to_string()))).await;
    assert_eq!(
        (&absent["isError"], &absent["structuredContent"]["error"]),
        (&json!(true), &json!("recipient_has_no_token_account"))
    );
    assert_eq!(agent.balance_micros().await, 19_000_000);
}
