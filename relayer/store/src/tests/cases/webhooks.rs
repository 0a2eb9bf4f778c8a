use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::JoinSet;

use super::*;
use crate::AttemptMade;
use purser_model::BalanceSeen;
use purser_model::ReplayScope;

/// For how long deliveries are taken here.
const LEASE: Duration = Duration::from_secs(30);

pub(super) fn webhook(fixture: &Fixture, number: u8, threshold: Option<u64>) -> Webhook {
    let events = EventType::SUBSCRIBABLE.into_iter();
    let events =
        events.filter(|event| threshold.is_some() || *event != EventType::BalanceLowThreshold).collect();
    let threshold = threshold.map(|usdc| UsdcAmount::from_micros(usdc * 1_000_000));
    Webhook {
        id: WebhookId::from_bytes([number; 16]),
        operator_id: fixture.operator.id,
        url: WebhookUrl::from_stored("https://example.com/hook").expect("a URL"),
        subscription: Subscription::new(events, vec![fixture.account.id], threshold).expect("valid"),
        status: WebhookStatus::Enabled,
        health: EndpointHealth::default(),
        previous_secret_until: None,
        watches_since: at(0),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(super) fn sealed(text: &str) -> SealedSecret {
    SealedSecret::from_stored(text.to_owned())
}

async fn registered(fixture: &Fixture, number: u8) -> Webhook {
    let webhook = webhook(fixture, number, None);
    fixture.store.webhooks.insert_webhook(&webhook, &sealed("sealed"), WEBHOOKS_MAX).await.expect("inserted");
    webhook
}

/// Announces an event, by a transfer that policy refuses at `seconds`.
async fn writes_event(fixture: &Fixture, number: u8, seconds: i64) -> TransferId {
    let claimed = fixture.claim_new(&fixture.transfer(number, &number.to_string()), seconds).await;
    let rejected = rejection(RejectionReason::Paused);
    fixture.store.transfers.mark_rejected(&claimed, rejected, at(seconds)).await.expect("rejected").id
}

/// Announces an event, and makes its deliveries.
async fn announces(fixture: &Fixture, number: u8, seconds: i64) -> TransferId {
    let transfer = writes_event(fixture, number, seconds).await;
    fixture.store.events.place_waiting(at(seconds)).await.expect("placed");
    transfer
}

#[tokio::test]
async fn webhook_whose_registration_is_written_before_an_event_gets_it() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "1"), 1).await;
    let webhook = webhook(&fixture, 1, None);
    let opened = Arc::new(tokio::sync::Notify::new());
    let gate = opened.clone();
    let holds_the_writer = fixture.store.write(move |_| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            Ok(())
        }
        .boxed()
    });
    let is_registered = tokio::sync::Notify::new();
    let registers = async {
        let sealed = sealed("sealed");
        fixture.store.webhooks.insert_webhook(&webhook, &sealed, WEBHOOKS_MAX).await.expect("registered");
        is_registered.notify_one();
    };
    let refuses = async {
        match &fixture.place {
            // One thread writes in the order of the calls, and what is read before a write has been read when the gate opens.
            Place::Folder(_) => tokio::task::yield_now().await,
            Place::Schema(_) => is_registered.notified().await,
        }
        fixture.store.transfers.mark_rejected(&claimed, rejection(RejectionReason::Paused), at(2)).await
    };
    let opens = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        opened.notify_one();
    };
    let (held, (), refused, ()) = tokio::join!(holds_the_writer, registers, refuses, opens);
    held.expect("held");
    refused.expect("rejected");
    fixture.store.events.place_waiting(at(3)).await.expect("placed");
    assert_eq!(deliveries(&fixture, &webhook, None).await.len(), 1);
}

/// A delivery that was leased.
struct Taken {
    webhook_id: WebhookId,
    event: Event,
    failures: u32,
}

async fn takes(store: &Store, webhook: &Webhook, seconds: i64, rows_max: u32) -> Vec<Taken> {
    let taken = store.deliveries.take_due_deliveries(webhook, at(seconds), at(seconds + 30), rows_max).await;
    let of_webhook = |(event, failures)| Taken { webhook_id: webhook.id, event, failures };
    taken.expect("taken").into_iter().map(of_webhook).collect()
}

fn made(taken: &Taken, status: u16, seconds: i64) -> AttemptMade {
    let outcome = AttemptOutcome::Answered { status, body: "caf\u{e9}".into() };
    let next = if outcome.is_success() {
        DeliveryState::Delivered { delivered_at: at(seconds) }
    } else {
        DeliveryState::after_failure(taken.failures, at(seconds))
    };
    let attempt = Attempt { started_at: at(seconds), ended_at: at(seconds), outcome };
    let (operator_id, webhook_id) = (taken.event.operator_id, taken.webhook_id);
    AttemptMade { operator_id, webhook_id, event_id: taken.event.id, attempt, next }
}

async fn deliveries(fixture: &Fixture, webhook: &Webhook, status: Option<DeliveryStatus>) -> Vec<Delivery> {
    let listed =
        fixture.store.deliveries.list_deliveries(fixture.operator.id, webhook.id, status, None, 100).await;
    listed.expect("listed")
}

#[tokio::test]
async fn a_webhook_comes_back_whole_and_is_its_operators_alone() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let first = webhook(&fixture, 1, Some(5));
    store.webhooks.insert_webhook(&first, &sealed("one"), WEBHOOKS_MAX).await.expect("inserted");
    let second = registered(&fixture, 2).await;
    let (owner, stranger) = (fixture.operator.id, OperatorId::from_bytes([99; 16]));
    assert_eq!(store.webhooks.find_webhook(owner, first.id).await.expect("read"), Some(first.clone()));
    assert_eq!(store.webhooks.find_webhook(stranger, first.id).await.expect("read"), None);
    let listed = store.webhooks.list_webhooks(owner, None, 10).await.expect("listed");
    assert_eq!(listed, [second.clone(), first.clone()]);
    let older = store.webhooks.list_webhooks(owner, Some(second.id), 10).await.expect("listed");
    assert_eq!(older, std::slice::from_ref(&first));
    let status = WebhookStatus::Disabled { reason: DisabledReason::Requested, since: at(3) };
    let changed = Webhook { status, updated_at: at(3), ..first.clone() };
    store.webhooks.mark_webhook_changed(&first, &changed).await.expect("changed");
    assert_eq!(store.webhooks.find_any_webhook(first.id).await.expect("read"), Some(changed.clone()));
    let stale = store.webhooks.mark_webhook_changed(&first, &changed).await;
    assert!(matches!(stale, Err(StoreError::Superseded)));
    let rotates = async |whose, seen: &str, new: &str| {
        store
            .webhooks
            .mark_secret_rotated(whose, first.id, &sealed(seen), &sealed(new), at(9), at(4))
            .await
            .expect("asked")
    };
    assert!(!rotates(stranger, "one", "x").await);
    assert!(rotates(owner, "one", "two").await);
    assert!(!rotates(owner, "one", "three").await, "it was another secret that was seen");
    let secrets = store.webhooks.find_webhook_secrets(first.id).await.expect("read").expect("there");
    assert_eq!((secrets.current, secrets.previous), (sealed("two"), Some((sealed("one"), at(9)))));
    assert!(!store.webhooks.delete_webhook(stranger, first.id).await.expect("asked"));
    assert!(store.webhooks.delete_webhook(owner, first.id).await.expect("deleted"));
    assert_eq!(store.webhooks.find_any_webhook(first.id).await.expect("read"), None);
}

#[tokio::test]
async fn events_are_written_with_their_facts_and_listed_newest_first() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let one = store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let sent = store.transfers.mark_sent(&one, at(2)).await.expect("sent");
    store.transfers.mark_settled(&sent, settlement(3), at(3)).await.expect("settled");
    store.transfers.mark_settled(&sent, settlement(3), at(4)).await.expect_err("superseded");
    announces(&fixture, 2, 5).await;
    let (owner, account) = (fixture.operator.id, fixture.account.id);
    let list = async |event_type, account, after| {
        store.events.list_events(owner, event_type, account, after, 10).await.expect("listed")
    };
    let all = list(None, Some(account), None).await;
    let types: Vec<_> = all.iter().map(|event| event.event_type).collect();
    let [initiated, settled, rejected] =
        [EventType::TransferInitiated, EventType::TransferSettled, EventType::TransferRejected];
    assert_eq!(types, [rejected, settled, initiated]);
    assert_eq!(list(Some(settled), None, None).await.len(), 1);
    assert_eq!(list(None, None, Some(all[0].id)).await.len(), 2);
    assert!(list(None, Some(AccountId::from_bytes([77; 16])), None).await.is_empty());
    let found = store.events.find_event(owner, all[1].id).await.expect("read").expect("there");
    assert_eq!(found.envelope().get(), all[1].envelope().get());
    assert!(
        store.events.find_event(OperatorId::from_bytes([99; 16]), all[1].id).await.expect("read").is_none()
    );
    let span = store.events.list_events_between(owner, at(3), at(5), None, 10).await.expect("listed");
    assert_eq!(span.iter().map(|event| event.id).collect::<Vec<_>>(), [all[1].id]);
    let rest =
        store.events.list_events_between(owner, at(0), at(9), Some(all[2].id), 10).await.expect("listed");
    assert_eq!(rest.iter().map(|event| event.id).collect::<Vec<_>>(), [all[1].id, all[0].id]);
}

#[tokio::test]
async fn event_goes_to_the_webhooks_that_there_are_when_it_gets_its_place_and_to_each_once() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let (stays, goes) = (registered(&fixture, 1).await, registered(&fixture, 2).await);
    let off = Webhook {
        status: WebhookStatus::Disabled { reason: DisabledReason::Requested, since: at(1) },
        updated_at: at(1),
        ..registered(&fixture, 3).await
    };
    store
        .webhooks
        .mark_webhook_changed(&Webhook { updated_at: at(0), ..off.clone() }, &off)
        .await
        .expect("off");
    for number in 1..=5 {
        writes_event(&fixture, number, 2).await;
    }
    assert!(deliveries(&fixture, &stays, None).await.is_empty());
    assert!(store.webhooks.delete_webhook(fixture.operator.id, goes.id).await.expect("deleted"));
    let late = registered(&fixture, 4).await;
    // Several processes at once, a few at a time.
    let mut relayers = JoinSet::new();
    for _ in 0..4 {
        let (store, operator) = (fixture.reopen().await, fixture.operator.id);
        relayers.spawn(async move {
            while store.events.place_events(operator, at(3), 2).await? {}
            Ok::<_, StoreError>(())
        });
    }
    for done in relayers.join_all().await {
        done.expect("placed");
    }
    for webhook in [&stays, &late] {
        let due = deliveries(&fixture, webhook, Some(DeliveryStatus::Pending)).await;
        assert_eq!(due.len(), 5);
        assert!(due.iter().all(|one| one.created_at == at(3)));
    }
    assert_eq!(deliveries(&fixture, &off, Some(DeliveryStatus::Undelivered)).await.len(), 5);
    let of_deleted = sql! {
        "SELECT COUNT(*) FROM deliveries WHERE operator_id = {operator_id} AND webhook_id = {id}",
        goes.operator_id, goes.id
    };
    assert_eq!(of_deleted.count(store.reader()).await.expect("counted"), 0);
    // A second pass finds nothing.
    store.events.place_waiting(at(4)).await.expect("placed");
    assert!(!store.events.place_events(fixture.operator.id, at(4), 9).await.expect("placed"));
    let stream = store.events.list_stream(fixture.operator.id, 0, 9).await.expect("listed");
    assert_eq!(stream.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn event_about_certain_webhooks_goes_to_no_other() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let (tested, other) = (registered(&fixture, 1).await, registered(&fixture, 2).await);
    let event = Event::webhook_test(fixture.operator.id, tested.id, at(1), 1);
    store.webhooks.insert_test_event(&tested, &event, at(1)).await.expect("inserted");
    let low = webhook(&fixture, 3, Some(50));
    store.webhooks.insert_webhook(&low, &sealed("sealed"), WEBHOOKS_MAX).await.expect("inserted");
    for (whole, second) in [(80, 2), (40, 3)] {
        let balance = UsdcAmount::from_micros(whole * 1_000_000);
        let seen = BalanceSeen { balance, read_at: at(second), paid: Vec::new() };
        store.events.mark_balance(&fixture.account, seen, at(second), || 2).await.expect("noted");
    }
    // It watches the same threshold, but has seen no crossing.
    let late = Webhook { watches_since: at(4), ..webhook(&fixture, 4, Some(50)) };
    store.webhooks.insert_webhook(&late, &sealed("sealed"), WEBHOOKS_MAX).await.expect("inserted");
    store.events.place_waiting(at(5)).await.expect("placed");
    for (webhook, count) in [(&tested, 1), (&other, 0), (&low, 1), (&late, 0)] {
        assert_eq!(deliveries(&fixture, webhook, None).await.len(), count, "{}", webhook.id);
    }
    assert_eq!(store.events.list_stream(fixture.operator.id, 0, 9).await.expect("listed").len(), 2);
}

#[tokio::test]
async fn due_delivery_is_taken_once_however_many_take() {
    let Some(fixture) = fixture().await else { return };
    let webhook = registered(&fixture, 1).await;
    for number in 1..=30 {
        announces(&fixture, number, 0).await;
    }
    assert_eq!(fixture.store.deliveries.list_due_webhooks(at(0), LEASE).await.expect("listed"), [webhook.id]);
    let mut takers = JoinSet::new();
    for _ in 0..4 {
        let (store, webhook) = (fixture.reopen().await, webhook.clone());
        takers.spawn(async move {
            let mut ids = Vec::new();
            loop {
                let taken = takes(&store, &webhook, 0, 4).await;
                if taken.is_empty() {
                    return ids;
                }
                ids.extend(taken.into_iter().map(|delivery| delivery.event.id));
            }
        });
    }
    let ids: Vec<EventId> = takers.join_all().await.into_iter().flatten().collect();
    assert_eq!(ids.len(), 30);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>().len(), 30);
    assert!(fixture.store.deliveries.list_due_webhooks(at(29), LEASE).await.expect("listed").is_empty());
    assert_eq!(
        fixture.store.deliveries.list_due_webhooks(at(30), LEASE).await.expect("listed"),
        [webhook.id]
    );
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_is_due_once_it_is_put_right() {
    const AHEAD: i64 = 25 * 60 * 60;
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let webhook = registered(&fixture, 1).await;
    announces(&fixture, 1, AHEAD).await;
    announces(&fixture, 2, AHEAD).await;
    let [first, _] = &takes(store, &webhook, AHEAD, 9).await[..] else { panic!("two are due") };
    store.deliveries.mark_attempts(&[made(first, 500, AHEAD)]).await.expect("written");
    let due = async |second| {
        let hastened = store.deliveries.hasten_deliveries(at(second), Duration::from_secs(30), 9).await;
        hastened.expect("hastened");
        takes(store, &webhook, second, 9).await.len()
    };
    // Both stand where a right clock may have put them.
    assert_eq!(due(AHEAD - 60).await, 0);
    assert_eq!(due(0).await, 2, "one is not leased, the other not due for a day");
    assert_eq!(due(1).await, 0);
}

#[tokio::test]
async fn attempts_are_kept_with_the_state_of_the_delivery() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let webhook = registered(&fixture, 1).await;
    announces(&fixture, 1, 0).await;
    let unattempted = async |at_most| {
        store.deliveries.count_unattempted(fixture.operator.id, webhook.id, at_most).await.expect("counted")
    };
    assert_eq!((unattempted(9).await, unattempted(0).await), (1, 0));
    let [first] = &takes(store, &webhook, 0, 9).await[..] else { panic!("one is due") };
    store.deliveries.mark_attempts(&[made(first, 500, 1)]).await.expect("written");
    assert_eq!(unattempted(9).await, 0);
    assert!(takes(store, &webhook, 30, 9).await.is_empty());
    assert_eq!(store.deliveries.find_next_due(at(2)).await.expect("read"), Some(at(31)));
    let health = store.webhooks.find_any_webhook(webhook.id).await.expect("read").expect("there").health;
    assert_eq!(health, EndpointHealth { failures: 1, failing_since: Some(at(1)) });
    let failing = async || store.webhooks.count_failing_webhooks().await.expect("counted");
    assert_eq!(failing().await, [(fixture.operator.network, 1)]);
    let [second] = &takes(store, &webhook, 31, 9).await[..] else { panic!("one is due") };
    assert_eq!(second.failures, 1);
    // Its lease expires, another takes it and fails. The late success counts; a late failure would not.
    let other = fixture.reopen().await;
    let [late] = &takes(&other, &webhook, 61, 9).await[..] else { panic!("the lease has ended") };
    other.deliveries.mark_attempts(&[made(late, 500, 62)]).await.expect("written");
    store.deliveries.mark_attempts(&[made(second, 500, 63)]).await.expect("written");
    assert_eq!(
        store.deliveries.find_next_due(at(70)).await.expect("read"),
        Some(at(362)),
        "the holder's failure counts"
    );
    store.deliveries.mark_attempts(&[made(second, 204, 64)]).await.expect("written");
    assert_eq!(failing().await, []);
    let [delivery] = &deliveries(&fixture, &webhook, Some(DeliveryStatus::Delivered)).await[..] else {
        panic!("one is delivered")
    };
    assert_eq!(delivery.state, DeliveryState::Delivered { delivered_at: at(64) });
    let started: Vec<_> = delivery.attempts.iter().map(|attempt| attempt.started_at).collect();
    assert_eq!(started, [at(1), at(62), at(63), at(64)]);
    assert_eq!(delivery.attempts[0].outcome, made(first, 500, 1).attempt.outcome);
    let health = store.webhooks.find_any_webhook(webhook.id).await.expect("read").expect("there").health;
    assert_eq!(health, EndpointHealth::default());
    assert!(deliveries(&fixture, &webhook, Some(DeliveryStatus::Pending)).await.is_empty());
    assert!(store.webhooks.delete_webhook(fixture.operator.id, webhook.id).await.expect("deleted"));
    store.deliveries.mark_attempts(&[made(second, 204, 65)]).await.expect("what was deleted is forgotten");
}

#[tokio::test]
async fn replay_leaves_pending_deliveries_and_restarts_the_rest() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let webhook = registered(&fixture, 1).await;
    for number in 1..=3 {
        announces(&fixture, number, i64::from(number)).await;
    }
    let taken = takes(store, &webhook, 3, 2).await;
    let given_up =
        AttemptMade { next: DeliveryState::Undelivered { since: at(4) }, ..made(&taken[0], 500, 4) };
    store.deliveries.mark_attempts(&[given_up, made(&taken[1], 200, 4)]).await.expect("written");
    let [under_way] = &takes(store, &webhook, 4, 2).await[..] else { panic!("one is left") };
    assert!(!store.webhooks.replay_event(&webhook, &under_way.event, at(5)).await.expect("asked"));
    let undelivered = ReplayScope::Undelivered;
    assert_eq!(
        store.webhooks.replay_span(&webhook, at(2), at(9), undelivered, at(5)).await.expect("replayed"),
        0
    );
    assert_eq!(
        store.webhooks.replay_span(&webhook, at(0), at(9), undelivered, at(5)).await.expect("replayed"),
        1
    );
    assert_eq!(
        store.webhooks.replay_span(&webhook, at(0), at(9), ReplayScope::All, at(6)).await.expect("replayed"),
        2
    );
    let due: BTreeSet<_> = takes(store, &webhook, 6, 9).await.iter().map(|one| one.event.id).collect();
    assert_eq!(due, taken.iter().map(|one| one.event.id).collect());
    let late = webhook_without_deliveries(&fixture).await;
    assert_eq!(
        store.webhooks.replay_span(&late, at(1), at(3), ReplayScope::All, at(7)).await.expect("replayed"),
        2
    );
    assert_eq!(takes(store, &late, 7, 9).await.len(), 2);
}

#[tokio::test]
async fn replay_of_what_is_not_delivered_begins_what_fails_anew_and_leaves_what_has_its_turn() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let webhook = registered(&fixture, 1).await;
    for number in 1..=5 {
        announces(&fixture, number, i64::from(number)).await;
    }
    let taken = takes(store, &webhook, 5, 4).await;
    let given_up =
        AttemptMade { next: DeliveryState::Undelivered { since: at(6) }, ..made(&taken[0], 500, 6) };
    store
        .deliveries
        .mark_attempts(&[given_up, made(&taken[1], 200, 6), made(&taken[2], 500, 6)])
        .await
        .expect("written");
    // The fourth is being attempted, and the fifth has not had its first attempt yet.
    let replays = async |scope| {
        store.webhooks.replay_span(&webhook, at(0), at(9), scope, at(7)).await.expect("replayed")
    };
    assert_eq!(replays(ReplayScope::NotDelivered).await, 2);
    assert_eq!(replays(ReplayScope::NotDelivered).await, 0, "they are due already");
    let due: BTreeSet<_> = takes(store, &webhook, 7, 9).await.iter().map(|one| one.event.id).collect();
    assert_eq!(due.len(), 3, "the two, and the one that was due");
    assert!(due.contains(&taken[0].event.id) && due.contains(&taken[2].event.id));
    assert!(!due.contains(&taken[1].event.id), "it is delivered");
}

async fn webhook_without_deliveries(fixture: &Fixture) -> Webhook {
    let webhook = registered(fixture, 9).await;
    assert!(deliveries(fixture, &webhook, None).await.is_empty());
    webhook
}

#[tokio::test]
async fn a_crossing_seen_by_many_at_once_is_announced_once() {
    let Some(fixture) = fixture().await else { return };
    let webhook = webhook(&fixture, 1, Some(50));
    fixture.store.webhooks.insert_webhook(&webhook, &sealed("sealed"), WEBHOOKS_MAX).await.expect("inserted");
    let usdc = |whole: u64| UsdcAmount::from_micros(whole * 1_000_000);
    let sight = |whole, read_at| BalanceSeen { balance: usdc(whole), read_at, paid: Vec::new() };
    let seen = fixture.store.events.mark_balance(&fixture.account, sight(80, at(1)), at(1), || 1).await;
    seen.expect("noted");
    let mut relayers = JoinSet::new();
    for number in 0_u8..6 {
        let (store, account) = (fixture.reopen().await, fixture.account.clone());
        let seen = sight(40, at(2 + i64::from(number % 2)));
        relayers.spawn(async move {
            store.events.mark_balance(&account, seen, at(4), move || u128::from(number)).await
        });
    }
    for done in relayers.join_all().await {
        done.expect("noted");
    }
    let low = Some(EventType::BalanceLowThreshold);
    let events =
        fixture.store.events.list_events(fixture.operator.id, low, None, None, 10).await.expect("listed");
    assert_eq!(events.len(), 1);
    assert_eq!(deliveries(&fixture, &webhook, None).await.len(), 1);
}

#[tokio::test]
async fn webhook_that_only_fails_is_disabled_with_its_pending_deliveries() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let webhook = registered(&fixture, 1).await;
    announces(&fixture, 1, 0).await;
    announces(&fixture, 2, 1).await;
    let [first] = &takes(store, &webhook, 1, 1).await[..] else { panic!("one is due") };
    let days = i64::try_from(FAILING_MAX.as_secs()).expect("seconds");
    let failures: Vec<_> = (0..FAILURES_MAX).map(|_| made(first, 500, 2)).collect();
    store.deliveries.mark_attempts(&failures).await.expect("written");
    let read =
        async || store.webhooks.find_any_webhook(webhook.id).await.expect("read").expect("there").status;
    assert_eq!(read().await, WebhookStatus::Enabled);
    store.deliveries.mark_attempts(&[made(first, 500, 2 + days)]).await.expect("written");
    let since = at(2 + days);
    assert_eq!(read().await, WebhookStatus::Disabled { reason: DisabledReason::Failing, since });
    assert_eq!(deliveries(&fixture, &webhook, Some(DeliveryStatus::Undelivered)).await.len(), 2);
    assert!(store.deliveries.list_due_webhooks(at(3 + days), LEASE).await.expect("listed").is_empty());
}

#[tokio::test]
async fn a_webhook_is_deleted_while_its_attempts_are_written_down() {
    let Some(fixture) = fixture().await else { return };
    let mut transfers = 0;
    for round in 1..=6 {
        let webhook = registered(&fixture, round).await;
        for _ in 0..8 {
            transfers += 1;
            announces(&fixture, transfers, 0).await;
        }
        let taken = takes(&fixture.store, &webhook, 0, 8).await;
        assert_eq!(taken.len(), 8);
        let mut recorders = JoinSet::new();
        for (number, one) in taken.into_iter().enumerate() {
            let store = fixture.reopen().await;
            recorders.spawn(async move {
                for second in 1..6 {
                    let status = if number % 2 == 0 { 500 } else { 200 };
                    store.deliveries.mark_attempts(&[made(&one, status, second)]).await?;
                }
                Ok::<_, StoreError>(())
            });
        }
        let deleted = fixture.store.webhooks.delete_webhook(fixture.operator.id, webhook.id).await;
        assert!(deleted.expect("deleted"));
        for done in recorders.join_all().await {
            done.expect("written, or forgotten");
        }
        assert!(deliveries(&fixture, &webhook, None).await.is_empty());
    }
}

#[tokio::test]
async fn a_change_that_does_not_know_of_a_disabling_does_not_undo_it() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let seen = registered(&fixture, 1).await;
    announces(&fixture, 1, 0).await;
    let [first] = &takes(store, &seen, 1, 1).await[..] else { panic!("one is due") };
    let days = i64::try_from(FAILING_MAX.as_secs()).expect("seconds");
    let mut failures: Vec<_> = (0..FAILURES_MAX).map(|_| made(first, 500, 2)).collect();
    failures.push(made(first, 500, 2 + days));
    store.deliveries.mark_attempts(&failures).await.expect("written");
    let moved = Webhook { updated_at: at(3), ..seen.clone() };
    assert!(matches!(store.webhooks.mark_webhook_changed(&seen, &moved).await, Err(StoreError::Superseded)));
}
