//! GET, PUT and PATCH /v1/accounts/:id/policy.

use futures::future::join_all;
use purser_policy::{Allowlist, Limit, Policy, Rule, RuleValue, UsdcAmount};
use purser_tests::chain::DirectOutcome;
use purser_tests::{Agent, Answer, Operator};
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

#[tokio::test]
async fn put_replaces_the_whole_policy() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    // An account of one's own is listed by its id or, as it is answered, by its address.
    let mut whole = json!({ "max_single_transfer": 5, "max_daily_spend": 9.5, "allowed_counterparties": [agent.id],
        "require_memo": true, "paused": true });
    let by_id = fields(&puts(&agent, &whole).await);
    whole["allowed_counterparties"] = json!([agent.address.to_string()]);
    assert_eq!(by_id, whole);
    puts(&agent, &json!({})).await;
    assert_eq!(fields(&puts(&agent, &whole).await), whole);
    assert_eq!(fields(&reads(&agent).await), whole);
    let mut expected = defaults();
    expected["max_daily_spend"] = json!(2);
    assert_eq!(fields(&puts(&agent, &json!({ "max_daily_spend": 2 })).await), expected);
    assert_eq!(fields(&puts(&agent, &json!({})).await), defaults());
    assert_eq!(fields(&reads(&agent).await), defaults());
}

#[tokio::test]
async fn change_of_policy_answers_its_version_and_its_transaction() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let path = agent.path("/policy");
    let first = puts(&agent, &json!({ "max_single_transfer": 1 })).await;
    let second = agent.operator.client.patch(&path, &json!({ "require_memo": true })).await.has_status(200);
    let third = puts(&agent, &json!({ "paused": true })).await;
    let versions: Vec<i64> =
        [&first, &second, &third].iter().filter_map(|change| change["version"].as_i64()).collect();
    assert!(versions.len() == 3 && versions.windows(2).all(|pair| pair[1] == pair[0] + 1), "{versions:?}");
    for change in [&first, &second, &third] {
        assert_eq!(change["account_id"], agent.id);
        assert!(agent.operator.chain.has_settled(change.text_of("tx_signature")).await);
    }
    let on_chain = agent.operator.chain.agent(&agent.address).await.agent.policy_version;
    assert_eq!(i64::from(on_chain), versions[2]);
}

#[tokio::test]
async fn policy_stands_on_chain_as_it_was_put() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let friend = Keypair::new_from_array([7; 32]).pubkey();
    puts(
        &agent,
        &json!({ "max_single_transfer": "0.000001", "max_daily_spend": 12.345678,
        "allowed_counterparties": [friend.to_string()], "require_memo": true, "paused": true }),
    )
    .await;
    let view = agent.operator.chain.agent(&agent.address).await;
    let policy = view.policy();
    assert_eq!(policy.max_single_transfer, Limit::AtMost(UsdcAmount::from_micros(1)));
    assert_eq!(policy.max_daily_spend, Limit::AtMost(UsdcAmount::from_micros(12_345_678)));
    assert_eq!(policy.allowlist, Allowlist::stored(&[friend.to_bytes()], &[]));
    assert!(policy.require_memo && policy.paused);
}

#[tokio::test]
async fn limit_of_zero_lets_nothing_out() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    for field in ["max_single_transfer", "max_daily_spend"] {
        let policy = puts(&agent, &json!({ field: 0 })).await;
        assert_eq!(policy[field], json!(0));
        let refused = agent.pays("0.000001").to(&payee).await.is_error(402, "policy_violation");
        assert_eq!(refused.failed_checks(), [field]);
    }
}

#[tokio::test]
async fn policy_change_applies_to_the_next_request() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("5").to(&payee).await.is_settled();
    for (policy, code) in [
        (json!({ "max_single_transfer": 4.999999 }), "policy_violation"),
        (json!({ "max_daily_spend": 9.999999 }), "policy_violation"),
        (json!({ "require_memo": true }), "policy_violation"),
        (json!({ "paused": true }), "account_paused"),
    ] {
        puts(&agent, &policy).await;
        agent.pays("5").to(&payee).await.is_error(402, code);
        let direct = agent.pays_directly("5", &payee, "").await;
        assert!(matches!(direct, DirectOutcome::Refused(_)), "{policy}: {direct:?}");
    }
    puts(&agent, &json!({ "max_single_transfer": 5, "max_daily_spend": 10 })).await;
    agent.pays("5").to(&payee).await.is_settled();
}

#[tokio::test]
async fn policies_put_at_the_same_time_leave_one_of_them_whole() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let whole = |n: u32| {
        json!({ "max_single_transfer": n, "max_daily_spend": n, "allowed_counterparties": null,
        "require_memo": n > 2, "paused": false })
    };
    let path = agent.path("/policy");
    let bodies: Vec<Value> = (1..=4).map(whole).collect();
    let answers = join_all(bodies.iter().map(|body| agent.operator.client.put(&path, body))).await;
    for answer in answers {
        answer.has_status(200);
    }
    let left = fields(&reads(&agent).await);
    assert!(bodies.contains(&left), "{left}");
}

#[tokio::test]
async fn policy_that_was_read_can_be_edited_and_put_back() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let friend = operator.creates_account("Friend").await;
    let (client, path) = (&operator.client, agent.path("/policy"));
    let wallet = Keypair::new().pubkey().to_string();
    let entries = json!([friend.id, wallet]);
    agent.sets_policy(json!({ "max_daily_spend": "0.1", "allowed_counterparties": entries })).await;

    let mut policy = client.get(&path).await.has_status(200).body;
    let unchanged = client.put(&path, &policy).await.has_status(200);
    for field in
        ["max_single_transfer", "max_daily_spend", "allowed_counterparties", "counterparty_kinds", "paused"]
    {
        assert_eq!(unchanged[field], policy[field], "{field}");
    }
    policy = client.get(&path).await.has_status(200).body;
    policy["max_single_transfer"] = json!(5);
    policy["allowed_counterparties"] = json!([wallet]);
    policy["require_memo"] = json!(true);
    let put = client.put(&path, &policy).await.has_status(200);
    assert_eq!((&put["max_single_transfer"], &put["require_memo"]), (&json!(5), &json!(true)));
    assert_eq!((&put["max_daily_spend"], &put["allowed_counterparties"]), (&json!(0.1), &json!([wallet])));
    assert_eq!(put["counterparty_kinds"], json!(["wallet"]));
    let patched = client.get(&path).await.has_status(200).body;
    assert_eq!(client.patch(&path, &patched).await.has_status(200)["require_memo"], true);
}

async fn reads(agent: &Agent) -> Answer {
    agent.operator.client.get(&agent.path("/policy")).await.has_status(200)
}

async fn puts(agent: &Agent, body: &Value) -> Answer {
    agent.sets_policy(body.clone()).await
}

fn fields(answer: &Answer) -> Value {
    let of = |field: &str| (field.to_owned(), answer[field].clone());
    Rule::ALL.map(Rule::name).into_iter().map(of).collect::<serde_json::Map<_, _>>().into()
}

fn defaults() -> Value {
    let open = |rule| match Policy::OPEN.value(rule) {
        RuleValue::Flag(is_on) => json!(is_on),
        RuleValue::Limit(_) | RuleValue::Payees(_) => json!(null),
    };
    Rule::ALL
        .map(|rule| (rule.name().to_owned(), open(rule)))
        .into_iter()
        .collect::<serde_json::Map<_, _>>()
        .into()
}
