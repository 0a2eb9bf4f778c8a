//! Webhooks on the dashboard, which can replay what was not delivered.

use std::time::Duration;

use purser_tests::clock::HostClock;
use purser_tests::{AppSettings, Browser, Operator, Receiver, TestApp, TestNetwork, awaited};
use serde_json::json;

use crate::dashboard::signed_in;
use crate::webhooks::registers;

/// The page once it contains this text.
async fn waits_for(browser: &Browser, path: &str, text: &str) -> String {
    let what = format!("{path} says {text:?}");
    let page = async || browser.reads(path).await.has_status(200).text;
    awaited(&what, async || Some(page().await).filter(|page| page.contains(text))).await
}

/// The ids of events that a page offers to replay.
fn offered(page: &str) -> Vec<String> {
    let values = page.split("name=\"event\" value=\"").skip(1);
    values.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn undelivered_events_are_replayed_from_the_dashboard() {
    let operator = Operator::shared().await;
    let receiver = Receiver::start();
    let webhook = registers(&operator, &receiver.url("/a"), &["transfer.settled"]).await;
    let api = format!("/v1/webhooks/{}", webhook.text_of("id"));
    let path = format!("/dashboard/webhooks/{}", webhook.text_of("id"));
    let [payer, payee] =
        [operator.creates_account_with("Ada", "9").await, operator.creates_account("Bea").await];
    let browser = signed_in(&operator).await;
    browser.sends_form(&format!("{path}/status"), &[("status", "disabled")]).await.leads_to(&path);
    for _ in 0..3 {
        payer.pays("1").to(&payee).await.is_settled();
    }
    let undelivered = format!("{path}?status=undelivered");
    let page = awaited("three events are offered", async || {
        let page = browser.reads(&undelivered).await.has_status(200).text;
        (offered(&page).len() == 3).then_some(page)
    })
    .await;
    assert!(page.contains("Somebody disabled it"), "{page}");
    let ids = offered(&page);
    browser.reads("/dashboard").await.says("Events were not delivered to");
    let replay = format!("{path}/replay");
    let refused = browser.sends_form(&replay, &[("event", &ids[0])]).await;
    refused.has_status(400).says("enable the webhook first");
    browser.sends_form(&format!("{path}/status"), &[("status", "enabled")]).await.leads_to(&path);
    // Replay one.
    browser.sends_form(&replay, &[("event", &ids[0])]).await.leads_to(&format!("{path}?replayed=1"));
    assert_eq!(receiver.waits_for("/a", 1).await[0].event_id(), ids[0]);
    // A delivery that is still pending is not replayed.
    waits_for(&browser, &format!("{path}/deliveries/{}", ids[0]), "answered <strong>204</strong>").await;
    // Replay the selected ones.
    let chosen = browser.sends_form(&replay, &[("event", &ids[0]), ("event", &ids[1])]).await;
    chosen.leads_to(&format!("{path}?replayed=2"));
    receiver.waits_for("/a", 3).await;
    // Replay the undelivered ones of a span.
    let span = [("since", "2020-01-01T00:00:00Z"), ("until", ""), ("status", "undelivered")];
    browser.sends_form(&replay, &span).await.leads_to(&format!("{path}?replayed=1"));
    let received = receiver.waits_for("/a", 4).await;
    assert_eq!(received[3].event_id(), ids[2]);
    waits_for(&browser, &path, "answered 204").await;
    let one = browser.reads(&format!("{path}/deliveries/{}", ids[0])).await.has_status(200);
    one.says("answered <strong>204</strong>").says("&#34;type&#34;:&#34;transfer.settled&#34;");
    assert_eq!(operator.client.get(&api).await["status"], "enabled");
}

#[tokio::test]
async fn a_replay_of_many_events_says_how_many_were_sent_so_far() {
    const EVENTS: usize = 60;
    let operator = Operator::shared().await;
    let receiver = Receiver::start();
    let webhook = registers(&operator, &receiver.url("/a"), &["transfer.rejected"]).await;
    let path = format!("/dashboard/webhooks/{}", webhook.text_of("id"));
    let [payer, payee] = [operator.creates_account("Ada").await, operator.creates_account("Bea").await];
    payer.sets_policy(json!({ "max_single_transfer": 5 })).await;
    let browser = signed_in(&operator).await;
    let turns = async |status: &str| {
        browser.sends_form(&format!("{path}/status"), &[("status", status)]).await.leads_to(&path);
    };
    turns("disabled").await;
    for _ in 0..EVENTS {
        payer.pays("6").to(&payee).await.is_error(402, "policy_violation");
    }
    turns("enabled").await;
    receiver.answers_after("/a", Duration::from_millis(1_500));
    let replay = format!("{path}/replay");
    browser.reads(&replay).await.leads_to(&path);
    let span = [("since", "2020-01-01T00:00:00Z"), ("status", "undelivered"), ("once", "span")];
    let progress = format!("{replay}?of={EVENTS}");
    browser.sends_form(&replay, &span).await.leads_to(&progress);
    let page = browser.reads(&progress).await.has_status(200);
    assert_eq!(page.header("refresh"), Some("2"));
    let sent =
        page.text.split(r#"<progress max="60" value=""#).nth(1).and_then(|rest| rest.split('"').next());
    let sent: usize = sent.and_then(|sent| sent.parse().ok()).expect("a number");
    assert!(sent < EVENTS, "{sent}: no answer has come yet");
    page.says(&format!("{sent} of {EVENTS} events were sent so far."));
    receiver.answers("/a", 204);
    receiver.waits_for("/a", EVENTS).await;
    let done = awaited("each event was sent again", async || {
        Some(browser.reads(&progress).await).filter(|page| page.status == 303)
    });
    done.await.leads_to(&format!("{path}?sent=1"));
    browser.reads(&format!("{path}?sent=1")).await.says("Each of these events was sent again.");
}

#[tokio::test]
async fn an_endpoint_that_only_fails_is_called_so_and_after_five_days_disabled_in_clear_words() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own(), &settings).await;
    let operator = app.new_operator().await;
    let start = operator.chain.now().await + 60;
    app.host_stands_at(start);
    let receiver = Receiver::start();
    receiver.answers("/gone", 410);
    let webhook = registers(&operator, &receiver.url("/gone"), &["transfer.settled"]).await;
    let path = format!("/dashboard/webhooks/{}", webhook.text_of("id"));
    let browser = signed_in(&operator).await;
    let page = browser.reads(&path).await.has_status(200).text;
    assert!(!page.contains("Every attempt has failed"), "{page}");
    // Ten failures in a row, and five days of them.
    for _ in 0..10 {
        browser.sends_form(&format!("{path}/test"), &[]).await.has_status(303);
    }
    waits_for(&browser, &path, "Every attempt has failed since <time").await;
    receiver.waits_for("/gone", 10).await;
    app.host_stands_at(start + 5 * 86_400 + 60);
    let browser = signed_in(&operator).await;
    // A further failure, unless a retry of the ten was sooner: then the endpoint is disabled already.
    let test = browser.sends_form(&format!("{path}/test"), &[]).await;
    assert!(matches!(test.status, 303 | 400), "{}", test.text);
    let page = waits_for(&browser, &path, "Purser stopped sending on <time").await;
    for words in
        ["every attempt had failed for five days", "Events are kept as undelivered", "Enable it once"]
    {
        assert!(page.contains(words), "{words:?} is not in {page}");
    }
    assert!(!page.contains("Somebody disabled it"), "{page}");
    browser.reads("/dashboard").await.says("/gone is disabled since");
}

#[tokio::test]
async fn a_replay_of_nothing_or_of_something_strange_is_refused_beside_its_field() {
    let operator = Operator::shared().await;
    let receiver = Receiver::start();
    let webhook = registers(&operator, &receiver.url("/a"), &["transfer.settled"]).await;
    let path = format!("/dashboard/webhooks/{}/replay", webhook.text_of("id"));
    let browser = signed_in(&operator).await;
    for (fields, status, words) in [
        (&[][..], 400, "mark the events to send again"),
        (&[("event", "evt_nonsense")], 404, "no such event"),
        (&[("since", "yesterday")], 400, r#"id="wrong-since""#),
        (&[("since", "2026-01-02T00:00:00Z"), ("until", "2026-01-01T00:00:00Z")], 400, r#"id="wrong-until""#),
    ] {
        browser.sends_form(&path, fields).await.has_status(status).says(words);
    }
}

#[tokio::test]
async fn a_webhook_is_registered_tested_rotated_and_deleted_from_the_dashboard() {
    let operator = Operator::shared().await;
    let receiver = Receiver::start();
    let browser = signed_in(&operator).await;
    browser.reads("/dashboard/webhooks").await.says("No webhook is registered");
    let refused = browser
        .sends_form("/dashboard/webhooks", &[("url", "ftp://x"), ("events", "transfer.settled")])
        .await;
    refused
        .has_status(400)
        .says(r#"id="wrong-url""#)
        .says(r#"value="ftp://x""#)
        .says(r#"value="transfer.settled" checked"#);
    let script = browser
        .sends_form("/dashboard/webhooks", &[("url", "javascript:alert(1)"), ("events", "transfer.settled")])
        .await;
    script.has_status(400).says(r#"id="wrong-url""#);
    let low = [("url", "https://8.8.8.8/"), ("events", "balance.low_threshold")];
    browser
        .sends_form("/dashboard/webhooks", &low)
        .await
        .has_status(400)
        .says(r#"id="wrong-low_balance_threshold_usdc""#);
    let url = receiver.url("/hook");
    let made =
        browser.sends_form("/dashboard/webhooks", &[("url", &url), ("events", "transfer.settled")]).await;
    let page = made.has_status(200).says("whsec_").text;
    let id = page
        .split("/dashboard/webhooks/")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("its page")
        .to_owned();
    let path = format!("/dashboard/webhooks/{id}");
    browser.sends_form(&format!("{path}/test"), &[]).await.leads_to(&format!("{path}?tested=1"));
    assert_eq!(receiver.waits_for("/hook", 1).await[0].event_type(), "webhook.test");
    browser.sends_form(&format!("{path}/rotate"), &[]).await.has_status(200).says("whsec_");
    let read = browser.reads(&path).await.has_status(200).says("also signs until");
    assert!(!read.text.contains("whsec_"), "a secret is shown once");
    browser
        .sends_form(&format!("{path}/status"), &[("status", "deleted")])
        .await
        .leads_to("/dashboard/webhooks");
    browser.reads(&path).await.has_status(404);
}

#[tokio::test]
async fn answer_of_a_receiver_is_shown_as_text_only() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("<script>alert(1)</script>\"'&").await;
    let browser = signed_in(&operator).await;
    let list = browser.reads("/dashboard/accounts").await.has_status(200);
    assert!(!list.text.contains("<script>alert"), "{}", list.text);
    list.says("&#60;script&#62;alert(1)");
    let receiver = Receiver::start();
    let url = receiver.url("/a?x=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    let body = json!({ "url": url, "events": ["transfer.settled"], "account_ids": [agent.id] });
    let webhook = operator.client.post("/v1/webhooks", &body).await.has_status(201);
    let page = browser.reads(&format!("/dashboard/webhooks/{}", webhook.text_of("id"))).await.has_status(200);
    assert!(!page.text.contains("<script>alert"), "{}", page.text);
}
