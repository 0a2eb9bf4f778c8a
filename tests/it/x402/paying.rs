//! Agents pay by x402: a transfer authority signs a checked transfer whose fee the facilitator pays, and sends the bytes to a
//! shop. A stock facilitator that lists the program verifies and settles it; the chain refuses what the policy forbids.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::error::PurserError;
use purser_client::transfer_units;
use purser_tests::agent::random_tag;
use purser_tests::{Agent, Operator};
use serde_json::{Value, json};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use super::shop::{Shop, holds, packages};
use crate::history::entries_once;

const COMPUTE_BUDGET: Pubkey = solana_sdk::pubkey!("ComputeBudget111111111111111111111111111111");
const MEMO: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const PRICE: u64 = 250_000;

/// An agent with money, and a shop that sells to it.
struct Market {
    agent: Agent,
    payee: Keypair,
    shop: Shop,
    /// What the shop asks for: one entry of `accepts`.
    offer: Value,
}

/// The shop's answer to a payment.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: Value,
    /// The facilitator's receipt, or its reason for refusing.
    receipt: Value,
    error: String,
}

impl Market {
    /// `None` if the packages are missing. `memo`: the memo that the shop asks for.
    async fn opens(policy: Value, memo: Option<&str>) -> Option<Market> {
        let packages = packages()?;
        let operator = Operator::shared().await;
        let agent = operator.creates_account_with("Buyer", "10").await;
        agent.sets_policy(policy).await;
        let (_, payee) = operator.chain.new_payee().await;
        let network = operator.network();
        let shop = Shop::opens(&packages, network, &payee.pubkey(), PRICE, Some(memo)).await;
        let answer = reqwest::get(&shop.url).await.expect("the shop answers");
        assert_eq!(answer.status(), 402);
        let required = header(&answer, "payment-required");
        let offer = required["accepts"][0].clone();
        assert_eq!(
            offer["extra"]["features"],
            Value::Null,
            "the shop passes on what it needs alone: {offer}"
        );
        Some(Market { agent, payee, shop, offer })
    }

    /// What the agent still has, and what the shop got.
    async fn money(&self) -> (u64, u64) {
        (self.agent.balance_micros().await, holds(&self.agent.operator.chain, &self.payee.pubkey()).await)
    }

    /// A payment for the offer, signed only by the transfer authority. `tag` identifies the payment.
    async fn signs(&self, tag: u64) -> String {
        let blockhash = self.agent.operator.chain.latest_blockhash().await;
        self.signs_over(tag, blockhash).await
    }

    async fn signs_over(&self, tag: u64, blockhash: Hash) -> String {
        let chain = &self.agent.operator.chain;
        let destination = chain.usdc_account_of(&self.payee.pubkey());
        let order = chain.order(&self.agent.order("0.25", &destination, "report", tag)).await;
        let authority = self.agent.operator.app().transfer_authority();
        let pay = chain.program().transfer_checked(authority.pubkey(), &order);
        // No limit on loaded data: verifiers refuse budget instructions other than these two.
        let units = [&[2][..], &transfer_units(order.memo.len()).to_le_bytes()].concat();
        let price = [&[3][..], &1_u64.to_le_bytes()].concat();
        let without_accounts = |program_id, data| Instruction { program_id, accounts: Vec::new(), data };
        let memo = self.offer["extra"]["memo"].as_str();
        let instructions: Vec<_> = [units, price]
            .map(|data| without_accounts(COMPUTE_BUDGET, data))
            .into_iter()
            .chain([pay])
            .chain(memo.map(|memo| without_accounts(MEMO, memo.as_bytes().to_vec())))
            .collect();
        let fee_payer =
            self.offer["extra"]["feePayer"].as_str().expect("a fee payer").parse().expect("base58");
        let message = Message::new_with_blockhash(&instructions, Some(&fee_payer), &blockhash);
        let mut transaction = Transaction::new_unsigned(message);
        transaction.partial_sign(&[authority], blockhash);
        let signatures: Vec<u8> =
            transaction.signatures.iter().flat_map(|signature| signature.as_ref().to_vec()).collect();
        // Two signatures: the facilitator's, still missing, and the authority's.
        STANDARD.encode([&[2], &signatures[..], &transaction.message.serialize()].concat())
    }

    /// Sends signed bytes to the shop.
    async fn hands_over(&self, transaction: &str) -> Answer {
        let payment = json!({
            "x402Version": 2,
            "resource": { "url": self.shop.url },
            "accepted": self.offer,
            "payload": { "transaction": transaction },
        });
        let signature = STANDARD.encode(payment.to_string());
        let request = reqwest::Client::new().get(&self.shop.url).header("PAYMENT-SIGNATURE", signature);
        let answer = request.send().await.expect("the shop answers");
        let receipt = header(&answer, "payment-response");
        let required = header(&answer, "payment-required");
        let error = required["error"].as_str().unwrap_or_default().to_owned();
        let status = answer.status().as_u16();
        let body = answer.json().await.unwrap_or_default();
        Answer { status, body, receipt, error }
    }

    /// The shop rejects the payment because the chain refuses it with this code, and no money moves.
    async fn is_refused(&self, code: u32) {
        let before = self.money().await;
        let answer = self.hands_over(&self.signs(random_tag()).await).await;
        assert_eq!(answer.status, 402, "{answer:?}");
        assert!(answer.error.contains("simulation_failed"), "{answer:?}");
        assert!(answer.error.contains(&format!("\"Custom\":\"{code}\"")), "{answer:?}");
        assert_eq!(self.money().await, before);
    }
}

/// A header of base64-encoded JSON; null if it is missing.
fn header(answer: &reqwest::Response, name: &str) -> Value {
    let text = answer.headers().get(name).map(|value| value.as_bytes().to_vec());
    let bytes = text.map(|text| STANDARD.decode(text).expect("base64"));
    bytes.map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).expect("JSON"))
}

#[tokio::test]
async fn stock_facilitator_verifies_and_settles_a_payment_and_the_history_has_it() {
    for memo in [None, Some("order 17")] {
        let Some(market) = Market::opens(json!({ "max_single_transfer": 1 }), memo).await else { return };
        let answer = market.hands_over(&market.signs(random_tag()).await).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["report"], "42");
        assert_eq!(answer.receipt["success"], true, "{answer:?}");
        assert_eq!(answer.receipt["payer"], market.agent.address.to_string());
        assert_eq!(market.money().await, (10_000_000 - PRICE, PRICE));

        let entries = entries_once(&market.agent, 1).await;
        let [entry] = &entries[..] else { panic!("one payment, one entry: {entries:#?}") };
        let shown = [&entry["type"], &entry["direction"], &entry["amount_usdc"], &entry["memo"]];
        assert_eq!(shown, [&json!("transfer"), &json!("out"), &json!("0.250000"), &json!("report")]);
        assert_eq!(entry["tx_signature"], answer.receipt["transaction"]);
        let agent = market.agent.operator.chain.agent(&market.agent.address).await;
        assert_eq!(agent.agent.payments, 1);
    }
}

#[tokio::test]
async fn payment_over_the_cap_is_refused_by_the_chain() {
    let Some(market) = Market::opens(json!({ "max_single_transfer": "0.249999" }), None).await else {
        return;
    };
    market.is_refused(PurserError::SingleLimitExceeded.into()).await;
}

#[tokio::test]
async fn payment_to_a_shop_off_the_list_is_refused_by_the_chain() {
    let other = Keypair::new().pubkey().to_string();
    let policy = json!({ "allowed_counterparties": [other] });
    let Some(market) = Market::opens(policy, None).await else { return };
    market.is_refused(PurserError::RecipientNotAllowed.into()).await;
}

#[tokio::test]
async fn payment_of_a_halted_account_is_refused_by_the_chain() {
    let Some(market) = Market::opens(json!({}), None).await else { return };
    let operator = &market.agent.operator;
    let chain = &operator.chain;
    chain.halts(operator.address, Some(market.agent.address), operator.app().admin()).await;
    market.is_refused(PurserError::Halted.into()).await;
}

#[tokio::test]
async fn bytes_that_are_handed_over_twice_land_once() {
    let Some(market) = Market::opens(json!({}), None).await else { return };
    let tag = random_tag();
    let bytes = market.signs(tag).await;
    let (one, other) = tokio::join!(market.hands_over(&bytes), market.hands_over(&bytes));
    let statuses = [one.status, other.status];
    assert!(statuses == [200, 402] || statuses == [402, 200], "{one:?} {other:?}");
    let paid = (10_000_000 - PRICE, PRICE);
    assert_eq!(market.money().await, paid);
    // Different bytes of the same payment: the chain knows its tag.
    let again = market.hands_over(&market.signs(tag).await).await;
    let code = u32::from(PurserError::DuplicateTransfer);
    assert!(again.error.contains(&format!("\"Custom\":\"{code}\"")), "{again:?}");
    assert_eq!(market.money().await, paid);
}

#[tokio::test]
async fn bytes_that_are_handed_over_late_pay_nothing_and_the_payment_can_be_signed_anew() {
    let Some(market) = Market::opens(json!({}), None).await else { return };
    let tag = random_tag();
    let chain = &market.agent.operator.chain;
    let blockhash = chain.latest_blockhash().await;
    let bytes = market.signs_over(tag, blockhash).await;
    chain.outlives(&blockhash).await;
    let late = market.hands_over(&bytes).await;
    assert_eq!(late.status, 402, "{late:?}");
    assert!(late.error.contains("simulation_failed"), "{late:?}");
    assert_eq!(market.money().await, (10_000_000, 0));
    let anew = market.hands_over(&market.signs(tag).await).await;
    assert_eq!(anew.status, 200, "{anew:?}");
    assert_eq!(market.money().await, (10_000_000 - PRICE, PRICE));
}

#[tokio::test]
async fn facilitator_that_does_not_list_the_program_turns_a_payment_down() {
    let Some(mut market) = Market::opens(json!({}), None).await else { return };
    let packages = packages().expect("seen above");
    let network = market.agent.operator.network();
    market.shop = Shop::opens(&packages, network, &market.payee.pubkey(), PRICE, None).await;
    let answer = reqwest::get(&market.shop.url).await.expect("the shop answers");
    market.offer = header(&answer, "payment-required")["accepts"][0].clone();
    let refused = market.hands_over(&market.signs(random_tag()).await).await;
    assert_eq!((refused.status, market.money().await), (402, (10_000_000, 0)), "{refused:?}");
}
