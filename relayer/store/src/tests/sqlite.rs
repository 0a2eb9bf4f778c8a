use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use super::*;

#[path = "cases/mod.rs"]
mod cases;

/// Always available; an option to match Postgres.
async fn fixture() -> Option<Fixture> {
    let folder = tempfile::tempdir().expect("a folder");
    Some(Fixture::in_place(Place::Folder(folder)).await)
}

#[tokio::test]
async fn a_database_is_a_file_and_what_a_file_has_not_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("purser.db").display().to_string();
    for (url, opens) in [
        ("sqlite::memory:".to_owned(), false),
        (format!("sqlite://{file}?mode=memory"), false),
        (format!("sqlite://{file}?immutable=1"), false),
        ("sqlite://".to_owned(), false),
        (format!("sqlite://{file}"), true),
    ] {
        let opened = Store::open(&url).await;
        assert_eq!(opened.is_ok(), opens, "{url}");
        assert!(opens || matches!(opened, Err(StoreError::Unsupported)), "{url}");
        assert_eq!(folder.path().join("purser.db").exists(), opens, "{url}");
    }
}

#[tokio::test]
async fn a_refusal_takes_at_most_so_many_bytes() {
    const REFUSALS: i64 = 1_000;
    /// Transfer, history entry and event, with their indexes.
    const BYTES_MAX: i64 = 3_500;
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let size = || {
        let read = fixture.place.open_sqlite();
        let pragma = |name: &str| read.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        (pragma("page_count").expect("read") - pragma("freelist_count").expect("read"))
            * pragma("page_size").expect("read")
    };
    let rejected = || {
        let check = |rule| RuleCheck { rule, ok: true, limit: Limit::Unlimited, used: UsdcAmount::ZERO };
        let mut checks: Vec<RuleCheck> = CheckedRule::ALL.into_iter().map(check).collect();
        for (place, ok) in [(3, true), (4, false), (5, true)] {
            let limit = Limit::AtMost(UsdcAmount::from_micros(500_000_000));
            checks[place] =
                RuleCheck { ok, limit, used: UsdcAmount::from_micros(123_456_789), ..checks[place] };
        }
        Rejection { checks: Checks(checks), ..rejection(RejectionReason::DailyLimitExceeded) }
    };
    let before = size();
    for number in 0..REFUSALS {
        // A name like those that agents use.
        let mut new = fixture.transfer(1, &format!("7f3c1c1e-5d0e-4f7a-9b1e-{number:012}"));
        let mut bytes = new.transfer.id.bytes();
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        new.transfer.id = TransferId::from_bytes(bytes);
        let claimed = fixture.claim_new(&new, 0).await;
        store.transfers.mark_rejected(&claimed, rejected(), at(1)).await.expect("rejected");
    }
    let each = (size() - before) / REFUSALS;
    eprintln!("a refusal takes {each} bytes");
    assert!(each <= BYTES_MAX, "{each} bytes");
}

#[tokio::test]
async fn a_disk_that_hangs_collects_a_bounded_number_of_claims_and_takes_what_goes_on() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let other = fixture.place.open_sqlite();
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let claims = (0..600).map(|number| {
        let new = fixture.transfer(1, &format!("order {number}"));
        async move { store.transfers.claim_transfer(&new, clock(1)).await }
    });
    let mut claims: FuturesUnordered<_> = claims.collect();
    let mut refused = 0;
    // Whoever is refused is answered at once.
    while let Some(claim) = claims.next().now_or_never() {
        assert!(matches!(claim, Some(Err(StoreError::Unavailable { .. }))), "{claim:?}");
        refused += 1;
    }
    assert_eq!(refused, 600 - 512);
    let other_operator = operator(50);
    let (step, ()) = tokio::join!(store.operators.insert_operator(&other_operator), async {
        other.execute_batch("ROLLBACK").expect("let go");
    });
    step.expect("written");
    assert!(claims.all(async |claim| claim.is_ok()).await, "what waited is written");
}

#[tokio::test]
async fn work_that_panics_is_taken_back_and_stops_nobody_else() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let panicking = store.write::<(), _>(|tx| {
        async move {
            query("DELETE FROM api_keys").execute(tx).await?;
            panic!("on purpose");
        }
        .boxed()
    });
    let (failed, others) = tokio::join!(
        panicking,
        futures::future::join_all(
            (50..60).map(|byte| async move { store.operators.insert_operator(&operator(byte)).await })
        ),
    );
    assert!(failed.is_err());
    assert!(others.iter().all(Result::is_ok));
    assert_eq!(store.operators.list_operators().await.expect("read").len(), 11);
    let rows: Vec<String> =
        query("SELECT key_id FROM api_keys").fetch_all(store.reader()).await.expect("read");
    assert_eq!(rows.len(), 1);
}
