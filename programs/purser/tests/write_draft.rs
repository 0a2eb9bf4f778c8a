use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::DraftWritten;
use purser::state::AllowlistDraft;

use crate::support::{agent, attack, draft, operator, signer, Who, World};

fn opened(entry_count: u16) -> World {
    let mut world = World::new();
    let call = world.main.open_draft(entry_count);
    world.accept(&call);
    world
}

fn keys(count: u8) -> Vec<Pubkey> {
    (1..=count).map(|first| Pubkey::new_from_array([first; 32])).collect()
}

/// What was written, and the count of it.
fn written(world: &World) -> (Vec<u8>, u16) {
    let data = world.account(&world.main.draft).data;
    (data[AllowlistDraft::BYTES..].to_vec(), u16::from_le_bytes([data[12], data[13]]))
}

fn bytes(keys: &[Pubkey], entry_count: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_bytes()).collect();
    bytes.resize(entry_count * 32, 0);
    bytes
}

#[test]
fn parts_in_order_fill_a_draft_and_each_has_its_event() {
    let mut world = opened(5);
    let main = world.main;
    let keys = keys(5);
    for (start, end, who) in
        [(0, 2, Who::PolicyAuthority), (2, 3, Who::Admin), (3, 3, Who::Admin), (3, 5, Who::PolicyAuthority)]
    {
        let part = &keys[start..end];
        let call = main.write_draft(start as u16, part).signed_by(who);
        let outcome = world.accept(&call);
        assert_eq!(written(&world), (bytes(&keys[..end], 5), end as u16));
        outcome.emitted(DraftWritten { agent: main.agent, start: start as u16, entries: part.to_vec() });
    }
}

#[test]
fn a_part_out_of_order_is_refused() {
    let mut world = opened(5);
    let main = world.main;
    for start in [1, 4, 5, 6, u16::MAX] {
        let call = main.write_draft(start, &keys(1));
        world.refuse_as(&format!("at {start}"), &call, PurserError::DraftOutOfOrder);
    }
    world.accept(&main.write_draft(0, &keys(2)));
    for start in [0, 1, 3] {
        let call = main.write_draft(start, &keys(1));
        world.refuse_as(&format!("at {start}"), &call, PurserError::DraftOutOfOrder);
    }
}

#[test]
fn a_part_sent_twice_is_refused_the_second_time() {
    let mut world = opened(4);
    let part = world.main.write_draft(0, &keys(2));
    world.accept(&part);
    world.refuse(&part, PurserError::DraftOutOfOrder);
}

#[test]
fn more_entries_than_a_draft_was_opened_for_are_refused() {
    for entry_count in [0, 1, 3] {
        let mut world = opened(entry_count);
        let call = world.main.write_draft(0, &keys(entry_count as u8 + 1));
        world.refuse(&call, PurserError::DraftOutOfOrder);
        let call = world.main.write_draft(0, &keys(entry_count as u8));
        world.accept(&call);
        let call = world.main.write_draft(entry_count, &keys(1));
        world.refuse(&call, PurserError::DraftOutOfOrder);
    }
}

#[test]
fn a_count_of_entries_that_the_data_does_not_hold_is_refused() {
    let mut world = opened(5);
    for count in [3, 1_000, u32::MAX] {
        let mut call = world.main.write_draft(0, &keys(2));
        // After the discriminator and `start`.
        call.data[10..14].copy_from_slice(&count.to_le_bytes());
        world.refuse_as(&format!("{count}"), &call, ErrorCode::InstructionDidNotDeserialize);
    }
}

#[test]
fn nobody_else_writes_a_draft() {
    let mut world = opened(2);
    for who in Who::ALL.into_iter().filter(|who| ![Who::PolicyAuthority, Who::Admin].contains(who)) {
        let call = world.main.write_draft(0, &keys(1)).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = opened(2);
    attack(
        &world,
        &world.main.write_draft(0, &keys(1)),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
            draft(PurserError::DraftMismatch),
        ],
    );
}
