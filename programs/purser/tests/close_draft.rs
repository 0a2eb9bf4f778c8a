use purser::error::PurserError;
use purser::state::AllowlistDraft;

use crate::support::{agent, attack, draft, operator, signer, Who, World, AGENT_ID, BALANCE, PAYEE};

fn opened(entry_count: u16) -> World {
    let mut world = World::new();
    let call = world.main.open_draft(entry_count);
    world.accept(&call);
    world
}

#[test]
fn closing_a_draft_gives_its_rent_to_the_signer() {
    for who in [Who::PolicyAuthority, Who::Admin] {
        let mut world = opened(256);
        let before = world.lamports(&who.key());
        let outcome = world.accept(&world.main.close_draft().signed_by(who));
        assert_eq!(world.svm.get_account(&world.main.draft), None);
        assert_eq!(world.lamports(&who.key()), before + world.rent(AllowlistDraft::bytes(256)));
        assert_eq!(outcome.events.len(), 0);
    }
}

#[test]
fn a_draft_is_closed_whether_complete_or_not_and_leaves_the_policy_alone() {
    for written in [0, 1, 2] {
        let mut world = opened(2);
        let main = world.main;
        let before = world.agent_view();
        world.accept(&main.write_draft(0, &[PAYEE, PAYEE][..written]));
        world.accept(&main.close_draft());
        assert_eq!(world.agent_view(), before);
        world.refuse(&main.close_draft(), anchor_lang::error::ErrorCode::AccountOwnedByWrongProgram);
    }
}

#[test]
fn nobody_else_closes_a_draft() {
    let mut world = opened(2);
    for who in Who::ALL.into_iter().filter(|who| ![Who::PolicyAuthority, Who::Admin].contains(who)) {
        let call = world.main.close_draft().signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn a_draft_that_outlived_its_agent_is_closed_once_the_agent_is_created_anew() {
    let mut world = opened(2);
    let main = world.main;
    world.accept(&main.withdraw(BALANCE, PAYEE));
    world.accept(&main.close_agent());
    world.refuse(&main.close_draft(), anchor_lang::error::ErrorCode::AccountOwnedByWrongProgram);
    world.accept(&main.create_agent(AGENT_ID));
    world.accept(&main.close_draft());
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = opened(2);
    attack(
        &world,
        &world.main.close_draft(),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
            draft(PurserError::DraftMismatch),
        ],
    );
}
