//! What binds an agent beside its policy: who says so, and that only the extended form of a transfer pays then.

use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::BoundsSet;
use purser::state::Agent;
use purser::{Bounds, GrantTerms, PolicyArgs, Rules};

use crate::support::{
    assert_policy, keys, only, open_policy, terms, Payment, Who, World, BALANCE, DAY, NOON, PAYEE_OWNER,
};

const ID: u64 = 7;

fn payment<'a>(tag: u64) -> Payment<'a> {
    Payment { tag, amount: 1, ..Payment::default() }
}

#[test]
fn where_grants_alone_pay_no_other_form_of_a_transfer_does() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(payment(1)));
    world.accept(&main.transfer_extended(payment(2), None));
    world.accept(&main.set_bounds(true));
    // By both other forms: `send` tries each transfer in both.
    world.refuse(&main.transfer(payment(3)), PurserError::ExtendedTransferRequired);
    world.refuse(&main.transfer_extended(payment(3), None), PurserError::GrantRequired);
    // Of one that was paid before, the truth is that it was paid.
    world.refuse(&main.transfer(payment(1)), PurserError::DuplicateTransfer);
    world.refuse(&main.transfer_extended(payment(2), None), PurserError::DuplicateTransfer);
    let cap = GrantTerms {
        beyond_allowlist: false,
        beyond_single_limit: false,
        beyond_daily_limit: false,
        ..terms()
    };
    world.accept(&main.open_grant(ID, cap));
    world.accept(&main.transfer_granted(payment(3), ID));
}

#[test]
fn policies_pauses_and_drafts_leave_the_bounds_as_they_are() {
    let mut world = World::new();
    let main = world.main;
    let length = |world: &World| world.account(&main.agent).data.len();
    world.accept(&main.bounds(Bounds { by_grant_only: true, max_30_day_spend: Some(3), budget: None }));
    assert_eq!(length(&world), Agent::BYTES + 192 + 264);
    world.policy(|policy| *policy = PolicyArgs { allowlist: only(&keys(2), &[]), ..open_policy() });
    assert_eq!(length(&world), Agent::BYTES + 192 + 264 + 64);
    world.policy(|policy| *policy = open_policy());
    assert_eq!(length(&world), Agent::BYTES + 192 + 264);
    world.accept(&main.set_paused(true));
    world.accept(&main.set_paused(false));
    let proposal = world.propose(PolicyArgs {
        rules: Rules { max_single_transfer: Some(9), ..Rules::OPEN },
        ..open_policy()
    });
    world.accept(&proposal.open());
    world.accept(&proposal.apply());
    assert_eq!(
        world.agent_view().bounds(),
        Bounds { by_grant_only: true, max_30_day_spend: Some(3), budget: None }
    );
    world.refuse(&main.transfer(payment(1)), PurserError::ExtendedTransferRequired);
}

#[test]
fn bounds_are_the_policy_authoritys_and_where_loosened_policies_wait_the_admin_alone_lifts_them() {
    let mut world = World::new();
    let main = world.main;
    for by_grant_only in [true, false] {
        for who in Who::everyone().filter(|who| ![Who::Admin, Who::PolicyAuthority].contains(who)) {
            let call = main.set_bounds(by_grant_only).signed_by(who);
            world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
        }
        world.accept(&main.set_bounds(by_grant_only)).emitted(BoundsSet {
            operator: main.operator,
            agent: main.agent,
            bounds: Bounds { by_grant_only, ..Bounds::default() },
            signer: Who::PolicyAuthority.key(),
        });
    }
    world.delay(3_600);
    world.accept(&main.set_bounds(true));
    world.accept(&main.set_bounds(true));
    world.set_clock(NOON + 3_600);
    world.refuse(&main.set_bounds(false), PurserError::LooseningMustWait);
    world.accept(&main.set_bounds(false).signed_by(Who::Admin));
    world.refuse(&main.set_bounds(true).with(2, world.twin.operator), PurserError::WrongOperator);
}

#[test]
fn a_change_made_of_what_bound_the_account_before_undoes_no_other() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_bounds(true));
    let read = world.agent_view().bounds();
    // Meanwhile somebody sets a cap.
    let capped = Bounds { max_30_day_spend: Some(3), ..read };
    world.accept(&main.bounds_over(read, capped));
    let stale = main.bounds_over(read, Bounds { by_grant_only: false, ..read });
    world.refuse(&stale, PurserError::PolicyChanged);
    world.refuse(&stale.clone().signed_by(Who::Admin), PurserError::PolicyChanged);
    assert_eq!(world.agent_view().bounds(), capped);
    world.accept(&main.bounds_over(capped, Bounds { by_grant_only: false, ..capped }));
}

#[test]
fn an_account_made_anew_has_no_bounds() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_bounds(true));
    world.accept(&main.close_agent());
    world.accept(&main.create_agent(crate::support::AGENT_ID).signed_by(Who::Admin));
    assert_eq!(world.agent_view().bounds(), Bounds::default());
}

fn capped(usdc: u64) -> Bounds {
    Bounds { max_30_day_spend: Some(usdc), ..Bounds::default() }
}

#[test]
fn no_more_than_the_cap_leaves_in_30_days_and_what_left_is_free_again_within_a_day_after_them() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.bounds(capped(3)));
    let pay = |tag, amount| main.transfer_extended(Payment { tag, amount, ..Payment::default() }, None);
    world.refuse(&main.transfer(payment(1)), PurserError::ExtendedTransferRequired);
    world.refuse(&pay(1, 4), PurserError::MonthLimitExceeded);
    world.accept(&pay(1, 2));
    world.refuse(&pay(2, 2), PurserError::MonthLimitExceeded);
    world.set_clock(NOON + DAY);
    world.accept(&pay(2, 1));
    // 08:00 on the first day: at that hour 30 days later it still counts, and until midnight.
    let midnight = NOON - NOON.rem_euclid(DAY);
    for at in [NOON + 30 * DAY, midnight + 31 * DAY - 1] {
        world.set_clock(at);
        world.refuse(&pay(3, 1), PurserError::MonthLimitExceeded);
    }
    world.set_clock(midnight + 31 * DAY);
    world.refuse(&pay(3, 3), PurserError::MonthLimitExceeded);
    world.accept(&pay(3, 2));
    // A clock that is behind frees nothing, and counts in the newest day.
    world.set_clock(midnight + 31 * DAY - 1);
    world.refuse(&pay(4, 1), PurserError::MonthLimitExceeded);
    world.set_clock(midnight + 32 * DAY);
    world.accept(&pay(4, 1));
    // Idle for years.
    world.set_clock(midnight + 4_000 * DAY);
    world.accept(&pay(5, 3));
    world.refuse(&pay(6, 1), PurserError::MonthLimitExceeded);
}

#[test]
fn no_grant_goes_past_the_cap_of_30_days() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.bounds(capped(3)));
    world.accept(&main.open_grant(ID, terms()));
    let pay = |tag, amount| main.transfer_granted(Payment { tag, amount, ..Payment::default() }, ID);
    world.refuse(&pay(1, 4), PurserError::MonthLimitExceeded);
    world.accept(&pay(1, 3));
    world.refuse(&main.transfer_granted(payment(2), ID), PurserError::MonthLimitExceeded);
    // What was refused by it is not counted against the grant.
    world.accept(&main.bounds(capped(4)));
    world.accept(&main.transfer_granted(payment(2), ID));
}

#[test]
fn a_cap_of_30_days_is_lowered_at_once_keeps_what_it_counted_and_is_raised_by_the_admin_under_a_delay() {
    let mut world = World::new();
    let main = world.main;
    let pay = |tag, amount| main.transfer_extended(Payment { tag, amount, ..Payment::default() }, None);
    world.accept(&main.bounds(capped(10)));
    world.accept(&pay(1, 6));
    world.delay(3_600);
    world.accept(&main.bounds(capped(7)));
    world.refuse(&pay(2, 2), PurserError::MonthLimitExceeded);
    for looser in [capped(8), Bounds::default()] {
        world.refuse(&main.bounds(looser), PurserError::LooseningMustWait);
    }
    world.accept(&main.bounds(capped(8)).signed_by(Who::Admin));
    world.accept(&pay(2, 2));
    // Taken away and set anew it begins with nothing: both are the admin's.
    world.accept(&main.bounds(Bounds::default()).signed_by(Who::Admin));
    world.accept(&main.transfer(payment(3)));
    world.accept(&main.bounds(capped(8)));
    world.accept(&pay(4, 8));
}

#[test]
fn the_list_stays_what_it_is_before_and_after_a_cap_of_30_days() {
    let mut world = World::new();
    let main = world.main;
    let mut listed = keys(5);
    listed.push(PAYEE_OWNER);
    listed.sort();
    let policy = PolicyArgs { allowlist: only(&listed, &[]), ..open_policy() };
    world.policy(|set| *set = policy.clone());
    let rent = |world: &World| world.lamports(&main.agent);
    let before = rent(&world);
    world.accept(&main.bounds(capped(BALANCE)));
    assert_policy(world.agent_view().policy(), &policy);
    assert_eq!(rent(&world), before + world.rent(264) - world.rent(0));
    world.accept(&main.transfer_extended(payment(1), None));
    let stranger = Payment { to: world.sibling.source, ..payment(2) };
    world.refuse(&main.transfer_extended(stranger, None), PurserError::RecipientNotAllowed);
    let had = world.lamports(&Who::Payer.key());
    world.accept(&main.bounds(Bounds::default()));
    assert_policy(world.agent_view().policy(), &policy);
    assert_eq!(
        (rent(&world), world.lamports(&Who::Payer.key())),
        (before, had + world.rent(264) - world.rent(0))
    );
    world.accept(&main.transfer(payment(3)));
    world.refuse(&main.bounds(capped(1)).with(4, Who::Stranger.key()), PurserError::WrongRentRefund);
}

#[test]
fn bounds_loosen_where_there_is_a_payment_that_they_pass_and_the_current_ones_refuse() {
    let [first, second] = [Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32])];
    let mut all = Vec::new();
    for by_grant_only in [false, true] {
        for max_30_day_spend in [None, Some(0), Some(1), Some(2), Some(u64::MAX)] {
            for budget in [None, Some(first), Some(second)] {
                all.push(Bounds { by_grant_only, max_30_day_spend, budget });
            }
        }
    }
    // By a grant or not, how much, what was spent before, and the room in the two budgets.
    let mut payments = Vec::new();
    for by_grant in [false, true] {
        for amount in [1, 2, u64::MAX] {
            for spent in [0, 1, 2, u64::MAX] {
                for room in [[false, false], [false, true], [true, false], [true, true]] {
                    payments.push((by_grant, amount, spent, room));
                }
            }
        }
    }
    let passes = |bounds: &Bounds, (by_grant, amount, spent, room): (bool, u64, u64, [bool; 2])| {
        let after = u128::from(spent) + u128::from(amount);
        (by_grant || !bounds.by_grant_only)
            && bounds.max_30_day_spend.is_none_or(|cap| after <= u128::from(cap))
            && bounds.budget.is_none_or(|budget| room[usize::from(budget == second)])
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
