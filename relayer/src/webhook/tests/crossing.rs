use super::support::{Scene, at};
use crate::domain::*;

const LOW: [EventType; 1] = [EventType::BalanceLowThreshold];

async fn holds(scene: &Scene, usdc: u64, second: i64) {
    let balance = UsdcAmount::from_micros(usdc * 1_000_000);
    let bits = move || u128::from(usdc) << 64 | u128::from(second.unsigned_abs());
    scene.store.mark_balance(&scene.account, balance, at(second), at(second), bits).await.expect("noted");
}

/// The balances that were announced as low, with the threshold.
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
async fn every_threshold_has_its_own_crossing_and_tells_its_own_webhooks() {
    let scene = Scene::set().await;
    let (fifty, _) = scene.webhook(1, "fifty.example.com", &LOW, 50).await;
    let (too, _) = scene.webhook(2, "too.example.com", &LOW, 50).await;
    let (thirty, _) = scene.webhook(3, "thirty.example.com", &LOW, 30).await;
    let (deaf, _) = scene.webhook(4, "deaf.example.com", &[EventType::TransferSettled], 50).await;
    holds(&scene, 100, 1).await;
    holds(&scene, 40, 2).await;
    holds(&scene, 20, 3).await;
    let told = async |webhook| scene.deliveries(webhook).await.len();
    assert_eq!((told(&fifty).await, told(&too).await, told(&thirty).await, told(&deaf).await), (1, 1, 1, 0));
    assert_eq!(announced(&scene).await.len(), 2, "one event per threshold");
}

#[tokio::test]
async fn two_relayers_that_see_the_same_crossing_announce_it_once() {
    let scene = Scene::set().await;
    scene.webhook(1, "a.example.com", &LOW, 50).await;
    holds(&scene, 100, 1).await;
    let (other, _) = scene.after_a_crash().await;
    let low = UsdcAmount::from_micros(40_000_000);
    let mark = |store: &crate::store::Store, bits: u128| {
        let (store, account) = (store.clone(), scene.account.clone());
        async move { store.mark_balance(&account, low, at(2), at(2), move || bits).await }
    };
    let (one, two) = tokio::join!(mark(&scene.store, 1), mark(&other, 2));
    one.and(two).expect("noted");
    assert_eq!(announced(&scene).await.len(), 1);
}
