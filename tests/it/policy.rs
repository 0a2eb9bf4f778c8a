//! GET, PUT and PATCH /v1/accounts/:id/policy.

use futures::future::join_all;
use purser_policy::{Allowlist, Limit, Rule, UsdcAmount};
use purser_tests::chain::DirectOutcome;
use purser_tests::{Agent, Answer, Operator};
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

#[tokio::test]
async fn policy_of_a_new_account_has_no_limits() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let policy = reads(&agent).await;
    assert_eq!(policy["account_id"], agent.id);
    assert!(policy.text_of("updated_at").ends_with('Z'));
    assert_eq!(fields(&policy), defaults());
}

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
async fn put_of_paused_alone_leaves_the_rest() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    puts(&agent, &json!({ "max_single_transfer": 5, "require_memo": true })).await;
    for paused in [true, false] {
        let policy = puts(&agent, &json!({ "paused": paused })).await;
        assert_eq!(policy["paused"], paused);
        assert_eq!((&policy["max_single_transfer"], &policy["require_memo"]), (&json!(5), &json!(true)));
    }
    let replaced = puts(&agent, &json!({ "paused": false, "require_memo": false })).await;
    assert_eq!(fields(&replaced), defaults());
}

#[tokio::test]
async fn put_with_a_field_beside_paused_replaces_the_rest_too() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    for paused in [true, false] {
        for (field, value) in [
            ("max_single_transfer", json!(4)),
            ("allowed_counterparties", json!([Keypair::new().pubkey().to_string()])),
            ("require_memo", json!(true)),
        ] {
            puts(&agent, &json!({ "max_single_transfer": 5, "max_daily_spend": 9, "require_memo": true }))
                .await;
            let mut expected = defaults();
            (expected["paused"], expected[field]) = (json!(paused), value.clone());
            assert_eq!(fields(&puts(&agent, &json!({ "paused": paused, field: value })).await), expected);
        }
    }
}

#[tokio::test]
async fn patch_changes_only_what_it_names() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    puts(&agent, &json!({ "max_single_transfer": 5, "max_daily_spend": 9, "require_memo": true })).await;
    let path = agent.path("/policy");
    let patched =
        agent.operator.client.patch(&path, &json!({ "max_daily_spend": null, "paused": true })).await;
    let expected = json!({ "max_single_transfer": 5, "max_daily_spend": null, "allowed_counterparties": null,
        "require_memo": true, "paused": true });
    assert_eq!(fields(&patched.has_status(200)), expected);
    let unchanged = agent.operator.client.patch(&path, &json!({})).await.has_status(200);
    assert_eq!(fields(&unchanged), expected);
    assert_eq!(fields(&reads(&agent).await), expected);
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
async fn limits_are_read_exactly_from_numbers_and_strings_and_answered_as_numbers() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    for text in [
        "0.1",
        "0.000001",
        "100",
        "4503599627370497.5",
        "18446744073709.551615",
        "18446744073709.551614",
        "0",
    ] {
        // The fourth is beyond u64 micro-USDC.
        let fits = text != "4503599627370497.5";
        for body in [format!(r#"{{"max_daily_spend":{text}}}"#), format!(r#"{{"max_daily_spend":"{text}"}}"#)]
        {
            let answer =
                agent.operator.client.sends_bytes(reqwest::Method::PUT, &agent.path("/policy"), body).await;
            if fits {
                let answer = answer.has_status(200);
                assert!(
                    answer.text.replace(' ', "").contains(&format!(r#""max_daily_spend":{text},"#)),
                    "{}",
                    answer.text
                );
            } else {
                answer.blames("max_daily_spend");
            }
        }
    }
}

#[tokio::test]
async fn limit_as_a_json_number_with_an_exponent_is_read_exactly() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    // How common JSON writers format 0.00001 and 100,000,000,000.
    for (written, micros) in
        [("1e-05", 10), ("1.5e-1", 150_000), ("1e3", 1_000_000_000), ("1E+11", 100_000_000_000_000_000)]
    {
        let body = format!(r#"{{"max_daily_spend":{written}}}"#);
        let put = agent.operator.client.sends_bytes(reqwest::Method::PUT, &agent.path("/policy"), body).await;
        put.has_status(200);
        let view = agent.operator.chain.agent(&agent.address).await;
        assert_eq!(
            view.policy().max_daily_spend,
            Limit::AtMost(UsdcAmount::from_micros(micros)),
            "{written}"
        );
    }
}

#[tokio::test]
async fn limit_that_is_no_amount_is_invalid_and_changes_nothing() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    puts(&agent, &json!({ "max_single_transfer": 5 })).await;
    let before = agent.operator.chain.agent(&agent.address).await;
    for field in ["max_single_transfer", "max_daily_spend"] {
        let numbers = [
            "-1",
            "0.0000001",
            "1e-7",
            "18446744073709.551616",
            "1e14",
            "1e999",
            "123456789012345678901234567890",
        ];
        let others = [
            r#""NaN""#, r#"" 1""#, r#""1.""#, r#""""#, "true", "[]", "{}", r#""-1""#, r#""1,5""#, r#""1e3""#,
            r#""１""#,
        ];
        for value in numbers.iter().chain(&others) {
            for method in [reqwest::Method::PUT, reqwest::Method::PATCH] {
                let body = format!(r#"{{"{field}":{value}}}"#);
                agent.operator.client.sends_bytes(method, &agent.path("/policy"), body).await.blames(field);
            }
        }
    }
    assert_eq!(agent.operator.chain.agent(&agent.address).await, before);
}

#[tokio::test]
async fn single_limit_above_the_daily_limit_is_accepted() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let policy = puts(&agent, &json!({ "max_single_transfer": 10, "max_daily_spend": 5 })).await;
    assert_eq!((&policy["max_single_transfer"], &policy["max_daily_spend"]), (&json!(10), &json!(5)));
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
async fn account_status_is_paused_exactly_when_the_policy_is() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    for (paused, status) in [(true, "paused"), (false, "active")] {
        puts(&agent, &json!({ "paused": paused })).await;
        assert_eq!(agent.operator.reads_account(&agent.id).await["status"], status);
    }
    puts(&agent, &json!({ "paused": true, "max_daily_spend": 1 })).await;
    assert_eq!(agent.operator.reads_account(&agent.id).await["status"], "paused");
    puts(&agent, &json!({ "max_daily_spend": 1 })).await;
    assert_eq!(agent.operator.reads_account(&agent.id).await["status"], "active");
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
    json!({ "max_single_transfer": null, "max_daily_spend": null, "allowed_counterparties": null,
        "require_memo": false, "paused": false })
}
