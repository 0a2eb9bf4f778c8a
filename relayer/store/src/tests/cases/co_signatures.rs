//! What the service signs for approvers is recorded within its bounds, whoever records it.

use tokio::task::JoinSet;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);
/// As a worker takes them.
const LOOK: Duration = Duration::from_secs(120);
const LONGEST: Duration = Duration::from_secs(600);

/// A transfer that waits for a person until second 1,000.
async fn asked(fixture: &Fixture, number: u8) -> Transfer {
    let claimed = fixture.claim_new(&fixture.transfer(number, &format!("key {number}")), 0).await;
    let wanted =
        ApprovalWanted { rejection: rejection(RejectionReason::SingleLimitExceeded), expires_at: at(1_000) };
    let asks = claimed.state.ask(wanted).expect("claimed");
    fixture.store.transfers.mark(&claimed, asks, at(1)).await.expect("marked")
}

fn co_signature(transfer: &Transfer, number: u32, seconds: i64) -> CoSignature {
    CoSignature {
        operator_id: transfer.operator_id,
        transfer_id: transfer.id,
        number,
        approver: Address::from_bytes([5; 32]),
        co_signed: CoSigned { grant: Address::from_bytes([6; 32]), signed: signed(7) },
        created_at: at(seconds),
    }
}

/// With `most` in 24 hours, to be looked at ten seconds later.
async fn inserts(store: &Store, new: &CoSignature, most: u32) -> Result<(), StoreError> {
    let (now, of_day) = (new.created_at, (new.created_at.before(DAY), most));
    store.co_signatures.insert_co_signature(new, now.after(Duration::from_secs(10)), of_day).await
}

async fn lists(fixture: &Fixture, transfer: &Transfer) -> Vec<CoSignature> {
    let rows = &fixture.store.co_signatures;
    rows.list_co_signatures(transfer.operator_id, transfer.id).await.expect("read")
}

async fn counts(fixture: &Fixture, since: i64) -> u64 {
    let rows = &fixture.store.co_signatures;
    rows.count_co_signatures(fixture.operator.id, at(since)).await.expect("counted")
}

async fn takes(store: &Store, seconds: i64) -> Vec<u32> {
    let taken = store.co_signatures.take_co_signatures(at(seconds), LOOK, LONGEST, 10).await;
    let mut numbers: Vec<u32> = taken.expect("taken").into_iter().map(|row| row.number).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_co_signatures_recorded_at_once_by_two_processes_one_is() {
    let Some(fixture) = fixture().await else { return };
    let transfer = asked(&fixture, 1).await;
    let stores = [fixture.store.clone(), fixture.reopen().await];
    for number in 1..=3 {
        let mut all = JoinSet::new();
        for try_number in 0..8u8 {
            let store = stores[usize::from(try_number % 2)].clone();
            let new = CoSignature {
                co_signed: CoSigned { grant: Address::from_bytes([6; 32]), signed: signed(try_number) },
                ..co_signature(&transfer, number, 10)
            };
            all.spawn(async move { inserts(&store, &new, 100).await.map(|()| new) });
        }
        let mut made = Vec::new();
        while let Some(inserted) = all.join_next().await {
            match inserted.expect("no panic") {
                Ok(new) => made.push(new),
                Err(error) => assert!(matches!(error, StoreError::AlreadyThere), "{error}"),
            }
        }
        let listed = lists(&fixture, &transfer).await;
        assert_eq!((made.len(), listed.last()), (1, made.last()), "as it was recorded");
        assert_eq!(listed.len(), usize::try_from(number).expect("few"));
    }
    let fourth = inserts(&fixture.store, &co_signature(&transfer, 4, 10), 100).await;
    assert!(fourth.is_err(), "the table holds three");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn co_signatures_of_an_operator_stop_at_its_number_for_a_day() {
    let Some(fixture) = fixture().await else { return };
    let mut transfers = Vec::new();
    for number in 1..=8 {
        transfers.push(asked(&fixture, number).await);
    }
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut all = JoinSet::new();
    for (place, transfer) in transfers.iter().enumerate() {
        let (store, new) = (stores[place % 2].clone(), co_signature(transfer, 1, 10));
        all.spawn(async move { inserts(&store, &new, 3).await });
    }
    let done = all.join_all().await;
    assert_eq!(done.iter().filter(|inserted| inserted.is_ok()).count(), 3);
    assert!(done.iter().all(|inserted| matches!(inserted, Ok(()) | Err(StoreError::Full))));
    assert_eq!((counts(&fixture, 9).await, counts(&fixture, 10).await), (3, 0));

    // One that has not landed makes room; one that has does not.
    let mut made = Vec::new();
    for transfer in &transfers {
        made.extend(lists(&fixture, transfer).await);
    }
    let rows = &fixture.store.co_signatures;
    rows.mark_co_signature_ended(&made[0], false).await.expect("marked");
    assert_eq!(counts(&fixture, 9).await, 3);
    rows.mark_co_signature_ended(&made[1], true).await.expect("marked");
    assert_eq!(counts(&fixture, 9).await, 2);
    let again = transfers.iter().find(|transfer| transfer.id == made[1].transfer_id).expect("it");
    inserts(&fixture.store, &co_signature(again, 2, 20), 3).await.expect("room");
    let full = inserts(&fixture.store, &co_signature(again, 3, 30), 3).await;
    assert!(matches!(full, Err(StoreError::Full)), "{full:?}");
    assert_eq!(rows.count_co_signatures(operator(9).id, at(0)).await.expect("counted"), 0);
}

#[tokio::test]
async fn nothing_is_recorded_for_a_transfer_that_does_not_wait() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(9, "claimed"), 0).await;
    let waiting = asked(&fixture, 1).await;
    let late = co_signature(&waiting, 1, 1_000);
    let unknown = CoSignature { transfer_id: TransferId::from_bytes([9; 16]), ..late.clone() };
    let foreign = CoSignature { operator_id: operator(9).id, ..co_signature(&waiting, 1, 10) };
    for new in [co_signature(&claimed, 1, 10), late, unknown, foreign] {
        let refused = inserts(&fixture.store, &new, 100).await;
        assert!(matches!(refused, Err(StoreError::Superseded)), "{refused:?}");
    }
    let skips = inserts(&fixture.store, &co_signature(&waiting, 2, 10), 100).await;
    assert!(matches!(skips, Err(StoreError::AlreadyThere)), "who records the second saw a first: {skips:?}");
    fixture
        .store
        .transfers
        .mark_failed(&waiting, failure(FailureCode::ApprovalRejected), at(20))
        .await
        .expect("failed");
    let ended = inserts(&fixture.store, &co_signature(&waiting, 1, 30), 100).await;
    assert!(matches!(ended, Err(StoreError::Superseded)), "{ended:?}");
}

#[tokio::test]
async fn co_signatures_are_looked_at_by_one_worker_until_they_are_over_and_deleted_a_day_later() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    let transfer = asked(&fixture, 1).await;
    for number in 1..=2 {
        let seconds = i64::from(number) * 100;
        inserts(&fixture.store, &co_signature(&transfer, number, seconds), 100).await.expect("inserted");
    }
    assert!(takes(&fixture.store, 109).await.is_empty());
    assert_eq!(takes(&fixture.store, 110).await, [1]);
    assert!(takes(&other, 111).await.is_empty(), "another has it");
    assert_eq!(takes(&other, 230).await, [1, 2], "nobody put it off");
    let made = lists(&fixture, &transfer).await;
    let rows = &fixture.store.co_signatures;
    rows.put_off_co_signature(&made[0], at(800)).await.expect("put off");
    rows.mark_co_signature_ended(&made[1], false).await.expect("marked");
    rows.put_off_co_signature(&made[1], at(1)).await.expect("nothing to put off");
    assert!(takes(&fixture.store, 799).await.is_empty());
    // A clock that was ahead and was put right puts nothing off.
    assert_eq!(takes(&fixture.store, 100).await, [1]);

    let cleans = async |now: Timestamp| {
        let old = Retention::default().too_old(now);
        fixture.store.upkeep.clean_up(&old, 10).await.expect("cleaned");
    };
    cleans(at(86_400 + 199)).await;
    assert_eq!(lists(&fixture, &transfer).await.len(), 2);
    cleans(at(86_400 + 200)).await;
    assert_eq!(lists(&fixture, &transfer).await, [made[0].clone()], "one is not over");
}
