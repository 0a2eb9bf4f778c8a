use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::OperatorUpdated;
use purser::state::Operator;
use purser::OperatorUpdate;

use crate::support::{attack, operator, signer, Call, Payment, Who, World};

const NOTHING: OperatorUpdate =
    OperatorUpdate { policy_authority: None, transfer_authority: None, guardian: None, pending_admin: None };

fn update(world: &World, update: OperatorUpdate) -> Call {
    world.main.update_operator(update).signed_by(Who::Admin)
}

fn event(world: &World, operator: &Operator) -> OperatorUpdated {
    OperatorUpdated {
        operator: world.main.operator,
        admin: operator.admin,
        pending_admin: operator.pending_admin,
        policy_authority: operator.policy_authority,
        transfer_authority: operator.transfer_authority,
        guardian: operator.guardian,
    }
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let key = Pubkey::new_from_array([9; 32]);
    let before = World::new().operator();
    for (change, expected) in [
        (NOTHING, before),
        (
            OperatorUpdate { policy_authority: Some(key), ..NOTHING },
            Operator { policy_authority: key, ..before },
        ),
        (
            OperatorUpdate { transfer_authority: Some(key), ..NOTHING },
            Operator { transfer_authority: key, ..before },
        ),
        (OperatorUpdate { guardian: Some(key), ..NOTHING }, Operator { guardian: key, ..before }),
        (OperatorUpdate { pending_admin: Some(key), ..NOTHING }, Operator { pending_admin: key, ..before }),
        (
            OperatorUpdate { guardian: Some(Pubkey::default()), ..NOTHING },
            Operator { guardian: Pubkey::default(), ..before },
        ),
        (
            OperatorUpdate {
                policy_authority: Some(before.transfer_authority),
                transfer_authority: Some(before.policy_authority),
                ..NOTHING
            },
            Operator {
                policy_authority: before.transfer_authority,
                transfer_authority: before.policy_authority,
                ..before
            },
        ),
    ] {
        let mut world = World::new();
        let call = update(&world, change);
        let outcome = world.accept(&call);
        assert_eq!(world.operator(), expected, "{change:?}");
        outcome.emitted(event(&world, &expected));
    }
}

#[test]
fn only_the_admin_updates_an_operator() {
    let mut world = World::new();
    let offer = OperatorUpdate { pending_admin: Some(Who::NewAdmin.key()), ..NOTHING };
    let call = update(&world, offer);
    world.accept(&call);
    for who in Who::ALL.into_iter().filter(|who| *who != Who::Admin) {
        world.refuse_as(&format!("{who:?}"), &call.clone().signed_by(who), PurserError::Unauthorized);
    }
}

#[test]
fn keys_stay_distinct_and_given() {
    let mut world = World::new();
    let [admin, policy, transfer] =
        [Who::Admin.key(), Who::PolicyAuthority.key(), Who::TransferAuthority.key()];
    for (policy_authority, transfer_authority, guardian) in [
        (Some(admin), None, None),
        (Some(transfer), None, None),
        (Some(Pubkey::default()), None, None),
        (None, Some(admin), None),
        (None, Some(policy), None),
        (None, Some(Pubkey::default()), None),
        (None, None, Some(transfer)),
        // Taken from the guardian that stays.
        (None, Some(Who::Guardian.key()), None),
    ] {
        let change = OperatorUpdate { policy_authority, transfer_authority, guardian, pending_admin: None };
        let call = update(&world, change);
        world.refuse_as(&format!("{change:?}"), &call, PurserError::KeysNotDistinct);
    }
}

#[test]
fn a_rotated_transfer_authority_loses_its_power_at_once() {
    let mut world = World::new();
    let change = OperatorUpdate { transfer_authority: Some(Who::Stranger.key()), ..NOTHING };
    let call = update(&world, change);
    world.accept(&call);
    let transfer = world.main.transfer(Payment::default());
    world.refuse(&transfer, PurserError::Unauthorized);
    world.accept(&transfer.signed_by(Who::Stranger));
}

#[test]
fn a_rotated_policy_authority_and_a_removed_guardian_lose_their_power_at_once() {
    let mut world = World::new();
    let change = OperatorUpdate {
        policy_authority: Some(Who::Stranger.key()),
        guardian: Some(Pubkey::default()),
        ..NOTHING
    };
    let call = update(&world, change);
    world.accept(&call);
    let pause = world.main.set_paused(true);
    world.refuse(&pause.clone(), PurserError::Unauthorized);
    world.refuse(&pause.clone().signed_by(Who::Guardian), PurserError::Unauthorized);
    world.accept(&pause.signed_by(Who::Stranger));
}

#[test]
fn an_offer_alone_gives_no_power() {
    let mut world = World::new();
    let offer = OperatorUpdate { pending_admin: Some(Who::NewAdmin.key()), ..NOTHING };
    let call = update(&world, offer);
    world.accept(&call);
    let withdraw = world.main.withdraw(1, crate::support::PAYEE).signed_by(Who::NewAdmin);
    world.refuse(&withdraw, PurserError::Unauthorized);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &update(&world, NOTHING),
        &[
            signer("admin", PurserError::Unauthorized),
            // The twin has the same admin, who may update it as well.
            operator(PurserError::Unauthorized).accepts(&["twin_operator"]),
        ],
    );
}
