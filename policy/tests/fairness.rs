//! What the window's joining of spans costs honest payers.
//!
//!     cargo test --release -p purser-policy --test fairness -- --nocapture                          # the tables
//!     PURSER_TEST_LONG=1 cargo test --release -p purser-policy --test fairness -- --nocapture       # more of everything
//!
//! How "may use" is measured: a payer tries a list of payments `(second, amount)` in order. The list is offered twice, to
//! the window and to a list of all spends that forgets nothing and joins nothing, under the same rule (a spend counts
//! while it is at most 86,400 seconds old) and the same cap. Each allows what fits with what it allowed before. A refused
//! payment is dropped, never tried again: an answer to come back a second later costs the whole payment. What the payer
//! may use is the money that the window allowed per 1,000 that the list allowed, from the third day on.
//!
//! Three payers: `fresh` has new seconds and amounts each day that add up to the cap; `pressing` the same, adding up to
//! one and a half times the cap; `timetable` makes the same payments every 86,401 seconds, which add up to the cap to the
//! last micro-USDC. The timetable is the hardest: the list allows all of it, and every payment needs the room of its
//! own predecessor in the very second in which that expires.

mod random;

use std::collections::VecDeque;

use purser_policy::{SpendWindow, UsdcAmount, DAY_SECONDS};
use random::Random;

/// The shortest period after which a payment no longer counts.
const PERIOD: i64 = DAY_SECONDS + 1;
const START: i64 = 1_700_000_000;
const CAP: u64 = 1_000_000_000_000;
const PAYMENTS: usize = 1_000;

type Payment = (i64, u64);

/// The exact rule, for clocks that do not go back.
#[derive(Default)]
struct List {
    spends: VecDeque<Payment>,
    sum: u64,
}

impl List {
    fn allows(&mut self, now: i64, amount: u64) -> bool {
        while self.spends.front().is_some_and(|(at, _)| now - at > DAY_SECONDS) {
            self.sum -= self.spends.pop_front().map_or(0, |(_, amount)| amount);
        }
        let allowed = self.sum + amount <= CAP;
        if allowed {
            self.spends.push_back((now, amount));
            self.sum += amount;
        }
        allowed
    }
}

fn window_allows(window: &mut SpendWindow, now: i64, amount: u64) -> bool {
    let allowed = window.spent(now).micros() + amount <= CAP;
    if allowed {
        window.record(now, UsdcAmount::from_micros(amount));
    }
    allowed
}

/// Per mille of what the list allows, from the third day on.
fn share_allowed(payments: impl Iterator<Item = Payment>) -> u64 {
    let (mut window, mut list) = (SpendWindow::EMPTY, List::default());
    let (mut by_window, mut by_list) = (0u128, 0u128);
    for (now, amount) in payments {
        let counts = u128::from(now >= START + 2 * PERIOD) * u128::from(amount);
        by_window += counts * u128::from(window_allows(&mut window, now, amount));
        by_list += counts * u128::from(list.allows(now, amount));
    }
    u64::try_from(by_window * 1_000 / by_list).expect("a ratio")
}

const AMOUNTS: [&str; 5] = ["equal", "uniform", "log-uniform", "pareto 1", "pareto 1/2"];

/// Weights, in no unit.
fn weight(random: &mut Random, kind: usize) -> u64 {
    match kind {
        0 => 1,
        1 => 1 + random.below(1 << 20),
        2 => (1_024 + random.below(1_024)) << random.below(14),
        3 => (1 << 40) / (1 + random.below(1 << 20)),
        _ => (1 << 40) / (1 + random.below(1 << 10)).pow(2),
    }
}

const SECONDS: [&str; 6] = ["evenly", "any time", "10 bursts", "60 bursts", "9 to 17 h", "squeezing"];

fn seconds(random: &mut Random, kind: usize) -> Vec<i64> {
    let day = PERIOD as u64;
    let bursts: Vec<u64> = (0..60).map(|_| random.below(day - 300)).collect();
    let second = |at: usize| match kind {
        0 => at as u64 * day / PAYMENTS as u64,
        1 => random.below(day),
        2 => bursts[random.below(10) as usize] + random.below(300),
        3 => bursts[random.below(60) as usize] + random.below(200),
        4 => 9 * 3_600 + random.below(8 * 3_600),
        // Few seconds, so close to each other and so far that few spans may join.
        _ => (at as u64 % 15 * 5_575) + [0, 1, 2, 40][random.below(4) as usize],
    };
    let mut seconds: Vec<i64> = (0..PAYMENTS).map(second).map(|second| second as i64).collect();
    seconds.sort_unstable();
    seconds
}

/// Weights made amounts that add up to `sum`, or less by less than a micro-USDC a payment.
fn amounts(weights: &[u64], sum: u64) -> Vec<u64> {
    let all: u128 = weights.iter().copied().map(u128::from).sum();
    let amount = |weight: &u64| (u128::from(sum) * u128::from(*weight) / all) as u64;
    weights.iter().map(amount).collect()
}

const PAYERS: [&str; 3] = ["fresh", "pressing", "timetable"];

fn payer(kind: usize, amount_kind: usize, second_kind: usize, seed: u64) -> Vec<Payment> {
    let mut random = Random(seed);
    let mut day_of_payments = || {
        let weights: Vec<u64> = (0..PAYMENTS).map(|_| weight(&mut random, amount_kind)).collect();
        let sum = if kind == 1 { CAP / 2 * 3 } else { CAP };
        let seconds = seconds(&mut random, second_kind);
        seconds.into_iter().zip(amounts(&weights, sum)).collect::<Vec<_>>()
    };
    let first = day_of_payments();
    let days = (0..7).map(|day| {
        let payments = if kind == 2 || day == 0 { first.clone() } else { day_of_payments() };
        payments.into_iter().map(move |(second, amount)| (START + day * PERIOD + second, amount))
    });
    days.flatten().collect()
}

fn is_long() -> bool {
    std::env::var("PURSER_TEST_LONG").is_ok_and(|it| it == "1")
}

#[test]
fn payers_of_a_thousand_payments_a_day_may_use_nearly_what_an_endless_list_would_allow() {
    let seeds = if is_long() { 20 } else { 2 };
    let mut uneven = Vec::new();
    println!("per mille of what the list allows: mean / worst of {seeds} seeds");
    for (payer_kind, payer_name) in PAYERS.iter().enumerate() {
        for (amount_kind, amount_name) in AMOUNTS.iter().enumerate() {
            print!("{payer_name:<10} {amount_name:<12}");
            for (second_kind, second_name) in SECONDS.iter().enumerate() {
                let used: Vec<u64> = (0..seeds)
                    .map(|seed| share_allowed(payer(payer_kind, amount_kind, second_kind, seed).into_iter()))
                    .collect();
                let (mean, worst) = (mean(&used), used.iter().min().copied().unwrap_or(0));
                print!(" | {second_name} {mean} / {worst}");
                if amount_kind == 0 && second_kind < 2 {
                    assert!(mean >= 960, "{payer_name}, even payments: {mean}");
                }
                if amount_kind > 0 {
                    uneven.extend(used);
                }
            }
            println!();
        }
    }
    let (mean, worst) = (mean(&uneven), uneven.iter().min().copied().unwrap_or(0));
    println!("unequal payments, all of the above: {mean} / {worst}");
    assert!(mean >= 950 && worst >= 750, "{mean} / {worst}");
}

fn mean(used: &[u64]) -> u64 {
    used.iter().sum::<u64>() / used.len() as u64
}

/// One day of a timetable, with weights that become amounts.
type Timetable = Vec<(i64, u64)>;

fn timetable_may_use(timetable: &Timetable) -> u64 {
    let mut sorted = timetable.clone();
    sorted.sort_unstable();
    let weights: Vec<u64> = sorted.iter().map(|(_, weight)| *weight).collect();
    let amounts = amounts(&weights, CAP);
    let day = |day: i64| {
        let seconds = sorted.iter().map(move |(second, _)| START + day * PERIOD + second);
        seconds.zip(amounts.iter().copied())
    };
    share_allowed((0..6).flat_map(day))
}

/// Changes a few payments of a timetable: moved, put right after another, made large or small, or a whole stretch moved.
fn changed(random: &mut Random, timetable: &Timetable) -> Timetable {
    let mut changed = timetable.clone();
    let all: u64 = changed.iter().map(|(_, weight)| weight).sum();
    for _ in 0..=random.below(4) {
        let (at, other) = (random.below(1_000) as usize, random.below(1_000) as usize);
        match random.below(6) {
            0 => changed[at].0 = random.below(PERIOD as u64) as i64,
            1 => changed[at].0 = (changed[other].0 + 1 + random.below(3) as i64).min(DAY_SECONDS),
            2 => changed[at].1 = 1 + (all >> random.below(12)),
            3 => changed[at].1 = 1 + changed[at].1 / 100,
            4 => (changed[at].1, changed[other].1) = (changed[other].1, changed[at].1),
            _ => {
                let (from, to) = (random.below(PERIOD as u64) as i64, random.below(PERIOD as u64) as i64);
                let length = random.below(6_000) as i64;
                for (second, _) in
                    changed.iter_mut().filter(|(second, _)| (from..from + length).contains(second))
                {
                    *second = (to + *second - from).min(DAY_SECONDS);
                }
            }
        }
    }
    changed
}

#[test]
fn worst_timetable_that_a_search_finds_still_may_use_three_quarters() {
    let (searches, rounds) = if is_long() { (24, 4_000) } else { (3, 60) };
    let mut worst = 1_000;
    for seed in 0..searches {
        let mut random = Random(seed);
        let (amount_kind, second_kind) = (1 + random.below(4) as usize, random.below(6) as usize);
        let seconds = seconds(&mut random, second_kind);
        let mut timetable: Timetable =
            seconds.into_iter().map(|second| (second, weight(&mut random, amount_kind))).collect();
        let mut used = timetable_may_use(&timetable);
        for _ in 0..rounds {
            let other = changed(&mut random, &timetable);
            let other_used = timetable_may_use(&other);
            if other_used <= used {
                (timetable, used) = (other, other_used);
            }
        }
        println!("search {seed}, {}, {}: {used}", AMOUNTS[amount_kind], SECONDS[second_kind]);
        worst = worst.min(used);
    }
    assert!(worst >= 750, "{worst}");
}

/// Small payments in pairs of seconds, so far apart that hardly any of them may join the next one, and between two pairs
/// a few large ones a second apart: they may.
fn squeezed(group_of_large: i64, large: i64, per_cent: u64, apart: i64) -> Timetable {
    let mut timetable = Vec::new();
    let (mut second, mut group) = (0, 0);
    while second < PERIOD - 20 {
        timetable.push((second, 0));
        if group == group_of_large {
            timetable.extend((1..=large).map(|at| (second + at, per_cent * 1_000_000 / large as u64)));
            second += large;
        }
        timetable.push((second + 1, 0));
        second += apart;
        group += 1;
    }
    let small = timetable.iter().filter(|(_, weight)| *weight == 0).count() as u64;
    let fill =
        |(second, weight)| (second, if weight == 0 { (100 - per_cent) * 1_000_000 / small } else { weight });
    timetable.into_iter().map(fill).collect()
}

#[test]
fn timetable_that_leaves_only_large_spans_to_join_still_may_use_three_quarters() {
    let mut worst = 1_000;
    let most_large = if is_long() { 24 } else { 12 };
    for large in 1..most_large {
        for group in 0..20 {
            for per_cent in [30, 60, 90, 99] {
                for apart in [2_700, 4_431, 5_574, 5_575] {
                    worst = worst.min(timetable_may_use(&squeezed(group, large, per_cent, apart)));
                }
            }
        }
    }
    println!("squeezed timetables: {worst}");
    assert!(worst >= 750, "{worst}");
}

/// 55 days of a daily payment of 90 % of the cap, and of 1,000 small ones a day that add up to 5 % of it.
fn days_on_which_the_large_one_is_refused(seed: u64) -> usize {
    const DAYS: i64 = 55;
    let mut random = Random(seed);
    let (phase, offset) = (random.below(86_400) as i64, random.below(86) as i64);
    let period = if random.below(2) == 0 { PERIOD } else { PERIOD + random.below(600) as i64 };
    let jitter = [1, 80, 800, DAYS as u64 * 86_400][random.below(4) as usize];
    let large = (0..DAYS).map(|day| (START + phase + day * period, CAP / 10 * 9));
    let small = (0..DAYS * 1_000).map(|payment| {
        let regular = if jitter < 1_000 { payment * 86_400 / 1_000 + offset } else { 0 };
        (START + regular + random.below(jitter) as i64, CAP / 20 / 1_000)
    });
    let mut payments: Vec<Payment> = large.chain(small).collect();
    payments.sort_unstable();
    let (mut window, mut list) = (SpendWindow::EMPTY, List::default());
    let refused = payments.into_iter().filter(|(now, amount)| {
        let allowed = window_allows(&mut window, *now, *amount);
        list.allows(*now, *amount) && !allowed
    });
    refused.filter(|(_, amount)| *amount > CAP / 2).count()
}

#[test]
fn daily_payment_of_nine_tenths_beside_a_thousand_small_ones_is_never_refused() {
    let seeds = if is_long() { 1_000 } else { 12 };
    let refused: usize = (0..seeds).map(days_on_which_the_large_one_is_refused).sum();
    println!("large payment refused on {refused} of {} days", seeds * 55);
    assert_eq!(refused, 0);
}
