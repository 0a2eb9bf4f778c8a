//! Transactions as nodes return them, with every way that money can arrive.

mod instructions;

use crate::history::landed::{Flow, LandedRecord};
use crate::history::program_event::{LoggedPolicy, PolicySetTo, ProgramEvent};
use crate::read::decode::to_address;
use anchor_lang::Event;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::events::{self, AllowlistRecord, PolicyRecord};
use purser::state::Role;
use purser_client::{Deployment, DraftAccounts, Landed, RentRefunds, TransferOrder, WireLanded};
use purser_model::{HaltedBy, SpendingPolicy, Spent};
use purser_policy::{Limit, UsdcAmount};
use serde_json::{Value, json};
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;

const PROGRAM: Pubkey = purser::ID;
const TOKEN_PROGRAM: Pubkey = anchor_spl::token::ID;
const OTHER: Pubkey = Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
const MINT: Pubkey = Pubkey::new_from_array([77; 32]);
const SIGNATURE: &str =
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";

fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

fn usdc(micros: u64) -> UsdcAmount {
    UsdcAmount::from_micros(micros)
}

/// A successful transaction, as `getTransaction` returns it. It touches the accounts 1 to 9.
fn transaction() -> Value {
    let keys: Vec<String> = (1..10).map(|byte| key(byte).to_string()).collect();
    json!({
        "slot": 42,
        "blockTime": 1_800_000_000,
        "version": "legacy",
        "transaction": {
            "signatures": [SIGNATURE],
            "message": { "accountKeys": keys, "header": {}, "recentBlockhash": "x", "instructions": [] },
        },
        "meta": {
            "err": null,
            "logMessages": [],
            "innerInstructions": [],
            "loadedAddresses": { "writable": [], "readonly": [] },
            "preTokenBalances": [],
            "postTokenBalances": [],
        },
    })
}

fn balance(index: usize, micros: u64) -> Value {
    json!({
        "accountIndex": index,
        "mint": MINT.to_string(),
        "owner": key(99).to_string(),
        "programId": TOKEN_PROGRAM.to_string(),
        "uiTokenAmount": { "amount": micros.to_string(), "decimals": 6 },
    })
}

/// Sets balances before and after, by account index.
fn moving(mut transaction: Value, before: &[(usize, u64)], after: &[(usize, u64)]) -> Value {
    let balances =
        |all: &[(usize, u64)]| all.iter().map(|(index, micros)| balance(*index, *micros)).collect();
    transaction["meta"]["preTokenBalances"] = balances(before);
    transaction["meta"]["postTokenBalances"] = balances(after);
    transaction
}

/// Adds an account that holds a program or is named by an instruction; returns its index.
fn with_key(transaction: &mut Value, key: &Pubkey) -> usize {
    let keys = transaction["transaction"]["message"]["accountKeys"].as_array_mut().unwrap();
    if let Some(index) = keys.iter().position(|known| *known == key.to_string()) {
        return index;
    }
    keys.push(key.to_string().into());
    keys.len() - 1
}

fn instruction(transaction: &mut Value, program: &Pubkey, accounts: &[Pubkey], data: &[u8]) -> Value {
    let accounts: Vec<usize> = accounts.iter().map(|key| with_key(transaction, key)).collect();
    let program = with_key(transaction, program);
    json!({ "programIdIndex": program, "accounts": accounts, "data": bs58::encode(data).into_string() })
}

fn read(transaction: Value) -> Option<Landed> {
    let wire = serde_json::from_value::<WireLanded>(transaction).unwrap();
    wire.read(&PROGRAM, &MINT, SIGNATURE)
}

fn record(transaction: Value) -> LandedRecord {
    match read(transaction) {
        Some(Landed::Well(landed)) => LandedRecord::of(landed, &PROGRAM, (SIGNATURE, 0)),
        other => panic!("{other:?}"),
    }
}

fn flow(account: u8, before: u64, after: u64) -> Flow {
    Flow { token_account: to_address(&key(account)), before: usdc(before), after: usdc(after) }
}

#[test]
fn money_that_came_is_read_from_the_balances_whatever_moved_it() {
    // transfer, transfer_checked, mint_to, p-token's batch, and an unknown instruction.
    for data in [&[3, 64, 66, 15][..], &[12, 1, 6], &[7, 1], &[255, 3, 9, 3, 1], &[201, 7]] {
        let mut transaction = moving(transaction(), &[(0, 10), (1, 0)], &[(0, 4), (1, 6)]);
        let call = instruction(&mut transaction, &TOKEN_PROGRAM, &[key(1), key(2), key(3)], data);
        transaction["transaction"]["message"]["instructions"] = json!([call]);
        let record = record(transaction);
        assert_eq!(record.flows, [flow(1, 10, 4), flow(2, 0, 6)]);
        assert!(record.events.is_empty());
        assert_eq!(
            (record.slot, record.block_time, record.signature.as_str()),
            (42, Some(1_800_000_000), SIGNATURE)
        );
    }
}

#[test]
fn money_that_another_program_moved_from_within_counts() {
    let mut transaction = moving(transaction(), &[(0, 10), (1, 1)], &[(0, 0), (1, 11)]);
    let outer = instruction(&mut transaction, &OTHER, &[key(1), key(2)], &[1]);
    let inner = instruction(&mut transaction, &TOKEN_PROGRAM, &[key(1), key(2), key(3)], &[3, 10]);
    transaction["transaction"]["message"]["instructions"] = json!([outer]);
    transaction["meta"]["innerInstructions"] = json!([{ "index": 0, "instructions": [inner] }]);
    assert_eq!(record(transaction).flows, [flow(1, 10, 0), flow(2, 1, 11)]);
}

#[test]
fn several_accounts_dust_new_and_closed_ones_are_all_seen_and_unchanged_ones_left_out() {
    let before = [(0, 5), (1, 7), (3, 9)];
    let after = [(0, 6), (1, 7), (2, u64::MAX)];
    let record = record(moving(transaction(), &before, &after));
    assert_eq!(record.flows, [flow(1, 5, 6), flow(3, 0, u64::MAX), flow(4, 9, 0)]);
}

#[test]
fn accounts_from_lookup_tables_follow_the_message_writable_ones_first() {
    let mut transaction = moving(transaction(), &[], &[(9, 3), (10, 4), (11, 5)]);
    transaction["version"] = json!(0);
    transaction["meta"]["loadedAddresses"] =
        json!({ "writable": [key(50).to_string(), key(51).to_string()], "readonly": [key(52).to_string()] });
    transaction["transaction"]["message"]["addressTableLookups"] =
        json!([{ "accountKey": key(60).to_string(), "writableIndexes": [0, 1], "readonlyIndexes": [2] }]);
    assert_eq!(record(transaction).flows, [flow(50, 0, 3), flow(51, 0, 4), flow(52, 0, 5)]);
}

#[test]
fn versions_that_are_not_known_yet_say_the_same_in_the_same_places() {
    for version in [json!(1), json!(7)] {
        let mut transaction = moving(transaction(), &[(0, 10)], &[(0, 4), (1, 6)]);
        transaction["version"] = version;
        transaction["transaction"]["message"]["transactionConfig"] = json!({ "computeUnitLimit": 12_000 });
        transaction["meta"].as_object_mut().unwrap().remove("loadedAddresses");
        transaction["meta"]["somethingNew"] = json!([1, { "a": "b" }]);
        assert_eq!(record(transaction).flows, [flow(1, 10, 4), flow(2, 0, 6)]);
    }
}

#[test]
fn other_mints_and_other_token_programs_are_no_usdc() {
    let mut transaction = moving(transaction(), &[], &[(0, 6), (1, 7)]);
    transaction["meta"]["postTokenBalances"][0]["mint"] = json!(key(5).to_string());
    transaction["meta"]["postTokenBalances"][1]["programId"] =
        json!("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
    assert!(record(transaction).flows.is_empty());
}

#[test]
fn failed_transactions_did_nothing() {
    let mut transaction = moving(transaction(), &[(0, 10)], &[(0, 4)]);
    transaction["meta"]["err"] = json!({ "InstructionError": [0, { "Custom": 1 }] });
    assert_eq!(read(transaction), Some(Landed::Failed));
}

#[test]
fn transaction_that_a_node_kept_in_part_is_not_taken_as_whole() {
    let whole = moving(transaction(), &[(0, 10)], &[(0, 4)]);
    assert!(read(whole.clone()).is_some());
    let spoiled = |spoil: &dyn Fn(&mut Value)| {
        let mut transaction = whole.clone();
        spoil(&mut transaction);
        read(transaction)
    };
    assert_eq!(spoiled(&|t| t["meta"] = Value::Null), None);
    assert_eq!(spoiled(&|t| t["meta"]["preTokenBalances"] = Value::Null), None);
    assert_eq!(spoiled(&|t| t["meta"]["postTokenBalances"] = Value::Null), None);
    assert_eq!(spoiled(&|t| t["meta"]["preTokenBalances"][0]["accountIndex"] = json!(900)), None);
    assert_eq!(spoiled(&|t| t["meta"]["preTokenBalances"][0]["uiTokenAmount"]["amount"] = json!("-1")), None);
    assert_eq!(spoiled(&|t| t["transaction"]["message"]["accountKeys"][0] = json!("?")), None);
    // An answer from another connection.
    assert_eq!(spoiled(&|t| t["transaction"]["signatures"][0] = json!("another")), None);
    assert_eq!(spoiled(&|t| t["transaction"]["signatures"] = json!([])), None);
}
