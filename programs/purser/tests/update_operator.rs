use anchor_lang::prelude::Pubkey;
use purser::constants::LOOSENING_DELAY_SECONDS_MAX;
use purser::error::PurserError;
use purser::events::{OperatorRecord, OperatorUpdated};
use purser::state::Operator;
use purser::OperatorUpdate;

use crate::support::{attack, operator, signer, Payment, Who, World};

fn nothing() -> OperatorUpdate {
    OperatorUpdate::default()
}

/// An operator's key slots: `keys` first, the others free.
fn places(keys: &[Pubkey]) -> [Pubkey; 8] {
    let mut places = [Pubkey::default(); 8];
    places[..keys.len()].copy_from_slice(keys);
    places
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let key = Pubkey::new_from_array([9; 32]);
    let before = World::new().operator();
    let two = vec![key, Who::TransferAuthority.key()];
    for (change, expected) in [
        (nothing(), before),
        (
            OperatorUpdate { policy_authority: Some(key), ..nothing() },
            Operator { policy_authority: key, ..before },
        ),
        (
            OperatorUpdate { transfer_authorities: Some(vec![key]), ..nothing() },
            Operator { transfer_authorities: places(&[key]), ..before },
        ),
        (
            OperatorUpdate { transfer_authorities: Some(two.clone()), ..nothing() },
            Operator { transfer_authorities: places(&two), ..before },
        ),
        (OperatorUpdate { guardian: Some(key), ..nothing() }, Operator { guardian: key, ..before }),
        (OperatorUpdate { pending_admin: Some(key), ..nothing() }, Operator { pending_admin: key, ..before }),
        (
            OperatorUpdate { guardian: Some(Pubkey::default()), ..nothing() },
            Operator { guardian: Pubkey::default(), ..before },
        ),
        (
            OperatorUpdate { loosening_delay_seconds: Some(7), ..nothing() },
            Operator { loosening_delay_seconds: 7, ..before },
        ),
        (
            OperatorUpdate {
                policy_authority: Some(Who::TransferAuthority.key()),
                transfer_authorities: Some(vec![before.policy_authority]),
                ..nothing()
            },
            Operator {
                policy_authority: Who::TransferAuthority.key(),
                transfer_authorities: places(&[before.policy_authority]),
                ..before
            },
        ),
    ] {
        let mut world = World::new();
        let outcome = world.accept(&world.main.update_operator(change.clone()));
        assert_eq!(world.operator(), expected, "{change:?}");
        let given = expected.transfer_authorities.into_iter().filter(|key| *key != Pubkey::default());
        let keys = OperatorRecord {
            admin: expected.admin,
            pending_admin: expected.pending_admin,
            policy_authority: expected.policy_authority,
            guardian: expected.guardian,
            transfer_authorities: given.collect(),
            loosening_delay_seconds: expected.loosening_delay_seconds,
        };
        outcome.emitted(OperatorUpdated { operator: world.main.operator, keys });
    }
}

#[test]
fn only_the_admin_updates_an_operator() {
    let mut world = World::new();
    world.update(OperatorUpdate { pending_admin: Some(Who::NewAdmin.key()), ..nothing() });
    for change in [
        nothing(),
        OperatorUpdate { loosening_delay_seconds: Some(0), ..nothing() },
        OperatorUpdate { transfer_authorities: Some(vec![Who::Stranger.key()]), ..nothing() },
    ] {
        let call = world.main.update_operator(change);
        for who in Who::but(&[Who::Admin]) {
            world.refuse_as(&format!("{who:?}"), &call.clone().signed_by(who), PurserError::Unauthorized);
        }
    }
}

#[test]
fn keys_stay_distinct_and_given() {
    let mut world = World::new();
    let [admin, policy, transfer] =
        [Who::Admin.key(), Who::PolicyAuthority.key(), Who::TransferAuthority.key()];
    for (policy_authority, transfer_authorities, guardian) in [
        (Some(admin), None, None),
        (Some(transfer), None, None),
        (Some(Pubkey::default()), None, None),
        (None, Some(vec![admin]), None),
        (None, Some(vec![policy]), None),
        (None, Some(vec![transfer, transfer]), None),
        (None, Some(vec![transfer, Who::Second.key(), transfer]), None),
        (None, Some(vec![Who::Second.key(), policy]), None),
        (None, None, Some(transfer)),
        // Takes the key of the guardian, who stays.
        (None, Some(vec![Who::Guardian.key()]), None),
        (None, Some(vec![transfer, Who::Guardian.key()]), None),
    ] {
        let change = OperatorUpdate { policy_authority, transfer_authorities, guardian, ..nothing() };
        let call = world.main.update_operator(change.clone());
        world.refuse_as(&format!("{change:?}"), &call, PurserError::KeysNotDistinct);
    }
}

#[test]
fn an_operator_has_one_to_eight_transfer_authorities() {
    let mut world = World::new();
    let keys = |count: u8| (0..count).map(|n| Pubkey::new_from_array([n + 1; 32])).collect::<Vec<_>>();
    let none = Pubkey::default();
    let [one, two] = [Who::TransferAuthority.key(), Who::Second.key()];
    for refused in
        [vec![], keys(9), keys(30), vec![none], vec![none, one], vec![one, none, two], vec![one, none]]
    {
        let change = OperatorUpdate { transfer_authorities: Some(refused.clone()), ..nothing() };
        let call = world.main.update_operator(change);
        world.refuse_as(&format!("{refused:?}"), &call, PurserError::TransferAuthorityCount);
    }
    for count in [1, 2, 7, 8] {
        world.update(OperatorUpdate { transfer_authorities: Some(keys(count)), ..nothing() });
        assert_eq!(world.operator().transfer_authorities(), keys(count));
        assert_eq!(world.operator().transfer_authorities, places(&keys(count)));
    }
}

#[test]
fn each_of_eight_transfer_authorities_pays_and_a_removed_one_does_not() {
    let mut world = World::new();
    let main = world.main;
    let all = Who::TRANSFER_AUTHORITIES;
    let set = |world: &mut World, holders: &[Who]| {
        let keys = holders.iter().map(|who| who.key()).collect();
        world.update(OperatorUpdate { transfer_authorities: Some(keys), ..nothing() });
    };
    set(&mut world, &all);
    world.accept(&main.set_tag_buckets(32));
    let mut tag = 0;
    let mut pay = |world: &mut World, who: Who, may: bool| {
        tag += 1;
        let call = main.transfer(Payment { tag, amount: 1, ..Payment::default() }).signed_by(who);
        match may {
            true => drop(world.accept(&call)),
            false => world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized),
        }
    };
    for who in all {
        pay(&mut world, who, true);
    }
    for removed in 0..all.len() {
        let rest: Vec<Who> = all.into_iter().filter(|who| *who != all[removed]).collect();
        set(&mut world, &rest);
        for who in all {
            pay(&mut world, who, who != all[removed]);
        }
    }
}

#[test]
fn a_rotation_with_both_keys_side_by_side_refuses_no_transfer() {
    let mut world = World::new();
    let main = world.main;
    let [old, new] = [Who::TransferAuthority, Who::Second];
    let mut tag = 0;
    let mut pay = |who: Who| {
        tag += 1;
        main.transfer(Payment { tag, amount: 1, ..Payment::default() }).signed_by(who)
    };
    world.accept(&pay(old));
    let set = |keys: &[Who]| OperatorUpdate {
        transfer_authorities: Some(keys.iter().map(|who| who.key()).collect()),
        ..nothing()
    };
    world.update(set(&[old, new]));
    world.accept(&pay(old));
    world.accept(&pay(new));
    world.update(set(&[new]));
    world.accept(&pay(new));
    world.refuse(&pay(old), PurserError::Unauthorized);
}

#[test]
fn a_rotated_policy_authority_and_a_removed_guardian_lose_their_power_at_once() {
    let mut world = World::new();
    let main = world.main;
    world.update(OperatorUpdate {
        policy_authority: Some(Who::Stranger.key()),
        guardian: Some(Pubkey::default()),
        ..nothing()
    });
    world.refuse(&main.set_paused(true), PurserError::Unauthorized);
    world.refuse(&main.halt(), PurserError::Unauthorized);
    world.refuse(&main.halt().signed_by(Who::PolicyAuthority), PurserError::Unauthorized);
    world.accept(&main.set_paused(true).signed_by(Who::Stranger));
}

#[test]
fn an_offer_alone_gives_no_power() {
    let mut world = World::new();
    world.update(OperatorUpdate { pending_admin: Some(Who::NewAdmin.key()), ..nothing() });
    let withdraw = world.main.withdraw(1, crate::support::PAYEE).signed_by(Who::NewAdmin);
    world.refuse(&withdraw, PurserError::Unauthorized);
}

#[test]
fn the_delay_goes_up_to_30_days_and_not_beyond() {
    let mut world = World::new();
    let set = |seconds| OperatorUpdate { loosening_delay_seconds: Some(seconds), ..nothing() };
    for seconds in [1, LOOSENING_DELAY_SECONDS_MAX, 0] {
        world.update(set(seconds));
        assert_eq!(world.operator().loosening_delay_seconds, seconds);
    }
    assert_eq!(LOOSENING_DELAY_SECONDS_MAX, 30 * 24 * 3600);
    for seconds in [LOOSENING_DELAY_SECONDS_MAX + 1, u32::MAX] {
        let call = world.main.update_operator(set(seconds));
        world.refuse(&call, PurserError::LooseningDelayTooLong);
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.update_operator(nothing()),
        &[
            signer("admin", PurserError::Unauthorized),
            // The twin operator has the same admin, who may update it as well.
            operator(PurserError::Unauthorized).accepts(&["twin_operator"]),
        ],
    );
}
