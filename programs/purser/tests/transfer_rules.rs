//! How the policy judges a transfer, and which rule answers when several are broken.

use anchor_lang::prelude::Pubkey;
use anchor_spl::token;
use purser::error::PurserError;
use purser::{AllowlistArg, PolicyArgs, Rules};

use crate::support::{
    keys, only, token_account, Payment, TokenAccountState, Who, World, BALANCE, MINT, PAYEE, PAYEE_OWNER,
};

/// The answer to `payment` under a policy.
#[track_caller]
fn refused(world: &mut World, payment: Payment, error: PurserError) {
    let call = world.main.transfer(payment);
    world.refuse(&call, error);
}

#[track_caller]
fn paid(world: &World, payment: Payment) {
    let call = world.main.transfer(payment);
    world.clone().accept(&call);
}

#[test]
fn the_first_broken_rule_in_the_order_of_precedence_answers() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment { amount: 5, ..Payment::default() }));
    let too_long = "x".repeat(801);
    let mut policy = PolicyArgs {
        rules: Rules {
            max_single_transfer: Some(5),
            max_daily_spend: Some(5),
            require_memo: true,
            paused: true,
        },
        allowlist: only(&[], &[]),
    };
    let nobody = world.cast.get("nobody");
    let mut payment = Payment { tag: 0, amount: 0, to: nobody, ..Payment::default() };
    let mut signer = Who::Stranger;
    let mut source = world.sibling.source;
    world.accept(&main.halt());
    // Each step fixes one thing; everything after it in the order is still broken.
    for step in 0..14 {
        world.policy(|args| *args = policy.clone());
        let call = main.transfer(payment).signed_by(signer).with(3, source);
        let expected = match step {
            0 => PurserError::TagZero,
            1 => PurserError::AmountZero,
            2 => PurserError::Unauthorized,
            3 => PurserError::WrongSource,
            4 => PurserError::RecipientNotTokenAccount,
            5 => PurserError::DuplicateTransfer,
            6 => PurserError::Halted,
            7 => PurserError::Paused,
            8 => PurserError::MemoRequired,
            9 => PurserError::MemoTooLong,
            10 => PurserError::RecipientNotAllowed,
            11 => PurserError::SingleLimitExceeded,
            12 => PurserError::DailyLimitExceeded,
            _ => PurserError::InsufficientBalance,
        };
        world.refuse_as(&format!("step {step}"), &call, expected);
        match step {
            0 => payment.tag = 1,
            1 => payment.amount = BALANCE,
            2 => signer = Who::TransferAuthority,
            3 => source = main.source,
            4 => payment.to = PAYEE,
            5 => payment.tag = 2,
            6 => drop(world.accept(&main.resume())),
            7 => policy.rules.paused = false,
            8 => payment.memo = &too_long,
            9 => payment.memo = "short",
            10 => policy.allowlist = AllowlistArg::Anyone,
            11 => policy.rules.max_single_transfer = None,
            12 => policy.rules.max_daily_spend = None,
            _ => payment.amount = BALANCE - 5,
        }
    }
    world.accept(&main.transfer(payment));
}

#[test]
fn the_largest_single_transfer_is_allowed_and_one_more_is_not() {
    for limit in [1, 1_000_000, BALANCE, u64::MAX - 1, u64::MAX] {
        let mut world = World::new();
        world.fund(world.main.source, u64::MAX);
        world.policy(|policy| policy.rules.max_single_transfer = Some(limit));
        paid(&world, Payment { amount: limit, ..Payment::default() });
        if let Some(amount) = limit.checked_add(1) {
            refused(&mut world, Payment { amount, ..Payment::default() }, PurserError::SingleLimitExceeded);
            refused(
                &mut world,
                Payment { amount: u64::MAX, ..Payment::default() },
                PurserError::SingleLimitExceeded,
            );
        }
    }
}

#[test]
fn a_limit_of_zero_lets_nothing_out() {
    let mut world = World::new();
    world.policy(|policy| policy.rules.max_single_transfer = Some(0));
    refused(&mut world, Payment { amount: 1, ..Payment::default() }, PurserError::SingleLimitExceeded);
    world.policy(|policy| policy.rules.max_daily_spend = Some(0));
    refused(&mut world, Payment { amount: 1, ..Payment::default() }, PurserError::DailyLimitExceeded);
}

#[test]
fn a_memo_has_up_to_800_bytes_of_any_script() {
    let mut world = World::new();
    for character in ["x", "é", "🪙", "\0"] {
        let longest = character.repeat(800 / character.len());
        paid(&world, Payment { memo: &longest, ..Payment::default() });
        let longer = format!("{longest}x");
        refused(&mut world, Payment { memo: &longer, ..Payment::default() }, PurserError::MemoTooLong);
    }
}

#[test]
fn a_required_memo_must_be_there_and_an_optional_one_may() {
    let mut world = World::new();
    paid(&world, Payment::default());
    paid(&world, Payment { memo: "m", ..Payment::default() });
    world.policy(|policy| policy.rules.require_memo = true);
    refused(&mut world, Payment::default(), PurserError::MemoRequired);
    paid(&world, Payment { memo: "m", ..Payment::default() });
}

#[test]
fn an_entry_is_the_token_account_or_the_wallet_that_owns_it_and_nothing_else() {
    let mut world = World::new();
    let sibling = world.sibling;
    for (allowlist, to) in [
        (only(&[], &[PAYEE]), PAYEE),
        (only(&[PAYEE_OWNER], &[]), PAYEE),
        (only(&[], &[sibling.source]), sibling.source),
        // The list names an account of the service by its agent's address, which owns its token account.
        (only(&[sibling.agent], &[]), sibling.source),
    ] {
        let other = if to == PAYEE { sibling.source } else { PAYEE };
        world.policy(|policy| policy.allowlist = allowlist);
        paid(&world, Payment { to, ..Payment::default() });
        refused(&mut world, Payment { to: other, ..Payment::default() }, PurserError::RecipientNotAllowed);
    }
}

#[test]
fn an_entry_does_not_match_as_the_other_kind() {
    let mut world = World::new();
    // Anyone can create a token account whose owner field holds a listed token account's address.
    let disguised = Pubkey::new_from_array([210; 32]);
    let initialized = TokenAccountState::Initialized;
    world.put(disguised, token_account(token::ID, MINT, PAYEE, 0, initialized));
    world.policy(|policy| policy.allowlist = only(&[], &[PAYEE]));
    refused(&mut world, Payment { to: disguised, ..Payment::default() }, PurserError::RecipientNotAllowed);
    paid(&world, Payment::default());
    // A wallet address that is also a token account's address.
    world.policy(|policy| policy.allowlist = only(&[PAYEE], &[]));
    refused(&mut world, Payment::default(), PurserError::RecipientNotAllowed);
    paid(&world, Payment { to: disguised, ..Payment::default() });
    world.policy(|policy| policy.allowlist = only(&[], &[PAYEE_OWNER]));
    refused(&mut world, Payment::default(), PurserError::RecipientNotAllowed);
    // The same with entries of the other kind in the list.
    world.policy(|policy| policy.allowlist = only(&keys(5), &[PAYEE]));
    refused(&mut world, Payment { to: disguised, ..Payment::default() }, PurserError::RecipientNotAllowed);
    world.policy(|policy| policy.allowlist = only(&[PAYEE], &keys(5)));
    refused(&mut world, Payment::default(), PurserError::RecipientNotAllowed);
}

#[test]
fn an_empty_allowlist_allows_nobody() {
    let mut world = World::new();
    world.policy(|policy| policy.allowlist = only(&[], &[]));
    refused(&mut world, Payment::default(), PurserError::RecipientNotAllowed);
}

#[test]
fn every_entry_of_a_list_is_found_and_no_neighbour_of_one_is() {
    let mut world = World::new();
    let near = |last: u8| {
        let mut bytes = PAYEE.to_bytes();
        bytes[31] = bytes[31].wrapping_add(last);
        Pubkey::new_from_array(bytes)
    };
    let around = [near(0xfe), near(0xff), near(1), near(2)];
    for size in 0..=4 {
        let list = || around.iter().take(size).copied();
        let mut without: Vec<Pubkey> = list().collect();
        without.sort_unstable();
        world.policy(|policy| policy.allowlist = only(&[], &without));
        refused(&mut world, Payment::default(), PurserError::RecipientNotAllowed);
        let mut with: Vec<Pubkey> = list().chain([PAYEE]).collect();
        with.sort_unstable();
        world.policy(|policy| policy.allowlist = only(&[], &with));
        paid(&world, Payment::default());
    }
}
