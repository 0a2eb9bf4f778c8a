use tokio::task::JoinSet;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_identical_concurrent_claims_exactly_one_is_new() {
    let Some(fixture) = fixture().await else { return };
    // Two processes on one file.
    let stores = [fixture.store.clone(), fixture.reopen().await];
    for round in 0..8u8 {
        let name = format!("key-{round}");
        let mut claims = JoinSet::new();
        for number in 0..24u8 {
            let store = stores[usize::from(number % 2)].clone();
            let new = fixture.transfer(round * 24 + number, &name);
            claims.spawn(async move { store.claim_transfer(&new, clock(0)).await.expect("claimed") });
        }
        let mut new = Vec::new();
        let mut waiting = Vec::new();
        while let Some(claim) = claims.join_next().await {
            match claim.expect("ran") {
                Claim::New(transfer) => new.push(transfer.id),
                Claim::InFlight(transfer) => waiting.push(transfer.id),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((new.len(), waiting.len()), (1, 23));
        assert!(waiting.iter().all(|id| *id == new[0]), "all wait for the one");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_concurrent_retries_exactly_one_runs() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture.store.mark_failed(&first, failure(FailureCode::TransferExpired), at(1)).await.expect("failed");
    let mut claims = JoinSet::new();
    for number in 10..40u8 {
        let (store, new) = (fixture.store.clone(), fixture.transfer(number, "a"));
        claims.spawn(async move { store.claim_transfer(&new, clock(2)).await.expect("claimed") });
    }
    let mut retries = 0;
    while let Some(claim) = claims.join_next().await {
        match claim.expect("ran") {
            Claim::Retry(_) => retries += 1,
            Claim::InFlight(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(retries, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_ends_of_one_transfer_exactly_one_is_written() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = fixture.store.mark_signed(&first, signed(1), at(1)).await.expect("signed");
    let (settle, fail) = tokio::join!(
        fixture.store.mark_settled(&sent, settlement(2), at(2)),
        fixture.store.mark_failed(&sent, failure(FailureCode::TransferExpired), at(2)),
    );
    assert_eq!([settle.is_ok(), fail.is_ok()].iter().filter(|done| **done).count(), 1);
}
