//! How much one key leaves on record, and what is said of actions that were interrupted.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Value, json};

use super::{ACTIONS_MAX, Relayer};
use purser_chain::SentEnd;
use purser_model::{Action, Network, OperatorId, SentTransaction, Timestamp};
use purser_service::SystemClock;
use purser_store::Due;

impl Relayer {
    async fn recorded(&self) -> Vec<Value> {
        let listed = self.get("/v1/actions?limit=100").await;
        listed.body["data"].as_array().expect("a list").clone()
    }
}

#[tokio::test]
async fn key_that_made_its_changes_of_a_day_may_still_stop_tighten_and_revoke() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}");
    let made = relayer.post("/v1/keys", &json!({ "name": "bot" })).await;
    let (key, key_id) = (made.body["key"].as_str().expect("text"), made.body["id"].as_str().expect("text"));
    let renames = async |number: u32, by: &str| {
        let body = json!({ "name": format!("agent {number}") }).to_string();
        relayer.send("PATCH", &path, by, Some(&body)).await
    };
    let mut number = 0;
    let refused = loop {
        let renamed = renames(number, &relayer.key).await;
        if renamed.status != 200 {
            break renamed;
        }
        number += 1;
        assert!(number <= ACTIONS_MAX, "no end");
    };
    assert_eq!(refused.error(), (429, "rate_limited"));
    assert_eq!(refused.headers[header::RETRY_AFTER], "3600");
    assert_eq!(number, ACTIONS_MAX - 2, "an account and a key were made before");
    // Another key has its own number.
    assert_eq!(renames(number, key).await.status, 200);
    let policy = format!("{path}/policy");
    assert_eq!(relayer.patch(&policy, &json!({ "max_daily_spend": 1 })).await.status, 200);
    assert_eq!(relayer.patch(&policy, &json!({ "paused": true })).await.status, 200);
    assert_eq!(relayer.delete(&format!("/v1/keys/{key_id}")).await.status, 204);
    assert_eq!(relayer.send("POST", &format!("{path}/halt"), &relayer.key, None).await.status, 200);
    assert_eq!(relayer.send("POST", "/v1/halt", &relayer.key, None).await.status, 200);
}

/// Policy changes of an account whose process ended on the way, ten minutes ago.
struct Interrupted {
    relayer: Relayer,
    operator: OperatorId,
    at: Timestamp,
}

impl Interrupted {
    async fn new() -> Self {
        let relayer = Relayer::start().await;
        let operators = relayer.store.operators.list_operators().await.expect("read");
        let operator = operators.first().expect("an operator").id;
        Self { relayer, operator, at: SystemClock::SYSTEM.now().before(Duration::from_secs(600)) }
    }

    /// Begins an action that sends these transactions, so many seconds later, and never ends it.
    async fn begins(&self, sent: &[(&str, bool)], seconds: u64) -> Action {
        let at = self.at.after(Duration::from_secs(seconds));
        let name = "update_policy".parse().expect("a name");
        let action = Action::new(self.operator, name, at, SystemClock::SYSTEM.id_bits());
        let actions = &self.relayer.store.actions;
        actions.insert_action(&action).await.expect("inserted");
        for (signature, is_step) in sent {
            let sent = SentTransaction {
                signature: (*signature).to_owned(),
                last_valid_block_height: 1,
                is_step: *is_step,
                sent_at: at,
            };
            let inserted = actions.insert_action_transaction((self.operator, action.id), &sent).await;
            inserted.expect("inserted");
        }
        action
    }

    async fn looks(&self, ends: &[(&str, SentEnd)]) {
        let ends = ends.iter().map(|(signature, end)| ((*signature).to_owned(), *end));
        self.relayer.chain.script().ends.extend(ends);
        self.relayer.services.look_at_open_actions().await.expect("looked");
    }

    /// The action in list and file: how it ended, and its transaction.
    async fn said(&self, action: &Action) -> (Value, Value) {
        let listed = self.relayer.recorded().await;
        let id = action.id.to_string();
        let found = listed.iter().find(|listed| listed["id"] == id.as_str()).expect("it is listed");
        let request = Request::get(format!("/v1/actions?action_id={id}")).header(header::ACCEPT, "text/csv");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.relayer.key));
        let file = self.relayer.answer_text(request.body(Body::empty()).expect("a request")).await;
        let row = file.lines().find(|row| row.contains(&id)).unwrap_or_default();
        assert!(row.contains(found["outcome"].as_str().expect("text")), "the file says the same: {file}");
        (found["outcome"].clone(), found["tx_signature"].clone())
    }

    /// The outcomes that were announced of the action, oldest first.
    async fn announced(&self, action: &Action) -> Vec<Value> {
        let events = self.relayer.get("/v1/events?type=action.recorded&limit=100").await;
        let events = events.body["data"].as_array().expect("a list").iter().rev();
        let of_it = events.filter(|event| event["data"]["id"] == action.id.to_string().as_str());
        of_it.map(|event| event["data"]["outcome"].clone()).collect()
    }
}

#[tokio::test]
async fn interrupted_action_ends_as_the_chain_shows_its_transactions() {
    let scene = Interrupted::new().await;
    let done = scene.begins(&[("staged", true), ("applied", false)], 0).await;
    let failed = scene.begins(&[("failed", false)], 1).await;
    let expired = scene.begins(&[("written", true), ("expired", false)], 2).await;
    let open = scene.begins(&[("open", false)], 3).await;
    let silent = scene.begins(&[], 4).await;
    let young = scene.begins(&[("young", false)], 590).await;
    // By a clock that was an hour ahead.
    let ahead = scene.begins(&[("ahead", false)], 4_200).await;
    let all = [&done, &failed, &expired, &open, &silent, &young, &ahead];
    for action in all {
        assert_eq!(scene.said(action).await, (json!("unknown"), Value::Null));
    }
    let ends = [
        ("staged", SentEnd::Landed),
        ("applied", SentEnd::Landed),
        ("failed", SentEnd::Failed),
        ("written", SentEnd::Landed),
        ("expired", SentEnd::Expired),
        ("open", SentEnd::Open),
        ("young", SentEnd::Landed),
        ("ahead", SentEnd::Landed),
    ];
    scene.looks(&ends).await;
    let unchanged = (json!("unchanged"), Value::Null);
    let unknown = (json!("unknown"), Value::Null);
    assert_eq!(scene.said(&done).await, (json!("done"), json!("applied")));
    assert_eq!(scene.said(&failed).await, unchanged);
    assert_eq!(scene.said(&expired).await, unchanged);
    assert_eq!(scene.said(&open).await, unknown, "it may still land");
    assert_eq!(scene.said(&silent).await, unknown, "the chain has nothing of it");
    assert_eq!(scene.said(&young).await, unknown, "its process may be at it");
    assert_eq!(scene.said(&ahead).await, (json!("done"), json!("ahead")));
    // Another pass finds what was open then, and announces nothing twice.
    scene.looks(&[("open", SentEnd::Landed)]).await;
    assert_eq!(scene.said(&open).await, (json!("done"), json!("open")));
    let mut announced = Vec::new();
    for action in all {
        announced.push(scene.announced(action).await);
    }
    let [done, unchanged] = ["done", "unchanged"].map(|outcome| vec![json!(outcome)]);
    assert_eq!(announced, [done.clone(), unchanged.clone(), unchanged, done.clone(), vec![], vec![], done]);
}

#[tokio::test]
async fn interrupted_action_waits_while_the_chain_does_not_answer() {
    let scene = Interrupted::new().await;
    let action = scene.begins(&[("sent", false)], 0).await;
    scene.relayer.chain.script().unreachable = true;
    assert!(scene.relayer.services.look_at_open_actions().await.is_err());
    assert_eq!(scene.said(&action).await, (json!("unknown"), Value::Null));
    scene.relayer.chain.script().unreachable = false;
    scene.looks(&[("sent", SentEnd::Landed)]).await;
    assert_eq!(scene.said(&action).await, (json!("done"), json!("sent")));
}

#[tokio::test]
async fn change_has_its_transaction_on_record_until_it_is_known_how_it_ended() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let open = async || {
        let actions = &relayer.store.actions;
        let later = SystemClock::SYSTEM.now().after(Duration::from_secs(1));
        let mut open = Vec::new();
        for (_, action) in
            actions.list_open_actions(Network::Test, Due::since(later), 10).await.expect("read")
        {
            let sent = actions.list_action_transactions(action).await.expect("read");
            open.extend(sent.into_iter().map(|sent| (action.to_string(), sent.signature)));
        }
        open
    };
    assert_eq!(relayer.patch(&path, &json!({ "max_daily_spend": 5 })).await.status, 200);
    assert_eq!(relayer.send("POST", "/v1/halt", &relayer.key, None).await.status, 200);
    assert!(open().await.is_empty(), "what is over is not open");
    relayer.chain.script().answers_lost = 1;
    let cut = relayer.patch(&path, &json!({ "max_daily_spend": 6 })).await;
    assert_eq!(cut.error(), (503, "solana_unavailable"));
    let recorded = relayer.recorded().await;
    assert_eq!(recorded[0]["outcome"], "unknown");
    let id = recorded[0]["id"].as_str().expect("text").to_owned();
    let [(action, signature)] = &open().await[..] else { panic!("one is open") };
    assert_eq!((action, signature.is_empty()), (&id, false));
}
