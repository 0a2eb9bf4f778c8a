//! GET /v1/accounts/:id/limits and POST /v1/transfers/preview.

use purser_policy::Rule;
use purser_tests::agent::unique_key;
use purser_tests::{Answer, Operator};
use serde_json::{Value, json};

#[tokio::test]
async fn account_without_limits_says_so() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let limits = agent.operator.client.get(&agent.path("/limits")).await.has_status(200);
    assert_eq!(limits["account_id"], agent.id);
    assert_eq!(
        (limit_of(&limits, "max_single_transfer"), limit_of(&limits, "max_daily_spend")),
        (json!(null), json!(null))
    );
}

#[tokio::test]
async fn limits_show_used_and_remaining_amounts() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    agent.sets_policy(json!({ "max_single_transfer": 4, "max_daily_spend": 10 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    for (used, remaining) in [("0.000000", "10.000000"), ("2.500001", "7.499999"), ("5.000002", "4.999998")] {
        let limits = operator.client.get(&agent.path("/limits")).await.has_status(200);
        let daily = &limits["max_daily_spend"];
        assert_eq!(limits["max_single_transfer"]["limit"], "4.000000", "{}", limits.text);
        assert_eq!(daily["limit"], "10.000000", "{}", limits.text);
        assert_eq!(
            (&daily["used"], &daily["remaining"]),
            (&json!(used), &json!(remaining)),
            "{}",
            limits.text
        );
        agent.pays("2.500001").to(&payee).await.is_settled();
    }
}

#[tokio::test]
async fn limit_lowered_below_what_was_spent_leaves_nothing() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("5").to(&payee).await.is_settled();
    agent.sets_policy(json!({ "max_daily_spend": 3 })).await;
    let limits = operator.client.get(&agent.path("/limits")).await.has_status(200);
    let daily = &limits["max_daily_spend"];
    assert_eq!((&daily["used"], &daily["remaining"]), (&json!("5.000000"), &json!("0.000000")));
    let refused = agent.pays("0.000001").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(refused.check("max_daily_spend")["remaining"], "0.000000");
}

#[tokio::test]
async fn agent_reads_its_limits_with_its_own_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    agent.sets_policy(json!({ "max_daily_spend": 10 })).await;
    let key = agent.new_key().await;
    let limits = key.get(&agent.path("/limits")).await.has_status(200);
    assert_eq!(limits["max_daily_spend"]["limit"], "10.000000");
}

#[tokio::test]
async fn preview_of_an_allowed_transfer_lists_every_rule_as_ok_and_moves_nothing() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    agent.sets_policy(json!({ "max_single_transfer": 4, "max_daily_spend": 10 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let transactions = operator.chain.transactions_of(&agent.address).await;
    let preview = agent.previews("3").to(&payee).await.has_status(200);
    assert_eq!(preview["allowed"], true);
    let rules: Vec<&str> = checks_of(&preview).iter().filter_map(|check| check["rule"].as_str()).collect();
    assert_eq!(rules, [&Rule::ALL.map(Rule::name)[..], &["balance"]].concat());
    assert_eq!(preview.check("balance")["remaining"], "20.000000");
    assert_eq!(preview.failed_checks(), Vec::<&str>::new());
    let daily = preview.check("max_daily_spend");
    assert_eq!(
        (&daily["limit"], &daily["used"], &daily["remaining"]),
        (&json!("10.000000"), &json!("0.000000"), &json!("10.000000"))
    );
    assert_eq!(preview.check("max_single_transfer")["limit"], "4.000000");
    assert_eq!(operator.chain.transactions_of(&agent.address).await, transactions);
    assert_eq!(agent.balance_micros().await, 20_000_000);
}

#[tokio::test]
async fn preview_lists_every_rule_that_a_transfer_would_break() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    let policy = json!({ "paused": true, "require_memo": true, "allowed_counterparties": [],
        "max_single_transfer": 1, "max_daily_spend": 2 });
    agent.sets_policy(policy).await;
    let (payee, _) = operator.chain.new_payee().await;
    let preview = agent.previews("3").to(&payee).await.has_status(200);
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!("account_paused")));
    assert_eq!(
        preview.failed_checks(),
        ["paused", "require_memo", "allowed_counterparties", "max_single_transfer", "max_daily_spend"]
    );
}

#[tokio::test]
async fn preview_does_not_use_up_the_idempotency_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    agent.previews("3").to(&payee).key(&key).await.has_status(200);
    agent.previews("4").to(&payee).key(&key).await.has_status(200);
    let settled = agent.pays("5").to(&payee).key(&key).await.is_settled();
    assert_eq!(settled.header("idempotent-replayed"), None);
}

#[tokio::test]
async fn preview_of_a_daily_limit_says_when_to_try_again() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    agent.sets_policy(json!({ "max_daily_spend": 10 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("8").to(&payee).await.is_settled();
    let preview = agent.previews("3").to(&payee).await.has_status(200);
    assert_eq!(preview.failed_checks(), ["max_daily_spend"]);
    assert!(preview.text_of("retry_at").ends_with('Z'));
    let never = agent.previews("10.000001").to(&payee).await.has_status(200);
    assert!(never["retry_at"].is_null(), "no waiting makes room for more than the limit: {}", never.text);
}

#[tokio::test]
async fn preview_reports_a_balance_that_is_too_low() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let preview = agent.previews("1.000001").to(&payee).await.has_status(200);
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!("insufficient_balance")));
    assert_eq!(preview.failed_checks(), ["balance"]);
}

#[tokio::test]
async fn preview_refuses_what_the_transfer_itself_would_refuse_before_policy() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.previews("1").to(&"nobody").await.is_error(422, "invalid_recipient");
    agent.previews("1").to(&agent).await.is_error(422, "invalid_recipient");
    agent.previews("0").to(&payee).await.blames("amount");
    agent.previews("1").to(&payee).memo(&"a".repeat(201)).await.blames("memo");
    agent.previews("1").to(&payee).field("form", json!(1)).await.blames("form");
}

#[tokio::test]
async fn agent_previews_with_its_own_key_and_only_its_own_account() {
    let operator = Operator::shared().await;
    let (ada, ben) = (operator.creates_account_with("Ada", "1").await, operator.creates_account("Ben").await);
    let key = ada.new_key().await;
    ada.previews("1").to(&ben).by(&key).await.has_status(200);
    ben.previews("1").to(&ada).by(&key).await.is_error(403, "forbidden");
}

fn checks_of(answer: &Answer) -> &Vec<Value> {
    answer["checks"].as_array().unwrap_or_else(|| panic!("no checks: {}", answer.text))
}

fn limit_of(limits: &Answer, rule: &str) -> Value {
    limits[rule]["limit"].clone()
}
