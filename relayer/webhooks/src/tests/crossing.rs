use super::support::{Scene, at};
use purser_model::*;
use std::sync::atomic::Ordering;

const LOW: [EventType; 1] = [EventType::BalanceLowThreshold];

async fn holds(scene: &Scene, usdc: u64, second: i64) {
    let balance = UsdcAmount::from_micros(usdc * 1_000_000);
    sees(scene, BalanceSeen { balance, read_at: at(second), paid: Vec::new() }).await;
}

/// Pays, and then turns out to hold `usdc`.
async fn paid(scene: &Scene, (amount, asked_at): (u64, i64), usdc: u64, second: i64) {
    let whole = |usdc: u64| UsdcAmount::from_micros(usdc * 1_000_000);
    let paid = vec![(whole(amount), at(asked_at))];
    sees(scene, BalanceSeen { balance: whole(usdc), read_at: at(second), paid }).await;
}

async fn sees(scene: &Scene, seen: BalanceSeen) {
    let second = u128::try_from(seen.read_at.unix_seconds()).expect("positive");
    let bits = u128::from(seen.balance.micros()) << 64 | second;
    let now = seen.read_at;
    scene.store.events.mark_balance(&scene.account, seen, now, move || bits).await.expect("noted");
}

/// The balances that were announced as low, with their thresholds.
async fn announced(scene: &Scene) -> Vec<(String, String)> {
    let text = |data: &serde_json::Value, field: &str| data[field].as_str().expect("a text").to_owned();
    let read = |event: &Event| {
        let data = serde_json::from_str(event.data.get()).expect("JSON");
        (text(&data, "balance_usdc"), text(&data, "threshold_usdc"))
    };
    scene.events().await.iter().map(read).collect()
}

#[tokio::test]
async fn a_crossing_is_announced_once_and_again_only_after_the_balance_was_back() {
    let scene = Scene::set().await;
    let (webhook, _) = scene.webhook(1, "a.example.com", &LOW, 50).await;
    for (second, usdc) in [(1, 100), (2, 50), (3, 49), (4, 10), (5, 49), (6, 50), (7, 20), (8, 90)] {
        holds(&scene, usdc, second).await;
    }
    let expected = [("49.000000".into(), "50.000000".into()), ("20.000000".into(), "50.000000".into())];
    assert_eq!(announced(&scene).await, expected);
    assert_eq!(scene.deliveries(&webhook).await.len(), 2);
    let data: serde_json::Value = serde_json::from_str(scene.events().await[0].data.get()).expect("JSON");
    assert_eq!(data["account_id"], scene.account.id.to_string());
    assert_eq!(data["usdc_token_account"], scene.account.token_account.to_string());
}

#[tokio::test]
async fn a_balance_that_was_low_from_the_start_crossed_nothing() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 10, 1).await;
    holds(&scene, 5, 2).await;
    assert!(announced(&scene).await.is_empty());
}

#[tokio::test]
async fn a_reading_that_comes_late_changes_nothing() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 100, 1).await;
    holds(&scene, 40, 5).await;
    holds(&scene, 100, 3).await;
    holds(&scene, 30, 6).await;
    assert_eq!(announced(&scene).await, [("40.000000".into(), "50.000000".into())]);
}

#[tokio::test]
async fn unseen_deposit_counts_through_the_payment_that_it_allowed() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 60, 1).await;
    paid(&scene, (20, 2), 40, 3).await;
    // 30 came in, then 25 of the 70 were paid. 5 came in, then 10 of the 50 were paid: starting at the threshold itself.
    paid(&scene, (25, 4), 45, 5).await;
    paid(&scene, (10, 6), 40, 7).await;
    // 5 came in and another 10 were paid: the balance equals the last known one, but it crossed the threshold in between.
    paid(&scene, (10, 8), 40, 9).await;
    let announced = announced(&scene).await;
    let balances: Vec<_> = announced.iter().map(|(balance, _)| balance.as_str()).collect();
    assert_eq!(balances, ["40.000000", "45.000000", "40.000000", "40.000000"]);
}

#[tokio::test]
async fn crossing_payment_is_not_hidden_by_a_later_one_at_the_same_look() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 45, 1).await;
    // 15 came in, 16 were paid, then 1 more: one look sees both payments.
    let whole = |usdc: u64| UsdcAmount::from_micros(usdc * 1_000_000);
    let both = [(1, 3), (16, 2)].map(|(amount, second)| (whole(amount), at(second)));
    sees(&scene, BalanceSeen { balance: whole(43), read_at: at(4), paid: both.to_vec() }).await;
    sees(&scene, BalanceSeen { balance: whole(43), read_at: at(5), paid: both.to_vec() }).await;
    assert_eq!(announced(&scene).await, [("43.000000".into(), "50.000000".into())]);
}

#[tokio::test]
async fn a_payment_that_others_have_looked_at_already_is_not_counted_twice() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 70, 1).await;
    // Two payments at once, and both are there when the first is looked at.
    paid(&scene, (15, 2), 40, 4).await;
    paid(&scene, (15, 3), 40, 5).await;
    // Below all the time.
    paid(&scene, (5, 6), 35, 7).await;
    assert_eq!(announced(&scene).await, [("40.000000".into(), "50.000000".into())]);
}

#[tokio::test]
async fn every_threshold_has_its_own_crossing_and_webhooks() {
    let scene = Scene::set().await;
    let (fifty, _) = scene.webhook(1, "fifty.example.com", &LOW, 50).await;
    let (too, _) = scene.webhook(2, "too.example.com", &LOW, 50).await;
    let (thirty, _) = scene.webhook(3, "thirty.example.com", &LOW, 30).await;
    let (unsubscribed, _) =
        scene.webhook(4, "unsubscribed.example.com", &[EventType::TransferSettled], 50).await;
    holds(&scene, 100, 1).await;
    holds(&scene, 40, 2).await;
    holds(&scene, 20, 3).await;
    let count = async |webhook| scene.deliveries(webhook).await.len();
    assert_eq!(
        (count(&fifty).await, count(&too).await, count(&thirty).await, count(&unsubscribed).await),
        (1, 1, 1, 0)
    );
    assert_eq!(announced(&scene).await.len(), 2, "one event per threshold");
}

#[tokio::test]
async fn webhook_compares_with_what_was_read_since_it_was_made() {
    let scene = Scene::set().await;
    let made_at = async |number, second| {
        scene.now.store(second, Ordering::SeqCst);
        scene.webhook(number, "a.example.com", &LOW, 50).await.0
    };
    let first = made_at(1, 0).await;
    holds(&scene, 60, 1).await;
    let second = made_at(2, 5).await;
    holds(&scene, 60, 6).await;
    let third = made_at(3, 7).await;
    holds(&scene, 40, 8).await;
    let count = async |webhook| scene.deliveries(webhook).await.len();
    assert_eq!((count(&first).await, count(&second).await, count(&third).await), (1, 1, 0));
    holds(&scene, 60, 9).await;
    holds(&scene, 40, 10).await;
    assert_eq!((count(&first).await, count(&second).await, count(&third).await), (2, 2, 1));
}

#[tokio::test]
async fn two_relayers_that_see_the_same_crossing_announce_it_once() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 100, 1).await;
    let (other, _) = scene.after_a_crash().await;
    let low = BalanceSeen { balance: UsdcAmount::from_micros(40_000_000), read_at: at(2), paid: Vec::new() };
    let mark = |store: &purser_store::Store, bits: u128| {
        let (store, account, low) = (store.clone(), scene.account.clone(), low.clone());
        async move { store.events.mark_balance(&account, low, at(2), move || bits).await }
    };
    let (one, two) = tokio::join!(mark(&scene.store, 1), mark(&other, 2));
    one.and(two).expect("noted");
    assert_eq!(announced(&scene).await.len(), 1);
}
