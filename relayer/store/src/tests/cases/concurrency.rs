use tokio::task::JoinSet;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exactly_one_of_identical_concurrent_claims_is_new() {
    let Some(fixture) = fixture().await else { return };
    // Two processes on one file.
    let stores = [fixture.store.clone(), fixture.reopen().await];
    for round in 0..8u8 {
        let name = format!("key-{round}");
        let mut claims = JoinSet::new();
        for number in 0..24u8 {
            let store = stores[usize::from(number % 2)].clone();
            let new = fixture.transfer(round * 24 + number, &name);
            claims
                .spawn(async move { store.transfers.claim_transfer(&new, clock(0)).await.expect("claimed") });
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
async fn exactly_one_of_concurrent_retries_runs() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture
        .store
        .transfers
        .mark_failed(&first, failure(FailureCode::TransferExpired), at(1))
        .await
        .expect("failed");
    let mut claims = JoinSet::new();
    for number in 10..40u8 {
        let (store, new) = (fixture.store.clone(), fixture.transfer(number, "a"));
        claims.spawn(async move { store.transfers.claim_transfer(&new, clock(2)).await.expect("claimed") });
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
async fn exactly_one_of_two_endings_of_a_transfer_is_written() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = fixture.store.transfers.mark_signed(&first, signed(1), at(1)).await.expect("signed");
    let (settle, fail) = tokio::join!(
        fixture.store.transfers.mark_settled(&sent, settlement(2), at(2)),
        fixture.store.transfers.mark_failed(&sent, failure(FailureCode::TransferExpired), at(2)),
    );
    assert_eq!([settle.is_ok(), fail.is_ok()].iter().filter(|done| **done).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_additions_do_not_exceed_the_limit() {
    let Some(fixture) = fixture().await else { return };
    // Two processes.
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut made = JoinSet::new();
    for number in 0..60u8 {
        let store = stores[usize::from(number % 2)].clone();
        let (key, plain) = key(&fixture.operator, KeyHolder::Agent(fixture.account.id), 100 + number);
        made.spawn(async move { store.keys.insert_key_within(&key, &plain.hash(), 20).await });
    }
    let made = made.join_all().await;
    // One key is the fixture's.
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 19);
    assert!(made.iter().all(|made| matches!(made, Ok(()) | Err(StoreError::Full))), "{made:?}");
    let keys = fixture.store.keys.list_keys(fixture.operator.id).await.expect("listed");
    fixture.store.keys.mark_key_revoked(fixture.operator.id, keys[0].id, at(1)).await.expect("revoked");
    let (next, plain) = key(&fixture.operator, KeyHolder::Operator, 99);
    fixture.store.keys.insert_key_within(&next, &plain.hash(), 20).await.expect("a revoked one makes room");

    let mut registered = JoinSet::new();
    for number in 0..60u8 {
        let store = stores[usize::from(number % 2)].clone();
        let webhook = super::webhooks::webhook(&fixture, number, None);
        let secret = SealedSecret::from_stored("sealed".into());
        registered.spawn(async move { store.webhooks.insert_webhook(&webhook, &secret, 10).await });
    }
    let registered = registered.join_all().await;
    assert_eq!(registered.iter().filter(|made| made.is_ok()).count(), 10);
    let secrets = fixture.store.webhooks.list_sealed_secrets(None, 7).await.expect("listed");
    let rest = fixture
        .store
        .webhooks
        .list_sealed_secrets(secrets.last().map(|(id, _)| *id), 7)
        .await
        .expect("listed");
    assert_eq!((secrets.len(), rest.len()), (7, 3));
}

#[tokio::test]
async fn a_probe_writes_and_reads() {
    let Some(fixture) = fixture().await else { return };
    for second in 0..3 {
        fixture.store.upkeep.probe_writing(at(second)).await.expect("written");
        fixture.store.upkeep.probe_reading().await.expect("read");
    }
}
