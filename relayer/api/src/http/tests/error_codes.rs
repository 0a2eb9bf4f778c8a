//! Every error code by name: status, body and headers. Those that need a socket, another server or an extension are in
//! `tests/it/error_codes.rs`, where a test finds that each code has one here or there.

use axum::body::Body;
use axum::http::{Request, header};
use purser_chain::scripted::wallet_at;
use purser_model::Quotas;
use purser_service::RefusalLimits;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::{Answer, NoExtensions, Relayer, settings};
use crate::http::{HttpSettings, router};
use std::num::NonZeroU32;

impl Answer {
    fn with_error(self, status: u16, code: &str) -> Self {
        assert_eq!(self.error(), (status, code), "{}", self.text);
        self
    }

    fn failed_checks(&self) -> Vec<&Value> {
        let checks = self.body["checks"].as_array().expect("checks").iter();
        checks.filter(|check| check["ok"] == false).map(|check| &check["rule"]).collect()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// It may be tried again in so many seconds.
    fn says_when(&self) -> u64 {
        assert_eq!(self.body["retryable"], true, "{}", self.text);
        self.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds")
    }
}

/// A relayer with an account of 100 USDC.
struct Scene {
    relayer: Relayer,
    account: String,
}

impl Scene {
    async fn new() -> Self {
        Self::of(Relayer::start().await).await
    }

    async fn of(relayer: Relayer) -> Self {
        let account = relayer.account().await;
        Self { relayer, account }
    }

    fn path(&self, tail: &str) -> String {
        format!("/v1/accounts/{}{tail}", self.account)
    }

    fn order(&self, key: &str, amount: &str) -> Value {
        let mut order = self.relayer.order(&self.account, key);
        order["amount"] = json!(amount);
        order
    }

    async fn pays(&self, key: &str, amount: &str) -> Answer {
        self.relayer.post("/v1/transfers", &self.order(key, amount)).await
    }

    async fn sets_policy(&self, policy: Value) {
        assert_eq!(self.relayer.put(&self.path("/policy"), &policy).await.status, 200);
    }
}

#[tokio::test]
async fn error_policy_violation_is_402_with_the_rejected_transfer_and_its_checks() {
    let scene = Scene::new().await;
    scene.sets_policy(json!({ "max_single_transfer": 2 })).await;
    let refused = scene.pays("k", "3").await.with_error(402, "policy_violation");
    assert_eq!(
        (&refused.body["status"], refused.failed_checks()),
        (&json!("rejected"), vec![&json!("max_single_transfer")])
    );
    assert_eq!(refused.body["checks"].as_array().map(Vec::len), Some(6));
    for header in ["www-authenticate", "payment-required", "x-payment", "x-payment-response"] {
        assert_eq!(refused.header(header), None, "a 402 of ours asks nobody to pay");
    }
}

#[tokio::test]
async fn error_account_paused_is_402_with_the_rejected_transfer_and_its_checks() {
    let scene = Scene::new().await;
    scene.sets_policy(json!({ "paused": true })).await;
    let refused = scene.pays("k", "3").await.with_error(402, "account_paused");
    assert_eq!(
        (&refused.body["status"], refused.failed_checks()),
        (&json!("rejected"), vec![&json!("paused")])
    );
}

#[tokio::test]
async fn error_insufficient_balance_is_402() {
    let scene = Scene::new().await;
    let refused = scene.pays("k", "100.000001").await.with_error(402, "insufficient_balance");
    let balance = json!({ "rule": "balance", "ok": false, "limit": "100.000000", "used": "0.000000",
        "remaining": "100.000000" });
    assert_eq!(refused.body["checks"].as_array().and_then(|checks| checks.last()), Some(&balance));
    assert_eq!(refused.failed_checks(), [&json!("balance")], "no rule of the policy is broken");
}

#[tokio::test]
async fn error_account_frozen_is_402_before_anything_is_signed_and_by_preview() {
    let scene = Scene::new().await;
    let freezes = |is_frozen| {
        scene.relayer.chain.script().agents.values_mut().for_each(|agent| agent.is_frozen = is_frozen);
    };
    freezes(true);
    let order = scene.order("k", "1");
    let preview = scene.relayer.post("/v1/transfers/preview", &order).await;
    assert_eq!((&preview.body["allowed"], &preview.body["error"]), (&json!(false), &json!("account_frozen")));
    let refused = scene.pays("k", "1").await.with_error(402, "account_frozen");
    assert_eq!((&refused.body["status"], &refused.body["retryable"]), (&json!("failed"), &json!(false)));
    assert_eq!(refused.failed_checks(), [&json!("balance")], "nothing can be spent while it is frozen");
    assert!(scene.relayer.chain.script().orders.is_empty());
    let id = refused.body["transfer_id"].as_str().expect("an id");
    assert_eq!(scene.relayer.get(&format!("/v1/transfers/{id}")).await.body["error"], "account_frozen");
    freezes(false);
    assert_eq!(scene.pays("k", "1").await.status, 200);
}

#[tokio::test]
async fn error_idempotency_conflict_is_409() {
    let scene = Scene::new().await;
    assert_eq!(scene.pays("k", "1").await.status, 200);
    scene.pays("k", "2").await.with_error(409, "idempotency_conflict");
}

#[tokio::test]
async fn error_invalid_recipient_is_422() {
    let scene = Scene::new().await;
    let mut order = scene.order("k", "1");
    order["to"] = json!("nobody");
    scene.relayer.post("/v1/transfers", &order).await.with_error(422, "invalid_recipient");
}

#[tokio::test]
async fn error_recipient_has_no_token_account_is_422_with_the_rent() {
    let scene = Scene::new().await;
    let mut order = scene.order("k", "1");
    order["to"] = json!({ "wallet": wallet_at(50).to_string() });
    let refused = scene.relayer.post("/v1/transfers", &order).await;
    let refused = refused.with_error(422, "recipient_has_no_token_account");
    let said =
        ["rent_lamports", "approvable", "status", "retryable"].map(|field| refused.body[field].clone());
    assert_eq!(said, [json!(2_039_280), json!(false), json!("failed"), json!(false)]);
    let token_account = scene.relayer.chain.usdc_account_of(&wallet_at(50)).to_string();
    assert!(refused.body["message"].as_str().is_some_and(|text| text.contains(&token_account)));
}

#[tokio::test]
async fn error_policy_changed_is_409() {
    let scene = Scene::new().await;
    let body = json!({ "max_single_transfer": 5, "expected_version": 1 });
    scene.sets_policy(body.clone()).await;
    let path = scene.path("/policy");
    scene.relayer.put(&path, &body).await.with_error(409, "policy_changed");
    scene.relayer.patch(&path, &body).await.with_error(409, "policy_changed");
}

#[tokio::test]
async fn error_fee_payer_empty_is_503_and_retryable() {
    let relayer = Relayer::start().await;
    relayer.chain.script().lamports = 0;
    let refused = relayer.post("/v1/accounts", &json!({ "name": "Ada" })).await;
    assert_eq!(refused.with_error(503, "fee_payer_empty").says_when(), 30);
}

#[tokio::test]
async fn error_authority_rotated_is_503_and_retryable() {
    let relayer = Relayer::start().await;
    relayer.chain.script().policy_authority = Some(wallet_at(9));
    let refused = relayer.post("/v1/accounts", &json!({ "name": "Ada" })).await;
    assert_eq!(refused.with_error(503, "authority_rotated").says_when(), 30);
}

#[tokio::test]
async fn error_quota_exceeded_is_400_for_accounts_and_entries() {
    let quotas = Quotas { accounts: 1, allowlist_entries: 1, ..Quotas::default() };
    let scene = Scene::of(Relayer::with(|setup| setup.quotas = quotas).await).await;
    let refused = scene.relayer.post("/v1/accounts", &json!({ "name": "Ben" })).await;
    assert_eq!(refused.with_error(400, "quota_exceeded").body["param"], "body");
    let entries = [1, 2].map(|number| json!({ "wallet": wallet_at(number).to_string() }));
    let refused =
        scene.relayer.put(&scene.path("/policy"), &json!({ "allowed_counterparties": entries })).await;
    assert_eq!(refused.with_error(400, "quota_exceeded").body["param"], "allowed_counterparties");
}

#[tokio::test]
async fn error_unauthorized_is_401_with_a_challenge() {
    let relayer = Relayer::start().await;
    let refused = relayer.send("GET", "/v1/accounts", "", None).await.with_error(401, "unauthorized");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
}

#[tokio::test]
async fn error_forbidden_is_403_for_an_agent_on_policy_and_for_another_accounts_money() {
    let scene = Scene::new().await;
    let (relayer, policy) = (&scene.relayer, scene.path("/policy"));
    let key = relayer.agent_key(&scene.account).await;
    relayer.send("GET", &policy, &key, None).await.with_error(403, "forbidden");
    relayer.send("PUT", &policy, &key, Some(r#"{"paused":false}"#)).await.with_error(403, "forbidden");
    let other = relayer.account().await;
    let order = relayer.order(&other, "k").to_string();
    relayer.send("POST", "/v1/transfers", &key, Some(&order)).await.with_error(403, "forbidden");
}

#[tokio::test]
async fn error_likely_duplicate_is_409_and_names_the_earlier_transfer() {
    let scene = Scene::new().await;
    let paid = scene.pays("one", "1").await;
    let mut again = scene.order("other", "1");
    again["refuse_duplicate"] = json!(true);
    let refused = scene.relayer.post("/v1/transfers", &again).await.with_error(409, "likely_duplicate");
    assert_eq!(
        (&refused.body["transfer_id"], &refused.body["status"]),
        (&paid.body["transfer_id"], &Value::Null)
    );
}

#[tokio::test]
async fn error_not_found_is_404_for_ids_and_paths() {
    let relayer = Relayer::start().await;
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for path in [format!("/v1/accounts/acct_{id}"), format!("/v1/transfers/txn_{id}"), "/v1/x".to_owned()] {
        relayer.get(&path).await.with_error(404, "not_found");
    }
    relayer.delete(&format!("/v1/keys/key_{id}")).await.with_error(404, "not_found");
}

#[tokio::test]
async fn error_invalid_request_is_400_and_names_the_parameter() {
    let scene = Scene::new().await;
    let order = scene.order("k", "1");
    let changed = |field: &str, value: Value| {
        let mut order = order.clone();
        match value {
            Value::Null => order.as_object_mut().expect("an object").remove(field),
            value => order.as_object_mut().expect("an object").insert(field.to_owned(), value),
        };
        order
    };
    for (field, value) in
        [("amount", json!("x")), ("nickname", json!("x")), ("from", Value::Null), ("to", Value::Null)]
    {
        let refused = scene.relayer.post("/v1/transfers", &changed(field, value)).await;
        assert_eq!(refused.with_error(400, "invalid_request").body["param"], field);
    }
}

#[tokio::test]
async fn error_method_not_allowed_is_405_and_names_the_methods() {
    let relayer = Relayer::start().await;
    let refused = relayer.delete("/v1/accounts").await.with_error(405, "method_not_allowed");
    let allowed = refused.header("allow").expect("405 has Allow");
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn error_payload_too_large_is_413() {
    let relayer = Relayer::start().await;
    let refused = relayer.post("/v1/accounts", &json!({ "name": "x".repeat(100_000) })).await;
    refused.with_error(413, "payload_too_large");
}

#[tokio::test]
async fn error_unsupported_media_type_is_415() {
    let relayer = Relayer::start().await;
    let request =
        Request::post("/v1/accounts").header(header::AUTHORIZATION, format!("Bearer {}", relayer.key));
    let request = request.body(Body::from(r#"{"name":"Ada"}"#)).expect("a request");
    relayer.answer(request).await.with_error(415, "unsupported_media_type");
}

#[tokio::test]
async fn error_not_configured_is_501_where_secrets_have_no_key() {
    let relayer = Relayer::with(|setup| setup.webhooks.sealing_key = None).await;
    let body = json!({ "url": "https://8.8.8.8/", "events": ["transfer.settled"] });
    relayer.post("/v1/webhooks", &body).await.with_error(501, "not_configured");
    assert_eq!(relayer.get("/v1/webhooks").await.status, 200);
}

#[tokio::test]
async fn error_too_many_refusals_is_429_and_claims_nothing() {
    let refusals = RefusalLimits { per_account: 2, per_operator: 60 };
    let scene = Scene::of(Relayer::with(|setup| setup.refusals = refusals).await).await;
    for key in ["one", "two"] {
        scene.pays(key, "111").await.with_error(402, "insufficient_balance");
    }
    let wait = scene.pays("more", "111").await.with_error(429, "too_many_refusals").says_when();
    assert!((86_000..=86_401).contains(&wait), "{wait}");
    assert_eq!(scene.pays("more", "9").await.body["status"], "settled", "nothing was claimed");
    let listed = scene.relayer.get("/v1/transfers").await;
    assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(3), "{}", listed.text);
}

#[tokio::test]
async fn error_rate_limited_is_429_per_key_and_says_when_to_come_back() {
    let mut relayer = Relayer::start().await;
    let burst = NonZeroU32::new(3).expect("positive");
    let slow = HttpSettings { requests_per_second: NonZeroU32::MIN, burst, ..settings() };
    relayer.router = router(&relayer.services, slow, &NoExtensions);
    let other = super::operator_key(&relayer.store, 8).await;
    let passed = relayer.get("/v1/accounts").await;
    for header in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
        assert!(passed.header(header).is_some_and(|value| value.parse::<u64>().is_ok()), "{header}");
    }
    let mut refused = relayer.get("/v1/accounts").await;
    for _ in 0..10 {
        if refused.status != 200 {
            break;
        }
        refused = relayer.get("/v1/accounts").await;
    }
    let refused = refused.with_error(429, "rate_limited");
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
    assert_eq!(relayer.send("GET", "/v1/accounts", &other, None).await.status, 200);
    tokio::time::sleep(std::time::Duration::from_secs(refused.says_when())).await;
    assert_eq!(relayer.get("/v1/accounts").await.status, 200);
}

#[tokio::test]
async fn every_error_body_carries_the_id_of_its_request() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    let answers = [
        relayer.send("GET", "/v1/accounts", "", None).await,
        relayer.get("/v1/nothing").await,
        relayer.delete("/v1/accounts").await,
        scene.pays("a", "x").await,
        scene.pays("b", "199").await,
    ];
    let mut ids = BTreeSet::new();
    for answer in answers {
        assert_eq!(answer.header("x-request-id"), answer.body["request_id"].as_str());
        ids.insert(answer.body["request_id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(ids.len(), 5);
    assert!(relayer.get("/v1/accounts").await.header("x-request-id").is_some());
}
