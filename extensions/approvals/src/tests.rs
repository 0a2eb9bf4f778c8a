//! Transfers that policy refuses and a person may approve, over a scripted node.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use purser_api::http::testing::{Answer, Relayer, bad_requests_are_answered};
use purser_base::captured_log::CapturedLog;
use purser_chain::Outcome;
use purser_chain::scripted::NOW;
use purser_core::{Refusal, RejectionReason};
use purser_model::{Address, TransferId};
use purser_policy::Waived;
use serde_json::{Value, json};

use crate::Approvals;

/// A relayer whose approvals have no pages.
async fn start() -> Relayer {
    let routes = |services: &_| crate::routes(Approvals::new(services, None));
    Relayer::with_rest(routes, |setup| setup.approval_page = Some(Arc::new(|_| None))).await
}

/// An account that may pay at most 1 USDC at once.
async fn limited(relayer: &Relayer) -> String {
    let account = relayer.account().await;
    let policy = json!({ "max_single_transfer": "1", "max_daily_spend": "5" });
    let put = relayer.put(&format!("/v1/accounts/{account}/policy"), &policy).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.body);
    account
}

/// Asks for 1.50 to be approved.
async fn ask(relayer: &Relayer, account: &str, key: &str) -> Answer {
    let mut order = relayer.order(account, key);
    order["approval"] = json!("request");
    relayer.post("/v1/transfers", &order).await
}

/// A grant for the transfer comes onto the chain.
fn grant(relayer: &Relayer, transfer: &Value) {
    let id: TransferId = transfer.as_str().expect("an id").parse().expect("an id");
    relayer.chain.script().grants.insert(id.tag(), Waived::SINGLE_LIMIT);
}

/// The transfer in this state; panics after 20 s.
async fn becomes(relayer: &Relayer, transfer: &Value, status: &str) -> Value {
    let path = format!("/v1/transfers/{}", transfer.as_str().expect("an id"));
    for _ in 0..2_000 {
        let shown = relayer.get(&path).await.body;
        if shown["status"] == status {
            return shown;
        }
        relayer.services.sweep_transfers().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not become {status}: {}", relayer.get(&path).await.body);
}

async fn events(relayer: &Relayer) -> Vec<Value> {
    let events = relayer.get("/v1/events?limit=100").await.body;
    let mut events = events["data"].as_array().expect("a list").clone();
    events.reverse();
    events.retain(|event| event["type"].as_str().is_some_and(|name| name.starts_with("approval.")));
    events
}

#[tokio::test]
async fn a_refused_transfer_waits_for_a_person_and_is_paid_once_by_its_grant() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let refused = relayer.post("/v1/transfers", &relayer.order(&account, "a")).await;
    assert_eq!(refused.error(), (402, "policy_violation"), "{}", refused.body);
    assert_eq!(refused.body["approvable"], true);

    // The same key asks.
    let asked = ask(&relayer, &account, "a").await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{}", asked.body);
    assert_eq!(
        (&asked.body["status"], &asked.body["error"]),
        (&json!("pending_approval"), &json!("policy_violation"))
    );
    assert!(asked.body["approval_expires_at"].is_string() && asked.body["checks"].is_array());
    let id = &asked.body["transfer_id"];
    assert_ne!(id, &refused.body["transfer_id"]);

    // A repeat is answered at once, with or without asking.
    for again in [
        ask(&relayer, &account, "a").await,
        relayer.post("/v1/transfers", &relayer.order(&account, "a")).await,
    ] {
        assert_eq!((again.status, &again.body["transfer_id"]), (StatusCode::ACCEPTED, id));
        assert_eq!(again.headers["idempotent-replayed"], "true");
    }
    let path = format!("/v1/approvals/{}", id.as_str().expect("an id"));
    let shown = relayer.get(&path).await.body;
    assert_eq!(
        (&shown["state"], &shown["rejection_reason"]),
        (&json!("pending"), &json!("single_limit_exceeded"))
    );
    assert_eq!(shown["grant"]["payee"], json!(relayer.chain.payee(1).to_string()));
    assert_eq!(shown["grant"]["policy_version"], json!(2));
    assert!(relayer.chain.script().orders.is_empty(), "nothing is signed before the grant");
    for (state, count) in [("pending", 1), ("used", 0)] {
        let list = relayer.get(&format!("/v1/approvals?state={state}")).await.body;
        assert_eq!(list["data"].as_array().map(Vec::len), Some(count), "{state}");
    }
    let submitted = relayer.get("/v1/transfers?status=submitted").await.body;
    assert_eq!(submitted["data"], json!([]));
    let pending = relayer.get("/v1/transfers?status=pending_approval").await.body;
    assert_eq!(pending["data"][0]["transfer_id"], *id);

    grant(&relayer, id);
    let paid = becomes(&relayer, id, "settled").await;
    assert_eq!(paid["tx_signature"], relayer.chain.script().sent[0].signature);
    let orders = relayer.chain.script().orders.clone();
    assert_eq!(orders.len(), 1);
    assert!(orders[0].beyond.is_some_and(|beyond| beyond.grant.is_some()));
    let shown = relayer.get(&path).await.body;
    assert_eq!((&shown["state"], &shown["grant"]), (&json!("used"), &Value::Null));
    let events = events(&relayer).await;
    let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(types, ["approval.requested", "approval.granted", "approval.used"]);
    assert!(events.iter().all(|event| event["data"]["transfer_id"] == *id));

    let replay = ask(&relayer, &account, "a").await;
    assert_eq!((replay.status, &replay.body["transfer_id"]), (StatusCode::OK, id));
    assert_eq!(relayer.chain.script().sent.len(), 1);
}

#[tokio::test]
async fn what_was_withdrawn_is_shown_as_that_and_not_as_a_persons_no() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let agent = relayer.agent_key(&account).await;
    let rejected = ask(&relayer, &account, "no").await.body;
    let rejected = format!("/v1/approvals/{}", rejected["transfer_id"].as_str().expect("an id"));
    assert_eq!(relayer.post(&format!("{rejected}/reject"), &json!({})).await.body["state"], "rejected");
    // By the agent that asked, and by the operator.
    for (name, key) in [("a", &agent), ("b", &relayer.key)] {
        let asked = ask(&relayer, &account, name).await.body;
        let id = asked["transfer_id"].as_str().expect("an id");
        let path = format!("/v1/approvals/{id}");
        assert_eq!(relayer.send("DELETE", &path, key, None).await.status, StatusCode::NO_CONTENT);
        let shown = relayer.get(&path).await.body;
        assert_eq!(
            (&shown["state"], &shown["message"]),
            (&json!("withdrawn"), &json!("It was withdrawn; nothing was paid."))
        );
        assert_eq!(relayer.send("DELETE", &path, key, None).await.error(), (409, "approval_closed"));
        // The key stays refused, as after a no.
        let again = ask(&relayer, &account, name).await;
        assert_eq!((again.error(), &again.body["transfer_id"]), ((402, "approval_rejected"), &json!(id)));
        grant(&relayer, &asked["transfer_id"]);
        relayer.services.sweep_transfers().await;
        assert!(relayer.chain.script().orders.is_empty(), "nothing is paid");
    }
    let listed = async |state: &str| {
        let listed = relayer.get(&format!("/v1/approvals?state={state}")).await.body;
        listed["data"].as_array().map(Vec::len)
    };
    assert_eq!((listed("withdrawn").await, listed("rejected").await), (Some(2), Some(1)));
}

#[tokio::test]
async fn a_persons_no_is_final_for_the_key_and_comes_too_late_for_a_payment() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let asked = ask(&relayer, &account, "a").await.body;
    let id = asked["transfer_id"].as_str().expect("an id");
    let agent = relayer.agent_key(&account).await;
    let reject = format!("/v1/approvals/{id}/reject");
    assert_eq!(relayer.send("POST", &reject, &agent, None).await.status, StatusCode::FORBIDDEN);
    let rejected = relayer.send("POST", &reject, &relayer.key, None).await;
    assert_eq!((rejected.status, &rejected.body["state"]), (StatusCode::OK, &json!("rejected")));
    assert_eq!(relayer.send("POST", &reject, &relayer.key, None).await.error(), (409, "approval_closed"));
    for again in [
        ask(&relayer, &account, "a").await,
        relayer.post("/v1/transfers", &relayer.order(&account, "a")).await,
    ] {
        assert_eq!(again.error(), (402, "approval_rejected"), "{}", again.body);
    }
    // It is no withdrawal.
    let listed = async |state: &str| {
        let listed = relayer.get(&format!("/v1/approvals?state={state}")).await.body;
        listed["data"].as_array().map(Vec::len)
    };
    assert_eq!((listed("rejected").await, listed("withdrawn").await), (Some(1), Some(0)));
    // A grant that comes later pays nothing.
    grant(&relayer, &asked["transfer_id"]);
    relayer.services.sweep_transfers().await;
    assert!(relayer.chain.script().orders.is_empty());

    let paid = ask(&relayer, &account, "b").await.body;
    grant(&relayer, &paid["transfer_id"]);
    becomes(&relayer, &paid["transfer_id"], "settled").await;
    let late = format!("/v1/approvals/{}", paid["transfer_id"].as_str().expect("an id"));
    let answer = relayer.delete(&late).await;
    assert_eq!(answer.error(), (409, "approval_closed"));
    assert_eq!(answer.body["status"], "settled");
    let types: Vec<Value> = events(&relayer).await.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types[..2], [json!("approval.requested"), json!("approval.rejected")]);
}

#[tokio::test]
async fn an_agent_withdraws_its_own_and_sees_no_other() {
    let relayer = start().await;
    let (account, other) = (limited(&relayer).await, limited(&relayer).await);
    let asked = ask(&relayer, &account, "a").await.body;
    let path = format!("/v1/approvals/{}", asked["transfer_id"].as_str().expect("an id"));
    let (own_key, other_key) = (relayer.agent_key(&account).await, relayer.agent_key(&other).await);
    for method in ["GET", "DELETE"] {
        let answer = relayer.send(method, &path, &other_key, None).await;
        assert_eq!(answer.error(), (404, "not_found"), "{method}");
    }
    let list = relayer.send("GET", "/v1/approvals", &other_key, None).await;
    assert_eq!(list.body["data"], json!([]));
    let list = relayer.send("GET", &format!("/v1/approvals?account_id={account}"), &other_key, None).await;
    assert_eq!(list.status, StatusCode::FORBIDDEN);
    assert_eq!(relayer.send("DELETE", &path, &own_key, None).await.status, StatusCode::NO_CONTENT);
    assert_eq!(relayer.send("GET", &path, &own_key, None).await.body["state"], "withdrawn");
}

#[tokio::test]
async fn what_a_person_was_asked_is_void_after_a_pause_and_after_another_policy() {
    let relayer = start().await;
    for (key, change, then) in [
        ("a", json!({ "paused": true }), (StatusCode::PAYMENT_REQUIRED, "account_paused")),
        ("b", json!({ "max_single_transfer": "0.5" }), (StatusCode::ACCEPTED, "policy_violation")),
    ] {
        let account = limited(&relayer).await;
        let id = ask(&relayer, &account, key).await.body["transfer_id"].clone();
        let changed = relayer.patch(&format!("/v1/accounts/{account}/policy"), &change).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
        grant(&relayer, &id);
        let failed = becomes(&relayer, &id, "failed").await;
        assert_eq!(failed["error"], "approval_void", "{change}");
        assert_eq!(
            events(&relayer).await.last().map(|event| event["type"].clone()),
            Some(json!("approval.void"))
        );
        assert!(relayer.chain.script().orders.is_empty());
        // The same request is decided anew.
        relayer.chain.script().grants.clear();
        let again = ask(&relayer, &account, key).await;
        assert_eq!((again.status, again.body["error"].as_str()), (then.0, Some(then.1)));
    }
}

#[tokio::test]
async fn what_a_person_was_asked_is_void_after_a_halt_of_the_account_and_of_all() {
    for all in [false, true] {
        let relayer = start().await;
        let account = limited(&relayer).await;
        let id = ask(&relayer, &account, "a").await.body["transfer_id"].clone();
        let path = if all { "/v1/halt".to_owned() } else { format!("/v1/accounts/{account}/halt") };
        let halted = relayer.post(&path, &json!({})).await;
        assert_eq!(halted.status, StatusCode::OK, "{}", halted.body);
        grant(&relayer, &id);
        let failed = becomes(&relayer, &id, "failed").await;
        assert_eq!(failed["error"], "approval_void", "{path}");
        assert!(failed["message"].as_str().is_some_and(|text| text.contains("halted")), "{failed}");
        // Whoever waits for it is told why.
        let told = events(&relayer).await.pop().expect("an event");
        assert_eq!((&told["type"], &told["data"]["message"]), (&json!("approval.void"), &failed["message"]));
        assert!(relayer.chain.script().orders.is_empty());
    }
}

#[tokio::test]
async fn what_policy_refuses_after_it_was_approved_is_void_and_not_rejected() {
    let relayer = start().await;
    let refused = |reason| Outcome::Refused(Refusal::Rule(reason));
    // The first is signed anew: the grant was taken back, or a node whose clock is past its end shows none.
    for (key, outcome) in [
        ("a", Outcome::Expired),
        ("b", refused(RejectionReason::Paused)),
        ("c", refused(RejectionReason::DailyLimitExceeded)),
    ] {
        let account = limited(&relayer).await;
        let id = ask(&relayer, &account, key).await.body["transfer_id"].clone();
        relayer.chain.script().held = true;
        relayer.chain.script().outcomes.push_back(outcome);
        grant(&relayer, &id);
        becomes(&relayer, &id, "submitted").await;
        relayer.chain.script().grants.clear();
        relayer.chain.release();
        let failed = becomes(&relayer, &id, "failed").await;
        assert_eq!(failed["error"], "approval_void", "{failed}");
        let last = events(&relayer).await.last().map(|event| event["type"].clone());
        assert_eq!(last, Some(json!("approval.void")));
        // The same request is decided anew.
        let again = ask(&relayer, &account, key).await.body;
        assert_eq!(again["status"], "pending_approval", "{again}");
        grant(&relayer, &again["transfer_id"]);
        becomes(&relayer, &again["transfer_id"], "settled").await;
    }
}

#[tokio::test]
async fn nobody_is_asked_for_what_no_grant_lets_pass_nor_for_an_eleventh_transfer() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    for number in 0..10 {
        let asked = ask(&relayer, &account, &format!("key-{number}")).await;
        assert_eq!(asked.status, StatusCode::ACCEPTED, "{}", asked.body);
    }
    let full = ask(&relayer, &account, "key-10").await;
    assert_eq!(full.error(), (402, "policy_violation"), "{}", full.body);
    // Another account has room.
    let other = limited(&relayer).await;
    assert_eq!(ask(&relayer, &other, "key-11").await.status, StatusCode::ACCEPTED);

    let paused = relayer.patch(&format!("/v1/accounts/{other}/policy"), &json!({ "paused": true })).await;
    assert_eq!(paused.status, StatusCode::OK);
    let refused = ask(&relayer, &other, "key-12").await;
    assert_eq!(refused.error(), (402, "account_paused"));
    assert_eq!(refused.body["approvable"], Value::Null);
    let mut order = relayer.order(&account, "key-13");
    order["approval"] = json!("maybe");
    let wrong = relayer.post("/v1/transfers", &order).await;
    assert_eq!((wrong.error(), &wrong.body["param"]), ((400, "invalid_request"), &json!("approval")));
}

#[tokio::test]
async fn a_chain_whose_clock_is_a_day_ahead_ends_no_approval() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let id = ask(&relayer, &account, "a").await.body["transfer_id"].clone();
    relayer.chain.script().now = NOW + 90_000;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    relayer.services.sweep_transfers().await;
    becomes(&relayer, &id, "pending_approval").await;
}

#[tokio::test]
async fn a_grant_does_not_help_an_account_without_money_until_it_has_some() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let asked = ask(&relayer, &account, "a").await.body;
    let id = asked["transfer_id"].clone();
    let of_account = relayer.get(&format!("/v1/accounts/{account}")).await.body;
    let address: Address = of_account["solana_address"].as_str().expect("text").parse().expect("an address");
    let fund = |micros| {
        let mut script = relayer.chain.script();
        script.agents.get_mut(&address).expect("on chain").balance =
            purser_policy::UsdcAmount::from_micros(micros);
    };
    fund(0);
    grant(&relayer, &id);
    let failed = becomes(&relayer, &id, "failed").await;
    assert_eq!(failed["error"], "insufficient_balance");
    fund(5_000_000);
    let again = ask(&relayer, &account, "a").await;
    let paid = becomes(&relayer, &again.body["transfer_id"], "settled").await;
    assert_eq!(paid["idempotency_key"], "a");
    assert_eq!(relayer.chain.script().sent.len(), 1);
}

#[tokio::test]
async fn log_follows_an_approved_payment_until_it_is_paid() {
    let log = CapturedLog::start();
    let relayer = start().await;
    let account = limited(&relayer).await;
    let asked = ask(&relayer, &account, "asked").await.body;
    grant(&relayer, &asked["transfer_id"]);
    let approved = becomes(&relayer, &asked["transfer_id"], "settled").await;
    let mut order = relayer.order(&account, "plain");
    order["amount"] = json!("0.50");
    let plain = relayer.post("/v1/transfers", &order).await.body;
    assert_eq!(plain["status"], "settled", "{plain}");
    let refused = relayer.post("/v1/transfers", &relayer.order(&account, "refused")).await;
    assert_eq!(refused.error(), (402, "policy_violation"));
    let settled = log.lines_with("a transfer settled");
    let [of_approved, of_plain] = &settled[..] else { panic!("a line for each payment: {settled:?}") };
    for (line, paid) in [(of_approved, &approved), (of_plain, &plain)] {
        let [transfer, signature] =
            ["transfer_id", "tx_signature"].map(|field| paid[field].as_str().expect("text"));
        assert!(line.contains(&format!("transfer_id={transfer}")) && line.contains(signature), "{line}");
        assert!(line.contains(&format!("account_id={account}")), "{line}");
        assert_eq!(line.contains(&format!("approval_id={transfer}")), paid == &approved, "{line}");
    }
}

#[tokio::test]
async fn an_account_may_ask_nobody_and_then_no_refusal_says_that_asking_helps() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let path = format!("/v1/accounts/{account}");
    assert_eq!(relayer.get(&path).await.body["approvals"], "on");
    let off = relayer.patch(&path, &json!({ "approvals": "off" })).await;
    assert_eq!((off.status, &off.body["approvals"]), (StatusCode::OK, &json!("off")));
    for refused in [
        ask(&relayer, &account, "a").await,
        relayer.post("/v1/transfers", &relayer.order(&account, "a")).await,
        relayer.post("/v1/transfers", &relayer.order(&account, "b")).await,
    ] {
        assert_eq!(refused.error(), (402, "policy_violation"), "{}", refused.body);
        assert_eq!(refused.body["approvable"], Value::Null);
        let shown = format!("/v1/transfers/{}", refused.body["transfer_id"].as_str().expect("an id"));
        assert_eq!(relayer.get(&shown).await.body["approvable"], Value::Null);
    }
    assert_eq!(relayer.get("/v1/approvals").await.body["data"], json!([]));
    for wrong in [json!("never"), json!(null), json!(true)] {
        let answer = relayer.patch(&path, &json!({ "approvals": wrong })).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
    }
    // On again, the same key asks; and what waits goes on waiting when it is off once more.
    let on = relayer.patch(&path, &json!({ "approvals": "on", "name": "Ada" })).await;
    assert_eq!((&on.body["approvals"], &on.body["name"]), (&json!("on"), &json!("Ada")));
    let asked = ask(&relayer, &account, "a").await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{}", asked.body);
    relayer.patch(&path, &json!({ "approvals": "off" })).await;
    let again = ask(&relayer, &account, "a").await;
    assert_eq!(again.body["transfer_id"], asked.body["transfer_id"]);
    grant(&relayer, &asked.body["transfer_id"]);
    becomes(&relayer, &asked.body["transfer_id"], "settled").await;
}

#[tokio::test]
async fn a_payment_that_waits_for_a_person_is_asked_for_under_a_new_key_only_on_purpose() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let asked = ask(&relayer, &account, "a").await.body;
    let mut order = relayer.order(&account, "b");
    order["approval"] = json!("request");
    order["refuse_duplicate"] = json!(true);
    let duplicate = relayer.post("/v1/transfers", &order).await;
    assert_eq!(duplicate.error(), (409, "likely_duplicate"), "{}", duplicate.body);
    assert_eq!(duplicate.body["transfer_id"], asked["transfer_id"]);
    // The same key is no duplicate of itself, with or without asking.
    order["idempotency_key"] = json!("a");
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body["transfer_id"]), (StatusCode::ACCEPTED, &asked["transfer_id"]));
    order["idempotency_key"] = json!("b");
    order["duplicate_of"] = asked["transfer_id"].clone();
    let meant = relayer.post("/v1/transfers", &order).await;
    assert_eq!(meant.status, StatusCode::ACCEPTED, "{}", meant.body);
    assert_ne!(meant.body["transfer_id"], asked["transfer_id"]);
}

#[tokio::test]
async fn error_approval_rejected_is_402_and_stays_with_the_key() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let id = ask(&relayer, &account, "k").await.body["transfer_id"].clone();
    let reject = format!("/v1/approvals/{}/reject", id.as_str().expect("an id"));
    assert_eq!(relayer.post(&reject, &json!({})).await.status, 200);
    for _ in 0..2 {
        let again = relayer.post("/v1/transfers", &relayer.order(&account, "k")).await;
        assert_eq!(again.error(), (402, "approval_rejected"), "{}", again.text);
        assert_eq!((&again.body["status"], &again.body["transfer_id"]), (&json!("failed"), &id));
    }
}

#[tokio::test]
async fn error_approval_void_is_402_and_the_same_request_is_decided_anew() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let id = ask(&relayer, &account, "k").await.body["transfer_id"].clone();
    let policy = json!({ "max_single_transfer": 5 });
    assert_eq!(relayer.put(&format!("/v1/accounts/{account}/policy"), &policy).await.status, 200);
    let void = becomes(&relayer, &id, "failed").await;
    assert_eq!(void["error"], "approval_void");
    let again = relayer.post("/v1/transfers", &relayer.order(&account, "k")).await;
    assert_eq!(again.body["status"], "settled");
}

#[tokio::test]
async fn error_approval_closed_is_409_with_the_status() {
    let relayer = start().await;
    let account = limited(&relayer).await;
    let asked = ask(&relayer, &account, "k").await;
    let path = format!("/v1/approvals/{}", asked.body["transfer_id"].as_str().expect("an id"));
    assert_eq!(relayer.delete(&path).await.status, 204);
    let closed = relayer.delete(&path).await;
    assert_eq!(closed.error(), (409, "approval_closed"), "{}", closed.text);
    assert_eq!(closed.body["status"], "failed");
}

#[tokio::test]
async fn bad_requests_are_answered_as_listed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/bad_requests.txt");
    bad_requests_are_answered(&start().await, &file).await;
}
