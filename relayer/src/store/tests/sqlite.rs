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
async fn a_disk_that_hangs_collects_a_bounded_number_of_claims_and_takes_what_goes_on() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let other = fixture.place.open_sqlite();
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let claims = (0..600).map(|number| {
        let new = fixture.transfer(1, &format!("order {number}"));
        async move { store.claim_transfer(&new, clock(1)).await }
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
    let (step, ()) = tokio::join!(store.insert_operator(&other_operator), async {
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
            (50..60).map(|byte| async move { store.insert_operator(&operator(byte)).await })
        ),
    );
    assert!(failed.is_err());
    assert!(others.iter().all(Result::is_ok));
    assert_eq!(store.list_operators().await.expect("read").len(), 11);
    let rows: Vec<(String,)> =
        query("SELECT key_id FROM api_keys").fetch_all(store.reader()).await.expect("read");
    assert_eq!(rows.len(), 1);
}
