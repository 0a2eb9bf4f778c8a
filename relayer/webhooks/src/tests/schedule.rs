use std::time::Duration;

use super::support::{Scene, at};
use purser_model::ReplayScope;
use purser_model::*;

const REJECTED: [EventType; 1] = [EventType::TransferRejected];
const FAILING_DAYS: i64 = 5 * 24 * 60 * 60;

/// Moves the clock to just before and then to each moment when something is due, and delivers.
async fn runs_until_nothing_is_pending(scene: &Scene, from: i64) {
    let mut second = from;
    loop {
        scene.sets_clock(second);
        scene.delivers().await;
        let Some(next) = scene.store.deliveries.find_next_due(at(second)).await.expect("read") else {
            return;
        };
        second = next.unix_seconds() - at(0).unix_seconds();
        let attempts = scene.receiver.seconds().len();
        scene.sets_clock(second - 1);
        scene.delivers().await;
        assert_eq!(scene.receiver.seconds().len(), attempts, "attempted before its time, {second}");
    }
}

#[tokio::test]
async fn a_delivery_is_attempted_at_0_30_330_2130_and_9330_seconds_and_then_undelivered() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "down.example.com", &REJECTED, 0).await;
    scene.receiver.answers("down.example.com", 503);
    scene.rejects().await;
    runs_until_nothing_is_pending(&scene, 0).await;
    assert_eq!(scene.receiver.seconds(), [0, 30, 330, 2_130, 9_330]);
    let [delivery] = &scene.deliveries(&webhook).await[..] else { panic!("one delivery") };
    assert_eq!(delivery.state, DeliveryState::Undelivered { since: at(9_330) });
    let kept: Vec<_> = delivery.attempts.iter().map(|attempt| attempt.started_at).collect();
    assert_eq!(kept, [at(0), at(30), at(330), at(2_130), at(9_330)]);
    let answered = AttemptOutcome::Answered { status: 503, body: "body".into() };
    assert!(delivery.attempts.iter().all(|attempt| attempt.outcome == answered));
    let ids: std::collections::HashSet<_> =
        scene.receiver.received().iter().map(|received| received.event_id().to_owned()).collect();
    assert_eq!(ids.len(), 1, "one event, however often");
}

#[tokio::test]
async fn an_acknowledged_delivery_is_never_attempted_again() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "well.example.com", &REJECTED, 0).await;
    scene.receiver.answers("well.example.com", 500);
    scene.rejects().await;
    scene.delivers().await;
    scene.receiver.answers("well.example.com", 204);
    runs_until_nothing_is_pending(&scene, 0).await;
    assert_eq!(scene.receiver.seconds(), [0, 30]);
    let [delivery] = &scene.deliveries(&webhook).await[..] else { panic!("one delivery") };
    assert_eq!(delivery.state, DeliveryState::Delivered { delivered_at: at(30) });
    let read = scene.store.webhooks.find_any_webhook(webhook.id).await.expect("read").expect("there");
    assert_eq!(read.health, EndpointHealth::default());
}

#[tokio::test]
async fn a_replay_delivers_the_same_event_with_a_schedule_of_its_own() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "down.example.com", &REJECTED, 0).await;
    scene.receiver.answers("down.example.com", 500);
    scene.rejects().await;
    runs_until_nothing_is_pending(&scene, 0).await;
    scene.sets_clock(20_000);
    let [event] = &scene.events().await[..] else { panic!("one event") };
    scene.store.webhooks.replay_event(&webhook, event, at(20_000)).await.expect("replayed");
    runs_until_nothing_is_pending(&scene, 20_000).await;
    let seconds = [0, 30, 330, 2_130, 9_330, 20_000, 20_030, 20_330, 22_130, 29_330];
    assert_eq!(scene.receiver.seconds(), seconds);
    assert!(scene.receiver.received().iter().all(|received| received.event_id() == event.id.to_string()));
    scene.receiver.answers("down.example.com", 200);
    let span =
        scene.store.webhooks.replay_span(&webhook, at(0), at(1), ReplayScope::Undelivered, at(30_000)).await;
    assert_eq!(span.expect("replayed"), 1);
    runs_until_nothing_is_pending(&scene, 30_000).await;
    let [delivery] = &scene.deliveries(&webhook).await[..] else { panic!("one delivery") };
    assert_eq!(delivery.state, DeliveryState::Delivered { delivered_at: at(30_000) });
    assert_eq!(delivery.attempts.len(), 11);
    let again =
        scene.store.webhooks.replay_span(&webhook, at(0), at(1), ReplayScope::Undelivered, at(30_001)).await;
    assert_eq!(again.expect("replayed"), 0, "what was delivered is left alone");
}

#[tokio::test]
async fn a_span_is_replayed_to_a_webhook_that_was_not_there_yet() {
    let scene = Scene::set().await;
    for second in [0, 10, 20] {
        scene.sets_clock(second);
        scene.rejects().await;
        scene.store.events.place_waiting(at(second)).await.expect("placed");
    }
    scene.sets_clock(100);
    let (webhook, _) = scene.webhook(1, "new.example.com", &REJECTED, 0).await;
    let (other, _) = scene.webhook(2, "other.example.com", &[EventType::TransferSettled], 0).await;
    for webhook in [&webhook, &other] {
        scene
            .store
            .webhooks
            .replay_span(webhook, at(10), at(20), ReplayScope::All, at(100))
            .await
            .expect("replayed");
    }
    scene.delivers().await;
    let received = scene.receiver.received();
    let [only] = &received[..] else { panic!("one event lies in the span, and one webhook wants it") };
    assert_eq!(only.host, "new.example.com");
    let body: serde_json::Value = serde_json::from_slice(&only.payload.body).expect("JSON");
    assert_eq!(body["created_at"], at(10).to_string());
}

#[tokio::test]
async fn after_five_days_of_failures_a_webhook_is_disabled_and_nothing_is_lost() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "gone.example.com", &REJECTED, 0).await;
    scene.receiver.answers("gone.example.com", 410);
    for second in [0, 20_000] {
        scene.sets_clock(second);
        scene.rejects().await;
        runs_until_nothing_is_pending(&scene, second).await;
    }
    scene.sets_clock(FAILING_DAYS - 1);
    scene.rejects().await;
    scene.delivers().await;
    let read =
        async || scene.store.webhooks.find_any_webhook(webhook.id).await.expect("read").expect("there");
    assert_eq!(read().await.status, WebhookStatus::Enabled);
    scene.sets_clock(FAILING_DAYS + 29);
    scene.delivers().await;
    let since = at(FAILING_DAYS + 29);
    assert_eq!(read().await.status, WebhookStatus::Disabled { reason: DisabledReason::Failing, since });
    let before = scene.receiver.seconds().len();
    scene.rejects().await;
    runs_until_nothing_is_pending(&scene, FAILING_DAYS + 40).await;
    assert_eq!(scene.receiver.seconds().len(), before, "a disabled webhook is left alone");
    let states = scene.deliveries(&webhook).await;
    assert_eq!(states.len(), 4);
    assert!(states.iter().all(|delivery| delivery.state.as_str() == "undelivered"));
    let seen = read().await;
    let enabled = Webhook {
        status: WebhookStatus::Enabled,
        health: EndpointHealth::default(),
        updated_at: seen.updated_at.after(Duration::from_secs(1)),
        ..seen.clone()
    };
    scene.store.webhooks.mark_webhook_changed(&seen, &enabled).await.expect("enabled");
    scene.receiver.answers("gone.example.com", 200);
    let now = at(FAILING_DAYS + 50);
    let replayed =
        scene.store.webhooks.replay_span(&enabled, at(0), now, ReplayScope::Undelivered, now).await;
    assert_eq!(replayed.expect("replayed"), 4);
    runs_until_nothing_is_pending(&scene, FAILING_DAYS + 50).await;
    assert!(scene.deliveries(&webhook).await.iter().all(|delivery| delivery.state.as_str() == "delivered"));
}

#[tokio::test]
async fn a_replaced_secret_signs_beside_the_new_one_for_a_day() {
    let scene = Scene::set().await;
    let (webhook, old) = scene.webhook(1, "well.example.com", &REJECTED, 0).await;
    let new = WebhookSecret::new(&[99; 32]);
    let sealed = scene.sealing_key.seal(webhook.id, &new, &[98; 24]);
    let until = at(0).after(SECRET_OVERLAP);
    let seen =
        scene.store.webhooks.find_webhook_secrets(webhook.id).await.expect("read").expect("there").current;
    let rotated = scene
        .store
        .webhooks
        .mark_secret_rotated(scene.operator.id, webhook.id, &seen, &sealed, until, at(0))
        .await;
    assert!(rotated.expect("rotated"));
    scene.rejects().await;
    scene.delivers().await;
    scene.sets_clock(24 * 60 * 60);
    scene.rejects().await;
    scene.delivers().await;
    let [during, after] = &scene.receiver.received()[..] else { panic!("two deliveries") };
    let expected = |secret: &WebhookSecret, body: &[u8]| crate::service_signature(secret, body);
    for received in [during, after] {
        let signature = expected(&new, &received.payload.body);
        assert_eq!(received.header("x-service-signature"), Some(&*signature));
    }
    let previous = expected(&old, &during.payload.body);
    assert_eq!(during.header("x-service-signature-previous"), Some(&*previous));
    assert_eq!(during.header("webhook-signature").map(|text| text.split(' ').count()), Some(2));
    assert_eq!(after.header("x-service-signature-previous"), None);
    assert_eq!(after.header("webhook-signature").map(|text| text.split(' ').count()), Some(1));
}
