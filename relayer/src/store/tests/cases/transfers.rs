use super::*;

#[tokio::test]
async fn a_transfer_comes_back_whole_in_every_state_after_a_restart() {
    let Some(fixture) = fixture().await else { return };
    let operator = fixture.operator.id;
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed_one = store.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let sent = store.mark_sent(&signed_one, at(2)).await.expect("sent");
    let settled = store.mark_settled(&sent, settlement(3), at(4)).await.expect("settled").transfer;
    let other = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    let rejected = store.mark_rejected(&other, rejection(RejectionReason::MemoTooLong), at(1)).await;
    let third = fixture.claim_new(&fixture.transfer(3, "c"), 0).await;
    let failed = store.mark_failed(&third, failure(FailureCode::InsufficientBalance), at(1)).await;
    let reopened = fixture.reopen().await;
    for expected in [settled, rejected.expect("rejected"), failed.expect("failed")] {
        let read = reopened.find_transfer(operator, expected.id).await.expect("read").expect("there");
        assert_eq!(format!("{read:?}"), format!("{expected:?}"));
    }
}

#[tokio::test]
async fn signed_bytes_come_back_exactly() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let bytes = SignedTransfer {
        bytes: (0..=255).collect(),
        signature: "sig".into(),
        last_valid_block_height: u64::MAX,
    };
    fixture.store.mark_signed(&claimed, bytes.clone(), at(1)).await.expect("signed");
    let read = fixture.reopen().await.find_transfer(fixture.operator.id, claimed.id).await;
    assert_eq!(read.expect("read").expect("there").state, TransferState::Signed(bytes));
}

#[tokio::test]
async fn a_step_from_a_state_that_is_gone_is_superseded() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed_one = fixture.store.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let again = fixture.store.mark_signed(&claimed, signed(2), at(1)).await;
    assert!(matches!(again, Err(StoreError::Superseded)));
    let anew = fixture.store.mark_signed(&signed_one, signed(2), at(2)).await.expect("signed anew");
    let stale = fixture.store.mark_sent(&signed_one, at(3)).await;
    assert!(matches!(stale, Err(StoreError::Superseded)), "other bytes than those now stored");
    fixture.store.mark_sent(&anew, at(3)).await.expect("sent");
}

#[tokio::test]
async fn an_end_is_final() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let settled = fixture.store.mark_settled(&claimed, settlement(1), at(1)).await.expect("settled").transfer;
    let failed = fixture.store.mark_failed(&settled, failure(FailureCode::TransferFailed), at(2)).await;
    assert!(matches!(failed, Err(StoreError::WrongState(_))));
}

#[tokio::test]
async fn another_operators_transfer_is_not_found() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(fixture.store.find_transfer(stranger, claimed.id).await.expect("read").is_none());
}

#[tokio::test]
async fn a_state_without_its_facts_is_refused_by_the_database() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    for change in [
        "state = 'signed'",
        "state = 'settled', ended_at = '2026-01-01T00:00:00.000000Z'",
        "state = 'failed'",
        "state = 'paid'",
        "ended_at = '2026-01-01T00:00:00.000000Z'",
        "updated_at = '2026-01-01'",
    ] {
        let sql = format!("UPDATE transfers SET {change} WHERE transfer_id = $1");
        let forged = query(AssertSqlSafe(sql)).bind(claimed.id.to_string()).execute(fixture.store.writer());
        let Err(StoreError::Database(error)) = forged.await else { panic!("{change} was taken") };
        assert!(error.as_database_error().is_some_and(|error| error.is_check_violation()), "{change}");
    }
}
