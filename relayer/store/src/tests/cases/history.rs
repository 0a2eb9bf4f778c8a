use super::*;
use crate::{Due, Mark, PendingFetch, Readings, UnfinishedWalk, Walk, WalkOwner};

/// A second account of the fixture's operator, and one of another operator.
async fn neighbours(fixture: &Fixture) -> (Account, Account) {
    let other = operator(30);
    let (second, foreign) = (account(&fixture.operator, 20), account(&other, 40));
    fixture.store.operators.insert_operator(&other).await.expect("inserted");
    fixture.store.accounts.insert_account(&second).await.expect("inserted");
    fixture.store.accounts.insert_account(&foreign).await.expect("inserted");
    (second, foreign)
}

fn party(account: &Account) -> Party {
    Party { account_id: account.id, operator_id: account.operator_id, token_account: account.token_account }
}

async fn history(fixture: &Fixture, account: &Account) -> Vec<HistoryEntry> {
    let store = &fixture.store;
    let filter = HistoryFilter::default();
    let listed = store.history.list_history(account.operator_id, account.id, &filter, None, 100).await;
    listed.expect("listed").into_iter().map(|placed| placed.entry).collect()
}

/// A payment to `to`, signed and settled.
async fn settles(fixture: &Fixture, number: u8, to: Recipient, slot: u64) -> Transfer {
    let mut new = fixture.transfer(number, &format!("key-{number}"));
    new.transfer.request.to = to;
    let claimed = fixture.claim_new(&new, 0).await;
    let signed = fixture.store.transfers.mark_signed(&claimed, signed(number), at(1)).await.expect("signed");
    let settlement = Settlement {
        number: None,
        signature: format!("signature-{number}"),
        settled_at: at(i64::try_from(slot).expect("small")),
        slot,
    };
    fixture.store.transfers.mark_settled(&signed, settlement, at(2)).await.expect("settled")
}

async fn booked(fixture: &Fixture, account: &Account) -> i64 {
    let ledger = fixture.store.index.find_ledger_at(Network::Test, account.id, u64::MAX >> 1).await;
    ledger.expect("read").expect("there").booked
}

#[tokio::test]
async fn a_settlement_is_in_the_history_of_both_sides_and_booked() {
    let Some(fixture) = fixture().await else { return };
    let (second, foreign) = neighbours(&fixture).await;
    settles(&fixture, 1, Recipient::Agent(second.id), 5).await;
    settles(&fixture, 2, Recipient::TokenAccount(second.token_account), 6).await;
    settles(&fixture, 3, Recipient::TokenAccount(foreign.token_account), 7).await;
    let seen = |entries: Vec<HistoryEntry>| -> Vec<_> {
        entries.into_iter().map(|entry| (entry.kind, entry.counterparty)).collect()
    };
    let (own, other) = (Counterparty::Account(second.id), Counterparty::Account(fixture.account.id));
    // The payer sees another operator's account as a plain token account; the recipient sees the payer's id.
    let stranger = Counterparty::TokenAccount(foreign.token_account);
    assert_eq!(
        seen(history(&fixture, &fixture.account).await),
        [stranger, own, own].map(|party| (EntryKind::Transfer, Some(party)))
    );
    assert_eq!(seen(history(&fixture, &second).await), [(EntryKind::Deposit, Some(other)); 2]);
    let paid = history(&fixture, &foreign).await;
    assert!(paid.iter().all(|entry| entry.transfer_id.is_some()), "{paid:?}");
    assert_eq!(seen(paid), [(EntryKind::Deposit, Some(other))]);
    assert_eq!(booked(&fixture, &fixture.account).await, -37_500_000);
    assert_eq!(booked(&fixture, &second).await, 25_000_000);
    // The indexer reads the same entries, and inserting them again changes nothing.
    let again = history(&fixture, &second).await;
    let readings = Readings { entries: again.clone(), are_final: true, ..Readings::default() };
    fixture.store.index.insert_readings(Network::Test, &readings, None).await.expect("written");
    assert_eq!(history(&fixture, &second).await, again);
    assert_eq!(booked(&fixture, &second).await, 25_000_000);
}

#[tokio::test]
async fn payments_of_an_account_are_listed_and_deposits_are_not() {
    let Some(fixture) = fixture().await else { return };
    let (second, _) = neighbours(&fixture).await;
    for (number, slot) in [(1, 5), (2, 6), (3, 7)] {
        settles(&fixture, number, Recipient::Agent(second.id), slot).await;
    }
    let spending = async |account: &Account, since, rows_max| {
        let listed =
            fixture.store.history.list_spending(account.operator_id, account.id, since, rows_max).await;
        listed.expect("listed").into_iter().map(|(moment, _)| moment).collect::<Vec<_>>()
    };
    let early = Timestamp::from_unix_seconds(0);
    assert_eq!(spending(&fixture.account, early, 9).await, [at(7), at(6), at(5)]);
    assert_eq!(spending(&fixture.account, early, 2).await, [at(7), at(6)]);
    assert_eq!(spending(&second, early, 9).await, []);
    assert_eq!(spending(&fixture.account, at(100_000), 9).await, []);
    let foreign = fixture.store.history.list_spending(operator(30).id, fixture.account.id, early, 9).await;
    assert_eq!(foreign.expect("listed"), []);
}

#[tokio::test]
async fn a_rejection_is_history_and_a_failure_is_not() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let rejection = rejection(RejectionReason::DailyLimitExceeded);
    fixture.store.transfers.mark_rejected(&claimed, rejection.clone(), at(1)).await.expect("rejected");
    let other = fixture.claim_new(&fixture.transfer(2, "b"), 0).await;
    fixture
        .store
        .transfers
        .mark_failed(&other, failure(FailureCode::InsufficientBalance), at(1))
        .await
        .expect("failed");
    let entries = history(&fixture, &fixture.account).await;
    assert_eq!(entries, [HistoryEntry::of_rejection(&claimed, &rejection)]);
    assert_eq!(booked(&fixture, &fixture.account).await, 0);
}

#[tokio::test]
async fn a_settlement_by_another_transaction_is_left_to_the_indexer() {
    let Some(fixture) = fixture().await else { return };
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let signed = fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let elsewhere = Settlement { signature: "another".into(), ..settlement(5) };
    fixture.store.transfers.mark_settled(&signed, elsewhere, at(2)).await.expect("settled");
    assert!(history(&fixture, &fixture.account).await.is_empty());
}

/// Settles at the second of its slot, and becomes visible at `second`.
async fn settles_at(fixture: &Fixture, number: u8, slot: u64, second: i64) {
    let claimed = fixture.claim_new(&fixture.transfer(number, &format!("key-{number}")), 0).await;
    let signed = fixture.store.transfers.mark_signed(&claimed, signed(number), at(1)).await.expect("signed");
    let settled_at = at(i64::try_from(slot).expect("small"));
    let settlement = Settlement { signature: format!("signature-{number}"), settled_at, slot, number: None };
    fixture.store.transfers.mark_settled(&signed, settlement, at(second)).await.expect("settled");
}

#[tokio::test]
async fn histories_are_listed_in_the_order_in_which_entries_became_visible() {
    let Some(fixture) = fixture().await else { return };
    // The payment that happened second becomes visible last.
    for (number, slot, second) in [(1, 10, 11), (2, 30, 31), (3, 20, 50)] {
        settles_at(&fixture, number, slot, second).await;
    }
    let claimed = fixture.claim_new(&fixture.transfer(9, "z"), 0).await;
    let rejection = Rejection { rejected_at: at(45), ..rejection(RejectionReason::Paused) };
    fixture.store.transfers.mark_rejected(&claimed, rejection, at(45)).await.expect("rejected");
    let (operator, account) = (fixture.operator.id, fixture.account.id);
    let list = async |filter: &HistoryFilter, after: Option<&str>, rows_max| -> Vec<i64> {
        let listed = fixture.store.history.list_history(operator, account, filter, after, rows_max).await;
        let seconds = |placed: &PlacedEntry| placed.entry.created_at.unix_seconds() - at(0).unix_seconds();
        listed.expect("listed").iter().map(seconds).collect()
    };
    let all = HistoryFilter::default();
    let of = |status| HistoryFilter { status: Some(status), ..all };
    let is = |kind| HistoryFilter { kind: Some(kind), ..all };
    assert_eq!(list(&all, None, 9).await, [45, 20, 30, 10]);
    assert_eq!(list(&of(HistoryStatus::Rejected), None, 9).await, [45]);
    assert_eq!(list(&of(HistoryStatus::Settled), None, 9).await, [20, 30, 10]);
    assert_eq!(list(&of(HistoryStatus::Settled), None, 2).await, [20, 30]);
    assert_eq!(list(&is(EntryKind::Transfer), None, 9).await, [45, 20, 30, 10]);
    assert_eq!(list(&is(EntryKind::Deposit), None, 9).await, [0; 0]);
    let withdrawn = HistoryFilter { kind: Some(EntryKind::Withdrawal), ..of(HistoryStatus::Rejected) };
    assert_eq!(list(&withdrawn, None, 9).await, [0; 0]);
    // Filters by when entries became visible: excludes the first moment, includes the last.
    let between = |since, until| HistoryFilter { since: Some(at(since)), until: Some(at(until)), ..all };
    assert_eq!(list(&between(11, 50), None, 9).await, [20, 30]);
    assert_eq!(list(&between(31, 99), None, 9).await, [45, 20]);
    assert_eq!(list(&between(0, 30), None, 9).await, [10]);
    let first = fixture.store.history.list_history(operator, account, &all, None, 9).await.expect("listed");
    let places: Vec<i64> = first.iter().map(|placed| placed.visible_at.unix_micros()).collect();
    // The refusal came after place 50 was given, so it takes the next one.
    let micros = |second| at(second).unix_micros();
    assert_eq!(places, [micros(50) + 1, micros(50), micros(31), micros(11)]);
    assert_eq!(list(&all, Some(&first[1].position), 9).await, [30, 10]);
    assert_eq!(list(&between(11, 99), Some(&first[0].position), 1).await, [20]);
    assert_eq!(list(&between(0, 31), Some(&first[0].position), 9).await, [30, 10]);
    // Another operator does not find it.
    let foreign = fixture.store.history.list_history(operator_id(30), account, &all, None, 9).await;
    assert!(foreign.expect("listed").is_empty());
}

#[tokio::test]
async fn an_entry_that_the_chain_dates_otherwise_takes_a_new_place() {
    let Some(fixture) = fixture().await else { return };
    settles_at(&fixture, 1, 10, 11).await;
    settles_at(&fixture, 2, 12, 13).await;
    let mut first = history(&fixture, &fixture.account).await.remove(1);
    let read = async |entry: &HistoryEntry, second| {
        let readings = Readings {
            entries: vec![entry.clone()],
            are_final: true,
            read_at: Some(at(second)),
            ..Readings::default()
        };
        fixture.store.index.insert_readings(Network::Test, &readings, None).await.expect("written");
        let filter = HistoryFilter { since: Some(at(13)), ..HistoryFilter::default() };
        let account = &fixture.account;
        let later =
            fixture.store.history.list_history(account.operator_id, account.id, &filter, None, 9).await;
        later.expect("listed").into_iter().map(|placed| placed.entry).collect::<Vec<_>>()
    };
    assert_eq!(read(&first, 20).await, []);
    first.created_at = at(9);
    assert_eq!(read(&first, 21).await, [first.clone()]);
    assert_eq!(history(&fixture, &fixture.account).await.len(), 2);
}

#[tokio::test]
async fn concurrent_writers_give_a_history_one_order() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    let refuses = async |store: &Store, number: u8| {
        let claimed = fixture.claim_new(&fixture.transfer(number, &format!("key-{number}")), 0).await;
        // The two hosts' clocks are a minute apart.
        let clock = if number.is_multiple_of(2) { at(100) } else { at(40) };
        let rejection = Rejection { rejected_at: clock, ..rejection(RejectionReason::Paused) };
        store.transfers.mark_rejected(&claimed, rejection, clock).await.expect("rejected");
    };
    let filter = |since| HistoryFilter { since, ..HistoryFilter::default() };
    let polls = async {
        let (mut got, mut since) = (Vec::new(), None);
        while got.len() < 40 {
            let later = other
                .history
                .list_history(fixture.operator.id, fixture.account.id, &filter(since), None, 100)
                .await
                .expect("listed");
            since = later.first().map_or(since, |placed| Some(placed.visible_at));
            got.extend(later.into_iter().rev().map(|placed| placed.entry));
            tokio::task::yield_now().await;
        }
        got
    };
    let writes = (0..40).map(|number| refuses(if number % 2 == 0 { &fixture.store } else { &other }, number));
    let (_, mut got) = tokio::join!(futures::future::join_all(writes), polls);
    got.reverse();
    assert_eq!(got, history(&fixture, &fixture.account).await);
}

#[tokio::test]
async fn the_past_of_a_found_account_is_shown_when_it_is_all_there_oldest_first() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let found = account(&fixture.operator, 60);
    store.index.adopt_account(Network::Test, &found).await.expect("adopted");
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let happens = async |slot: i64, read_at| {
        let settlement = Settlement {
            number: None,
            signature: format!("past-{slot}"),
            settled_at: at(slot),
            slot: slot.cast_unsigned(),
        };
        let (nobody, somewhere) = (party(&fixture.account), found.token_account);
        let entries =
            HistoryEntry::of_settlement(&claimed, &settlement, &nobody, somewhere, Some(&party(&found)));
        let entries = entries.into_iter().filter(|entry| entry.account_id == found.id).collect();
        let readings = Readings { entries, read_at: Some(at(read_at)), ..Readings::default() };
        store.index.insert_readings(Network::Test, &readings, None).await.expect("written");
    };
    let shown = async || -> Vec<i64> {
        let entries = history(&fixture, &found).await;
        entries.iter().map(|entry| entry.created_at.unix_seconds() - at(0).unix_seconds()).collect()
    };
    for (slot, read_at) in [(9, 50), (7, 51), (8, 52), (5, 53)] {
        happens(slot, read_at).await;
    }
    assert!(shown().await.is_empty(), "its past is being read");
    assert!(store.index.list_unplaced(Network::Test, 9).await.expect("listed").is_empty());
    let begun = store.index.find_walk(Network::Test, &found.token_account).await.expect("read");
    let done = Walk::new(found.token_account);
    store
        .index
        .insert_readings(Network::Test, &Readings::default(), Some((&begun, &done)))
        .await
        .expect("written");
    assert_eq!(
        store.index.list_unplaced(Network::Test, 9).await.expect("listed"),
        [(found.operator_id, found.id)]
    );
    assert!(!store.index.place_past((found.operator_id, found.id), at(60), 3).await.expect("placed"));
    assert_eq!(shown().await, [8, 7, 5]);
    // New entries wait for their turn.
    happens(61, 62).await;
    assert_eq!(shown().await, [8, 7, 5]);
    assert!(store.index.place_past((found.operator_id, found.id), at(63), 3).await.expect("placed"));
    happens(6, 64).await;
    assert_eq!(shown().await, [6, 61, 9, 8, 7, 5]);
    assert!(store.index.place_past((found.operator_id, found.id), at(65), 3).await.expect("nothing to do"));
    assert!(store.index.list_unplaced(Network::Test, 9).await.expect("listed").is_empty());
    assert_eq!(booked(&fixture, &found).await, 6 * 12_500_000);
}

fn operator_id(byte: u8) -> OperatorId {
    operator(byte).id
}

#[tokio::test]
async fn an_entry_of_an_open_slot_becomes_final_or_is_taken_back_with_its_money() {
    let Some(fixture) = fixture().await else { return };
    let (second, _) = neighbours(&fixture).await;
    settles(&fixture, 1, Recipient::Agent(second.id), 5).await;
    settles(&fixture, 2, Recipient::Agent(second.id), 6).await;
    let store = &fixture.store;
    let mark = |number: u8, slot| Mark { signature: format!("signature-{number}"), slot };
    let open = store.index.list_open_transactions(Network::Test, 10).await.expect("listed");
    assert_eq!(open, [mark(1, 5), mark(2, 6)]);
    store.index.mark_final(Network::Test, &[mark(1, 5)]).await.expect("marked");
    assert_eq!(store.index.list_open_transactions(Network::Test, 10).await.expect("listed"), [mark(2, 6)]);
    // Final entries stay.
    assert_eq!(store.index.undo_transaction(Network::Test, &mark(1, 5), at(20)).await.expect("undone"), 0);
    assert_eq!(store.index.undo_transaction(Network::Test, &mark(2, 6), at(20)).await.expect("undone"), 2);
    assert_eq!(booked(&fixture, &fixture.account).await, -12_500_000);
    assert_eq!(booked(&fixture, &second).await, 12_500_000);
    assert_eq!(history(&fixture, &second).await.len(), 1);
}

#[tokio::test]
async fn a_ledger_at_a_slot_leaves_out_what_came_later() {
    let Some(fixture) = fixture().await else { return };
    let (second, _) = neighbours(&fixture).await;
    settles(&fixture, 1, Recipient::Agent(second.id), 5).await;
    settles(&fixture, 2, Recipient::Agent(second.id), 6).await;
    let at_slot = async |slot| {
        let ledger = fixture.store.index.find_ledger_at(Network::Test, second.id, slot).await.expect("read");
        ledger.expect("there").booked
    };
    assert_eq!([at_slot(4).await, at_slot(5).await, at_slot(6).await], [0, 12_500_000, 25_000_000]);
    // An unexplained amount counts from then on.
    fixture.store.index.mark_unexplained((second.operator_id, second.id), 3).await.expect("marked");
    fixture
        .store
        .index
        .mark_seen(9, &[((second.operator_id, second.id), UsdcAmount::from_micros(7))])
        .await
        .expect("marked");
    fixture
        .store
        .index
        .mark_seen(8, &[((second.operator_id, second.id), UsdcAmount::from_micros(1))])
        .await
        .expect("marked");
    let listed = async || {
        let ledgers = fixture.store.index.list_ledgers(Network::Test, None, 10).await.expect("listed");
        *ledgers.iter().find(|ledger| ledger.account_id == second.id).expect("listed")
    };
    let ledger = &listed().await;
    assert_eq!((ledger.unexplained, ledger.seen, ledger.seen_slot), (3, 7, 9));
    assert!(ledger.was_seen_after(8) && !ledger.was_seen_after(9));
    let wanted = [second.token_account];
    assert_eq!(fixture.store.index.find_ledgers(Network::Test, &wanted).await.expect("found"), [*ledger]);
    assert!(fixture.store.index.find_ledgers(Network::Live, &wanted).await.expect("found").is_empty());
    assert_eq!(ledger.difference(UsdcAmount::from_micros(25_000_003)), 0);
    // A slot that a node made up hides the next looks for no longer than a node may lag.
    for (slot, micros) in [(1 << 50, 5), (10, 6)] {
        let seen = [((second.operator_id, second.id), UsdcAmount::from_micros(micros))];
        fixture.store.index.mark_seen(slot, &seen).await.expect("marked");
        assert_eq!(
            (listed().await.seen, listed().await.was_seen_after(9)),
            (micros.cast_signed(), micros == 6)
        );
    }
    let unexplained = fixture.store.index.list_unexplained(Network::Test, false, 10).await.expect("listed");
    assert_eq!(unexplained.iter().map(|ledger| ledger.account_id).collect::<Vec<_>>(), [second.id]);
}

#[tokio::test]
async fn a_walk_moves_with_its_readings_and_only_from_where_it_stood() {
    type KnownEntry = (Timestamp, Option<TransferId>);
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let address = fixture.operator.address;
    let mark = |text: &str, slot| Some(Mark { signature: text.into(), slot });
    let beginning = None;
    let begun = Walk {
        address,
        until: None,
        under_way: Some(UnfinishedWalk { top: mark("top", 9), before: Some("mid".into()) }),
    };
    let done = Walk { address, until: mark("top", 9), under_way: None };
    let party = party(&fixture.account);
    let claimed = fixture.claim_new(&fixture.transfer(1, "a"), 0).await;
    let mut entries = HistoryEntry::of_settlement(&claimed, &settlement(5), &party, address, None);
    entries[0].number = Some(PaymentNumber::Is(1));
    let readings = Readings { entries, are_final: true, ..Readings::default() };
    store.index.insert_readings(Network::Test, &readings, Some((&beginning, &begun))).await.expect("written");
    assert_eq!(store.index.find_walk(Network::Test, &address).await.expect("read"), Some(begun.clone()));
    assert_eq!(history(&fixture, &fixture.account).await.len(), 1);
    // Another process at a different position writes nothing at all.
    let mut later = readings.clone();
    later.entries[0].id = EntryId::from_bytes([9; 16]);
    let elsewhere = Some(Walk { until: mark("other", 3), ..begun.clone() });
    for from in [&beginning, &elsewhere] {
        let written = store.index.insert_readings(Network::Test, &later, Some((from, &done))).await;
        assert!(matches!(written, Err(StoreError::Superseded)), "{written:?}");
    }
    assert_eq!(history(&fixture, &fixture.account).await.len(), 1);
    store
        .index
        .insert_readings(Network::Test, &Readings::default(), Some((&Some(begun), &done)))
        .await
        .expect("written");
    assert_eq!(store.index.find_walk(Network::Test, &address).await.expect("read"), Some(done));
    assert_eq!(store.index.find_walk(Network::Live, &address).await.expect("read"), None);
    let known = async |whose, marks: &[Mark]| -> Vec<(Mark, Vec<KnownEntry>)> {
        store.index.find_known(Network::Test, whose, marks).await.expect("read").into_iter().collect()
    };
    let at_slot = |signature: &str, slot| Mark { signature: signature.into(), slot };
    let (there, elsewhere) = (at_slot("signature-1", u64::MAX), at_slot("signature-1", 4));
    let asked = [there.clone(), at_slot("x", u64::MAX)];
    for whose in [WalkOwner::Account(fixture.account.id), WalkOwner::Operator(fixture.operator.id)] {
        assert_eq!(known(whose, &asked).await, [(there.clone(), vec![(at(5), Some(claimed.id))])]);
        // It may have landed again in another slot.
        assert!(known(whose, std::slice::from_ref(&elsewhere)).await.is_empty());
    }
    assert!(known(WalkOwner::Operator(operator_id(30)), &asked).await.is_empty());
}

#[tokio::test]
async fn pending_fetches_are_listed_when_due_until_they_are_resolved() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let pending =
        |tries, second| PendingFetch { signature: "lost".into(), slot: 4, tries, next_try_at: at(second) };
    let write = async |pending: Vec<PendingFetch>, resolved: Vec<String>| {
        let readings = Readings { pending, resolved, ..Readings::default() };
        store.index.insert_readings(Network::Test, &readings, None).await.expect("written");
    };
    let due = async |second| {
        let due = |seconds| Due::within(at(second), Duration::from_secs(seconds));
        store.index.list_pending_fetches(Network::Test, due(60), (3, due(20)), 5).await
    };
    write(vec![pending(3, 10)], vec![]).await;
    // Another walk lists it again: its age does not reset.
    write(vec![pending(1, 2)], vec![]).await;
    assert!(due(9).await.expect("listed").is_empty());
    assert_eq!(due(10).await.expect("listed"), [pending(3, 10)]);
    // A clock that was ahead wrote it, and was put right: nobody waits until then.
    assert_eq!(due(-70).await.expect("listed"), []);
    assert_eq!(
        due(-71).await.expect("listed"),
        [pending(3, 10)],
        "it was tried so seldom that it pauses less"
    );
    write(vec![pending(4, 10)], vec![]).await;
    assert_eq!(due(-110).await.expect("listed"), []);
    assert_eq!(due(-111).await.expect("listed"), [pending(4, 10)]);
    write(vec![], vec!["lost".into()]).await;
    assert!(due(99).await.expect("listed").is_empty());
}

#[tokio::test]
async fn an_account_of_the_chain_is_adopted_once_with_a_walk_to_do() {
    let Some(fixture) = fixture().await else { return };
    let store = &fixture.store;
    let found = account(&fixture.operator, 60);
    assert!(store.index.adopt_account(Network::Test, &found).await.expect("adopted"));
    assert!(!store.index.adopt_account(Network::Test, &found).await.expect("known"));
    let walks = store.index.list_walks_under_way(Network::Test, 5).await.expect("listed");
    assert_eq!(walks, [(found.id, found.token_account)]);
    let parties = store.index.find_parties(Network::Test, &[found.address]).await.expect("found");
    assert_eq!(parties, [(found.address, party(&found))]);
    assert!(store.index.find_parties(Network::Live, &[found.address]).await.expect("found").is_empty());
    // An account that is being created is ready from then on.
    let requested = account(&fixture.operator, 70);
    store.accounts.insert_account_within(&requested, Quotas::default()).await.expect("inserted");
    assert!(!store.index.adopt_account(Network::Test, &requested).await.expect("known"));
    assert!(store.accounts.find_account(fixture.operator.id, requested.id).await.expect("read").is_some());
}

#[tokio::test]
async fn one_process_at_a_time_indexes_a_network() {
    let Some(fixture) = fixture().await else { return };
    let other = fixture.reopen().await;
    assert!(fixture.store.index.lease_index(Network::Test, at(0), at(10)).await.expect("asked"));
    assert!(fixture.store.index.lease_index(Network::Test, at(1), at(11)).await.expect("asked"));
    let alone = fixture.store.kind() == "sqlite";
    // A SQLite file serves one process, so the earlier holder is gone.
    assert_eq!(other.index.lease_index(Network::Test, at(5), at(15)).await.expect("asked"), alone);
    assert!(other.index.lease_index(Network::Test, at(11), at(20)).await.expect("asked"));
    other.index.release_index(Network::Test).await.expect("released");
    assert!(fixture.store.index.lease_index(Network::Test, at(12), at(22)).await.expect("asked"));
    // The clock was ahead and is put right: the lease ends further ahead than any is taken.
    assert_eq!(other.index.lease_index(Network::Test, at(-48), at(-38)).await.expect("asked"), alone);
    assert!(other.index.lease_index(Network::Test, at(-49), at(-39)).await.expect("asked"));
}
