use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::events::Withdrawn;

use crate::support::{
    address, agent, attack, operator, program, signer, Expected, Payment, Who, World, BALANCE, PAYEE,
    PAYEE_OWNER,
};

#[test]
fn the_admin_takes_any_amount_out_and_an_event_says_so() {
    for amount in [1, 2, BALANCE - 1, BALANCE] {
        let mut world = World::new();
        let before = world.agent();
        let outcome = world.accept(&world.main.withdraw(amount, PAYEE));
        assert_eq!(world.balance(&world.main.source), BALANCE - amount);
        assert_eq!(world.balance(&PAYEE), amount);
        assert_eq!(world.agent(), before);
        outcome.emitted(Withdrawn {
            operator: world.main.operator,
            agent: world.main.agent,
            amount,
            recipient: PAYEE,
            recipient_owner: PAYEE_OWNER,
            admin: Who::Admin.key(),
        });
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
fn nobody_but_the_admin_withdraws() {
    let mut world = World::new();
    for who in Who::ALL.into_iter().filter(|who| *who != Who::Admin) {
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
fn no_rule_of_the_policy_holds_the_admin_and_the_window_does_not_count_it() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| {
        policy.max_single_transfer = Some(1);
        policy.max_daily_spend = Some(1);
        policy.require_memo = true;
        policy.paused = true;
        policy.allowlist = purser::AllowlistArg::Only(vec![]);
    });
    world.accept(&main.withdraw(500, PAYEE));
    assert!(world.agent().window().is_empty(crate::support::NOON));
    world.policy(|policy| policy.max_daily_spend = Some(1));
    world.accept(&main.transfer(Payment { amount: 1, ..Payment::default() }));
}

#[test]
fn a_frozen_source_cannot_be_withdrawn_from() {
    let mut world = World::new();
    let source = world.main.source;
    world.edit_token(source, |state| state.state = crate::support::TokenAccountState::Frozen);
    let call = world.main.withdraw(1, PAYEE);
    world.refuse(&call, Expected::FROZEN);
}

#[test]
fn short_instruction_data_is_refused() {
    let mut world = World::new();
    let mut call = world.main.withdraw(1, PAYEE);
    call.data.pop();
    world.refuse(&call, ErrorCode::InstructionDidNotDeserialize);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.withdraw(1, PAYEE),
        &[
            signer("admin", PurserError::Unauthorized),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::WrongSource),
            address("source", PurserError::WrongSource),
            address("destination", PurserError::RecipientNotTokenAccount)
                .but(&["source"], PurserError::RecipientIsSource)
                .but(&["other_mint_account", "other_mint_frozen"], PurserError::RecipientWrongMint)
                .but(&["frozen"], PurserError::RecipientFrozen)
                .accepts(&["sibling_source", "twin_source", "foreign_source", "second_source"]),
            program("token_program"),
        ],
    );
}
