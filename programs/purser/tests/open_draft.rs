use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::state::AllowlistDraft;
use solana_account::Account;
use solana_instruction_error::InstructionError;

use crate::support::{address, agent, attack, operator, program, signer, Expected, Who, World};

#[track_caller]
fn assert_opened(world: &World, entry_count: u16) {
    let main = world.main;
    let account = world.account(&main.draft);
    let (address, bump) = Pubkey::find_program_address(&[b"draft", main.agent.as_ref()], &purser::ID);
    assert_eq!((address, account.owner), (main.draft, purser::ID));
    let expected =
        AllowlistDraft { version: 1, bump, entry_count, written: 0, reserved: [0; 2], agent: main.agent };
    assert_eq!(draft(&account), expected);
    assert_eq!(account.data.len(), 48 + 32 * usize::from(entry_count));
    assert!(account.data[AllowlistDraft::BYTES..].iter().all(|byte| *byte == 0));
}

fn draft(account: &Account) -> AllowlistDraft {
    let mut draft = AllowlistDraft {
        version: 0,
        bump: 0,
        entry_count: 0,
        written: 0,
        reserved: [0; 2],
        agent: Pubkey::default(),
    };
    let data = &account.data[8..AllowlistDraft::BYTES];
    draft.version = data[0];
    draft.bump = data[1];
    draft.entry_count = u16::from_le_bytes([data[2], data[3]]);
    draft.written = u16::from_le_bytes([data[4], data[5]]);
    draft.reserved = [data[6], data[7]];
    draft.agent = Pubkey::try_from(&data[8..]).expect("32 bytes");
    draft
}

#[test]
fn a_draft_has_room_for_exactly_its_entries() {
    for entry_count in [0, 1, 25, 26, 255, 256] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let mut world = World::new();
            let before = world.lamports(&who.key());
            let outcome = world.accept(&world.main.open_draft(entry_count).signed_by(who));
            assert_opened(&world, entry_count);
            assert_eq!(outcome.events.len(), 0);
            let rent = world.rent(AllowlistDraft::bytes(entry_count));
            assert_eq!(world.lamports(&who.key()), before - rent);
        }
    }
}

#[test]
fn more_than_256_entries_are_refused() {
    let mut world = World::new();
    for entry_count in [257, 258, 300, 320, 1000, u16::MAX] {
        let call = world.main.open_draft(entry_count);
        world.refuse_as(&format!("{entry_count}"), &call, PurserError::AllowlistTooLong);
    }
}

#[test]
fn nobody_else_opens_a_draft() {
    let mut world = World::new();
    for who in Who::ALL.into_iter().filter(|who| ![Who::PolicyAuthority, Who::Admin].contains(who)) {
        let call = world.main.open_draft(1).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn an_agent_has_one_draft_at_a_time() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.open_draft(2));
    world.refuse(&main.open_draft(2), Expected::ALREADY_IN_USE);
    world.accept(&main.close_draft());
    world.accept(&main.open_draft(3));
    assert_opened(&world, 3);
}

#[test]
fn lamports_sent_ahead_do_not_block_a_draft() {
    for lamports in [1, 890_880, 1_000_000_000] {
        let mut world = World::new();
        let main = world.main;
        world.put(main.draft, Account { lamports, ..Account::default() });
        world.accept(&main.open_draft(3));
        assert_opened(&world, 3);
        assert_eq!(world.lamports(&main.draft), lamports.max(world.rent(AllowlistDraft::bytes(3))));
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.open_draft(2),
        &[
            signer("authority", PurserError::Unauthorized)
                .accepts(&["admin"])
                .read_only(InstructionError::PrivilegeEscalation),
            operator(PurserError::WrongOperator),
            agent(ErrorCode::ConstraintSeeds).but(&["truncated_agent"], ErrorCode::ConstraintSeeds),
            address("draft", ErrorCode::ConstraintSeeds).read_only(InstructionError::PrivilegeEscalation),
            program("system_program"),
        ],
    );
}
