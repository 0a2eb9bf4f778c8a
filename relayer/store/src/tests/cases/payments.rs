use super::*;
use crate::{Mark, Readings, WalkOwner};
use purser_model::{EntryKind, EntryOutcome, HistoryEntry, PaymentMade, PaymentNumber, entry_id};

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
            asked_at: Some(at(seconds).unix_seconds()),
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

    async fn made(&self, tag: u64, asked_after: i64) -> Option<PaymentMade> {
        let after = at(asked_after).unix_seconds();
        self.0.store.transfers.find_payment(self.0.account.id, tag, after).await.expect("read")
    }
}

#[tokio::test]
async fn a_payment_is_found_by_its_tag_if_its_bytes_name_a_later_second() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    payments.index(vec![payments.read_payment(u64::MAX, PaymentNumber::Is(1), 10)]).await;
    let made = payments.made(u64::MAX, 9).await.expect("found");
    assert_eq!((made.slot, made.made_at, made.memo.as_str()), (u64::MAX, at(10), ""));
    assert_eq!((made.amount.micros(), made.recipient), (5, Address::from_bytes([9; 32])));
    assert_eq!(payments.made(u64::MAX, 10).await, None);
    assert_eq!(payments.made(7, 0).await, None);
}

#[tokio::test]
async fn neither_a_nodes_date_nor_the_time_of_reading_makes_a_payment_older_or_newer() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    for (tag, dated) in [(7, -100_000), (8, 100_000)] {
        let read = payments.read_payment(tag, PaymentNumber::Is(tag), 10);
        let entries = vec![HistoryEntry { created_at: at(dated), ..read }];
        let readings = Readings { entries, read_at: Some(at(200_000)), ..Readings::default() };
        let network = fixture.operator.network;
        fixture.store.index.insert_readings(network, &readings, None).await.expect("written");
        assert!(payments.made(tag, 9).await.is_some(), "dated {dated}");
        assert_eq!(payments.made(tag, 10).await, None, "dated {dated}");
    }
}

#[tokio::test]
async fn a_payment_without_that_second_is_found_by_its_date() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let read = payments.read_payment(7, PaymentNumber::Is(1), 10);
    payments.index(vec![HistoryEntry { asked_at: None, ..read }]).await;
    assert!(payments.made(7, 9).await.is_some());
    assert_eq!(payments.made(7, 10).await, None);
}

#[tokio::test]
async fn of_two_payments_under_one_tag_the_newer_is_found() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let first = payments.read_payment(7, PaymentNumber::Is(1), 10);
    let second = HistoryEntry {
        id: entry_id("second", fixture.account.id, 0),
        outcome: EntryOutcome::Settled { signature: "second".into(), slot: 9 },
        ..payments.read_payment(7, PaymentNumber::Is(2), 90_000)
    };
    payments.index(vec![second, first]).await;
    assert_eq!(payments.made(7, 0).await.map(|made| made.signature).as_deref(), Some("second"));
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
    assert_eq!(payments.made(2, 0).await, None);
    assert!(payments.made(3, 0).await.is_some());
}

#[tokio::test]
async fn a_payment_of_ours_is_known_once_its_number_is_read() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let settlement = Settlement { signature: signed(1).signature, slot: 7, ..settlement(2) };
    let ours = store.transfers.mark_settled(&sent, settlement, at(2)).await.expect("settled");
    let made = store.transfers.find_payment(fixture.account.id, ours.id.tag(), -1).await.expect("read");
    assert_eq!(made.map(|made| made.transfer_id), Some(ours.id), "it has its tag at once");
    let mark = Mark { signature: signed(1).signature, slot: 7 };
    let known = async || {
        let (network, whose) = (fixture.operator.network, WalkOwner::Account(fixture.account.id));
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
        assert_eq!(known().await, 1);
    }
}

#[tokio::test]
async fn a_payment_of_ours_whose_number_came_with_its_landing_is_not_read() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let sent = store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let signature = signed(1).signature;
    let settlement = Settlement { signature: signature.clone(), slot: 7, number: Some(1), ..settlement(2) };
    let ours = store.transfers.mark_settled(&sent, settlement, at(2)).await.expect("settled");
    let made = store.transfers.find_payment(fixture.account.id, ours.id.tag(), -1).await.expect("read");
    assert_eq!(made.map(|made| made.transfer_id), Some(ours.id), "it has its tag at once");
    let (network, whose) = (fixture.operator.network, WalkOwner::Account(fixture.account.id));
    let mark = Mark { signature, slot: 7 };
    let known = store.index.find_known(network, whose, std::slice::from_ref(&mark)).await.expect("found");
    assert_eq!(known.len(), 1);
}

#[tokio::test]
async fn a_number_that_is_read_takes_the_place_of_another_one_and_a_log_that_was_cut_off_of_none() {
    let Some(fixture) = fixture().await else { return };
    let payments = Payments(&fixture);
    let number = async || {
        let (operator, account) = (fixture.operator.id, fixture.account.id);
        let filter = purser_model::HistoryFilter::default();
        let page =
            fixture.store.history.list_history(operator, account, &filter, None, 10).await.expect("listed");
        page[0].entry.number
    };
    for (read, stored) in [
        (PaymentNumber::CutOff, PaymentNumber::CutOff),
        (PaymentNumber::Is(7), PaymentNumber::Is(7)),
        (PaymentNumber::CutOff, PaymentNumber::Is(7)),
        (PaymentNumber::Is(3), PaymentNumber::Is(3)),
    ] {
        payments.index(vec![payments.read_payment(1, read, 10)]).await;
        assert_eq!(number().await, Some(stored), "{read:?}");
    }
}

#[tokio::test]
async fn a_transfer_keeps_the_second_of_its_claim_and_the_last_block_of_earlier_bytes() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture
        .claim_new(&new_transfer(Transfer { asked_at: Some(77), ..fixture.transfer(1, "a").transfer }), 0)
        .await;
    assert_eq!((claimed.asked_at, claimed.earlier_valid_until), (Some(77), None));
    let transfers = &fixture.store.transfers;
    let stored = async || {
        transfers.find_transfer(fixture.operator.id, claimed.id).await.expect("read").expect("there")
    };
    assert_eq!(stored().await.asked_at, Some(77));
    let first = transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let again = Transfer { earlier_valid_until: Some(9), ..first };
    transfers.mark_signed(&again, signed(2), at(2)).await.expect("signed");
    let stored = stored().await;
    assert_eq!((stored.asked_at, stored.earlier_valid_until), (Some(77), Some(9)));
}
