//! The service creates the token account of a wallet that is to be paid, where that is all that the payment lacks, within quotas.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use purser_tests::agent::{Payment, all_at_once, unique_key};
use purser_tests::clock::HostClock;
use purser_tests::{Agent, Answer, AppSettings, Client, Operator, TestApp, TestDatabase, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::wallets::{SYSTEM_PROGRAM, gives_away, opens, to_wallet};

const RENT: u64 = 2_039_280;
const NONE: &str = "recipient_has_no_token_account";

fn settings(sections: &'static str) -> AppSettings {
    AppSettings { sections, ..AppSettings::default() }
}

/// Three a day, at most two of one account, for half a USDC or more.
const THREE: &str = "[quotas]\ntoken_accounts_per_operator_daily = 3\ntoken_accounts_per_account_daily = 2\n\
                     token_account_min_payment = \"0.5\"\n";
const ONE: &str = "[quotas]\ntoken_accounts_per_operator_daily = 1\n";
const TWO: &str = "[quotas]\ntoken_accounts_per_operator_daily = 2\n";

async fn operator_with(sections: &'static str) -> Operator {
    TestApp::start(TestNetwork::shared().await, &settings(sections)).await.new_operator().await
}

fn new_wallet() -> Pubkey {
    Keypair::new().pubkey()
}

/// Pays a wallet and has its token account created.
fn pays(agent: &Agent, usdc: &str, wallet: &Pubkey) -> Payment {
    to_wallet(agent.pays(usdc), wallet).field("create_token_account", json!(true))
}

fn previews(agent: &Agent, usdc: &str, wallet: &Pubkey) -> Payment {
    to_wallet(agent.previews(usdc), wallet).field("create_token_account", json!(true))
}

async fn is_created(agent: &Agent, wallet: &Pubkey) -> bool {
    let chain = &agent.operator.chain;
    chain.data(&chain.usdc_account_of(wallet)).await.is_some()
}

#[track_caller]
fn is_refused(answer: Answer, said: &str) {
    let refused = answer.is_error(422, NONE);
    assert!(refused.text_of("message").contains(said), "{said}: {}", refused.text);
    assert_eq!((&refused["rent_lamports"], &refused["approvable"]), (&json!(RENT), &json!(false)));
}

#[tokio::test]
async fn wallet_gets_its_token_account_first_and_is_paid_once() {
    let agent = operator_with(THREE).await.creates_account_with("Ada", "20").await;
    let (chain, wallet) = (&agent.operator.chain, new_wallet());
    let preview = previews(&agent, "1", &wallet).await.has_status(200);
    assert_eq!((&preview["allowed"], &preview["rent_lamports"]), (&json!(true), &json!(RENT)));
    assert!(preview.text_of("message").contains("belongs to the payee"), "{}", preview.text);
    assert!(!is_created(&agent, &wallet).await, "a preview creates nothing");
    to_wallet(agent.pays("1"), &wallet).await.is_error(422, NONE);
    let payment = pays(&agent, "1", &wallet);
    let paid = payment.clone().await.is_settled();
    let token_account = chain.usdc_account_of(&wallet);
    assert_eq!(paid["to"], token_account.to_string());
    assert_eq!(chain.lamports(&token_account).await, RENT);
    // What is asked for beside the payment is no part of it.
    for again in [payment.clone(), payment.without("create_token_account")] {
        assert_eq!(again.await.is_settled().header("idempotent-replayed"), Some("true"));
    }
    assert_eq!(chain.usdc_micros(&token_account).await, 1_000_000);
}

#[tokio::test]
async fn account_may_ask_for_token_accounts_where_its_payments_do_not_say() {
    let agent = operator_with(THREE).await.creates_account_with("Ada", "20").await;
    let path = agent.path("");
    let set = agent.operator.client.patch(&path, &json!({ "create_token_accounts": true })).await;
    assert_eq!(set.has_status(200)["create_token_accounts"], true);
    let wallet = new_wallet();
    let payment = to_wallet(agent.pays("1"), &wallet);
    payment.clone().field("create_token_account", json!(false)).await.is_error(422, NONE);
    assert_eq!(to_wallet(agent.previews("1"), &wallet).await.has_status(200)["allowed"], true);
    payment.await.is_settled();
}

#[tokio::test]
async fn many_wallets_get_no_more_token_accounts_than_the_quotas_say_and_refusals_say_which() {
    let operator = operator_with(THREE).await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let ben = operator.creates_account_with("Ben", "20").await;
    is_refused(pays(&ada, "0.499999", &new_wallet()).await, "of 0.50 USDC or more");
    let preview = previews(&ada, "0.499999", &new_wallet()).await.has_status(200);
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!(NONE)));
    let wallets: Vec<Pubkey> = (0..8).map(|_| new_wallet()).collect();
    let answers = all_at_once(wallets.iter().map(|wallet| pays(&ada, "0.5", wallet))).await;
    let (paid, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(paid.len(), 2);
    refused.into_iter().for_each(|answer| is_refused(answer, "2 for the account's payees"));
    let answers = all_at_once(wallets.iter().map(|wallet| pays(&ben, "0.5", wallet))).await;
    let created = join_all(wallets.iter().map(|wallet| is_created(&ada, wallet))).await;
    assert_eq!(created.iter().filter(|is_created| **is_created).count(), 3);
    // Of those that Ada paid, Ben pays too.
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 3);
    is_refused(pays(&ben, "0.5", &new_wallet()).await, "3 for the operator's payees");
    let preview = previews(&ben, "0.5", &new_wallet()).await.has_status(200);
    assert!(preview.text_of("message").contains("3 for the operator's payees"), "{}", preview.text);
    // Another operator has its own.
    let other = operator.app().new_operator().await.creates_account_with("Cyd", "1").await;
    pays(&other, "0.5", &new_wallet()).await.is_settled();
    // By default there is none.
    let shared = Operator::shared().await.creates_account_with("Ada", "1").await;
    is_refused(pays(&shared, "0.5", &new_wallet()).await, "creates none for payees");
}

#[tokio::test]
async fn nothing_is_created_for_a_payment_that_would_be_refused_all_the_same() {
    let agent = operator_with(ONE).await.creates_account_with("Ada", "20").await;
    let wallet = new_wallet();
    agent.sets_policy(json!({ "max_single_transfer": 5, "require_memo": true })).await;
    let asked = |usdc: &str| pays(&agent, usdc, &wallet);
    asked("1").await.is_error(402, "policy_violation");
    asked("6").memo("rent").await.is_error(402, "policy_violation");
    agent.sets_policy(json!({ "allowed_counterparties": [{ "wallet": new_wallet().to_string() }] })).await;
    asked("1").memo("rent").await.is_error(402, "policy_violation");
    agent.sets_policy(json!({ "paused": true })).await;
    asked("1").memo("rent").await.is_error(402, "account_paused");
    agent.sets_policy(json!({})).await;
    asked("21").await.is_error(402, "insufficient_balance");
    let vault = Pubkey::find_program_address(&[b"vault"], &wallet).0;
    pays(&agent, "1", &vault).await.is_error(422, "invalid_recipient");
    // A key that stands for another payment.
    let (key, payee) = (unique_key(), agent.operator.chain.new_payee().await.0);
    agent.pays("1").to(&payee).key(&key).await.is_settled();
    asked("1").key(&key).await.is_error(409, "idempotency_conflict");
    assert!(!is_created(&agent, &wallet).await && !is_created(&agent, &vault).await);
    // None of that took the one that there is.
    asked("1").await.is_settled();
}

#[tokio::test]
async fn concurrent_payments_to_one_wallet_make_one_creation() {
    let agent = operator_with(ONE).await.creates_account_with("Ada", "20").await;
    let wallet = new_wallet();
    let payment = pays(&agent, "1", &wallet);
    let same = (0..4).map(|_| payment.clone());
    let others = (0..4).map(|_| pays(&agent, "1", &wallet));
    for answer in all_at_once(same.chain(others)).await {
        answer.is_settled();
    }
    let chain = &agent.operator.chain;
    assert_eq!(chain.usdc_micros(&chain.usdc_account_of(&wallet)).await, 5_000_000);
}

#[tokio::test]
async fn token_account_that_others_create_close_freeze_or_give_away_is_paid_or_refused_never_stuck() {
    let agent = operator_with(TWO).await.creates_account_with("Ada", "20").await;
    let (chain, wallet) = (&agent.operator.chain, new_wallet());
    assert_eq!(previews(&agent, "1", &wallet).await.has_status(200)["rent_lamports"], RENT);
    // Created by somebody else: paid without a creation.
    opens(&agent, &wallet).await;
    pays(&agent, "1", &wallet).await.is_settled();
    // Closed: created twice, and then no more.
    let token_account = chain.usdc_account_of(&wallet);
    for _ in 0..2 {
        chain.sets_account(&token_account, &SYSTEM_PROGRAM, &[]).await;
        // By what is known without asking it may be there still; the chain refuses that, and the same request pays.
        let payment = pays(&agent, "1", &wallet);
        if payment.clone().await.status != 200 {
            payment.insists().await;
        }
    }
    chain.freezes(&wallet, true).await;
    let frozen = pays(&agent, "1", &wallet);
    frozen.clone().await.is_error(422, "invalid_recipient");
    chain.freezes(&wallet, false).await;
    frozen.key(&unique_key()).await.is_settled();
    gives_away(&agent, &wallet, &agent.address).await;
    agent.lets_the_relayer_read(&agent.operator.client, &token_account).await;
    pays(&agent, "1", &wallet).await.is_error(422, "invalid_recipient");
    is_refused(pays(&agent, "1", &new_wallet()).await, "2 for the operator's payees");
}

#[tokio::test]
async fn two_relayers_on_one_database_create_no_more_than_the_quota_and_one_for_a_wallet() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..settings(TWO) };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let agent = operator.creates_account_with("Ada", "40").await;
    let through_both = |payments: Vec<Payment>| {
        all_at_once(payments.into_iter().enumerate().map(|(number, payment)| match number % 2 {
            0 => payment,
            _ => payment.by(&beside),
        }))
    };
    let wallet = new_wallet();
    let to_one = (0..8).map(|_| pays(&agent, "1", &wallet)).collect();
    for answer in through_both(to_one).await {
        answer.is_settled();
    }
    let to_many = (0..12).map(|_| pays(&agent, "1", &new_wallet())).collect();
    let (paid, refused): (Vec<_>, Vec<_>) =
        through_both(to_many).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(paid.len(), 1, "the second of two");
    refused.into_iter().for_each(|answer| is_refused(answer, "2 for the operator's payees"));
}

/// The relayer dies at this point of a creation. The same request pays after that, once; so many creations are left of two.
async fn dies_and_pays(point: &str, left: u64) {
    // A relayer that reaches these crash points.
    let sound = AppSettings { host_clock: Some(HostClock::new()), ..settings(TWO) };
    let mortal =
        AppSettings { environment: vec![("PURSER_CRASH_AT", format!("{point}:1"))], ..sound.clone() };
    let app: Arc<TestApp> = TestApp::start(TestNetwork::shared().await, &mortal).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "20").await;
    let wallet = new_wallet();
    let body: Value = pays(&agent, "1", &wallet).body().clone();
    let client = &agent.operator.client;
    let request = client.request(reqwest::Method::POST, "/v1/transfers").json(&body);
    assert!(client.tries(request).await.is_err(), "it was to die at {point}");
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(client.key());
    let deadline = tokio::time::Instant::now() + Duration::from_secs(90);
    loop {
        let answer = client.post("/v1/transfers", &body).await;
        if answer.status == 200 {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{point}: {}\n{}", answer.text, risen.log_tail());
        assert!([202, 503].contains(&answer.status), "{point}: {}", answer.text);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let chain = &agent.operator.chain;
    assert_eq!(chain.usdc_micros(&chain.usdc_account_of(&wallet)).await, 1_000_000, "{point}");
    for _ in 0..left {
        pays(&agent, "1", &new_wallet()).by(&client).await.is_settled();
    }
    is_refused(pays(&agent, "1", &new_wallet()).by(&client).await, "2 for the operator's payees");
}

#[tokio::test]
async fn death_before_a_token_account_is_sent_loses_one_reservation_and_the_request_pays_once() {
    dies_and_pays("token_account.reserved", 0).await;
}

#[tokio::test]
async fn death_between_the_two_transactions_leaves_the_token_account_and_the_request_pays_once() {
    dies_and_pays("token_account.created", 1).await;
}
