use std::collections::BTreeSet;

use tokio::task::JoinSet;

use super::*;

async fn take(store: &Store, seconds: i64) -> Vec<TransferId> {
    take_up_to(store, seconds, 100).await
}

/// Leases at `seconds`, for 60 s.
async fn take_up_to(store: &Store, seconds: i64, rows_max: u32) -> Vec<TransferId> {
    let taken = store
        .transfers
        .take_unfinished_transfers(Network::Test, at(seconds), at(seconds + 60), rows_max)
        .await;
    taken.expect("taken").into_iter().map(|transfer| transfer.id).collect()
}

#[tokio::test]
async fn transfer_left_by_a_crash_is_taken_once_its_lease_has_ended() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed_one = fixture.claim_new(&fixture.transfer(2, "b"), 1).await;
    let signed_one = store.transfers.mark_signed(&signed_one, signed(1), at(1)).await.expect("signed");
    let sent = fixture.claim_new(&fixture.transfer(3, "c"), 2).await;
    let sent = store.transfers.mark_signed(&sent, signed(2), at(2)).await.expect("signed");
    let sent = store.transfers.mark_sent(&sent, at(2)).await.expect("sent");
    let settled = fixture.claim_new(&fixture.transfer(4, "d"), 0).await;
    store.transfers.mark_settled(&settled, settlement(1), at(1)).await.expect("settled");
    let second = fixture.reopen().await;
    assert_eq!(take(&second, 59).await, [], "the first may be alive");
    assert_eq!(take(&second, 60).await, [claimed.id]);
    let taken =
        second.transfers.take_unfinished_transfers(Network::Test, at(70), at(130), 100).await.expect("taken");
    let states: BTreeSet<_> = taken.iter().map(|transfer| format!("{:?}", transfer.state)).collect();
    assert_eq!(states, [&signed_one, &sent].map(|transfer| format!("{:?}", transfer.state)).into());
    assert_eq!(take(&fixture.store, 119).await, [], "the second may be alive");
    assert_eq!(take(&fixture.store, 130).await.len(), 3, "the second is dead: nothing is lost");
    let live = second.transfers.take_unfinished_transfers(Network::Live, at(999), at(1_000), 100).await;
    assert!(live.expect("taken").is_empty());
}

#[tokio::test]
async fn transfers_left_first_are_taken_first() {
    let Some(fixture) = fixture().await else { return };
    for number in [5, 3, 9, 1] {
        fixture.claim_new(&fixture.transfer(number, &number.to_string()), i64::from(10 - number)).await;
    }
    let first = |ids: Vec<TransferId>| ids.into_iter().map(|id| id.bytes()[0]).collect::<BTreeSet<_>>();
    assert_eq!(first(take_up_to(&fixture.store, 500, 3).await), [9, 5, 3].into());
    assert_eq!(first(take_up_to(&fixture.store, 500, 3).await), [1].into());
}

#[tokio::test]
async fn a_lease_is_renewed_by_its_holder_alone() {
    let Some(fixture) = fixture().await else { return };
    let operator = fixture.operator.id;
    let (first, second) = (&fixture.store, fixture.reopen().await);
    let one = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let other = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    first.transfers.renew_leases(operator, &[one.id], at(200)).await.expect("renewed");
    second.transfers.renew_leases(operator, &[other.id], at(900)).await.expect("nothing of its own");
    assert_eq!(take(&second, 100).await, [other.id]);
    first.transfers.renew_leases(operator, &[one.id, other.id], at(250)).await.expect("renewed");
    assert_eq!(take(first, 160).await, [other.id], "the first lost it to the second, whose lease stood");
    assert_eq!(take(&second, 249).await, [other.id]);
    assert_eq!(take(&second, 250).await, [one.id]);
    assert!(first.transfers.renew_leases(operator, &[], at(1)).await.is_ok());
}

#[tokio::test]
async fn a_lease_of_a_clock_that_was_ahead_keeps_nothing_from_others() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 600).await;
    let second = fixture.reopen().await;
    // A lease of a right clock ends a minute ahead; another minute is allowed for clocks that differ.
    assert_eq!(take(&second, 540).await, []);
    assert_eq!(take(&second, 539).await, [claimed.id]);
    assert_eq!(take(&fixture.store, 598).await, [], "the second holds it now");
}

#[tokio::test]
async fn more_leases_than_one_statement_takes_are_renewed() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let mut ids: Vec<_> = (0..1_200u128).map(|number| TransferId::from_bytes(number.to_be_bytes())).collect();
    ids.push(claimed.id);
    fixture.store.transfers.renew_leases(fixture.operator.id, &ids, at(100)).await.expect("renewed");
    assert_eq!(take(&fixture.reopen().await, 99).await, []);
}

#[tokio::test]
async fn a_stop_gives_its_leases_back_and_nobody_elses() {
    let Some(fixture) = fixture().await else { return };
    let operator = fixture.operator.id;
    let (first, second) = (&fixture.store, fixture.reopen().await);
    let own = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let single = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    let theirs = second.transfers.claim_transfer(&fixture.transfer(3, "c"), clock(0)).await;
    assert!(matches!(theirs, Ok(Claim::New(_))));
    first.transfers.release_lease(operator, single.id, at(1)).await.expect("released");
    second.transfers.release_lease(operator, own.id, at(1)).await.expect("not its own");
    assert_eq!(take(&second, 1).await, [single.id]);
    first.transfers.release_leases(at(2)).await.expect("released");
    assert_eq!(take(&second, 2).await, [own.id]);
}

#[tokio::test]
async fn a_start_ends_the_leases_of_the_dead_where_it_can_tell() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let second = fixture.reopen().await;
    second.transfers.release_orphaned_leases(at(1)).await.expect("released");
    match second.pools {
        Pools::Sqlite { .. } => assert_eq!(take(&second, 1).await, [claimed.id], "one relayer to a file"),
        Pools::Postgres { .. } => {
            assert_eq!(take(&second, 59).await, [], "the first may be alive");
            assert_eq!(take(&second, 60).await, [claimed.id]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_sweeps_take_different_transfers() {
    let Some(fixture) = fixture().await else { return };
    for number in 0..60u8 {
        fixture.claim_new(&fixture.transfer(number, &format!("key-{number}")), 0).await;
    }
    let mut sweeps = JoinSet::new();
    for _ in 0..4 {
        let store = fixture.reopen().await;
        sweeps.spawn(async move {
            let mut all = Vec::new();
            loop {
                let taken = take_up_to(&store, 100, 7).await;
                if taken.is_empty() {
                    return all;
                }
                all.extend(taken);
            }
        });
    }
    let mut taken = Vec::new();
    while let Some(sweep) = sweeps.join_next().await {
        taken.extend(sweep.expect("ran"));
    }
    // A sweep may end while another still holds rows that it skipped; that other one takes them.
    let different: BTreeSet<_> = taken.iter().collect();
    assert_eq!((taken.len(), different.len()), (60, 60), "every one, once");
}
