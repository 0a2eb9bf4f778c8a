//! Who approved what: the grants that the indexer has read, and the transfers that they let through.

use super::*;

/// A transfer that waits for a person for 1,000 seconds.
async fn asked(fixture: &Fixture, number: u8, key: &str, seconds: i64) -> Transfer {
    let claimed = fixture.claim_new(&fixture.transfer(number, key), seconds).await;
    let rejection = rejection(RejectionReason::SingleLimitExceeded);
    let wanted = ApprovalWanted { rejection, expires_at: at(seconds + 1_000) };
    let asks = claimed.state.ask(wanted).expect("claimed");
    fixture.store.transfers.mark(&claimed, asks, at(seconds)).await.expect("marked")
}

/// The grant for it, opened in this slot ten seconds later.
fn opened(transfer: &Transfer, signature: &str, slot: u64) -> GrantOpened {
    GrantOpened {
        operator_id: transfer.operator_id,
        account_id: transfer.request.from,
        id: transfer.id.tag(),
        signer: Address::from_bytes([5; 32]),
        signature: signature.to_owned(),
        slot,
        opened_at: transfer.created_at.after(Duration::from_secs(10)),
        expires_at: transfer.created_at.after(Duration::from_secs(1_000)),
    }
}

async fn reads(fixture: &Fixture, grant: &GrantOpened) {
    fixture.store.index.insert_grant_opened(grant).await.expect("recorded");
}

/// By which transaction it was approved.
async fn approved(fixture: &Fixture, transfer: &Transfer) -> Option<String> {
    let transfers = &fixture.store.transfers;
    let found =
        transfers.find_transfer(transfer.operator_id, transfer.id).await.expect("read").expect("there");
    let by = transfers.find_approved_by(transfer.operator_id, &[found]).await.expect("read");
    let by = by.get(&transfer.id)?;
    assert_eq!(by.signer, Address::from_bytes([5; 32]));
    Some(by.signature.clone())
}

async fn signs(fixture: &Fixture, transfer: &Transfer, number: u8) -> Transfer {
    let store = &fixture.store.transfers;
    store.mark_signed(transfer, signed(number), transfer.created_at).await.expect("signed")
}

#[tokio::test]
async fn transfer_was_approved_by_the_grant_that_stood_at_its_place_as_it_was_paid() {
    let Some(fixture) = fixture().await else { return };
    let first = asked(&fixture, 1, "key", 0).await;
    let neighbour = account(&fixture.operator, 20);
    fixture.store.accounts.insert_account(&neighbour).await.expect("inserted");
    let theirs = GrantOpened { account_id: neighbour.id, ..opened(&first, "their own", 49) };
    for grant in [opened(&first, "one", 40), opened(&first, "one", 40), theirs] {
        reads(&fixture, &grant).await;
    }
    assert_eq!(approved(&fixture, &first).await, None, "it is not known to cover what waits");
    let signed = signs(&fixture, &first, 1).await;
    assert_eq!(approved(&fixture, &first).await.as_deref(), Some("one"));
    let settlement = Settlement { slot: 50, ..settlement(20) };
    fixture.store.transfers.mark_settled(&signed, settlement, at(20)).await.expect("settled");
    // Opened once more at its place, after it was paid.
    reads(&fixture, &opened(&first, "late", 60)).await;
    assert_eq!(approved(&fixture, &first).await.as_deref(), Some("one"));

    // Another day, under the same key: what was for the first is over.
    let second = signs(&fixture, &asked(&fixture, 2, "key", 90_000).await, 2).await;
    assert_eq!(second.id.tag(), first.id.tag());
    assert_eq!(approved(&fixture, &second).await, None);
    reads(&fixture, &opened(&second, "two", 70)).await;
    assert_eq!(approved(&fixture, &second).await.as_deref(), Some("two"));
    assert_eq!(approved(&fixture, &first).await.as_deref(), Some("one"));
    let both = [first.id, second.id];
    let all = ApprovalFilter::default();
    let listed = fixture.store.transfers.list_approvals(fixture.operator.id, &all, None, 9);
    let listed = listed.await.expect("listed");
    let by = fixture.store.transfers.find_approved_by(fixture.operator.id, &listed).await.expect("read");
    assert!(both.iter().all(|id| by.contains_key(id)), "{by:?}");
    let nobodys = fixture.store.transfers.find_approved_by(operator(9).id, &listed).await.expect("read");
    assert!(nobodys.is_empty(), "{nobodys:?}");
}

#[tokio::test]
async fn grant_of_a_transaction_that_a_fork_moved_is_where_it_landed() {
    let Some(fixture) = fixture().await else { return };
    let transfer = asked(&fixture, 1, "key", 0).await;
    let signed = signs(&fixture, &transfer, 1).await;
    let settlement = Settlement { slot: 50, ..settlement(20) };
    fixture.store.transfers.mark_settled(&signed, settlement, at(20)).await.expect("settled");
    reads(&fixture, &opened(&transfer, "one", 51)).await;
    assert_eq!(approved(&fixture, &transfer).await, None);
    reads(&fixture, &opened(&transfer, "one", 49)).await;
    assert_eq!(approved(&fixture, &transfer).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn what_was_rejected_or_never_asked_about_was_approved_by_nobody() {
    let Some(fixture) = fixture().await else { return };
    let rejected = asked(&fixture, 1, "a", 0).await;
    let failure = failure(FailureCode::ApprovalRejected);
    fixture.store.transfers.mark_failed(&rejected, failure, at(5)).await.expect("failed");
    let plain = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    let plain = signs(&fixture, &plain, 2).await;
    for transfer in [&rejected, &plain] {
        reads(&fixture, &opened(transfer, "late", 40)).await;
        assert_eq!(approved(&fixture, transfer).await, None);
    }
}

#[tokio::test]
async fn payments_to_a_payee_are_counted_and_summed_however_it_was_named() {
    let Some(fixture) = fixture().await else { return };
    let (store, from) = (&fixture.store, fixture.account.id);
    let payee = account(&fixture.operator, 40);
    store.accounts.insert_account(&payee).await.expect("inserted");
    let paid = async |operator: OperatorId, to: &Address| {
        store.history.sum_paid_to(operator, from, to).await.expect("summed")
    };
    let own = fixture.operator.id;
    assert_eq!(paid(own, &payee.token_account).await, PaidBefore::default());
    let names = [
        Recipient::Agent(payee.id),
        Recipient::TokenAccount(payee.token_account),
        Recipient::TokenAccount(Address::from_bytes([9; 32])),
    ];
    for (number, to) in (1..).zip(names) {
        let mut new = fixture.transfer(number, &format!("key {number}"));
        new.transfer.request.to = to;
        new.transfer.request.amount = UsdcAmount::from_micros(u64::from(number) * 1_000_001);
        let claimed = fixture.claim_new(&new, 0).await;
        let signed = signs(&fixture, &claimed, number).await;
        let settlement = Settlement {
            signature: format!("signature-{number}"),
            settled_at: at(i64::from(number)),
            slot: 5,
            number: None,
        };
        store.transfers.mark_settled(&signed, settlement, at(9)).await.expect("settled");
    }
    // What policy refused, and what is on its way, was not paid.
    let mut refused = fixture.transfer(7, "key 7");
    refused.transfer.request.to = Recipient::TokenAccount(payee.token_account);
    let claimed = fixture.claim_new(&refused, 0).await;
    let no = rejection(RejectionReason::SingleLimitExceeded);
    store.transfers.mark_rejected(&claimed, no, at(9)).await.expect("rejected");
    let both = PaidBefore { count: 2, amount: UsdcAmount::from_micros(3_000_003), last_at: Some(at(2)) };
    assert_eq!(paid(own, &payee.token_account).await, both);
    assert_eq!(paid(own, &Address::from_bytes([9; 32])).await.count, 1);
    assert_eq!(paid(operator(9).id, &payee.token_account).await, PaidBefore::default());
    // With a transfer it stays what it was when somebody first asked.
    let before = async |of: &Transfer, payee: &Address| {
        let of = (of.operator_id, from, of.id);
        store.history.find_paid_before(of, payee).await.expect("found")
    };
    let later = fixture.claim_new(&fixture.transfer(8, "key 8"), 0).await;
    assert_eq!(before(&claimed, &payee.token_account).await, both);
    let unpaid = Address::from_bytes([8; 32]);
    assert_eq!(before(&later, &unpaid).await, PaidBefore::default());
    for asked in [&claimed, &later] {
        // Neither of what is summed now is what was stored.
        let other = Address::from_bytes([9; 32]);
        assert_ne!(before(asked, &other).await, paid(own, &other).await);
    }
    let of_nobody = (operator(9).id, from, claimed.id);
    let theirs = store.history.find_paid_before(of_nobody, &payee.token_account).await.expect("found");
    assert_eq!(theirs, PaidBefore::default());
    assert_eq!(before(&claimed, &payee.token_account).await, both);
}
