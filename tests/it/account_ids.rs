//! An account's id follows from its owner: who copies what somebody else's account was made from gets an account of another id.

use std::time::{Duration, Instant};

use purser_client::{AccountIds, OnChainPolicy};
use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, Client, DirectOutcome, Operator, TestApp, TestNetwork};
use serde_json::json;
use solana_sdk::signer::Signer;

use crate::history_rebuilt::found_again;

/// The operator's admin creates an account from this agent id by wallet. Returns the id of the account.
async fn creates_by_wallet(operator: &Operator, agent_id: [u8; 16]) -> String {
    let (program, admin) = (operator.chain.program(), operator.app().admin());
    let (by, policy) = (admin.pubkey(), OnChainPolicy::default());
    let create = program.create_agent(by, by, by, operator.address, agent_id, &policy);
    let landing = operator.chain.lands(create, admin).await;
    assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    operator.account_id_of(&program.agent_address(&operator.address, &agent_id))
}

/// The account, once the relayer has found it on the chain.
async fn found(operator: &Operator, id: &str) -> Agent {
    Agent::of(operator, &found_by(&operator.client, id).await)
}

async fn found_by(client: &Client, id: &str) -> purser_tests::Answer {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = client.get(&format!("/v1/accounts/{id}")).await;
        if answer.status == 200 {
            return answer;
        }
        assert!(Instant::now() < deadline, "{id} is not found: {}", answer.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whatever is paid to the victim's id arrives there, and nothing of it at the other's.
async fn is_paid_alone(payer: &Agent, victim: &Agent, thief: &Agent) {
    assert_ne!(victim.id, thief.id);
    payer.holds("5").await;
    payer.pays("5").to(victim).await.is_settled();
    assert_eq!((victim.balance_micros().await, thief.balance_micros().await), (5_000_000, 0));
    thief.operator.reads_account(&victim.id).await.is_error(404, "not_found");
    victim.operator.reads_account(&thief.id).await.is_error(404, "not_found");
}

#[tokio::test]
async fn account_whose_agent_id_another_copies_first_keeps_its_id() {
    let victims = Operator::shared().await;
    let thieves = victims.app().new_operator().await;
    let agent_id = ulid::Ulid::generate().to_bytes();
    // The thief sees the transaction, and is quicker.
    let stolen = creates_by_wallet(&thieves, agent_id).await;
    let thief = found(&thieves, &stolen).await;
    let id = creates_by_wallet(&victims, agent_id).await;
    let victim = found(&victims, &id).await;
    let payer = victims.creates_account("Payer").await;
    is_paid_alone(&payer, &victim, &thief).await;
}

#[tokio::test]
async fn account_of_a_lost_database_keeps_its_id_when_a_copy_of_it_is_found_first() {
    let settings = AppSettings { indexer_interval_ms: 200, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own(), &settings).await;
    let (victims, thieves) = (app.new_operator().await, app.new_operator().await);
    let (victim, payer) = (victims.creates_account("Ada").await, victims.creates_account("Payer").await);
    let agent_id = app.network("test").chain().agent(&victim.address).await.agent.agent_id;
    let stolen = creates_by_wallet(&thieves, agent_id).await;

    assert!(app.stops(Duration::from_secs(60)).await, "the relayer stops by itself");
    app.restores_database(&[]);
    app.runs(&["migrate"]);
    app.starts();
    let thieves = found_again(&app, &thieves);
    let thief = found(&thieves, &stolen).await;
    let victims = found_again(&app, &victims);
    let again = found(&victims, &victim.id).await;
    assert_eq!((again.address, again.token_account), (victim.address, victim.token_account));
    let payer = found(&victims, &payer.id).await;
    is_paid_alone(&payer, &again, &thief).await;
}

#[tokio::test]
async fn same_address_on_two_networks_is_two_ids() {
    let settings = AppSettings { live: Some(TestNetwork::own()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent_id = ulid::Ulid::generate().to_bytes();
    let admin_file = app.folder().join("admin.json");
    let mut found = Vec::new();
    for network in ["live", "test"] {
        let created = app.runs(&[
            "operator",
            "create",
            "--network",
            network,
            "--name",
            "Twin",
            "--admin-keypair",
            admin_file.to_str().expect("UTF-8"),
            "--id",
            "7777",
            "--loosening-delay",
            "0",
        ]);
        let text = |field: &str| created[field].as_str().expect("printed").to_owned();
        let (operator, client) = (
            text("address").parse().expect("base58"),
            app.client().with_key(&app.new_operator_key(&text("operator_id"))),
        );
        let (chain, admin) = (app.network(network).chain(), app.admin());
        let (program, by) = (chain.program(), admin.pubkey());
        let create = program.create_agent(by, by, by, operator, agent_id, &OnChainPolicy::default());
        let landing = chain.lands(create, admin).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        let ids = AccountIds::on(&app.network(network).genesis_hash).expect("a hash");
        let id = ids.of(&program.agent_address(&operator, &agent_id));
        let answer = found_by(&client, &id).await;
        found.push((client, id, answer));
    }
    let [(live, live_id, on_live), (test, test_id, on_test)] = &found[..] else { panic!("two") };
    assert_eq!(on_live["solana_address"], on_test["solana_address"]);
    assert_ne!(live_id, test_id);
    live.get(&format!("/v1/accounts/{test_id}")).await.is_error(404, "not_found");
    test.get(&format!("/v1/accounts/{live_id}")).await.is_error(404, "not_found");

    let chain = app.network("test").chain();
    let payer = test.post("/v1/accounts", &json!({ "name": "Payer" })).await.has_status(201);
    mints(&chain, "5", &payer.text_of("usdc_token_account").parse().expect("base58")).await;
    let pay = |to: &str, key: &str| {
        let body =
            json!({ "from": payer.text_of("account_id"), "to": to, "amount": "5", "idempotency_key": key });
        let test = test.clone();
        async move { test.post("/v1/transfers", &body).await }
    };
    pay(live_id, "other network").await.is_error(422, "invalid_recipient");
    pay(test_id, "own network").await.is_settled();
    let paid = on_test.text_of("usdc_token_account").parse().expect("base58");
    assert_eq!(chain.usdc_micros(&paid).await, 5_000_000);
}
