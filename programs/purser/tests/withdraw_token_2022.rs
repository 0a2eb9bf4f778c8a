//! The admin can withdraw tokens that others send to an agent, under either token program.

use anchor_lang::prelude::{AccountMeta, Pubkey};
use purser::error::PurserError;
use purser::events::Withdrawn;
use solana_account::Account;
use solana_instruction_error::InstructionError;

use crate::support::{
    mint_account, token_account, Call, Expected, TokenAccountState, Who, World, PAYEE, PAYEE_OWNER,
    TOKEN_2022,
};

const TOKEN: Pubkey = Pubkey::new_from_array([220; 32]);
const SOURCE: Pubkey = Pubkey::new_from_array([221; 32]);
const TO: Pubkey = Pubkey::new_from_array([222; 32]);
const BALANCE: u64 = 1_000;

/// Extension numbers of Token-2022.
const TRANSFER_FEE_CONFIG: u16 = 1;
const TRANSFER_FEE_AMOUNT: u16 = 2;
const MEMO_TRANSFER: u16 = 8;
const TRANSFER_HOOK: u16 = 14;
const TRANSFER_HOOK_ACCOUNT: u16 = 15;
/// `TokenError::NoMemo`.
const NO_MEMO: Expected = Expected(InstructionError::Custom(36));

/// Puts extensions after the fields that both programs share. `kind`: 1 a mint, 2 an account.
fn extended(mut account: Account, kind: u8, extensions: &[(u16, Vec<u8>)]) -> Account {
    if extensions.is_empty() {
        return account;
    }
    account.data.resize(165, 0);
    account.data.push(kind);
    for (number, value) in extensions {
        account.data.extend(number.to_le_bytes());
        account.data.extend((value.len() as u16).to_le_bytes());
        account.data.extend(value);
    }
    account
}

/// A Token-2022 token with these extensions of the mint, the agent's account and the recipient's account.
fn world(mint: &[(u16, Vec<u8>)], source: &[(u16, Vec<u8>)], to: &[(u16, Vec<u8>)]) -> World {
    let mut world = World::new();
    let account =
        |owner, amount| token_account(TOKEN_2022, TOKEN, owner, amount, TokenAccountState::Initialized);
    world.put(TOKEN, extended(mint_account(TOKEN_2022, 2, true), 1, mint));
    world.put(SOURCE, extended(account(world.main.agent, BALANCE), 2, source));
    world.put(TO, extended(account(PAYEE_OWNER, 0), 2, to));
    world
}

fn withdraw(world: &World, amount: u64) -> Call {
    world.main.withdraw(amount, TO).with(3, SOURCE).with(4, TOKEN).with(6, TOKEN_2022)
}

fn withdrawn(world: &World, amount: u64) -> Withdrawn {
    Withdrawn {
        operator: world.main.operator,
        agent: world.main.agent,
        source: SOURCE,
        mint: TOKEN,
        amount,
        recipient: TO,
        recipient_owner: PAYEE_OWNER,
        admin: Who::Admin.key(),
    }
}

/// The balance of a token account, in a field that both programs share.
fn balance(world: &World, address: Pubkey) -> u64 {
    u64::from_le_bytes(world.account(&address).data[64..72].try_into().expect("8 bytes"))
}

#[test]
fn tokens_without_extensions_come_out_to_the_last() {
    let mut world = world(&[], &[], &[]);
    for amount in [1, BALANCE - 1] {
        let outcome = world.accept(&withdraw(&world, amount));
        outcome.emitted(withdrawn(&world, amount));
    }
    assert_eq!((balance(&world, SOURCE), balance(&world, TO)), (0, BALANCE));
    let call = withdraw(&world, 1);
    world.refuse(&call, PurserError::InsufficientBalance);
}

#[test]
fn a_transfer_fee_is_taken_from_what_arrives() {
    let mut config = vec![0; 108];
    // From epoch 0: one percent, at most 1000.
    for fee in [72, 90] {
        config[fee + 8..fee + 16].copy_from_slice(&1000u64.to_le_bytes());
        config[fee + 16..fee + 18].copy_from_slice(&100u16.to_le_bytes());
    }
    let withheld = [(TRANSFER_FEE_AMOUNT, vec![0; 8])];
    let mut world = world(&[(TRANSFER_FEE_CONFIG, config)], &withheld, &withheld);
    let outcome = world.accept(&withdraw(&world, BALANCE));
    outcome.emitted(withdrawn(&world, BALANCE));
    assert_eq!((balance(&world, SOURCE), balance(&world, TO)), (0, BALANCE - 10));
}

#[test]
fn a_recipient_that_asks_for_memos_of_its_own_is_refused_by_the_token_program() {
    let mut asks = world(&[], &[], &[(MEMO_TRANSFER, vec![1])]);
    let call = withdraw(&asks, 1);
    asks.refuse(&call, NO_MEMO);
    let mut does_not = world(&[], &[(MEMO_TRANSFER, vec![1])], &[(MEMO_TRANSFER, vec![0])]);
    does_not.accept(&call);
}

#[test]
fn the_wrong_program_mint_source_destination_and_amount_are_refused() {
    let mut world = world(&[], &[], &[]);
    let call = withdraw(&world, 1);
    let legacy = anchor_spl::token::ID;
    world.refuse(&call.clone().with(6, legacy), PurserError::WrongSource);
    for name in ["system_program", "purser_program", "associated_token_program", "forged_mint", "admin"] {
        world.refuse_as(name, &call.clone().with(6, world.cast.get(name)), PurserError::WrongSource);
    }
    for name in ["source", "second_source", "payee", "agent", "mint", "token_2022_mint", "nobody"] {
        world.refuse_as(name, &call.clone().with(3, world.cast.get(name)), PurserError::WrongSource);
    }
    // An account of that program, but with another owner.
    world.refuse(&call.clone().with(3, TO), PurserError::WrongSource);
    world.refuse(&call.clone().with(3, TOKEN), PurserError::WrongSource);
    world.refuse(&call.clone().with(5, PAYEE), PurserError::RecipientNotTokenAccount);
    world.refuse(&call.clone().with(5, TOKEN), PurserError::RecipientNotTokenAccount);
    let other_mint = world.cast.get("token_2022_account");
    world.refuse(&call.clone().with(5, other_mint), PurserError::RecipientWrongMint);
    world.refuse(&call.clone().with(5, SOURCE), PurserError::RecipientIsSource);
    for name in ["mint", "token_2022_mint", "payee", "nobody"] {
        let wrong = call.clone().with(4, world.cast.get(name));
        assert!(world.send(&[wrong.instruction()], Who::FeePayer).is_err(), "{name} as the mint");
    }
    world.refuse(&withdraw(&world, 0), PurserError::AmountZero);
    world.refuse(&withdraw(&world, BALANCE + 1), PurserError::InsufficientBalance);
    for who in Who::but(&[Who::Admin]) {
        world.refuse(&call.clone().signed_by(who), PurserError::Unauthorized);
    }
    world.accept(&call);
}

#[test]
fn a_mint_with_extensions_is_not_taken_for_an_account() {
    // It has the same length; only its type tells it apart.
    let mut world = world(&[(TRANSFER_HOOK, vec![0; 64])], &[], &[]);
    let mut disguised = world.account(&TOKEN);
    disguised.data[32..64].copy_from_slice(world.main.agent.as_ref());
    world.put(TO, disguised);
    let call = withdraw(&world, 1);
    world.refuse(&call, PurserError::RecipientNotTokenAccount);
    world.refuse(&call.with(3, TO), PurserError::WrongSource);
}

/// A mint whose transfers call `program`, and accounts for it.
fn hooked(program: Pubkey) -> World {
    let hook = [Who::Stranger.key().to_bytes(), program.to_bytes()].concat();
    let marked = [(TRANSFER_HOOK_ACCOUNT, vec![0])];
    world(&[(TRANSFER_HOOK, hook)], &marked, &marked)
}

#[test]
fn a_transfer_hook_cannot_call_back_into_this_program() {
    let mut world = hooked(purser::ID);
    let mut call = withdraw(&world, 1);
    call.accounts.push(AccountMeta::new_readonly(purser::ID, false));
    world.refuse(&call, InstructionError::ReentrancyNotAllowed);
}

#[test]
fn without_a_hook_program_a_hooked_mint_is_like_any_other() {
    let mut world = hooked(Pubkey::default());
    let outcome = world.accept(&withdraw(&world, BALANCE));
    outcome.emitted(withdrawn(&world, BALANCE));
}

#[test]
fn accounts_for_a_hook_are_handed_on_without_anybodys_signature() {
    // The token program takes a second copy of the admin among them: it signs the transaction, but must not sign here.
    let mut world = hooked(Pubkey::default());
    let mut call = withdraw(&world, 1);
    call.accounts.push(AccountMeta::new(Who::Admin.key(), true));
    call.accounts.push(AccountMeta::new(Who::Stranger.key(), true));
    world.accept(&call);
}
