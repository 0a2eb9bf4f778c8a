//! Transactions as nodes write them down, in every form that money comes in.

use super::decode::to_address;
use super::happening::Happening;
use super::landed::{Flow, Landed, LandedRecord, WireLanded};
use anchor_lang::{Event, InstructionData, ToAccountMetas};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::events;
use purser_policy::UsdcAmount;
use serde_json::{Value, json};
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

/// A transaction that landed well, as `getTransaction` answers it. It touches the accounts 1 to 9.
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

/// With balances before and after, by index of account.
fn moving(mut transaction: Value, before: &[(usize, u64)], after: &[(usize, u64)]) -> Value {
    let balances =
        |all: &[(usize, u64)]| all.iter().map(|(index, micros)| balance(*index, *micros)).collect();
    transaction["meta"]["preTokenBalances"] = balances(before);
    transaction["meta"]["postTokenBalances"] = balances(after);
    transaction
}

/// With one more account, which holds a program or is named by an instruction; gives its index.
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
    serde_json::from_value::<WireLanded>(transaction).unwrap().read(&PROGRAM, &MINT, SIGNATURE)
}

fn record(transaction: Value) -> LandedRecord {
    match read(transaction) {
        Some(Landed::Well(record)) => record,
        other => panic!("{other:?}"),
    }
}

fn flow(account: u8, before: u64, after: u64) -> Flow {
    Flow { token_account: to_address(&key(account)), before: usdc(before), after: usdc(after) }
}

#[test]
fn money_that_came_is_read_from_the_balances_whatever_moved_it() {
    // transfer, transfer_checked, mint_to, p-token's batch, and an instruction that nobody knows.
    for data in [&[3, 64, 66, 15][..], &[12, 1, 6], &[7, 1], &[255, 3, 9, 3, 1], &[201, 7]] {
        let mut transaction = moving(transaction(), &[(0, 10), (1, 0)], &[(0, 4), (1, 6)]);
        let call = instruction(&mut transaction, &TOKEN_PROGRAM, &[key(1), key(2), key(3)], data);
        transaction["transaction"]["message"]["instructions"] = json!([call]);
        let record = record(transaction);
        assert_eq!(record.flows, [flow(1, 10, 4), flow(2, 0, 6)]);
        assert!(record.happenings.is_empty());
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
fn what_a_node_did_not_keep_whole_is_not_taken_for_all_of_it() {
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
    // An answer that got into the wrong connection.
    assert_eq!(spoiled(&|t| t["transaction"]["signatures"][0] = json!("another")), None);
    assert_eq!(spoiled(&|t| t["transaction"]["signatures"] = json!([])), None);
}

/// Accounts, data and event of an instruction, and what it is read as.
type Written = (Vec<Pubkey>, Vec<u8>, Vec<u8>, Happening);

/// Every instruction that histories know, as it is called and as it logs.
fn instructions() -> Vec<Written> {
    let [authority, operator, agent, source, destination, owner] = [11, 12, 13, 14, 15, 16].map(key);
    let of = |accounts: &dyn ToAccountMetas| -> Vec<Pubkey> {
        accounts.to_account_metas(None).iter().map(|meta| meta.pubkey).collect()
    };
    let transfer = purser::accounts::Transfer {
        transfer_authority: authority,
        operator,
        agent,
        source,
        destination,
        token_program: TOKEN_PROGRAM,
    };
    let withdraw = purser::accounts::Withdraw {
        admin: authority,
        operator,
        agent,
        source,
        destination,
        token_program: TOKEN_PROGRAM,
    };
    let create = purser::accounts::CreateAgent {
        authority,
        operator,
        agent,
        token_account: source,
        usdc_mint: MINT,
        token_program: TOKEN_PROGRAM,
        associated_token_program: OTHER,
        system_program: Pubkey::default(),
    };
    let set_paused = purser::accounts::SetPaused { authority, operator, agent };
    let set_operator_paused = purser::accounts::SetOperatorPaused { authority, operator };
    let close = purser::accounts::CloseAgent {
        admin: authority,
        operator,
        agent,
        token_account: source,
        token_program: TOKEN_PROGRAM,
    };
    let [operator_address, agent_address, source_address, destination_address] =
        [operator, agent, source, destination].map(|key| to_address(&key));
    vec![
        (
            of(&transfer),
            purser::instruction::Transfer {
                transfer_id: [5; 16],
                tag: 6,
                sequence: 8,
                amount: 7,
                memo: "tea 🫖".into(),
            }
            .data(),
            events::TransferExecuted {
                agent,
                transfer_id: [5; 16],
                tag: 6,
                amount: 7,
                recipient: destination,
                recipient_owner: owner,
                policy_version: 1,
                spent_in_window: 7,
                memo: "tea 🫖".into(),
            }
            .data(),
            Happening::TransferExecuted {
                agent: agent_address,
                transfer_id: [5; 16],
                amount: usdc(7),
                recipient: destination_address,
                memo: "tea 🫖".into(),
            },
        ),
        (
            of(&withdraw),
            purser::instruction::Withdraw { amount: 8 }.data(),
            events::Withdrawn {
                operator,
                agent,
                amount: 8,
                recipient: destination,
                recipient_owner: owner,
                admin: authority,
            }
            .data(),
            Happening::Withdrawn { agent: agent_address, amount: usdc(8), recipient: destination_address },
        ),
        (
            of(&create),
            purser::instruction::CreateAgent { agent_id: [9; 16] }.data(),
            events::AgentCreated { operator, agent, agent_id: [9; 16], token_account: source }.data(),
            Happening::AgentCreated {
                operator: operator_address,
                agent: agent_address,
                agent_id: [9; 16],
                token_account: source_address,
            },
        ),
        (
            of(&set_paused),
            purser::instruction::SetPaused { paused: true }.data(),
            events::PausedSet {
                operator,
                agent: Some(agent),
                paused: true,
                policy_version: 3,
                signer: authority,
            }
            .data(),
            Happening::PolicyChanged { operator: operator_address, agent: Some(agent_address) },
        ),
        (
            of(&set_operator_paused),
            purser::instruction::SetOperatorPaused { paused: true }.data(),
            events::PausedSet { operator, agent: None, paused: true, policy_version: 0, signer: authority }
                .data(),
            Happening::PolicyChanged { operator: operator_address, agent: None },
        ),
        (
            of(&close),
            purser::instruction::CloseAgent {}.data(),
            events::AgentClosed { operator, agent, agent_id: [9; 16] }.data(),
            Happening::AgentClosed { operator: operator_address, agent: agent_address },
        ),
    ]
}

fn logged(event: &[u8]) -> String {
    format!("Program data: {}", STANDARD.encode(event))
}

#[test]
fn every_event_says_what_its_instruction_says() {
    for (accounts, data, event, expected) in instructions() {
        let mut whole = transaction();
        let call = instruction(&mut whole, &PROGRAM, &accounts, &data);
        whole["transaction"]["message"]["instructions"] = json!([call]);
        let lines =
            [format!("Program {PROGRAM} invoke [1]"), logged(&event), format!("Program {PROGRAM} success")];
        whole["meta"]["logMessages"] = json!(lines);
        let mut cut = whole.clone();
        cut["meta"]["logMessages"] = json!([lines[0], "Log truncated"]);
        let mut silent = whole.clone();
        silent["meta"]["logMessages"] = Value::Null;
        for transaction in [whole, cut, silent] {
            assert_eq!(record(transaction).happenings, std::slice::from_ref(&expected));
        }
    }
}

#[test]
fn cut_log_is_made_up_for_by_all_instructions_in_their_order_those_within_others_too() {
    let all = instructions();
    let mut transaction = transaction();
    let mut calls: Vec<Value> = all
        .iter()
        .map(|(accounts, data, ..)| instruction(&mut transaction, &PROGRAM, accounts, data))
        .collect();
    let foreign = instruction(&mut transaction, &OTHER, &[key(1)], &[1]);
    let (first, within) = (calls.remove(0), calls.split_off(2));
    let rest = calls;
    transaction["transaction"]["message"]["instructions"] = json!([first, foreign, rest[0], rest[1]]);
    transaction["meta"]["innerInstructions"] = json!([{ "index": 1, "instructions": within }]);
    // Some events came before the cut: they are not counted twice.
    let lines = [format!("Program {PROGRAM} invoke [1]"), logged(&all[0].2), "Log truncated".into()];
    transaction["meta"]["logMessages"] = json!(lines);
    let expected: Vec<Happening> = [0, 3, 4, 5, 1, 2].map(|index| all[index].3.clone()).into();
    assert_eq!(record(transaction).happenings, expected);
}

#[test]
fn lines_that_a_node_doubled_lost_moved_or_made_up_change_nothing() {
    let all = instructions();
    let (transfer, withdrawal) = (&all[0], &all[1]);
    let mut whole = transaction();
    let calls: Vec<Value> = [transfer, withdrawal]
        .map(|(accounts, data, ..)| instruction(&mut whole, &PROGRAM, accounts, data))
        .into();
    whole["transaction"]["message"]["instructions"] = json!(calls);
    let [begin, end] = ["invoke [1]", "success"].map(|what| format!("Program {PROGRAM} {what}"));
    let [first, second] = [transfer, withdrawal].map(|(_, _, event, _)| logged(event));
    let made_up = logged(&all[2].2);
    let lines = |lines: &[&String]| lines.iter().map(|line| (*line).clone()).collect::<Vec<_>>();
    for spoiled in [
        lines(&[&begin, &first, &end, &begin, &second, &end]),
        lines(&[&begin, &first, &first, &end, &begin, &second, &end]),
        lines(&[&begin, &first, &end, &begin, &second, &end, &begin, &first, &end]),
        lines(&[&begin, &end, &begin, &second, &end]),
        lines(&[&begin, &second, &end, &begin, &first, &end]),
        lines(&[&begin, &first, &end, &begin, &end, &second]),
        lines(&[&begin, &first, &end, &begin, &second, &made_up, &end]),
        lines(&[&begin, &made_up, &end, &begin, &second, &end]),
        Vec::new(),
    ] {
        let mut transaction = whole.clone();
        transaction["meta"]["logMessages"] = json!(spoiled);
        assert_eq!(record(transaction).happenings, [transfer.3.clone(), withdrawal.3.clone()], "{spoiled:?}");
    }
}

#[test]
fn node_that_kept_no_inner_calls_is_taken_by_its_log() {
    let (accounts, data, event, expected) = instructions().remove(0);
    let mut transaction = transaction();
    let within = instruction(&mut transaction, &PROGRAM, &accounts, &data);
    let outer = instruction(&mut transaction, &OTHER, &[key(1)], &[1]);
    transaction["transaction"]["message"]["instructions"] = json!([outer]);
    transaction["meta"]["logMessages"] = json!([
        format!("Program {OTHER} invoke [1]"),
        format!("Program {PROGRAM} invoke [2]"),
        logged(&event),
        format!("Program {PROGRAM} success"),
        format!("Program {OTHER} success"),
    ]);
    transaction["meta"]["innerInstructions"] = Value::Null;
    assert_eq!(record(transaction.clone()).happenings, std::slice::from_ref(&expected));
    transaction["meta"]["innerInstructions"] = json!([{ "index": 0, "instructions": [within] }]);
    assert_eq!(record(transaction).happenings, [expected]);
}

#[test]
fn events_that_another_program_forges_are_not_ours() {
    for (_, _, event, _) in instructions() {
        let mut transaction = transaction();
        let call = instruction(&mut transaction, &OTHER, &[key(13)], &event);
        transaction["transaction"]["message"]["instructions"] = json!([call]);
        for lines in [
            vec![format!("Program {OTHER} invoke [1]"), logged(&event), format!("Program {OTHER} success")],
            vec![
                format!("Program {OTHER} invoke [1]"),
                format!("Program log: Program {PROGRAM} invoke [2]"),
                logged(&event),
                format!("Program {OTHER} success"),
            ],
            // Cut on purpose: the instructions are read, and none of them is ours.
            vec![format!("Program {OTHER} invoke [1]"), logged(&event), "Log truncated".into()],
        ] {
            transaction["meta"]["logMessages"] = json!(lines);
            assert!(record(transaction.clone()).happenings.is_empty(), "{lines:?}");
        }
    }
}

#[test]
fn instruction_of_ours_that_says_nothing_readable_is_passed_over() {
    let (accounts, data, ..) = instructions().remove(0);
    for (accounts, data) in
        [(&accounts[..2], &data[..]), (&accounts[..], &data[..9]), (&accounts[..], &[1, 2, 3][..])]
    {
        let mut transaction = transaction();
        let call = instruction(&mut transaction, &PROGRAM, accounts, data);
        transaction["transaction"]["message"]["instructions"] = json!([call]);
        transaction["meta"]["logMessages"] = Value::Null;
        assert!(record(transaction).happenings.is_empty());
    }
}
