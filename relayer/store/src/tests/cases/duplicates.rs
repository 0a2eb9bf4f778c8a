use tokio::task::JoinSet;

use super::payments::Payments;
use super::*;
use purser_model::PaymentNumber;

/// A payment that is refused as a duplicate, asked for at `seconds`.
fn careful(fixture: &Fixture, number: u8, key: &str, seconds: i64) -> NewTransfer {
    let new = fixture.transfer(number, key);
    let id = TransferId::with_tag(at(seconds), u128::from(number), new.transfer.id.tag());
    with(new_transfer(Transfer { id, ..new.transfer }), Duplicates { are_refused: true, meant: None })
}

fn meant(new: NewTransfer, of: TransferId) -> NewTransfer {
    with(new, Duplicates { are_refused: true, meant: Some(of) })
}

fn with(new: NewTransfer, duplicates: Duplicates) -> NewTransfer {
    NewTransfer { duplicates, ..new }
}

fn changed(new: NewTransfer, change: impl FnOnce(&mut TransferRequest)) -> NewTransfer {
    let mut new = new;
    change(&mut new.transfer.request);
    new
}

#[track_caller]
fn is_duplicate(claim: Claim, of: &Transfer) {
    assert!(matches!(claim, Claim::Duplicate(id) if id == of.id), "{claim:?}");
}

#[tokio::test]
async fn a_payment_like_one_under_way_or_just_paid_is_refused_until_it_is_meant() {
    let Some(fixture) = fixture().await else { return };
    let transfers = &fixture.store.transfers;
    let ask = |number, key: &str, seconds| careful(&fixture, number, key, seconds);
    let first = fixture.claim_new(&ask(1, "a", 0), 0).await;
    is_duplicate(fixture.claim(&ask(2, "b", 1), 1).await, &first);
    assert!(
        transfers.find_transfer(first.operator_id, ask(2, "b", 1).transfer.id).await.expect("read").is_none()
    );
    let signed_now = transfers.mark_signed(&first, signed(1), at(1)).await.expect("signed");
    // However long it is under way.
    is_duplicate(fixture.claim(&ask(2, "b", 50_000), 50_000).await, &first);
    // However long that took, and whatever time the chain gives it.
    transfers.mark_settled(&signed_now, settlement(2), at(50_001)).await.expect("settled");
    is_duplicate(fixture.claim(&ask(2, "b", 50_601), 50_601).await, &first);
    // Who does not ask for it is not refused, and is seen.
    let plain = with(ask(3, "c", 50_601), Duplicates::default());
    let plain = fixture.claim_new(&plain, 50_601).await;
    is_duplicate(fixture.claim(&ask(2, "b", 50_602), 50_602).await, &plain);
    is_duplicate(fixture.claim(&meant(ask(2, "b", 50_602), first.id), 50_602).await, &plain);
    let second = fixture.claim_new(&meant(ask(2, "b", 50_602), plain.id), 50_602).await;
    is_duplicate(fixture.claim(&meant(ask(4, "d", 50_603), plain.id), 50_603).await, &second);
    for (transfer, number) in [(&plain, 3), (&second, 2)] {
        let paid = transfers.mark_signed(transfer, signed(number), at(50_603)).await.expect("signed");
        let settled = Settlement { signature: format!("signature-{number}"), ..settlement(50_603) };
        transfers.mark_settled(&paid, settled, at(50_604)).await.expect("settled");
    }
    is_duplicate(fixture.claim(&ask(4, "d", 51_204), 51_204).await, &second);
    fixture.claim_new(&ask(4, "d", 51_205), 51_205).await;
}

#[tokio::test]
async fn duplicates_stand_in_the_way_of_no_retry_and_no_replay() {
    let Some(fixture) = fixture().await else { return };
    let ask = |number, key: &str, seconds| careful(&fixture, number, key, seconds);
    let first = fixture.claim_new(&ask(1, "a", 0), 0).await;
    assert!(matches!(fixture.claim(&ask(2, "a", 1), 1).await, Claim::InFlight(same) if same.id == first.id));
    let failed = failure(FailureCode::TransferExpired);
    fixture.store.transfers.mark_failed(&first, failed, at(2)).await.expect("failed");
    // What failed was not paid, so another key pays; a retry of the first is none the less a retry.
    let other = fixture.claim_new(&ask(3, "b", 3), 3).await;
    assert!(matches!(fixture.claim(&ask(4, "a", 4), 4).await, Claim::Retry(_)));
    assert!(matches!(fixture.claim(&ask(5, "b", 5), 5).await, Claim::InFlight(same) if same.id == other.id));
    let more = changed(ask(6, "b", 6), |request| request.amount = UsdcAmount::from_micros(1));
    assert!(matches!(fixture.claim(&more, 6).await, Claim::Conflict));
}

/// A database that was put back has lost the transfer, and has read its payment on the chain.
#[tokio::test]
async fn a_key_whose_payment_only_the_chain_knows_is_no_duplicate() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.claim_new(&careful(&fixture, 1, "a", 0), 0).await;
    let lost = careful(&fixture, 2, "b", 1);
    is_duplicate(fixture.claim(&lost, 1).await, &other);
    let payments = Payments(&fixture);
    payments.index(vec![payments.read_payment(lost.transfer.id.tag(), PaymentNumber::Is(1), 1)]).await;
    fixture.claim_new(&lost, 1).await;
}

#[tokio::test]
async fn an_expired_key_begins_anew_only_without_a_duplicate() {
    let Some(fixture) = fixture().await else { return };
    let ask = |number, key: &str, seconds| careful(&fixture, number, key, seconds);
    let old = fixture.claim_new(&ask(1, "a", 0), 0).await;
    let rejected = rejection(RejectionReason::DailyLimitExceeded);
    fixture.store.transfers.mark_rejected(&old, rejected, at(1)).await.expect("rejected");
    let other = fixture.claim_new(&ask(2, "b", 86_400), 86_400).await;
    is_duplicate(fixture.claim(&ask(3, "a", 86_401), 86_401).await, &other);
    fixture.claim_new(&meant(ask(3, "a", 86_401), other.id), 86_401).await;
}

#[tokio::test]
async fn another_amount_memo_payee_or_account_is_no_duplicate() {
    let Some(fixture) = fixture().await else { return };
    let (ben, cyd) = (account(&fixture.operator, 5), account(&fixture.operator, 6));
    for other in [&ben, &cyd] {
        fixture.store.accounts.insert_account(other).await.expect("inserted");
    }
    let ask = |number, key: &str| careful(&fixture, number, key, 0);
    let first = fixture.claim_new(&ask(1, "a"), 0).await;
    let others: [fn(&mut TransferRequest); 3] = [
        |request| request.amount = UsdcAmount::from_micros(12_500_001),
        |request| request.memo = None,
        |request| request.to = Recipient::TokenAccount(Address::from_bytes([8; 32])),
    ];
    for (number, change) in (2..).zip(others) {
        fixture.claim_new(&changed(ask(number, &format!("other {number}")), change), 0).await;
    }
    fixture.claim_new(&changed(ask(7, "ben's"), |request| request.from = ben.id), 0).await;
    is_duplicate(fixture.claim(&ask(8, "b"), 0).await, &first);
    // No memo and an empty one are the same on the chain.
    let empty = changed(ask(8, "b"), |request| request.memo = Some(Memo::parse("").expect("valid")));
    assert!(matches!(fixture.claim(&empty, 0).await, Claim::Duplicate(_)));
    // An account is one payee, by its id or its token account.
    let by_id = changed(ask(9, "by id"), |request| request.to = Recipient::Agent(cyd.id));
    let by_address =
        changed(ask(10, "by address"), |request| request.to = Recipient::TokenAccount(cyd.token_account));
    let first = fixture.claim_new(&by_id, 0).await;
    is_duplicate(fixture.claim(&by_address, 0).await, &first);
    let second = fixture.claim_new(&meant(by_address, first.id), 0).await;
    let mut by_another_name = by_id;
    by_another_name.transfer.idempotency_key = IdempotencyKey::parse("x").expect("valid");
    is_duplicate(fixture.claim(&by_another_name, 0).await, &second);
    // So is a wallet, and it stays one in its row.
    let [wallet, token_account] = [21, 22].map(|byte| Address::from_bytes([byte; 32]));
    let by_wallet = changed(ask(11, "by wallet"), |request| {
        request.to = Recipient::Wallet { wallet, token_account };
    });
    let by_account =
        changed(ask(12, "by account"), |request| request.to = Recipient::TokenAccount(token_account));
    let other = Recipient::Wallet { wallet, token_account: Address::from_bytes([23; 32]) };
    let first = fixture.claim_new(&by_wallet, 0).await;
    is_duplicate(fixture.claim(&by_account, 0).await, &first);
    fixture.claim_new(&changed(ask(13, "elsewhere"), |request| request.to = other), 0).await;
    let read = fixture.store.transfers.find_transfer(fixture.operator.id, first.id).await.expect("read");
    assert_eq!(read.expect("it is there").request, by_wallet.transfer.request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_duplicates_at_once_is_new() {
    let Some(fixture) = fixture().await else { return };
    // Two processes on one database.
    let stores = [fixture.store.clone(), fixture.reopen().await];
    let mut latest = None;
    for round in 0..6u8 {
        let mut claims = JoinSet::new();
        for number in 0..24u8 {
            let store = stores[usize::from(number % 2)].clone();
            let key = format!("{round} {number}");
            let new = careful(&fixture, round * 24 + number, &key, i64::from(round));
            let new = latest.map_or(new.clone(), |latest| meant(new, latest));
            claims
                .spawn(async move { store.transfers.claim_transfer(&new, clock(0)).await.expect("claimed") });
        }
        let (mut new, mut refused) = (Vec::new(), Vec::new());
        while let Some(claim) = claims.join_next().await {
            match claim.expect("ran") {
                Claim::New(transfer) => new.push(transfer.id),
                Claim::Duplicate(of) => refused.push(of),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((new.len(), refused.len()), (1, 23), "round {round}");
        assert!(refused.iter().all(|of| *of == new[0]), "all name the one");
        latest = new.pop();
    }
}
