use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::{OperatorRecord, OperatorUpdated};
use purser::state::Operator;
use purser::OperatorUpdate;

use crate::support::{attack, operator, signer, Who, World, PAYEE};

fn offered(to: Pubkey) -> World {
    let mut world = World::new();
    offer(&mut world, to);
    world
}

fn offer(world: &mut World, to: Pubkey) {
    let update = OperatorUpdate { pending_admin: Some(to), ..OperatorUpdate::default() };
    let call = world.main.update_operator(update);
    world.accept(&call);
}

#[test]
fn the_offered_key_becomes_admin_and_the_offer_is_used_up() {
    let mut world = offered(Who::NewAdmin.key());
    let before = world.operator();
    let call = world.main.accept_admin();
    let outcome = world.accept(&call);
    let expected = Operator { admin: Who::NewAdmin.key(), pending_admin: Pubkey::default(), ..before };
    assert_eq!(world.operator(), expected);
    let keys = OperatorRecord {
        admin: Who::NewAdmin.key(),
        pending_admin: Pubkey::default(),
        policy_authority: Who::PolicyAuthority.key(),
        guardian: Who::Guardian.key(),
        transfer_authorities: vec![Who::TransferAuthority.key()],
        loosening_delay_seconds: 0,
    };
    outcome.emitted(OperatorUpdated { operator: world.main.operator, keys });
    world.refuse(&call, PurserError::Unauthorized);
}

#[test]
fn power_goes_over_with_the_acceptance_and_not_before() {
    let mut world = offered(Who::NewAdmin.key());
    let old = world.main.withdraw(1, PAYEE);
    let new = old.clone().signed_by(Who::NewAdmin);
    world.accept(&old);
    world.refuse(&new, PurserError::Unauthorized);
    let accept = world.main.accept_admin();
    world.accept(&accept);
    world.refuse(&old, PurserError::Unauthorized);
    world.accept(&new);
}

#[test]
fn nobody_accepts_what_was_not_offered() {
    let mut world = World::new();
    for who in Who::ALL {
        let call = world.main.accept_admin().signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn an_offer_that_was_taken_back_or_changed_cannot_be_accepted() {
    for replacement in [Pubkey::default(), Who::Stranger.key()] {
        let mut world = offered(Who::NewAdmin.key());
        offer(&mut world, replacement);
        let call = world.main.accept_admin();
        world.refuse(&call, PurserError::Unauthorized);
    }
}

#[test]
fn a_holder_of_another_key_cannot_become_admin_on_top() {
    for who in [Who::PolicyAuthority, Who::TransferAuthority] {
        let mut world = offered(who.key());
        let call = world.main.accept_admin().signed_by(who);
        world.refuse(&call, PurserError::KeysNotDistinct);
    }
}

#[test]
fn the_admin_may_accept_its_own_offer_and_stays_admin() {
    let mut world = offered(Who::Admin.key());
    let before = world.operator();
    let call = world.main.accept_admin().signed_by(Who::Admin);
    world.accept(&call);
    assert_eq!(world.operator(), Operator { pending_admin: Pubkey::default(), ..before });
}

#[test]
fn the_address_stays_with_the_admin_that_created_it() {
    let mut world = offered(Who::NewAdmin.key());
    let call = world.main.accept_admin();
    world.accept(&call);
    assert_eq!(world.operator().created_by, Who::Admin.key());
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = offered(Who::NewAdmin.key());
    attack(
        &world,
        &world.main.accept_admin(),
        &[signer("pending_admin", PurserError::Unauthorized), operator(PurserError::Unauthorized)],
    );
}
