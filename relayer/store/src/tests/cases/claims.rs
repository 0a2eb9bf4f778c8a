use super::*;

fn retry(claim: Claim) -> Transfer {
    match claim {
        Claim::Retry(transfer) => transfer,
        other => panic!("not a retry: {other:?}"),
    }
}

async fn gives_up(
    fixture: &Fixture,
    transfer: &Transfer,
    gives_back: GivesBack,
) -> Result<Transfer, StoreError> {
    let failed = failure(FailureCode::TransferFailed);
    fixture.store.transfers.mark_given_up(transfer, failed, gives_back, at(1)).await
}

fn is_new(claim: &Claim) -> bool {
    matches!(claim, Claim::New(_))
}

#[tokio::test]
async fn a_free_key_is_new_and_the_same_request_waits_for_it() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    assert_eq!(first.state, TransferState::Claimed);
    match fixture.claim(&fixture.transfer(2, "a"), 1).await {
        Claim::InFlight(transfer) => assert_eq!(transfer.id, first.id),
        other => panic!("{other:?}"),
    }
    let second = fixture
        .store
        .transfers
        .find_transfer(fixture.operator.id, fixture.transfer(2, "a").transfer.id)
        .await;
    assert!(second.expect("read").is_none(), "the second request left no transfer");
}

#[tokio::test]
async fn bytes_are_stored_with_the_claim_that_makes_the_transfer_and_with_no_other() {
    let Some(fixture) = fixture().await else { return };
    let ahead = |number| signed_ahead(fixture.transfer(number, "a"), number);
    let first = fixture.claim_new(&ahead(1), 0).await;
    assert_eq!(first.state, TransferState::Signed(signed(1)));
    let stored = fixture.store.transfers.find_transfer(fixture.operator.id, first.id).await.expect("read");
    let stored = stored.expect("stored");
    assert_eq!((stored.state, stored.policy_version), (first.state.clone(), Some(7)));
    match fixture.claim(&ahead(2), 1).await {
        Claim::InFlight(transfer) => assert_eq!((transfer.id, &transfer.state), (first.id, &first.state)),
        other => panic!("{other:?}"),
    }
    fixture
        .store
        .transfers
        .mark_failed(&first, failure(FailureCode::TransferExpired), at(2))
        .await
        .expect("failed");
    let third = retry(fixture.claim(&ahead(3), 3).await);
    assert_eq!(third.state, TransferState::Signed(signed(3)));
}

#[tokio::test]
async fn a_settled_transfer_is_replayed() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let settled = fixture.store.transfers.mark_settled(&first, settlement(1), at(1)).await.expect("settled");
    match fixture.claim(&fixture.transfer(2, "a"), 2).await {
        Claim::Replay(transfer) => {
            assert_eq!((transfer.id, &transfer.state), (settled.id, &settled.state));
            assert_eq!(transfer.request, settled.request);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_rejection_is_replayed_with_its_checks() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let rejection = rejection(RejectionReason::DailyLimitExceeded);
    fixture.store.transfers.mark_rejected(&first, rejection.clone(), at(1)).await.expect("rejected");
    match fixture.claim(&fixture.transfer(2, "a"), 2).await {
        Claim::Replay(transfer) => assert_eq!(transfer.state, TransferState::Rejected(rejection)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_failure_is_tried_again_with_the_same_tag_and_another_id() {
    for code in [
        FailureCode::InsufficientBalance,
        FailureCode::InvalidRecipient,
        FailureCode::SolanaUnavailable,
        FailureCode::TransferFailed,
        FailureCode::TransferExpired,
        FailureCode::Interrupted,
    ] {
        let Some(fixture) = fixture().await else { return };
        let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
        fixture.store.transfers.mark_failed(&first, failure(code), at(1)).await.expect("failed");
        let second = retry(fixture.claim(&fixture.transfer(2, "a"), 2).await);
        assert_eq!(second.id.tag(), first.id.tag());
        assert_ne!(second.id, first.id);
        assert!(
            matches!(fixture.claim(&fixture.transfer(3, "a"), 3).await, Claim::InFlight(t) if t.id == second.id)
        );
        fixture.store.transfers.mark_failed(&second, failure(code), at(4)).await.expect("failed");
        retry(fixture.claim(&fixture.transfer(4, "a"), 5).await);
    }
}

#[tokio::test]
async fn other_parameters_conflict_in_every_state() {
    let Some(fixture) = fixture().await else { return };
    let mut other = fixture.transfer(9, "a");
    other.transfer.request.amount = UsdcAmount::from_micros(1);
    let conflict = async |seconds| matches!(fixture.claim(&other, seconds).await, Claim::Conflict);
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    assert!(conflict(1).await, "claimed");
    assert!(conflict(1_000).await, "claimed and abandoned");
    let sent = fixture.store.transfers.mark_signed(&first, signed(1), at(2)).await.expect("signed");
    assert!(conflict(3).await, "signed");
    assert!(conflict(86_400 * 3).await, "signed long ago");
    fixture
        .store
        .transfers
        .mark_failed(&sent, failure(FailureCode::TransferFailed), at(4))
        .await
        .expect("failed");
    assert!(conflict(5).await, "failed");
    let second = retry(fixture.claim(&fixture.transfer(2, "a"), 6).await);
    fixture.store.transfers.mark_settled(&second, settlement(7), at(7)).await.expect("settled");
    assert!(conflict(8).await, "settled");
}

#[tokio::test]
async fn a_key_is_free_again_24_hours_after_it_settled_and_not_a_second_earlier() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture.store.transfers.mark_settled(&first, settlement(10), at(10)).await.expect("settled");
    assert!(matches!(fixture.claim(&fixture.transfer(2, "a"), 10 + 86_399).await, Claim::Replay(_)));
    let mut other = fixture.transfer(3, "a");
    other.transfer.request.amount = UsdcAmount::from_micros(1);
    let again = fixture.claim_new(&other, 10 + 86_400).await;
    assert_eq!(again.request, other.transfer.request);
    assert!(matches!(fixture.claim(&fixture.transfer(4, "a"), 10 + 86_401).await, Claim::Conflict));
}

#[tokio::test]
async fn a_key_that_did_not_pay_is_free_24_hours_after_its_first_use() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "rejected"), 0).await;
    let rejection = rejection(RejectionReason::Paused);
    fixture.store.transfers.mark_rejected(&first, rejection, at(5)).await.expect("rejected");
    assert!(matches!(fixture.claim(&fixture.transfer(2, "rejected"), 86_399).await, Claim::Replay(_)));
    assert!(is_new(&fixture.claim(&fixture.transfer(3, "rejected"), 86_400).await));

    let first = fixture.claim_new(&fixture.transfer(4, "failed"), 0).await;
    let failure = failure(FailureCode::SolanaUnavailable);
    fixture.store.transfers.mark_failed(&first, failure.clone(), at(5)).await.expect("failed");
    let second = retry(fixture.claim(&fixture.transfer(5, "failed"), 86_399).await);
    fixture.store.transfers.mark_failed(&second, failure, at(86_399)).await.expect("failed");
    assert!(is_new(&fixture.claim(&fixture.transfer(6, "failed"), 86_400).await));
}

#[tokio::test]
async fn transfer_that_may_be_in_flight_keeps_its_key_however_old() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed_first = fixture.store.transfers.mark_signed(&first, signed(1), at(1)).await.expect("signed");
    assert!(matches!(fixture.claim(&fixture.transfer(2, "a"), 86_400 * 2).await, Claim::InFlight(_)));
    fixture.store.transfers.mark_sent(&signed_first, at(2)).await.expect("sent");
    assert!(matches!(fixture.claim(&fixture.transfer(3, "a"), 86_400 * 2).await, Claim::InFlight(_)));
}

#[tokio::test]
async fn a_claim_that_nobody_carries_keeps_its_key_for_the_sweeper() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    for (number, seconds) in [(2, 59), (3, 60), (4, 86_400 * 2)] {
        let again = fixture.claim(&fixture.transfer(number, "a"), seconds).await;
        assert!(matches!(again, Claim::InFlight(transfer) if transfer.id == first.id));
    }
}

#[tokio::test]
async fn while_the_clocks_disagree_no_key_is_free_again() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture.store.transfers.mark_settled(&first, settlement(10), at(10)).await.expect("settled");
    let disagree = ClaimClock { agreed: None, ..clock(86_400 * 2) };
    let claim =
        fixture.store.transfers.claim_transfer(&fixture.transfer(2, "a"), disagree).await.expect("claimed");
    assert!(matches!(claim, Claim::Replay(_)));
    // A key first used while the clocks disagree lives by the host's clock.
    let new = fixture.transfer(3, "b");
    let Claim::New(second) = fixture.store.transfers.claim_transfer(&new, disagree).await.expect("claimed")
    else {
        panic!("new");
    };
    fixture
        .store
        .transfers
        .mark_failed(&second, failure(FailureCode::TransferFailed), at(11))
        .await
        .expect("failed");
    retry(fixture.claim(&fixture.transfer(4, "b"), 86_400 * 3 - 1).await);
}

#[tokio::test]
async fn a_key_is_the_operators_own_and_the_networks_own() {
    let Some(fixture) = fixture().await else { return };
    let other = operator(40);
    let other_account = account(&other, 41);
    let (other_key, plain) = key(&other, KeyHolder::Operator, 42);
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    fixture.store.accounts.insert_account(&other_account).await.expect("inserted");
    fixture.store.keys.insert_key(&other_key, &plain.hash()).await.expect("inserted");
    fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let mut theirs = fixture.transfer(2, "a");
    theirs.transfer.operator_id = other.id;
    theirs.transfer.key_id = other_key.id;
    theirs.transfer.request.from = other_account.id;
    assert!(is_new(&fixture.claim(&theirs, 1).await));
    let mut elsewhere = fixture.transfer(3, "a");
    elsewhere.transfer.network = Network::Live;
    assert!(is_new(&fixture.claim(&elsewhere, 1).await));
}

#[tokio::test]
async fn a_transfer_from_another_operators_account_is_refused_by_the_database() {
    let Some(fixture) = fixture().await else { return };
    let other = operator(40);
    let other_account = account(&other, 41);
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    fixture.store.accounts.insert_account(&other_account).await.expect("inserted");
    let mut stolen = fixture.transfer(1, "a");
    stolen.transfer.request.from = other_account.id;
    assert!(matches!(
        fixture.store.transfers.claim_transfer(&stolen, clock(0)).await,
        Err(StoreError::Postgres(_) | StoreError::Sqlite(_))
    ));
    assert!(is_new(&fixture.claim(&fixture.transfer(2, "a"), 1).await), "the refused claim left no key");
}

#[tokio::test]
async fn an_id_that_is_taken_claims_nothing_and_another_id_does() {
    let Some(fixture) = fixture().await else { return };
    let first = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture
        .store
        .transfers
        .mark_failed(&first, failure(FailureCode::TransferExpired), at(1))
        .await
        .expect("failed");
    // Two tries of one payment in one millisecond, with the same random bits.
    let again = fixture.store.transfers.claim_transfer(&fixture.transfer(1, "a"), clock(1)).await;
    assert!(again.is_err(), "{again:?}");
    let stored = fixture
        .store
        .transfers
        .find_transfer(fixture.operator.id, first.id)
        .await
        .expect("read")
        .expect("stored");
    assert_eq!(stored.state.as_str(), "failed");
    retry(fixture.claim(&fixture.transfer(2, "a"), 2).await);
}

#[tokio::test]
async fn one_of_many_concurrent_retries_or_new_uses_of_an_expired_key_succeeds() {
    let Some(fixture) = fixture().await else { return };
    for (begins, seconds) in [("retried", 10), ("begun anew", 86_400)] {
        let first = fixture.claim_new(&fixture.transfer(1, begins), 0).await;
        let failed = failure(FailureCode::TransferFailed);
        fixture.store.transfers.mark_failed(&first, failed, at(1)).await.expect("failed");
        let asked: Vec<_> = (10..18).map(|number| fixture.transfer(number, begins)).collect();
        let claims = futures::future::join_all(asked.iter().map(|new| fixture.claim(new, seconds))).await;
        let carried = claims.iter().filter(|claim| matches!(claim, Claim::New(_) | Claim::Retry(_)));
        assert_eq!(carried.count(), 1, "{begins}: {claims:?}");
        assert!(claims.iter().filter(|claim| matches!(claim, Claim::InFlight(_))).count() == 7, "{begins}");
    }
}

#[tokio::test]
async fn released_key_is_free_and_its_transfer_stays() {
    let Some(fixture) = fixture().await else { return };
    let earlier = fixture.claim_new(&fixture.transfer(0, "a"), 0).await;
    let failed = failure(FailureCode::Interrupted);
    fixture.store.transfers.mark_failed(&earlier, failed, at(0)).await.expect("failed");
    let first = retry(fixture.claim(&fixture.transfer(1, "a"), 0).await);
    gives_up(&fixture, &first, GivesBack::TheKey).await.expect("given up");
    let mut other = fixture.transfer(2, "a");
    other.transfer.request.amount = UsdcAmount::from_micros(1);
    let second = fixture.claim_new(&other, 1).await;
    assert!(matches!(fixture.claim(&fixture.transfer(3, "a"), 2).await, Claim::Conflict));
    let again = gives_up(&fixture, &first, GivesBack::TheKey).await;
    assert!(matches!(again, Err(StoreError::Superseded)), "{again:?}");
    assert!(matches!(fixture.claim(&other, 3).await, Claim::InFlight(_)));
    for transfer in [earlier, first, second] {
        assert!(
            fixture
                .store
                .transfers
                .find_transfer(fixture.operator.id, transfer.id)
                .await
                .expect("read")
                .is_some()
        );
    }
}

#[tokio::test]
async fn only_the_use_of_a_transfer_that_was_given_up_is_free() {
    let Some(fixture) = fixture().await else { return };
    let earlier = fixture.claim_new(&fixture.transfer(0, "a"), 0).await;
    let failed = failure(FailureCode::Interrupted);
    fixture.store.transfers.mark_failed(&earlier, failed, at(0)).await.expect("failed");
    let latest = retry(fixture.claim(&fixture.transfer(1, "a"), 0).await);
    gives_up(&fixture, &latest, GivesBack::ItsUse).await.expect("given up");
    let used =
        fixture.store.transfers.find_used_key(fixture.operator.id, Network::Test, &latest.idempotency_key);
    assert_eq!(used.await.expect("read").expect("used").transfer.id, earlier.id);
}

#[tokio::test]
async fn whoever_knows_an_earlier_state_cannot_free_the_key_of_a_transfer_under_way() {
    let Some(fixture) = fixture().await else { return };
    for (key, gives_back) in [("a", GivesBack::ItsUse), ("b", GivesBack::TheKey)] {
        let claimed = fixture.claim_new(&fixture.transfer(1, key), 0).await;
        let signed = fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
        let given_up = gives_up(&fixture, &claimed, gives_back).await;
        assert!(matches!(given_up, Err(StoreError::Superseded)), "{given_up:?}");
        let Claim::InFlight(under_way) = fixture.claim(&fixture.transfer(2, key), 3).await else {
            panic!("{key} is free");
        };
        assert_eq!(under_way.id, signed.id);
    }
}

#[tokio::test]
async fn earlier_transfer_shows_that_a_key_has_expired_after_the_latest_is_deleted() {
    let Some(fixture) = fixture().await else { return };
    const DAY: i64 = 86_400;
    let refused = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    fixture
        .store
        .transfers
        .mark_rejected(&refused, rejection(RejectionReason::Paused), at(1))
        .await
        .expect("rejected");
    let latest = fixture.claim_new(&fixture.transfer(2, "a"), DAY).await;
    fixture
        .store
        .transfers
        .mark_failed(&latest, failure(FailureCode::TransferFailed), at(DAY))
        .await
        .expect("failed");
    sql! {
        "DELETE FROM transfers WHERE operator_id = {operator_id} AND transfer_id = {id}",
        latest.operator_id, latest.id
    }
    .execute(fixture.store.writer())
    .await
    .expect("deleted, as old ones are");
    let mut other = fixture.transfer(3, "a");
    other.transfer.request.amount = UsdcAmount::from_micros(1);
    assert!(is_new(&fixture.claim(&other, 2 * DAY).await));
    assert!(matches!(fixture.claim(&fixture.transfer(4, "a"), 2 * DAY).await, Claim::Conflict));
}

#[tokio::test]
async fn an_account_and_an_operator_have_so_many_transfers_that_wait_for_a_person() {
    let Some(fixture) = fixture().await else { return };
    let asks = async |account: &Account, number: u16| {
        let NewTransfer { transfer, .. } = fixture.transfer(0, &number.to_string());
        let mut id = transfer.id.bytes();
        id[..2].copy_from_slice(&number.to_be_bytes());
        let request = TransferRequest { from: account.id, ..transfer.request.clone() };
        let asked = ApprovalWanted::new(rejection(RejectionReason::SingleLimitExceeded), at(0));
        let transfer = Transfer { id: TransferId::from_bytes(id), request, ..transfer };
        let new = NewTransfer { next: TransferState::PendingApproval(asked), ..new_transfer(transfer) };
        fixture.store.transfers.claim_transfer(&new, clock(0)).await
    };
    let mut number = 0;
    for byte in 10..110 {
        let account = account(&fixture.operator, byte);
        fixture.store.accounts.insert_account(&account).await.expect("inserted");
        for _ in 0..10 {
            number += 1;
            assert!(is_new(&asks(&account, number).await.expect("claimed")));
        }
        let eleventh = asks(&account, number + 1).await;
        assert!(matches!(eleventh, Err(StoreError::TooManyApprovals)), "of one account: {eleventh:?}");
    }
    let more = asks(&fixture.account, number + 1).await;
    assert!(matches!(more, Err(StoreError::TooManyApprovals)), "1,000 of the operator: {more:?}");
}

#[tokio::test]
async fn payments_that_have_waited_long_for_a_person_are_counted_for_their_network() {
    let Some(fixture) = fixture().await else { return };
    let waiting =
        async |since| fixture.store.transfers.count_approvals_since(at(since)).await.expect("counted");
    for (tag, seconds) in [(1, 0), (2, 100)] {
        let NewTransfer { transfer, .. } = fixture.transfer(0, &tag.to_string());
        let asked = ApprovalWanted::new(rejection(RejectionReason::SingleLimitExceeded), at(seconds));
        let transfer = Transfer { id: TransferId::with_tag(at(seconds), 0, tag), ..transfer };
        let new = NewTransfer { next: TransferState::PendingApproval(asked), ..new_transfer(transfer) };
        assert!(is_new(
            &fixture.store.transfers.claim_transfer(&new, clock(seconds)).await.expect("claimed")
        ));
    }
    // One that does not wait.
    fixture.claim_new(&fixture.transfer(3, "c"), 0).await;
    assert_eq!(waiting(0).await, []);
    assert_eq!(waiting(50).await, [(fixture.operator.network, 1)]);
    assert_eq!(waiting(101).await, [(fixture.operator.network, 2)]);
}
