use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use anchor_spl::token;
use purser::error::PurserError;
use purser::events::Withdrawn;
use solana_instruction_error::InstructionError;

use crate::support::{
    address, agent, attack, only, operator, signer, token_account, Call, Expected, Payment,
    TokenAccountState, Who, World, BALANCE, MINT, NOON, OTHER_MINT, PAYEE, PAYEE_OWNER, TOKEN_2022,
};

const SOURCE: usize = 3;
const MINT_SLOT: usize = 4;
/// The token program's answer to a mint that differs from the accounts' mint.
const MINT_MISMATCH: Expected = Expected(InstructionError::Custom(3));

fn withdrawn(world: &World, source: Pubkey, mint: Pubkey, amount: u64, recipient: Pubkey) -> Withdrawn {
    Withdrawn {
        operator: world.main.operator,
        agent: world.main.agent,
        source,
        mint,
        amount,
        recipient,
        recipient_owner: PAYEE_OWNER,
        admin: Who::Admin.key(),
    }
}

fn from(call: Call, source: Pubkey, mint: Pubkey) -> Call {
    call.with(SOURCE, source).with(MINT_SLOT, mint)
}

#[test]
fn the_admin_takes_any_amount_out_and_an_event_says_so() {
    for amount in [1, 2, BALANCE - 1, BALANCE] {
        let mut world = World::new();
        let before = world.agent();
        let outcome = world.accept(&world.main.withdraw(amount, PAYEE));
        assert_eq!(world.balance(&world.main.source), BALANCE - amount);
        assert_eq!(world.balance(&PAYEE), amount);
        assert_eq!(world.agent(), before);
        outcome.emitted(withdrawn(&world, world.main.source, MINT, amount, PAYEE));
    }
}

#[test]
fn the_largest_amount_there_is_can_be_withdrawn() {
    let mut world = World::new();
    world.fund(world.main.source, u64::MAX);
    world.accept(&world.main.withdraw(u64::MAX, PAYEE));
    assert_eq!(world.balance(&PAYEE), u64::MAX);
    assert_eq!(world.balance(&world.main.source), 0);
}

#[test]
fn usdc_in_a_second_account_of_the_agent_comes_out_and_into_the_first_too() {
    let second = World::new().cast.get("second_source");
    for amount in [1, BALANCE] {
        let mut world = World::new();
        let outcome = world.accept(&from(world.main.withdraw(amount, PAYEE), second, MINT));
        assert_eq!((world.balance(&second), world.balance(&PAYEE)), (BALANCE - amount, amount));
        assert_eq!(world.balance(&world.main.source), BALANCE);
        outcome.emitted(withdrawn(&world, second, MINT, amount, PAYEE));
    }
    let mut world = World::new();
    let call = from(world.main.withdraw(7, world.main.source), second, MINT);
    world.accept(&call);
    assert_eq!(world.balance(&world.main.source), BALANCE + 7);
    let call = from(world.main.withdraw(BALANCE, PAYEE), second, MINT);
    world.refuse(&call, PurserError::InsufficientBalance);
}

#[test]
fn tokens_of_any_other_mint_come_out_and_into_accounts_of_that_mint_alone() {
    let mut world = World::new();
    let main = world.main;
    let source = Pubkey::new_from_array([210; 32]);
    let initialized = TokenAccountState::Initialized;
    world.put(source, token_account(token::ID, OTHER_MINT, main.agent, 50, initialized));
    let to = world.cast.get("other_mint_account");
    let of = |amount, to| from(main.withdraw(amount, to), source, OTHER_MINT);
    world.refuse(&of(1, PAYEE), PurserError::RecipientWrongMint);
    world.refuse(&of(1, world.cast.get("other_mint_frozen")), PurserError::RecipientFrozen);
    world.refuse(&of(51, to), PurserError::InsufficientBalance);
    world.refuse(&of(0, to), PurserError::AmountZero);
    // A different mint with the same number of decimals as USDC.
    world.refuse(&from(main.withdraw(1, to), source, MINT), MINT_MISMATCH);
    for name in
        ["payee", "token_2022_mint", "nine_decimals_mint", "uninitialised_mint", "forged_mint", "nobody"]
    {
        let call = from(main.withdraw(1, to), source, world.cast.get(name));
        assert!(world.send(&[call.instruction()], Who::FeePayer).is_err(), "{name} as the mint");
    }
    let outcome = world.accept(&of(50, to));
    assert_eq!((world.balance(&source), world.balance(&to)), (0, 50));
    outcome.emitted(withdrawn(&world, source, OTHER_MINT, 50, to));
}

#[test]
fn nobody_but_the_admin_withdraws() {
    let mut world = World::new();
    for who in Who::but(&[Who::Admin]) {
        let call = world.main.withdraw(1, PAYEE).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn zero_and_more_than_the_balance_are_refused() {
    let mut world = World::new();
    let main = world.main;
    world.refuse(&main.withdraw(0, PAYEE), PurserError::AmountZero);
    for amount in [BALANCE + 1, u64::MAX] {
        world.refuse(&main.withdraw(amount, PAYEE), PurserError::InsufficientBalance);
    }
    world.fund(main.source, 0);
    world.refuse(&main.withdraw(1, PAYEE), PurserError::InsufficientBalance);
}

#[test]
fn no_rule_of_the_policy_and_no_halt_holds_the_admin_and_the_window_does_not_count_it() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| {
        policy.rules.max_single_transfer = Some(1);
        policy.rules.max_daily_spend = Some(1);
        policy.rules.require_memo = true;
        policy.rules.paused = true;
        policy.allowlist = only(&[], &[]);
    });
    world.accept(&main.halt());
    world.accept(&main.halt_operator());
    world.accept(&main.withdraw(500, PAYEE));
    assert!(world.agent().window().is_empty(NOON));
    world.policy(|policy| policy.rules.max_daily_spend = Some(1));
    world.accept(&main.resume());
    world.accept(&main.resume_operator());
    world.accept(&main.transfer(Payment { amount: 1, ..Payment::default() }));
}

#[test]
fn a_frozen_source_cannot_be_withdrawn_from() {
    let mut world = World::new();
    let source = world.main.source;
    world.edit_token(source, |state| state.state = TokenAccountState::Frozen);
    let call = world.main.withdraw(1, PAYEE);
    world.refuse(&call, Expected::FROZEN);
}

#[test]
fn short_instruction_data_is_refused() {
    let mut world = World::new();
    let call = world.main.withdraw(1, PAYEE);
    for bytes in 8..call.data.len() {
        let mut short = call.clone();
        short.data.truncate(bytes);
        world.refuse(&short, ErrorCode::InstructionDidNotDeserialize);
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    let programs = [token::ID, TOKEN_2022];
    let is_theirs = |key: &Pubkey| world.svm.get_account(key).is_some_and(|it| programs.contains(&it.owner));
    let of_token_programs: Vec<&str> =
        world.cast.iter().filter(|(_, key)| is_theirs(key)).map(|(name, _)| name).collect();
    attack(
        &world,
        &world.main.withdraw(1, PAYEE),
        &[
            signer("admin", PurserError::Unauthorized),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::WrongSource),
            address("source", PurserError::WrongSource)
                .but(&["payee"], PurserError::WrongSource)
                .accepts(&["second_source"]),
            address("mint", PurserError::WrongMint).but(&of_token_programs, MINT_MISMATCH),
            address("destination", PurserError::RecipientNotTokenAccount)
                .but(&["source"], PurserError::RecipientIsSource)
                .but(&["other_mint_account", "other_mint_frozen"], PurserError::RecipientWrongMint)
                .but(&["frozen"], PurserError::RecipientFrozen)
                .accepts(&["sibling_source", "twin_source", "foreign_source", "second_source"]),
            address("token_program", PurserError::WrongSource),
        ],
    );
}
