//! Called by another program: an admin that is a multisig's vault, and approvals, which no program may send on.

use purser::error::PurserError;
use purser::state::Operator;
use purser::{Bounds, GrantTerms, OperatorUpdate, PolicyArgs, Rules};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_transaction_error::TransactionError;

use crate::support::{
    keys, memo, only, open_policy, operator_address, terms, vault, Call, Expected, Payment, Place, Proposal,
    Who, World, AGENT_ID, PAYEE,
};

const ID: u64 = 7;
const TAG: u64 = 50;
/// The approver.
const PERSON: Who = Who::Stranger;

/// Sends these, of which the one at `at` has to fail with `expected`.
#[track_caller]
fn refuse(world: &mut World, instructions: &[Instruction], at: u8, expected: impl Into<Expected>) {
    match world.send(instructions, Who::FeePayer) {
        Ok(outcome) => panic!("accepted: {outcome:?}"),
        Err((TransactionError::InstructionError(failed, error), logs)) => {
            assert_eq!((failed, Expected(error)), (at, expected.into()), "{}", logs.join("\n"));
        }
        Err((error, _)) => panic!("{error:?}"),
    }
}

/// A call of the admin, as the vault with this number makes it. That signs in the first slot, as every admin does.
fn by(call: &Call, number: u8) -> Instruction {
    call.clone().with(0, vault(number)).by_caller(number)
}

/// Accepts the call of the admin by vault 1, and refuses it of anybody who only names that vault, and of another vault.
#[track_caller]
fn accept(world: &mut World, call: &Call) {
    let mut unsigned = call.clone().with(0, vault(1));
    unsigned.accounts[0].is_signer = false;
    world.refuse(&unsigned, anchor_lang::error::ErrorCode::AccountNotSigner);
    refuse(world, &[by(call, 2)], 0, PurserError::Unauthorized);
    let outcome = world.accept_all(&[by(call, 1)], Who::FeePayer);
    assert!(!outcome.events.is_empty(), "nothing was announced");
}

fn with_vaults() -> World {
    let mut world = World::with_caller();
    for number in [1, 2] {
        let wallet = world.account(&Who::Payer.key());
        world.put(vault(number), wallet);
    }
    world
}

/// The main operator's admin is vault 1, and loosened policies wait.
fn world() -> World {
    let mut world = with_vaults();
    world.delay(3_600);
    world.update(OperatorUpdate { pending_admin: Some(vault(1)), ..OperatorUpdate::default() });
    let accept = world.main.accept_admin().with(0, vault(1));
    world.accept_all(&[accept.by_caller(1)], Who::FeePayer);
    assert_eq!(world.operator().admin, vault(1));
    world
}

#[test]
fn a_programs_address_makes_an_operator_and_is_its_admin() {
    let mut world = with_vaults();
    let operator = operator_address(&vault(1), 0);
    let create = Place::create_operator(Who::Admin, 0, World::keys()).with(0, vault(1)).with(1, operator);
    let had = world.lamports(&vault(1));
    world.accept_all(&[create.by_caller(1)], Who::FeePayer);
    let made = Operator::read(&world.account(&operator).data).expect("an operator");
    assert_eq!((made.admin, made.created_by), (vault(1), vault(1)));
    assert_eq!(world.lamports(&vault(1)), had - world.rent(Operator::BYTES));
}

#[test]
fn an_admin_that_signs_by_its_program_does_all_that_an_admin_may() {
    let mut world = world();
    let main = world.main;
    let tight = PolicyArgs {
        rules: Rules { max_single_transfer: Some(5), ..Rules::OPEN },
        allowlist: only(&keys(1), &[]),
    };
    accept(&mut world, &main.set_policy(1, tight.clone()));
    // What loosens waits for everybody but the admin.
    world.refuse(&main.set_policy(2, open_policy()), PurserError::LooseningMustWait);
    accept(&mut world, &main.set_policy(2, open_policy()));
    accept(&mut world, &main.set_paused(true));
    accept(&mut world, &main.set_paused(false));
    accept(&mut world, &main.set_policy(5, tight));
    let draft = Proposal::new(main, 6, open_policy());
    accept(&mut world, &draft.open());
    accept(&mut world, &draft.apply());
    accept(&mut world, &main.bounds(Bounds { by_grant_only: true, ..Bounds::default() }));
    // Past the daily limit, which is the admin's alone.
    accept(&mut world, &main.open_grant(ID, terms()));
    world.accept(&main.transfer_granted(Payment { tag: TAG, amount: 100, ..Payment::default() }, ID));
    accept(&mut world, &main.bounds(Bounds::default()));
    accept(&mut world, &main.void_grants());
    accept(&mut world, &main.halt());
    accept(&mut world, &main.resume());
    accept(&mut world, &main.halt_operator());
    accept(&mut world, &main.resume_operator().with_agents(&[main.agent]));
    accept(&mut world, &main.set_approver(PERSON, 1, 2));
    accept(&mut world, &main.remove_approver(PERSON));
    accept(&mut world, &main.set_budget(ID, 1, None));
    accept(&mut world, &main.close_budget(ID));
    accept(&mut world, &main.withdraw(1, PAYEE));
    let keys = vec![Who::Second.key()];
    let update = OperatorUpdate { transfer_authorities: Some(keys), ..OperatorUpdate::default() };
    accept(&mut world, &main.update_operator(update));
    world.set_clock(world.now() + 2 * crate::support::DAY);
    accept(&mut world, &main.close_agent());
    // Where one was closed, the admin alone makes another.
    world.refuse(&main.create_agent(AGENT_ID), PurserError::AgentClosed);
    accept(&mut world, &main.create_agent(AGENT_ID).with(7, vault(1)));
    for call in [main.halt(), main.update_operator(OperatorUpdate::default())] {
        world.refuse(&call.signed_by(Who::Admin), PurserError::Unauthorized);
    }
}

/// For one payment.
fn one() -> GrantTerms {
    GrantTerms {
        beyond_daily_limit: false,
        tag: Some(TAG),
        memo_hash: Some(solana_sha256_hasher::hash(b"m").to_bytes()),
        policy_version: Some(1),
        ..terms()
    }
}

#[test]
fn an_approval_that_another_program_sends_on_is_refused_since_one_memo_could_stand_for_several() {
    let mut world = World::with_caller();
    let main = world.main;
    world.accept(&main.set_approver(PERSON, 100, 1_000));
    let text = memo(&one().approval(&main.agent));
    let open = main.approve(PERSON, ID, one());
    let mismatch = PurserError::ApprovalMemoMismatch;
    refuse(&mut world, &[text.clone(), open.by_caller(1)], 1, mismatch);
    refuse(&mut world, &[text.clone(), open.by_caller(1), open.by_caller(1)], 1, mismatch);
    // Not behind one that was approved either.
    let second = main.approve(PERSON, ID + 1, one());
    let all = [text.clone(), open.instruction(), text.clone(), second.by_caller(1)];
    refuse(&mut world, &all, 3, mismatch);
    world.accept_all(&[text, open.instruction()], Who::FeePayer);
}

#[test]
fn a_programs_address_may_be_made_an_approver_but_approves_nothing() {
    let mut world = with_vaults();
    let main = world.main;
    let key = vault(1);
    let seeds = [purser::constants::APPROVER_SEED, main.operator.as_ref(), key.as_ref()];
    let approver = anchor_lang::prelude::Pubkey::find_program_address(&seeds, &purser::ID).0;
    let mut call = main.set_approver(PERSON, 100, 1_000).with(2, approver);
    // The key follows the discriminator.
    call.data[8..40].copy_from_slice(key.as_ref());
    world.accept(&call);
    let text = memo(&one().approval(&main.agent));
    let open = main.approve(PERSON, ID, one()).with(0, key).with(6, approver);
    refuse(&mut world, &[text, open.by_caller(1)], 1, PurserError::ApprovalMemoMismatch);
    let mut unsigned = open;
    unsigned.accounts[0].is_signer = false;
    let not_signed: InstructionError = InstructionError::Custom(3010);
    world.refuse(&unsigned, not_signed);
}
