//! `Idempotency-Key` on requests other than transfers.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::{ACCOUNTS_MAX, Answer, Relayer, operator_key};

const HOOK: &str = r#"{"url":"https://8.8.8.8/a","events":["transfer.settled"]}"#;

impl Relayer {
    async fn named(&self, name: &str, path: &str, key: &str, body: &str) -> Answer {
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {key}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("idempotency-key", name);
        self.answer(request.body(Body::from(body.to_owned())).expect("a request")).await
    }

    async fn asks(&self, name: &str, path: &str, body: &str) -> Answer {
        self.named(name, path, &self.key, body).await
    }

    async fn count_accounts(&self) -> usize {
        self.get("/v1/accounts").await.body["data"].as_array().expect("a list").len()
    }

    pub(super) fn runs_sql(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.folder.path().join("purser.db")).expect("opened");
        connection.execute_batch(sql).expect("done");
    }

    /// As if the process had died long ago, after it had done everything and before it stored the answer.
    fn forgets_answers(&self) {
        self.runs_sql(
            "UPDATE requests SET status_code = NULL, answer = NULL, is_sealed = FALSE,
                 lease_expires_at = '2020-01-01T00:00:00.000000Z'",
        );
    }
}

fn is_replayed(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
}

#[track_caller]
fn is_same(first: &Answer, again: &Answer) {
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    assert!(!is_replayed(first) && is_replayed(again));
    assert_eq!(again.headers["content-type"], "application/json");
    assert_ne!(first.headers["x-request-id"], again.headers["x-request-id"]);
}

#[tokio::test]
async fn an_account_that_got_its_second_id_is_found_under_it_when_it_is_asked_for_again() {
    let relayer = Relayer::start().await;
    relayer.chain.script().addresses_taken = 1;
    let first = relayer.asks("n", "/v1/accounts", r#"{"name":"a"}"#).await;
    assert_eq!(first.status, 201, "{}", first.text);
    relayer.forgets_answers();
    let again = relayer.asks("n", "/v1/accounts", r#"{"name":"a"}"#).await;
    assert_eq!((again.status, &again.body["account_id"]), (first.status, &first.body["account_id"]));
    assert_eq!(relayer.count_accounts().await, 1);
}

#[tokio::test]
async fn an_account_asked_for_twice_under_one_name_is_made_once() {
    let relayer = Relayer::start().await;
    let first = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!(first.status, 201, "{}", first.text);
    is_same(&first, &relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await);
    // Another process, and another key of the same operator.
    let other_key = operator_key(&relayer.store, 9).await;
    let beside = relayer.beside().await;
    is_same(&first, &beside.named("a", "/v1/accounts", &other_key, r#"{"name":"Ada"}"#).await);
    assert_eq!(relayer.count_accounts().await, 1);
    let other = relayer.asks("b", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_ne!(other.body["account_id"], first.body["account_id"]);
    // A stranger's names are separate.
    let stranger = operator_key(&relayer.store, 8).await;
    let theirs = relayer.named("a", "/v1/accounts", &stranger, r#"{"name":"Eve"}"#).await;
    assert_eq!((theirs.status.as_u16(), is_replayed(&theirs)), (201, false), "{}", theirs.text);
}

#[tokio::test]
async fn a_name_with_another_body_or_route_is_a_conflict() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    let keys = format!("/v1/accounts/{account}/keys");
    for (path, body) in [
        ("/v1/accounts", r#"{"name":"Bob"}"#),
        ("/v1/accounts", r#"{"name": "Ada"}"#),
        ("/v1/accounts", "{"),
        (keys.as_str(), r#"{"name":"Ada"}"#),
        ("/v1/halt", ""),
    ] {
        let answer = relayer.asks("a", path, body).await;
        assert_eq!(answer.error(), (409, "idempotency_conflict"), "{path} {body}: {}", answer.text);
    }
    assert_eq!(relayer.count_accounts().await, 2);
    // Transfers have names of their own.
    let order = relayer.order(&account, "a").to_string();
    assert_eq!(relayer.asks("a", "/v1/transfers", &order).await.status, 200);
}

#[tokio::test]
async fn repeats_are_refused_while_the_first_request_is_under_way() {
    let relayer = Relayer::start().await;
    relayer.chain.script().creations_held = true;
    let all = (0..6).map(|_| relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#));
    let mut all: FuturesUnordered<_> = all.collect();
    // All but the one whose account is held.
    for _ in 0..5 {
        let answer = all.next().await.expect("six were asked");
        assert_eq!(answer.error(), (409, "idempotency_in_progress"), "{}", answer.text);
        assert_eq!(
            (&answer.headers["retry-after"], &answer.body["retryable"]),
            (&"2".parse().expect("text"), &json!(true))
        );
    }
    relayer.chain.release();
    let made = all.next().await.expect("the first");
    assert_eq!(made.status, 201, "{}", made.text);
    is_same(&made, &relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await);
    assert_eq!(relayer.count_accounts().await, 1);
}

#[tokio::test]
async fn refused_request_leaves_its_name_free() {
    let relayer = Relayer::start().await;
    for body in ["{", r#"{"name":""}"#, r#"{"nom":"Ada"}"#] {
        assert_eq!(relayer.asks("a", "/v1/accounts", body).await.error(), (400, "invalid_request"));
    }
    let big = format!(r#"{{"name":"{}"}}"#, "a".repeat(70_000));
    assert_eq!(relayer.asks("a", "/v1/accounts", &big).await.error(), (413, "payload_too_large"));
    assert_eq!(relayer.asks("a", "/v1/webhooks/whk_x/test", "").await.error(), (404, "not_found"));
    assert_eq!(relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await.status, 201);
    let long = "é".repeat(129);
    for name in ["", long.as_str()] {
        let answer = relayer.asks(name, "/v1/accounts", r#"{"name":"Ada"}"#).await;
        assert_eq!(
            (answer.error(), &answer.body["param"]),
            ((400, "invalid_request"), &json!("idempotency_key"))
        );
    }
    let twice = Request::post("/v1/accounts")
        .header(header::AUTHORIZATION, format!("Bearer {}", relayer.key))
        .header(header::CONTENT_TYPE, "application/json")
        .header("idempotency-key", "x")
        .header("idempotency-key", "y");
    let answer = relayer.answer(twice.body(Body::from(r#"{"name":"Ada"}"#)).expect("a request")).await;
    assert_eq!(answer.body["param"], "idempotency_key", "{}", answer.text);
    assert_eq!(relayer.count_accounts().await, 1);
}

#[tokio::test]
async fn an_account_whose_making_was_answered_with_a_doubt_is_the_same_one_when_asked_again() {
    let relayer = Relayer::start().await;
    relayer.chain.script().answers_lost = 1;
    let doubt = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!((doubt.error(), &doubt.body["retryable"]), ((503, "solana_unavailable"), &json!(false)));
    relayer.chain.is_heard().await;
    let other = relayer.asks("a", "/v1/accounts", r#"{"name":"Bob"}"#).await;
    assert_eq!(other.error(), (409, "idempotency_conflict"));
    let made = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!((relayer.count_accounts().await, relayer.chain.script().agents.len()), (1, 1));
    is_same(&made, &relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await);
}

#[tokio::test]
async fn an_account_that_was_made_before_a_crash_is_answered_with_after_it_and_counts_once() {
    let relayer = Relayer::start().await;
    for _ in 1..ACCOUNTS_MAX {
        relayer.account().await;
    }
    let first = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!(first.status, 201, "the last that fits");
    let full = relayer.asks("b", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!(full.error(), (400, "quota_exceeded"));
    for is_ready in [true, false] {
        relayer.forgets_answers();
        if !is_ready {
            relayer.runs_sql("UPDATE accounts SET provisioning = 'requested' WHERE name = 'Ada'");
        }
        let again = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
        assert_eq!((again.status.as_u16(), is_replayed(&again)), (201, false), "{}", again.text);
        assert_eq!(again.body["account_id"], first.body["account_id"]);
    }
    assert_eq!(relayer.chain.script().agents.len(), ACCOUNTS_MAX as usize);
}

#[tokio::test]
async fn secrets_are_shown_again_to_the_key_that_asked_and_stand_nowhere() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let keys = format!("/v1/accounts/{account}/keys");
    let key = relayer.asks("a", &keys, "{}").await;
    let hook = relayer.asks("b", "/v1/webhooks", HOOK).await;
    assert_eq!((key.status.as_u16(), hook.status.as_u16()), (201, 201), "{} {}", key.text, hook.text);
    let rotate = format!("/v1/webhooks/{}/rotate_secret", hook.body["id"].as_str().expect("text"));
    let rotated = relayer.asks("c", &rotate, "").await;
    let other_key = operator_key(&relayer.store, 9).await;
    for (name, path, body, first, field) in [
        ("a", keys.as_str(), "{}", &key, "key"),
        ("b", "/v1/webhooks", HOOK, &hook, "secret"),
        ("c", rotate.as_str(), "", &rotated, "secret"),
    ] {
        is_same(first, &relayer.asks(name, path, body).await);
        let other = relayer.named(name, path, &other_key, body).await;
        assert_eq!(other.error(), (409, "idempotency_conflict"), "{}", other.text);
        let secret = first.body[field].as_str().expect("text");
        for file in std::fs::read_dir(relayer.folder.path()).expect("a folder") {
            let bytes = std::fs::read(file.expect("a file").path()).expect("read");
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{field} stands in the database");
        }
    }
    let agent = key.body["key"].as_str().expect("text");
    assert_eq!(relayer.send("GET", &format!("/v1/accounts/{account}"), agent, None).await.status, 200);
}

#[tokio::test]
async fn account_left_unanswered_by_a_crash_is_not_made_twice() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let keys = format!("/v1/accounts/{account}/keys");
    let hook = relayer.asks("b", "/v1/webhooks", HOOK).await;
    let hook_path = format!("/v1/webhooks/{}", hook.body["id"].as_str().expect("text"));
    let (rotate, test) = (format!("{hook_path}/rotate_secret"), format!("{hook_path}/test"));
    let asked = [
        ("a", keys.as_str(), "{}"),
        ("b", "/v1/webhooks", HOOK),
        ("c", test.as_str(), ""),
        ("d", rotate.as_str(), ""),
        ("e", "/v1/halt", ""),
    ];
    let mut firsts = Vec::new();
    for (name, path, body) in asked {
        firsts.push(relayer.asks(name, path, body).await);
    }
    relayer.forgets_answers();
    let other_key = operator_key(&relayer.store, 9).await;
    for ((name, path, body), first) in asked.into_iter().zip(&firsts) {
        assert!(first.status.is_success(), "{path}: {}", first.text);
        let other = relayer.named(name, path, &other_key, body).await;
        assert_eq!(
            other.error(),
            (409, "idempotency_conflict"),
            "an unfinished one is its key's: {}",
            other.text
        );
        let again = relayer.asks(name, path, body).await;
        assert_eq!(again.status, first.status, "{path}: {}", again.text);
        for field in ["id", "key"] {
            assert_eq!(again.body[field], first.body[field], "{path}");
        }
    }
    // The webhook has had another secret since, but the replay shows the one that it was made with, as the first answer did.
    let listed = |answer: Answer| answer.body["data"].as_array().map(Vec::len);
    assert_eq!(listed(relayer.get(&keys).await), Some(1));
    assert_eq!(listed(relayer.get("/v1/webhooks").await), Some(1));
    assert_eq!(listed(relayer.get(&format!("{hook_path}/deliveries")).await), Some(1));
}

#[tokio::test]
async fn a_secret_that_was_rotated_before_a_crash_is_not_rotated_again() {
    let relayer = Relayer::start().await;
    let hook = relayer.asks("b", "/v1/webhooks", HOOK).await;
    let id: purser_model::WebhookId = hook.body["id"].as_str().expect("text").parse().expect("an id");
    let rotate = format!("/v1/webhooks/{id}/rotate_secret");
    let first = relayer.asks("c", &rotate, "").await;
    let secrets =
        async || relayer.store.webhooks.find_webhook_secrets(id).await.expect("read").expect("there");
    let before = secrets().await;
    relayer.forgets_answers();
    let again = relayer.asks("c", &rotate, "").await;
    assert_eq!(again.body["secret"], first.body["secret"]);
    let after = secrets().await;
    assert_eq!(after.current, before.current);
    assert_eq!(after.previous.map(|(secret, _)| secret), before.previous.map(|(secret, _)| secret));
    let next: Value = relayer.asks("d", &rotate, "").await.body;
    assert_ne!(next["secret"], first.body["secret"]);
}

#[tokio::test]
async fn agents_are_refused_as_ever_and_reads_have_no_names() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let agent = relayer.agent_key(&account).await;
    let refused = relayer.named("a", "/v1/accounts", &agent, r#"{"name":"Ada"}"#).await;
    assert_eq!(refused.error(), (403, "forbidden"));
    let made = relayer.asks("a", "/v1/accounts", r#"{"name":"Bob"}"#).await;
    assert_eq!(made.status, 201, "an agent uses up no name: {}", made.text);
    let request = Request::get("/v1/accounts")
        .header(header::AUTHORIZATION, format!("Bearer {}", relayer.key))
        .header("idempotency-key", "a");
    assert_eq!(relayer.answer(request.body(Body::empty()).expect("a request")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_goes_away_finds_its_account_under_its_name() {
    let relayer = Relayer::start().await;
    relayer.chain.script().creations_held = true;
    tokio::select! {
        answer = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#) => panic!("not held: {}", answer.text),
        () = relayer.chain.comes_to(|script| script.creations_under_way == 1) => {}
    }
    let answer = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
    assert_eq!(answer.error(), (409, "idempotency_in_progress"));
    relayer.chain.release();
    for _ in 0..1_000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let answer = relayer.asks("a", "/v1/accounts", r#"{"name":"Ada"}"#).await;
        if answer.status == 201 {
            assert!(is_replayed(&answer));
            assert_eq!(relayer.count_accounts().await, 1);
            return;
        }
    }
    panic!("it was not finished");
}
