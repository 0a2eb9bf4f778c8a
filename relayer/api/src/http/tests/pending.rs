//! Loosening policies under a delay.

use std::collections::HashMap;

use axum::http::{StatusCode, header};
use serde_json::{Value, json};

use super::{Answer, Relayer, policy_with};
use purser_chain::DraftOnChain;
use purser_chain::scripted::{NOW, wallet_at};
use purser_model::{Address, OperatorId, PendingPolicy, Quotas, SpendingPolicy, Timestamp};
use purser_service::SystemClock;

const DELAY: i64 = 86_400;

struct Scene {
    relayer: Relayer,
    account: String,
    path: String,
}

impl Scene {
    /// An account with a limit of 10 a day, and an operator whose loosenings wait for a day.
    async fn new() -> Self {
        let relayer = Relayer::start().await;
        let account = relayer.account().await;
        let path = format!("/v1/accounts/{account}/policy");
        assert_eq!(relayer.put(&path, &json!({ "max_daily_spend": 10 })).await.status, StatusCode::OK);
        relayer.chain.script().loosening_delay = u32::try_from(DELAY).expect("small");
        Self { relayer, account, path }
    }

    async fn read(&self) -> Answer {
        self.relayer.get(&self.path).await
    }

    /// Sets the chain's clock to `seconds` after the beginning, and runs the worker once.
    async fn at(&self, seconds: i64) {
        self.relayer.chain.script().now = NOW + seconds;
        self.relayer.services.reconcile_once().await;
    }

    async fn events(&self) -> Vec<Value> {
        let page = self.relayer.get(&format!("/v1/events?limit=100&account_id={}", self.account)).await;
        let mut events = page.body["data"].as_array().expect("a list").clone();
        events.reverse();
        events
    }

    async fn announced(&self) -> Vec<String> {
        let text = |event: Value| event["type"].as_str().expect("text").to_owned();
        self.events().await.into_iter().map(text).collect()
    }

    fn drafts(&self) -> usize {
        self.relayer.chain.script().drafts.len()
    }
}

fn text(seconds: i64) -> String {
    Timestamp::from_unix_seconds(NOW + seconds).to_string()
}

#[tokio::test]
async fn a_loosening_waits_its_time_and_then_applies_by_itself() {
    let scene = Scene::new().await;
    let (relayer, other) = (&scene.relayer, scene.relayer.account().await);
    let wallet = wallet_at(200).to_string();
    let loose =
        json!({ "max_daily_spend": 20, "allowed_counterparties": [other, wallet], "require_memo": true });
    let waits = relayer.put(&scene.path, &loose).await;
    assert_eq!(waits.status, StatusCode::ACCEPTED, "{}", waits.body);
    assert_eq!(
        (&waits.body["max_daily_spend"], &waits.body["version"]),
        (&json!(10), &json!(2)),
        "still in force"
    );
    assert_eq!(
        (&waits.headers[header::ETAG], waits.body.get("tx_signature")),
        (&"\"2\"".parse().expect("text"), None)
    );
    let other = relayer.get(&format!("/v1/accounts/{other}")).await.body["solana_address"].clone();
    let mut listed: Vec<Address> =
        [other.as_str().expect("text"), &wallet].map(|text| text.parse().expect("an address")).into();
    listed.sort_by_key(|address| address.bytes());
    let listed: Vec<String> = listed.iter().map(Address::to_string).collect();
    let policy = policy_with(json!({
        "max_daily_spend": 20, "allowed_counterparties": listed,
        "counterparty_kinds": ["wallet", "wallet"], "require_memo": true,
    }));
    let mut pending = policy.clone();
    pending["effective_at"] = json!(text(DELAY));
    assert_eq!((&waits.body["effective_at"], &waits.body["pending"]), (&json!(text(DELAY)), &pending));
    let read = scene.read().await;
    assert_eq!((&read.body["pending"], read.body.get("effective_at")), (&pending, None));

    scene.at(DELAY - 1).await;
    assert_eq!(scene.read().await.body["version"], 2);
    scene.at(DELAY).await;
    let read = scene.read().await;
    assert_eq!(
        (&read.body["version"], &read.body["max_daily_spend"], &read.body["pending"]),
        (&json!(3), &json!(20), &json!(null))
    );
    assert_eq!(read.body["allowed_counterparties"], json!(listed));
    scene.at(DELAY + 100).await;
    assert_eq!(scene.announced().await, ["policy.pending", "policy.applied"], "once each");
    let events = scene.events().await;
    let (account, authority) = (&scene.account, relayer.chain.policy_authority().to_string());
    let signature = &events[1]["data"]["tx_signature"];
    assert_eq!(
        events[0]["data"],
        json!({ "account_id": account, "policy": policy, "effective_at": text(DELAY), "signer": authority })
    );
    assert_eq!(
        events[1]["data"],
        json!({ "account_id": account, "policy": policy, "version": 3, "tx_signature": signature })
    );
    assert!(signature.is_string());
}

#[tokio::test]
async fn a_pause_does_not_wait_for_what_else_the_body_says() {
    for method in ["PUT", "PATCH"] {
        let scene = Scene::new().await;
        let relayer = &scene.relayer;
        let body = json!({ "paused": true, "max_daily_spend": 20, "require_memo": true });
        let waits = relayer.send(method, &scene.path, &relayer.key, Some(&body.to_string())).await;
        assert_eq!(waits.status, StatusCode::ACCEPTED, "{}", waits.body);
        let (now, then) = (&waits.body, &waits.body["pending"]);
        assert_eq!((&now["paused"], &now["max_daily_spend"]), (&json!(true), &json!(10)), "{method}");
        assert_eq!((&then["paused"], &then["max_daily_spend"]), (&json!(true), &json!(20)), "{method}");
        let order = relayer.order(&scene.account, "k");
        assert_eq!(relayer.post("/v1/transfers", &order).await.error(), (402, "account_paused"));

        let scene = Scene::new().await;
        let relayer = &scene.relayer;
        let body = json!({ "paused": true, "require_memo": true, "max_daily_spend": 10 });
        let stopped = relayer.send(method, &scene.path, &relayer.key, Some(&body.to_string())).await;
        assert_eq!(stopped.status, StatusCode::OK, "what only tightens never waits: {}", stopped.body);
        assert_eq!((&stopped.body["paused"], &stopped.body["max_daily_spend"]), (&json!(true), &json!(10)));
    }
}

#[tokio::test]
async fn tightening_or_pausing_applies_at_once_and_voids_the_pending_policy() {
    for change in [json!({ "max_daily_spend": 5 }), json!({ "paused": true })] {
        let scene = Scene::new().await;
        let relayer = &scene.relayer;
        assert_eq!(
            relayer.patch(&scene.path, &json!({ "max_daily_spend": 20 })).await.status,
            StatusCode::ACCEPTED
        );
        let tight = relayer.patch(&scene.path, &change).await;
        assert_eq!((tight.status, &tight.body["pending"]), (StatusCode::OK, &json!(null)), "{}", tight.body);
        assert_eq!((&scene.read().await.body["pending"], scene.drafts()), (&json!(null), 1));
        scene.at(1).await;
        assert_eq!(scene.drafts(), 0, "its rent is given back");
        scene.at(DELAY).await;
        assert_eq!(scene.read().await.body["version"], 3);
        assert_eq!(scene.announced().await, ["policy.pending"]);
    }
}

#[tokio::test]
async fn lifting_a_pause_waits_too() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    relayer.put(&scene.path, &json!({ "paused": true })).await;
    let waits = relayer.put(&scene.path, &json!({ "paused": false })).await;
    assert_eq!((waits.status, &waits.body["paused"]), (StatusCode::ACCEPTED, &json!(true)));
    assert_eq!(waits.body["pending"]["max_daily_spend"], 10, "it changes nothing else");
    scene.at(DELAY).await;
    assert_eq!(scene.read().await.body["paused"], false);
    // An account that is not paused has nothing to unpause.
    assert_eq!(relayer.put(&scene.path, &json!({ "paused": false })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_new_proposal_takes_the_place_of_the_one_before_and_the_same_goes_on_waiting() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    let (one, two) = (json!({ "max_daily_spend": 20 }), json!({ "max_daily_spend": 30 }));
    assert_eq!(relayer.patch(&scene.path, &one).await.status, StatusCode::ACCEPTED);
    scene.at(100).await;
    let again = relayer.patch(&scene.path, &one).await;
    assert_eq!(again.body["effective_at"], text(DELAY), "its time does not begin anew");
    let other = relayer.patch(&scene.path, &two).await;
    assert_eq!(other.body["effective_at"], text(DELAY + 100));
    assert_eq!(other.body["pending"]["max_daily_spend"], 30);
    scene.at(DELAY).await;
    assert_eq!(scene.read().await.body["version"], 2);
    scene.at(DELAY + 100).await;
    assert_eq!((&scene.read().await.body["max_daily_spend"], scene.drafts()), (&json!(30), 0));
    assert_eq!(scene.announced().await, ["policy.pending", "policy.pending", "policy.applied"]);
}

#[tokio::test]
async fn pending_policy_can_be_dropped() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    let pending = format!("{}/pending", scene.path);
    assert_eq!(relayer.delete(&pending).await.error(), (404, "not_found"));
    let loose = json!({ "max_daily_spend": null });
    assert_eq!(relayer.patch(&scene.path, &loose).await.status, StatusCode::ACCEPTED);
    let dropped = relayer.delete(&pending).await;
    assert_eq!((dropped.status, &dropped.body["pending"]), (StatusCode::OK, &json!(null)));
    assert_eq!(
        (&dropped.body["max_daily_spend"], &dropped.headers[header::ETAG]),
        (&json!(10), &"\"2\"".parse().expect("text"))
    );
    assert_eq!((relayer.delete(&pending).await.error(), scene.drafts()), ((404, "not_found"), 0));
    scene.at(DELAY).await;
    assert_eq!((&scene.read().await.body["version"], scene.announced().await.len()), (&json!(2), 1));
    // A new proposal is announced again.
    assert_eq!(relayer.patch(&scene.path, &loose).await.status, StatusCode::ACCEPTED);
    assert_eq!(scene.announced().await, ["policy.pending", "policy.pending"]);
}

#[tokio::test]
async fn a_drop_or_an_application_by_another_hand_is_noticed() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    assert_eq!(
        relayer.patch(&scene.path, &json!({ "max_daily_spend": 20 })).await.status,
        StatusCode::ACCEPTED
    );
    relayer.chain.script().drafts.clear();
    scene.at(DELAY).await;
    assert_eq!(scene.announced().await, ["policy.pending"], "it was dropped");

    assert_eq!(
        relayer.patch(&scene.path, &json!({ "max_daily_spend": 30 })).await.status,
        StatusCode::ACCEPTED
    );
    {
        // The admin need not wait.
        let mut script = relayer.chain.script();
        let drafts: HashMap<_, _> = script.drafts.drain().collect();
        for (address, draft) in drafts {
            let agent = script.agents.get_mut(&address).expect("there");
            agent.policy = draft.policy;
            agent.policy_version += 1;
        }
    }
    scene.at(2 * DELAY).await;
    let events = scene.events().await;
    let applied = &events.last().expect("events")["data"];
    assert_eq!((&applied["version"], &applied["tx_signature"]), (&json!(3), &json!(null)));
    assert_eq!(applied["policy"]["max_daily_spend"], 30);
    assert_eq!(events.len(), 3);
}

#[tokio::test]
async fn an_answer_that_is_lost_loses_nothing() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    relayer.chain.script().answers_lost = 1;
    let unknown = relayer.patch(&scene.path, &json!({ "max_daily_spend": 20 })).await;
    assert_eq!((unknown.error(), &unknown.body["retryable"]), ((503, "solana_unavailable"), &json!(false)));
    assert!(scene.announced().await.is_empty(), "nothing is announced that may not be");
    relayer.chain.is_heard().await;
    scene.at(30).await;
    assert_eq!(scene.announced().await, ["policy.pending"], "it did reach the chain");

    relayer.chain.script().answers_lost = 1;
    scene.at(DELAY).await;
    assert_eq!(scene.announced().await, ["policy.pending"], "looked at again later");
    relayer.chain.is_heard().await;
    scene.at(DELAY + 30).await;
    let events = scene.events().await;
    assert_eq!(
        (&events[1]["type"], &events[1]["data"]["tx_signature"]),
        (&json!("policy.applied"), &json!(null))
    );

    // While the chain is away, nothing changes.
    assert_eq!(
        relayer.patch(&scene.path, &json!({ "max_daily_spend": 30 })).await.status,
        StatusCode::ACCEPTED
    );
    relayer.chain.script().unreachable = true;
    scene.at(3 * DELAY).await;
    relayer.chain.script().unreachable = false;
    scene.at(3 * DELAY).await;
    assert_eq!(scene.read().await.body["max_daily_spend"], 30);
}

#[tokio::test]
async fn a_delay_that_grows_meanwhile_counts() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    assert_eq!(
        relayer.patch(&scene.path, &json!({ "max_daily_spend": 20 })).await.status,
        StatusCode::ACCEPTED
    );
    relayer.chain.script().loosening_delay *= 2;
    assert_eq!(scene.read().await.body["pending"]["effective_at"], text(2 * DELAY));
    scene.at(DELAY).await;
    assert_eq!(scene.read().await.body["version"], 2);
    scene.at(2 * DELAY).await;
    assert_eq!((&scene.read().await.body["version"], scene.announced().await.len()), (&json!(3), 2));
}

#[tokio::test]
async fn two_relayers_apply_and_announce_once() {
    let scene = Scene::new().await;
    let beside = scene.relayer.beside().await;
    assert_eq!(
        scene.relayer.patch(&scene.path, &json!({ "max_daily_spend": 20 })).await.status,
        StatusCode::ACCEPTED
    );
    scene.relayer.chain.script().now = NOW + DELAY;
    tokio::join!(scene.relayer.services.reconcile_once(), beside.services.reconcile_once());
    beside.services.reconcile_once().await;
    assert_eq!((&scene.read().await.body["version"], scene.drafts()), (&json!(3), 0));
    assert_eq!(scene.announced().await, ["policy.pending", "policy.applied"]);
}

#[tokio::test]
async fn a_proposal_over_another_version_is_refused() {
    let scene = Scene::new().await;
    let relayer = &scene.relayer;
    let loose = json!({ "max_daily_spend": 20, "expected_version": 1 });
    assert_eq!(relayer.put(&scene.path, &loose).await.error(), (409, "policy_changed"));
    assert_eq!((scene.drafts(), scene.announced().await.len()), (0, 0));
}

/// A proposal that a process recorded this many seconds ago, before it died.
async fn left_behind(scene: &Scene, seconds_ago: i64) -> PendingPolicy {
    let pending = PendingPolicy {
        operator_id: OperatorId::from_bytes([9; 16]),
        account_id: scene.account.parse().expect("an id"),
        hash: [7; 32],
        expected_version: 2,
        allowlist_entries: 0,
        due_at: NOW,
        is_announced: false,
        sealed_by: None,
        created_at: Timestamp::from_unix_seconds((SystemClock::SYSTEM.now)().unix_seconds() - seconds_ago),
    };
    scene.relayer.store.policies.insert_pending_policy(&pending, Quotas::default()).await.expect("inserted");
    pending
}

#[tokio::test]
async fn abandoned_draft_is_cleared_when_nobody_can_be_making_it() {
    let scene = Scene::new().await;
    let left = async |pending: &PendingPolicy| {
        let found = scene
            .relayer
            .store
            .policies
            .find_pending_policy(pending.operator_id, pending.account_id, pending.hash)
            .await;
        found.expect("read").is_some()
    };
    for is_on_chain in [false, true] {
        for (seconds_ago, stays) in [(0, true), (200, false)] {
            let pending = left_behind(&scene, seconds_ago).await;
            let account = {
                let mut script = scene.relayer.chain.script();
                let address = *script.agents.keys().next().expect("one account");
                let draft = DraftOnChain {
                    hash: pending.hash,
                    expected_version: 2,
                    policy: SpendingPolicy::default(),
                    sealed_at: None,
                    sealed_delay_seconds: 0,
                    rent_refund: address,
                };
                script.drafts = is_on_chain.then_some((address, draft)).into_iter().collect();
                address
            };
            scene.at(0).await;
            assert_eq!(
                (left(&pending).await, scene.drafts()),
                (stays, usize::from(is_on_chain && stays)),
                "{account}"
            );
        }
    }
    assert!(scene.announced().await.is_empty());
    assert_eq!(scene.read().await.body["pending"], json!(null), "what is not complete does not wait");

    // Closing an account on the chain also ends its proposals.
    let pending = left_behind(&scene, 0).await;
    scene.relayer.chain.script().agents.clear();
    scene.at(0).await;
    assert!(!left(&pending).await);
}

#[tokio::test]
async fn a_loosening_that_a_wallet_sealed_is_announced_and_left_to_whoever_may_drop_it() {
    let scene = Scene::new().await;
    let wallet = Address::from_bytes([66; 32]);
    let seal = async |policy: SpendingPolicy, hash: u8| {
        let draft = DraftOnChain {
            hash: [hash; 32],
            expected_version: 2,
            policy,
            sealed_at: Some(NOW),
            sealed_delay_seconds: u32::try_from(DELAY).expect("small"),
            rent_refund: wallet,
        };
        let account = *scene.relayer.chain.script().agents.keys().next().expect("one account");
        scene.relayer.chain.script().drafts.insert(account, draft);
        let sealed = PendingPolicy {
            hash: [hash; 32],
            due_at: 0,
            sealed_by: Some(wallet),
            ..left_behind(&scene, 0).await
        };
        scene.relayer.store.policies.insert_sealed_draft(&sealed).await.expect("noted");
    };
    seal(SpendingPolicy::default(), 8).await;
    for seconds in [1, DELAY, DELAY + 100] {
        scene.at(seconds).await;
    }
    assert_eq!((&scene.read().await.body["version"], scene.drafts()), (&json!(2), 1), "nobody asked for it");
    let events = scene.events().await;
    let data = &events[0]["data"];
    assert_eq!((events.len(), &data["signer"]), (1, &json!(wallet.to_string())));
    assert_eq!(
        (&data["effective_at"], &data["policy"]["max_daily_spend"]),
        (&json!(text(DELAY)), &json!(null))
    );
    let operator = OperatorId::from_bytes([9; 16]);
    let waiting = async || {
        scene.relayer.store.policies.list_waiting_policies(operator, 10).await.expect("listed").len()
    };
    assert_eq!(waiting().await, 1, "it is on the home page");

    // What takes its place and loosens nothing does not wait.
    let stands = scene.relayer.chain.script().agents.values().next().expect("one account").policy.clone();
    let tight = SpendingPolicy { paused: true, ..stands };
    seal(tight, 9).await;
    scene.at(DELAY + 200).await;
    assert_eq!((waiting().await, scene.announced().await.len()), (0, 1));
}
