//! One change of many accounts: POST /v1/bulk/policy and /v1/bulk/halt.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use purser_tests::clock::HostClock;
use purser_tests::{Agent, Answer, AppSettings, Client, Operator, TestApp, TestDatabase, TestNetwork, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::loosening::loosens_after;

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

async fn tagged(operator: &Operator, names: &[&str], tag: &str) -> Vec<Agent> {
    let bodies: Vec<Value> = names.iter().map(|name| json!({ "name": name, "tags": [tag] })).collect();
    let made = join_all(bodies.iter().map(|body| operator.client.post("/v1/accounts", body))).await;
    made.into_iter().map(|made| Agent::of(operator, &made.has_status(201))).collect()
}

/// What became of an account.
#[track_caller]
fn one<'a>(answer: &'a Answer, agent: &Agent) -> &'a Value {
    let all = answer["accounts"].as_array().expect("accounts");
    all.iter().find(|one| one["account_id"] == agent.id.as_str()).expect("it is answered")
}

fn counts(answer: &Answer) -> [u64; 4] {
    ["applied", "pending", "unchanged", "failed"].map(|name| answer[name].as_u64().expect("a count"))
}

/// The versions that a dry run showed, as the change takes them.
fn versions(answer: &Answer) -> Value {
    let all = answer["accounts"].as_array().expect("accounts").iter();
    Value::from_iter(
        all.map(|one| (one["account_id"].as_str().expect("an id").to_owned(), one["version"].clone())),
    )
}

async fn policy(agent: &Agent) -> Answer {
    agent.operator.client.get(&agent.path("/policy")).await.has_status(200)
}

async fn sends(client: &Client, key: &str, body: &Value) -> Answer {
    let request = client.request(Method::POST, "/v1/bulk/policy").header("idempotency-key", key);
    client.sends(request.json(body)).await
}

#[tokio::test]
async fn dry_run_shows_before_and_after_of_each_and_the_change_does_exactly_that() {
    let operator = an_operator().await;
    let agents = tagged(&operator, &["Ada", "Ben"], "eu").await;
    let other = tagged(&operator, &["Cid"], "us").await.remove(0);
    agents[0].sets_policy(json!({ "max_daily_spend": 5, "require_memo": true })).await;
    let by_tag =
        json!({ "accounts": { "tag": "eu" }, "policy": { "max_daily_spend": 20.5 }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/policy", &by_tag).await.has_status(200);
    assert_eq!((counts(&shown), &shown["dry_run"]), ([2, 0, 0, 0], &json!(true)));
    let ada = one(&shown, &agents[0]);
    assert_eq!(
        (&ada["before"], &ada["after"]),
        (&json!({ "max_daily_spend": 5 }), &json!({ "max_daily_spend": 20.5 }))
    );
    assert_eq!((&ada["name"], &ada["outcome"]), (&json!("Ada"), &json!("applied")));
    assert_eq!(one(&shown, &agents[1])["before"], json!({ "max_daily_spend": null }));
    assert_eq!(policy(&agents[0]).await["max_daily_spend"], 5, "a dry run changes nothing");
    let on_record = async || operator.client.get("/v1/actions").await.has_status(200)["data"].clone();
    assert!(!on_record().await.to_string().contains("change_policies"), "and is no change");

    let body = json!({ "accounts": { "versions": versions(&shown) }, "policy": { "max_daily_spend": 20.5 } });
    let done = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!((counts(&done), &done["dry_run"]), ([2, 0, 0, 0], &json!(false)));
    for agent in &agents {
        let one = one(&done, agent);
        assert!(one["tx_signature"].is_string(), "{one}");
        assert_eq!(policy(agent).await["max_daily_spend"], 20.5);
    }
    assert_eq!(policy(&agents[0]).await["require_memo"], true, "what is left out stays");
    assert!(policy(&other).await["max_daily_spend"].is_null(), "no other account");
    // One record of the whole, and one of each account, with the id of the request.
    let records = on_record().await;
    let of_request = records.as_array().expect("a list").iter();
    let names: Vec<&Value> = of_request
        .filter(|action| action["request_id"].as_str() == done.header("x-request-id"))
        .map(|action| &action["action"])
        .collect();
    assert_eq!(names.len(), 3, "{records}");
    assert_eq!(names.iter().filter(|name| **name == "update_policy").count(), 2, "{records}");
    let of_ada = operator.client.get(&format!("/v1/actions?object_id={}", agents[0].id)).await;
    assert_eq!(of_ada["data"][0]["after"], json!({ "max_daily_spend": 20.5 }));
    assert_eq!(of_ada["data"][0]["tx_signature"], one(&done, &agents[0])["tx_signature"]);
    // Once more, it is so already.
    let again = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!(counts(&again), [0, 0, 2, 0], "{}", again.text);
}

#[tokio::test]
async fn account_that_somebody_changed_meanwhile_stays_as_they_left_it() {
    let operator = an_operator().await;
    let agents = tagged(&operator, &["Ada", "Ben", "Cid"], "eu").await;
    let dry = json!({ "accounts": { "tag": "eu" }, "policy": { "max_single_transfer": 3 }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/policy", &dry).await.has_status(200);
    agents[0].sets_policy(json!({ "max_single_transfer": 1 })).await;
    agents[1].sets_policy(json!({ "max_single_transfer": 3 })).await;
    let late = tagged(&operator, &["Dee"], "eu").await.remove(0);
    let body =
        json!({ "accounts": { "versions": versions(&shown) }, "policy": { "max_single_transfer": 3 } });
    let done = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!(counts(&done), [1, 0, 1, 1], "{}", done.text);
    let ada = one(&done, &agents[0]);
    assert_eq!((&ada["outcome"], &ada["error"]["error"]), (&json!("failed"), &json!("policy_changed")));
    assert_eq!(policy(&agents[0]).await["max_single_transfer"], 1);
    assert_eq!(one(&done, &agents[1])["outcome"], "unchanged", "they left it so");
    assert_eq!(one(&done, &agents[2])["outcome"], "applied");
    assert!(policy(&late).await["max_single_transfer"].is_null(), "it was not shown");
}

#[tokio::test]
async fn two_changes_at_once_follow_each_other() {
    let operator = an_operator().await;
    let agents = tagged(&operator, &["Ada", "Ben", "Cid", "Dee"], "eu").await;
    let bodies = [json!({ "max_single_transfer": 3 }), json!({ "max_daily_spend": 9 })]
        .map(|policy| json!({ "accounts": { "tag": "eu" }, "policy": policy }));
    let [one, other] = &bodies;
    let client = &operator.client;
    let (one, other) =
        tokio::join!(client.post("/v1/bulk/policy", one), client.post("/v1/bulk/policy", other));
    assert_eq!((counts(&one), counts(&other)), ([4, 0, 0, 0], [4, 0, 0, 0]), "{} {}", one.text, other.text);
    for agent in &agents {
        let policy = policy(agent).await;
        assert_eq!((&policy["max_single_transfer"], &policy["max_daily_spend"]), (&json!(3), &json!(9)));
    }
}

#[tokio::test]
async fn pause_and_halt_of_many_are_answered_for_each() {
    let operator = an_operator().await;
    let agents = tagged(&operator, &["Ada", "Ben", "Cid"], "eu").await;
    operator.client.post(&agents[0].path("/halt"), &json!({})).await.has_status(200);
    let pause = json!({ "accounts": { "tag": "eu" }, "policy": { "paused": true } });
    let paused = operator.client.post("/v1/bulk/policy", &pause).await.has_status(200);
    assert_eq!(counts(&paused), [3, 0, 0, 0], "{}", paused.text);
    assert_eq!(policy(&agents[1]).await["paused"], true);
    // A pause is for any version.
    let lift = json!({ "accounts": { "ids": [agents[1].id, agents[1].id] }, "policy": { "paused": false } });
    let lifted = operator.client.post("/v1/bulk/policy", &lift).await.has_status(200);
    assert_eq!((counts(&lifted), policy(&agents[1]).await["paused"].clone()), ([1, 0, 0, 0], json!(false)));
    let old = json!({ "accounts": { "versions": { &*agents[1].id: 0 } }, "policy": { "paused": true } });
    let paused = operator.client.post("/v1/bulk/policy", &old).await.has_status(200);
    assert_eq!(counts(&paused), [1, 0, 0, 0], "{}", paused.text);

    let halt = json!({ "accounts": { "status": "paused" }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/halt", &halt).await.has_status(200);
    assert_eq!(counts(&shown), [2, 0, 1, 0], "{}", shown.text);
    let ben = one(&shown, &agents[1]);
    assert_eq!((&ben["before"], &ben["after"]), (&json!({ "halted": false }), &json!({ "halted": true })));
    let account = operator.client.get(&agents[1].path("")).await;
    assert!(account["halted"].is_null(), "a dry run halts nothing");
    let halt = json!({ "accounts": { "all": true } });
    let done = operator.client.post("/v1/bulk/halt", &halt).await.has_status(200);
    assert_eq!(counts(&done), [2, 0, 1, 0], "{}", done.text);
    for agent in &agents {
        assert_eq!(operator.client.get(&agent.path("")).await["halted"]["scope"], "account");
    }
    let on_record = operator.client.get("/v1/actions?action=halt_account").await;
    assert_eq!(on_record["data"].as_array().map(Vec::len), Some(3), "{}", on_record.text);
    // Whether a halted account's policy is changed: as alone.
    let limit = json!({ "accounts": { "all": true }, "policy": { "max_single_transfer": 1 } });
    let limited = operator.client.post("/v1/bulk/policy", &limit).await.has_status(200);
    assert_eq!(counts(&limited), [3, 0, 0, 0], "{}", limited.text);
}

#[tokio::test]
async fn what_loosens_waits_and_what_tightens_does_not() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agents = tagged(&operator, &["low", "high", "same"], "eu").await;
    for (agent, limit) in agents.iter().zip([5, 50, 10]) {
        agent.sets_policy(json!({ "max_single_transfer": limit })).await;
    }
    loosens_after(&operator, 3_600).await;
    let mut body =
        json!({ "accounts": { "tag": "eu" }, "policy": { "max_single_transfer": 10 }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!(counts(&shown), [1, 1, 1, 0], "{}", shown.text);
    body["dry_run"] = json!(false);
    let done = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!(counts(&done), [1, 1, 1, 0], "{}", done.text);
    let low = one(&done, &agents[0]);
    let waiting = policy(&agents[0]).await;
    assert_eq!(
        (&low["outcome"], &low["effective_at"]),
        (&json!("pending"), &waiting["pending"]["effective_at"])
    );
    assert_eq!(waiting["max_single_transfer"], 5);
    assert_eq!(policy(&agents[1]).await["max_single_transfer"], 10);
    // It waits already, and goes on waiting.
    let again = operator.client.post("/v1/bulk/policy", &body).await.has_status(200);
    assert_eq!(counts(&again), [0, 1, 2, 0], "{}", again.text);
    assert_eq!(one(&again, &agents[0])["effective_at"], low["effective_at"]);
}

#[tokio::test]
async fn accounts_of_another_operator_are_unknown_and_stay_untouched() {
    let (operator, stranger) = (an_operator().await, an_operator().await);
    let agents = tagged(&operator, &["Ada"], "eu").await;
    let unknown = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let own = tagged(&stranger, &["Zoe"], "eu").await.remove(0);
    for accounts in [
        json!({ "ids": [agents[0].id, unknown, own.id] }),
        json!({ "versions": { &*agents[0].id: 0, unknown: 0, &*own.id: 0 } }),
    ] {
        for dry_run in [true, false] {
            let body = json!({ "accounts": accounts, "policy": { "paused": true }, "dry_run": dry_run });
            let answer = stranger.client.post("/v1/bulk/policy", &body).await.has_status(200);
            let halt = json!({ "accounts": accounts, "dry_run": dry_run });
            let halted = stranger.client.post("/v1/bulk/halt", &halt).await.has_status(200);
            for answer in [&answer, &halted] {
                assert_eq!(answer["failed"], 2, "{}", answer.text);
                let all = answer["accounts"].as_array().expect("accounts").iter();
                let mut same: Vec<Value> = all
                    .filter(|one| one["outcome"] == "failed")
                    .map(|one| {
                        let mut one = one.clone();
                        one["account_id"] = Value::Null;
                        one
                    })
                    .collect();
                same.dedup();
                assert_eq!(same.len(), 1, "a foreign account and an unknown one look alike: {same:?}");
            }
        }
    }
    for accounts in [json!({ "tag": "eu" }), json!({ "all": true }), json!({ "status": "paused" })] {
        let body = json!({ "accounts": accounts, "policy": { "max_single_transfer": 1 } });
        let answer = stranger.client.post("/v1/bulk/policy", &body).await.has_status(200);
        assert!(!answer.text.contains(&agents[0].id), "{}", answer.text);
    }
    let account = operator.client.get(&agents[0].path("")).await.has_status(200);
    assert!(account["halted"].is_null() && account["status"] == "active", "{}", account.text);
    assert!(account["policy"]["max_single_transfer"].is_null(), "{}", account.text);
    let agent_key = agents[0].new_key().await;
    let body = json!({ "accounts": { "all": true }, "policy": { "paused": true } });
    agent_key.post("/v1/bulk/policy", &body).await.is_error(403, "forbidden");
}

#[tokio::test]
async fn selection_that_is_unclear_is_refused_by_its_place() {
    let operator = an_operator().await;
    let many: Vec<String> = (0..1_001).map(|count| format!("acct_01ARZ3NDEKTSV4RRFFQ6{count:06}")).collect();
    for (accounts, blamed) in [
        (json!({}), "accounts"),
        (json!({ "all": false }), "accounts"),
        (json!({ "all": true, "tag": "eu" }), "accounts"),
        (json!({ "ids": [many[0]], "status": "active" }), "accounts"),
        (json!({ "ids": [] }), "accounts.ids"),
        (json!({ "ids": [many[0], "acct_1"] }), "accounts.ids[1]"),
        (json!({ "versions": {} }), "accounts.versions"),
        (json!({ "versions": { "x": 1 } }), "accounts.versions.x"),
        (json!({ "tag": "EU" }), "accounts.tag"),
        (json!({ "status": "halted" }), "accounts.status"),
        (json!({ "ids": many }), "accounts"),
    ] {
        for (path, policy) in [("/v1/bulk/policy", Some(json!({ "paused": true }))), ("/v1/bulk/halt", None)]
        {
            let mut body = json!({ "accounts": accounts });
            body.as_object_mut()
                .expect("an object")
                .extend(policy.map(|policy| ("policy".to_owned(), policy)));
            operator.client.post(path, &body).await.blames(blamed);
        }
    }
    for (policy, blamed) in [
        (json!({ "expected_version": 1 }), "policy.expected_version"),
        (json!({ "max_daily_spend": -1 }), "policy.max_daily_spend"),
        (json!({ "unknown": 1 }), "policy.unknown"),
    ] {
        let body = json!({ "accounts": { "all": true }, "policy": policy });
        operator.client.post("/v1/bulk/policy", &body).await.blames(blamed);
    }
    operator.client.post("/v1/bulk/policy", &json!({ "accounts": { "all": true } })).await.blames("policy");
    operator
        .client
        .post("/v1/bulk/policy", &json!({ "policy": { "paused": true } }))
        .await
        .blames("accounts");
}

/// The relayer dies after some of the accounts, and the same request under its key finishes the rest.
async fn is_finished_after_a_death(database: Option<std::sync::Arc<TestDatabase>>) {
    let (clock, is_our_clock) = (HostClock::new(), database.is_none());
    let sound = AppSettings {
        host_clock: Some(clock.clone()),
        database,
        indexer_interval_ms: 200,
        ..AppSettings::default()
    };
    let environment = vec![("PURSER_CRASH_AT", "many.one:25".to_owned())];
    let app =
        TestApp::start(TestNetwork::shared().await, &AppSettings { environment, ..sound.clone() }).await;
    let operator = app.new_operator().await;
    let names: Vec<String> = (0..30).map(|number| format!("agent {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agents = tagged(&operator, &names, "eu").await;
    let dry = json!({ "accounts": { "tag": "eu" }, "policy": { "max_daily_spend": 7 }, "dry_run": true });
    let shown = operator.client.post("/v1/bulk/policy", &dry).await.has_status(200);
    let body = json!({ "accounts": { "versions": versions(&shown) }, "policy": { "max_daily_spend": 7 } });
    let request = operator.client.request(Method::POST, "/v1/bulk/policy").header("idempotency-key", "a");
    assert!(operator.client.tries(request.json(&body)).await.is_err(), "it was to die");
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(operator.client.key());
    clock.is_ahead(31);
    let mut done = sends(&client, "a", &body).await;
    until("another goes on", async || {
        if done.status == 409 {
            done = sends(&client, "a", &body).await;
        }
        done.status != 409
    })
    .await;
    let done = done.has_status(200);
    let [applied, pending, unchanged, failed] = counts(&done);
    assert_eq!((applied + unchanged, pending, failed), (30, 0, 0), "{}", done.text);
    assert!(applied > 0 && unchanged > 0, "some were changed before the death, some after: {}", done.text);
    for agent in &agents {
        let policy = client.get(&agent.path("/policy")).await.has_status(200);
        assert_eq!((&policy["max_daily_spend"], &policy["version"]), (&json!(7), &json!(2)), "changed once");
    }
    let again = sends(&client, "a", &body).await.has_status(200);
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&done.text, Some("true")));
    // What the dead process changed and could not record is done, by the transaction that the versions name. On Postgres the
    // database's clock says how old an action is, and no test moves that.
    clock.is_ahead(300);
    for agent in agents.iter().filter(|_| is_our_clock) {
        let path = format!("/v1/actions?action=update_policy&object_id={}", agent.id);
        until("its change is on record once, by its transaction", async || {
            let listed = client.get(&path).await.has_status(200);
            let of_done = listed["data"].as_array().expect("actions").iter();
            let of_done = of_done.filter(|action| action["outcome"] == "done");
            let signatures: Vec<Value> = of_done.map(|action| action["tx_signature"].clone()).collect();
            let versions = client.get(&agent.path("/policy/versions")).await.has_status(200);
            let newest = &versions["data"][0];
            newest["version"] == 2 && signatures == [newest["tx_signature"].clone()]
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_died_half_way_is_finished_by_repeating_it() {
    is_finished_after_a_death(None).await;
    if let Some(database) = TestDatabase::create().await {
        is_finished_after_a_death(Some(database)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_accounts_are_changed_by_one_request() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let names: Vec<String> = (0..300).map(|number| format!("agent {number}")).collect();
    for names in names.chunks(25) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        tagged(&operator, &names, "fleet").await;
    }
    let body = json!({ "accounts": { "tag": "fleet" }, "policy": { "max_daily_spend": 7 } });
    let mut done = sends(&operator.client, "a", &body).await;
    // What takes longer than an answer may is asked for again under its key.
    until("it is answered", async || {
        if matches!(done.status, 409 | 503 | 504) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            done = sends(&operator.client, "a", &body).await;
        }
        done.status == 200
    })
    .await;
    assert_eq!(counts(&done), [300, 0, 0, 0], "{}", done.text);
    let mut names: BTreeMap<&str, u32> = BTreeMap::new();
    for one in done["accounts"].as_array().expect("accounts") {
        *names.entry(one["name"].as_str().expect("a name")).or_default() += 1;
    }
    assert_eq!(names.len(), 300);
    let again = sends(&operator.client, "b", &body).await.has_status(200);
    assert_eq!(counts(&again), [0, 0, 300, 0]);
}
