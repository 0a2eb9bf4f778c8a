use purser::error::PurserError;
use purser::events::PausedSet;
use purser::state::Agent;
use purser::{PolicyArgs, Rules};

use crate::support::{
    agent, assert_policy, attack, only, open_policy, operator, signer, Payment, Who, World, NOON,
};

const MAY: [Who; 2] = [Who::Admin, Who::PolicyAuthority];

fn paused() -> World {
    let mut world = World::new();
    let call = world.main.set_paused(true);
    world.accept(&call);
    world
}

#[test]
fn admin_and_policy_authority_pause_and_resume_an_agent() {
    for paused in [true, false] {
        for who in MAY {
            let mut world = if paused { World::new() } else { self::paused() };
            let before = world.agent();
            world.set_clock(NOON + 7);
            let outcome = world.accept(&world.main.set_paused(paused).signed_by(who));
            let after = world.agent();
            let expected = Agent {
                policy: after.policy,
                policy_version: before.policy_version + 1,
                policy_updated_at: NOON as u32 + 7,
                ..before
            };
            assert_eq!(after, expected);
            assert_policy(
                world.agent_view().policy(),
                &PolicyArgs { rules: Rules { paused, ..Rules::OPEN }, ..open_policy() },
            );
            outcome.emitted(PausedSet {
                operator: world.main.operator,
                agent: world.main.agent,
                paused,
                policy_version: expected.policy_version,
                signer: who.key(),
            });
        }
    }
}

#[test]
fn nobody_else_pauses_or_resumes() {
    for paused in [true, false] {
        let mut world = if paused { World::new() } else { self::paused() };
        for who in Who::but(&MAY) {
            let call = world.main.set_paused(paused).signed_by(who);
            world.refuse_as(&format!("{who:?} {paused}"), &call, PurserError::Unauthorized);
        }
    }
}

#[test]
fn where_loosened_policies_wait_the_admin_alone_resumes_at_once() {
    let mut world = paused();
    let main = world.main;
    world.delay(1);
    world.refuse(&main.set_paused(false), PurserError::LooseningMustWait);
    world.accept(&main.set_paused(true));
    world.accept(&main.set_paused(false).signed_by(Who::Admin));
    // Unpausing loosens nothing if nothing was paused.
    world.accept(&main.set_paused(false));
    world.accept(&main.set_paused(true));
}

#[test]
fn pausing_keeps_the_rest_of_the_policy() {
    let mut world = World::new();
    world.policy(|policy| {
        policy.rules.max_single_transfer = Some(7);
        policy.rules.max_daily_spend = Some(8);
        policy.rules.require_memo = true;
        policy.allowlist = only(&[crate::support::PAYEE_OWNER], &[crate::support::PAYEE]);
    });
    let before = world.agent_view();
    let main = world.main;
    world.accept(&main.set_paused(true));
    assert_eq!(world.agent_view().policy(), purser_policy::Policy { paused: true, ..before.policy() });
    world.accept(&main.set_paused(false));
    assert_eq!(world.agent_view().policy(), before.policy());
}

#[test]
fn a_paused_agent_does_not_pay_until_it_is_resumed_and_others_do() {
    let mut world = paused();
    let (main, sibling) = (world.main, world.sibling);
    world.refuse(&main.transfer(Payment::default()), PurserError::Paused);
    world.accept(&sibling.transfer(Payment::default()));
    world.accept(&main.set_paused(false));
    world.accept(&main.transfer(Payment::default()));
}

#[test]
fn the_last_policy_version_is_not_passed() {
    let mut world = World::new();
    let main = world.main;
    let version_at = 8 + 4;
    world.edit(main.agent, |account| {
        account.data[version_at..version_at + 4].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
    });
    world.accept(&main.set_paused(true));
    assert_eq!(world.agent().policy_version, u32::MAX);
    world.refuse(&main.set_paused(false), PurserError::PolicyVersionExhausted);
    world.refuse(&main.set_policy(u32::MAX, open_policy()), PurserError::PolicyVersionExhausted);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    attack(
        &world,
        &world.main.set_paused(true),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(PurserError::WrongOperator).accepts(&["sibling_agent"]),
        ],
    );
}
