//! How much may leave in any 24 hours.

use anchor_lang::AnchorDeserialize;
use purser::error::PurserError;
use purser::events::TransferExecuted;
use solana_transaction_error::TransactionError;

use crate::support::{Call, Expected, Outcome, Payment, Random, Spends, Who, World, DAY, NOON, PAYEE};

/// The window is exact up to this many different seconds with spends in 24 hours.
const EXACT: usize = 40;
/// Beyond that, a spend counts for less than this many seconds longer.
const STRETCH: i64 = 5_574;

fn capped(cap: u64) -> World {
    let mut world = World::new();
    // More payments a day than an account has room for at first.
    (0..8).for_each(|step| drop(world.accept(&world.main.set_tag_buckets(50 * (step + 1)))));
    world.fund(world.main.source, u64::MAX);
    world.policy(|policy| policy.rules.max_daily_spend = Some(cap));
    world
}

fn pay(world: &World, tag: u64, amount: u64) -> Call {
    world.main.transfer(Payment { tag, amount, ..Payment::default() })
}

fn spent_in_window(outcome: &Outcome) -> u64 {
    let [event] = &outcome.events[..] else { panic!("one event: {outcome:?}") };
    TransferExecuted::try_from_slice(&event[8..]).expect("a transfer").spent_in_window
}

#[test]
fn the_cap_may_leave_and_not_one_more() {
    for cap in [1, 1_000_000, u64::MAX - 1, u64::MAX] {
        let mut world = capped(cap);
        if let Some(more) = cap.checked_add(1) {
            world.refuse(&pay(&world, 1, more), PurserError::DailyLimitExceeded);
        }
        let outcome = world.accept(&pay(&world, 1, cap));
        assert_eq!(spent_in_window(&outcome), cap);
        world.fund(world.main.source, u64::MAX);
        world.fund(PAYEE, 0);
        for amount in [1, cap, u64::MAX] {
            world.refuse(&pay(&world, 2, amount), PurserError::DailyLimitExceeded);
        }
    }
}

#[test]
fn a_spend_counts_while_it_is_86400_seconds_old_and_not_one_longer() {
    let mut world = capped(10);
    world.accept(&pay(&world, 1, 10));
    for now in [NOON, NOON + 1, NOON + DAY / 2, NOON + DAY - 1, NOON + DAY] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &pay(&world, 2, 1), PurserError::DailyLimitExceeded);
    }
    world.set_clock(NOON + DAY + 1);
    world.accept(&pay(&world, 2, 10));
}

#[test]
fn nothing_resets_at_a_boundary_and_each_spend_expires_by_itself() {
    let mut world = capped(10);
    world.accept(&pay(&world, 1, 4));
    world.set_clock(NOON + 100);
    world.accept(&pay(&world, 2, 6));
    world.set_clock(NOON + DAY + 1);
    world.refuse(&pay(&world, 3, 5), PurserError::DailyLimitExceeded);
    let outcome = world.accept(&pay(&world, 3, 4));
    assert_eq!(spent_in_window(&outcome), 10);
    world.set_clock(NOON + DAY + 100);
    world.refuse(&pay(&world, 4, 1), PurserError::DailyLimitExceeded);
    world.set_clock(NOON + DAY + 101);
    world.accept(&pay(&world, 4, 6));
}

#[test]
fn a_clock_that_goes_back_frees_nothing() {
    let mut world = capped(10);
    world.accept(&pay(&world, 1, 10));
    for now in [NOON - 1, NOON - DAY, NOON - 1_000 * DAY, 0, -1, i64::MIN] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &pay(&world, 2, 1), PurserError::DailyLimitExceeded);
    }
    world.set_clock(NOON + DAY + 1);
    world.accept(&pay(&world, 2, 10));
}

#[test]
fn the_ends_of_time_are_no_way_around_the_cap() {
    let mut world = capped(10);
    for (now, amount) in [(1, 3), (2, 3), (300, 4)] {
        world.set_clock(now);
        world.accept(&pay(&world, now as u64 ^ 7, amount));
    }
    world.set_clock(DAY);
    world.refuse(&pay(&world, 20, 1), PurserError::DailyLimitExceeded);
    world.set_clock(DAY + 301);
    world.accept(&pay(&world, 20, 10));
    // The last second at which a payment can be asked for.
    let end = i64::from(u32::MAX);
    world.set_clock(end);
    world.accept(&pay(&world, 21, 10));
    for now in [end, end - DAY, NOON, 0, i64::MIN] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &pay(&world, 22, 1), PurserError::DailyLimitExceeded);
    }
}

#[test]
fn without_a_cap_spends_are_still_counted_and_stop_at_the_largest_amount() {
    let mut world = World::new();
    // More payments a day than an account has room for at first.
    (0..8).for_each(|step| drop(world.accept(&world.main.set_tag_buckets(50 * (step + 1)))));
    for tag in 1..=3 {
        world.fund(world.main.source, u64::MAX);
        world.fund(PAYEE, 0);
        let outcome = world.accept(&pay(&world, tag, u64::MAX));
        assert_eq!(spent_in_window(&outcome), u64::MAX);
    }
    world.policy(|policy| policy.rules.max_daily_spend = Some(u64::MAX));
    world.fund(world.main.source, u64::MAX);
    world.refuse(&pay(&world, 9, 1), PurserError::DailyLimitExceeded);
}

#[test]
fn a_cap_that_is_lowered_or_raised_counts_what_was_spent_before() {
    let mut world = capped(10);
    world.accept(&pay(&world, 1, 10));
    for (cap, amount) in [(5, 1), (0, 1), (10, 1), (12, 3)] {
        world.policy(|policy| policy.rules.max_daily_spend = Some(cap));
        world.refuse(&pay(&world, 2, amount), PurserError::DailyLimitExceeded);
    }
    world.accept(&pay(&world, 2, 2));
}

#[test]
fn more_than_40_spends_in_a_day_never_pass_the_cap_and_free_soon_after() {
    let spends = 63;
    let gap = DAY / 64;
    let mut world = capped(spends as u64);
    for index in 0..spends {
        world.set_clock(NOON + index * gap);
        let outcome = world.accept(&pay(&world, 1_000 + index as u64, 1));
        assert_eq!(spent_in_window(&outcome), 1 + index as u64);
    }
    // The first day's spends all count until the first of them is a day old; soon after, the first stops counting.
    world.set_clock(NOON + DAY);
    world.refuse(&pay(&world, 1, 1), PurserError::DailyLimitExceeded);
    world.set_clock(NOON + DAY + STRETCH);
    world.accept(&pay(&world, 1, 1));
}

#[test]
fn spends_of_one_second_take_one_place() {
    let mut world = capped(1_000);
    world.accept(&pay(&world, 1, 1));
    world.set_clock(NOON + 1);
    for tag in 2..=60 {
        world.accept(&pay(&world, tag, 10));
    }
    world.set_clock(NOON + DAY + 1);
    let outcome = world.accept(&pay(&world, 61, 1));
    assert_eq!(spent_in_window(&outcome), 591);
}

/// The statistics of a run.
struct Run {
    accepted: usize,
    refused: usize,
    /// The most seconds with spends in a day.
    most_in_a_day: usize,
}

/// Makes random spends and checks each against a plain list of all spends ever made.
/// `pace` is roughly the seconds between two tries; one in `rarity` tries takes all that the cap leaves.
fn run(seed: u64, steps: u64, pace: i64, rarity: u64) -> Run {
    let mut random = Random(seed);
    let cap = 1_000 + random.below(9_000);
    let mut world = capped(cap);
    let (mut spends, mut now) = (Spends::default(), NOON);
    let mut last_overfull = i64::MIN / 2;
    let mut run = Run { accepted: 0, refused: 0, most_in_a_day: 0 };
    for step in 1..=steps {
        now += match random.below(60) {
            0..=4 => 0,
            5..=9 => 1,
            10..=12 => -(random.below(4_000) as i64),
            13 => [DAY - 1, DAY, DAY + 1, DAY + 2][random.below(4) as usize],
            _ => random.below(2 * pace as u64) as i64,
        };
        let amount = match random.below(rarity) {
            0 => cap,
            1 => cap + 1,
            // Exactly what a plain list leaves, or one more.
            2 | 3 => (cap.saturating_sub(spends.spent(now) as u64) + random.below(2)).max(1),
            _ => 1 + random.below(cap / 40),
        };
        world.set_clock(now);
        let (exact, most) = (spends.spent(now), spends.spent_for(now, DAY + STRETCH - 1));
        let is_exact = now.saturating_sub(last_overfull) > 3 * DAY;
        let fits = |used: u128| used + u128::from(amount) <= u128::from(cap);
        let at = format!("seed {seed} step {step}: {amount} of {cap}, used {exact}, exact {is_exact}");
        match world.send(&[pay(&world, step, amount).instruction()], Who::FeePayer) {
            Ok(outcome) => {
                run.accepted += 1;
                assert!(fits(exact), "{at}: more than the cap left");
                let used = u128::from(spent_in_window(&outcome) - amount);
                assert!(exact <= used && used <= most, "{at}: counted {used}, at most {most}");
                assert!(!is_exact || used == exact, "{at}: counted {used}");
                spends.add(now, amount);
            }
            Err((TransactionError::InstructionError(0, error), _)) => {
                run.refused += 1;
                assert_eq!(Expected(error), PurserError::DailyLimitExceeded.into(), "{at}");
                assert!(!fits(if is_exact { exact } else { most }), "{at}: refused for nothing");
            }
            Err((error, logs)) => panic!("{at}: {error:?}\n{}", logs.join("\n")),
        }
        run.most_in_a_day = run.most_in_a_day.max(spends.seconds(now));
        if spends.seconds(now) > EXACT {
            last_overfull = last_overfull.max(now);
        }
    }
    assert!(run.accepted > 50 && run.refused > 10, "{} accepted, {} refused", run.accepted, run.refused);
    run
}

#[test]
fn up_to_40_seconds_with_spends_a_day_the_window_is_a_plain_list() {
    for seed in 1..=3 {
        let most = run(seed, 250, DAY / 22, 60).most_in_a_day;
        assert!((20..=EXACT).contains(&most), "seed {seed}: {most} in a day");
    }
}

#[test]
fn beyond_40_of_them_the_window_errs_on_the_safe_side_and_by_a_bounded_time() {
    for seed in 11..=14 {
        let most = run(seed, 400, DAY / 80, 400).most_in_a_day;
        assert!(most > EXACT, "seed {seed}: {most} in a day");
    }
}
