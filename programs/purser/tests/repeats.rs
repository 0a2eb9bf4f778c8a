//! What was taken back never comes back, however often anything is repeated.

use purser::{Bounds, GrantTerms, PolicyArgs, Rules};
use solana_instruction::Instruction;

use crate::support::{keys, only, open_policy, terms, Call, Payment, Random, Who, World, NOON};

const HOUR: u32 = 3_600;

fn tight() -> PolicyArgs {
    PolicyArgs {
        rules: Rules { max_single_transfer: Some(5), max_daily_spend: Some(10), ..Rules::OPEN },
        allowlist: only(&keys(1), &[]),
    }
}

/// A tight policy and a delay. Grant 1 was voided, grant 2 closed, grant 3 of an approver voided; grant 4 waits.
fn world() -> World {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| *policy = tight());
    world.delay(HOUR);
    world.accept(&main.set_approver(Who::Stranger, 100, 100));
    let single = GrantTerms {
        beyond_daily_limit: false,
        tag: Some(3),
        memo_hash: Some(solana_sha256_hasher::hash(b"m").to_bytes()),
        policy_version: Some(world.version()),
        ..terms()
    };
    let approval = [
        crate::support::memo(&single.approval(&main.agent)),
        main.approve(Who::Stranger, 3, single).instruction(),
    ];
    world.accept_all(&approval, Who::FeePayer);
    for id in [1, 2] {
        world.accept(&main.open_grant(id, terms()));
    }
    world.accept(&main.remove_approver(Who::Stranger));
    world.accept(&main.void_grants().signed_by(Who::Admin));
    world.accept(&main.close_grant(2));
    world.set_clock(NOON + 10);
    let within = GrantTerms { beyond_daily_limit: false, ..terms() };
    world.accept(&main.open_grant(4, within).signed_by(Who::PolicyAuthority));
    world
}

/// Payments that the policy refuses: without a grant, and by each of these.
fn refused(world: &World, grants: &[u64]) -> Vec<Call> {
    let main = world.main;
    let payment = |tag| Payment { tag, amount: 100, memo: "m", ..Payment::default() };
    let by_grants = grants.iter().map(|id| main.transfer_granted(payment(*id), *id));
    let without = [main.transfer(payment(99)), main.transfer_extended(payment(98), None)];
    without.into_iter().chain(by_grants).collect()
}

#[track_caller]
fn assert_nothing_passes(world: &World, grants: &[u64], after: &str) {
    for call in refused(world, grants) {
        let sent = world.clone().send(&[call.instruction()], Who::FeePayer);
        assert!(sent.is_err(), "{after}: a payment passes that was refused");
    }
}

#[test]
fn no_number_of_repeats_brings_back_a_voided_grant() {
    let mut world = world();
    let main = world.main;
    assert_nothing_passes(&world, &[1, 2, 3, 4], "at first");
    for who in [Who::Guardian, Who::PolicyAuthority] {
        // More than fit any small number, 60 in a transaction and in any second.
        for round in 0..5 {
            world.set_clock(NOON + 20 + round);
            let voids: Vec<Instruction> = vec![main.void_grants().signed_by(who).instruction(); 60];
            let before = world.agent().voided_at;
            world.accept_all(&voids, Who::FeePayer);
            assert!(world.agent().voided_at >= before, "the second of the newest void went back");
            assert_nothing_passes(&world, &[1, 2, 3, 4], "after many voids");
        }
        // A clock that goes back does not undo it either.
        world.set_clock(NOON - 1_000);
        world.accept(&main.void_grants().signed_by(who));
        world.set_clock(NOON + 40);
        assert_nothing_passes(&world, &[1, 2, 3, 4], "after a clock that went back");
    }
    // Approvers that are made and removed again and again.
    for round in 0..260 {
        world.set_clock(NOON + 100 + round / 100);
        let pair = [main.set_approver(Who::Stranger, 1, 1), main.remove_approver(Who::Stranger)];
        world.accept_all(&pair.map(|call| call.instruction()), Who::FeePayer);
    }
    assert_nothing_passes(&world, &[1, 2, 3, 4], "after many approvers");
}

#[test]
fn no_sequence_of_moves_by_guardian_and_policy_authority_lets_a_payment_pass_at_once() {
    for seed in 0..4 {
        let mut random = Random(seed + 1);
        let mut world = world();
        let main = world.main;
        let mut grants = vec![1, 2, 3, 4];
        let loose = world.propose(open_policy());
        for step in 0..45 {
            let who = if random.below(2) == 0 { Who::Guardian } else { Who::PolicyAuthority };
            let times = 1 + random.below(3) as usize;
            let version = world.version();
            let (name, call) = match random.below(14) {
                0 | 1 => ("void_grants", main.void_grants()),
                2 => ("set_policy", main.set_policy(version, tight())),
                3 => ("set_policy, loose", main.set_policy(version, open_policy())),
                4 => ("by grant only", main.set_bounds(true)),
                5 => ("no bounds", main.bounds(Bounds::default())),
                6 => {
                    let id = 100 + step;
                    grants.push(id);
                    let within = GrantTerms { beyond_daily_limit: false, ..terms() };
                    ("open_grant", main.open_grant(id, within))
                }
                7 => ("close_grant", main.close_grant(grants[random.below(grants.len() as u64) as usize])),
                8 => ("open_draft", loose.open()),
                9 => ("apply_draft", loose.apply()),
                10 => ("close_draft", loose.close()),
                11 => ("set_paused", main.set_paused(random.below(2) == 0)),
                12 => ("set_budget", main.set_budget(1, random.below(9), None)),
                _ => ("set_tag_buckets", main.set_tag_buckets(1 + random.below(5) as u16)),
            };
            let call = call.signed_by(who).instruction();
            let _ = world.send(&vec![call; times], Who::FeePayer);
            let newest = &grants[grants.len().saturating_sub(5)..];
            assert_nothing_passes(&world, newest, &format!("seed {seed}, step {step}, {name}"));
            assert_nothing_passes(&world, &[1, 2, 3, 4], &format!("seed {seed}, step {step}, {name}"));
        }
    }
}
