//! A pause or a halt at one relayer races a policy change at another: whatever was answered stays. The second relayer's
//! transactions are held back until the pause was answered.

use std::sync::Arc;

use purser_tests::{Agent, Answer, AppSettings, Client, Operator, Proxy, TestApp, TestDatabase, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

/// Entries of a staged list: opened, written in two parts, applied.
const LONG: usize = 40;
const STAGED_SENDS: usize = 4;

/// Two relayers, the second behind a line that can hold its transactions.
struct Two {
    first: Operator,
    second: Client,
    line: Proxy,
    _apps: [Arc<TestApp>; 2],
}

impl Two {
    /// With one Postgres, or with a database each that both know the account.
    async fn with(database: Option<Arc<TestDatabase>>) -> (Two, Agent) {
        let network = TestNetwork::own();
        let line = Proxy::to(&network.rpc_url);
        let settings = AppSettings { database, ..AppSettings::default() };
        let first = TestApp::start(network, &settings).await;
        let agent = first.new_operator().await.creates_account_with("Ada", "5").await;
        if settings.database.is_none() {
            first.crashes();
        }
        let second = first.twin(&AppSettings { rpc_url: Some(line.url()), ..settings.clone() });
        if settings.database.is_none() {
            first.starts();
        }
        let operator = agent.operator.reconnected();
        let beside = Client::new(&second.base_url(), Some(operator.client.key()));
        let agent = Agent { operator: operator.clone(), ..agent };
        (Two { first: operator, second: beside, line, _apps: [first, second] }, agent)
    }

    /// Sends `change` to the second relayer. Once `sends` of its transactions have passed and the next one is held, runs
    /// `meanwhile` to its end. Then releases the rest.
    async fn overtakes(
        &self,
        sends: usize,
        change: impl Future<Output = Answer>,
        meanwhile: impl Future<Output = ()>,
    ) -> Answer {
        self.line.gate().closes_after(sends);
        let overtaking = async {
            self.line.gate().holds_one().await;
            meanwhile.await;
            self.line.gate().opens();
        };
        tokio::join!(change, overtaking).0
    }
}

fn changes(round: usize) -> [(&'static str, Value, usize); 6] {
    let long: Value = (0..LONG).map(|_| json!({ "wallet": Keypair::new().pubkey().to_string() })).collect();
    let staged = round % STAGED_SENDS;
    [
        ("PATCH", json!({ "allowed_counterparties": long }), staged),
        ("PUT", json!({ "allowed_counterparties": long, "paused": false }), staged),
        ("PUT", json!({ "max_single_transfer": round + 1 }), 0),
        ("PATCH", json!({ "max_single_transfer": round + 100, "paused": false }), 0),
        ("PUT", json!({ "paused": false }), 0),
        ("PATCH", json!({ "paused": false }), 0),
    ]
}

async fn asks(client: &Client, agent: &Agent, method: &str, body: &Value) -> Answer {
    match method {
        "PUT" => client.put(&agent.path("/policy"), body).await,
        _ => client.patch(&agent.path("/policy"), body).await,
    }
}

async fn is_paused(agent: &Agent) -> bool {
    agent.operator.chain.agent(&agent.address).await.policy().paused
}

/// The account is not paused at first.
async fn pause_stays(two: &Two, agent: &Agent) {
    for round in 0..4 {
        for (method, body, sends) in changes(round) {
            agent.sets_policy(json!({ "max_daily_spend": 9 })).await;
            let change = asks(&two.second, agent, method, &body);
            let answer = two
                .overtakes(sends, change, async {
                    agent.sets_policy(json!({ "paused": true })).await;
                })
                .await;
            assert!(is_paused(agent).await, "{method} {body} lifted the pause: {}", answer.text);
            answer.is_error(409, "policy_changed");
            let (payee, _) = two.first.chain.new_payee().await;
            agent.pays("1").to(&payee).await.is_error(402, "account_paused");
        }
    }
}

/// The account is paused at first: the pause that the change was to lift is gone, and a new one is there.
async fn second_pause_stays(two: &Two, agent: &Agent) {
    for round in 0..4 {
        for (method, body, sends) in changes(round) {
            agent.sets_policy(json!({ "paused": true, "max_daily_spend": 9 })).await;
            let change = asks(&two.second, agent, method, &body);
            let answer = two
                .overtakes(sends, change, async {
                    agent.sets_policy(json!({ "paused": false })).await;
                    agent.sets_policy(json!({ "paused": true })).await;
                })
                .await;
            assert!(is_paused(agent).await, "{method} {body} lifted the second pause: {}", answer.text);
            answer.is_error(409, "policy_changed");
        }
    }
}

/// No policy change affects a halt.
async fn halt_stays(two: &Two, agent: &Agent) {
    let admin = two.first.app().admin();
    let (payee, _) = two.first.chain.new_payee().await;
    for (method, body, sends) in changes(1) {
        agent.sets_policy(json!({})).await;
        let change = asks(&two.second, agent, method, &body);
        let answer = two
            .overtakes(sends, change, async {
                two.first.client.post("/v1/halt", &json!({})).await.has_status(200);
            })
            .await;
        answer.has_status(200);
        agent.pays("0.01").to(&payee).await.is_error(402, "account_paused");
        two.first.chain.resumes(two.first.address, None, admin).await;
    }
}

#[tokio::test]
async fn pause_at_one_relayer_outlasts_every_change_at_the_other_on_one_postgres() {
    let Some(database) = TestDatabase::create().await else { return };
    let (two, agent) = Two::with(Some(database)).await;
    pause_stays(&two, &agent).await;
}

#[tokio::test]
async fn pause_at_one_relayer_outlasts_every_change_at_the_other_with_databases_of_their_own() {
    let (two, agent) = Two::with(None).await;
    pause_stays(&two, &agent).await;
}

#[tokio::test]
async fn pause_that_came_after_another_was_lifted_outlasts_every_change_at_the_other_relayer() {
    let (two, agent) = Two::with(TestDatabase::create().await).await;
    second_pause_stays(&two, &agent).await;
}

#[tokio::test]
async fn halt_at_one_relayer_outlasts_every_change_at_the_other() {
    let (two, agent) = Two::with(TestDatabase::create().await).await;
    halt_stays(&two, &agent).await;
}

#[tokio::test]
async fn caps_that_one_relayer_lowers_outlast_a_change_at_the_other_that_was_made_of_the_old_ones() {
    let (two, agent) = Two::with(None).await;
    let budget = two.first.makes_budget(1, "50", Some("100")).await;
    let path = format!("/v1/budgets/{budget}");
    agent.sets_policy(json!({ "budget_id": budget })).await;
    for round in 1..=2 {
        let raised = json!({ "max_30_day_spend": 100 + round });
        let change = two.second.patch(&path, &raised);
        let lowered = async {
            two.first.client.patch(&path, &json!({ "max_daily_spend": 50 - round })).await.has_status(200);
        };
        two.overtakes(0, change, lowered).await.has_status(200);
        let read = two.first.client.get(&path).await.has_status(200);
        let caps = (&read["max_daily_spend"], &read["max_30_day_spend"]);
        assert_eq!(caps, (&json!(50 - round), &json!(100 + round)), "round {round}");

        // Of one account: a cap for 30 days that comes meanwhile stays, and whoever takes the budget away is told.
        agent.sets_policy(json!({ "budget_id": budget, "max_30_day_spend": null })).await;
        let without = json!({ "budget_id": null });
        let change = asks(&two.second, &agent, "PATCH", &without);
        let capped = async {
            agent.sets_policy(json!({ "max_30_day_spend": round })).await;
        };
        two.overtakes(0, change, capped).await.is_error(409, "policy_changed");
        let read = two.first.client.get(&agent.path("/policy")).await.has_status(200);
        assert_eq!((&read["max_30_day_spend"], &read["budget_id"]), (&json!(round), &json!(budget)));
    }
}
