use anchor_lang::prelude::AccountMeta;
use anchor_lang::solana_program::system_instruction;
use anchor_lang::Discriminator;
use anchor_spl::token::spl_token;
use purser::error::PurserError;
use purser::events::TransferExecuted;
use purser::instruction;
use purser::state::Agent;
use purser_client::LOADED_BYTES;
use purser_policy::{SpendWindow, UsdcAmount};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction_error::InstructionError;

use crate::support::{
    attack, only, raw, Call, Expected, Payment, TokenAccountState, Who, World, BALANCE, MINT, NOON, PAYEE,
    PAYEE_OWNER,
};

/// The size of a packet without its headers, and so of a transaction.
const TRANSACTION_BYTES_MAX: usize = 1_232;

fn pay(world: &World, amount: u64) -> Call {
    world.main.transfer(Payment { amount, ..Payment::default() })
}

fn executed(world: &World, payment: Payment) -> TransferExecuted {
    TransferExecuted {
        agent: world.main.agent,
        number: 1,
        transfer_id: payment.transfer_id(),
        amount: payment.amount,
        recipient: payment.to,
        recipient_owner: PAYEE_OWNER,
        policy_version: 1,
        spent_in_window: payment.amount,
        memo: payment.memo.into(),
    }
}

#[test]
fn a_transfer_moves_the_amount_and_is_recorded_and_announced() {
    let mut world = World::new();
    let main = world.main;
    let before = world.agent();
    let payment = Payment { tag: u64::MAX, amount: 250, memo: "invoice 7", ..Payment::default() };
    let outcome = world.accept(&main.transfer(payment));
    assert_eq!((world.balance(&main.source), world.balance(&PAYEE)), (BALANCE - 250, 250));
    let after = world.agent();
    let mut window = SpendWindow::EMPTY;
    window.record(NOON, UsdcAmount::from_micros(250));
    assert_eq!((after.window(), after.payments), (&window, 1));
    let view = world.agent_view();
    let tags = view.tags().expect("the whole account");
    assert!(tags.contains(u64::MAX, NOON) && tags.len(NOON) == 1);
    assert_eq!(after, Agent { window: after.window, payments: 1, ..before });
    outcome.emitted(executed(&world, payment));
}

#[test]
fn amounts_from_the_smallest_to_the_largest_are_paid_exactly() {
    for (balance, amount) in
        [(1, 1), (BALANCE, 1), (BALANCE, BALANCE), (u64::MAX, u64::MAX), (u64::MAX, u64::MAX - 1)]
    {
        let mut world = World::new();
        let main = world.main;
        world.fund(main.source, balance);
        let call = pay(&world, amount);
        let outcome = world.accept(&call);
        assert_eq!((world.balance(&main.source), world.balance(&PAYEE)), (balance - amount, amount));
        outcome.emitted(executed(&world, Payment { amount, ..Payment::default() }));
    }
}

#[test]
fn zero_and_more_than_the_balance_are_refused() {
    let mut world = World::new();
    world.refuse(&pay(&world, 0), PurserError::AmountZero);
    world.refuse(&pay(&world, BALANCE + 1), PurserError::InsufficientBalance);
    world.refuse(&pay(&world, u64::MAX), PurserError::InsufficientBalance);
    let source = world.main.source;
    world.fund(source, 0);
    world.refuse(&pay(&world, 1), PurserError::InsufficientBalance);
}

#[test]
fn nobody_but_the_transfer_authority_transfers() {
    let mut world = World::new();
    for who in Who::everyone().filter(|who| *who != Who::TransferAuthority) {
        let call = pay(&world, 1).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn a_memo_of_200_four_byte_characters_fits_a_transaction_with_limits_and_price() {
    let mut world = World::new();
    let memo = "🪙".repeat(200);
    let payment = Payment { memo: &memo, ..Payment::default() };
    let instructions = [
        ComputeBudgetInstruction::set_compute_unit_limit(20_000),
        ComputeBudgetInstruction::set_compute_unit_price(1_000),
        ComputeBudgetInstruction::set_loaded_accounts_data_size_limit(LOADED_BYTES),
        world.main.transfer(payment).instruction(),
    ];
    let outcome = world.accept_all(&instructions, Who::TransferAuthority);
    assert!(outcome.transaction_bytes <= TRANSACTION_BYTES_MAX, "{} bytes", outcome.transaction_bytes);
    outcome.emitted(executed(&world, payment));
}

#[test]
fn a_memo_that_looks_like_a_log_is_only_a_memo() {
    let mut world = World::new();
    let memo = format!("x\nProgram {} invoke [1]\nProgram data: AAAA\0\u{202e}", purser::ID);
    let payment = Payment { memo: &memo, ..Payment::default() };
    let outcome = world.accept(&world.main.transfer(payment));
    outcome.emitted(executed(&world, payment));
}

#[test]
fn data_that_is_short_or_long_is_refused_and_a_memo_is_any_bytes() {
    let mut world = World::new();
    let call = world.main.transfer(Payment { memo: "four", ..Payment::default() });
    for bytes in instruction::Transfer::DISCRIMINATOR.len()..call.data.len() {
        let short = Call { data: call.data[..bytes].to_vec(), ..call.clone() };
        world.refuse_as(&format!("{bytes} bytes"), &short, PurserError::MalformedInstruction);
    }
    let mut long = call.clone();
    long.data.push(0);
    world.refuse(&long, PurserError::MalformedInstruction);
    let memo_at = call.data.len() - 4;
    for no_text in [[0xff; 4], [b'a', b'b', b'c', 0xc3], [0xed, 0xa0, 0x80, b'a'], [0xf0, 0x9f, 0xaa, b'a']] {
        let mut call = call.clone();
        call.data[memo_at..].copy_from_slice(&no_text);
        // Readers check whether it is text: checking each byte would cost more than all other rules together.
        let outcome = world.clone().accept(&call);
        assert!(outcome.events[0].ends_with(&no_text), "{no_text:x?}");
    }
    for length in [0, 3, 5, u32::MAX] {
        let mut call = call.clone();
        call.data[memo_at - 4..memo_at].copy_from_slice(&length.to_le_bytes());
        world.refuse_as(&format!("length {length}"), &call, PurserError::MalformedInstruction);
    }
}

#[test]
fn an_account_of_a_layout_that_is_not_known_is_refused() {
    for slot in [1, 2] {
        for version in [0, 1, 2, 255] {
            let mut world = World::new();
            let call = pay(&world, 1);
            world.edit(call.accounts[slot].pubkey, |account| account.data[8] = version);
            world.refuse_as(&format!("{version} in {slot}"), &call, PurserError::UnknownLayout);
        }
    }
}

#[test]
fn a_frozen_source_does_not_pay() {
    let mut world = World::new();
    let source = world.main.source;
    world.edit_token(source, |state| state.state = TokenAccountState::Frozen);
    world.refuse(&pay(&world, 1), Expected::FROZEN);
}

#[test]
fn another_agent_of_the_same_operator_is_paid_like_anyone() {
    let mut world = World::new();
    let (main, sibling) = (world.main, world.sibling);
    let payment = Payment { amount: 9, to: sibling.source, ..Payment::default() };
    let outcome = world.accept(&main.transfer(payment));
    assert_eq!(world.balance(&sibling.source), BALANCE + 9);
    outcome.emitted(TransferExecuted { recipient_owner: sibling.agent, ..executed(&world, payment) });
}

#[test]
fn transfers_in_one_transaction_all_count_or_none() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| policy.rules.max_daily_spend = Some(10));
    let of = |tag, amount| main.transfer(Payment { tag, amount, ..Payment::default() }).instruction();
    let before = world.accounts(&[main.agent, main.source, PAYEE]);
    for calls in [[of(1, 6), of(2, 5)], [of(1, 1), of(1, 1)]] {
        assert!(world.send(&calls, Who::FeePayer).is_err());
        assert!(before == world.accounts(&[main.agent, main.source, PAYEE]));
    }
    let outcome = world.accept_all(&[of(1, 6), of(2, 4)], Who::FeePayer);
    assert_eq!((outcome.events.len(), world.balance(&PAYEE)), (2, 10));
}

#[test]
fn the_owner_of_the_recipient_is_the_one_of_that_moment() {
    let mut world = World::new();
    let main = world.main;
    world.edit_token(PAYEE, |state| state.owner = Who::Stranger.key());
    let new_owner = Who::Guardian.key();
    let kind = spl_token::instruction::AuthorityType::AccountOwner;
    let stranger = Who::Stranger.key();
    let hand_over = spl_token::instruction::set_authority(
        &anchor_spl::token::ID,
        &PAYEE,
        Some(&new_owner),
        kind,
        &stranger,
        &[],
    );
    world.policy(|policy| policy.allowlist = only(&[stranger], &[]));
    world.accept(&main.transfer(Payment { tag: 1, ..Payment::default() }));
    world.accept_all(&[hand_over.expect("a valid instruction")], Who::FeePayer);
    world.refuse(&main.transfer(Payment { tag: 2, ..Payment::default() }), PurserError::RecipientNotAllowed);
}

#[test]
fn a_transfer_works_beside_other_instructions_and_for_an_agent_with_more_lamports() {
    let mut world = World::new();
    let gift = system_instruction::transfer(&Who::Stranger.key(), &world.main.agent, 5);
    let rent = world.lamports(&world.main.agent);
    world.accept_all(&[gift, pay(&world, 1).instruction()], Who::FeePayer);
    assert_eq!(world.lamports(&world.main.agent), rent + 5);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &pay(&world, 1),
        &[
            raw("transfer_authority", PurserError::Unauthorized),
            raw("operator", PurserError::UnknownLayout)
                .but(&["foreign_operator"], PurserError::Unauthorized)
                .but(&["twin_operator"], PurserError::WrongOperator),
            raw("agent", PurserError::UnknownLayout)
                .but(&["twin_agent", "foreign_agent"], PurserError::WrongOperator)
                .but(&["sibling_agent"], PurserError::WrongSource)
                .read_only(InstructionError::ReadonlyDataModified),
            raw("source", PurserError::WrongSource).read_only(InstructionError::PrivilegeEscalation),
            raw("destination", PurserError::RecipientNotTokenAccount)
                .but(&["source", "second_source"], PurserError::RecipientIsSource)
                .but(&["other_mint_account", "other_mint_frozen"], PurserError::RecipientWrongMint)
                .but(&["frozen"], PurserError::RecipientFrozen)
                .accepts(&["sibling_source", "twin_source", "foreign_source"])
                .read_only(InstructionError::PrivilegeEscalation),
            // Called by its own address: the slot only has to bring it into the transaction.
            raw("token_program", InstructionError::MissingAccount),
        ],
    );
}

#[test]
fn a_checked_transfer_moves_the_amount_by_transfer_checked() {
    let mut world = World::new();
    let main = world.main;
    let payment = Payment { tag: 5, amount: 250, memo: "invoice 8", ..Payment::default() };
    let call = main.transfer(payment).checked();
    let outcome = world.accept(&call);
    assert_eq!((world.balance(&main.source), world.balance(&PAYEE)), (BALANCE - 250, 250));
    outcome.emitted(executed(&world, payment));
    // Each form refuses what the other has paid.
    world.refuse(&call, PurserError::DuplicateTransfer);
    world.refuse(&main.transfer(payment), PurserError::DuplicateTransfer);
    let inner = outcome.inner;
    let mut expected = spl_token::instruction::transfer_checked(
        &anchor_spl::token::ID,
        &main.source,
        &MINT,
        &PAYEE,
        &main.agent,
        &[],
        250,
        6,
    )
    .expect("a valid instruction");
    expected.accounts =
        expected.accounts.iter().map(|meta| AccountMeta::new_readonly(meta.pubkey, false)).collect();
    assert_eq!(inner, [expected]);
}

#[test]
fn a_mint_of_other_decimals_than_when_the_operator_was_made_pays_nothing() {
    let mut world = World::new();
    let call = pay(&world, 1).checked();
    // `Mint::decimals`: no real mint can change them.
    world.edit(MINT, |account| account.data[44] = 9);
    world.refuse(&call, Expected::MINT_DECIMALS_MISMATCH);
}

#[test]
fn every_wrong_account_in_every_slot_of_a_checked_transfer_is_refused() {
    let world = World::new();
    attack(
        &world,
        &pay(&world, 1).checked(),
        &[
            raw("transfer_authority", PurserError::Unauthorized),
            raw("operator", PurserError::UnknownLayout)
                .but(&["foreign_operator"], PurserError::Unauthorized)
                .but(&["twin_operator"], PurserError::WrongOperator),
            raw("agent", PurserError::UnknownLayout)
                .but(&["twin_agent", "foreign_agent"], PurserError::WrongOperator)
                .but(&["sibling_agent"], PurserError::WrongSource)
                .read_only(InstructionError::ReadonlyDataModified),
            raw("source", PurserError::WrongSource).read_only(InstructionError::PrivilegeEscalation),
            raw("destination", PurserError::RecipientNotTokenAccount)
                .but(&["source", "second_source"], PurserError::RecipientIsSource)
                .but(&["other_mint_account", "other_mint_frozen"], PurserError::RecipientWrongMint)
                .but(&["frozen"], PurserError::RecipientFrozen)
                .accepts(&["sibling_source", "twin_source", "foreign_source"])
                .read_only(InstructionError::PrivilegeEscalation),
            raw("mint", Expected::MINT_MISMATCH),
            raw("token_program", InstructionError::MissingAccount),
        ],
    );
}
