use super::*;
use crate::{Mark, Readings};
use purser_model::{EntryKind, EntryOutcome, HistoryEntry, PaymentNumber, entry_id};

/// The payment of a transfer as the indexer reads it.
fn payment_of(transfer: &Transfer, signature: &str, slot: u64) -> HistoryEntry {
    let Recipient::TokenAccount(recipient) = transfer.request.to else { panic!("{transfer:?}") };
    HistoryEntry {
        id: entry_id(signature, transfer.request.from, 0),
        operator_id: transfer.operator_id,
        account_id: transfer.request.from,
        network: transfer.network,
        kind: EntryKind::Transfer,
        amount: transfer.request.amount,
        counterparty: Some(Counterparty::TokenAccount(recipient)),
        memo: transfer.request.memo.clone(),
        transfer_id: Some(transfer.id),
        asked_at: Some(at(30).unix_seconds()),
        number: Some(PaymentNumber::Is(1)),
        spent: None,
        outcome: EntryOutcome::Settled { signature: signature.into(), slot },
        created_at: at(30),
    }
}

fn readings(entry: HistoryEntry) -> Readings {
    Readings { entries: vec![entry], read_at: Some(at(40)), ..Readings::default() }
}

async fn reads(fixture: &Fixture, entry: HistoryEntry) -> usize {
    let read = fixture.store.index.insert_readings(Network::Test, &readings(entry), None).await;
    read.expect("written").len()
}

async fn drops(fixture: &Fixture, signature: &str, slot: u64) {
    let mark = Mark { signature: signature.into(), slot };
    fixture.store.index.undo_transaction(Network::Test, &mark, at(50)).await.expect("undone");
}

async fn now(fixture: &Fixture, transfer: &Transfer) -> Transfer {
    let found = fixture.store.transfers.find_transfer(fixture.operator.id, transfer.id).await;
    found.expect("read").expect("there")
}

/// The transfer's events, oldest first.
async fn announced(fixture: &Fixture) -> Vec<&'static str> {
    let listed = fixture.store.events.list_events(fixture.operator.id, None, None, None, 100).await;
    let mut events = listed.expect("listed");
    events.sort_by_key(|event| (event.created_at, event.id));
    events.iter().map(|event| event.event_type.as_str()).collect()
}

async fn signs(fixture: &Fixture, number: u8, key: &str) -> Transfer {
    let claimed = fixture.claim_new(&fixture.transfer(number, key), 0).await;
    fixture.store.transfers.mark_signed(&claimed, signed(number), at(1)).await.expect("signed")
}

async fn gives_up(fixture: &Fixture, transfer: &Transfer) -> Transfer {
    let expired = failure(FailureCode::TransferExpired);
    fixture.store.transfers.mark_failed(transfer, expired, at(2)).await.expect("failed")
}

fn is_settled_by(transfer: &Transfer, signature: &str) -> bool {
    matches!(&transfer.state, TransferState::Settled(by) if by.signature == signature)
}

#[tokio::test]
async fn a_payment_settles_the_transfer_that_was_given_up_and_is_announced_once() {
    let Some(fixture) = fixture().await else { return };
    let failed = gives_up(&fixture, &signs(&fixture, 1, "k").await).await;
    for _ in 0..2 {
        assert_eq!(reads(&fixture, payment_of(&failed, "signature-1", 7)).await, 0);
        let settled = now(&fixture, &failed).await;
        assert!(is_settled_by(&settled, "signature-1"), "{settled:?}");
        assert_eq!(announced(&fixture).await, ["transfer.initiated", "transfer.settled"]);
    }
    let again = fixture.claim(&fixture.transfer(2, "k"), 60).await;
    assert!(matches!(again, Claim::Replay(paid) if paid.id == failed.id));
}

#[tokio::test]
async fn a_key_stands_for_its_payment_although_a_later_try_was_refused() {
    let Some(fixture) = fixture().await else { return };
    let failed = gives_up(&fixture, &signs(&fixture, 1, "k").await).await;
    let Claim::Retry(later) = fixture.claim(&fixture.transfer(2, "k"), 3).await else { panic!("no retry") };
    let refused = fixture
        .store
        .transfers
        .mark_rejected(&later, rejection(RejectionReason::Paused), at(4))
        .await
        .expect("rejected");
    let Claim::Replay(answer) = fixture.claim(&fixture.transfer(3, "k"), 5).await else {
        panic!("not refused")
    };
    assert_eq!(answer.id, refused.id);
    // A use of the next day is another payment, whatever becomes of the first.
    let next_day = fixture.claim_new(&fixture.transfer(4, "k"), 86_400 + 60).await;
    fixture
        .store
        .transfers
        .mark_rejected(&next_day, rejection(RejectionReason::Paused), at(86_500))
        .await
        .expect("rejected");
    assert_eq!(reads(&fixture, payment_of(&failed, "signature-1", 7)).await, 0);
    let used = async || {
        let key = &failed.idempotency_key;
        let used = fixture.store.transfers.find_used_key(fixture.operator.id, Network::Test, key).await;
        used.expect("read").expect("used").transfer
    };
    assert_eq!(used().await.id, next_day.id);
    assert!(matches!(now(&fixture, &refused).await.state, TransferState::Rejected(_)), "as it was answered");

    let failed = gives_up(&fixture, &signs(&fixture, 5, "m").await).await;
    let Claim::Retry(later) = fixture.claim(&fixture.transfer(6, "m"), 3).await else { panic!("no retry") };
    fixture
        .store
        .transfers
        .mark_rejected(&later, rejection(RejectionReason::Paused), at(4))
        .await
        .expect("rejected");
    assert_eq!(reads(&fixture, payment_of(&failed, "signature-5", 8)).await, 0);
    let again = fixture.claim(&fixture.transfer(7, "m"), 60).await;
    assert!(matches!(again, Claim::Replay(paid) if paid.id == failed.id));
}

#[tokio::test]
async fn a_payment_that_bears_the_id_of_a_transfer_and_differs_settles_nothing() {
    let Some(fixture) = fixture().await else { return };
    let failed = gives_up(&fixture, &signs(&fixture, 1, "k").await).await;
    let small = HistoryEntry { amount: UsdcAmount::from_micros(1), ..payment_of(&failed, "stolen", 7) };
    assert_eq!(reads(&fixture, small).await, 1);
    assert_eq!(now(&fixture, &failed).await.state, failed.state);
    // Another try under the same key is another transfer.
    let other = Transfer { id: fixture.transfer(9, "k").transfer.id, ..failed.clone() };
    assert_eq!(reads(&fixture, payment_of(&other, "other", 8)).await, 0);
    assert_eq!(now(&fixture, &failed).await.state, failed.state);
    assert_eq!(announced(&fixture).await, ["transfer.initiated"]);
    // The right one settles it, and a second one is one too many.
    assert_eq!(reads(&fixture, payment_of(&failed, "signature-1", 9)).await, 0);
    assert_eq!(reads(&fixture, payment_of(&failed, "twice", 10)).await, 1);
    assert!(is_settled_by(&now(&fixture, &failed).await, "signature-1"));
}

#[tokio::test]
async fn two_relayers_that_read_a_payment_while_a_third_gives_it_up_settle_it_once() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    for round in 1..=8 {
        let open = signs(&fixture, round, &format!("key-{round}")).await;
        let read = readings(payment_of(&open, &signed(round).signature, u64::from(round)));
        let (one, two, given_up) = tokio::join!(
            fixture.store.index.insert_readings(Network::Test, &read, None),
            other.index.insert_readings(Network::Test, &read, None),
            other.transfers.mark_failed(&open, failure(FailureCode::TransferExpired), at(2)),
        );
        assert!(one.expect("written").is_empty() && two.expect("written").is_empty());
        assert!(matches!(given_up, Ok(_) | Err(StoreError::Superseded)), "{given_up:?}");
        assert!(is_settled_by(&now(&fixture, &open).await, &signed(round).signature));
    }
    let settled = announced(&fixture).await.into_iter().filter(|name| *name == "transfer.settled").count();
    assert_eq!(settled, 8);
}

#[tokio::test]
async fn a_fork_that_drops_a_payment_opens_its_transfer_again_and_every_step_is_announced_anew() {
    let Some(fixture) = fixture().await else { return };
    let open = signs(&fixture, 1, "k").await;
    let settlement = Settlement { slot: 7, ..settlement(3) };
    fixture.store.transfers.mark_settled(&open, settlement.clone(), at(3)).await.expect("settled");
    drops(&fixture, "another", 7).await;
    drops(&fixture, "signature-1", 8).await;
    assert!(is_settled_by(&now(&fixture, &open).await, "signature-1"));
    drops(&fixture, "signature-1", 7).await;
    let reopened = now(&fixture, &open).await;
    assert_eq!((reopened.state.signed(), reopened.reopened), (Some(&signed(1)), 1));
    assert_eq!(announced(&fixture).await, ["transfer.initiated", "transfer.settled", "transfer.reopened"]);
    let taken = fixture.store.transfers.take_unfinished_transfers(Network::Test, at(100), at(160), 10).await;
    assert_eq!(taken.expect("taken").into_iter().map(|it| it.id).collect::<Vec<_>>(), [open.id]);
    assert!(matches!(fixture.claim(&fixture.transfer(2, "k"), 60).await, Claim::InFlight(_)));
    // The same bytes landed once more, and were dropped once more.
    fixture
        .store
        .transfers
        .mark_settled(&reopened, Settlement { slot: 9, ..settlement }, at(60))
        .await
        .expect("settled");
    drops(&fixture, "signature-1", 9).await;
    let reopened = now(&fixture, &open).await;
    assert_eq!(reopened.reopened, 2);
    fixture
        .store
        .transfers
        .mark_failed(&reopened, failure(FailureCode::TransferExpired), at(70))
        .await
        .expect("failed");
    let again = ["transfer.settled", "transfer.reopened", "transfer.failed"];
    let mut told = announced(&fixture).await;
    told.sort_unstable();
    let mut expected =
        [&["transfer.initiated", "transfer.settled", "transfer.reopened"][..], &again].concat();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_another_transaction_had_paid_is_decided_anew_after_a_fork() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "k"), 0).await;
    // After a database was lost: the payment names a try that we do not know.
    let lost = Transfer { id: fixture.transfer(9, "k").transfer.id, ..claimed.clone() };
    reads(&fixture, payment_of(&lost, "theirs", 7)).await;
    let by = Settlement { signature: "theirs".into(), slot: 7, ..settlement(3) };
    fixture.store.transfers.mark_settled(&claimed, by, at(3)).await.expect("settled");
    drops(&fixture, "theirs", 7).await;
    let reopened = now(&fixture, &claimed).await;
    assert_eq!((reopened.state, reopened.reopened), (TransferState::Claimed, 1));
}

#[tokio::test]
async fn bytes_that_others_send_are_kept_while_a_fork_may_drop_them() {
    let Some(fixture) = fixture().await else { return };
    let mut new = fixture.transfer(1, "k");
    new.transfer.fee_payer = Some(Address::from_bytes([8; 32]));
    let claimed = fixture.claim_new(&new, 0).await;
    let handed_over = fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    reads(&fixture, payment_of(&handed_over, "theirs", 7)).await;
    assert!(is_settled_by(&now(&fixture, &claimed).await, "theirs"));
    drops(&fixture, "theirs", 7).await;
    let reopened = now(&fixture, &claimed).await;
    let signed_again = reopened.state.signed().expect("still signed");
    assert_eq!(signed_again.bytes, signed(1).bytes);
    assert_eq!(signed_again.last_valid_block_height, signed(1).last_valid_block_height);
}
