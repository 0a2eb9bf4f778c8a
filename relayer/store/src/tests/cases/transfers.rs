use super::*;

#[tokio::test]
async fn a_transfer_comes_back_whole_in_every_state_after_a_restart() {
    let Some(fixture) = fixture().await else { return };
    let operator = fixture.operator.id;
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let allowed = Transfer { policy_version: Some(7), ..claimed };
    let signed_one = store.transfers.mark_signed(&allowed, signed(1), at(1)).await.expect("signed");
    let sent = store.transfers.mark_sent(&signed_one, at(2)).await.expect("sent");
    let settled = store.transfers.mark_settled(&sent, settlement(3), at(4)).await.expect("settled");
    let other = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    let rejected =
        store.transfers.mark_rejected(&other, rejection(RejectionReason::MemoTooLong), at(1)).await;
    let third = fixture.claim_new(&fixture.transfer(3, "c"), 0).await;
    let failed = store.transfers.mark_failed(&third, failure(FailureCode::InsufficientBalance), at(1)).await;
    let fourth = fixture.claim_new(&fixture.transfer(4, "d"), 0).await;
    let allowed = Transfer { policy_version: Some(7), ..fourth };
    let on_its_way = store.transfers.mark_signed(&allowed, signed(4), at(1)).await.expect("signed");
    let unread = Rejection { policy_version: None, ..rejection(RejectionReason::Paused) };
    let by_the_chain = store.transfers.mark_rejected(&on_its_way, unread, at(2)).await.expect("rejected");
    assert_eq!((settled.policy_version, by_the_chain.policy_version), (Some(7), None));
    let reopened = fixture.reopen().await;
    for expected in [settled, rejected.expect("rejected"), failed.expect("failed"), by_the_chain] {
        let read =
            reopened.transfers.find_transfer(operator, expected.id).await.expect("read").expect("there");
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
    fixture.store.transfers.mark_signed(&claimed, bytes.clone(), at(1)).await.expect("signed");
    let read = fixture.reopen().await.transfers.find_transfer(fixture.operator.id, claimed.id).await;
    assert_eq!(read.expect("read").expect("there").state, TransferState::Signed(bytes));
}

#[tokio::test]
async fn a_step_from_a_state_that_is_gone_is_superseded() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed_one = fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let again = fixture.store.transfers.mark_signed(&claimed, signed(2), at(1)).await;
    assert!(matches!(again, Err(StoreError::Superseded)));
    let anew = fixture.store.transfers.mark_signed(&signed_one, signed(2), at(2)).await.expect("signed anew");
    let stale = fixture.store.transfers.mark_sent(&signed_one, at(3)).await;
    assert!(matches!(stale, Err(StoreError::Superseded)), "other bytes than those now stored");
    fixture.store.transfers.mark_sent(&anew, at(3)).await.expect("sent");
}

#[tokio::test]
async fn an_end_is_final() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let settled =
        fixture.store.transfers.mark_settled(&claimed, settlement(1), at(1)).await.expect("settled");
    let failed =
        fixture.store.transfers.mark_failed(&settled, failure(FailureCode::TransferFailed), at(2)).await;
    assert!(matches!(failed, Err(StoreError::WrongState(_))));
}

#[tokio::test]
async fn another_operators_transfer_is_not_found() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let stranger = OperatorId::from_bytes([99; 16]);
    assert!(fixture.store.transfers.find_transfer(stranger, claimed.id).await.expect("read").is_none());
}

#[tokio::test]
async fn the_latest_signed_transfers_are_found_behind_a_few_that_were_refused() {
    let Some(fixture) = fixture().await else { return };
    let (store, account) = (&fixture.store, &fixture.account);
    let latest = async |account: &Account| {
        let latest = store.transfers.list_latest_signed(account).await.expect("read");
        latest.iter().map(|transfer| transfer.id).collect::<Vec<_>>()
    };
    fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    assert!(latest(account).await.is_empty(), "nothing is signed");
    let mut newest_first = Vec::new();
    for (number, key) in [(2, "b"), (3, "c")] {
        let claimed = fixture.claim_new(&fixture.transfer(number, key), 0).await;
        newest_first.insert(
            0,
            store.transfers.mark_signed(&claimed, signed(number), at(1)).await.expect("signed").id,
        );
    }
    let refused = fixture.claim_new(&fixture.transfer(4, "d"), 0).await;
    store
        .transfers
        .mark_rejected(&refused, rejection(RejectionReason::Paused), at(2))
        .await
        .expect("rejected");
    assert_eq!(latest(account).await, newest_first);
    let stranger = Account { operator_id: OperatorId::from_bytes([99; 16]), ..account.clone() };
    assert!(latest(&stranger).await.is_empty());
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
        let forged = sql! {
            "UPDATE transfers SET {change} WHERE operator_id = {operator_id} AND transfer_id = {id}",
            change = Sql(change), claimed.operator_id, claimed.id
        }
        .execute(fixture.store.writer());
        let Err(error) = forged.await else { panic!("{change} was taken") };
        assert!(error.to_string().to_lowercase().contains("check constraint"), "{change}: {error}");
    }
}

#[tokio::test]
async fn a_row_that_refers_to_another_operators_is_refused_by_the_database() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let others = operator(201);
    fixture.store.operators.insert_operator(&others).await.expect("inserted");
    let event = sql! {
        "INSERT INTO events (operator_id, event_id, event_type, account_id, transfer_id, data, created_at)
         SELECT operator_id, 'evt_1', 'transfer.settled', account_id, transfer_id, '{{}}', created_at FROM transfers
         WHERE operator_id = {operator} AND transfer_id = {id}",
        operator = fixture.operator.id, claimed.id
    };
    assert_eq!(event.execute(fixture.store.writer()).await.expect("an event of the operator's own"), 1);
    let (others, own, id) = (others.id, fixture.operator.id, claimed.id);
    let forgeries = [
        sql! {
            "INSERT INTO events (operator_id, event_id, event_type, account_id, transfer_id, data, created_at)
             SELECT {others}, 'evt_x', 'transfer.settled', account_id, transfer_id, '{{}}', created_at FROM transfers
             WHERE operator_id = {own} AND transfer_id = {id}",
            others, own, id
        },
        sql! {
            "INSERT INTO ledgers (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot)
             SELECT {others}, account_id, 0, 0, 0, 0 FROM transfers WHERE operator_id = {own} AND transfer_id = {id}",
            others, own, id
        },
        sql! {
            "INSERT INTO deliveries
                 (operator_id, webhook_id, event_id, state, failures, next_attempt_at, attempts, created_at)
             SELECT {others}, 'whk_x', event_id, 'pending', 0, created_at, 0, created_at FROM events
             WHERE operator_id = {own} AND event_id = 'evt_1' AND transfer_id = {id}",
            others, own, id
        },
    ];
    for (number, forgery) in forgeries.into_iter().enumerate() {
        let forged = forgery.execute(fixture.store.writer());
        let Err(error) = forged.await else { panic!("forgery {number} was taken") };
        assert!(error.to_string().to_lowercase().contains("foreign key constraint"), "{number}: {error}");
    }
}

/// The first id bytes of the transfers that a filter lists.
async fn listed(
    fixture: &Fixture,
    filter: TransferFilter,
    after: Option<TransferId>,
    rows_max: u32,
) -> Vec<u8> {
    let rows = fixture.store.transfers.list_transfers(fixture.operator.id, &filter, after, rows_max).await;
    rows.expect("listed").into_iter().map(|transfer| transfer.id.bytes()[0]).collect()
}

#[tokio::test]
async fn transfers_are_listed_newest_first_by_every_filter() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let second = account(&fixture.operator, 60);
    store.accounts.insert_account(&second).await.expect("inserted");
    let settles = fixture.claim_new(&fixture.transfer(10, "settles"), 0).await;
    store.transfers.mark_settled(&settles, settlement(1), at(1)).await.expect("settled");
    let fails = fixture.claim_new(&fixture.transfer(11, "fails"), 0).await;
    store
        .transfers
        .mark_failed(&fails, failure(FailureCode::InsufficientBalance), at(1))
        .await
        .expect("failed");
    let retried = fixture.claim(&fixture.transfer(12, "fails"), 1).await;
    assert!(matches!(retried, Claim::Retry(_)));
    let mut of_second = fixture.transfer(13, "other");
    of_second.transfer.request.from = second.id;
    let rejected = fixture.claim_new(&of_second, 2).await;
    store
        .transfers
        .mark_rejected(&rejected, rejection(RejectionReason::Paused), at(3))
        .await
        .expect("rejected");

    let all = TransferFilter::default;
    assert_eq!(listed(&fixture, all(), None, 9).await, [13, 12, 11, 10]);
    assert_eq!(listed(&fixture, all(), None, 2).await, [13, 12]);
    assert_eq!(listed(&fixture, all(), Some(fails.id), 9).await, [10]);
    for (status, of_all, of_account) in [
        (TransferStatus::Submitted, vec![12], vec![12]),
        (TransferStatus::Settled, vec![10], vec![10]),
        (TransferStatus::Rejected, vec![13], vec![]),
        (TransferStatus::Failed, vec![11], vec![11]),
    ] {
        let filter = TransferFilter { status: Some(status), ..all() };
        assert_eq!(listed(&fixture, filter.clone(), None, 9).await, of_all, "{status:?}");
        let filter = TransferFilter { account: Some(fixture.account.id), ..filter };
        assert_eq!(listed(&fixture, filter, None, 9).await, of_account, "{status:?}");
    }
    let filter = TransferFilter { account: Some(second.id), ..all() };
    assert_eq!(listed(&fixture, filter, None, 9).await, [13]);
    let key = |text| Some(IdempotencyKey::parse(text).expect("valid"));
    let filter = TransferFilter { idempotency_key: key("fails"), ..all() };
    assert_eq!(listed(&fixture, filter.clone(), None, 9).await, [12, 11]);
    let failed = TransferFilter { status: Some(TransferStatus::Failed), ..filter };
    assert_eq!(listed(&fixture, failed.clone(), None, 9).await, [11]);
    let elsewhere = TransferFilter { account: Some(second.id), ..failed };
    assert!(listed(&fixture, elsewhere, None, 9).await.is_empty());
    let unused = TransferFilter { idempotency_key: key("unused"), ..all() };
    assert!(listed(&fixture, unused, None, 9).await.is_empty());
    let stranger = store.transfers.list_transfers(OperatorId::from_bytes([99; 16]), &all(), None, 9).await;
    assert!(stranger.expect("listed").is_empty());
}

#[tokio::test]
async fn transfers_of_a_span_are_those_asked_for_after_its_beginning_and_up_to_its_end() {
    let Some(fixture) = fixture().await else { return };
    for seconds in 0..4u8 {
        let mut new = fixture.transfer(seconds, &format!("key {seconds}"));
        new.transfer.id = TransferId::with_tag(at(i64::from(seconds)), 0, new.transfer.id.tag());
        fixture.claim_new(&new, i64::from(seconds)).await;
    }
    let span = async |since: Option<i64>, until: Option<i64>| {
        let filter =
            TransferFilter { since: since.map(at), until: until.map(at), ..TransferFilter::default() };
        let rows = fixture
            .store
            .transfers
            .list_transfers(fixture.operator.id, &filter, None, 9)
            .await
            .expect("listed");
        rows.iter().map(|row| row.created_at.unix_seconds() - at(0).unix_seconds()).collect::<Vec<_>>()
    };
    assert_eq!(span(None, None).await, [3, 2, 1, 0]);
    assert_eq!(span(Some(1), None).await, [3, 2]);
    assert_eq!(span(None, Some(1)).await, [1, 0]);
    assert_eq!(span(Some(0), Some(2)).await, [2, 1]);
    assert!(span(Some(3), None).await.is_empty());
    assert!(span(Some(2), Some(2)).await.is_empty());
}
