//! Offers that an agent got itself, as over MCP or from another agent: the service signs the payment, the agent hands it over.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_tests::agent::unique_key;
use purser_tests::client::Answer;
use purser_tests::clock::HostClock;
use purser_tests::{AppSettings, Operator, TestApp, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::buying::{Fair, transfer_id};
use crate::history::entries_once;
use crate::mcp;
use crate::wallets::gives_away;

/// What the shop asks for, as the agent gets it when it asks by itself.
async fn offered(fair: &Fair) -> Value {
    let answer = reqwest::get(format!("{}/report", fair.road.url)).await.expect("the shop answers");
    assert_eq!(answer.status(), 402);
    let header = answer.headers()["payment-required"].as_bytes();
    serde_json::from_slice(&STANDARD.decode(header).expect("base64")).expect("JSON")
}

fn order(fair: &Fair, key: &str, offer: &Value) -> Value {
    json!({ "from": fair.agent.id, "offer": offer, "max_amount": "0.30", "idempotency_key": key })
}

/// The payment that an answer has, as the header of a request to the seller.
#[track_caller]
fn payment(answer: &Answer) -> String {
    assert_eq!((answer.status, &answer["transfer"]["status"]), (202, &json!("submitted")), "{}", answer.text);
    assert_eq!(answer["transfer"]["tx_signature"], Value::Null);
    assert_eq!((&answer["resource"], &answer["receipt"]), (&Value::Null, &Value::Null));
    assert_eq!(answer["payment"]["x402Version"], 2);
    STANDARD.encode(answer["payment"].to_string())
}

#[tokio::test]
async fn offer_that_the_agent_has_is_signed_for_it_and_settles_once_the_seller_has_the_payment() {
    let Some(fair) = Fair::opens(Operator::shared().await, json!({}), Some("order 17")).await else { return };
    let offer = offered(&fair).await;
    let asked = fair.road.asked();
    let key = unique_key();
    let mut order = order(&fair, &key, &offer);
    order["memo"] = json!("a report");
    let signed = fair.orders(&order).await;
    let payment = payment(&signed);
    assert_eq!(signed["payment"]["accepted"], offer["accepts"][0]);
    assert_eq!(signed["payment"]["resource"], offer["resource"]);
    fair.has_paid(0).await;

    // The same offer is the same purchase, however it is written down, and gets the same bytes.
    let forms = [offer.clone(), json!(offer.to_string()), json!(STANDARD.encode(offer.to_string()))];
    for form in forms {
        order["offer"] = form;
        let again = fair.orders(&order).await.has_status(202);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!((&again["payment"], transfer_id(&again)), (&signed["payment"], transfer_id(&signed)));
    }
    assert_eq!(fair.road.asked(), asked, "the service asked nobody");

    assert_eq!(fair.road.brings(&payment).await, 200);
    let settled = fair.ended(&transfer_id(&signed)).await;
    assert_eq!(settled["status"], "settled");
    fair.has_paid(1).await;
    let after = fair.orders(&order).await.has_status(200);
    assert_eq!((&after["transfer"]["status"], &after["payment"]), (&json!("settled"), &signed["payment"]));
    assert_eq!(fair.road.brings(&payment).await, 402);
    fair.has_paid(1).await;
    let entries = entries_once(&fair.agent, 1).await;
    assert_eq!(
        (entries.len(), &entries[0]["memo"], &entries[0]["tx_signature"]),
        (1, &json!("a report"), &settled["tx_signature"])
    );

    // The key stands for this offer only.
    let mut other = offer.clone();
    other["accepts"][0]["maxTimeoutSeconds"] = json!(61);
    order["offer"] = other;
    fair.orders(&order).await.is_error(409, "idempotency_conflict");
    fair.buys(&key).await.is_error(409, "idempotency_conflict");
}

#[tokio::test]
async fn twenty_requests_for_one_offer_under_one_key_get_one_payment() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let order = order(&fair, &unique_key(), &offered(&fair).await);
    let all = futures::future::join_all((0..20).map(|_| fair.orders(&order))).await;
    let first = payment(&all[0]);
    for answer in &all {
        assert_eq!(payment(answer), first);
    }
    assert_eq!(fair.road.brings(&first).await, 200);
    fair.ended(&transfer_id(&all[0])).await;
    fair.has_paid(1).await;
}

#[tokio::test]
async fn payment_that_nobody_handed_over_expires_and_is_signed_anew_under_the_same_key() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let order = order(&fair, &unique_key(), &offered(&fair).await);
    let kept = fair.orders(&order).await;
    let old = payment(&kept);
    let ended = fair.ended(&transfer_id(&kept)).await;
    assert_eq!((&ended["status"], &ended["error"]), (&json!("failed"), &json!("solana_unavailable")));
    let anew = fair.orders(&order).await;
    assert_ne!((payment(&anew), transfer_id(&anew)), (old.clone(), transfer_id(&kept)));
    assert_eq!(fair.road.brings(&old).await, 402);
    assert_eq!(fair.road.brings(&payment(&anew)).await, 200);
    assert_eq!(fair.ended(&transfer_id(&anew)).await["status"], "settled");
    fair.has_paid(1).await;
}

#[tokio::test]
async fn offers_in_hand_that_cannot_be_paid_are_told_with_what_was_offered_and_use_up_no_key() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let offer = offered(&fair).await;
    let key = unique_key();
    let mut dear = order(&fair, &key, &offer);
    dear["max_amount"] = json!("0.249999");
    let refused = fair.orders(&dear).await.is_error(422, "offer_refused");
    let said = refused.text_of("message");
    assert!(said.contains("`max_amount`") && said.contains("Offered: 250000 of "), "{said}");
    for offer in [json!({}), json!({ "x402Version": 1, "accepts": [] })] {
        fair.orders(&order(&fair, &key, &offer)).await.is_error(422, "offer_refused");
    }
    for offer in [json!([]), json!("no offer"), json!(1)] {
        fair.orders(&order(&fair, &key, &offer)).await.blames("offer");
    }
    payment(&fair.orders(&order(&fair, &key, &offer)).await);

    fair.agent.sets_policy(json!({ "max_single_transfer": "0.249999" })).await;
    let refused = fair.orders(&order(&fair, &unique_key(), &offer)).await.is_error(402, "policy_violation");
    assert_eq!((&refused["status"], &refused["payment"]), (&json!("rejected"), &Value::Null));
    fair.has_paid(0).await;
}

#[tokio::test]
async fn payee_of_an_offer_is_checked_for_its_owner_and_one_that_is_no_wallet_is_told_apart() {
    let agent = Operator::shared().await.creates_account_with("Buyer", "10").await;
    let chain = &agent.operator.chain;
    let sibling = agent.operator.creates_account("Seller").await;
    let orders = async |pay_to: Pubkey| {
        let offer = json!({ "x402Version": 2, "accepts": [{
            "scheme": "exact", "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "amount": "250000",
            "asset": chain.usdc_mint.to_string(), "payTo": pay_to.to_string(), "maxTimeoutSeconds": 60,
            "extra": { "feePayer": Keypair::new().pubkey().to_string() },
        }] });
        let order = json!({ "from": agent.id, "offer": offer, "max_amount": "0.30", "idempotency_key": unique_key() });
        agent.operator.client.post("/v1/x402/payments", &order).await
    };
    let without = Keypair::new().pubkey();
    let refused = orders(without).await.is_error(422, "recipient_has_no_token_account");
    assert_eq!(refused["rent_lamports"], 2_039_280, "{}", refused.text);
    let (token_account, wallet) = chain.new_payee().await;
    let paid = orders(wallet.pubkey()).await.has_status(202);
    let transfer = &paid["transfer"];
    assert_eq!(transfer["to"], token_account.to_string());
    assert_eq!(transfer["to_wallet"], wallet.pubkey().to_string());
    gives_away(&agent, &wallet.pubkey(), &agent.address).await;
    for (pay_to, said) in [
        (wallet.pubkey(), format!("{token_account} belongs to {}", agent.address)),
        (chain.usdc_mint, "an account that a program owns".to_owned()),
        (agent.address, "the account that pays".to_owned()),
    ] {
        let refused = orders(pay_to).await.is_error(422, "invalid_recipient");
        assert!(refused.text_of("message").contains(&said), "{said}: {}", refused.text);
    }
    // Agents sell by the address of their account, which is no wallet's.
    let sold = orders(sibling.address).await.has_status(202);
    assert_eq!(sold["transfer"]["to"], sibling.token_account.to_string());
}

#[tokio::test]
async fn purchase_names_a_url_or_an_offer_and_never_both() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let offer = offered(&fair).await;
    let asked = fair.road.asked();
    let mut both = order(&fair, &unique_key(), &offer);
    both["url"] = fair.order("any")["url"].clone();
    let said = fair.orders(&both).await.blames("offer");
    assert!(said.text_of("message").contains("goes with no `url`"), "{}", said.text);
    let mut neither = both.clone();
    for field in ["url", "offer"] {
        neither.as_object_mut().expect("an object").remove(field);
    }
    let said = fair.orders(&neither).await.blames("url");
    assert!(said.text_of("message").contains("or `offer` in its place"), "{}", said.text);
    for (field, value) in [("method", "GET"), ("body", "{}")] {
        let mut order = order(&fair, &unique_key(), &offer);
        order[field] = json!(value);
        fair.orders(&order).await.blames(field);
    }
    assert_eq!(fair.road.asked(), asked);
    fair.has_paid(0).await;
}

#[tokio::test]
async fn agent_pays_an_offer_over_mcp() {
    let Some(fair) = Fair::opens_to_all().await else { return };
    let mut order = order(&fair, &unique_key(), &json!(offered(&fair).await.to_string()));
    order.as_object_mut().expect("an object").remove("from");
    let result = mcp::calls(&fair.key, "pay_http", order.clone()).await;
    let signed = mcp::succeeds(&result);
    assert_eq!(signed["transfer"]["status"], "submitted", "{signed}");
    let again = mcp::calls(&fair.key, "pay_http", order).await;
    assert_eq!(mcp::succeeds(&again)["payment"], signed["payment"]);
    assert_eq!(fair.road.brings(&STANDARD.encode(signed["payment"].to_string())).await, 200);
    let id = signed["transfer"]["transfer_id"].as_str().expect("an id");
    assert_eq!(fair.ended(id).await["status"], "settled");
    let read = mcp::calls(&fair.key, "get_transfer", json!({ "transfer_id": id })).await;
    assert_eq!(mcp::succeeds(&read)["status"], "settled");
    fair.has_paid(1).await;
}

#[tokio::test]
async fn payment_that_a_death_cuts_off_with_its_bytes_stored_is_answered_after_it() {
    // A relayer that reaches this crash point.
    let sound = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let environment = vec![("PURSER_CRASH_AT", "claim.after:1".to_owned())];
    let mortal = AppSettings { environment, ..sound.clone() };
    // On the slow network a blockhash lives for half a minute.
    let app = TestApp::start(TestNetwork::slow(), &mortal).await;
    let Some(fair) = Fair::opens(app.new_operator().await, json!({}), None).await else { return };
    let order = order(&fair, &unique_key(), &offered(&fair).await);
    let request = fair.key.request(reqwest::Method::POST, "/v1/x402/payments").json(&order);
    assert!(fair.key.tries(request).await.is_err(), "it was to die");
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(fair.key.key());
    let signed = client.post("/v1/x402/payments", &order).await;
    assert_eq!(fair.road.brings(&payment(&signed)).await, 200, "{}", risen.log_tail());
    let id = transfer_id(&signed);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(90);
    while client.get(&format!("/v1/transfers/{id}")).await["status"] != "settled" {
        assert!(tokio::time::Instant::now() < deadline, "{}", risen.log_tail());
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let again = client.post("/v1/x402/payments", &order).await.has_status(200);
    assert_eq!((&again["payment"], transfer_id(&again)), (&signed["payment"], id));
}
