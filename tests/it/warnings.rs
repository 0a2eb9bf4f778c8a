//! Warnings about rules that can never match, and reasons that an operator requires.

use purser_client::DraftAccounts;
use purser_client::purser::Bounds;
use purser_tests::{Agent, Answer, DirectOutcome, Operator};
use serde_json::{Value, json};
use solana_sdk::signer::Signer;

use crate::dashboard::signed_in;
use crate::dashboard_accounts::field;
use crate::loosening::agent_with_delay;

const SINGLE_ABOVE_DAILY: &str =
    "The limit for a single transfer is above the daily limit, so it never applies.";

/// The codes of warnings, each of which has a sentence.
#[track_caller]
fn codes(warnings: &Value) -> Vec<&str> {
    let warnings = warnings.as_array().expect("a list of warnings").iter();
    warnings
        .map(|warning| {
            assert!(warning["message"].as_str().is_some_and(|text| text.ends_with('.')), "{warning}");
            warning["code"].as_str().expect("a code")
        })
        .collect()
}

async fn patches(agent: &Agent, policy: Value) -> Answer {
    agent.operator.client.patch(&agent.path("/policy"), &policy).await
}

/// Has the admin let the account pay by grants alone.
async fn pays_by_grants_alone(agent: &Agent) {
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let admin = operator.app().admin();
    let at = DraftAccounts { authority: admin.pubkey(), operator: operator.address, agent: agent.address };
    let refund = chain.agent(&agent.address).await.agent.rent_refund;
    let bounds = Bounds { by_grant_only: true, ..Bounds::default() };
    let set = chain.lands(chain.program().set_bounds(at, admin.pubkey(), refund, bounds, None), admin).await;
    assert!(matches!(set, DirectOutcome::Settled(_)), "{set:?}");
}

#[tokio::test]
async fn change_of_a_policy_is_answered_with_warnings_and_holds_all_the_same() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let friend = operator.creates_account("Friend").await;
    let above = json!({ "max_single_transfer": 20, "max_daily_spend": 10 });
    let put = agent.sets_policy(above).await;
    assert_eq!(codes(&put["warnings"]), ["single_limit_above_daily_limit"]);
    assert_eq!(put["warnings"][0]["message"], SINGLE_ABOVE_DAILY);
    assert_eq!((&put["max_single_transfer"], &put["max_daily_spend"]), (&json!(20), &json!(10)));
    let read = operator.client.get(&agent.path("/policy")).await.has_status(200);
    assert!(read["warnings"].is_null(), "only a change is warned of: {}", read.text);
    for (policy, expected) in [
        (json!({ "max_single_transfer": 10 }), &[][..]),
        (
            json!({ "max_30_day_spend": 9 }),
            &["single_limit_above_30_day_limit", "daily_limit_above_30_day_limit"],
        ),
        (json!({ "max_30_day_spend": null, "max_daily_spend": 0 }), &["zero_limit_without_pause"]),
        (json!({ "paused": true }), &[]),
        (json!({ "max_daily_spend": 50, "paused": false }), &[]),
        (json!({ "allowed_counterparties": [agent.id] }), &["allowlist_pays_nobody"]),
        (json!({ "allowed_counterparties": [agent.id, friend.id] }), &[]),
        (
            json!({ "allowed_counterparties": [{ "token_account": agent.token_account.to_string() }] }),
            &["allowlist_pays_nobody"],
        ),
        (json!({ "allowed_counterparties": [] }), &[]),
    ] {
        let patched = patches(&agent, policy.clone()).await.has_status(200);
        assert_eq!(codes(&patched["warnings"]), expected, "{policy}");
    }
    pays_by_grants_alone(&agent).await;
    let patched = patches(&agent, json!({ "require_memo": true })).await.has_status(200);
    assert_eq!(codes(&patched["warnings"]), ["allowlist_beside_grants_only"]);
}

#[tokio::test]
async fn new_account_is_answered_with_the_warnings_about_its_policy() {
    let operator = Operator::shared().await;
    let friend = operator.creates_account("Friend").await;
    for (policy, expected) in [
        (json!({}), &[][..]),
        (json!({ "max_single_transfer": 20, "max_daily_spend": 10 }), &["single_limit_above_daily_limit"]),
        (json!({ "max_daily_spend": 0 }), &["zero_limit_without_pause"]),
        (json!({ "max_daily_spend": 10, "allowed_counterparties": [friend.id] }), &[]),
    ] {
        let body = json!({ "name": "Ada", "policy": policy });
        let made = operator.client.post("/v1/accounts", &body).await.has_status(201);
        assert_eq!(codes(&made["warnings"]), expected, "{policy}");
        let path = format!("/v1/accounts/{}", made.text_of("account_id"));
        let read = operator.client.get(&path).await.has_status(200);
        assert!(read["warnings"].is_null(), "only its creation is warned of: {}", read.text);
    }
}

#[tokio::test]
async fn budget_below_single_limits_is_warned_of_where_it_is_named_and_where_it_is_lowered() {
    let operator = Operator::shared().await;
    let [ada, ben] = [operator.creates_account("Ada").await, operator.creates_account("Ben").await];
    let budget = operator.makes_budget(41, "100", None).await;
    let path = format!("/v1/budgets/{budget}");
    for (agent, single) in [(&ada, 20), (&ben, 30)] {
        let named = json!({ "budget_id": budget, "max_single_transfer": single });
        let named = patches(agent, named).await.has_status(200);
        assert!(codes(&named["warnings"]).is_empty(), "{}", named.text);
    }
    for (cap, expected) in [
        (30, &[][..]),
        (25, &[]),
        (20, &[]),
        (19, &["budget_below_single_limits"]),
        (0, &["zero_limit_without_pause"]),
    ] {
        let lowered = operator.client.patch(&path, &json!({ "max_daily_spend": cap })).await.has_status(200);
        assert_eq!(codes(&lowered["warnings"]), expected, "{cap}");
    }
    operator.client.patch(&path, &json!({ "max_daily_spend": 25 })).await.has_status(200);
    let patched = patches(&ben, json!({ "require_memo": true })).await.has_status(200);
    assert_eq!(codes(&patched["warnings"]), ["single_limit_above_budget"]);
    let bulk = json!({ "accounts": { "ids": [ada.id, ben.id] }, "policy": { "require_memo": true }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/policy", &bulk).await.has_status(200);
    let of = |agent: &Agent| {
        let all = shown["accounts"].as_array().expect("accounts").iter();
        let one = all.into_iter().find(|one| one["account_id"] == agent.id.as_str()).expect("it is there");
        codes(&one["warnings"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!((of(&ada), of(&ben)), (vec![], vec!["single_limit_above_budget".to_owned()]));
}

#[tokio::test]
async fn looser_policy_that_waits_is_warned_of_and_the_dashboard_shows_the_same_sentence() {
    let (operator, agent) = agent_with_delay(3_600).await;
    let waits = patches(&agent, json!({ "max_single_transfer": 20, "max_daily_spend": 15 })).await;
    let waits = waits.has_status(202);
    assert_eq!(codes(&waits["warnings"]), ["single_limit_above_daily_limit"]);
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let page = browser.reads(&path).await.has_status(200);
    let version = field(&page.text, "expected_version");
    let form = [
        ("expected_version", version.as_str()),
        ("max_single_transfer", "20"),
        ("max_daily_spend", "15"),
        ("allowed", "anyone"),
        ("step", "look"),
    ];
    browser.sends_form(&path, &form).await.has_status(200).says(SINGLE_ABOVE_DAILY);
}

#[tokio::test]
async fn operator_that_requires_reasons_gets_one_for_each_change_but_never_for_a_stop() {
    let operator = Operator::shared().await.app().new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let set = |requires: &str| {
        operator.app().runs(&["operator", "set", &operator.id, "--require-reason", requires])
    };
    assert_eq!(set("true")["requires_reason"], true);
    let (client, path) = (&operator.client, agent.path("/policy"));
    let limit = json!({ "max_daily_spend": 5 });
    client.patch(&path, &limit).await.blames("reason");
    client.put(&path, &limit).await.blames("reason");
    let reasoned = json!({ "max_daily_spend": 5, "reason": "first week" });
    assert_eq!(client.patch(&path, &reasoned).await.has_status(200)["max_daily_spend"], 5);
    // The pause holds; what stands beside it needs a reason.
    let beside = json!({ "paused": true, "max_daily_spend": 9 });
    let refused = client.patch(&path, &beside).await.blames("reason");
    assert!(refused.text_of("message").starts_with("The pause holds."), "{}", refused.text);
    let stands = client.get(&path).await.has_status(200);
    assert_eq!((&stands["paused"], &stands["max_daily_spend"]), (&json!(true), &json!(5)));
    client.patch(&path, &json!({ "paused": false })).await.blames("reason");
    client.patch(&path, &json!({ "paused": false, "reason": "checked" })).await.has_status(200);
    client.patch(&path, &json!({ "paused": true })).await.has_status(200);

    let many = |policy: Value| json!({ "accounts": { "ids": [agent.id] }, "policy": policy });
    client.post("/v1/bulk/policy", &many(limit.clone())).await.blames("reason");
    let reasoned = json!({ "max_daily_spend": 7, "paused": false, "reason": "second week" });
    assert_eq!(client.post("/v1/bulk/policy", &many(reasoned)).await.has_status(200)["applied"], 1);
    let paused = client.post("/v1/bulk/policy", &many(json!({ "paused": true }))).await.has_status(200);
    assert_eq!(paused["applied"], 1);

    let browser = signed_in(&operator).await;
    let page = format!("/dashboard/accounts/{}", agent.id);
    let shown = browser.reads(&page).await.has_status(200).says(r#"name="reason""#);
    let version = field(&shown.text, "expected_version");
    let unpause = format!("{page}/pause");
    let form = [("paused", "false"), ("expected_version", version.as_str())];
    browser.sends_form(&unpause, &form).await.has_status(400).says("is missing");
    browser.sends_form(&unpause, &[&form[..], &[("reason", "checked")]].concat()).await.has_status(303);
    client.post(&agent.path("/halt"), &json!({})).await.has_status(200);

    assert_eq!(set("false")["requires_reason"], false);
    client.patch(&path, &limit).await.has_status(200);
}
