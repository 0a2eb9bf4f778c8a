use super::*;

const DAY: i64 = 24 * 60 * 60;

fn day(number: i64) -> Timestamp {
    let seconds = at(0).unix_seconds();
    Timestamp::from_unix_seconds(seconds - seconds.rem_euclid(DAY) + number * DAY)
}

async fn settles(fixture: &Fixture, number: u8, from: &Account, micros: u64, settled_at: Timestamp) {
    let mut new = fixture.transfer(number, &format!("key {number}"));
    new.transfer.request.from = from.id;
    new.transfer.request.amount = UsdcAmount::from_micros(micros);
    let claimed = fixture.claim_new(&new, 0).await;
    let settlement = Settlement { settled_at, ..settlement(1) };
    fixture.store.transfers.mark_settled(&claimed, settlement, settled_at).await.expect("settled");
}

#[tokio::test]
async fn what_accounts_paid_is_summed_by_day_however_much_it_is() {
    let Some(fixture) = fixture().await else { return };
    let (first, second) = (&fixture.account, account(&fixture.operator, 60));
    fixture.store.accounts.insert_account(&second).await.expect("inserted");
    let late = day(1).before(Duration::from_micros(1));
    for (number, from, micros, settled_at) in [
        (10, first, 1, day(0)),
        (11, first, 2_000_000, late),
        (12, first, 5_500_000, day(1)),
        (13, &second, u64::MAX, day(1)),
        (14, &second, u64::MAX, late.after(Duration::from_secs(60))),
    ] {
        settles(&fixture, number, from, micros, settled_at).await;
    }
    let rejected = fixture.claim_new(&fixture.transfer(15, "refused"), 0).await;
    let paused = rejection(RejectionReason::Paused);
    fixture.store.transfers.mark_rejected(&rejected, paused, day(1)).await.expect("rejected");
    let operator = fixture.operator.id;
    let sums = async |operator, days: &[Timestamp], rows_max| {
        let listed = fixture.store.transfers.list_paid_by_day(operator, days, rows_max).await;
        let mut sums: Vec<_> = listed
            .expect("summed")
            .into_iter()
            .map(|paid| (paid.day, paid.account_id, paid.amount.micros(), paid.payments))
            .collect();
        sums.sort_unstable();
        sums
    };
    let (of_first, of_second) = (first.id, second.id);
    assert_eq!(
        sums(operator, &[day(0), day(1)], 10).await,
        [
            (day(0), of_first, 2_000_001, 2),
            (day(1), of_first, 5_500_000, 1),
            (day(1), of_second, u64::MAX, 2),
        ]
    );
    assert_eq!(sums(operator, &[day(1)], 10).await.len(), 2);
    assert_eq!(sums(operator, &[day(1)], 1).await, [(day(1), of_second, u64::MAX, 1)], "the newest alone");
    assert!(sums(operator, &[], 10).await.is_empty() && sums(operator, &[day(2)], 10).await.is_empty());
    assert!(sums(OperatorId::from_bytes([99; 16]), &[day(0), day(1)], 10).await.is_empty());
}

#[tokio::test]
async fn refusals_are_counted_by_account_and_reason_and_listed_by_reason() {
    let Some(fixture) = fixture().await else { return };
    let reasons = [RejectionReason::Paused, RejectionReason::Paused, RejectionReason::MemoRequired];
    for (seconds, reason) in (0..).zip(reasons) {
        let mut new = fixture.transfer(seconds, &format!("key {seconds}"));
        new.transfer.id = TransferId::with_tag(at(i64::from(seconds)), 0, new.transfer.id.tag());
        let claimed = fixture.claim_new(&new, i64::from(seconds)).await;
        fixture.store.transfers.mark_rejected(&claimed, rejection(reason), at(9)).await.expect("rejected");
    }
    let operator = fixture.operator.id;
    let counts = async |operator, since, rows_max| {
        let listed = fixture.store.transfers.list_refusals(operator, since, rows_max).await;
        let mut counts: Vec<_> = listed
            .expect("counted")
            .into_iter()
            .map(|(account, reason, count)| (reason, account, count))
            .collect();
        counts.sort_unstable();
        counts
    };
    let own = fixture.account.id;
    let (paused, memo) = (RejectionReason::Paused, RejectionReason::MemoRequired);
    assert_eq!(counts(operator, at(0), 10).await, [(paused, own, 2), (memo, own, 1)]);
    assert_eq!(counts(operator, at(1), 10).await, [(paused, own, 1), (memo, own, 1)]);
    assert_eq!(counts(operator, at(0), 1).await, [(memo, own, 1)]);
    assert!(counts(OperatorId::from_bytes([99; 16]), at(0), 10).await.is_empty());
    let filter = TransferFilter {
        status: Some(TransferStatus::Rejected),
        reason: Some(memo),
        since: Some(at(0)),
        ..TransferFilter::default()
    };
    let listed = fixture.store.transfers.list_transfers(operator, &filter, None, 9).await.expect("listed");
    assert_eq!(listed.len(), 1, "{listed:?}");
}
