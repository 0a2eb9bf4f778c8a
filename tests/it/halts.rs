//! Halts: they stop an account independently of its policy, and only some may lift them.

use purser_tests::chain::DirectOutcome;
use purser_tests::network::path_text;
use purser_tests::{Agent, Answer, AppSettings, Operator, TestApp, TestNetwork, page};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;

use crate::dashboard::signed_in;
use crate::dashboard_home::comes_to_say;

async fn own_operator() -> Operator {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await
}

/// Neither the policy's pause nor the relayer's keys lift the halt of the operator; the admin does.
async fn only_the_admin_resumes(halted: &Agent, payee: &Pubkey) {
    let operator = &halted.operator;
    halted.sets_policy(json!({ "paused": false })).await;
    halted.pays("1").to(payee).await.is_error(402, "account_paused");
    let (app, chain) = (operator.app(), &operator.chain);
    for key in [app.policy_authority(), app.transfer_authority()] {
        assert!(matches!(chain.resumes(operator.address, None, key).await, DirectOutcome::Refused(6008)));
    }
    let resumed = chain.resumes(operator.address, None, app.admin()).await;
    assert!(matches!(resumed, DirectOutcome::Settled(_)), "{resumed:?}");
}

#[track_caller]
fn is_halted(account: &Answer, by: &str, scope: &str) {
    assert_eq!((&account["halted"]["by"], &account["halted"]["scope"]), (&json!(by), &json!(scope)));
}

#[tokio::test]
async fn halt_over_http_stops_every_account_and_only_the_admins_wallet_resumes() {
    let operator = own_operator().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "5").await, operator.creates_account_with("Ben", "5").await);
    let (payee, _) = operator.chain.new_payee().await;
    let halted = operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    assert_eq!(
        (halted["halted"].as_bool(), halted["halted_by"].as_str()),
        (Some(true), Some("policy_authority"))
    );
    assert!(operator.chain.has_settled(halted.text_of("tx_signature")).await);
    operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    for agent in [&ada, &ben] {
        let refused = agent.pays("1").to(&payee).await.is_error(402, "account_paused");
        assert_eq!(refused.failed_checks(), ["paused"]);
        assert!(refused.text_of("message").contains("policy authority"), "{}", refused.text);
        let account = operator.reads_account(&agent.id).await.has_status(200);
        assert_eq!(account["status"], "paused");
        is_halted(&account, "policy_authority", "operator");
    }

    only_the_admin_resumes(&ada, &payee).await;
    ada.pays("1").to(&payee).await.is_settled();
    let account = operator.reads_account(&ada.id).await.has_status(200);
    assert_eq!((account["status"].as_str(), account["halted"].is_null()), (Some("active"), true));
}

#[tokio::test]
async fn the_dashboard_names_who_asked_for_a_halt_and_nobody_where_a_wallet_halted() {
    let operator = own_operator().await;
    let agent = operator.creates_account("Ada").await;
    let named = json!({ "name": "night watch", "scopes": ["read", "halt"] });
    let watch = operator.client.post("/v1/keys", &named).await.has_status(201).text_of("key").to_owned();
    let watch = operator.client.with_key(&watch);
    let browser = signed_in(&operator).await;
    let page = format!("/dashboard/accounts/{}", agent.id);
    let halted = watch.post("/v1/halt", &json!({})).await.has_status(200);
    let action = format!("/dashboard/actions?action_id={}", halted.text_of("action_id"));
    for page in [&*page, "/dashboard"] {
        comes_to_say(&browser, page, "halted by the policy authority, asked for by").await;
        browser.reads(page).await.says("night watch").says(&action);
    }
    browser.reads(&action).await.has_status(200).says("night watch");
    let one = operator.client.get(&format!("/v1/actions?action_id={}", halted.text_of("action_id"))).await;
    assert_eq!(one["data"].as_array().map(Vec::len), Some(1), "{}", one.text);
    assert_eq!(one["data"][0]["tx_signature"], halted["tx_signature"]);
    let named = async || operator.reads_account(&agent.id).await["halted"]["action_id"].clone();
    assert_eq!(named().await, halted["action_id"]);
    let listed = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(listed["data"][0]["halted"]["action_id"], halted["action_id"], "{}", listed.text);
    let (app, chain) = (operator.app(), &operator.chain);
    chain.resumes(operator.address, None, app.admin()).await;
    chain.halts(operator.address, None, app.policy_authority()).await;
    comes_to_say(&browser, &page, "halted by the policy authority.").await;
    assert_eq!(named().await, json!(null), "a wallet did that");
    browser.reads("/dashboard").await.says("Every account is halted by the policy authority.");
}

#[tokio::test]
async fn one_account_that_is_halted_on_chain_leaves_the_others_alone() {
    let operator = own_operator().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "5").await, operator.creates_account_with("Ben", "5").await);
    let (payee, _) = operator.chain.new_payee().await;
    operator.chain.halts(operator.address, Some(ada.address), operator.app().admin()).await;
    let refused = ada.pays("1").to(&payee).await.is_error(402, "account_paused");
    assert!(refused.text_of("message").contains("admin"), "{}", refused.text);
    let account = operator.reads_account(&ada.id).await.has_status(200);
    is_halted(&account, "admin", "account");
    ben.pays("1").to(&payee).await.is_settled();
}

#[tokio::test]
async fn one_account_is_halted_over_http_and_only_the_admins_wallet_resumes_it() {
    let operator = own_operator().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "5").await, operator.creates_account_with("Ben", "5").await);
    let (payee, _) = operator.chain.new_payee().await;
    let path = ada.path("/halt");
    let halted = operator.client.post(&path, &json!({})).await.has_status(200);
    assert_eq!((&halted["halted"], &halted["halted_by"]), (&json!(true), &json!("policy_authority")));
    assert!(operator.chain.has_settled(halted.text_of("tx_signature")).await);
    operator.client.post(&path, &json!({})).await.has_status(200);
    let account = operator.reads_account(&ada.id).await.has_status(200);
    is_halted(&account, "policy_authority", "account");
    ada.sets_policy(json!({ "paused": false })).await;
    ada.pays("1").to(&payee).await.is_error(402, "account_paused");
    ben.pays("1").to(&payee).await.is_settled();
    // Neither its own agent, nor another operator, which must not learn that the account exists.
    ben.new_key().await.post(&path, &json!({})).await.is_error(403, "forbidden");
    operator.app().new_operator().await.client.post(&path, &json!({})).await.is_error(404, "not_found");
    for (method, status) in [(reqwest::Method::DELETE, 405), (reqwest::Method::GET, 405)] {
        operator.client.sends(operator.client.request(method, &path)).await.has_status(status);
    }
    let (app, chain) = (operator.app(), &operator.chain);
    let resumed = chain.resumes(operator.address, Some(ada.address), app.policy_authority()).await;
    assert!(matches!(resumed, DirectOutcome::Refused(6008)), "{resumed:?}");
    let resumed = chain.resumes(operator.address, Some(ada.address), app.admin()).await;
    assert!(matches!(resumed, DirectOutcome::Settled(_)), "{resumed:?}");
    ada.pays("1").to(&payee).await.is_settled();
}

/// With the command of docs/run/emergency.md as printed, while the relayer serves.
#[tokio::test]
async fn halt_by_command_on_the_server_stops_every_account_and_only_the_admins_wallet_resumes() {
    let operator = own_operator().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "5").await, operator.creates_account_with("Ben", "5").await);
    let (payee, _) = operator.chain.new_payee().await;
    ada.pays("1").to(&payee).await.is_settled();
    let command = page::inline("docs/run/emergency.md", "purser halt ");
    let config = operator.app().config();
    let command =
        page::filled(&command, &[("OPERATOR_ID", operator.id.as_str()), ("FILE", path_text(&config))]);
    let (command, _) = command.split_once(" --config ").expect("`runs` names it for each command");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let halted = operator.app().runs(&words);
    assert_eq!((&halted["halted"], &halted["halted_by"]), (&json!(true), &json!("policy_authority")));
    let signature = halted["tx_signature"].as_str().expect("a signature");
    assert!(operator.chain.has_settled(signature).await);
    // Once more does no harm.
    operator.app().runs(&words);
    for agent in [&ada, &ben] {
        let refused = agent.pays("1").to(&payee).await.is_error(402, "account_paused");
        assert_eq!(refused.failed_checks(), ["paused"]);
        let account = operator.reads_account(&agent.id).await.has_status(200);
        is_halted(&account, "policy_authority", "operator");
        // The program refuses it too, whoever asks.
        let landing = agent.pays_directly("1", &payee, "").await;
        assert!(matches!(landing, DirectOutcome::Refused(_)), "{landing:?}");
    }
    only_the_admin_resumes(&ada, &payee).await;
    for agent in [&ada, &ben] {
        agent.pays("1").to(&payee).await.is_settled();
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, 3_000_000);
}

#[tokio::test]
async fn halt_takes_no_fields_and_no_other_method() {
    let operator = own_operator().await;
    let ada = operator.creates_account_with("Ada", "5").await;
    for body in [json!({ "account_id": "x" }), json!([]), json!("halt"), json!(null)] {
        operator.client.post("/v1/halt", &body).await.is_error(400, "invalid_request");
    }
    operator.client.delete("/v1/halt").await.has_status(405);
    let account = operator.reads_account(&ada.id).await.has_status(200);
    assert_eq!(account["status"], "active");
}
