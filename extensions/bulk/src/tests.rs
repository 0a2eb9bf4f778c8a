//! The routes of this crate, over a scripted node.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use purser_api::http::testing::{Answer, Relayer, bad_requests_are_answered};
use purser_model::{Account, AccountId, Address, Label, NAME_CHARS_MAX, Quotas, SELECTED_MAX};
use purser_service::{ReadLimiter, Services};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;

use crate::many::Many;

/// The routes of this crate.
fn rest(services: &Services) -> OpenApiRouter {
    super::routes(Many::new(services.inside.clone()))
}

/// A relayer with as many accounts as a change may name, each with the longest name of these letters.
async fn fleet(letter: &str) -> Relayer {
    let relayer = Relayer::with_rest(rest, |setup| setup.quotas = Quotas::default()).await;
    let first: AccountId = relayer.account().await.parse().expect("an id");
    let name = Label::parse(letter.repeat(NAME_CHARS_MAX)).expect("a name");
    let operators = relayer.store.operators.list_operators().await.expect("read");
    let operator = operators.first().expect("an operator").id;
    let made = relayer.store.accounts.find_account(operator, first).await.expect("read").expect("made");
    let on_chain = relayer.chain.script().agents[&made.address].clone();
    relayer.patch(&format!("/v1/accounts/{first}"), &json!({ "name": name.as_str() })).await;
    for number in 1..SELECTED_MAX {
        let filled = |kind: u8| {
            let mut bytes = [kind; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Address::from_bytes(bytes)
        };
        let mut id = [9; 16];
        id[..8].copy_from_slice(&number.to_le_bytes());
        let account = Account {
            id: AccountId::from_bytes(id),
            name: name.clone(),
            address: filled(7),
            token_account: filled(8),
            ..made.clone()
        };
        relayer.store.accounts.insert_account(&account).await.expect("inserted");
        let mut agent = on_chain.clone();
        (agent.address, agent.token_account) = (account.address, account.token_account);
        relayer.chain.script().agents.insert(account.address, agent);
    }
    relayer
}

/// Sends a request under a name until it is answered: what takes longer than an answer may goes on.
async fn send_named(relayer: &Relayer, path: &str, name: &str, body: &Value) -> Answer {
    for _ in 0..60 {
        let request = Request::post(path).header(header::AUTHORIZATION, format!("Bearer {}", relayer.key));
        let request =
            request.header(header::CONTENT_TYPE, "application/json").header("idempotency-key", name);
        let answer = relayer.answer(request.body(Body::from(body.to_string())).expect("a request")).await;
        if !matches!(answer.status.as_u16(), 409 | 503 | 504) {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("{path} was not answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_accounts_with_the_longest_names_are_changed_and_halted_and_every_signature_is_answered() {
    // Four bytes each.
    let relayer = fleet("\u{1F600}").await;
    let policy = json!({ "accounts": { "all": true }, "policy": { "max_daily_spend": 7, "max_single_transfer": 7, "require_memo": true } });
    let halt = json!({ "accounts": { "all": true } });
    for (path, body, bytes_min) in [("/v1/bulk/policy", &policy, 1 << 20), ("/v1/bulk/halt", &halt, 900_000)]
    {
        let done = send_named(&relayer, path, path, body).await;
        assert_eq!((done.status.as_u16(), &done.body["applied"]), (200, &json!(SELECTED_MAX)), "{path}");
        let accounts = done.body["accounts"].as_array().expect("accounts");
        let signed = accounts.iter().filter(|account| account["tx_signature"].is_string()).count();
        assert_eq!((accounts.len(), signed), (SELECTED_MAX, SELECTED_MAX), "{path}");
        // An answer of a megabyte is kept.
        assert!(done.text.len() > bytes_min, "{path}: {}", done.text.len());
        let again = send_named(&relayer, path, path, body).await;
        assert_eq!(
            (again.text == done.text, &again.headers["idempotent-replayed"]),
            (true, &"true".parse().expect("a header"))
        );
    }
    let unchanged = send_named(&relayer, "/v1/bulk/policy", "again", &policy).await;
    assert_eq!((unchanged.status.as_u16(), &unchanged.body["unchanged"]), (200, &json!(SELECTED_MAX)));
}

#[tokio::test]
async fn what_reads_the_chain_for_a_change_is_within_the_operators_budget_and_a_stop_waits_for_none() {
    let two = NonZeroU32::new(2).expect("positive");
    let relayer = Relayer::with_rest(rest, |setup| setup.read_limiter = ReadLimiter::new(two)).await;
    let account = relayer.account().await;
    let of_account = format!("/v1/accounts/{account}");
    let dry_run =
        json!({ "accounts": { "ids": [account] }, "policy": { "max_daily_spend": 7 }, "dry_run": true });
    let outdated = json!({ "expected_version": 99, "require_memo": true });
    for (method, path, body) in [
        ("POST", "/v1/bulk/policy".to_owned(), Some(dry_run.to_string())),
        ("PATCH", format!("{of_account}/policy"), Some(outdated.to_string())),
        ("DELETE", format!("{of_account}/grants/grt_{}", relayer.chain.payee(1)), None),
    ] {
        let asks = || relayer.send(method, &path, &relayer.key, body.as_deref());
        let answers = futures::future::join_all((0..40).map(|_| asks())).await;
        let refused = answers.iter().filter(|answer| answer.error() == (429, "rate_limited")).count();
        // A request waits at most two seconds for its turn.
        assert!((20..40).contains(&refused), "{method} {path}: {refused} of 40");
        let stop = json!({ "accounts": { "ids": [account] }, "policy": { "paused": true } });
        let (begun, stopped) = (std::time::Instant::now(), relayer.post("/v1/bulk/policy", &stop).await);
        assert_eq!((stopped.status.as_u16(), &stopped.body["failed"]), (200, &json!(0)), "{}", stopped.body);
        assert!(begun.elapsed() < Duration::from_secs(2), "it waits for nobody");
    }
}

#[tokio::test]
async fn answer_of_a_dry_run_is_not_kept() {
    let relayer = Relayer::with_rest(rest, |_| ()).await;
    let account = relayer.account().await;
    let ids = json!({ "ids": [account, AccountId::from_bytes([1; 16])] });
    let policy = json!({ "accounts": ids, "policy": { "max_daily_spend": 7 }, "dry_run": true });
    let halt = json!({ "accounts": ids, "dry_run": true });
    for (path, body) in [("/v1/bulk/policy", &policy), ("/v1/bulk/halt", &halt)] {
        for _ in 0..2 {
            let shown = send_named(&relayer, path, path, body).await;
            assert_eq!((shown.status.as_u16(), &shown.body["dry_run"]), (200, &json!(true)), "{path}");
            assert!(shown.headers.get("idempotent-replayed").is_none());
        }
    }
    let database = rusqlite::Connection::open(relayer.folder.path().join("purser.db")).expect("the database");
    let kept: i64 =
        database.query_row("SELECT COUNT(*) FROM requests", [], |row| row.get(0)).expect("counted");
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn bad_requests_are_answered_as_listed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/bad_requests.txt");
    bad_requests_are_answered(&Relayer::with_rest(rest, |_| ()).await, &file).await;
}

#[tokio::test]
async fn nothing_but_the_pause_of_many_is_changed_without_a_record() {
    let relayer = Relayer::with_rest(rest, |_| ()).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = relayer.account().await;
        relayer.put(&format!("/v1/accounts/{id}/policy"), &json!({ "max_daily_spend": 5 })).await;
        ids.push(id);
    }
    let recorded = relayer.get("/v1/actions?limit=100").await.body["data"].clone();
    let database = rusqlite::Connection::open(relayer.folder.path().join("purser.db")).expect("the database");
    let trigger = "CREATE TRIGGER full BEFORE INSERT ON actions BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database.execute_batch(trigger).expect("a trigger");
    let many = json!({ "accounts": { "ids": ids }, "policy": { "paused": true, "max_daily_spend": 500 } });
    let answer = relayer.post("/v1/bulk/policy", &many).await;
    assert_eq!((answer.status.as_u16(), &answer.body["failed"]), (200, &json!(2)), "{}", answer.body);
    let message = answer.body["accounts"][0]["error"]["message"].as_str().expect("text");
    assert!(message.starts_with("The pause holds."), "{message}");
    for id in &ids {
        let read = relayer.get(&format!("/v1/accounts/{id}/policy")).await.body;
        assert_eq!((&read["paused"], &read["max_daily_spend"]), (&json!(true), &json!(5)), "{id}");
    }
    assert_eq!(relayer.get("/v1/actions?limit=100").await.body["data"], recorded);
}
