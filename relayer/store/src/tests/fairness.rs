//! How one tenant's lists and deletions slow another tenant's payments: at most to twice the time, compared with the same
//! payments just before and after. Only with `PURSER_TEST_LONG`:
//!
//! ```text
//! PURSER_TEST_LONG=1 cargo test -p purser-store --lib fairness -- --nocapture --test-threads 1
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio_util::task::TaskTracker;

use super::*;

const ROWS: u32 = 200_000;
const PAYMENTS: u32 = 400;
/// The default rate limit of one key.
const LISTS_A_SECOND: u64 = 50;
/// The service's batch size.
const CLEANED_AT_ONCE: u32 = 100;
/// The attempts of the webhook that is deleted.
const ATTEMPTS: u32 = 1_000_000;

/// Durations of payments in milliseconds, sorted.
struct Times(Vec<f64>);

impl Times {
    fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    fn text(&self) -> String {
        format!("p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms", self.at(0.5), self.at(0.99), self.at(1.0))
    }
}

/// Payments of another operator, four at a time: claimed, signed, settled.
async fn pays(fixture: &Fixture, first: u32) -> Times {
    let payer = async |lane: u32| {
        let mut times = Vec::new();
        for number in (0..PAYMENTS / 4).map(|number| first + number * 4 + lane) {
            let mut new = fixture.transfer(0, &format!("fair {number}"));
            new.transfer.id = TransferId::with_tag(at(1), u128::from(number), new.transfer.id.tag());
            new.transfer.operator_id = operator(201).id;
            new.transfer.request.from = account(&operator(201), 202).id;
            let begun = Instant::now();
            let Claim::New(transfer) = fixture.claim(&new, 1).await else { panic!("not new") };
            let store = &fixture.store;
            let signed = SignedTransfer { signature: format!("fair {number}"), ..signed(1) };
            let transfer = store.transfers.mark_signed(&transfer, signed, at(1)).await.expect("signed");
            let signature = format!("fair {number}");
            let settled = Settlement { signature, settled_at: at(2), slot: 5, number: None };
            store.transfers.mark_settled(&transfer, settled, at(2)).await.expect("settled");
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        times
    };
    let lanes = futures::join!(payer(0), payer(1), payer(2), payer(3));
    let mut times = [lanes.0, lanes.1, lanes.2, lanes.3].concat();
    times.sort_by(f64::total_cmp);
    Times(times)
}

/// What the other tenant does meanwhile.
#[derive(Debug, Clone, Copy)]
enum Beside {
    /// Every list with every filter, as often as one key may ask.
    Lists,
    /// Lists without a pause.
    ListsUnpaced,
    /// Deletes a webhook.
    Deletion,
}

/// Runs every list with every filter in a loop.
async fn lists(fixture: &Fixture, is_over: &AtomicBool, is_paced: bool) -> u64 {
    let (store, operator, account) = (&fixture.store, fixture.operator.id, fixture.account.id);
    let webhook = WebhookId::from_bytes([1; 16]);
    let mut pace = tokio::time::interval(Duration::from_millis(1_000 / LISTS_A_SECOND));
    let mut lists = 0;
    while !is_over.load(Ordering::SeqCst) {
        if is_paced {
            pace.tick().await;
        }
        match lists % 8 {
            0 => drop(
                store.deliveries.list_deliveries(operator, webhook, None, None, 101).await.expect("listed"),
            ),
            1 => {
                let status = Some(DeliveryStatus::Undelivered);
                drop(
                    store
                        .deliveries
                        .list_deliveries(operator, webhook, status, None, 101)
                        .await
                        .expect("listed"),
                );
            }
            2 | 3 => {
                let status = (lists % 8 == 3).then_some(HistoryStatus::Rejected);
                let filter = HistoryFilter { status, ..HistoryFilter::default() };
                drop(
                    store.history.list_history(operator, account, &filter, None, 101).await.expect("listed"),
                );
            }
            4 => {
                let account = (lists % 16 == 4).then_some(account);
                drop(store.events.list_events(operator, None, account, None, 101).await.expect("listed"));
            }
            5 => {
                let rejected = Some(EventType::TransferRejected);
                drop(
                    store
                        .events
                        .list_events(operator, rejected, Some(account), None, 101)
                        .await
                        .expect("listed"),
                );
            }
            6 => drop(store.accounts.list_accounts(operator, None, None, 101).await.expect("listed")),
            _ => {
                let paused = Some(AccountStatus::Paused);
                drop(store.accounts.list_accounts(operator, paused, None, 101).await.expect("listed"));
            }
        }
        lists += 1;
    }
    lists
}

/// Gives the webhook so many attempts, several to each delivery.
async fn attempts(fixture: &Fixture) {
    let webhook = WebhookId::from_bytes([1; 16]);
    let each = ATTEMPTS / (ROWS / 2);
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {each})
         INSERT INTO delivery_attempts
             (operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body)
         SELECT operator_id, webhook_id, event_id, n.i, started_at, ended_at, status_code, body
         FROM delivery_attempts CROSS JOIN n WHERE webhook_id = '{webhook}' AND attempt = 1"
    );
    many_rows::run(fixture, &sql).await;
}

/// Deletes that webhook.
async fn deletes(fixture: &Fixture, is_over: &AtomicBool) -> u64 {
    let webhook = WebhookId::from_bytes([1; 16]);
    assert!(fixture.store.webhooks.delete_webhook(fixture.operator.id, webhook).await.expect("deleted"));
    let old = Retention::default().too_old(at(0));
    let mut deleted = 0;
    while !is_over.load(Ordering::SeqCst) {
        let begun = Instant::now();
        deleted += fixture.store.upkeep.clean_up(&old, CLEANED_AT_ONCE).await.expect("cleaned");
        tokio::time::sleep(begun.elapsed().max(Duration::from_millis(5))).await;
    }
    deleted
}

async fn measures(fixture: Fixture) {
    let hook = Webhook {
        id: WebhookId::from_bytes([1; 16]),
        operator_id: fixture.operator.id,
        url: WebhookUrl::from_stored("https://example.com/hook").expect("a URL"),
        subscription: Subscription::new(vec![EventType::TransferSettled], Vec::new(), None).expect("valid"),
        status: WebhookStatus::Enabled,
        health: EndpointHealth::default(),
        previous_secret_until: None,
        watches_since: at(0),
        created_at: at(0),
        updated_at: at(0),
    };
    let sealed = SealedSecret::from_stored("sealed".to_owned());
    fixture.store.webhooks.insert_webhook(&hook, &sealed, 100).await.expect("inserted");
    many_rows::fill(&fixture, ROWS).await;
    attempts(&fixture).await;
    let fixture = Arc::new(fixture);
    let kind = fixture.store.kind();
    let mut firsts = (0..).step_by(100_000);
    let mut pay = async || pays(&fixture, firsts.next().expect("endless")).await;
    pay().await;
    let mut before = pay().await;
    println!("{kind}, alone: {}", before.text());
    for beside in [Beside::Lists, Beside::ListsUnpaced, Beside::Deletion] {
        let is_over = Arc::new(AtomicBool::new(false));
        let other = TaskTracker::new().spawn({
            let (fixture, is_over) = (fixture.clone(), is_over.clone());
            async move {
                match beside {
                    Beside::Lists => lists(&fixture, &is_over, true).await,
                    Beside::ListsUnpaced => lists(&fixture, &is_over, false).await,
                    Beside::Deletion => deletes(&fixture, &is_over).await,
                }
            }
        });
        let times = pay().await;
        is_over.store(true, Ordering::SeqCst);
        let done = other.await.expect("it did not panic");
        let after = pay().await;
        // The slower of both: other work on the machine comes and goes.
        let alone = before.at(0.5).max(after.at(0.5));
        let half = times.at(0.5) / alone;
        println!(
            "{kind}, beside {beside:?} ({done}): {}; alone p50 {alone:.2} ms, {half:.2} x",
            times.text()
        );
        assert!(done > 0, "nothing was done beside");
        assert!(half <= 2.0, "{kind}: beside {beside:?} payments take {half:.2} times as long");
        before = after;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_beside_another_tenants_lists_and_deletions_take_at_most_twice_as_long() {
    if std::env::var_os("PURSER_TEST_LONG").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    measures(Fixture::in_place(Place::Folder(folder)).await).await;
    if let Some(fixture) = postgres::fixture().await {
        measures(fixture).await;
    }
}
