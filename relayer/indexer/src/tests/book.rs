use super::address;
use crate::book::{Parties, addresses_of, entries_of};
use purser_chain::{Flow, LandedRecord, ProgramEvent};
use purser_model::{
    AccountId, Address, Counterparty, EntryKind, HistoryEntry, Network, OperatorId, Party, UsdcAmount,
    entry_id,
};

fn party(number: u8) -> Party {
    Party {
        account_id: AccountId::from_bytes([number; 16]),
        operator_id: OperatorId::from_bytes([10; 16]),
        token_account: token(number),
    }
}

fn agent(number: u8) -> Address {
    address(2, number)
}

fn token(number: u8) -> Address {
    address(3, number)
}

fn usdc(micros: u64) -> UsdcAmount {
    UsdcAmount::from_micros(micros)
}

fn pays(from: u8, to: Address, micros: u64) -> ProgramEvent {
    let (agent, amount) = (agent(from), usdc(micros));
    ProgramEvent::TransferExecuted {
        agent,
        transfer_id: [from; 16],
        asked_at: Some(50),
        number: Some(1),
        spent: None,
        amount,
        recipient: to,
        memo: "tea\0".into(),
    }
}

fn flow(token_account: Address, before: u64, after: u64) -> Flow {
    Flow { token_account, before: usdc(before), after: usdc(after) }
}

fn booked(events: Vec<ProgramEvent>, flows: Vec<Flow>) -> Vec<HistoryEntry> {
    let record = LandedRecord {
        signature: "signature".into(),
        node: 0,
        slot: 5,
        block_time: Some(60),
        events,
        policy_steps: vec![],
        grants: vec![],
        flows,
    };
    let parties: Parties = [1, 2, 3].map(|number| (agent(number), party(number))).into_iter().collect();
    entries_of(Network::Test, &record, 60, &parties)
}

/// Account, kind, amount and counterparty of each entry.
fn lines(entries: &[HistoryEntry]) -> Vec<(u8, EntryKind, u64, Option<Counterparty>)> {
    let line = |entry: &HistoryEntry| {
        (entry.account_id.bytes()[0], entry.kind, entry.amount.micros(), entry.counterparty)
    };
    entries.iter().map(line).collect()
}

fn other_side(address: Address) -> Option<Counterparty> {
    Some(Counterparty::TokenAccount(address))
}

#[test]
fn payment_between_two_accounts_is_booked_with_both() {
    let entries = booked(vec![pays(1, token(2), 5)], vec![flow(token(1), 9, 4), flow(token(2), 0, 5)]);
    assert_eq!(
        lines(&entries),
        [(1, EntryKind::Transfer, 5, other_side(token(2))), (2, EntryKind::Deposit, 5, other_side(token(1)))]
    );
    assert_eq!(entries[0].memo.as_ref().map(|memo| memo.as_str()), Some("tea\u{FFFD}"));
    // The recipient sees what the payment says on the chain.
    assert_eq!((&entries[1].memo, entries[1].transfer_id), (&entries[0].memo, entries[0].transfer_id));
    assert_eq!(entries[1].number, None);
    // If some of the money came another way, the deposit is no transfer.
    let more = booked(vec![pays(1, token(2), 5)], vec![flow(token(1), 9, 4), flow(token(2), 0, 6)]);
    assert_eq!((&more[1].memo, more[1].transfer_id), (&None, None));
    for (entry, number) in entries.iter().zip([1, 2]) {
        assert_eq!(entry.id, entry_id("signature", AccountId::from_bytes([number; 16]), 0));
    }
}

#[test]
fn minted_money_and_money_from_several_has_no_counterparty() {
    assert_eq!(lines(&booked(vec![], vec![flow(token(1), 1, 3)])), [(1, EntryKind::Deposit, 2, None)]);
    let two = vec![flow(token(1), 0, 7), flow(token(8), 5, 1), flow(token(9), 3, 0)];
    assert_eq!(lines(&booked(vec![], two)), [(1, EntryKind::Deposit, 7, None)]);
    let one = vec![flow(token(1), 0, 4), flow(token(2), 0, 3), flow(token(9), 7, 0)];
    assert_eq!(
        lines(&booked(vec![], one)),
        [(1, EntryKind::Deposit, 4, other_side(token(9))), (2, EntryKind::Deposit, 3, other_side(token(9)))]
    );
}

#[test]
fn money_that_comes_back_in_the_same_transaction_is_out_and_in() {
    // One stranger got 5 and gave 2 back; another gave everything back.
    let entries = booked(vec![pays(1, token(9), 5)], vec![flow(token(1), 10, 7), flow(token(9), 0, 3)]);
    assert_eq!(
        lines(&entries),
        [(1, EntryKind::Transfer, 5, other_side(token(9))), (1, EntryKind::Deposit, 2, None)]
    );
    let entries = booked(vec![pays(1, token(9), 5)], vec![]);
    assert_eq!(
        lines(&entries),
        [(1, EntryKind::Transfer, 5, other_side(token(9))), (1, EntryKind::Deposit, 5, None)]
    );
    let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [0, 1].map(|ordinal| entry_id("signature", party(1).account_id, ordinal)));
}

#[test]
fn several_payments_of_one_account_in_one_transaction_are_several_entries() {
    let events = vec![
        pays(1, token(9), 1),
        ProgramEvent::Withdrawn { agent: agent(1), source: token(1), amount: usdc(2), recipient: token(2) },
        pays(1, token(2), 3),
    ];
    let flows = vec![flow(token(1), 10, 4), flow(token(9), 0, 1), flow(token(2), 0, 5)];
    let entries = booked(events, flows);
    assert_eq!(
        lines(&entries),
        [
            (1, EntryKind::Transfer, 1, other_side(token(9))),
            (1, EntryKind::Withdrawal, 2, other_side(token(2))),
            (1, EntryKind::Transfer, 3, other_side(token(2))),
            (2, EntryKind::Deposit, 5, other_side(token(1))),
        ]
    );
    let ids: std::collections::HashSet<_> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), entries.len());
}

#[test]
fn foreign_accounts_have_no_history() {
    let events = vec![
        pays(7, token(8), 5),
        ProgramEvent::PolicyChanged { operator: agent(0), agent: agent(7), logged: None },
    ];
    assert!(booked(events, vec![flow(token(7), 5, 0), flow(token(8), 0, 5)]).is_empty());
}

#[test]
fn money_that_left_past_the_program_is_not_hidden() {
    assert_eq!(lines(&booked(vec![], vec![flow(token(1), 5, 1)])), [(1, EntryKind::Withdrawal, 4, None)]);
}

#[test]
fn a_recipient_is_looked_up_even_where_its_balance_is_the_same_in_the_end() {
    let record = LandedRecord {
        node: 0,
        signature: "signature".into(),
        slot: 5,
        block_time: Some(60),
        events: vec![pays(1, token(2), 5)],
        policy_steps: vec![],
        grants: vec![],
        flows: vec![],
    };
    let addresses = addresses_of(&record);
    assert!(addresses.contains(&agent(1)) && addresses.contains(&token(2)));
}
