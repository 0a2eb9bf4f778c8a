//! Webhooks and their delivery: the real relayer, the real network, and a receiver on this machine.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime};

use purser_tests::settings::Webhooks;
use purser_tests::{Answer, AppSettings, Operator, Receiver, TestApp, TestNetwork, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const TRANSFERS: [&str; 3] = ["transfer.initiated", "transfer.settled", "transfer.rejected"];

pub async fn registers(operator: &Operator, url: &str, events: &[&str]) -> Answer {
    operator.client.post("/v1/webhooks", &json!({ "url": url, "events": events })).await.has_status(201)
}

/// Lower-case hex of the HMAC-SHA256 (RFC 2104) of `body`, keyed with the secret's text.
pub fn signature(secret: &str, body: &[u8]) -> String {
    let mut key = [0; 64];
    key[..secret.len()].copy_from_slice(secret.as_bytes());
    let pad = |byte: u8| key.map(|letter| letter ^ byte);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(body).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn webhook_is_registered_read_changed_and_deleted() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let body = json!({
        "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"], "account_ids": [agent.id],
        "low_balance_threshold_usdc": "12.5",
    });
    let created = operator.client.post("/v1/webhooks", &body).await.has_status(201);
    assert!(created.text_of("id").starts_with("whk_") && created.text_of("secret").starts_with("whsec_"));
    let path = format!("/v1/webhooks/{}", created.text_of("id"));
    let read = operator.client.get(&path).await.has_status(200);
    assert!(read["secret"].is_null(), "a secret is shown once: {}", read.text);
    for (field, value) in body.as_object().expect("an object") {
        let expected = if field == "low_balance_threshold_usdc" { json!(12.5) } else { value.clone() };
        assert_eq!(read[field.as_str()], expected, "{field}");
    }
    assert_eq!(read["status"], "enabled");
    let listed = operator.client.get("/v1/webhooks").await.has_status(200);
    assert_eq!(listed["data"], json!([read.body]));
    let changed = json!({ "account_ids": [], "low_balance_threshold_usdc": null, "status": "disabled" });
    let patched = operator.client.patch(&path, &changed).await.has_status(200);
    assert_eq!(patched["account_ids"], json!([]));
    assert!(patched["low_balance_threshold_usdc"].is_null());
    assert_eq!((&patched["status"], &patched["disabled_reason"]), (&json!("disabled"), &json!("requested")));
    assert_eq!(patched["events"], json!(["transfer.settled"]), "what is not named stays");
    operator.client.post(&format!("{path}/test"), &json!({})).await.blames("status");
    let enabled = operator.client.patch(&path, &json!({ "status": "enabled" })).await.has_status(200);
    assert!(enabled["disabled_reason"].is_null() && enabled["disabled_at"].is_null());
    operator.client.delete(&path).await.has_status(204);
    operator.client.get(&path).await.is_error(404, "not_found");
    operator.client.delete(&path).await.is_error(404, "not_found");
}

#[tokio::test]
async fn webhook_of_a_wrong_form_is_refused_and_the_parameter_named() {
    let operator = Operator::shared().await;
    let stranger = operator.app().new_operator().await.creates_account("Not yours").await;
    let good = json!({ "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"] });
    for (field, value, param) in [
        ("url", Value::Null, "url"),
        ("url", json!("ftp://127.0.0.1/"), "url"),
        ("url", json!("http://10.0.0.1/"), "url"),
        ("url", json!("http://user@127.0.0.1/"), "url"),
        ("url", json!(format!("http://127.0.0.1/{}", "a".repeat(2_048))), "url"),
        ("events", Value::Null, "events"),
        ("events", json!([]), "events"),
        ("events", json!(["transfer.settled", "transfer.lost"]), "events[1]"),
        ("events", json!(["webhook.test"]), "events[0]"),
        ("events", json!(["balance.low_threshold"]), "low_balance_threshold_usdc"),
        ("account_ids", json!(["acct_nobody"]), "account_ids[0]"),
        ("account_ids", json!([stranger.id]), "account_ids[0]"),
        ("low_balance_threshold_usdc", json!(0), "low_balance_threshold_usdc"),
        ("low_balance_threshold_usdc", json!(-1), "low_balance_threshold_usdc"),
        ("low_balance_threshold_usdc", json!(0.0000001), "low_balance_threshold_usdc"),
        ("low_balance_threshold_usdc", json!(true), "low_balance_threshold_usdc"),
        ("status", json!("disabled"), "status"),
        ("colour", json!("red"), "colour"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        operator.client.post("/v1/webhooks", &body).await.blames(param);
    }
    assert_eq!(operator.client.get("/v1/webhooks").await.has_status(200)["data"], json!([]));
}

#[tokio::test]
async fn addresses_of_the_inside_cannot_be_registered() {
    let settings = AppSettings { webhooks: Webhooks::Public, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    for url in [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://metadata.google.internal/",
        "https://[fd00:ec2::254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://example.com:6379/",
        "https://user:password@example.com/",
    ] {
        let body = json!({ "url": url, "events": ["transfer.settled"] });
        operator.client.post("/v1/webhooks", &body).await.blames("url");
    }
    registers(&operator, "https://8.8.8.8/hook", &["transfer.settled"]).await;
}

#[tokio::test]
async fn delivery_that_failed_is_shown_with_its_attempt_and_delivered_by_a_replay() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    receiver.answers("/a", 500);
    let webhook = registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    let event = operator.client.post(&format!("{path}/test"), &json!({})).await.has_status(202);
    assert_eq!(event["type"], "webhook.test");
    receiver.waits_for("/a", 1).await;
    let pending = shows(&operator, &path, "pending", 1).await;
    let attempt = &pending["attempts"][0];
    assert_eq!((&attempt["attempt"], &attempt["status_code"]), (&json!(1), &json!(500)));
    assert!(!pending["next_attempt_at"].is_null());
    receiver.answers("/a", 200);
    let replay = json!({ "event_id": event["id"] });
    let replayed = operator.client.post(&format!("{path}/replay"), &replay).await.has_status(202);
    assert_eq!(replayed["replayed"], 1);
    let received = receiver.waits_for("/a", 2).await;
    assert_eq!(received[0].body, received[1].body);
    let delivered = shows(&operator, &path, "delivered", 2).await;
    assert_eq!(delivered["event_id"], event["id"]);
    let again = ["replay", "--webhook", webhook.text_of("id"), "--event", event.text_of("id")];
    assert_eq!(operator.app().runs(&again)["replayed"], 1);
    receiver.waits_for("/a", 3).await;
    let span = json!({ "since": event["created_at"], "status": "all" });
    operator.client.post(&format!("{path}/replay"), &span).await.has_status(202);
    for (body, param) in [
        (json!({}), "event_id"),
        (json!({ "since": "yesterday" }), "since"),
        (json!({ "since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z" }), "until"),
        (json!({ "since": "2026-01-01T00:00:00Z", "status": "pending" }), "status"),
    ] {
        operator.client.post(&format!("{path}/replay"), &body).await.blames(param);
    }
    let unknown = json!({ "event_id": "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV" });
    operator.client.post(&format!("{path}/replay"), &unknown).await.is_error(404, "not_found");
}

#[tokio::test]
async fn what_failed_in_an_outage_is_sent_at_once_by_a_replay_of_that_time() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    receiver.answers("/a", 503);
    let webhook = registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    let event = operator.client.post(&format!("{path}/test"), &json!({})).await.has_status(202);
    shows(&operator, &path, "pending", 1).await;
    receiver.answers("/a", 200);
    let span = |status: Option<&str>| json!({ "since": event["created_at"], "status": status });
    let replays = async |status| {
        let replayed = operator.client.post(&format!("{path}/replay"), &span(status)).await;
        replayed.has_status(202)["replayed"].clone()
    };
    assert_eq!(replays(Some("undelivered")).await, 0, "it has four attempts left");
    assert_eq!(replays(None).await, 1);
    shows(&operator, &path, "delivered", 2).await;
    assert_eq!(replays(Some("not_delivered")).await, 0);
    // The same from the command line.
    receiver.answers("/a", 503);
    operator
        .client
        .post(&format!("{path}/replay"), &json!({ "event_id": event["id"] }))
        .await
        .has_status(202);
    shows(&operator, &path, "pending", 3).await;
    receiver.answers("/a", 200);
    let again = ["replay", "--webhook", webhook.text_of("id"), "--since", event.text_of("created_at")];
    assert_eq!(operator.app().runs(&again)["replayed"], 1);
    shows(&operator, &path, "delivered", 4).await;
}

/// The webhook's only delivery, once it has this status and `attempts` attempts.
async fn shows(operator: &Operator, path: &str, status: &str, attempts: usize) -> Value {
    for _ in 0..1_000 {
        let answer = operator.client.get(&format!("{path}/deliveries?status={status}")).await.has_status(200);
        if let [delivery] = &answer["data"].as_array().expect("a list")[..]
            && delivery["attempts"].as_array().expect("a list").len() == attempts
        {
            return delivery.clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no delivery is {status} after {attempts} attempts");
}

#[tokio::test]
async fn rotated_secret_signs_beside_the_one_before() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let webhook = registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    let rotated = operator.client.post(&format!("{path}/rotate_secret"), &json!({})).await.has_status(200);
    assert!(!rotated["previous_secret_expires_at"].is_null());
    operator.client.post(&format!("{path}/test"), &json!({})).await.has_status(202);
    let [delivery] = &receiver.waits_for("/a", 1).await[..] else { panic!("one delivery") };
    let (new, old) = (rotated.text_of("secret"), webhook.text_of("secret"));
    assert_ne!(new, old);
    assert_eq!(delivery.header("x-service-signature"), signature(new, &delivery.body));
    assert_eq!(delivery.header("x-service-signature-previous"), signature(old, &delivery.body));
    assert_eq!(delivery.header("webhook-signature").split(' ').count(), 2);
}

/// The load while the relayer is killed. `PURSER_TEST_LONG=1` delivers 100,000.
struct Toll {
    endpoints: usize,
    /// Each round begins with `events` events, and ends with `kill -9`.
    rounds: u64,
    events: usize,
    /// How long a receiver takes to answer.
    answer: Duration,
    /// Deliveries in a round before the kill.
    deliveries_before_kill: usize,
}

fn toll() -> Toll {
    match std::env::var_os("PURSER_TEST_LONG") {
        None => Toll {
            endpoints: 1,
            rounds: 4,
            events: 30,
            answer: Duration::from_millis(60),
            deliveries_before_kill: 10,
        },
        Some(_) => Toll {
            endpoints: 100,
            rounds: 6,
            events: 167,
            answer: Duration::ZERO,
            deliveries_before_kill: 10_000,
        },
    }
}

#[tokio::test]
async fn killed_relayer_loses_no_event_and_repeats_only_what_was_under_way() {
    const AT_ONCE: usize = 8;
    let Toll { endpoints, rounds, events, answer, deliveries_before_kill } = toll();
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let mut operator = app.new_operator().await;
    let receiver = Receiver::start();
    let mut agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.sets_policy(json!({ "paused": true })).await;
    let mut webhooks = Vec::new();
    for number in 0..endpoints {
        let path = format!("/{number}");
        receiver.answers_after(&path, answer);
        let webhook = registers(&operator, &receiver.url(&path), &TRANSFERS).await;
        webhooks.push(webhook.text_of("id").to_owned());
    }
    let mut kills = Vec::new();
    for _ in 0..rounds {
        let before = receiver.count_below("/");
        for _ in 0..events {
            agent.pays("1").to(&payee).by(&operator.client).await.is_error(402, "account_paused");
        }
        until("enough is delivered", async || receiver.count_below("/") >= before + deliveries_before_kill)
            .await;
        app.crashes();
        // Requests on the wire still arrive.
        receiver.finishes_reading().await;
        kills.push(SystemTime::now());
        app.starts();
        operator = operator.reconnected();
        agent.operator = operator.clone();
    }
    let total = endpoints * events * rounds as usize;
    let arrivals = all_arrivals(&operator, &receiver, &webhooks).await;
    assert_eq!(arrivals.len(), total, "every event arrives at every endpoint");
    // Every repeated delivery spans a kill that explains it. No endpoint repeats more at one kill than it had in flight.
    let mut spans: HashMap<(String, usize), usize> = HashMap::new();
    for ((path, event), times) in &arrivals {
        for pair in times.windows(2) {
            let kill = kills.iter().position(|kill| (pair[0]..=pair[1]).contains(kill));
            let kill =
                kill.unwrap_or_else(|| panic!("{event} came twice to {path} without a kill: {pair:?}"));
            *spans.entry((path.clone(), kill)).or_default() += 1;
        }
    }
    let repeated: usize = spans.values().sum();
    assert!(spans.values().all(|count| *count <= AT_ONCE), "{spans:?}");
    eprintln!(
        "{total} deliveries, {} kills, 0 lost, {repeated} repeated, all of them under way",
        kills.len()
    );
}

/// When each event arrived at each path, oldest first, once no webhook has deliveries left.
async fn all_arrivals(
    operator: &Operator,
    receiver: &Receiver,
    webhooks: &[String],
) -> BTreeMap<(String, String), Vec<SystemTime>> {
    for webhook in webhooks {
        // Before it is changed, every event has its deliveries.
        let enabled = json!({ "status": "enabled" });
        operator.client.patch(&format!("/v1/webhooks/{webhook}"), &enabled).await.has_status(200);
        let pending = format!("/v1/webhooks/{webhook}/deliveries?status=pending&limit=1");
        let deadline = Instant::now() + Duration::from_secs(120);
        while operator.client.get(&pending).await.has_status(200)["data"] != json!([]) {
            assert!(Instant::now() < deadline, "{webhook}: {}", operator.app().log_tail());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let mut arrivals: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for delivery in receiver.all_received() {
        arrivals.entry((delivery.path.clone(), delivery.event_id())).or_default().push(delivery.arrived_at);
    }
    arrivals
}
