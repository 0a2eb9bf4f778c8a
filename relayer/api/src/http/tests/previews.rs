//! `GET /v1/accounts/:id/limits` and `POST /v1/transfers/preview`.

use axum::http::StatusCode;
use purser_policy::{Rule, UsdcAmount};
use serde_json::{Value, json};

use super::{Answer, Relayer};

/// A relayer with one account of 100 USDC under a policy.
async fn under(policy: &Value) -> (Relayer, String) {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let put = relayer.put(&format!("/v1/accounts/{account}/policy"), policy).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text);
    (relayer, account)
}

impl Relayer {
    /// Lets the account have spent so many USDC now.
    fn spends(&self, usdc: u64) {
        let mut script = self.chain.script();
        let now = script.now;
        let amount = UsdcAmount::from_micros(usdc * 1_000_000);
        script.agents.values_mut().for_each(|agent| agent.window.record(now, amount));
    }

    async fn limits(&self, account: &str) -> Value {
        let limits = self.get(&format!("/v1/accounts/{account}/limits")).await;
        assert_eq!(limits.status, StatusCode::OK, "{}", limits.text);
        limits.body
    }

    async fn previews(&self, account: &str, fields: Value) -> Answer {
        let mut asked = self.order(account, "preview");
        fields.as_object().into_iter().flatten().for_each(|(name, value)| asked[name] = value.clone());
        self.post("/v1/transfers/preview", &asked).await
    }

    async fn forecast(&self, account: &str, usdc: &str) -> Value {
        let preview = self.previews(account, json!({ "amount": usdc })).await;
        assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
        preview.body
    }
}

fn failed(preview: &Value) -> Vec<&str> {
    let checks = preview["checks"].as_array().expect("checks").iter();
    checks.filter(|check| check["ok"] == false).filter_map(|check| check["rule"].as_str()).collect()
}

#[tokio::test]
async fn limits_show_what_was_used_and_what_remains() {
    let (relayer, account) = under(&json!({})).await;
    let limits = relayer.limits(&account).await;
    assert_eq!(limits["account_id"], account);
    for rule in ["max_single_transfer", "max_daily_spend"] {
        assert_eq!(limits[rule]["limit"], json!(null), "{limits}");
    }
    relayer.spends(5);
    let path = format!("/v1/accounts/{account}/policy");
    for (limit, remaining) in [(12, "7.000000"), (5, "0.000000"), (3, "0.000000")] {
        let put = relayer.put(&path, &json!({ "max_daily_spend": limit })).await;
        assert_eq!(put.status, StatusCode::OK, "{}", put.text);
        let key = relayer.agent_key(&account).await;
        let by_agent = relayer.send("GET", &format!("/v1/accounts/{account}/limits"), &key, None).await.body;
        assert_eq!(by_agent["max_daily_spend"], relayer.limits(&account).await["max_daily_spend"]);
        let daily = &by_agent["max_daily_spend"];
        assert_eq!((&daily["used"], &daily["remaining"]), (&json!("5.000000"), &json!(remaining)));
    }
}

#[tokio::test]
async fn preview_lists_every_rule_that_a_transfer_would_break() {
    let policy = json!({ "paused": true, "require_memo": true, "allowed_counterparties": [],
        "max_single_transfer": 1, "max_daily_spend": 2 });
    let (relayer, account) = under(&policy).await;
    let preview = relayer.forecast(&account, "3").await;
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!("account_paused")));
    assert_eq!(failed(&preview), Rule::ALL.map(Rule::name));
}

#[tokio::test]
async fn preview_of_a_daily_limit_says_when_to_try_again() {
    let (relayer, account) = under(&json!({ "max_daily_spend": 10 })).await;
    relayer.spends(8);
    let preview = relayer.forecast(&account, "3").await;
    assert_eq!(failed(&preview), ["max_daily_spend"]);
    assert!(preview["retry_at"].as_str().expect("a time").ends_with('Z'));
    let never = relayer.forecast(&account, "10.000001").await;
    assert!(never["retry_at"].is_null(), "no waiting makes room for more than the limit: {never}");
}

#[tokio::test]
async fn preview_reports_a_balance_that_is_too_low() {
    let (relayer, account) = under(&json!({})).await;
    let preview = relayer.forecast(&account, "100.000001").await;
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!("insufficient_balance")));
    assert_eq!(failed(&preview), ["balance"]);
}

#[tokio::test]
async fn preview_refuses_what_the_transfer_itself_would_refuse_before_policy() {
    let (relayer, account) = under(&json!({})).await;
    for to in ["nobody", &account] {
        let preview = relayer.previews(&account, json!({ "to": to })).await;
        assert_eq!(preview.error(), (422, "invalid_recipient"), "{to}");
    }
    for (field, value) in [("amount", json!("0")), ("memo", json!("a".repeat(201))), ("form", json!(1))] {
        let preview = relayer.previews(&account, json!({ field: value })).await;
        assert_eq!((preview.error(), &preview.body["param"]), ((400, "invalid_request"), &json!(field)));
    }
}

#[tokio::test]
async fn agent_previews_with_its_own_key_and_only_its_own_account() {
    let (relayer, ada) = under(&json!({})).await;
    let ben = relayer.account().await;
    let key = relayer.agent_key(&ada).await;
    for (account, status) in [(&ada, StatusCode::OK), (&ben, StatusCode::FORBIDDEN)] {
        let asked = relayer.order(account, "preview").to_string();
        let preview = relayer.send("POST", "/v1/transfers/preview", &key, Some(&asked)).await;
        assert_eq!(preview.status, status, "{}", preview.text);
    }
}
