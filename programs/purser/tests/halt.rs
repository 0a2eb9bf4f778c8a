//! Halts: separate from the policy, and lifted by the admin alone.

use anchor_lang::error::ErrorCode;
use anchor_lang::Event;
use purser::error::PurserError;
use purser::events::HaltSet;
use purser::state::{Agent, Operator, Role};
use purser::{PolicyArgs, Rules};

use crate::support::{
    agent, attack, keys, only, open_policy, operator, signer, Call, Expected, Payment, Place, Proposal, Who,
    World, NOON, PAYEE,
};

const MAY_HALT: [(Who, Role); 3] = [
    (Who::Admin, Role::Admin),
    (Who::PolicyAuthority, Role::PolicyAuthority),
    (Who::Guardian, Role::Guardian),
];
const HALTERS: [Who; 3] = [Who::Admin, Who::PolicyAuthority, Who::Guardian];

/// The calls that halt and resume the agent, or the whole operator.
fn calls(world: &World, whole: bool) -> [Call; 2] {
    match whole {
        true => [world.main.halt_operator(), world.main.resume_operator()],
        false => [world.main.halt(), world.main.resume()],
    }
}

fn halted_by(world: &World) -> [u8; 2] {
    [world.agent().halted_by, world.operator().halted_by]
}

#[test]
fn the_right_keys_halt_and_the_admin_resumes() {
    for whole in [false, true] {
        for (who, role) in MAY_HALT {
            let mut world = World::new();
            let (agent, operator) = (world.agent(), world.operator());
            let [halt, resume] = calls(&world, whole);
            let number = role.halt_number();
            world.set_clock(NOON + 7);
            let outcome = world.accept(&halt.signed_by(who));
            match whole {
                true => assert_eq!(world.operator(), Operator { halted_by: number, ..operator }),
                false => assert_eq!(world.agent(), Agent { halted_by: number, ..agent }),
            }
            let event = |halted_by, signer: Who| HaltSet {
                operator: world.main.operator,
                agent: (!whole).then_some(world.main.agent),
                halted_by,
                signer: signer.key(),
            };
            outcome.emitted(event(Some(role), who));
            let outcome = world.clone().accept(&resume);
            outcome.emitted(event(None, Who::Admin));
            world.accept(&resume);
            assert_eq!((world.agent(), world.operator()), (agent, operator));
        }
    }
}

#[test]
fn one_signature_of_the_admin_resumes_the_operator_and_many_agents() {
    for whole in [false, true] {
        let mut world = World::new();
        let (main, sibling) = (world.main, world.sibling);
        let more: Vec<Place> = (0..20u8).map(|id| Place::new(Who::Admin, 0, [id; 16])).collect();
        for (id, place) in (0u8..).zip(&more) {
            world.accept(&place.create_agent([id; 16]));
        }
        let all = || more.iter().chain([&main, &sibling]);
        for place in all() {
            world.accept(&place.halt());
        }
        world.accept(&main.halt_operator());
        let first = if whole { main.resume_operator() } else { main.resume() };
        let others: Vec<_> = all().map(|place| place.agent).collect();
        let resume = first.with_agents(&others);
        for who in Who::everyone().filter(|who| *who != Who::Admin) {
            world.refuse(&resume.clone().signed_by(who), PurserError::Unauthorized);
        }
        let outcome = world.accept(&resume);
        let event =
            |agent| HaltSet { operator: main.operator, agent, halted_by: None, signer: Who::Admin.key() };
        let named = [(!whole).then_some(main.agent)].into_iter().chain(others.iter().copied().map(Some));
        outcome.emitted_all(&named.map(|agent| event(agent).data()).collect::<Vec<_>>());
        for place in all() {
            let agent = Agent::read(&world.account(&place.agent).data).expect("an agent").agent;
            assert_eq!(agent.halted_by, 0);
        }
        assert_eq!(world.operator().halted_by, if whole { 0 } else { 3 });
    }
}

#[test]
fn one_wrong_account_among_them_resumes_none() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.halt());
    world.accept(&main.halt_operator());
    world.accept(&world.sibling.halt());
    let sibling = world.sibling.agent;
    for (name, answer) in [
        ("twin_agent", PurserError::WrongOperator.into()),
        ("foreign_agent", PurserError::WrongOperator.into()),
        ("closed_agent", ErrorCode::AccountDiscriminatorMismatch.into()),
        ("operator", ErrorCode::AccountDiscriminatorMismatch.into()),
        ("sibling_draft", ErrorCode::AccountDiscriminatorMismatch.into()),
        ("truncated_agent", Expected::from(PurserError::UnknownLayout)),
        ("forged_agent", ErrorCode::AccountOwnedByWrongProgram.into()),
        ("purser_program", ErrorCode::AccountOwnedByWrongProgram.into()),
        ("stranger", ErrorCode::AccountOwnedByWrongProgram.into()),
    ] {
        let wrong = world.cast.get(name);
        for others in [[sibling, wrong], [wrong, sibling]] {
            let resume = main.resume_operator().with_agents(&others);
            world.refuse_as(name, &resume, answer.clone());
        }
    }
    let mut read_only = main.resume_operator().with_agents(&[sibling]);
    read_only.accounts[3].is_writable = false;
    world.refuse(&read_only, ErrorCode::AccountNotMutable);
    // A halt names no more than one: what follows changes nothing.
    world.accept(&main.resume_operator().with_agents(&[main.agent, main.agent, sibling]));
    world.accept(&main.halt_operator().with_agents(&[sibling]));
    assert_eq!(halted_by(&world), [0, 3]);
}

#[test]
fn nobody_else_halts() {
    let mut world = World::new();
    for whole in [false, true] {
        let [halt, _] = calls(&world, whole);
        for who in Who::but(&HALTERS) {
            world.refuse_as(&format!("{who:?}"), &halt.clone().signed_by(who), PurserError::Unauthorized);
        }
    }
}

#[test]
fn nobody_but_the_admin_lifts_a_halt_whoever_set_it() {
    for whole in [false, true] {
        for (halter, _) in MAY_HALT {
            let mut world = World::new();
            let [halt, resume] = calls(&world, whole);
            world.accept(&halt.signed_by(halter));
            for who in Who::everyone().filter(|who| *who != Who::Admin) {
                let what = format!("{who:?} after {halter:?}");
                world.refuse_as(&what, &resume.clone().signed_by(who), PurserError::Unauthorized);
            }
        }
    }
}

#[test]
fn the_first_halt_stands_whoever_halts_again() {
    for whole in [false, true] {
        for (first, role) in MAY_HALT {
            for (second, _) in MAY_HALT {
                let mut world = World::new();
                let [halt, resume] = calls(&world, whole);
                world.accept(&halt.clone().signed_by(first));
                let before = halted_by(&world);
                let outcome = world.accept(&halt.clone().signed_by(second));
                assert_eq!(halted_by(&world), before);
                outcome.emitted(HaltSet {
                    operator: world.main.operator,
                    agent: (!whole).then_some(world.main.agent),
                    halted_by: Some(role),
                    signer: second.key(),
                });
                // One resume by the admin ends it, however many keys halted it.
                world.accept(&resume);
                assert_eq!(halted_by(&world), [0, 0]);
            }
        }
    }
}

#[test]
fn a_halt_survives_every_change_of_the_policy() {
    for whole in [false, true] {
        for signer in [Who::PolicyAuthority, Who::Admin] {
            let mut world = World::new();
            let main = world.main;
            let [halt, resume] = calls(&world, whole);
            let sealed = world.sealed(PolicyArgs { allowlist: only(&keys(3), &[PAYEE]), ..open_policy() });
            world.accept(&halt);
            let stands = |world: &mut World| {
                world.refuse(&main.transfer(Payment::default()), PurserError::Halted);
                assert_ne!(halted_by(world), [0, 0]);
            };
            stands(&mut world);
            world.accept(&sealed.apply().signed_by(signer));
            stands(&mut world);
            for paused in [true, false] {
                world.accept(&main.set_paused(paused).signed_by(signer));
                stands(&mut world);
            }
            world.accept(&main.set_policy(world.version(), open_policy()).signed_by(signer));
            stands(&mut world);
            world.accept(&resume);
            world.accept(&main.transfer(Payment::default()));
        }
    }
}

#[test]
fn a_halt_survives_the_hand_over_to_another_admin_and_new_keys() {
    for whole in [false, true] {
        let mut world = World::new();
        let main = world.main;
        let [halt, resume] = calls(&world, whole);
        world.accept(&halt);
        world.update(purser::OperatorUpdate {
            pending_admin: Some(Who::NewAdmin.key()),
            policy_authority: Some(Who::Stranger.key()),
            ..Default::default()
        });
        world.accept(&main.accept_admin());
        world.refuse(&resume.clone(), PurserError::Unauthorized);
        world.refuse(&resume.clone().signed_by(Who::Stranger), PurserError::Unauthorized);
        world.refuse(&main.transfer(Payment::default()), PurserError::Halted);
        world.accept(&resume.signed_by(Who::NewAdmin));
        world.accept(&main.transfer(Payment::default()));
    }
}

#[test]
fn a_halted_operator_stops_all_its_agents_and_no_others() {
    let mut world = World::new();
    let (main, sibling, twin) = (world.main, world.sibling, world.twin);
    world.accept(&main.halt_operator());
    world.refuse(&main.transfer(Payment::default()), PurserError::Halted);
    world.refuse(&sibling.transfer(Payment::default()), PurserError::Halted);
    world.accept(&twin.transfer(Payment::default()));
    world.accept(&main.resume_operator());
    world.accept(&main.transfer(Payment::default()));
    world.accept(&sibling.transfer(Payment::default()));
}

#[test]
fn a_halted_agent_stops_alone() {
    let mut world = World::new();
    let (main, sibling) = (world.main, world.sibling);
    world.accept(&main.halt());
    world.refuse(&main.transfer(Payment::default()), PurserError::Halted);
    world.accept(&sibling.transfer(Payment::default()));
}

#[test]
fn agent_and_operator_are_resumed_each_by_itself_and_a_pause_stays() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.halt());
    world.accept(&main.halt_operator());
    world.accept(&main.set_paused(true));
    world.accept(&main.resume_operator());
    world.refuse(&main.transfer(Payment::default()), PurserError::Halted);
    world.accept(&main.resume());
    world.refuse(&main.transfer(Payment::default()), PurserError::Paused);
    world.accept(&main.set_paused(false));
    world.accept(&main.transfer(Payment::default()));
}

#[test]
fn an_agent_created_under_a_halted_operator_does_not_pay() {
    let mut world = World::new();
    world.accept(&world.main.halt_operator());
    let place = crate::support::Place::new(Who::Admin, 0, [9; 16]);
    world.accept(&place.create_agent([9; 16]));
    world.fund(place.source, 5);
    world.refuse(&place.transfer(Payment { amount: 1, ..Payment::default() }), PurserError::Halted);
}

#[test]
fn halted_agent_can_still_be_tightened_emptied_and_closed() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.halt());
    world.accept(&main.halt_operator());
    world.accept(
        &main.set_policy(1, PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() }),
    );
    let draft = Proposal::new(main, 2, open_policy());
    world.accept(&draft.open());
    world.accept(&draft.close().signed_by(Who::Guardian));
    world.accept(&main.withdraw(1, PAYEE));
    world.accept(&main.close_agent());
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let halted = {
        let mut world = World::new();
        world.accept(&world.main.halt());
        world.accept(&world.main.halt_operator());
        world
    };
    let main = halted.main;
    for (world, call, may) in [
        (World::new(), main.halt(), &["admin", "policy_authority"][..]),
        (halted.clone(), main.resume(), &[]),
    ] {
        attack(
            &world,
            &call,
            &[
                signer("authority", PurserError::Unauthorized).accepts(may),
                operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
                // The program's own address means the operator instead of an agent.
                agent(PurserError::WrongOperator).accepts(&["sibling_agent", "purser_program"]),
            ],
        );
    }
    for (world, call, may) in [
        (World::new(), main.halt_operator(), &["admin", "policy_authority"][..]),
        (halted, main.resume_operator(), &[]),
    ] {
        attack(
            &world,
            &call,
            &[
                signer("authority", PurserError::Unauthorized).accepts(may),
                operator(PurserError::Unauthorized).accepts(&["twin_operator"]),
                // With no agent, the call does not ask to write one, so an agent in this slot is not writable either.
                agent(ErrorCode::ConstraintMut).but(&["truncated_agent"], ErrorCode::ConstraintMut),
            ],
        );
    }
}
