//! Changes on the chain whose process is killed: the audit log says how each ended, by the transactions that were recorded before they
//! were sent.

use std::sync::Arc;

use purser_tests::clock::HostClock;
use purser_tests::{Agent, AppSettings, Browser, Client, Operator, TestApp, TestNetwork, until};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

/// A relayer that dies at `point` of each change, and the operator of a relayer before it on the same database.
struct Mortal {
    app: Arc<TestApp>,
    operator: Operator,
    clock: HostClock,
}

impl Mortal {
    /// With what `prepares` made while the first relayer served.
    async fn after<T>(point: &str, prepares: impl AsyncFnOnce(&Operator) -> T) -> (Mortal, T) {
        let clock = HostClock::new();
        let sound = AppSettings { host_clock: Some(clock.clone()), ..AppSettings::default() };
        let first = TestApp::start(TestNetwork::shared().await, &sound).await;
        let operator = first.new_operator().await;
        let made = prepares(&operator).await;
        first.crashes();
        let environment = vec![("PURSER_CRASH_AT", point.to_owned())];
        let app = first.twin(&AppSettings { environment, ..sound });
        (Mortal { app, operator, clock }, made)
    }

    fn client(&self) -> Client {
        self.app.client().with_key(self.operator.client.key())
    }

    /// Sends a change during which the relayer dies, and starts the relayer again.
    async fn dies_at(&self, (method, path, body): (Method, &str, &Value)) {
        let client = self.client();
        let request = client.request(method.clone(), path);
        let died = client.tries(if body.is_null() { request } else { request.json(body) }).await;
        let answer = died.map(|answer| answer.text);
        assert!(answer.is_err(), "it was to die at {method} {path}: {answer:?}");
        self.app.crashes();
        self.app.starts();
    }

    /// The actions of this name, newest first.
    async fn actions(&self, name: &str) -> Vec<Value> {
        let listed = self.client().get(&format!("/v1/actions?action={name}&limit=100")).await.has_status(200);
        listed["data"].as_array().expect("a list").clone()
    }

    /// Waits until the newest actions of this name have these outcomes, newest first.
    async fn come_to(&self, name: &str, outcomes: &[&str]) -> Vec<Value> {
        until(&format!("{name} is {outcomes:?}"), async || {
            let actions = self.actions(name).await;
            let newest = actions.iter().take(outcomes.len()).map(|action| &action["outcome"]);
            newest.eq(outcomes.iter().map(|outcome| json!(outcome)).collect::<Vec<_>>().iter())
        })
        .await;
        self.actions(name).await
    }

    /// Some minutes later, when no process can be at work on what was interrupted.
    fn goes_on(&self) {
        self.clock.is_ahead(200);
    }
}

/// More payees than fit into one transaction. A draft of them is opened, written in one step, and applied.
fn long_list() -> Value {
    let payees: Vec<Value> = (0..24).map(|_| json!({ "wallet": Pubkey::new_unique().to_string() })).collect();
    json!({ "allowed_counterparties": payees })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_change_of_every_kind_that_landed_is_done() {
    let (mortal, (agent, other, budget, grant)) =
        Mortal::after("action.carried_out:1", async |operator: &Operator| {
            let agent = operator.creates_account("Ada").await;
            let other = operator.creates_account("Ben").await;
            let (payee, _) = operator.chain.new_payee().await;
            let budget = operator.makes_budget(1, "50", None).await;
            let grant = agent.opens_grant("1", &payee).await;
            agent.opens_grant("2", &payee).await;
            (agent, other, budget, grant)
        })
        .await;
    let policy = agent.path("/policy");
    let (grants, halt) = (agent.path("/grants"), agent.path("/halt"));
    let one_grant = format!("{grants}/{grant}");
    let budget = format!("/v1/budgets/{budget}");
    let changes = [
        (Method::PATCH, policy.as_str(), json!({ "max_single_transfer": 5 })),
        (Method::PATCH, policy.as_str(), json!({ "max_30_day_spend": 50 })),
        (Method::PATCH, policy.as_str(), long_list()),
        (Method::PATCH, policy.as_str(), json!({ "paused": true })),
        (Method::PATCH, budget.as_str(), json!({ "max_daily_spend": 40 })),
        (Method::DELETE, one_grant.as_str(), Value::Null),
        (Method::DELETE, grants.as_str(), Value::Null),
        (Method::POST, "/v1/accounts", json!({ "name": "Cleo" })),
        (Method::POST, halt.as_str(), json!({})),
        (Method::POST, "/v1/halt", json!({})),
    ];
    for (method, path, body) in &changes {
        mortal.dies_at((method.clone(), path, body)).await;
    }
    mortal.goes_on();
    let mut signatures = Vec::new();
    for (name, outcomes) in [
        ("update_policy", &["done"; 4][..]),
        ("update_budget", &["done"]),
        ("close_grant", &["done"]),
        ("void_grants", &["done"]),
        ("halt_account", &["done"]),
        ("halt", &["done"]),
    ] {
        let actions = mortal.come_to(name, outcomes).await;
        assert_eq!(actions.len(), outcomes.len(), "{name}");
        signatures.extend(actions.iter().map(|action| action["tx_signature"].clone()));
    }
    let created = mortal.come_to("create_account", &["done"]).await;
    signatures.push(created[0]["tx_signature"].clone());
    for signature in &signatures {
        let signature = signature.as_str().expect("the change names its transaction");
        assert!(mortal.operator.chain.has_settled(signature).await, "{signature}");
    }
    signatures.sort_by_key(Value::to_string);
    signatures.dedup();
    assert_eq!(signatures.len(), changes.len(), "each has its own");
    // The transactions are those that made the changes, not steps before them.
    let versions = mortal.client().get(&format!("{policy}/versions?limit=100")).await.has_status(200);
    let versions = versions["data"].as_array().expect("versions");
    let of_policy = mortal.actions("update_policy").await;
    let is_version =
        |action: &&Value| versions.iter().any(|version| version["tx_signature"] == action["tx_signature"]);
    assert_eq!(of_policy.iter().filter(is_version).count(), 3, "all but the limit that is no part of it");
    let account = mortal.client().get(&other.path("")).await.has_status(200);
    assert_eq!(account["status"], "paused", "all are halted");
}

/// What the chain has of an account.
async fn on_chain(mortal: &Mortal, agent: &Agent) -> (u32, bool) {
    let found = mortal.operator.chain.agent(&agent.address).await.agent;
    (found.policy_version, found.halted_by != 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_was_recorded_and_never_sent_changed_nothing() {
    let (mortal, (agent, budget)) = Mortal::after("action.recorded:1", async |operator: &Operator| {
        (operator.creates_account("Ada").await, operator.makes_budget(1, "50", None).await)
    })
    .await;
    let (policy, halt) = (agent.path("/policy"), agent.path("/halt"));
    let budget = format!("/v1/budgets/{budget}");
    let before = on_chain(&mortal, &agent).await;
    let lower = json!({ "max_single_transfer": 5 });
    for (method, path, body) in [
        (Method::PATCH, policy.as_str(), &lower),
        (Method::PATCH, policy.as_str(), &long_list()),
        (Method::PATCH, budget.as_str(), &json!({ "max_daily_spend": 40 })),
        (Method::POST, halt.as_str(), &json!({})),
    ] {
        mortal.dies_at((method, path, body)).await;
    }
    mortal.goes_on();
    for (name, outcomes) in [
        ("update_policy", &["unchanged"; 2][..]),
        ("update_budget", &["unchanged"]),
        ("halt_account", &["unchanged"]),
    ] {
        let actions = mortal.come_to(name, outcomes).await;
        assert!(actions.iter().all(|action| action["tx_signature"].is_null()), "{actions:?}");
    }
    assert_eq!(on_chain(&mortal, &agent).await, before, "and it did not");
    let events = mortal.client().get("/v1/events?type=action.recorded&limit=100").await.has_status(200);
    let events = events["data"].as_array().expect("events").iter();
    assert_eq!(events.filter(|event| event["data"]["outcome"] == "unchanged").count(), 4);
    let browser = Browser::signed_in(&mortal.app.base_url(), mortal.operator.client.key()).await;
    browser.reads("/dashboard/actions").await.has_status(200).says("nothing changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_list_whose_draft_was_written_and_never_applied_changed_nothing() {
    // The process dies with the third transaction on record, which applies the draft.
    let (mortal, agent) =
        Mortal::after("action.recorded:3", async |operator: &Operator| operator.creates_account("Ada").await)
            .await;
    let before = on_chain(&mortal, &agent).await;
    let transactions = mortal.operator.chain.transactions_of(&agent.address).await;
    mortal.dies_at((Method::PATCH, &agent.path("/policy"), &long_list())).await;
    let chain = &mortal.operator.chain;
    assert_eq!(chain.transactions_of(&agent.address).await, transactions + 2, "the steps landed");
    mortal.goes_on();
    mortal.come_to("update_policy", &["unchanged"]).await;
    assert_eq!(on_chain(&mortal, &agent).await, before);
}
