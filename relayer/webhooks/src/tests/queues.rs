use std::time::Duration;

use super::support::{Scene, at};
use purser_base::captured_log::CapturedLog;
use purser_model::*;

const REJECTED: [EventType; 1] = [EventType::TransferRejected];

fn settlement() -> Settlement {
    Settlement { signature: "sig".into(), settled_at: at(0), slot: 1, number: None }
}

fn signed() -> SignedTransfer {
    SignedTransfer { bytes: vec![1], signature: "sig".into(), last_valid_block_height: 9 }
}

fn types(events: &[Event]) -> Vec<EventType> {
    events.iter().map(|event| event.event_type).collect()
}

#[tokio::test]
async fn a_transfer_announces_each_step_once() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "a.example.com", &EventType::SUBSCRIBABLE, 5).await;
    let store = &scene.store;
    let claimed = scene.claims().await;
    let one = store.transfers.mark_signed(&claimed, signed(), at(1)).await.expect("signed");
    let sent = store.transfers.mark_sent(&one, at(1)).await.expect("sent");
    assert_eq!(types(&scene.events().await), [EventType::TransferInitiated]);
    let anew = SignedTransfer { signature: "other".into(), ..signed() };
    let anew = store.transfers.mark_signed(&sent, anew, at(2)).await.expect("signed anew");
    let sent = store.transfers.mark_sent(&anew, at(2)).await.expect("sent");
    assert_eq!(types(&scene.events().await), [EventType::TransferInitiated], "the second sending is no news");
    store.transfers.mark_settled(&sent, settlement(), at(3)).await.expect("settled");
    let both = [EventType::TransferInitiated, EventType::TransferSettled];
    assert_eq!(types(&scene.events().await), both);
    store.events.place_waiting(at(3)).await.expect("placed");
    assert_eq!(scene.deliveries(&webhook).await.len(), 2);
}

#[tokio::test]
async fn a_sending_that_was_never_noted_is_announced_with_the_end() {
    let scene = Scene::set().await;
    let claimed = scene.claims().await;
    let one = scene.store.transfers.mark_signed(&claimed, signed(), at(1)).await.expect("signed");
    scene.store.transfers.mark_settled(&one, settlement(), at(3)).await.expect("settled");
    let mut announced = types(&scene.events().await);
    announced.sort();
    assert_eq!(announced, [EventType::TransferInitiated, EventType::TransferSettled]);
}

#[tokio::test]
async fn superseded_settlement_and_unsent_failure_announce_nothing() {
    let scene = Scene::set().await;
    let claimed = scene.claims().await;
    let one = scene.store.transfers.mark_signed(&claimed, signed(), at(1)).await.expect("signed");
    scene.store.transfers.mark_settled(&one, settlement(), at(3)).await.expect("settled");
    let before = scene.events().await.len();
    // Another worker ends it as well, but stores neither its state nor its announcement.
    scene.store.transfers.mark_settled(&one, settlement(), at(4)).await.expect_err("superseded");
    let failing = scene.claims().await;
    scene.store.transfers.mark_failed(&failing, failure(), at(4)).await.expect("failed");
    assert_eq!(scene.events().await.len(), before);
}

fn failure() -> Failure {
    Failure { code: FailureCode::TransferExpired, message: "no".into(), failed_at: at(4), retry_at: None }
}

#[tokio::test]
async fn a_transfer_that_went_out_and_failed_was_initiated_all_the_same() {
    let scene = Scene::set().await;
    for is_noted in [true, false] {
        let claimed = scene.claims().await;
        let mut one = scene.store.transfers.mark_signed(&claimed, signed(), at(1)).await.expect("signed");
        if is_noted {
            one = scene.store.transfers.mark_sent(&one, at(1)).await.expect("sent");
        }
        scene.store.transfers.mark_failed(&one, failure(), at(4)).await.expect("failed");
    }
    let initiated = EventType::TransferInitiated;
    assert_eq!(types(&scene.events().await), [initiated, initiated]);
}

#[tokio::test]
async fn deliveries_of_a_killed_process_are_attempted_again_and_nothing_else_is() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "a.example.com", &REJECTED, 0).await;
    for _ in 0..20 {
        scene.rejects().await;
    }
    scene.store.events.place_waiting(at(0)).await.expect("placed");
    // A process was killed with five under way: it took them and never came back.
    let taken = scene.store.deliveries.take_due_deliveries(&webhook, at(0), at(30), 5).await.expect("taken");
    assert_eq!(taken.len(), 5);
    scene.delivers().await;
    assert_eq!(scene.receiver.received().len(), 15, "what another holds is left to it");
    let (_store, dispatcher) = scene.after_a_crash().await;
    scene.sets_clock(29);
    dispatcher.deliver_due().await.expect("delivered");
    assert_eq!(scene.receiver.received().len(), 15);
    scene.sets_clock(30);
    dispatcher.deliver_due().await.expect("delivered");
    let mut ids: Vec<_> =
        scene.receiver.received().iter().map(|received| received.event_id().to_owned()).collect();
    assert_eq!(ids.len(), 20);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert!(scene.deliveries(&webhook).await.iter().all(|delivery| delivery.state.as_str() == "delivered"));
}

#[tokio::test]
async fn the_next_process_on_a_file_goes_on_at_once() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "a.example.com", &REJECTED, 0).await;
    scene.rejects().await;
    scene.store.events.place_waiting(at(0)).await.expect("placed");
    scene.store.deliveries.take_due_deliveries(&webhook, at(0), at(30), 5).await.expect("taken");
    let (_store, dispatcher) = scene.after_a_crash().await;
    scene.tasks.tracker.spawn(dispatcher.run_until_stopped());
    waits_for(|| scene.receiver.received().len() == 1).await;
    scene.stop.cancel();
}

#[tokio::test]
async fn written_event_is_delivered_at_once_and_a_hanging_endpoint_holds_nobody_up() {
    let scene = Scene::set().await;
    for number in 0..10 {
        let host = format!("{}{number}.example.com", if number % 2 == 0 { "hangs" } else { "well" });
        scene.webhook(number + 1, &host, &REJECTED, 0).await;
        if number % 2 == 0 {
            scene.receiver.hangs(&host);
        }
    }
    scene.tasks.tracker.spawn(scene.dispatcher.clone().run_until_stopped());
    for _ in 0..30 {
        scene.rejects().await;
        scene.store.events.place_waiting(at(0)).await.expect("placed");
    }
    waits_for(|| scene.receiver.received().len() == 5 * 30).await;
    assert!(scene.receiver.received().iter().all(|received| received.host.starts_with("well")));
    scene.stop.cancel();
}

#[tokio::test]
async fn a_delivery_whose_name_could_not_be_looked_up_uses_up_none_of_its_attempts() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "a.example.com", &REJECTED, 0).await;
    scene.rejects().await;
    *scene.receiver.has_no_room.lock() = true;
    for second in [0, 5, 10, 15, 20, 25, 30] {
        scene.sets_clock(second);
        scene.delivers().await;
    }
    let waiting = scene.deliveries(&webhook).await;
    assert!(matches!(waiting[0].state, DeliveryState::Pending { failures: 0, .. }), "{:?}", waiting[0].state);
    assert!(waiting[0].attempts.is_empty());
    *scene.receiver.has_no_room.lock() = false;
    scene.sets_clock(35);
    scene.delivers().await;
    assert_eq!(scene.receiver.seconds(), [35]);
    assert_eq!(scene.deliveries(&webhook).await[0].attempts.len(), 1);
}

#[tokio::test]
async fn deleted_or_disabled_webhook_gets_nothing_more() {
    let scene = Scene::set().await;
    let (deleted, _) = scene.webhook(1, "deleted.example.com", &REJECTED, 0).await;
    let (disabled, _) = scene.webhook(2, "disabled.example.com", &REJECTED, 0).await;
    scene.rejects().await;
    assert!(scene.store.webhooks.delete_webhook(scene.operator.id, deleted.id).await.expect("deleted"));
    let status = WebhookStatus::Disabled { reason: DisabledReason::Requested, since: at(0) };
    let off = Webhook { status, updated_at: at(1), ..disabled.clone() };
    scene.store.webhooks.mark_webhook_changed(&disabled, &off).await.expect("disabled");
    scene.rejects().await;
    scene.delivers().await;
    assert!(scene.receiver.received().is_empty());
    assert!(scene.deliveries(&deleted).await.is_empty());
    let states: Vec<_> = scene.deliveries(&disabled).await.iter().map(|one| one.state.as_str()).collect();
    assert_eq!(states, ["undelivered", "undelivered"]);
}

#[tokio::test]
async fn a_secret_sealed_with_another_key_signs_nothing_and_is_said_once() {
    let scene = Scene::set().await;
    let (webhook, secret) = scene.webhook(1, "a.example.com", &REJECTED, 0).await;
    let other = SealingKey::parse(&hex::encode([8; 32])).expect("a key");
    let sealed = other.seal(webhook.id, &secret, &[9; 24]);
    let seen =
        scene.store.webhooks.find_webhook_secrets(webhook.id).await.expect("read").expect("there").current;
    scene
        .store
        .webhooks
        .mark_secret_rotated(scene.operator.id, webhook.id, &seen, &sealed, at(0), at(0))
        .await
        .expect("rotated");
    let log = CapturedLog::start();
    scene.rejects().await;
    for _ in 0..5 {
        scene.delivers().await;
    }
    assert!(scene.receiver.received().is_empty());
    assert_eq!(log.lines_with("sealed with another key").len(), 1, "said once: {}", log.text());
}

async fn waits_for(done: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come about within 30 s");
}
