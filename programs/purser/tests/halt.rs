use purser::error::PurserError;
use purser::events::PausedSet;
use purser::state::Operator;

use crate::support::{attack, operator, signer, Payment, Who, World};

const MAY_PAUSE: [Who; 3] = [Who::Admin, Who::PolicyAuthority, Who::Guardian];
const MAY_RESUME: [Who; 2] = [Who::Admin, Who::PolicyAuthority];

fn paused() -> World {
    let mut world = World::new();
    let call = world.main.set_operator_paused(true);
    world.accept(&call);
    world
}

#[test]
fn the_right_keys_pause_and_resume_an_operator() {
    for (paused, holders) in [(true, &MAY_PAUSE[..]), (false, &MAY_RESUME[..])] {
        for who in holders {
            let mut world = if paused { World::new() } else { self::paused() };
            let before = world.operator();
            let call = world.main.set_operator_paused(paused).signed_by(*who);
            let outcome = world.accept(&call);
            assert_eq!(world.operator(), Operator { paused: u8::from(paused), ..before });
            outcome.emitted(PausedSet {
                operator: world.main.operator,
                agent: None,
                paused,
                policy_version: 0,
                signer: who.key(),
            });
        }
    }
}

#[test]
fn nobody_else_pauses_and_the_guardian_does_not_resume() {
    for (paused, holders) in [(true, &MAY_PAUSE[..]), (false, &MAY_RESUME[..])] {
        let mut world = if paused { World::new() } else { self::paused() };
        for who in Who::ALL.into_iter().filter(|who| !holders.contains(who)) {
            let call = world.main.set_operator_paused(paused).signed_by(who);
            world.refuse_as(&format!("{who:?} {paused}"), &call, PurserError::Unauthorized);
        }
    }
}

#[test]
fn a_paused_operator_stops_all_its_agents_and_no_others() {
    let mut world = paused();
    let (main, sibling, twin) = (world.main, world.sibling, world.twin);
    world.refuse(&main.transfer(Payment::default()), PurserError::Paused);
    world.refuse(&sibling.transfer(Payment::default()), PurserError::Paused);
    world.accept(&twin.transfer(Payment::default()));
    world.accept(&main.set_operator_paused(false));
    world.accept(&main.transfer(Payment::default()));
    world.accept(&sibling.transfer(Payment::default()));
}

#[test]
fn resuming_an_operator_does_not_resume_a_paused_agent() {
    let mut world = paused();
    let main = world.main;
    world.accept(&main.set_paused(true));
    world.accept(&main.set_operator_paused(false));
    world.refuse(&main.transfer(Payment::default()), PurserError::Paused);
    let sibling = world.sibling;
    world.accept(&sibling.transfer(Payment::default()));
}

#[test]
fn pausing_twice_is_the_same_as_once() {
    let mut world = paused();
    let before = world.operator();
    let call = world.main.set_operator_paused(true);
    world.accept(&call);
    assert_eq!(world.operator(), before);
}

#[test]
fn the_admin_withdraws_from_a_paused_operator() {
    let mut world = paused();
    let call = world.main.withdraw(1, crate::support::PAYEE);
    world.accept(&call);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.set_operator_paused(true),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin", "guardian"]),
            operator(PurserError::Unauthorized).accepts(&["twin_operator"]),
        ],
    );
}
