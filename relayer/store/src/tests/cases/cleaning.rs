//! Expired rows are deleted in small batches, and nothing else is.

use super::*;
use crate::AttemptMade;
use crate::deliveries::GIVEN_UP_AT_ONCE;
use crate::refusals::{Counted, last_allowed};

const DAY: i64 = 86_400;

fn webhook(fixture: &Fixture, number: u8) -> Webhook {
    Webhook {
        id: WebhookId::from_bytes([number; 16]),
        operator_id: fixture.operator.id,
        url: WebhookUrl::from_stored("https://example.com/hook").expect("a URL"),
        subscription: Subscription::new(vec![EventType::TransferRejected], Vec::new(), None).expect("valid"),
        status: WebhookStatus::Enabled,
        health: EndpointHealth::default(),
        previous_secret_until: None,
        watches_since: at(0),
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn registered(fixture: &Fixture, number: u8) -> Webhook {
    let webhook = webhook(fixture, number);
    let sealed = SealedSecret::from_stored("sealed".to_owned());
    fixture.store.webhooks.insert_webhook(&webhook, &sealed, 100).await.expect("inserted");
    webhook
}

/// Inserts an event for this webhook alone. With a status, makes one attempt that ends with it.
async fn sends(fixture: &Fixture, webhook: &Webhook, seconds: i64, status: Option<u16>) -> EventId {
    let event =
        Event::webhook_test(fixture.operator.id, webhook.id, at(seconds), u128::from(rand::random::<u64>()));
    fixture.store.webhooks.insert_test_event(webhook, &event, at(seconds)).await.expect("inserted");
    let Some(status) = status else { return event.id };
    let taken =
        fixture.store.deliveries.take_due_deliveries(webhook, at(seconds), at(seconds + 30), 10).await;
    for (event, failures) in taken.expect("taken") {
        let outcome = AttemptOutcome::Answered { status, body: String::new() };
        let next = if outcome.is_success() {
            DeliveryState::Delivered { delivered_at: at(seconds) }
        } else {
            DeliveryState::after_failure(failures, at(seconds))
        };
        let attempt = Attempt { started_at: at(seconds), ended_at: at(seconds), outcome };
        let (operator_id, webhook_id) = (webhook.operator_id, webhook.id);
        let made = AttemptMade { operator_id, webhook_id, event_id: event.id, attempt, next };
        fixture.store.deliveries.mark_attempts(&[made]).await.expect("written");
    }
    event.id
}

async fn counts(fixture: &Fixture, table: &'static str) -> i64 {
    let count = sql! {"SELECT COUNT(*) FROM {table}", table = Sql(table)};
    count.fetch_optional(fixture.store.reader()).await.expect("counted").expect("a number")
}

fn nothing_old() -> TooOld {
    Retention::default().too_old(at(0))
}

/// Cleans up to the end, and returns how many rows each step touched.
async fn cleans_up(fixture: &Fixture, old: &TooOld, rows_max: u32) -> Vec<u64> {
    let mut steps = Vec::new();
    loop {
        match fixture.store.upkeep.clean_up(old, rows_max).await.expect("cleaned") {
            0 => return steps,
            touched => steps.push(touched),
        }
    }
}

#[tokio::test]
async fn rows_of_a_deleted_webhook_are_deleted_a_few_at_a_time() {
    let Some(fixture) = fixture().await else { return };
    let (gone, stays) = (registered(&fixture, 1).await, registered(&fixture, 2).await);
    for second in 0..5 {
        sends(&fixture, &gone, second, Some(500)).await;
        sends(&fixture, &stays, second, Some(200)).await;
    }
    sends(&fixture, &gone, 6, None).await;
    let deliveries = counts(&fixture, "deliveries").await;
    assert!(fixture.store.webhooks.delete_webhook(fixture.operator.id, gone.id).await.expect("deleted"));
    assert_eq!(
        counts(&fixture, "deliveries").await,
        deliveries,
        "the deletion itself does not wait for them"
    );
    let listed =
        fixture.store.deliveries.list_deliveries(fixture.operator.id, gone.id, None, None, 100).await;
    assert!(listed.expect("listed").is_empty(), "and nobody sees them");
    let steps = cleans_up(&fixture, &nothing_old(), 2).await;
    assert!(steps.len() > 5 && steps.iter().all(|touched| *touched <= 2), "{steps:?}");
    assert_eq!(counts(&fixture, "deliveries").await, 5);
    assert_eq!(counts(&fixture, "delivery_attempts").await, 5);
    assert_eq!(counts(&fixture, "deleted_webhooks").await, 0);
    let listed =
        fixture.store.deliveries.list_deliveries(fixture.operator.id, stays.id, None, None, 100).await;
    assert!(listed.expect("listed").iter().all(|one| one.attempts.len() == 1));
}

#[tokio::test]
async fn any_number_of_pending_deliveries_of_a_disabled_webhook_is_undelivered() {
    let Some(fixture) = fixture().await else { return };
    let webhook = registered(&fixture, 1).await;
    let pending = GIVEN_UP_AT_ONCE + 3;
    for _ in 0..pending {
        sends(&fixture, &webhook, 1, None).await;
    }
    let status = WebhookStatus::Disabled { reason: DisabledReason::Requested, since: at(2) };
    let off = Webhook { status, updated_at: at(2), ..webhook.clone() };
    fixture.store.webhooks.mark_webhook_changed(&webhook, &off).await.expect("disabled");
    assert_eq!(cleans_up(&fixture, &nothing_old(), 2).await, [2, 1]);
    let undelivered = Some(DeliveryStatus::Undelivered);
    let listed = fixture
        .store
        .deliveries
        .list_deliveries(fixture.operator.id, webhook.id, undelivered, None, 1_000)
        .await;
    let listed = listed.expect("listed");
    assert_eq!(listed.len(), usize::try_from(pending).expect("a number"));
    assert!(listed.iter().all(|one| one.state == DeliveryState::Undelivered { since: at(2) }));
}

#[tokio::test]
async fn attempts_and_events_go_when_they_are_too_old_and_what_is_pending_stays() {
    let Some(fixture) = fixture().await else { return };
    let webhook = registered(&fixture, 1).await;
    let deleted = registered(&fixture, 2).await;
    sends(&fixture, &webhook, 0, Some(200)).await;
    sends(&fixture, &deleted, 0, None).await;
    let pending = sends(&fixture, &webhook, DAY, None).await;
    let young = sends(&fixture, &webhook, 40 * DAY, Some(200)).await;
    let taken = fixture.store.deliveries.take_due_deliveries(&webhook, at(40 * DAY), at(41 * DAY), 10).await;
    assert!(taken.expect("taken").is_empty(), "the pending one was attempted with the young one");
    fixture
        .store
        .webhooks
        .replay_event(&webhook, &found(&fixture, pending).await, at(40 * DAY))
        .await
        .expect("replayed");

    let attempts = TooOld { events_before: None, ..Retention::of_days(30, 30, 0).too_old(at(41 * DAY)) };
    assert_eq!(cleans_up(&fixture, &attempts, 10).await, [1]);
    assert_eq!(counts(&fixture, "events").await, 4);
    assert!(fixture.store.webhooks.delete_webhook(fixture.operator.id, deleted.id).await.expect("deleted"));
    cleans_up(&fixture, &nothing_old(), 10).await;

    let old = Retention::of_days(30, 30, 0).too_old(at(41 * DAY));
    cleans_up(&fixture, &old, 1).await;
    assert_eq!(counts(&fixture, "events").await, 4, "they wait for their places");
    fixture.store.events.place_waiting(at(41 * DAY)).await.expect("placed");
    cleans_up(&fixture, &old, 1).await;
    let left =
        fixture.store.events.list_events(fixture.operator.id, None, None, None, 10).await.expect("listed");
    let left: Vec<EventId> = left.iter().map(|event| event.id).collect();
    assert_eq!(left, [young, pending], "what is old, and what is on its way");
    assert_eq!(counts(&fixture, "deliveries").await, 2);
}

async fn found(fixture: &Fixture, id: EventId) -> Event {
    fixture.store.events.find_event(fixture.operator.id, id).await.expect("read").expect("there")
}

#[tokio::test]
async fn finished_transfers_go_when_nothing_refers_to_them_and_what_moved_money_stays_in_the_history() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let begun = |number: u8, seconds: i64| {
        let new = fixture.transfer(number, &number.to_string());
        let fixture = &fixture;
        async move {
            let id = TransferId::with_tag(at(seconds), u128::from(number), new.transfer.id.tag());
            fixture.claim_new(&new_transfer(Transfer { id, ..new.transfer }), seconds).await
        }
    };
    let paid = begun(1, 0).await;
    let paid = store.transfers.mark_signed(&paid, signed(1), at(1)).await.expect("signed");
    let paid = store.transfers.mark_settled(&paid, settlement(2), at(2)).await.expect("settled");
    let refused = begun(2, 0).await;
    let refused = store
        .transfers
        .mark_rejected(&refused, rejection(RejectionReason::Paused), at(1))
        .await
        .expect("rejected");
    let failed = begun(3, 0).await;
    let failed = store
        .transfers
        .mark_failed(&failed, failure(FailureCode::SolanaUnavailable), at(1))
        .await
        .expect("failed");
    let open = begun(4, 0).await;
    let young = begun(5, 9 * DAY).await;
    let young = store
        .transfers
        .mark_failed(&young, failure(FailureCode::SolanaUnavailable), at(9 * DAY))
        .await
        .expect("failed");
    let is_there = async |transfer: &Transfer| {
        store.transfers.find_transfer(fixture.operator.id, transfer.id).await.expect("read").is_some()
    };

    store.events.place_waiting(at(9 * DAY)).await.expect("placed");
    // Whatever the retention of transfers, a key lives for its 24 hours by the given time.
    let early = TooOld { now: at(DAY - 1), ..Retention::of_days(2, 2, 2).too_old(at(10 * DAY)) };
    cleans_up(&fixture, &early, 10).await;
    assert_eq!(counts(&fixture, "events").await, 0);
    for transfer in [&paid, &refused, &failed, &open, &young] {
        assert!(is_there(transfer).await);
    }
    assert!(matches!(fixture.claim(&fixture.transfer(9, "2"), DAY - 1).await, Claim::Replay(_)));

    let refusals = Retention::of_days(2, 2, 0).with_refusals_of_days(9).too_old(at(9 * DAY));
    assert!(cleans_up(&fixture, &refusals, 2).await.is_empty(), "they are not old enough");
    let old = Retention::of_days(2, 2, 2).too_old(at(10 * DAY));
    assert_eq!(cleans_up(&fixture, &old, 2).await, [1, 1, 1], "one of each end");
    for (transfer, stays) in
        [(&paid, false), (&refused, false), (&failed, false), (&open, true), (&young, true)]
    {
        assert_eq!(is_there(transfer).await, stays, "{}", transfer.id);
    }
    let history = store
        .history
        .list_history(fixture.operator.id, fixture.account.id, &HistoryFilter::default(), None, 10)
        .await;
    let history = history.expect("listed");
    assert!(
        matches!(&history[..], [one] if matches!(one.entry.outcome, EntryOutcome::Settled { .. })),
        "{history:?}"
    );
}

#[tokio::test]
async fn refused_and_failed_transfers_go_sooner_than_payments_where_that_is_set() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let begun = async |number: u8| {
        let new = fixture.transfer(number, &number.to_string());
        let id = TransferId::with_tag(at(0), u128::from(number), new.transfer.id.tag());
        fixture.claim_new(&new_transfer(Transfer { id, ..new.transfer }), 0).await
    };
    let paid = store.transfers.mark_signed(&begun(1).await, signed(1), at(1)).await.expect("signed");
    let paid = store.transfers.mark_settled(&paid, settlement(2), at(2)).await.expect("settled");
    let refused =
        store.transfers.mark_rejected(&begun(2).await, rejection(RejectionReason::Paused), at(1)).await;
    let failed =
        store.transfers.mark_failed(&begun(3).await, failure(FailureCode::InsufficientBalance), at(1)).await;
    let is_there = async |transfer: &Transfer| {
        store.transfers.find_transfer(fixture.operator.id, transfer.id).await.expect("read").is_some()
    };
    store.events.place_waiting(at(2)).await.expect("placed");
    let old = Retention::of_days(2, 2, 0).with_refusals_of_days(2).too_old(at(3 * DAY));
    cleans_up(&fixture, &old, 1).await;
    assert!(is_there(&paid).await);
    assert!(!is_there(&refused.expect("rejected")).await && !is_there(&failed.expect("failed")).await);
    // Where both are set, the earlier of the two.
    let old = Retention::of_days(2, 2, 3).with_refusals_of_days(9).too_old(at(4 * DAY));
    assert_eq!((old.transfers_before, old.refusals_before), (Some(at(DAY)), Some(at(DAY))));
    let old = Retention::of_days(2, 2, 9).with_refusals_of_days(3).too_old(at(4 * DAY));
    assert_eq!(old.refusals_before, Some(at(DAY)));
}

#[tokio::test]
async fn refusals_are_counted_back_to_the_last_that_a_budget_allows() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let mut ids = Vec::new();
    for number in 1..=4_u8 {
        let second = i64::from(number) * 10;
        let new = fixture.transfer(number, &number.to_string());
        let id = TransferId::with_tag(at(second), 0, new.transfer.id.tag());
        let claimed = fixture.claim_new(&new_transfer(Transfer { id, ..new.transfer }), second).await;
        match number % 2 {
            0 => {
                store
                    .transfers
                    .mark_failed(&claimed, failure(FailureCode::InsufficientBalance), at(second))
                    .await
            }
            _ => {
                store.transfers.mark_rejected(&claimed, rejection(RejectionReason::Paused), at(second)).await
            }
        }
        .expect("ended");
        ids.push(id);
    }
    fixture.claim_new(&fixture.transfer(5, "open"), 50).await;
    let last = async |since: i64, per_account: u32, per_operator: u32| {
        let whose = (fixture.operator.id, fixture.account.id);
        let limits = RefusalLimits { per_account, per_operator };
        last_allowed(store.transfers.reader(), whose, Counted::AccountAndOperator, at(since), limits)
            .await
            .expect("read")
    };
    assert_eq!(last(0, 1, 9).await, Some(ids[3]));
    assert_eq!(last(0, 4, 9).await, Some(ids[0]));
    assert_eq!(last(0, 5, 9).await, None);
    assert_eq!(last(0, 9, 2).await, Some(ids[2]), "the operator's");
    assert_eq!(last(0, 3, 2).await, Some(ids[1]), "the account's, where it has so many");
    assert_eq!(last(25, 3, 9).await, None, "only two since then");
    for (per_account, found) in [(4, Some(ids[0])), (5, None)] {
        let (whose, limits) =
            ((fixture.operator.id, fixture.account.id), RefusalLimits { per_account, per_operator: 1 });
        let of_account = last_allowed(store.transfers.reader(), whose, Counted::Account, at(0), limits);
        assert_eq!(of_account.await.expect("read"), found, "others' do not count");
    }
    let nobody = (fixture.operator.id, AccountId::from_bytes([77; 16]));
    let limits = RefusalLimits { per_account: 1, per_operator: 9 };
    let theirs = last_allowed(store.transfers.reader(), nobody, Counted::AccountAndOperator, at(0), limits);
    let theirs = theirs.await.expect("read");
    assert_eq!(theirs, None);
}

#[tokio::test]
async fn what_others_send_is_refused_once_the_account_has_its_number_of_refusals() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let new = fixture.transfer(1, "refused").transfer;
    let id = TransferId::with_tag(at(1), 1, new.id.tag());
    let refused = fixture.claim_new(&new_transfer(Transfer { id, ..new }), 1).await;
    store
        .transfers
        .mark_rejected(&refused, rejection(RejectionReason::Paused), at(1))
        .await
        .expect("rejected");
    let asks = async |number: u8, fee_payer: Option<Address>, refusals: RefusalLimits| {
        let mut new = fixture.transfer(number, &format!("key {number}"));
        new.transfer.fee_payer = fee_payer;
        let next = TransferState::Signed(SignedTransfer { signature: number.to_string(), ..signed(number) });
        fixture.claim(&NewTransfer { next, refusals, ..new }, 2).await
    };
    let stranger = Some(Address::from_bytes([8; 32]));
    let limits = |per_account, per_operator| RefusalLimits { per_account, per_operator };
    assert!(matches!(asks(2, stranger, limits(1, 9)).await, Claim::TooManyRefused(_)));
    assert!(matches!(asks(3, None, limits(1, 1)).await, Claim::New(_)), "the account pays the fee");
    assert!(
        matches!(asks(4, stranger, limits(2, 1)).await, Claim::New(_)),
        "others' refusals hold up nobody"
    );
}

#[tokio::test]
async fn actions_are_deleted_once_they_are_as_old_as_they_may_get_and_kept_for_ever_by_default() {
    let Some(fixture) = fixture().await else { return };
    for day in 0..5 {
        let action = super::actions::action(&fixture, "create_key", "key_1", day * DAY);
        fixture.store.actions.insert_action(&action).await.expect("inserted");
    }
    assert!(cleans_up(&fixture, &Retention::default().too_old(at(99 * DAY)), 2).await.is_empty());
    let old = Retention::default().with_actions_of_days(3).too_old(at(6 * DAY));
    assert_eq!(cleans_up(&fixture, &old, 2).await, [2, 1]);
    let kept = fixture.store.actions.list_actions(fixture.operator.id, &Default::default(), None, 9).await;
    let kept: Vec<_> = kept.expect("read").iter().map(|listed| listed.action.created_at).collect();
    assert_eq!(kept, [at(4 * DAY), at(3 * DAY)]);
    let steps = cleans_up(&fixture, &TooOld::nothing(at(99 * DAY)), 2).await;
    assert!(steps.is_empty(), "nobody knows the time: {steps:?}");
}

#[tokio::test]
async fn sign_ins_may_be_deleted_sooner_and_changes_stay() {
    let Some(fixture) = fixture().await else { return };
    for (day, name) in ["sign_in", "create_key", "sign_out", "update_policy", "sign_in"].iter().enumerate() {
        let made_at = i64::try_from(day).expect("small") * DAY;
        let action = super::actions::action(&fixture, name, "key_1", made_at);
        fixture.store.actions.insert_action(&action).await.expect("inserted");
    }
    let old = Retention::default().with_sign_ins_of_days(2).too_old(at(5 * DAY));
    assert_eq!(cleans_up(&fixture, &old, 1).await, [1, 1]);
    let kept = fixture.store.actions.list_actions(fixture.operator.id, &Default::default(), None, 9).await;
    let kept: Vec<_> = kept.expect("read").iter().map(|listed| listed.action.name.to_string()).collect();
    assert_eq!(kept, ["sign_in", "update_policy", "create_key"]);
}
