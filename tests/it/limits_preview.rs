//! GET /v1/accounts/:id/limits and POST /v1/transfers/preview.

use purser_policy::Rule;
use purser_tests::agent::unique_key;
use purser_tests::{Answer, Operator};
use serde_json::{Value, json};

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

fn checks_of(answer: &Answer) -> &Vec<Value> {
    answer["checks"].as_array().unwrap_or_else(|| panic!("no checks: {}", answer.text))
}
