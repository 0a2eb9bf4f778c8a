//! Budgets: one cap over several agents.

use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::events::{BudgetClosed, BudgetSet, BudgetUsed};
use purser::state::Budget;
use purser::{Bounds, BudgetCaps};

use crate::support::{Call, Expected, Payment, Place, Who, World, DAY, NOON};

const ID: u64 = 3;
/// Where bounds show the budget that they name.
const BUDGET_SLOT: usize = 5;

fn through(place: Place) -> Bounds {
    Bounds { budget: Some(place.budget(ID)), ..Bounds::default() }
}

/// Two agents behind a budget of 10 a day, and 25 in 30 days.
fn world() -> World {
    let mut world = World::new();
    world.accept(&world.main.set_budget(ID, 10, Some(25)));
    for place in [world.main, world.sibling] {
        world.accept(&place.bounds(through(place)));
    }
    world
}

fn pay(place: Place, tag: u64, amount: u64) -> Call {
    let payment = Payment { tag, amount, ..Payment::default() };
    place.transfer_through(payment, None, Some(place.budget(ID)))
}

fn budget(world: &World) -> Budget {
    Budget::read(&world.account(&world.main.budget(ID)).data).expect("a budget")
}

#[test]
fn agents_that_share_a_budget_spend_no_more_than_it_together() {
    let mut world = world();
    let (main, sibling) = (world.main, world.sibling);
    let outcome = world.accept(&pay(main, 1, 6));
    let (agent, budget) = (main.agent, main.budget(ID));
    let used = BudgetUsed { agent, number: 1, budget, spent_in_window: 6 };
    assert_eq!(outcome.events[1], anchor_lang::Event::data(&used));
    world.refuse(&pay(sibling, 2, 5), PurserError::BudgetExceeded);
    world.accept(&pay(sibling, 2, 4));
    world.refuse(&pay(main, 3, 1), PurserError::BudgetExceeded);
    world.set_clock(NOON + DAY + 1);
    world.accept(&pay(main, 3, 10));
    world.set_clock(NOON + 3 * DAY);
    world.refuse(&pay(sibling, 4, 6), PurserError::BudgetExceeded);
    world.accept(&pay(sibling, 4, 5));
    world.refuse(&pay(main, 5, 1), PurserError::BudgetExceeded);
    world.set_clock(NOON + 31 * DAY);
    world.accept(&pay(main, 5, 10));
}

#[test]
fn an_agent_with_a_budget_pays_through_that_one_and_one_without_through_none() {
    let mut world = world();
    let (main, twin) = (world.main, world.twin);
    let payment = Payment { tag: 1, amount: 1, ..Payment::default() };
    world.refuse(&main.transfer(payment), PurserError::ExtendedTransferRequired);
    world.accept(&main.set_budget(ID + 1, 1_000, None));
    world.refuse(&main.transfer_through(payment, None, None), PurserError::BudgetMismatch);
    let other = main.transfer_through(payment, None, Some(main.budget(ID + 1)));
    world.refuse(&other, PurserError::BudgetMismatch);
    for wrong in [main.agent, main.operator, main.source, Who::Stranger.key()] {
        world.refuse(&main.transfer_through(payment, None, Some(wrong)), PurserError::BudgetMismatch);
    }
    // One of another operator, or one that is not there, is none that bounds can name.
    world.accept(&twin.set_budget(ID, 1_000, None));
    world.refuse(&main.bounds(through(twin)).signed_by(Who::Admin), PurserError::WrongOperator);
    let gone = Bounds { budget: Some(main.budget(9)), ..Bounds::default() };
    world.refuse(&main.bounds(gone), ErrorCode::AccountOwnedByWrongProgram);
    // One that was closed while it was named: nothing is paid through it.
    world.accept(&main.bounds(Bounds { budget: Some(main.budget(ID + 1)), ..Bounds::default() }));
    world.accept(&main.close_budget(ID + 1));
    world.refuse(&other, PurserError::UnknownLayout);
    world.accept(&main.set_budget(ID + 1, 1_000, None));
    world.accept(&main.bounds(Bounds::default()));
    world.refuse(&other, PurserError::BudgetMismatch);
    world.accept(&main.transfer(payment));
}

#[test]
fn bounds_name_a_budget_of_the_operator_that_is_shown_and_nothing_else() {
    let mut world = world();
    let main = world.main;
    world.accept(&main.set_budget(ID + 1, 1, None));
    // The program's own address stands for no budget in a payment: named in bounds, it would bind nothing.
    let named = |budget| main.bounds(Bounds { budget: Some(budget), ..Bounds::default() });
    for budget in [purser::ID, main.operator, main.agent, Who::Stranger.key()] {
        for shown in [purser::ID, main.budget(ID), main.budget(ID + 1)] {
            world.refuse(&named(budget).with(BUDGET_SLOT, shown), PurserError::BudgetMismatch);
        }
    }
    for shown in [purser::ID, main.budget(ID)] {
        world.refuse(&named(main.budget(ID + 1)).with(BUDGET_SLOT, shown), PurserError::BudgetMismatch);
    }
    assert_eq!(world.agent_view().bounds(), through(main));
    // It binds: no payment goes past its cap, nor by another account in its place.
    world.accept(&named(main.budget(ID + 1)));
    let two = Payment { tag: 1, amount: 2, ..Payment::default() };
    world.refuse(&main.transfer_through(two, None, Some(main.budget(ID + 1))), PurserError::BudgetExceeded);
    world.refuse(&main.transfer_through(two, None, None), PurserError::BudgetMismatch);
}

#[test]
fn two_budgets_in_turn_are_the_admins_where_loosened_policies_wait() {
    let mut world = world();
    let main = world.main;
    world.delay(3_600);
    world.accept(&main.set_budget(ID + 1, 10, None));
    let second = Bounds { budget: Some(main.budget(ID + 1)), ..Bounds::default() };
    for bounds in [second, Bounds::default()] {
        world.refuse(&main.bounds(bounds), PurserError::LooseningMustWait);
    }
    world.accept(&main.bounds(second).signed_by(Who::Admin));
    // Another cap beside it keeps the budget, and what counts in it.
    let both = Bounds { max_30_day_spend: Some(1), ..second };
    world.accept(&main.bounds(both));
    assert_eq!(world.agent_view().bounds(), both);
}

#[test]
fn a_grant_goes_past_no_budget() {
    let mut world = world();
    let main = world.main;
    world.accept(&main.open_grant(1, crate::support::terms()));
    let by_grant = |tag, amount| {
        let payment = Payment { tag, amount, ..Payment::default() };
        main.transfer_through(payment, Some(main.grant(1)), Some(main.budget(ID)))
    };
    world.refuse(&by_grant(1, 11), PurserError::BudgetExceeded);
    world.accept(&by_grant(1, 10));
    world.refuse(&by_grant(2, 1), PurserError::BudgetExceeded);
    assert_eq!(budget(&world).window().spent(NOON).micros(), 10);
}

#[test]
fn a_raise_waits_in_the_budget_and_what_is_lowered_does_not() {
    let mut world = world();
    let main = world.main;
    world.delay(3_600);
    let raise = main.set_budget(ID, 20, Some(5)).signed_by(Who::PolicyAuthority);
    world.accept(&raise).emitted(BudgetSet {
        operator: main.operator,
        budget: main.budget(ID),
        id: ID,
        caps: BudgetCaps { max_daily_spend: 20, max_30_day_spend: Some(5) },
        loosens_at: Some(NOON + 3_600),
        signer: Who::PolicyAuthority.key(),
    });
    // The lower month holds already.
    world.refuse(&pay(main, 1, 6), PurserError::BudgetExceeded);
    world.accept(&main.set_budget(ID, 20, Some(100)).signed_by(Who::PolicyAuthority));
    world.set_clock(NOON + 3_599);
    world.refuse(&pay(main, 1, 11), PurserError::BudgetExceeded);
    // A delay that is made longer holds it up.
    world.delay(7_200);
    world.set_clock(NOON + 7_199);
    world.refuse(&pay(main, 1, 11), PurserError::BudgetExceeded);
    world.set_clock(NOON + 7_200);
    world.accept(&pay(main, 1, 11));
    // Whoever may halt drops what waits, by lowering.
    world.accept(&main.set_budget(ID, 90, None).signed_by(Who::PolicyAuthority));
    world.accept(&main.set_budget(ID, 20, Some(100)).signed_by(Who::Guardian));
    world.set_clock(NOON + 2 * DAY);
    world.refuse(&pay(main, 2, 21), PurserError::BudgetExceeded);
}

#[test]
fn a_raise_without_a_delay_is_never_in_force_under_one_and_none_begins_to_wait_in_a_halt() {
    let mut world = world();
    let main = world.main;
    world.accept(&main.set_budget(ID, 20, Some(100)).signed_by(Who::PolicyAuthority));
    world.accept(&pay(main, 1, 20));
    world.delay(3_600);
    world.accept(&main.halt_operator());
    let raise = main.set_budget(ID, 90, Some(100)).signed_by(Who::PolicyAuthority);
    world.refuse(&raise, PurserError::Halted);
    world.accept(&main.set_budget(ID, 30, Some(100)));
}

#[test]
fn who_makes_raises_lowers_and_closes_a_budget() {
    let mut world = World::new();
    let main = world.main;
    let lowers = [Who::Admin, Who::PolicyAuthority, Who::Guardian];
    for who in Who::everyone().filter(|who| *who != Who::Admin) {
        let call = main.set_budget(ID, 10, None).signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
    world.accept(&main.set_budget(ID, 10, None));
    for who in Who::everyone() {
        let (mut lower, mut raise) = (world.clone(), world.clone());
        let [down, up] = [9, 11].map(|cap| main.set_budget(ID, cap, None).signed_by(who));
        match lowers.contains(&who) {
            true => drop(lower.accept(&down)),
            false => lower.refuse_as(&format!("{who:?}"), &down, PurserError::Unauthorized),
        }
        match [Who::Admin, Who::PolicyAuthority].contains(&who) {
            true => drop(raise.accept(&up)),
            false => raise.refuse_as(&format!("{who:?}"), &up, PurserError::Unauthorized),
        }
        if who != Who::Admin {
            raise.refuse_as(
                &format!("{who:?}"),
                &main.close_budget(ID).signed_by(who),
                PurserError::Unauthorized,
            );
        }
    }
    world.refuse(&main.close_budget(ID).with(1, world.twin.operator), PurserError::WrongOperator);
    let (held, had) = (world.lamports(&main.budget(ID)), world.lamports(&Who::Admin.key()));
    world.accept(&main.close_budget(ID)).emitted(BudgetClosed {
        operator: main.operator,
        budget: main.budget(ID),
        admin: Who::Admin.key(),
    });
    assert_eq!(world.lamports(&Who::Admin.key()), had + held);
    let none: Expected = anchor_lang::error::ErrorCode::AccountOwnedByWrongProgram.into();
    world.refuse(&main.close_budget(ID), none);
}

#[test]
fn a_budget_closes_once_both_windows_are_empty_so_that_none_made_anew_lets_two_caps_out() {
    let mut world = world();
    let main = world.main;
    world.accept(&pay(main, 1, 10));
    world.refuse(&main.close_budget(ID), PurserError::SpendWindowNotEmpty);
    world.set_clock(NOON + 2 * DAY);
    world.refuse(&main.close_budget(ID), PurserError::SpendWindowNotEmpty);
    let midnight = NOON - NOON.rem_euclid(DAY);
    world.set_clock(midnight + 31 * DAY - 1);
    world.refuse(&main.close_budget(ID), PurserError::SpendWindowNotEmpty);
    world.set_clock(midnight + 31 * DAY);
    world.accept(&main.close_budget(ID));
    world.refuse(&pay(main, 2, 1), PurserError::UnknownLayout);
}

#[test]
fn caps_of_a_budget_loosen_where_there_is_a_payment_that_they_pass_and_the_current_ones_refuse() {
    const VALUES: [u64; 4] = [0, 1, 2, u64::MAX];
    let mut all = Vec::new();
    for max_daily_spend in VALUES {
        for max_30_day_spend in [None].into_iter().chain(VALUES.map(Some)) {
            all.push(BudgetCaps { max_daily_spend, max_30_day_spend });
        }
    }
    // How much, and what was spent before, in the day and in the month: each cap is looked at by itself.
    let mut payments = Vec::new();
    for amount in [1, 2, u64::MAX] {
        payments.extend(VALUES.map(|day| VALUES.map(|month| (amount, day, month))).concat());
    }
    // No month is counted past `u64::MAX`, so that this as a cap is none.
    let passes = |caps: &BudgetCaps, (amount, day, month): (u64, u64, u64)| {
        let fits = |spent, cap| u128::from(spent) + u128::from(amount) <= u128::from(cap);
        fits(day, caps.max_daily_spend) && fits(month, caps.max_30_day_spend.unwrap_or(u64::MAX))
    };
    for new in &all {
        for current in &all {
            let mut passed = payments.iter().filter(|payment| passes(new, **payment)).peekable();
            // Each rule is looked at by itself: one that is looser waits, even where another lets nothing pass.
            let nothing = passed.peek().is_none();
            let more = passed.any(|payment| !passes(current, *payment));
            let loosens = new.loosens(current);
            assert!(loosens == more || loosens && nothing, "{new:?} for {current:?}");
        }
    }
}

#[test]
fn a_change_made_of_caps_that_others_changed_meanwhile_undoes_nothing() {
    let mut world = world();
    let main = world.main;
    let [read, lowered] =
        [25, 7].map(|month| BudgetCaps { max_daily_spend: 10, max_30_day_spend: Some(month) });
    world.accept(&main.budget_over(ID, read, lowered));
    let stale = main.budget_over(ID, read, BudgetCaps { max_daily_spend: 9, ..read });
    for who in [Who::Admin, Who::PolicyAuthority, Who::Guardian] {
        world.refuse(&stale.clone().signed_by(who), PurserError::PolicyChanged);
    }
    // The caps in force, not those that wait.
    world.delay(3_600);
    world.accept(&main.budget_over(ID, lowered, read).signed_by(Who::PolicyAuthority));
    world.refuse(&main.budget_over(ID, read, lowered), PurserError::PolicyChanged);
    world.set_clock(NOON + 3_600);
    world.refuse(&main.budget_over(ID, lowered, lowered), PurserError::PolicyChanged);
    world.accept(&main.budget_over(ID, read, lowered));
    // Nothing stands there yet.
    world.refuse(&main.budget_over(ID + 1, read, read), PurserError::PolicyChanged);
    world.accept(&main.set_budget(ID + 1, 10, Some(25)));
}
