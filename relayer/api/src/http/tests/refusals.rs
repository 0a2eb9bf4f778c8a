//! The budget of refusals: beyond it nothing is kept of what would be refused, and what can be paid is paid.

use axum::http::{StatusCode, header};
use serde_json::json;

use super::{REFUSALS, Relayer, operator_key};

#[tokio::test]
async fn beyond_its_days_budget_a_refusal_leaves_nothing_and_a_payment_is_made() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = |key: &str, amount: &str| {
        let mut order = relayer.order(&account, key);
        order["amount"] = json!(amount);
        order
    };
    let (mut refused, mut failed) = (Vec::new(), 0);
    let policy = json!({ "max_single_transfer": "60" });
    let path = format!("/v1/accounts/{account}/policy");
    assert_eq!(relayer.put(&path, &policy).await.status, StatusCode::OK);
    relayer.chain.script().agents.values_mut().for_each(|agent| {
        agent.balance = purser_policy::UsdcAmount::from_micros(50_000_000);
    });
    for number in 0..REFUSALS.per_account {
        let key = format!("refused-{number}");
        // What fails for the balance is kept as well, and so it counts.
        let answer =
            relayer.post("/v1/transfers", &order(&key, if number % 3 == 0 { "55" } else { "70" })).await;
        let (status, code) = answer.error();
        assert_eq!(status, 402, "{}", answer.body);
        if code == "insufficient_balance" {
            failed += 1;
        } else {
            refused.push((key, answer));
        }
    }
    assert_eq!(failed, REFUSALS.per_account.div_ceil(3));
    let kept = async || {
        let listed = relayer.get("/v1/transfers?limit=100").await.body;
        let to_sign = relayer.store.denials.list_undenied(100).await.expect("read");
        (listed["data"].as_array().expect("a list").len(), to_sign.len())
    };
    let before = kept().await;
    assert_eq!(before.1, refused.len());
    for (key, amount) in [("more", "70"), ("too much", "55")] {
        let answer = relayer.post("/v1/transfers", &order(key, amount)).await;
        assert_eq!(answer.error(), (429, "too_many_refusals"), "{}", answer.body);
        assert_eq!((&answer.body["transfer_id"], &answer.body["retryable"]), (&json!(null), &json!(true)));
        let wait = answer.headers[header::RETRY_AFTER].to_str().expect("text").parse::<u64>();
        assert!((86_000..=86_401).contains(&wait.expect("seconds")));
    }
    let mut nobody = order("nobody", "1");
    nobody["to"] = json!("not an address");
    assert_eq!(relayer.post("/v1/transfers", &nobody).await.error(), (429, "too_many_refusals"));
    assert_eq!(kept().await, before, "nothing is kept of them");
    // Earlier answers are given again, and what was asked under another amount is a conflict.
    for (key, first) in &refused {
        let again = relayer.post("/v1/transfers", &order(key, "70")).await;
        assert_eq!((again.status, &again.body["transfer_id"]), (first.status, &first.body["transfer_id"]));
    }
    let (key, _) = &refused[0];
    assert_eq!(relayer.post("/v1/transfers", &order(key, "71")).await.error(), (409, "idempotency_conflict"));
    assert_eq!(relayer.post("/v1/transfers", &order("more", "40")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn accounts_of_an_operator_share_its_budget_and_other_operators_have_theirs() {
    let relayer = Relayer::start().await;
    let refuses = async |key: &str, account: &str, count: u32| {
        let path = format!("/v1/accounts/{account}/policy");
        let paused = json!({ "paused": true }).to_string();
        assert_eq!(relayer.send("PUT", &path, key, Some(&paused)).await.status, StatusCode::OK);
        for number in 0..count {
            let order = relayer.order(account, &format!("{account} {number}")).to_string();
            let answer = relayer.send("POST", "/v1/transfers", key, Some(&order)).await;
            assert_eq!(answer.error(), (402, "account_paused"), "{}", answer.body);
        }
        let order = relayer.order(account, "one more").to_string();
        relayer.send("POST", "/v1/transfers", key, Some(&order)).await.status
    };
    let (first, second) = (relayer.account().await, relayer.account().await);
    let rest = REFUSALS.per_operator - REFUSALS.per_account;
    assert_eq!(refuses(&relayer.key, &first, REFUSALS.per_account).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refuses(&relayer.key, &second, rest).await, StatusCode::TOO_MANY_REQUESTS);
    let stranger = operator_key(&relayer.store, 8).await;
    let theirs = relayer.send("POST", "/v1/accounts", &stranger, Some("{\"name\":\"agent\"}")).await;
    let theirs = theirs.body["account_id"].as_str().expect("an account").to_owned();
    assert_eq!(refuses(&stranger, &theirs, 1).await, StatusCode::PAYMENT_REQUIRED);
}
