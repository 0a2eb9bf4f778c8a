use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::constants::LOOSENING_DELAY_SECONDS_MAX;
use purser::error::PurserError;
use purser::events::{OperatorCreated, OperatorRecord};
use purser::state::Operator;
use purser::OperatorKeys;

use crate::support::{
    address, attack, operator_address, program, signer, Call, Expected, Place, Who, World, MINT,
};

const MINT_SLOT: usize = 2;

fn create(id: u64) -> Call {
    Place::create_operator(Who::Stranger, id, World::keys())
}

fn read(world: &World, id: u64) -> Operator {
    let account = world.account(&operator_address(&Who::Stranger.key(), id));
    assert_eq!(account.owner, purser::ID);
    assert_eq!(account.data.len(), Operator::BYTES);
    Operator::read(&account.data).expect("an operator")
}

fn expected(id: u64, guardian: Pubkey) -> Operator {
    let admin = Who::Stranger.key();
    let (address, bump) =
        Pubkey::find_program_address(&[b"operator", admin.as_ref(), &id.to_le_bytes()], &purser::ID);
    assert_eq!(address, operator_address(&admin, id));
    let mut transfer_authorities = [Pubkey::default(); 8];
    transfer_authorities[0] = Who::TransferAuthority.key();
    Operator {
        version: 4,
        bump,
        halted_by: 0,
        reserved: 0,
        approvers_voided_at: 0,
        loosening_delay_seconds: 0,
        id,
        created_by: admin,
        admin,
        pending_admin: Pubkey::default(),
        policy_authority: Who::PolicyAuthority.key(),
        guardian,
        usdc_mint: MINT,
        transfer_authorities,
    }
}

#[test]
fn an_operator_is_created_with_its_keys_and_an_event() {
    let mut world = World::new();
    let before = world.lamports(&Who::Stranger.key());
    let outcome = world.accept(&create(5));
    assert_eq!(read(&world, 5), expected(5, Who::Guardian.key()));
    assert_eq!(world.lamports(&Who::Stranger.key()), before - world.rent(Operator::BYTES));
    outcome.emitted(OperatorCreated {
        operator: operator_address(&Who::Stranger.key(), 5),
        id: 5,
        usdc_mint: MINT,
        keys: OperatorRecord {
            admin: Who::Stranger.key(),
            pending_admin: Pubkey::default(),
            policy_authority: Who::PolicyAuthority.key(),
            guardian: Who::Guardian.key(),
            transfer_authorities: vec![Who::TransferAuthority.key()],
            loosening_delay_seconds: 0,
        },
    });
}

#[test]
fn an_operator_may_have_no_guardian_and_any_id() {
    let mut world = World::new();
    for id in [0, 1, u64::MAX] {
        let keys = OperatorKeys { guardian: None, ..World::keys() };
        world.accept(&Place::create_operator(Who::Stranger, id, keys));
        assert_eq!(read(&world, id), expected(id, Pubkey::default()));
    }
}

#[test]
fn an_operator_is_created_once() {
    let mut world = World::new();
    world.accept(&create(5));
    world.refuse(&create(5), Expected::ALREADY_IN_USE);
}

#[test]
fn lamports_sent_ahead_do_not_block_an_operator_address() {
    for lamports in [1, 890_880, 1_000_000_000] {
        let mut world = World::new();
        let address = operator_address(&Who::Stranger.key(), 5);
        world.put(address, solana_account::Account { lamports, ..Default::default() });
        world.accept(&create(5));
        assert_eq!(read(&world, 5), expected(5, Who::Guardian.key()));
        assert_eq!(world.lamports(&address), lamports.max(world.rent(Operator::BYTES)));
    }
}

#[test]
fn keys_must_be_distinct_and_given_and_the_guardian_no_transfer_authority() {
    let mut world = World::new();
    let [admin, one, two, none] =
        [Who::Stranger.key(), Who::PolicyAuthority.key(), Who::TransferAuthority.key(), Pubkey::default()];
    for (policy_authority, transfer_authorities, guardian) in [
        (admin, vec![two], None),
        (one, vec![admin], None),
        (one, vec![one], None),
        (none, vec![two], None),
        (one, vec![two], Some(two)),
        (one, vec![two, two], None),
        (one, vec![two, admin], None),
        (one, vec![two, Who::Guardian.key()], Some(Who::Guardian.key())),
    ] {
        let keys = OperatorKeys { policy_authority, transfer_authorities, guardian, ..World::keys() };
        let call = Place::create_operator(Who::Stranger, 5, keys.clone());
        world.refuse_as(&format!("{keys:?}"), &call, PurserError::KeysNotDistinct);
    }
    for guardian in [admin, one] {
        let keys = OperatorKeys { guardian: Some(guardian), ..World::keys() };
        world.clone().accept(&Place::create_operator(Who::Stranger, 5, keys));
    }
}

#[test]
fn an_operator_begins_with_one_to_eight_transfer_authorities_and_a_delay_of_up_to_30_days() {
    let mut world = World::new();
    let keys = |count: u8| (0..count).map(|n| Pubkey::new_from_array([n + 1; 32])).collect::<Vec<_>>();
    for transfer_authorities in
        [vec![], keys(9), vec![Pubkey::default()], [keys(1), vec![Pubkey::default()]].concat()]
    {
        let call =
            Place::create_operator(Who::Stranger, 5, OperatorKeys { transfer_authorities, ..World::keys() });
        world.refuse(&call, PurserError::TransferAuthorityCount);
    }
    let max = LOOSENING_DELAY_SECONDS_MAX;
    let with = |transfer_authorities, loosening_delay_seconds| {
        let keys = OperatorKeys { transfer_authorities, loosening_delay_seconds, ..World::keys() };
        Place::create_operator(Who::Stranger, 5, keys)
    };
    world.refuse(&with(keys(1), max + 1), PurserError::LooseningDelayTooLong);
    world.accept(&with(keys(8), max));
    let operator = read(&world, 5);
    assert_eq!((operator.transfer_authorities(), operator.loosening_delay_seconds), (&keys(8)[..], max));
}

#[test]
fn nobody_takes_the_operator_address_of_another_admin() {
    let mut world = World::new();
    world.refuse(&create(5).signed_by(Who::Guardian), ErrorCode::ConstraintSeeds);
    let other_id = operator_address(&Who::Stranger.key(), 6);
    world.refuse(&create(5).with(1, other_id), ErrorCode::ConstraintSeeds);
}

#[test]
fn an_admin_without_lamports_cannot_create_an_operator() {
    let mut world = World::new();
    world.edit(Who::Stranger.key(), |account| account.lamports = 1_000_000);
    world.refuse(&create(5), Expected::TOO_FEW_LAMPORTS);
}

#[test]
fn short_instruction_data_is_refused_and_trailing_bytes_do_nothing() {
    let mut world = World::new();
    let call = create(5);
    for bytes in 8..call.data.len() {
        let short = Call { data: call.data[..bytes].to_vec(), ..call.clone() };
        world.refuse_as(&format!("{bytes} bytes"), &short, ErrorCode::InstructionDidNotDeserialize);
    }
    for bytes in 0..8 {
        let short = Call { data: call.data[..bytes].to_vec(), ..call.clone() };
        world.refuse_as(&format!("{bytes} bytes"), &short, ErrorCode::InstructionFallbackNotFound);
    }
    let mut long = call;
    long.data.extend([0xff; 100]);
    world.accept(&long);
    assert_eq!(read(&world, 5), expected(5, Who::Guardian.key()));
}

#[test]
fn the_mint_must_be_an_initialised_legacy_mint_with_six_decimals() {
    let mut world = World::new();
    for name in [
        "token_2022_mint",
        "uninitialised_mint",
        "nine_decimals_mint",
        "forged_mint",
        "payee",
        "multisig",
        "nobody",
    ] {
        let call = create(5).with(MINT_SLOT, world.cast.get(name));
        world.refuse_as(name, &call, PurserError::WrongMint);
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &create(5),
        &[
            signer("admin", ErrorCode::ConstraintSeeds),
            address("operator", ErrorCode::ConstraintSeeds)
                .but(&["system_program", "purser_program", "clock"], ErrorCode::ConstraintSeeds),
            address("usdc_mint", PurserError::WrongMint).accepts(&["other_mint"]),
            program("system_program"),
        ],
    );
}
