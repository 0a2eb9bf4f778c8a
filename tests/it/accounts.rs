//! POST and GET /v1/accounts, GET /v1/accounts/:id and its balance.

use std::collections::BTreeSet;

use futures::future::join_all;
use purser_tests::chain::associated_token_account;
use purser_tests::{Agent, Operator};
use serde_json::json;

#[tokio::test]
async fn new_account_is_active_and_empty_with_the_default_policy() {
    let operator = Operator::shared().await;
    let created = operator.client.post("/v1/accounts", &json!({ "name": "Ada" })).await.has_status(201);
    assert_eq!(created["name"], "Ada");
    assert_eq!(created["balance_usdc"], "0.000000");
    assert_eq!(created["status"], "active");
    assert!(created.text_of("created_at").ends_with('Z'));
    let policy = &created["policy"];
    for limit in ["max_single_transfer", "max_daily_spend", "allowed_counterparties"] {
        assert!(policy.get(limit).is_some_and(|value| value.is_null()), "{limit}: {}", created.text);
    }
    assert_eq!((&policy["require_memo"], &policy["paused"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn account_addresses_are_derived_from_operator_and_id_and_stand_on_chain() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    assert_eq!(agent.id, operator.account_id_of(&agent.address), "anybody can compute it");
    let on_chain = operator.chain.agent(&agent.address).await.agent;
    let program = operator.chain.program();
    assert_eq!(agent.address, program.agent_address(&operator.address, &on_chain.agent_id));
    assert_eq!(agent.token_account, associated_token_account(&agent.address, &operator.chain.usdc_mint));
    let on_chain = operator.chain.agent(&agent.address).await;
    assert_eq!(on_chain.agent.operator, operator.address);
    assert_eq!(on_chain.agent.token_account, agent.token_account);
    assert_eq!(operator.chain.usdc_micros(&agent.token_account).await, 0);
}

#[tokio::test]
async fn account_names_need_not_be_unique() {
    let operator = Operator::shared().await;
    let (one, two) = (operator.creates_account("Twin").await, operator.creates_account("Twin").await);
    assert_ne!((&one.id, one.address), (&two.id, two.address));
}

#[tokio::test]
async fn metadata_is_kept_and_returned_as_it_was() {
    let operator = Operator::shared().await;
    let metadata = json!({ "team": "ops", "deep": { "list": [1, null, "ü", 0.5] }, "empty": {} });
    let body = json!({ "name": "Ada", "metadata": metadata });
    let created = operator.client.post("/v1/accounts", &body).await.has_status(201);
    assert_eq!(created["metadata"], metadata);
    let read = operator.reads_account(created.text_of("account_id")).await.has_status(200);
    assert_eq!(read["metadata"], metadata);
}

#[tokio::test]
async fn metadata_beyond_50_keys_or_16_kib_is_invalid() {
    let operator = Operator::shared().await;
    let keys = |count: usize| {
        (0..count).map(|key| (format!("k{key}"), json!(key))).collect::<serde_json::Map<_, _>>()
    };
    let fitting = json!({ "name": "Ada", "metadata": keys(50) });
    operator.client.post("/v1/accounts", &fitting).await.has_status(201);
    for metadata in
        [json!(keys(51)), json!({ "k": "x".repeat(16 * 1024) }), json!([1]), json!("text"), json!(7)]
    {
        let body = json!({ "name": "Ada", "metadata": metadata });
        operator.client.post("/v1/accounts", &body).await.blames("metadata");
    }
}

#[tokio::test]
async fn account_name_is_required_and_must_say_something() {
    let operator = Operator::shared().await;
    for body in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": " " }),
        json!({ "name": 7 }),
        json!({ "name": null }),
    ] {
        operator.client.post("/v1/accounts", &body).await.blames("name");
    }
    let refused = operator.client.post("/v1/accounts", &json!({ "name": "Ada", "nom": "Ada" })).await;
    refused.blames("nom");
}

#[tokio::test]
async fn single_account_is_read_with_its_policy_and_live_balance() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "12.5").await;
    let read = operator.reads_account(&agent.id).await.has_status(200);
    assert_eq!(read["account_id"], agent.id);
    assert_eq!(read["solana_address"], agent.address.to_string());
    assert_eq!(read["usdc_token_account"], agent.token_account.to_string());
    assert_eq!(read["balance_usdc"], "12.500000");
}

#[tokio::test]
async fn balance_is_read_live_from_the_chain() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    for balance in ["0.000000", "0.000001", "18446744073709.551615"] {
        agent.holds(balance).await;
        let read = operator.client.get(&agent.path("/balance")).await.has_status(200);
        assert_eq!((&read["account_id"], &read["balance_usdc"]), (&json!(agent.id), &json!(balance)));
        assert!(read.text_of("last_updated").ends_with('Z'));
    }
}

#[tokio::test]
async fn pages_of_accounts_hold_every_account_once_newest_first() {
    let operator = Operator::shared().await;
    let made = creates_accounts(&operator, 7).await;
    let (mut seen, mut times) = (Vec::new(), Vec::new());
    let mut path = "/v1/accounts?limit=3".to_owned();
    loop {
        let page = operator.client.get(&path).await.has_status(200);
        let ids = ids_of(&page["data"]);
        assert!(ids.len() <= 3);
        seen.extend(ids);
        let listed = page["data"].as_array().expect("a list").iter();
        times.extend(listed.map(|account| account["created_at"].to_string()));
        if page["has_more"] == false {
            break;
        }
        assert_eq!(page["has_more"], true);
        path = format!("/v1/accounts?limit=3&cursor={}", page.text_of("cursor"));
    }
    assert_eq!(seen.len(), 7);
    assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), made);
    assert!(times.is_sorted_by(|later, earlier| later > earlier), "newest first: {times:?}");
}

#[tokio::test]
async fn page_is_20_accounts_unless_asked_otherwise_and_at_most_100() {
    let operator = Operator::shared().await;
    creates_accounts(&operator, 21).await;
    for (query, count) in [("", 20), ("?limit=1", 1), ("?limit=100", 21)] {
        let page = operator.client.get(&format!("/v1/accounts{query}")).await.has_status(200);
        assert_eq!(ids_of(&page["data"]).len(), count, "{query}");
        assert_eq!(page["has_more"], count < 21, "{query}");
    }
    for limit in ["0", "101", "-1", "1.5", "x", "", "99999999999999999999"] {
        operator.client.get(&format!("/v1/accounts?limit={limit}")).await.blames("limit");
    }
}

#[tokio::test]
async fn accounts_made_between_two_pages_do_not_disturb_the_second() {
    let operator = Operator::shared().await;
    let made = creates_accounts(&operator, 4).await;
    let first = operator.client.get("/v1/accounts?limit=2").await.has_status(200);
    operator.creates_account("Late").await;
    let second = operator
        .client
        .get(&format!("/v1/accounts?limit=2&cursor={}", first.text_of("cursor")))
        .await
        .has_status(200);
    let mut seen = ids_of(&first["data"]);
    seen.extend(ids_of(&second["data"]));
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), made);
}

#[tokio::test]
async fn accounts_are_filtered_by_status() {
    let operator = Operator::shared().await;
    let (resting, working) =
        (operator.creates_account("Resting").await, operator.creates_account("Working").await);
    resting.sets_policy(json!({ "paused": true })).await;
    for (status, expected) in [("paused", &resting), ("active", &working)] {
        let page = operator.client.get(&format!("/v1/accounts?status={status}")).await.has_status(200);
        assert_eq!(ids_of(&page["data"]), [expected.id.as_str()]);
        assert_eq!(page["data"][0]["status"], status);
    }
    for status in ["closed", "", "ACTIVE"] {
        operator.client.get(&format!("/v1/accounts?status={status}")).await.blames("status");
    }
}

#[tokio::test]
async fn broken_cursor_is_invalid() {
    let operator = Operator::shared().await;
    creates_accounts(&operator, 2).await;
    for cursor in ["x", "%00", "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", &"a".repeat(3_000)] {
        operator.client.get(&format!("/v1/accounts?cursor={cursor}")).await.blames("cursor");
    }
}

#[tokio::test]
async fn cursor_of_another_operator_opens_nothing() {
    let operator = Operator::shared().await;
    let made = creates_accounts(&operator, 3).await;
    let page = operator.client.get("/v1/accounts?limit=1").await.has_status(200);
    let other = operator.app().new_operator().await;
    let own = other.creates_account("Own").await.id;
    let answer = other.client.get(&format!("/v1/accounts?cursor={}", page.text_of("cursor"))).await;
    match answer.status {
        200 => assert!(
            ids_of(&answer["data"]).iter().all(|id| *id == own && !made.contains(id)),
            "{}",
            answer.text
        ),
        _ => drop(answer.blames("cursor")),
    }
}

#[tokio::test]
async fn accounts_of_others_are_not_listed_and_answered_like_unknown_ones() {
    let operator = Operator::shared().await;
    let stranger = operator.app().new_operator().await;
    let theirs = stranger.creates_account("Theirs").await;
    let page = operator.client.get("/v1/accounts?limit=100").await.has_status(200);
    assert_eq!(page["data"], json!([]));
    let unknown = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for below in ["", "/balance", "/policy", "/limits", "/keys"] {
        let foreign = operator.client.get(&theirs.path(below)).await.is_error(404, "not_found");
        let missing =
            operator.client.get(&format!("/v1/accounts/{unknown}{below}")).await.is_error(404, "not_found");
        assert_eq!(foreign.without_request_id(), missing.without_request_id());
    }
}

#[tokio::test]
async fn text_that_is_no_account_id_is_not_found() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let lower = agent.id.to_lowercase();
    let other_kind = agent.id.replace("acct_", "txn_");
    for id in ["x", "acct_", "acct_%00", lower.as_str(), other_kind.as_str(), &agent.id["acct_".len()..]] {
        operator.reads_account(id).await.is_error(404, "not_found");
    }
}

#[tokio::test]
async fn ten_accounts_asked_for_at_once_are_ten_accounts() {
    let operator = Operator::shared().await;
    assert_eq!(creates_accounts(&operator, 10).await.len(), 10);
    let page = operator.client.get("/v1/accounts?limit=100").await.has_status(200);
    assert_eq!(ids_of(&page["data"]).len(), 10);
}

async fn creates_accounts(operator: &Operator, count: usize) -> BTreeSet<String> {
    let made = join_all((0..count).map(|_| operator.creates_account("One of many"))).await;
    made.into_iter().map(|agent: Agent| agent.id).collect()
}

fn ids_of(data: &serde_json::Value) -> Vec<String> {
    let accounts = data.as_array().expect("data is an array");
    accounts
        .iter()
        .map(|account| account["account_id"].as_str().expect("an account has an id").to_owned())
        .collect()
}
