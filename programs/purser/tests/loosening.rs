//! Loosened policies under a delay: which changes wait, for whom, and for how long.

use purser::error::PurserError;
use purser::{AllowlistArg, PolicyArgs, Rules};

use crate::support::{
    assert_policy, keys, many_keys, only, open_policy, Payment, Proposal, Who, World, DAY, NOON, PAYEE,
};

const DELAY: u32 = 3_600;

/// A policy in force, a new one, and whether the new one loosens it.
struct Change {
    name: &'static str,
    from: PolicyArgs,
    to: PolicyArgs,
    loosens: bool,
}

/// Every change of a single field: tighter, looser and unchanged.
fn changes() -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |name, loosens, change: &dyn Fn(&mut PolicyArgs, bool)| {
        let policy = |is_new| {
            let mut policy = open_policy();
            change(&mut policy, is_new);
            policy
        };
        changes.push(Change { name, from: policy(false), to: policy(true), loosens });
    };
    for (name, old, new, loosens) in [
        ("a higher limit", Some(5), Some(6), true),
        ("a lower limit", Some(6), Some(5), false),
        ("the same limit", Some(5), Some(5), false),
        ("no limit any more", Some(u64::MAX), None, true),
        ("a limit for the first time", None, Some(u64::MAX), false),
        ("no limit as before", None, None, false),
        ("from nothing to something", Some(0), Some(1), true),
        ("down to nothing", Some(1), Some(0), false),
    ] {
        add(name, loosens, &|policy, is_new| {
            policy.rules.max_single_transfer = if is_new { new } else { old }
        });
        add(name, loosens, &|policy, is_new| policy.rules.max_daily_spend = if is_new { new } else { old });
    }
    for (name, old, new, loosens) in [
        ("on", false, true, false),
        ("off", true, false, true),
        ("still on", true, true, false),
        ("still off", false, false, false),
    ] {
        add(name, loosens, &|policy, is_new| policy.rules.require_memo = if is_new { new } else { old });
        add(name, loosens, &|policy, is_new| policy.rules.paused = if is_new { new } else { old });
    }
    let [one, two, three] = [keys(1), keys(2), keys(3)];
    let last = &three[2..];
    let anyone = AllowlistArg::Anyone;
    for (name, old, new, loosens) in [
        ("anyone instead of a list", only(&two, &two), anyone.clone(), true),
        ("anyone instead of nobody", only(&[], &[]), anyone.clone(), true),
        ("a list instead of anyone", anyone.clone(), only(&two, &two), false),
        ("nobody instead of anyone", anyone, only(&[], &[]), false),
        ("the same list", only(&two, &one), only(&two, &one), false),
        ("one wallet more", only(&two, &one), only(&three, &one), true),
        ("one token account more", only(&two, &one), only(&two, &two), true),
        ("one wallet less", only(&two, &one), only(&one, &one), false),
        ("one token account less", only(&two, &one), only(&two, &[]), false),
        ("the first entry", only(&[], &[]), only(&one, &[]), true),
        ("the last entry less", only(&one, &[]), only(&[], &[]), false),
        ("another entry", only(&one, &[]), only(last, &[]), true),
        ("another entry of fewer", only(&two, &[]), only(last, &[]), true),
        ("a wallet becomes a token account", only(&one, &[]), only(&[], &one), true),
        ("a token account becomes a wallet", only(&[], &one), only(&one, &[]), true),
        ("a wallet is a token account too", only(&one, &[]), only(&one, &one), true),
        ("what was both is a wallet", only(&one, &one), only(&one, &[]), false),
    ] {
        add(name, loosens, &|policy, is_new| policy.allowlist = if is_new { &new } else { &old }.clone());
    }
    // A tightening next to it does not excuse a loosening.
    add("looser and tighter", true, &|policy, is_new| {
        (policy.rules.max_single_transfer, policy.rules.max_daily_spend) =
            if is_new { (Some(6), Some(0)) } else { (Some(5), None) };
        policy.rules.paused = is_new;
    });
    changes
}

/// A world with the policy `from` in force and this delay in seconds.
fn under(from: &PolicyArgs, delay: u32) -> World {
    let mut world = World::new();
    world.policy(|policy| *policy = from.clone());
    world.delay(delay);
    world
}

#[test]
fn a_policy_that_loosens_anything_is_not_set_at_once_by_the_policy_authority() {
    for change in changes() {
        for delay in [0, DELAY] {
            for who in [Who::Admin, Who::PolicyAuthority] {
                let mut world = under(&change.from, delay);
                let call = world.main.set_policy(2, change.to.clone()).signed_by(who);
                if change.loosens && delay > 0 && who == Who::PolicyAuthority {
                    world.refuse_as(change.name, &call, PurserError::LooseningMustWait);
                    assert_policy(world.agent_view().policy(), &change.from);
                } else {
                    world.accept(&call);
                    assert_policy(world.agent_view().policy(), &change.to);
                }
            }
        }
    }
}

#[test]
fn a_draft_that_loosens_anything_waits_for_the_policy_authority_to_the_second() {
    for change in changes() {
        for delay in [0, DELAY] {
            for who in [Who::Admin, Who::PolicyAuthority] {
                let mut world = under(&change.from, delay);
                let proposal = world.propose(change.to.clone());
                world.seal(&proposal, who);
                let apply = proposal.apply().signed_by(who);
                if change.loosens && delay > 0 && who == Who::PolicyAuthority {
                    for now in [NOON, NOON + 1, NOON + i64::from(DELAY) - 1, NOON - 1, 0, i64::MIN] {
                        world.set_clock(now);
                        world.refuse_as(change.name, &apply, PurserError::LooseningMustWait);
                        assert_policy(world.agent_view().policy(), &change.from);
                    }
                    world.set_clock(NOON + i64::from(DELAY));
                }
                world.accept(&apply);
                assert_policy(world.agent_view().policy(), &change.to);
            }
        }
    }
}

#[test]
fn a_pause_is_lifted_at_once_by_the_admin_or_without_a_delay() {
    for from in [false, true] {
        for to in [false, true] {
            for delay in [0, DELAY] {
                for who in [Who::Admin, Who::PolicyAuthority] {
                    let mut world = under(
                        &PolicyArgs { rules: Rules { paused: from, ..Rules::OPEN }, ..open_policy() },
                        delay,
                    );
                    let call = world.main.set_paused(to).signed_by(who);
                    if from && !to && delay > 0 && who == Who::PolicyAuthority {
                        world.refuse(&call, PurserError::LooseningMustWait);
                    } else {
                        world.accept(&call);
                        assert_eq!(world.agent_view().policy().paused, to);
                    }
                }
            }
        }
    }
}

/// A tight policy in force, an open one sealed by the policy authority, and a delay.
fn waiting(delay: u32) -> (World, Proposal) {
    let mut world = under(
        &PolicyArgs { rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN }, ..open_policy() },
        delay,
    );
    let proposal = world.sealed(PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() });
    (world, proposal)
}

#[test]
fn time_runs_from_the_seal_and_not_from_the_opening() {
    let mut world = under(
        &PolicyArgs { rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN }, ..open_policy() },
        DELAY,
    );
    let proposal = world.propose(PolicyArgs { allowlist: only(&many_keys(30), &[]), ..open_policy() });
    world.accept(&proposal.open());
    world.accept(&proposal.write(0, 25));
    world.set_clock(NOON + 10 * i64::from(DELAY));
    world.accept(&proposal.write(25, 30));
    world.refuse(&proposal.apply(), PurserError::LooseningMustWait);
    world.set_clock(NOON + 11 * i64::from(DELAY) - 1);
    world.refuse(&proposal.apply(), PurserError::LooseningMustWait);
    world.set_clock(NOON + 11 * i64::from(DELAY));
    world.accept(&proposal.apply());
}

#[test]
fn a_draft_that_is_dropped_and_sealed_anew_waits_anew() {
    let (mut world, proposal) = waiting(DELAY);
    world.set_clock(NOON + i64::from(DELAY) - 1);
    world.accept(&proposal.close());
    world.seal(&proposal, Who::PolicyAuthority);
    world.set_clock(NOON + i64::from(DELAY));
    world.refuse(&proposal.apply(), PurserError::LooseningMustWait);
    world.set_clock(NOON + 2 * i64::from(DELAY) - 1);
    world.accept(&proposal.apply());
}

#[test]
fn the_longer_of_the_delays_at_the_seal_and_at_the_applying_counts() {
    let hour = i64::from(DELAY);
    for (then, now, applies_at) in [
        (DELAY, 2 * DELAY, 2 * hour),
        (DELAY, DELAY / 2, hour),
        (DELAY, 0, hour),
        (1, DELAY, hour),
        (1, 0, 1),
        (DELAY, 30 * 86_400, 720 * hour),
        (30 * 86_400, 1, 720 * hour),
    ] {
        let (mut world, proposal) = waiting(then);
        world.delay(now);
        for clock in [NOON, NOON + applies_at - 1] {
            world.set_clock(clock);
            let what = format!("{then} then, {now} now");
            world.refuse_as(&what, &proposal.apply(), PurserError::LooseningMustWait);
        }
        world.set_clock(NOON + applies_at);
        world.accept(&proposal.apply());
    }
}

#[test]
fn a_draft_that_was_sealed_before_there_was_a_delay_never_ripens_under_one() {
    let (mut world, proposal) = waiting(0);
    for delay in [1, DELAY, 30 * 86_400] {
        world.delay(delay);
        for now in [NOON, NOON + i64::from(delay), NOON + 400 * DAY, i64::MAX] {
            world.set_clock(now);
            world.refuse(&proposal.apply(), PurserError::LooseningMustWait);
        }
    }
    world.clone().accept(&proposal.apply().signed_by(Who::Admin));
    // Dropped and sealed anew, it waits like any other.
    world.set_clock(NOON);
    world.accept(&proposal.close());
    world.seal(&proposal, Who::PolicyAuthority);
    world.set_clock(NOON + 30 * DAY);
    world.accept(&proposal.apply());

    // Without a delay nothing waits, and what tightens never does.
    let (mut world, proposal) = waiting(0);
    world.delay(DELAY);
    world.delay(0);
    world.accept(&proposal.apply());
    let mut world = under(&open_policy(), 0);
    let proposal = world
        .sealed(PolicyArgs { rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN }, ..open_policy() });
    world.delay(DELAY);
    world.accept(&proposal.apply());
}

#[test]
fn what_waits_is_put_in_force_in_a_halt_by_the_admin_alone_however_long_it_waited() {
    for whole in [false, true] {
        for (then, now) in [(DELAY, DELAY), (DELAY, 0), (0, DELAY)] {
            let (mut world, proposal) = waiting(then);
            world.delay(now);
            let main = world.main;
            world.accept(&if whole { main.halt_operator() } else { main.halt() });
            for clock in [NOON, NOON + i64::from(DELAY), NOON + 400 * DAY] {
                world.set_clock(clock);
                world.refuse(&proposal.apply(), PurserError::Halted);
            }
            world.clone().accept(&proposal.apply().signed_by(Who::Admin));
            // What tightens is not held up.
            let mut other = world.clone();
            other.accept(&proposal.close());
            let tighter = other.sealed(PolicyArgs {
                rules: Rules { max_daily_spend: Some(4), ..Rules::OPEN },
                ..open_policy()
            });
            other.accept(&tighter.apply());

            world.accept(&if whole { main.resume_operator() } else { main.resume() });
            match then {
                0 => world.refuse(&proposal.apply(), PurserError::LooseningMustWait),
                _ => drop(world.accept(&proposal.apply())),
            }
        }
    }
}

#[test]
fn where_nothing_waits_a_halt_holds_up_no_draft() {
    let (mut world, proposal) = waiting(0);
    world.accept(&world.main.halt());
    world.accept(&proposal.apply());
}

#[test]
fn pending_policy_is_dropped_by_anyone_who_may_halt_and_nobody_else() {
    for who in [Who::Guardian, Who::PolicyAuthority, Who::Admin] {
        let (mut world, proposal) = waiting(DELAY);
        for other in Who::but(&[Who::Guardian, Who::PolicyAuthority, Who::Admin]) {
            world.refuse(&proposal.close().signed_by(other), PurserError::Unauthorized);
        }
        world.accept(&proposal.close().signed_by(who));
        world.set_clock(NOON + i64::from(DELAY));
        world.refuse(&proposal.apply(), anchor_lang::error::ErrorCode::AccountOwnedByWrongProgram);
    }
}

#[test]
fn pending_policy_is_void_once_the_policy_changed_even_to_a_tighter_one() {
    let tighter = PolicyArgs { rules: Rules { max_daily_spend: Some(4), ..Rules::OPEN }, ..open_policy() };
    let (mut world, proposal) = waiting(DELAY);
    world.accept(&world.main.set_policy(2, tighter.clone()));
    world.set_clock(NOON + i64::from(DELAY));
    for who in [Who::PolicyAuthority, Who::Admin] {
        world.refuse(&proposal.apply().signed_by(who), PurserError::PolicyChanged);
    }
    let (mut world, proposal) = waiting(DELAY);
    world.accept(&world.main.set_paused(true));
    world.set_clock(NOON + i64::from(DELAY));
    world.refuse(&proposal.apply(), PurserError::PolicyChanged);
}

#[test]
fn pending_policy_does_not_hold_up_a_tightening() {
    let (mut world, proposal) = waiting(DELAY);
    let main = world.main;
    world.accept(&main.set_policy(
        2,
        PolicyArgs { rules: Rules { max_daily_spend: Some(0), ..Rules::OPEN }, ..open_policy() },
    ));
    world.refuse(&main.transfer(Payment::default()), PurserError::DailyLimitExceeded);
    world.accept(&proposal.close());
}

#[test]
fn the_longest_delay_is_30_days_and_holds_at_the_ends_of_time() {
    let month = 30 * 86_400;
    for start in [i64::MIN, -1, 0, NOON, i64::MAX - 2 * i64::from(month), i64::MAX - 1] {
        let mut world = under(
            &PolicyArgs { rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN }, ..open_policy() },
            month,
        );
        world.set_clock(start);
        let proposal = world.sealed(open_policy());
        let opens = start.saturating_add(i64::from(month));
        for now in [start, opens - 1, i64::MIN] {
            world.set_clock(now);
            world.refuse_as(&format!("{start} {now}"), &proposal.apply(), PurserError::LooseningMustWait);
        }
        world.set_clock(opens);
        world.accept(&proposal.apply());
    }
}
