//! Agents buy by x402 through the service: a stock shop, its stock facilitator, and a road between them on which payments
//! get lost, arrive twice, late or unanswered.

use std::time::Duration;

use purser_tests::agent::unique_key;
use purser_tests::client::{Answer, Client};
use purser_tests::clock::HostClock;
use purser_tests::{Agent, AppSettings, Operator, TestApp, TestNetwork};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::road::{Payments, Road};
use super::shop::{Shop, holds, packages};
use crate::history::entries_once;
use crate::mcp;

const PRICE: u64 = 250_000;
const FUNDED: u64 = 10_000_000;
const ENDS_WITHIN: Duration = Duration::from_secs(90);

/// An agent with 10 USDC, a shop that sells a report for 0.25, and the road between them.
pub(super) struct Fair {
    pub agent: Agent,
    pub key: Client,
    pub payee: Keypair,
    pub road: Road,
    _shop: Shop,
}

impl Fair {
    /// `None` if the packages are missing.
    pub async fn opens(operator: Operator, policy: Value, memo: Option<&str>) -> Option<Fair> {
        Fair::opens_with(operator, policy, Some(memo)).await
    }

    async fn opens_with(
        operator: Operator,
        policy: Value,
        smart_wallets: Option<Option<&str>>,
    ) -> Option<Fair> {
        let packages = packages()?;
        let agent = operator.creates_account_with("Buyer", "10").await;
        agent.sets_policy(policy).await;
        let key = agent.new_key().await;
        let (_, payee) = operator.chain.new_payee().await;
        let shop = Shop::opens(&packages, operator.network(), &payee.pubkey(), PRICE, smart_wallets).await;
        let road = Road::to(&shop.url).await;
        Some(Fair { agent, key, payee, road, _shop: shop })
    }

    pub async fn opens_to_all() -> Option<Fair> {
        Fair::opens(Operator::shared().await, json!({}), None).await
    }

    pub fn order(&self, key: &str) -> Value {
        json!({
            "from": self.agent.id, "url": format!("{}/report", self.road.url), "max_amount": "0.30",
            "idempotency_key": key,
        })
    }

    pub async fn buys(&self, key: &str) -> Answer {
        self.orders(&self.order(key)).await
    }

    pub async fn orders(&self, order: &Value) -> Answer {
        self.key.post("/v1/x402/payments", order).await
    }

    pub async fn has_paid(&self, reports: u64) {
        let paid = reports * PRICE;
        let chain = &self.agent.operator.chain;
        let money = (self.agent.balance_micros().await, holds(chain, &self.payee.pubkey()).await);
        assert_eq!(money, (FUNDED - paid, paid));
    }

    pub async fn transfer(&self, id: &str) -> Answer {
        self.key.get(&format!("/v1/transfers/{id}")).await.has_status(200)
    }

    /// The transfer in its final state.
    pub async fn ended(&self, id: &str) -> Answer {
        let deadline = tokio::time::Instant::now() + ENDS_WITHIN;
        loop {
            let transfer = self.transfer(id).await;
            if transfer["status"] != "submitted" {
                return transfer;
            }
            assert!(tokio::time::Instant::now() < deadline, "{}", self.agent.operator.app().log_tail());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[track_caller]
fn is_bought(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer["transfer"]["status"], "settled", "{}", answer.text);
    let report: Value =
        serde_json::from_str(answer["resource"]["body"].as_str().expect("a body")).expect("JSON");
    assert_eq!(report["report"], "42");
    assert_eq!(answer["receipt"]["transaction"], answer["transfer"]["tx_signature"]);
}

pub(super) fn transfer_id(answer: &Answer) -> String {
    answer["transfer"]["transfer_id"].as_str().unwrap_or_else(|| panic!("{}", answer.text)).to_owned()
}

#[tokio::test]
async fn agent_buys_what_a_stock_shop_sells_and_a_key_buys_it_once() {
    for memo in [None, Some("order 17"), Some(&*"x".repeat(256))] {
        let Some(fair) = Fair::opens(Operator::shared().await, json!({}), memo).await else { return };
        let key = unique_key();
        let mut order = fair.order(&key);
        order["memo"] = json!("a report");
        order["method"] = json!("POST");
        order["body"] = json!("{\"year\": 2026}");
        let bought = fair.orders(&order).await;
        is_bought(&bought);
        assert!(bought.header("idempotent-replayed").is_none());
        let given: Value =
            serde_json::from_str(bought["resource"]["body"].as_str().expect("text")).expect("JSON");
        assert_eq!(given["sent"], "{\"year\": 2026}");
        assert_eq!(bought["receipt"]["payer"], fair.agent.address.to_string());
        fair.has_paid(1).await;

        let asked = fair.road.asked();
        let again = fair.orders(&order).await;
        is_bought(&again);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!((&again["resource"], &again["receipt"]), (&bought["resource"], &bought["receipt"]));
        assert_eq!(fair.road.asked(), asked, "nobody was asked again");

        // The key stands for this purchase only.
        order["max_amount"] = json!("0.31");
        fair.orders(&order).await.is_error(409, "idempotency_conflict");
        let payment = fair.agent.pays("0.25").to(&fair.payee.pubkey()).key(&key).by(&fair.key);
        payment.await.is_error(409, "idempotency_conflict");
        fair.has_paid(1).await;

        let entries = entries_once(&fair.agent, 1).await;
        let [entry] = &entries[..] else { panic!("one payment, one entry: {entries:#?}") };
        assert_eq!(entry["transfer_id"], bought["transfer"]["transfer_id"]);
        assert_eq!(entry["memo"], "a report");
        let events = format!("/v1/events?account_id={}&limit=100", fair.agent.id);
        let events = fair.agent.operator.client.get(&events).await.has_status(200);
        let of = |kind: &str| -> Vec<Value> {
            let all = events["data"].as_array().expect("events").iter();
            all.filter(|event| event["type"] == kind).map(|event| event["data"].clone()).collect()
        };
        for kind in ["transfer.initiated", "transfer.settled"] {
            let announced = of(kind);
            assert_eq!(announced.len(), 1, "{kind}: {}", events.text);
            assert_eq!(announced[0]["tx_signature"], bought["receipt"]["transaction"]);
        }
    }
}

#[tokio::test]
async fn free_resource_is_passed_on_unchanged() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let asks = async |path: &str, more: Value| {
        let mut order = fair.order(&unique_key());
        order["url"] = json!(format!("{}{path}", fair.road.url));
        order.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = fair.orders(&order).await.has_status(200);
        assert_eq!(answer["transfer"], Value::Null);
        answer["resource"].clone()
    };
    let sent = asks("/free", json!({ "method": "PUT", "body": "[1.10]" })).await;
    let body: Value = serde_json::from_str(sent["body"].as_str().expect("text")).expect("JSON");
    assert_eq!(body, json!({ "method": "PUT", "sent": "[1.10]", "kind": "application/json" }));
    let bytes = asks("/bytes", json!({})).await;
    assert_eq!((&bytes["body"], &bytes["encoding"]), (&json!("/wA="), &json!("base64")));
    let long = asks("/long", json!({})).await;
    assert_eq!((long["body"].as_str().map(str::len), &long["truncated"]), (Some(65_536), &json!(true)));
    // The relayer did not follow the redirect.
    assert_eq!(asks("/moved", json!({})).await["status"], 302);
    assert_eq!(asks("/nowhere", json!({})).await["status"], 404);
    fair.has_paid(0).await;
}

#[tokio::test]
async fn purchase_that_the_policy_forbids_is_refused_before_anything_is_signed() {
    let other = Keypair::new().pubkey().to_string();
    let policies = [
        json!({ "max_single_transfer": "0.249999" }),
        json!({ "max_daily_spend": "0.249999" }),
        json!({ "allowed_counterparties": [other] }),
        json!({ "require_memo": true }),
    ];
    for policy in policies {
        let Some(fair) = Fair::opens(Operator::shared().await, policy, None).await else { return };
        let key = unique_key();
        let refused = fair.buys(&key).await.is_error(402, "policy_violation");
        assert_eq!(refused["status"], "rejected");
        assert!(refused["approvable"].is_null(), "nobody can be asked about a purchase: {}", refused.text);
        fair.buys(&key).await.is_error(402, "policy_violation");
        assert!(fair.road.handed_over().is_empty());
        fair.has_paid(0).await;
    }
    let Some(fair) = Fair::opens_to_all().await else { return };
    let (operator, chain) = (&fair.agent.operator, &fair.agent.operator.chain);
    chain.halts(operator.address, Some(fair.agent.address), operator.app().admin()).await;
    fair.buys(&unique_key()).await.is_error(402, "account_paused");
    assert!(fair.road.handed_over().is_empty());
    fair.has_paid(0).await;
}

#[tokio::test]
async fn account_with_a_budget_and_a_cap_for_30_days_buys_within_them_and_is_refused_past_them() {
    let operator = Operator::shared().await;
    let budget = operator.makes_budget(1, "10", None).await;
    let longest = "x".repeat(256);
    let policy = json!({ "max_30_day_spend": 0.5, "budget_id": budget });
    let Some(fair) = Fair::opens(operator, policy, Some(&longest)).await else { return };
    for _ in 0..2 {
        is_bought(&fair.buys(&unique_key()).await);
    }
    fair.has_paid(2).await;
    let limits = fair.agent.operator.client.get(&fair.agent.path("/limits")).await.has_status(200);
    assert_eq!(limits["budget"]["max_daily_spend"]["used"], "0.500000", "{}", limits.text);
    let key = unique_key();
    let refused = fair.buys(&key).await.is_error(402, "policy_violation");
    assert_eq!(refused.failed_checks(), ["max_30_day_spend"]);
    fair.has_paid(2).await;
}

#[tokio::test]
async fn offers_that_cannot_or_may_not_be_paid_use_up_no_key() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let key = unique_key();
    let mut order = fair.order(&key);
    order["max_amount"] = json!("0.249999");
    let refused = fair.orders(&order).await.is_error(422, "offer_refused");
    assert!(refused.text_of("message").contains("max_amount"));
    is_bought(&fair.buys(&key).await);
    fair.has_paid(1).await;

    let app = fair.agent.operator.app();
    let offer = json!({
        "scheme": "exact", "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "amount": "1",
        "asset": fair.agent.operator.network().usdc_mint.to_string(), "payTo": fair.payee.pubkey().to_string(),
        "maxTimeoutSeconds": 60, "extra": { "feePayer": app.transfer_authority().pubkey().to_string() },
    });
    let mut order = fair.order(&unique_key());
    order["url"] = json!(format!("{}/offer", fair.road.url));
    let ours = [app.transfer_authority().pubkey(), app.policy_authority().pubkey()];
    for fee_payer in ours {
        let mut offer = offer.clone();
        offer["extra"]["feePayer"] = json!(fee_payer.to_string());
        fair.road.offers(offer);
        let refused = fair.orders(&order).await.is_error(422, "offer_refused");
        assert!(refused.text_of("message").contains("a key of this service"), "{}", refused.text);
    }
    let mut other = offer.clone();
    other["network"] = json!("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp");
    fair.road.offers(other);
    fair.orders(&order).await.is_error(422, "offer_refused");
    fair.has_paid(1).await;
}

#[tokio::test]
async fn servers_that_may_not_be_reached_are_not_asked() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let mut order = fair.order(&unique_key());
    for url in [
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "ftp://example.com/",
        "report",
        "http://a@b.example/",
    ] {
        order["url"] = json!(url);
        fair.orders(&order).await.blames("url");
    }
    order["url"] = json!("http://127.0.0.1:1/");
    let closed = fair.orders(&order).await.is_error(502, "server_unreachable");
    assert_eq!(closed["retryable"], true);
    order["url"] = json!(format!("{}/free", fair.road.url));
    order["body"] = json!("{}");
    fair.orders(&order).await.blames("body");
    order["method"] = json!("TRACE");
    fair.orders(&order).await.blames("method");
    order["method"] = json!("POST");
    order["body"] = json!("x".repeat(32_769));
    fair.orders(&order).await.blames("body");
}

#[tokio::test]
async fn payment_that_gets_lost_is_paid_once_whenever_it_turns_up() {
    // On the slow network a blockhash lives for half a minute.
    let settings = AppSettings { deadline_seconds: 5, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let Some(fair) = Fair::opens(app.new_operator().await, json!({}), None).await else { return };
    fair.road.payments(Payments::GetLost);
    let key = unique_key();
    let lost = fair.buys(&key).await.has_status(202);
    assert_eq!((&lost["resource"]["status"], &lost["receipt"]), (&json!(500), &Value::Null));
    assert_eq!(
        (&lost["transfer"]["status"], &lost["transfer"]["tx_signature"]),
        (&json!("submitted"), &Value::Null)
    );
    let [payment] = &fair.road.handed_over()[..] else { panic!("handed over once") };
    // While the first may still land, nothing else is signed.
    fair.road.payments(Payments::Arrive);
    let waits = fair.buys(&key).await.has_status(202);
    assert_eq!((transfer_id(&waits), fair.road.handed_over().len()), (transfer_id(&lost), 1));
    assert_eq!(fair.road.brings(payment).await, 200);
    assert_eq!(fair.ended(&transfer_id(&lost)).await["status"], "settled");
    let again = fair.buys(&key).await;
    assert_eq!((again.status, &again["transfer"]["status"]), (200, &json!("settled")), "{}", again.text);
    assert_eq!(transfer_id(&again), transfer_id(&lost));
    assert_eq!(fair.road.handed_over().len(), 1);
    fair.has_paid(1).await;
    assert_eq!(fair.road.brings(payment).await, 402);
    fair.has_paid(1).await;
}

#[tokio::test]
async fn facilitator_that_takes_no_smart_wallets_gets_one_payment_and_its_refusal_is_kept() {
    let Some(fair) = Fair::opens_with(Operator::shared().await, json!({}), None).await else { return };
    let key = unique_key();
    let refused = fair.buys(&key).await.is_error(422, "payment_refused");
    assert_eq!((&refused["status"], &refused["retryable"]), (&json!("submitted"), &json!(false)));
    let message = refused.text_of("message");
    assert!(message.starts_with("The seller refused the payment with status 402: \""), "{message}");
    assert!(!message.contains("Nothing was paid"), "its bytes may land: {message}");
    let id = refused.text_of("transfer_id").to_owned();
    let read = fair.transfer(&id).await;
    assert_eq!(read["error"], "payment_refused", "{}", read.text);
    let again = fair.buys(&key).await.is_error(422, "payment_refused");
    assert_eq!(again["transfer_id"], id.as_str());

    let ended = fair.ended(&id).await;
    assert_eq!((&ended["status"], &ended["error"]), (&json!("failed"), &json!("payment_refused")));
    assert!(ended.text_of("message").ends_with("Nothing was paid."), "{}", ended.text);
    let over = fair.buys(&key).await.is_error(422, "payment_refused");
    assert_eq!((&over["status"], &over["transfer_id"]), (&json!("failed"), &json!(id)));
    let mut order = fair.order(&key);
    order.as_object_mut().expect("an object").remove("from");
    let over_mcp = mcp::calls(&fair.key, "pay_http", order).await;
    let (sentence, _) = mcp::is_refused(&over_mcp, "payment_refused");
    assert!(sentence.contains("Buy elsewhere"), "{sentence}");
    let read_over_mcp = mcp::calls(&fair.key, "get_transfer", json!({ "transfer_id": id })).await;
    assert_eq!(read_over_mcp["isError"], true, "{read_over_mcp}");
    assert_eq!(fair.road.handed_over().len(), 1);
    fair.has_paid(0).await;
}

#[tokio::test]
async fn payment_that_was_refused_and_lands_all_the_same_is_settled() {
    // On the slow network a blockhash lives for half a minute.
    let app = TestApp::start(TestNetwork::slow(), &AppSettings::default()).await;
    let Some(fair) = Fair::opens(app.new_operator().await, json!({}), None).await else { return };
    fair.road.payments(Payments::AreRefused);
    let key = unique_key();
    let refused = fair.buys(&key).await.is_error(422, "payment_refused");
    let id = refused.text_of("transfer_id").to_owned();
    let [payment] = &fair.road.handed_over()[..] else { panic!("handed over once") };
    assert_eq!(fair.road.brings(payment).await, 200);
    let settled = fair.ended(&id).await;
    assert_eq!((&settled["status"], &settled["error"]), (&json!("settled"), &Value::Null));
    let again = fair.buys(&key).await.has_status(200);
    assert_eq!((transfer_id(&again), fair.road.handed_over().len()), (id, 1));
    fair.has_paid(1).await;
}

#[tokio::test]
async fn payment_that_expired_is_signed_anew_and_the_old_bytes_pay_nothing() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    fair.road.payments(Payments::GetLost);
    let key = unique_key();
    let lost = fair.buys(&key).await.has_status(202);
    let expired = fair.ended(&transfer_id(&lost)).await;
    assert_eq!((&expired["status"], &expired["error"]), (&json!("failed"), &json!("solana_unavailable")));
    fair.has_paid(0).await;
    fair.road.payments(Payments::Arrive);
    let bought = fair.buys(&key).await;
    is_bought(&bought);
    assert_ne!(transfer_id(&bought), transfer_id(&lost));
    for payment in fair.road.handed_over() {
        assert_eq!(fair.road.brings(&payment).await, 402);
    }
    fair.has_paid(1).await;
}

#[tokio::test]
async fn servers_that_keep_payments_to_themselves_hold_up_no_other_payment() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    fair.road.payments(Payments::GetLost);
    // More orders than the account remembers tags.
    let orders: Vec<Value> = (0..20).map(|_| fair.order(&unique_key())).collect();
    for lost in futures::future::join_all(orders.iter().map(|order| fair.orders(order))).await {
        assert_eq!((lost.status, &lost["resource"]["status"]), (202, &json!(500)), "{}", lost.text);
    }
    let (payee, _) = fair.agent.operator.chain.new_payee().await;
    fair.agent.pays("1").to(&payee).by(&fair.key).await.is_settled();
}

#[tokio::test]
async fn payment_that_arrives_twice_is_paid_once() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    fair.road.payments(Payments::ArriveTwice);
    is_bought(&fair.buys(&unique_key()).await);
    fair.has_paid(1).await;
}

#[tokio::test]
async fn payment_without_an_answer_is_settled_by_the_chains_word() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    fair.road.payments(Payments::AreNotAnswered);
    let key = unique_key();
    let open = fair.buys(&key).await;
    assert_eq!(open["resource"]["status"], 502, "{}", open.text);
    assert_eq!(fair.ended(&transfer_id(&open)).await["status"], "settled");
    fair.road.payments(Payments::Arrive);
    let again = fair.buys(&key).await.has_status(200);
    assert_eq!(transfer_id(&again), transfer_id(&open));
    assert_eq!(fair.road.handed_over().len(), 1);
    fair.has_paid(1).await;
}

#[tokio::test]
async fn twenty_requests_under_one_key_at_once_pay_once_and_all_get_the_report() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let order = fair.order(&unique_key());
    let all = futures::future::join_all((0..20).map(|_| fair.orders(&order))).await;
    all.iter().for_each(is_bought);
    assert_eq!(fair.road.handed_over().len(), 1);
    fair.has_paid(1).await;
}

#[tokio::test]
async fn client_that_goes_away_finds_what_it_bought() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let patiences = [5, 15, 30, 60, 120, 250, 500];
    for patience in patiences {
        let order = fair.order(&unique_key());
        let request = fair.key.request(Method::POST, "/v1/x402/payments").json(&order);
        let _ = fair.key.tries(request.timeout(Duration::from_millis(patience))).await;
        is_bought(&fair.orders(&order).await);
    }
    assert_eq!(fair.road.handed_over().len(), patiences.len());
    fair.has_paid(7).await;
}

#[tokio::test]
async fn agent_buys_over_mcp() {
    let Some(fair) = Fair::opens(Operator::shared().await, json!({ "max_single_transfer": 1 }), None).await
    else {
        return;
    };
    mcp::initializes(&fair.key).await;
    let mut order = fair.order(&unique_key());
    order.as_object_mut().expect("an object").remove("from");
    let bought = mcp::calls(&fair.key, "pay_http", order.clone()).await;
    let bought = mcp::succeeds(&bought);
    assert_eq!(bought["transfer"]["status"], "settled");
    assert!(bought["resource"]["body"].as_str().is_some_and(|body| body.contains("42")));
    assert!(bought["replayed"].is_null(), "{bought}");
    let again = mcp::calls(&fair.key, "pay_http", order.clone()).await;
    assert_eq!(mcp::succeeds(&again)["receipt"], bought["receipt"]);
    assert_eq!(mcp::succeeds(&again)["replayed"], true);
    fair.has_paid(1).await;
    order["idempotency_key"] = json!(unique_key());
    order["max_amount"] = json!("0.1");
    let refused = mcp::calls(&fair.key, "pay_http", order).await;
    let (sentence, _) = mcp::is_refused(&refused, "offer_refused");
    assert!(sentence.contains("0.250000"), "{sentence}");
}

#[tokio::test]
async fn price_may_repeat_where_duplicates_are_refused() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let operator = &fair.agent.operator;
    let refused = json!({ "duplicates": "refused" });
    operator.client.patch(&fair.agent.path(""), &refused).await.has_status(200);
    for _ in 0..2 {
        is_bought(&fair.buys(&unique_key()).await);
    }
    fair.has_paid(2).await;
}

/// The relayer dies at `point` of a purchase, restarts, and gets retries until the purchase ends.
async fn dies_and_pays_once(point: &str, is_paid_before: bool) {
    // A relayer that reaches these crash points.
    let sound = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let environment = vec![("PURSER_CRASH_AT", format!("{point}:1"))];
    let mortal = AppSettings { environment, ..sound.clone() };
    let app = TestApp::start(TestNetwork::shared().await, &mortal).await;
    let operator = app.new_operator().await;
    let Some(fair) = Fair::opens(operator, json!({}), None).await else { return };
    let key = unique_key();
    let request = fair.key.request(Method::POST, "/v1/x402/payments").json(&fair.order(&key));
    assert!(fair.key.tries(request).await.is_err(), "it was to die at {point}");
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(fair.key.key());
    let deadline = tokio::time::Instant::now() + ENDS_WITHIN;
    let answer = loop {
        let answer = client.post("/v1/x402/payments", &fair.order(&key)).await;
        if answer["transfer"]["status"] == "settled" {
            break answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "{point}: {}\n{}", answer.text, risen.log_tail());
        assert!([202, 503].contains(&answer.status), "{point}: {}", answer.text);
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert_eq!(fair.road.handed_over().len(), 1, "{point}");
    // What died with the process is gone, and no answer claims to have it.
    assert_eq!(answer["resource"] == Value::Null, is_paid_before, "{point}: {}", answer.text);
    let chain = &fair.agent.operator.chain;
    assert_eq!(holds(chain, &fair.payee.pubkey()).await, PRICE, "{point}");
    for payment in fair.road.handed_over() {
        assert_eq!(fair.road.brings(&payment).await, 402, "{point}");
    }
    assert_eq!(holds(chain, &fair.payee.pubkey()).await, PRICE, "{point}");
}

#[tokio::test]
async fn purchase_that_a_death_cuts_off_before_the_signature_is_made_once() {
    dies_and_pays_once("claim.after", false).await;
    dies_and_pays_once("claim.before", false).await;
}

#[tokio::test]
async fn purchase_that_a_death_cuts_off_with_its_bytes_in_hand_is_made_once() {
    dies_and_pays_once("handed_over.before", false).await;
    dies_and_pays_once("handed_over.after", false).await;
}

#[tokio::test]
async fn purchase_that_a_death_cuts_off_after_it_was_paid_is_not_paid_again() {
    dies_and_pays_once("bought.before", true).await;
}
