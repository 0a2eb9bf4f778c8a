//! Loosened policies that are pending, from the request to their announcement.

use std::time::Duration;

use purser::OperatorUpdate;
use purser_client::{OnChainPolicy, OwnedAllowlist, Proposal, Staging};
use purser_tests::{Agent, AppSettings, DirectOutcome, Operator, Receiver, TestApp, TestNetwork, until};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::webhooks::registers;

/// An operator with a loosening delay of this many seconds, and an agent that may spend 10 at once.
pub async fn agent_with_delay(seconds: u32) -> (Operator, Agent) {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": 10 })).await;
    loosens_after(&operator, seconds).await;
    (operator, agent)
}

/// Sets the operator's loosening delay.
pub async fn loosens_after(operator: &Operator, seconds: u32) {
    let update = OperatorUpdate { loosening_delay_seconds: Some(seconds), ..OperatorUpdate::default() };
    let admin = operator.app().admin();
    let call = operator.chain.program().update_operator(admin.pubkey(), operator.address, update);
    operator.chain.lands(call, admin).await;
}

/// Seals a looser policy with this key on the chain, past the relayer.
pub async fn seals(operator: &Operator, agent: &Agent, signer: &Keypair, policy: OnChainPolicy) {
    let version = operator.chain.agent(&agent.address).await.agent.policy_version;
    let proposal = Proposal { agent: agent.address, expected_version: version, policy };
    let own = signer.pubkey();
    let staging = Staging {
        deployment: operator.chain.program(),
        authority: own,
        payer: own,
        rent_refund: own,
        operator: operator.address,
        proposal: &proposal,
    };
    for step in staging.steps(None) {
        let landing = operator.chain.lands(step.instruction, signer).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    }
}

async fn policy_of(operator: &Operator, agent: &Agent) -> Value {
    operator.client.get(&agent.path("/policy")).await.has_status(200).body.clone()
}

#[tokio::test]
async fn loosened_policy_waits_is_announced_and_takes_effect_by_itself() {
    let (operator, agent) = agent_with_delay(3).await;
    let receiver = Receiver::start();
    registers(&operator, &receiver.url("/p"), &["policy.pending", "policy.applied"]).await;
    let (payee, _) = operator.chain.new_payee().await;
    let asked = json!({ "max_single_transfer": 50 });
    let waiting = operator.client.patch(&agent.path("/policy"), &asked).await.has_status(202);
    assert_eq!(waiting["max_single_transfer"], 10);
    assert_eq!(waiting["pending"]["max_single_transfer"], 50);
    assert_eq!(waiting["effective_at"], waiting["pending"]["effective_at"]);
    agent.pays("20").to(&payee).await.is_error(402, "policy_violation");
    let mut paid = false;
    for _ in 0..600 {
        if policy_of(&operator, &agent).await["max_single_transfer"] == 50 {
            agent.pays("20").to(&payee).await.is_settled();
            paid = true;
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(paid, "the policy never took effect");
    // The version names the action of the request, though another transaction put it in force.
    let asked = operator.client.get("/v1/actions?action=update_policy&limit=1").await.has_status(200);
    let action = asked["data"][0]["id"].as_str().expect("an action").to_owned();
    until("the version is read", async || {
        let versions = operator.client.get(&agent.path("/policy/versions?limit=1")).await.has_status(200);
        versions["data"][0]["action_id"] == action.as_str()
    })
    .await;
    assert!(policy_of(&operator, &agent).await["pending"].is_null());
    let deliveries = receiver.waits_for("/p", 2).await;
    let types: Vec<String> = deliveries.iter().map(|delivery| delivery.event_type().to_owned()).collect();
    assert_eq!(types, ["policy.pending", "policy.applied"]);
    for delivery in &deliveries {
        let data = &delivery.event()["data"];
        assert_eq!(
            (data["account_id"].as_str(), &data["policy"]["max_single_transfer"]),
            (Some(&*agent.id), &json!(50))
        );
    }
}

#[tokio::test]
async fn tightened_policy_applies_at_once_and_voids_what_waits() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let path = agent.path("/policy");
    operator.client.patch(&path, &json!({ "max_single_transfer": 50 })).await.has_status(202);
    operator
        .client
        .patch(&path, &json!({ "max_single_transfer": 5, "require_memo": true }))
        .await
        .has_status(200);
    let policy = policy_of(&operator, &agent).await;
    assert_eq!((&policy["max_single_transfer"], policy["pending"].is_null()), (&json!(5), true));
}

#[tokio::test]
async fn waiting_policy_is_dropped_on_request() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let (path, pending) = (agent.path("/policy"), agent.path("/policy/pending"));
    operator.client.delete(&pending).await.is_error(404, "not_found");
    operator.client.patch(&path, &json!({ "max_single_transfer": 50 })).await.has_status(202);
    let dropped = operator.client.delete(&pending).await.has_status(200);
    assert!(dropped["pending"].is_null());
    assert!(policy_of(&operator, &agent).await["pending"].is_null());
    operator.client.delete(&pending).await.is_error(404, "not_found");
}

#[tokio::test]
async fn lifting_a_pause_waits_and_pausing_does_not() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let path = agent.path("/policy");
    operator.client.put(&path, &json!({ "paused": true })).await.has_status(200);
    let waiting = operator.client.put(&path, &json!({ "paused": false })).await.has_status(202);
    assert_eq!((&waiting["paused"], &waiting["pending"]["paused"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn loosening_that_is_sealed_past_the_relayer_is_announced_with_its_signer_and_is_not_applied() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let receiver = Receiver::start();
    registers(&operator, &receiver.url("/p"), &["policy.pending"]).await;
    // A thief of the policy authority, without the relayer.
    let thief = operator.app().policy_authority();
    let own = thief.pubkey();
    let keys: Vec<[u8; 32]> = (0..30).map(|_| Pubkey::new_unique().to_bytes()).collect();
    let lists = [OwnedAllowlist::Anyone, OwnedAllowlist::only(keys, vec![])];
    for (count, allowlist) in (1..).zip(lists) {
        let policy = OnChainPolicy::default().over(allowlist);
        let listed = policy.allowlist.len();
        seals(&operator, &agent, thief, policy).await;
        let pending = receiver.waits_for("/p", count).await[count - 1].event();
        let data = &pending["data"];
        assert_eq!((&pending["type"], &data["account_id"]), (&json!("policy.pending"), &json!(agent.id)));
        assert_eq!(
            (&data["signer"], data["policy"]["max_single_transfer"].is_null()),
            (&json!(own.to_string()), true)
        );
        let entries = data["policy"]["allowed_counterparties"].as_array().map_or(0, Vec::len);
        assert_eq!(entries, listed);
        assert_eq!(policy_of(&operator, &agent).await["pending"]["effective_at"], data["effective_at"]);
        operator.client.delete(&agent.path("/policy/pending")).await.has_status(200);
        agent.sets_policy(json!({ "max_single_transfer": 10, "require_memo": true })).await;
    }
}
