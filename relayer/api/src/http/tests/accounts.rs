//! Accounts and keys.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{ACCOUNTS_MAX, Relayer, operator_key, policy_with};
use purser_model::{
    Account, AccountId, AccountStatus, Address, ApprovalRule, DuplicateRule, Label, OperatorId, Tags,
    Timestamp,
};
use purser_service::SystemClock;

#[tokio::test]
async fn a_new_account_has_the_default_policy() {
    let relayer = Relayer::start().await;
    let body = r#"{"name":"büro","metadata":{"n":1.10,"big":123456789012345678901234567890}}"#;
    let created = relayer.send("POST", "/v1/accounts", &relayer.key, Some(body)).await;
    assert_eq!(created.status, StatusCode::CREATED);
    assert_eq!(
        (&created.body["balance_usdc"], &created.body["status"]),
        (&json!("0.000000"), &json!("active"))
    );
    let policy = policy_with(json!({}));
    assert_eq!((&created.body["policy"], &created.body["halted"]), (&policy, &json!(null)));
    assert!(created.text.contains(r#""metadata":{"n":1.10,"big":123456789012345678901234567890}"#));
    let id = created.body["account_id"].as_str().expect("text");
    let again = relayer.get(&format!("/v1/accounts/{id}")).await;
    let but_for_the_moment = |mut body: Value| {
        body["balance_as_of"] = Value::Null;
        body
    };
    let mut made = created.body.clone();
    let warnings = made.as_object_mut().and_then(|made| made.remove("warnings"));
    assert_eq!((warnings, but_for_the_moment(again.body)), (Some(json!([])), but_for_the_moment(made)));
    let balance = relayer.get(&format!("/v1/accounts/{id}/balance")).await;
    assert_eq!(
        (&balance.body["account_id"], &balance.body["balance_usdc"]),
        (&json!(id), &json!("0.000000"))
    );
    assert!(balance.body["last_updated"].is_string());
}

#[tokio::test]
async fn an_account_gets_another_id_where_usdc_lies_at_the_address_of_the_first() {
    let relayer = Relayer::start().await;
    relayer.chain.script().addresses_taken = 2;
    let created = relayer.send("POST", "/v1/accounts", &relayer.key, Some(r#"{"name":"a"}"#)).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    assert_eq!(relayer.chain.script().taken.len(), 2);
    let listed = relayer.get("/v1/accounts").await;
    assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed.body["data"][0]["account_id"], created.body["account_id"]);
}

#[tokio::test]
async fn an_account_that_was_closed_is_not_put_on_a_list_and_one_that_is_listed_stays() {
    let relayer = Relayer::start().await;
    let [payer, payee, other] = [relayer.account().await, relayer.account().await, relayer.account().await];
    let open = relayer.account().await;
    let policy = format!("/v1/accounts/{payer}/policy");
    let listing = |ids: &[&String]| json!({ "allowed_counterparties": ids });
    assert_eq!(relayer.put(&policy, &listing(&[&payee])).await.status, StatusCode::OK);
    // The admin closes both with its own wallet, and long after that a node would show them.
    let mut addresses = Vec::new();
    for id in [&payee, &other] {
        let address = relayer.get(&format!("/v1/accounts/{id}")).await.body["solana_address"].clone();
        let address: Address = address.as_str().expect("text").parse().expect("an address");
        relayer.chain.script().agents.remove(&address);
        addresses.push(address.to_string());
    }
    relayer.runs_sql("UPDATE accounts SET created_at = '2020-01-01T00:00:00.000000Z'");
    for [payee, other] in [[&payee, &other], [&addresses[0], &addresses[1]]] {
        let refused = relayer.put(&policy, &listing(&[payee, other])).await;
        assert_eq!(refused.error(), (400, "invalid_request"));
        assert!(refused.text.contains("was closed"), "{}", refused.text);
        let stays = relayer.put(&policy, &listing(&[payee])).await;
        assert_eq!(stays.status, StatusCode::OK);
        assert_eq!(stays.body["warnings"][0]["code"], "allowlist_pays_nobody", "{}", stays.text);
        let with_another = relayer.put(&policy, &listing(&[payee, &open])).await;
        assert_eq!(with_another.body["warnings"], json!([]), "{}", with_another.text);
    }
}

#[tokio::test]
async fn pages_are_stable_under_inserts_and_cursors_keep_to_their_filter() {
    let relayer = Relayer::start().await;
    let mut accounts = Vec::new();
    for _ in 0..5 {
        accounts.push(relayer.account().await);
    }
    let paused = format!("/v1/accounts/{}/policy", accounts[1]);
    assert_eq!(relayer.put(&paused, &json!({ "paused": true })).await.body["paused"], true);

    let first = relayer.get("/v1/accounts?limit=2").await;
    assert_eq!(first.body["has_more"], true);
    let cursor = first.body["cursor"].as_str().expect("text").to_owned();
    relayer.account().await;
    let mut seen: Vec<String> = Vec::new();
    let mut page = first;
    loop {
        let data = page.body["data"].as_array().expect("a list");
        seen.extend(data.iter().map(|account| account["account_id"].as_str().expect("text").to_owned()));
        let Some(next) = page.body["cursor"].as_str() else { break };
        page = relayer.get(&format!("/v1/accounts?limit=2&cursor={next}")).await;
    }
    assert_eq!(page.body["has_more"], false);
    accounts.reverse();
    assert_eq!(seen, accounts, "newest first, none twice, none that came later");

    let filtered = relayer.get("/v1/accounts?status=paused&limit=1").await;
    assert_eq!(filtered.body["data"][0]["account_id"], json!(accounts[3]));
    assert_eq!(filtered.body["data"][0]["status"], "paused");
    let foreign = operator_key(&relayer.store, 8).await;
    for (key, query) in [
        (&relayer.key, format!("status=paused&cursor={cursor}")),
        (&foreign, format!("cursor={cursor}")),
        (&relayer.key, "cursor=x".to_owned()),
        (&relayer.key, "limit=0".to_owned()),
        (&relayer.key, "limit=101".to_owned()),
        (&relayer.key, "status=closed".to_owned()),
        (&relayer.key, "colour=red".to_owned()),
        (&relayer.key, "limit=1&limit=2".to_owned()),
    ] {
        let answer = relayer.send("GET", &format!("/v1/accounts?{query}"), key, None).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{query}");
    }
    assert_eq!(relayer.get("/v1/accounts?limit=100").await.body["data"].as_array().map(Vec::len), Some(6));
}

#[tokio::test]
async fn a_key_is_shown_once_and_ends_when_it_is_revoked_or_expires() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/keys");
    let made = relayer.post(&path, &json!({ "name": "bot", "expires_at": "2999-01-01T00:00:00Z" })).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let key = made.body["key"].as_str().expect("text").to_owned();
    assert!(key.starts_with("psr_ag_test_"));
    let listed = relayer.get(&path).await;
    assert_eq!(listed.body["data"][0]["id"], made.body["id"]);
    assert!(!listed.body.to_string().contains(&key));

    let balance = format!("/v1/accounts/{account}/balance");
    assert_eq!(relayer.send("GET", &balance, &key, None).await.status, StatusCode::OK);
    let revoke = format!("/v1/keys/{}", made.body["id"].as_str().expect("text"));
    let foreign = operator_key(&relayer.store, 8).await;
    assert_eq!(relayer.send("DELETE", &revoke, &foreign, None).await.status, StatusCode::NOT_FOUND);
    for _ in 0..2 {
        assert_eq!(relayer.send("DELETE", &revoke, &relayer.key, None).await.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(relayer.send("GET", &balance, &key, None).await.error(), (401, "unauthorized"));

    let past = relayer.post(&path, &json!({ "expires_at": "2001-01-01T00:00:00Z" })).await;
    assert_eq!((past.error(), &past.body["param"]), ((400, "invalid_request"), &json!("expires_at")));
    let soon = SystemClock::SYSTEM.now().after(Duration::from_secs(3));
    let made = relayer.post(&path, &json!({ "expires_at": soon.to_string() })).await;
    let key = made.body["key"].as_str().expect("text");
    let early = relayer.send("GET", &balance, key, None).await.status;
    assert!(early == StatusCode::OK || SystemClock::SYSTEM.now() >= soon, "{early} before it expires");
    tokio::time::sleep(SystemClock::SYSTEM.now().until(soon.after(Duration::from_millis(1)))).await;
    assert_eq!(relayer.send("GET", &balance, key, None).await.error(), (401, "unauthorized"));
}

#[tokio::test]
async fn accounts_that_are_closed_on_the_chain_make_room_for_others() {
    let relayer = Relayer::start().await;
    let made_at = Timestamp::from_unix_seconds(SystemClock::SYSTEM.now().unix_seconds() - 600);
    for number in 0..ACCOUNTS_MAX {
        // None of them is on the chain any more.
        let account = Account {
            id: AccountId::from_bytes([number as u8; 16]),
            operator_id: OperatorId::from_bytes([9; 16]),
            name: Label::parse("Ada").expect("valid"),
            metadata: None,
            tags: Tags::default(),
            address: Address::from_bytes([number as u8; 32]),
            token_account: Address::from_bytes([number as u8; 32]),
            status: AccountStatus::Active,
            allowlist_entries: 0,
            duplicates: DuplicateRule::AsAsked,
            approvals: ApprovalRule::On,
            create_token_accounts: false,
            created_at: made_at,
        };
        relayer.store.accounts.insert_account(&account).await.expect("inserted");
    }
    let body = r#"{"name":"Ben"}"#;
    let refused = relayer.send("POST", "/v1/accounts", &relayer.key, Some(body)).await;
    assert_eq!(refused.error(), (400, "quota_exceeded"));
    relayer.services.reconcile_once().await;
    let created = relayer.send("POST", "/v1/accounts", &relayer.key, Some(body)).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
}
