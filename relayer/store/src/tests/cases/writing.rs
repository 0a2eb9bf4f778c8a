//! Transactions: all or nothing, retried when contended, and without effect on each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;

use super::*;
use crate::{TRIES_MAX, Transaction, operators};

/// How many operators are written at once.
const WRITERS: u8 = 40;

async fn insert(tx: &mut Transaction<'_>, operator: &Operator) -> Result<(), StoreError> {
    operators::insert(operator).execute(tx).await.map(|_| ())
}

async fn names(store: &Store) -> Vec<String> {
    let operators = store.operators.list_operators().await.expect("read");
    operators.iter().map(|operator| operator.id.to_string()).collect()
}

#[tokio::test]
async fn contended_write_is_tried_again_and_not_for_ever() {
    let Some(fixture) = fixture().await else { return };
    for (contended, tries, done) in [(0, 1, true), (2, 3, true), (TRIES_MAX, TRIES_MAX, false)] {
        let tried = Arc::new(AtomicU32::new(0));
        let count = tried.clone();
        let written = fixture.store.write(move |_| {
            let first = count.fetch_add(1, Ordering::SeqCst) < contended;
            async move { if first { Err(StoreError::Contended) } else { Ok(()) } }.boxed()
        });
        assert_eq!(written.await.is_ok(), done, "contended {contended} times");
        assert_eq!(tried.load(Ordering::SeqCst), tries, "contended {contended} times");
    }
}

#[tokio::test]
async fn write_that_fails_otherwise_is_rolled_back_and_not_tried_again() {
    let Some(fixture) = fixture().await else { return };
    let before = names(&fixture.store).await;
    let tried = Arc::new(AtomicU32::new(0));
    let count = tried.clone();
    let written = fixture.store.write(move |tx| {
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            insert(tx, &operator(50)).await?;
            Err::<(), _>(StoreError::Superseded)
        }
        .boxed()
    });
    assert!(matches!(written.await, Err(StoreError::Superseded)));
    assert_eq!(tried.load(Ordering::SeqCst), 1);
    assert_eq!(names(&fixture.store).await, before);
}

#[tokio::test]
async fn among_many_at_once_each_that_fails_takes_back_nothing_but_itself() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let before = names(store).await.len();
    let write = |number: u8| async move {
        let written = store.write(move |tx| {
            async move {
                insert(tx, &operator(50 + number)).await?;
                match number % 4 {
                    1 => Err(StoreError::Superseded),
                    // The same row again: the database refuses it.
                    2 => insert(tx, &operator(50 + number)).await,
                    _ => Ok(()),
                }
            }
            .boxed()
        });
        (number, written.await)
    };
    for (number, done) in futures::future::join_all((0..WRITERS).map(write)).await {
        let expected = match number % 4 {
            1 => matches!(done, Err(StoreError::Superseded)),
            2 => matches!(done, Err(StoreError::AlreadyThere)),
            _ => done.is_ok(),
        };
        assert!(expected, "{number}: {done:?}");
    }
    let after = names(store).await;
    assert_eq!(after.len(), before + usize::from(WRITERS) / 2);
    for number in (0..WRITERS).filter(|number| number % 4 == 0) {
        assert!(after.contains(&operator(50 + number).id.to_string()), "{number}");
    }
}

#[tokio::test]
async fn answered_write_is_there_for_every_connection() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    for number in 0..WRITERS {
        fixture.store.operators.insert_operator(&operator(50 + number)).await.expect("inserted");
        assert!(
            other.operators.find_operator(operator(50 + number).id).await.expect("read").is_some(),
            "{number}"
        );
    }
}

#[tokio::test]
async fn a_closed_store_refuses_and_has_kept_what_was_asked_before() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let writing = (0..WRITERS)
        .map(|number| async move { store.operators.insert_operator(&operator(50 + number)).await });
    let (written, ()) = tokio::join!(futures::future::join_all(writing), store.close());
    let done = written.iter().filter(|written| written.is_ok()).count();
    assert!(store.operators.insert_operator(&operator(49)).await.is_err());
    assert_eq!(names(&fixture.reopen().await).await.len(), 1 + done);
}

#[tokio::test]
async fn a_database_of_another_build_is_refused_with_words_that_say_so() {
    let Some(fixture) = fixture().await else { return };
    let later = "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1";
    query(later).execute(fixture.store.writer()).await.expect("written");
    let refused = Store::open(&fixture.place.url()).await.err().expect("refused");
    assert!(refused.to_string().starts_with("the database was made by another build"), "{refused}");
}
