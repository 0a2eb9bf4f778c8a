//! How we read our program's instructions, and the events that they log.

use super::*;

/// An instruction with the events that it logs, and the events that we should read.
struct Written {
    accounts: Vec<Pubkey>,
    data: Vec<u8>,
    events: Vec<Vec<u8>>,
    meaning: Vec<ProgramEvent>,
}

fn written(called: Instruction, events: Vec<Vec<u8>>, meaning: Vec<ProgramEvent>) -> Written {
    let accounts = called.accounts.iter().map(|meta| meta.pubkey).collect();
    Written { accounts, data: called.data, events, meaning }
}

/// Every instruction that histories know, with its log.
fn instructions() -> Vec<Written> {
    let [authority, operator, agent, owner, destination] = [11, 12, 13, 16, 15].map(key);
    let at = Deployment { program: PROGRAM, usdc_mint: MINT };
    let source = at.token_account(&agent);
    let policy_at = DraftAccounts { authority, operator, agent };
    let rent_refunds = RentRefunds { agent: authority, draft: authority };
    let created = at.agent_address(&operator, &[9; 16]);
    let order = TransferOrder {
        operator,
        agent,
        source,
        destination,
        transfer_id: [5; 16],
        asked_at: 8,
        amount: 7,
        memo: "tea 🫖",
    };
    let [operator_address, agent_address, source_address, destination_address, created_address] =
        [operator, agent, source, destination, created].map(|key| to_address(&key));
    let changed = |agent, version, set| {
        let logged = LoggedPolicy { version, signer: to_address(&authority), set };
        ProgramEvent::PolicyChanged { operator: operator_address, agent, logged: Some(logged) }
    };
    let capped = SpendingPolicy { max_daily_spend: Limit::AtMost(usdc(5)), ..SpendingPolicy::default() };
    let set = |agent, version| changed(agent, version, PolicySetTo::Whole(capped.clone()));
    let halt =
        |agent, is_halted, by| ProgramEvent::HaltChanged { operator: operator_address, agent, is_halted, by };
    let record = PolicyRecord {
        rules: purser::Rules { max_daily_spend: Some(5), ..purser::Rules::OPEN },
        allowlist: AllowlistRecord::Anyone,
    };
    let policy_set = |agent, policy_version| {
        let policy = record.clone();
        events::PolicySet { operator, agent, policy_version, policy, signer: authority }.data()
    };
    let allowlist = AllowlistRecord::Draft { wallet_count: 90, token_account_count: 1, hash: [7; 32] };
    let long = PolicyRecord { allowlist, ..record.clone() };
    let in_draft = events::PolicySet { operator, agent, policy_version: 5, policy: long, signer: authority };
    let halt_set =
        |agent, halted_by| events::HaltSet { operator, agent, halted_by, signer: authority }.data();
    let paused = events::PausedSet { operator, agent, paused: true, policy_version: 3, signer: authority };
    vec![
        written(
            at.transfer(authority, &order),
            vec![
                events::TransferExecuted {
                    agent,
                    number: 9,
                    transfer_id: [5; 16],
                    amount: 7,
                    recipient: destination,
                    recipient_owner: owner,
                    policy_version: 1,
                    spent_in_window: 7,
                    memo: "tea 🫖".into(),
                }
                .data(),
            ],
            vec![ProgramEvent::TransferExecuted {
                agent: agent_address,
                transfer_id: [5; 16],
                asked_at: Some(8),
                number: Some(9),
                spent: Some(Spent { in_window: usdc(7), policy_version: 1 }),
                amount: usdc(7),
                recipient: destination_address,
                memo: "tea 🫖".into(),
            }],
        ),
        written(
            at.withdraw(authority, operator, agent, at.usdc_of(&agent), destination, 8),
            vec![
                events::Withdrawn {
                    operator,
                    agent,
                    source,
                    mint: MINT,
                    amount: 8,
                    recipient: destination,
                    recipient_owner: owner,
                    admin: authority,
                }
                .data(),
            ],
            vec![ProgramEvent::Withdrawn {
                agent: agent_address,
                source: source_address,
                amount: usdc(8),
                recipient: destination_address,
            }],
        ),
        written(
            at.create_agent(authority, authority, authority, operator, [9; 16], &SpendingPolicy::default()),
            vec![
                events::AgentCreated {
                    operator,
                    agent: created,
                    agent_id: [9; 16],
                    token_account: at.token_account(&created),
                }
                .data(),
                policy_set(created, 1),
            ],
            vec![
                ProgramEvent::AgentCreated {
                    operator: operator_address,
                    agent_id: [9; 16],
                    agent: created_address,
                    token_account: to_address(&at.token_account(&created)),
                },
                set(created_address, 1),
            ],
        ),
        written(
            at.set_paused(policy_at, true),
            vec![paused.data()],
            vec![changed(agent_address, 3, PolicySetTo::Paused(true))],
        ),
        written(
            at.set_policy(policy_at, authority, authority, 3, &SpendingPolicy::default()),
            vec![policy_set(agent, 4)],
            vec![set(agent_address, 4)],
        ),
        written(
            at.apply_draft(policy_at, authority, rent_refunds, [7; 32]),
            vec![in_draft.data()],
            vec![changed(agent_address, 5, PolicySetTo::InDraft { hash: [7; 32] })],
        ),
        written(
            at.halt(authority, operator, None),
            vec![halt_set(None, Some(Role::Guardian))],
            vec![halt(None, true, Some(HaltedBy::Guardian))],
        ),
        written(
            at.resume(authority, operator, Some(agent)),
            vec![halt_set(Some(agent), None)],
            vec![halt(Some(agent_address), false, None)],
        ),
        written(
            at.resume_with(authority, operator, &[agent, owner]),
            [None, Some(agent), Some(owner)].map(|agent| halt_set(agent, None)).to_vec(),
            vec![
                halt(None, false, None),
                halt(Some(agent_address), false, None),
                halt(Some(to_address(&owner)), false, None),
            ],
        ),
        written(
            at.close_agent(authority, operator, agent, destination, rent_refunds),
            vec![
                events::AgentClosed {
                    operator,
                    agent,
                    agent_id: [9; 16],
                    payments: 3,
                    swept: 2,
                    recipient: destination,
                    admin: authority,
                }
                .data(),
            ],
            vec![ProgramEvent::AgentClosed {
                operator: operator_address,
                agent: agent_address,
                recipient: destination_address,
            }],
        ),
    ]
}

fn logged(event: &[u8]) -> String {
    format!("Program data: {}", STANDARD.encode(event))
}

#[test]
fn every_event_says_what_its_instruction_says() {
    for Written { accounts, data, events, meaning } in instructions() {
        let mut whole = transaction();
        let call = instruction(&mut whole, &PROGRAM, &accounts, &data);
        whole["transaction"]["message"]["instructions"] = json!([call]);
        let begin = format!("Program {PROGRAM} invoke [1]");
        let lines: Vec<String> = std::iter::once(begin)
            .chain(events.iter().map(|event| logged(event)))
            .chain([format!("Program {PROGRAM} success")])
            .collect();
        whole["meta"]["logMessages"] = json!(lines);
        let mut cut = whole.clone();
        cut["meta"]["logMessages"] = json!([lines[0], "Log truncated"]);
        let mut silent = whole.clone();
        silent["meta"]["logMessages"] = Value::Null;
        assert_eq!(record(whole).events, meaning);
        let called: Vec<ProgramEvent> = meaning.iter().map(ProgramEvent::as_called).collect();
        for transaction in [cut, silent] {
            assert_eq!(record(transaction).events, called);
        }
    }
}

#[test]
fn cut_log_is_made_up_for_by_all_instructions_in_their_order_those_within_others_too() {
    let all = instructions();
    let mut transaction = transaction();
    let mut calls: Vec<Value> = all
        .iter()
        .map(|called| instruction(&mut transaction, &PROGRAM, &called.accounts, &called.data))
        .collect();
    let foreign = instruction(&mut transaction, &OTHER, &[key(1)], &[1]);
    let (first, within) = (calls.remove(0), calls.split_off(2));
    let rest = calls;
    let order = [0].into_iter().chain(3..all.len()).chain([1, 2]);
    transaction["transaction"]["message"]["instructions"] = json!([first, foreign, rest[0], rest[1]]);
    transaction["meta"]["innerInstructions"] = json!([{ "index": 1, "instructions": within }]);
    // Some events came before the cut: they must not count twice.
    let lines = [format!("Program {PROGRAM} invoke [1]"), logged(&all[0].events[0]), "Log truncated".into()];
    transaction["meta"]["logMessages"] = json!(lines);
    let meaning = order.flat_map(|index| &all[index].meaning);
    let expected: Vec<ProgramEvent> = meaning.map(ProgramEvent::as_called).collect();
    assert_eq!(record(transaction).events, expected);
}

#[test]
fn lines_that_a_node_doubled_lost_moved_or_made_up_change_nothing() {
    let all = instructions();
    let (transfer, withdrawal) = (&all[0], &all[1]);
    let mut whole = transaction();
    let calls: Vec<Value> = [transfer, withdrawal]
        .map(|called| instruction(&mut whole, &PROGRAM, &called.accounts, &called.data))
        .into();
    whole["transaction"]["message"]["instructions"] = json!(calls);
    let [begin, end] = ["invoke [1]", "success"].map(|what| format!("Program {PROGRAM} {what}"));
    let [first, second] = [transfer, withdrawal].map(|called| logged(&called.events[0]));
    let made_up = logged(&all[2].events[0]);
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
        let expected = [transfer, withdrawal].map(|called| called.meaning[0].clone());
        // Where the log does not match the calls, its numbers do not count either.
        let is_whole = spoiled.len() == 6 && spoiled[1] == first && spoiled[4] == second;
        let expected = if is_whole { expected } else { expected.map(|event| event.as_called()) };
        assert_eq!(record(transaction).events, expected, "{spoiled:?}");
    }
}

#[test]
fn node_that_kept_no_inner_calls_is_taken_by_its_log() {
    let Written { accounts, data, events, meaning: expected } = instructions().remove(0);
    let mut transaction = transaction();
    let within = instruction(&mut transaction, &PROGRAM, &accounts, &data);
    let outer = instruction(&mut transaction, &OTHER, &[key(1)], &[1]);
    transaction["transaction"]["message"]["instructions"] = json!([outer]);
    transaction["meta"]["logMessages"] = json!([
        format!("Program {OTHER} invoke [1]"),
        format!("Program {PROGRAM} invoke [2]"),
        logged(&events[0]),
        format!("Program {PROGRAM} success"),
        format!("Program {OTHER} success"),
    ]);
    transaction["meta"]["innerInstructions"] = Value::Null;
    let [ProgramEvent::TransferExecuted { transfer_id, asked_at: None, number, .. }] =
        &record(transaction.clone()).events[..]
    else {
        panic!("the log alone does not tell the second that the instruction names");
    };
    assert_eq!((*transfer_id, *number), ([5; 16], Some(9)));
    transaction["meta"]["innerInstructions"] = json!([{ "index": 0, "instructions": [within] }]);
    assert_eq!(record(transaction).events, expected);
}

#[test]
fn events_that_another_program_forges_are_not_ours() {
    for event in instructions().into_iter().flat_map(|called| called.events) {
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
            // Cut on purpose: we then read the instructions, and none of them is ours.
            vec![format!("Program {OTHER} invoke [1]"), logged(&event), "Log truncated".into()],
        ] {
            transaction["meta"]["logMessages"] = json!(lines);
            assert!(record(transaction.clone()).events.is_empty(), "{lines:?}");
        }
    }
}

#[test]
fn instruction_of_ours_that_says_nothing_readable_is_passed_over() {
    let Written { accounts, data, .. } = instructions().remove(0);
    for (accounts, data) in
        [(&accounts[..2], &data[..]), (&accounts[..], &data[..9]), (&accounts[..], &[1, 2, 3][..])]
    {
        let mut transaction = transaction();
        let call = instruction(&mut transaction, &PROGRAM, accounts, data);
        transaction["transaction"]["message"]["instructions"] = json!([call]);
        transaction["meta"]["logMessages"] = Value::Null;
        assert!(record(transaction).events.is_empty());
    }
}
