//! How much one key leaves on record, and what is said of actions that were interrupted.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Value, json};

use super::scripted_chain::filled;
use super::{ACTIONS_MAX, Relayer};
use purser_model::{
    Account, Action, Address, Asking, HaltScope, HaltSet, HaltedBy, PlainKey, PolicySet, SetBy,
    SpendingPolicy, Timestamp,
};
use purser_service::{Ambient, ServiceError};

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
    let plain = PlainKey::parse(&relayer.key).expect("a key");
    let holder = relayer.services.keys.authenticate(&plain, || None).await.expect("an operator's key");
    let signed_in = relayer.services.sessions.open(&holder, None, None, None).await;
    assert!(matches!(signed_in, Err(ServiceError::TooManyActions { most: ACTIONS_MAX, .. })));
    // Another key has its own number.
    assert_eq!(renames(number, key).await.status, 200);
    let policy = format!("{path}/policy");
    assert_eq!(relayer.patch(&policy, &json!({ "max_daily_spend": 1 })).await.status, 200);
    assert_eq!(relayer.patch(&policy, &json!({ "paused": true })).await.status, 200);
    assert_eq!(relayer.delete(&format!("/v1/keys/{key_id}")).await.status, 204);
    assert_eq!(relayer.send("POST", &format!("{path}/halt"), &relayer.key, None).await.status, 200);
    assert_eq!(relayer.send("POST", "/v1/halt", &relayer.key, None).await.status, 200);
}

#[tokio::test]
async fn what_repeats_what_was_leaves_no_record() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}");
    let hook = json!({ "url": "https://8.8.8.8/a", "events": ["transfer.settled"] });
    let hook = relayer.post("/v1/webhooks", &hook).await;
    let hook =
        format!("/v1/webhooks/{}", hook.body["id"].as_str().unwrap_or_else(|| panic!("{}", hook.body)));
    let recorded = relayer.recorded().await;
    for (path, body) in [
        (&path, json!({ "name": "agent" })),
        (&path, json!({ "name": "agent", "tags": [] })),
        (&hook, json!({ "url": "https://8.8.8.8/a" })),
    ] {
        assert_eq!(relayer.patch(path, &body).await.status, 200, "{body}");
        assert_eq!(relayer.recorded().await, recorded, "{body}");
    }
    for (path, body) in [
        (&path, json!({ "name": "agent", "tags": ["fleet"] })),
        (&hook, json!({ "url": "https://8.8.8.8/b" })),
    ] {
        let before = relayer.recorded().await.len();
        assert_eq!(relayer.patch(path, &body).await.status, 200, "{body}");
        assert_eq!(relayer.recorded().await.len(), before + 1, "{body}");
    }
}

/// An account with actions whose process ended on the way, ten minutes ago.
struct Interrupted {
    relayer: Relayer,
    account: Account,
    at: Timestamp,
}

impl Interrupted {
    async fn new() -> Self {
        let relayer = Relayer::start().await;
        let id = relayer.account().await.parse().expect("an id");
        let operators = relayer.store.operators.list_operators().await.expect("read");
        let operator = operators.first().expect("an operator").id;
        let account = relayer.store.accounts.find_account(operator, id).await.expect("read").expect("made");
        let at = Ambient::SYSTEM.now().before(Duration::from_secs(600));
        Self { relayer, account, at }
    }

    /// Begins an action on the account, so many seconds later, and never ends it.
    async fn begins(&self, name: &str, asked: &Value, seconds: u64) -> Action {
        let name = name.parse().expect("a name");
        let at = self.at.after(Duration::from_secs(seconds));
        let action = Action {
            object_id: self.account.id.to_string().parse().ok(),
            after: asked.is_object().then(|| serde_json::from_str(&asked.to_string()).expect("JSON")),
            ..Action::new(self.account.operator_id, name, at, Ambient::SYSTEM.id_bits())
        };
        self.relayer.store.actions.insert_action(&action).await.expect("inserted");
        action
    }

    /// The indexer reads that a transaction of this signer set this version.
    async fn sets(
        &self,
        version: u64,
        policy: &SpendingPolicy,
        signature: &str,
        signer: Address,
        seconds: u64,
    ) {
        let set = PolicySet {
            operator_id: self.account.operator_id,
            account_id: self.account.id,
            version,
            policy: Some(policy.clone()),
            by: Some(SetBy {
                signer: Some(signer),
                signature: signature.to_owned(),
                at: self.at.after(Duration::from_secs(seconds)),
            }),
        };
        self.relayer.store.policies.insert_policy(&set, Ambient::SYSTEM.now()).await.expect("inserted");
    }

    /// What is said of the action: how it ended, and its transaction.
    async fn said(&self, action: &Action) -> (Value, Value) {
        let listed = self.relayer.recorded().await;
        let id = action.id.to_string();
        let found = listed.iter().find(|listed| listed["id"] == id.as_str()).expect("it is listed");
        let request = Request::get(format!("/v1/actions?action_id={id}")).header(header::ACCEPT, "text/csv");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.relayer.key));
        let file = self.relayer.answer_text(request.body(Body::empty()).expect("a request")).await;
        let row = file.lines().find(|row| row.contains(&id)).unwrap_or_default();
        assert_eq!(row.contains("unknown"), found["outcome"] == "unknown", "the file says the same: {file}");
        (found["outcome"].clone(), found["tx_signature"].clone())
    }
}

/// The key that the scripted chain signs with.
fn ours() -> Address {
    filled(&[3], 1)
}

fn theirs() -> Address {
    filled(&[4], 1)
}

fn is_unknown(said: (Value, Value)) -> bool {
    said == (json!("unknown"), Value::Null)
}

fn is_done_by(said: (Value, Value), signature: &str) -> bool {
    said == (json!("done"), json!(signature))
}

#[tokio::test]
async fn policy_change_that_was_interrupted_is_done_where_a_version_shows_it() {
    let scene = Interrupted::new().await;
    let capped = |micros| SpendingPolicy {
        max_daily_spend: purser_model::Limit::AtMost(purser_model::UsdcAmount::from_micros(micros)),
        ..SpendingPolicy::default()
    };
    let asked = json!({ "max_daily_spend": "7", "reason": "spring" });
    let merged = scene.begins("update_policy", &asked, 0).await;
    assert!(is_unknown(scene.said(&merged).await), "no version is read yet");
    // Somebody's own wallet, and another policy: neither was this.
    scene.sets(2, &capped(7_000_000), "by-wallet", theirs(), 1).await;
    scene.sets(3, &capped(8_000_000), "another", ours(), 2).await;
    assert!(is_unknown(scene.said(&merged).await));
    scene.sets(4, &capped(7_000_000), "merged", ours(), 3).await;
    assert!(is_done_by(scene.said(&merged).await, "merged"));

    // A replacement; a pause; and one that was noted with its transaction before its process ended.
    let replaced = scene.begins("replace_policy", &json!({ "max_daily_spend": 9 }), 100).await;
    scene.sets(5, &capped(9_000_000), "replaced", ours(), 101).await;
    assert!(is_done_by(scene.said(&replaced).await, "replaced"));
    let scene = Interrupted::new().await;
    let paused = scene.begins("update_policy", &json!({ "paused": true }), 0).await;
    scene.sets(2, &SpendingPolicy { paused: true, ..capped(1) }, "paused", ours(), 1).await;
    assert!(is_done_by(scene.said(&paused).await, "paused"));
    let noted = scene.begins("update_policy", &json!({ "allowed": "only" }), 300).await;
    let key_id =
        scene.relayer.recorded().await.iter().find_map(|action| action["key_id"].as_str()?.parse().ok());
    let asking = Asking { key_id: key_id.expect("the account was made by a key"), reason: None };
    let of = (scene.account.operator_id, scene.account.id);
    let policies = &scene.relayer.store.policies;
    policies.insert_policy_asking(of.0, of.1, "noted", &asking, Some(noted.id)).await.expect("inserted");
    scene.sets(3, &capped(2), "noted", ours(), 301).await;
    assert!(is_done_by(scene.said(&noted).await, "noted"));
}

#[tokio::test]
async fn policy_change_that_was_interrupted_stays_unknown_where_a_version_may_be_anothers() {
    let scene = Interrupted::new().await;
    let paused = SpendingPolicy { paused: true, ..SpendingPolicy::default() };
    // Two that were cut within minutes asked for the same: who made the version cannot be said.
    let twins = [
        scene.begins("update_policy", &json!({ "paused": true }), 0).await,
        scene.begins("update_policy", &json!({ "paused": true }), 20).await,
    ];
    scene.sets(2, &paused, "one-of-them", ours(), 21).await;
    for twin in &twins {
        assert!(is_unknown(scene.said(twin).await));
    }
    // Of a list, the version does not say what its entries were meant as.
    let scene = Interrupted::new().await;
    let listing = json!({ "paused": true, "allowed_counterparties": [] });
    let listed = scene.begins("update_policy", &listing, 0).await;
    scene.sets(2, &paused, "with-a-list", ours(), 1).await;
    assert!(is_unknown(scene.said(&listed).await));
    // What came long after it was another's; and what is under way is nobody's yet.
    let scene = Interrupted::new().await;
    let early = scene.begins("update_policy", &json!({ "paused": true }), 0).await;
    let running = scene.begins("update_policy", &json!({ "require_memo": true }), 590).await;
    let both = SpendingPolicy { require_memo: true, ..paused.clone() };
    scene.sets(2, &both, "late", ours(), 601).await;
    assert!(is_unknown(scene.said(&early).await));
    assert!(is_unknown(scene.said(&running).await));
}

#[tokio::test]
async fn halt_that_was_interrupted_is_done_where_the_chain_announced_it() {
    let scene = Interrupted::new().await;
    let halted = scene.begins("halt_account", &Value::Null, 0).await;
    let announces = async |by, signature: &str| {
        let halt = HaltSet {
            operator_id: scene.account.operator_id,
            scope: HaltScope::Account,
            by: Some(by),
            signature: signature.to_owned(),
            at: scene.at.after(Duration::from_secs(1)),
        };
        let store = &scene.relayer.store;
        store
            .policies
            .announce_halt(&halt, &[scene.account.id], Ambient::SYSTEM.now())
            .await
            .expect("written");
    };
    announces(HaltedBy::Guardian, "by-guardian").await;
    assert!(is_unknown(scene.said(&halted).await), "the guardian's halt is not the service's");
    tokio::time::sleep(Duration::from_millis(5)).await;
    announces(HaltedBy::PolicyAuthority, "halted").await;
    assert!(is_done_by(scene.said(&halted).await, "halted"));
}
