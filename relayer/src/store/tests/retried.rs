//! Trying again, whatever the database.

use std::cell::Cell;

use super::super::{TRIES_MAX, retried};
use super::*;

#[tokio::test(start_paused = true)]
async fn what_is_contended_is_tried_again_and_not_for_ever() {
    let tries = &Cell::new(0);
    let after = |contended: u32| {
        tries.set(0);
        retried(move || async move {
            tries.set(tries.get() + 1);
            if tries.get() <= contended { Err(StoreError::Contended) } else { Ok(()) }
        })
    };
    assert!(after(0).await.is_ok());
    assert_eq!(tries.get(), 1);
    assert!(after(TRIES_MAX - 1).await.is_ok());
    assert_eq!(tries.get(), TRIES_MAX);
    assert!(matches!(after(TRIES_MAX).await, Err(StoreError::Contended)));
    assert_eq!(tries.get(), TRIES_MAX);
}

#[tokio::test]
async fn what_fails_otherwise_is_not_tried_again() {
    let tries = &Cell::new(0);
    let failed: Result<(), _> = retried(move || async move {
        tries.set(tries.get() + 1);
        Err(StoreError::Superseded)
    })
    .await;
    assert!(matches!(failed, Err(StoreError::Superseded)));
    assert_eq!(tries.get(), 1);
}
