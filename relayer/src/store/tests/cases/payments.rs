use super::*;
use crate::domain::{EntryKind, EntryOutcome, HistoryEntry, PaymentMade, PaymentNumber, entry_id};
use crate::store::{Mark, Readings, Whose};
use purser_core::Joint;
use purser_policy::id_with_tag;

pub(super) struct Payments<'a>(pub &'a Fixture);

impl Payments<'_> {
    /// A payment as the indexer reads it.
    pub fn read_payment(&self, tag: u64, number: PaymentNumber, seconds: i64) -> HistoryEntry {
        let signature = format!("payment-{tag}");
        let mut id = [1; 16];
        id[8..].copy_from_slice(&tag.to_le_bytes());
        HistoryEntry {
            id: entry_id(&signature, self.0.account.id, 0),
            operator_id: self.0.operator.id,
            account_id: self.0.account.id,
            network: self.0.operator.network,
            kind: EntryKind::Transfer,
            amount: UsdcAmount::from_micros(5),
            counterparty: Some(Counterparty::TokenAccount(Address::from_bytes([9; 32]))),
            memo: None,
            transfer_id: Some(TransferId::from_bytes(id)),
            number: Some(number),
            spent: None,
            outcome: EntryOutcome::Settled { signature, slot: tag },
            created_at: at(seconds),
        }
    }

    pub async fn index(&self, entries: Vec<HistoryEntry>) {
        let readings = Readings { entries, ..Readings::default() };
        self.0.store.index.insert_readings(self.0.operator.network, &readings, None).await.expect("written");
    }

    async fn known(&self, tag: u64, since: Option<i64>) -> (u64, Option<PaymentMade>) {
        let since = since.map(at);
        let transfers = &self.0.store.transfers;
        let known = transfers.find_payment(self.0.account.id, tag, since, None).await.expect("read");
        (known.up_to, known.made)
    }

    async fn are_joined(&self, joint: Option<Joint>) -> bool {
        let transfers = &self.0.store.transfers;
        transfers.find_payment(self.0.account.id, 9, None, joint).await.expect("read").are_joined
    }

    async fn missing(&self) -> usize {
        self.0
            .store
            .index
            .list_missing_payments(self.0.operator.network, None, 10)
            .await
            .expect("listed")
            .len()
    }
}

#[tokio::test]
async fn payments_are_known_up_to_the_first_that_is_missing_in_whatever_order_they_are_read() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    assert_eq!(payments.known(1, None).await, (0, None));
    for (number, up_to) in [(1, 1), (2, 2), (5, 2), (4, 2), (4, 2), (3, 5), (6, 6)] {
        payments.index(vec![payments.read_payment(number, PaymentNumber::Is(number), 10)]).await;
        assert_eq!(payments.known(99, None).await, (up_to, None), "{number}");
    }
}

#[tokio::test]
async fn a_payment_is_found_by_its_tag_for_as_long_as_a_key_lives() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    payments.index(vec![payments.read_payment(u64::MAX, PaymentNumber::Is(1), 10)]).await;
    let (_, made) = payments.known(u64::MAX, Some(9)).await;
    let made = made.expect("found");
    assert_eq!((made.slot, made.made_at, made.memo.as_str()), (u64::MAX, at(10), ""));
    assert_eq!((made.amount.micros(), made.recipient), (5, Address::from_bytes([9; 32])));
    assert_eq!(payments.known(u64::MAX, Some(10)).await, (1, None));
    assert!(
        payments.known(u64::MAX, None).await.1.is_some(),
        "while the clocks disagree, nothing is forgotten"
    );
    assert_eq!(payments.known(7, None).await, (1, None));
}

#[tokio::test]
async fn a_payment_that_a_node_dates_long_ago_is_remembered_for_a_day_after_it_was_read() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let entries = vec![payments.read_payment(7, PaymentNumber::Is(1), 10)];
    let read_at = Some(at(100_000));
    let readings = Readings { entries, read_at, ..Readings::default() };
    fixture.store.index.insert_readings(fixture.operator.network, &readings, None).await.expect("written");
    assert!(payments.known(7, Some(99_999)).await.1.is_some());
    assert!(payments.known(7, Some(100_000)).await.1.is_none());
}

#[tokio::test]
async fn a_fork_takes_its_payment_back() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    for number in 1..=3 {
        payments.index(vec![payments.read_payment(number, PaymentNumber::Is(number), 10)]).await;
    }
    let mark = Mark { signature: "payment-2".into(), slot: 2 };
    assert_eq!(
        fixture.store.index.undo_transaction(fixture.operator.network, &mark, at(20)).await.expect("undone"),
        1
    );
    assert_eq!(payments.known(2, None).await, (1, None));
    payments.index(vec![payments.read_payment(8, PaymentNumber::Is(2), 10)]).await;
    assert_eq!(payments.known(2, None).await, (3, None));
}

#[tokio::test]
async fn payments_without_a_number_count_once_nothing_else_is_missing() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let account = (fixture.operator.id, fixture.account.id);
    payments.index(vec![payments.read_payment(1, PaymentNumber::Is(1), 10)]).await;
    payments.index(vec![payments.read_payment(3, PaymentNumber::CutOff, 10)]).await;
    fixture
        .store
        .transfers
        .want_payments((fixture.account.operator_id, fixture.account.id), 3)
        .await
        .expect("wanted");
    fixture.store.index.count_unnumbered(account, 3).await.expect("counted");
    assert_eq!((payments.known(2, None).await.0, payments.missing().await), (1, 1));
    payments.index(vec![payments.read_payment(2, PaymentNumber::Is(2), 10)]).await;
    fixture.store.index.count_unnumbered(account, 3).await.expect("counted");
    assert_eq!((payments.known(2, None).await.0, payments.missing().await), (3, 0));
    assert!(payments.known(3, None).await.1.is_some(), "it has its tag all the same");
}

#[tokio::test]
async fn number_wanted_beyond_the_last_payment_is_reset() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    fixture
        .store
        .transfers
        .want_payments((fixture.account.operator_id, fixture.account.id), 9)
        .await
        .expect("wanted");
    fixture
        .store
        .transfers
        .want_payments((fixture.account.operator_id, fixture.account.id), 4)
        .await
        .expect("wanted");
    assert_eq!(payments.missing().await, 1);
    payments.index(vec![payments.read_payment(1, PaymentNumber::Is(1), 10)]).await;
    fixture
        .store
        .index
        .count_unnumbered((fixture.operator.id, fixture.account.id), 1)
        .await
        .expect("counted");
    assert_eq!(payments.missing().await, 0);
}

#[tokio::test]
async fn a_payment_of_ours_counts_when_its_number_is_read() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let settlement = Settlement { signature: signed(1).signature, slot: 7, ..settlement(2) };
    let ours = store.transfers.mark_settled(&sent, settlement, at(2)).await.expect("settled").transfer;
    let (up_to, made) = payments.known(ours.id.tag(), Some(0)).await;
    assert_eq!((up_to, made.map(|made| made.transfer_id)), (0, Some(ours.id)), "it has its tag at once");
    let mark = Mark { signature: signed(1).signature, slot: 7 };
    let known = async || {
        let (network, whose) = (fixture.operator.network, Whose::Account(fixture.account.id));
        store.index.find_known(network, whose, std::slice::from_ref(&mark)).await.expect("found").len()
    };
    assert_eq!(known().await, 0, "its number is to be read");
    let read = HistoryEntry {
        id: entry_id(&signed(1).signature, fixture.account.id, 0),
        outcome: EntryOutcome::Settled { signature: signed(1).signature, slot: 7 },
        transfer_id: Some(ours.id),
        ..payments.read_payment(1, PaymentNumber::Is(1), 2)
    };
    for _ in 0..2 {
        payments.index(vec![read.clone()]).await;
        assert_eq!((payments.known(9, None).await.0, known().await), (1, 1));
    }
}

#[tokio::test]
async fn a_payment_of_ours_whose_number_came_with_its_landing_is_not_read() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let signature = signed(1).signature;
    let settlement = Settlement { signature: signature.clone(), slot: 7, number: Some(1), ..settlement(2) };
    let ours = store.transfers.mark_settled(&sent, settlement, at(2)).await.expect("settled").transfer;
    let (up_to, made) = payments.known(ours.id.tag(), Some(0)).await;
    assert_eq!((up_to, made.map(|made| made.transfer_id)), (1, Some(ours.id)), "it has its tag at once");
    let (network, whose) = (fixture.operator.network, Whose::Account(fixture.account.id));
    let mark = Mark { signature, slot: 7 };
    let known = store.index.find_known(network, whose, std::slice::from_ref(&mark)).await.expect("found");
    assert_eq!(known.len(), 1);
}

#[tokio::test]
async fn a_number_that_is_read_takes_the_place_of_another_one() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    // The second one has the number of the first, the third one a number of nobody.
    for (tag, number) in [(1, 1), (2, 1), (3, 7)] {
        payments.index(vec![payments.read_payment(tag, PaymentNumber::Is(number), 10)]).await;
    }
    assert_eq!(payments.known(9, None).await.0, 1);
    payments.index(vec![payments.read_payment(2, PaymentNumber::Is(2), 10)]).await;
    payments.index(vec![payments.read_payment(1, PaymentNumber::Is(1), 10)]).await;
    assert_eq!(payments.known(9, None).await.0, 2, "the first one counts again");
    payments.index(vec![payments.read_payment(3, PaymentNumber::CutOff, 10)]).await;
    assert_eq!(payments.known(9, None).await.0, 2, "a log that was cut off says nothing");
    payments.index(vec![payments.read_payment(3, PaymentNumber::Is(3), 10)]).await;
    assert_eq!(payments.known(9, None).await.0, 3);
    for number in [4, 5, 6] {
        payments.index(vec![payments.read_payment(number, PaymentNumber::Is(number), 10)]).await;
    }
    assert_eq!(payments.known(9, None).await.0, 6, "nobody has number 7 any more");
}

#[tokio::test]
async fn bytes_signed_ahead_are_stored_only_where_nothing_is_missing_and_nothing_was_paid() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    // The tag of each payment is its number.
    let ahead = |number, name: &str, joint| NewTransfer {
        signed: Some(SignedAhead {
            signed: signed(number),
            joint: Some(Joint { number: joint, tag: joint }),
            policy_version: 7,
        }),
        ..fixture.transfer(number, name)
    };
    for number in [1, 2, 4] {
        payments.index(vec![payments.read_payment(number, PaymentNumber::Is(number), 10)]).await;
    }
    let is_stored = async |new: &NewTransfer| fixture.claim_new(new, 0).await.state.signed().is_some();
    assert!(is_stored(&ahead(1, "a", 2)).await);
    assert!(!is_stored(&ahead(2, "b", 3)).await, "number 3 is missing");
    let paid = ahead(3, "c", 2);
    payments.index(vec![payments.read_payment(paid.id.tag(), PaymentNumber::Is(3), 10)]).await;
    assert!(!is_stored(&paid).await, "somebody has paid it");
    assert!(is_stored(&ahead(4, "d", 4)).await);
    let joint = |number, tag| Some(Joint { number, tag });
    for (joint, is_it) in [(joint(2, 2), true), (joint(2, 4), false), (joint(5, 5), false), (None, true)] {
        assert_eq!(payments.are_joined(joint).await, is_it, "{joint:?}");
    }
    payments.index(vec![payments.read_payment(5, PaymentNumber::CutOff, 10)]).await;
    fixture
        .store
        .index
        .count_unnumbered((fixture.operator.id, fixture.account.id), 5)
        .await
        .expect("counted");
    assert!(payments.are_joined(joint(5, 5)).await, "its number was cut off");
    let of_another_fork = NewTransfer {
        signed: Some(SignedAhead { signed: signed(8), joint: joint(2, 77), policy_version: 7 }),
        ..fixture.transfer(8, "g")
    };
    assert!(!is_stored(&of_another_fork).await, "payment 2 is another one");
    // A day later the tag is free again, once the clocks agree.
    let day = 86_400 + 10;
    let late = |number, name: &str| NewTransfer {
        id: TransferId::from_bytes(id_with_tag([number; 8], paid.id.tag())),
        ..ahead(number, name, 4)
    };
    let disagree = ClaimClock { agreed: None, ..clock(day) };
    let claimed = fixture.store.transfers.claim_transfer(&late(5, "e"), disagree).await.expect("claimed");
    assert!(matches!(claimed, Claim::New(transfer) if transfer.state == TransferState::Claimed));
    assert!(fixture.claim_new(&late(6, "f"), day).await.state.signed().is_some());
}
