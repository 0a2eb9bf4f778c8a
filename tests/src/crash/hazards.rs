//! What else hits a round besides deaths, wire and network, derived from the seed: nodes that lie, databases that are put
//! back, disks that fill up, keys that are replaced, forks, copied ids, people who approve, and the day after.
//!
//! Each hazard has its own random stream: leaving one out changes nothing else in the round.

use std::time::Duration;

use super::plan::{
    ACCOUNTS, APPROVAL_POINTS, Again, Death, Habit, Person, Relayers, RunPlan, SINGLE_LIMIT_MICROS,
};
use super::weights::Weights;
use crate::proxy::lies::{InventedLandings, WrongClock, WrongHeight, WrongHistory};
use crate::proxy::outcomes::Outcome;
use crate::random::Random;

/// Hazards start within this time of the storm, as clients do.
const MOMENT_MS: u64 = 3_000;
const HOUR: u64 = 3_600;
const DAY: i64 = 86_400;
/// Streams that are drawn from in two places.
const FORK: u64 = 10;
const REUSE: u64 = 12;
const PEOPLE: u64 = 14;
const AWAY: u64 = 15;
const LANDINGS: u64 = 16;
/// How many of an account's payments a person is asked about; ten may wait at once.
pub(super) const ASKS_MAX: usize = 7;

/// All hazards of one round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hazards {
    /// There are two nodes, and the relayers use both.
    pub two_nodes: bool,
    pub clock: Option<(Lying, WrongClock)>,
    /// The seed decides what is missing.
    pub history: Option<(Lying, WrongHistory, u64)>,
    pub height: Option<(Lying, WrongHeight)>,
    /// Only where there are two nodes.
    pub deaf: Option<Lying>,
    /// Only where there are two nodes.
    pub landings: Option<(Lying, InventedLandings)>,
    /// One for each relayer.
    pub restores: [Option<Restore>; 2],
    pub full_disk: Vec<Spell>,
    /// Nobody dies in the storm: a restart must not heal what a full disk broke.
    pub nobody_dies: bool,
    pub rotations: Vec<(Duration, Keys)>,
    /// By how many seconds the clock of each relayer's host is ahead, until the calm.
    pub skews: [i64; 2],
    /// All relayers are killed once every client has an answer, before the lies end.
    pub dies_at_dusk: bool,
    /// A fork shows some payments as confirmed, and drops them.
    pub fork: bool,
    pub copy: Option<Copying>,
    /// People are asked about payments above the limit.
    pub people: bool,
    pub next_day: Option<NextDay>,
    /// The clocks of chain and hosts move on by 70 minutes as the relayers die at dusk: longer than a request is good for.
    pub are_away: bool,
}

/// Another operator makes accounts from what the round's accounts were made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copying {
    pub at: Duration,
    /// The databases are those from before the accounts: the relayers have to find them, and the copies.
    pub accounts_are_lost: bool,
}

/// The clocks of chain and hosts move on after the round, and its keys are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextDay {
    pub seconds: i64,
    /// The relayers run as the clocks move.
    pub begins_late: bool,
}

impl NextDay {
    /// Whether keys of the day before are free.
    pub fn frees_keys(self) -> bool {
        self.seconds > DAY
    }
}

/// Which of the nodes lies, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lying {
    pub node: usize,
    pub spell: Spell,
}

/// A part of the storm. Without an end, it lasts until the calm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spell {
    pub from: Duration,
    pub lasts: Option<Duration>,
}

/// A copy of a database that is put back later: after a number of deaths, or at dusk if there are fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restore {
    /// Copied after this many deaths; 0 is before the round.
    pub copied_after: usize,
    pub put_back_after: usize,
}

/// Which keys the operator allows to transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    First,
    Second,
    Both,
    /// A key that no relayer has.
    Foreign,
}

impl Hazards {
    pub(super) fn of(seed: u64, index: u64, relayers: Relayers, weights: Weights) -> Hazards {
        let stream = |name| stream(seed, name, index);
        let [mut nodes, mut clock, mut history] = [stream(1), stream(2), stream(3)];
        let [mut restore, mut disk, mut rotation] = [stream(4), stream(5), stream(6)];
        let [mut skew, mut height, mut deaf] = [stream(7), stream(8), stream(9)];
        let [mut fork, mut copy, mut reuse] = [stream(FORK), stream(11), stream(REUSE)];
        let [mut people, mut away, mut landings] = [stream(PEOPLE), stream(AWAY), stream(LANDINGS)];
        let skews = [skew.chance(weights.skew), skew.chance(weights.skew)];
        let skews = skews.map(|is_wrong| if is_wrong { wrong_host(&mut skew) } else { 0 });
        let clock = clock.chance(weights.clock).then(|| (lying(&mut clock), wrong_clock(&mut clock)));
        let history = history
            .chance(weights.history)
            .then(|| (lying(&mut history), wrong_history(&mut history), history.draw()));
        let height = height.chance(weights.height).then(|| (lying(&mut height), wrong_height(&mut height)));
        let deaf = deaf.chance(weights.deaf).then(|| lying(&mut deaf));
        let landings = landings
            .chance(weights.landings)
            .then(|| (lying(&mut landings), invented_landings(&mut landings)));
        // Whether the relayer trusts a clock depends on the other nodes, so there mostly is a second one. Alone, a node is trusted
        // in its height, and who hears nothing pays nothing.
        let two_nodes = nodes.chance(if clock.is_some() { 85 } else { 40 });
        let two_nodes = two_nodes || height.is_some() || deaf.is_some() || landings.is_some();
        let restores = restores(&mut restore, relayers, weights.restore);
        let next_day = reuse.chance(weights.reuse).then(|| next_day(&mut reuse));
        // Files are only put back on a disk that has room, and the small disk ends with the day.
        let has_room = relayers == Relayers::OneThatForgets || restores.iter().any(Option::is_some);
        let fills_up = disk.chance(weights.disk) && !has_room && next_day.is_none();
        let full_disk = if fills_up { spells(&mut disk) } else { Vec::new() };
        let rotations = rotation.chance(weights.rotation).then(|| rotations(&mut rotation));
        let are_away = away.chance(weights.away);
        let dies_at_dusk = are_away || restores.iter().any(Option::is_some) || nodes.chance(60);
        let mut hazards = Hazards {
            two_nodes,
            clock,
            history,
            height,
            deaf,
            landings,
            restores,
            full_disk,
            nobody_dies: fills_up && disk.chance(60),
            rotations: rotations.unwrap_or_default(),
            skews,
            dies_at_dusk,
            fork: fork.chance(weights.fork),
            copy: copy.chance(weights.copy).then(|| copying(&mut copy)),
            people: people.chance(weights.people),
            next_day,
            are_away,
        };
        if !two_nodes {
            hazards.clock.iter_mut().for_each(|(lying, _)| lying.node = 0);
            hazards.history.iter_mut().for_each(|(lying, ..)| lying.node = 0);
        }
        hazards
    }

    /// Whether every client asks once more while the nodes still lie, or after a database was put back.
    pub(super) fn has_dusk(&self) -> bool {
        self.clock.is_some()
            || self.history.is_some()
            || self.height.is_some()
            || self.landings.is_some()
            || self.forgets()
            || self.are_away
    }

    /// Whether a database may know less than before.
    pub(super) fn forgets(&self) -> bool {
        self.restores.iter().any(Option::is_some)
    }

    /// The hazards by the names that reports use.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        names.extend(self.two_nodes.then(|| "two nodes".to_owned()));
        names.extend(self.clock.map(|(lying, clock)| {
            let side = if clock.seconds > 0 { "ahead" } else { "behind" };
            format!("node {}: clock {side}", lying.node)
        }));
        names.extend(self.history.map(|(_, history, _)| {
            let name = format!("{history:?}");
            format!("history: {}", name.split(' ').next().unwrap_or_default())
        }));
        names.extend(self.height.map(|(lying, height)| {
            let side = if height.blocks > 0 { "ahead" } else { "behind" };
            format!("node {}: height {side}", lying.node)
        }));
        names.extend(self.deaf.map(|lying| format!("node {}: deaf", lying.node)));
        names.extend(self.landings.map(|(lying, invented)| {
            let outcome = if invented.failed { "failures" } else { "landings" };
            format!("node {}: invents {outcome}", lying.node)
        }));
        names.extend(self.restores.iter().flatten().map(|_| "database put back".to_owned()));
        names.extend((!self.full_disk.is_empty()).then(|| "full disk".to_owned()));
        names.extend(self.skews.iter().filter(|ahead| **ahead != 0).map(|ahead| {
            let side = if *ahead > 0 { "ahead" } else { "behind" };
            format!("a host's clock {side}")
        }));
        names.extend(self.rotations.iter().map(|(_, keys)| format!("authority: {keys:?}")));
        names.extend(self.fork.then(|| "fork".to_owned()));
        names.extend(self.copy.map(|copy| {
            let lost = if copy.accounts_are_lost { ", accounts lost" } else { "" };
            format!("copied ids{lost}")
        }));
        names.extend(self.are_away.then(|| "away for 70 minutes".to_owned()));
        names.extend(self.people.then(|| "people are asked".to_owned()));
        names.extend(self.next_day.map(|day| {
            let when = if day.frees_keys() { "after" } else { "within" };
            format!("keys used again {when} 24 h")
        }));
        names
    }
}

/// The stream of one hazard of a round.
fn stream(seed: u64, name: u64, index: u64) -> Random {
    Random::of(seed.wrapping_add(name << 32), index)
}

/// Drops the first transaction of some runs by a fork, after a while in which it looks confirmed.
pub(super) fn forks(seed: u64, index: u64, runs: &mut [RunPlan]) {
    // The stream begins with whether there are forks at all.
    let mut random = stream(seed, FORK, index);
    random.draw();
    for run in runs {
        // Confirmed for a moment, or beyond the life of its blockhash.
        let ms = if random.chance(70) { 20 + random.below(900) } else { 900 + random.below(2_000) };
        if random.chance(30) {
            run.outcomes.insert(0, Outcome::DroppedByFork(Duration::from_millis(ms)));
        }
    }
}

/// Makes some payments so large that a person has to approve them, and has relayers die on that way too.
pub(super) fn asks_people(seed: u64, index: u64, runs: &mut [RunPlan], deaths: &mut [Vec<Death>; 2]) {
    // The stream begins with whether people are asked at all.
    let mut random = stream(seed, PEOPLE, index);
    random.draw();
    let mut asked = [0; ACCOUNTS];
    for run in runs {
        let (asks, approves) = (random.chance(35), random.chance(85));
        let answers_after = Duration::from_millis(random.below(2_000));
        if !asks || asked[run.from] == ASKS_MAX {
            continue;
        }
        asked[run.from] += 1;
        if run.amount_micros <= SINGLE_LIMIT_MICROS {
            run.amount_micros += SINGLE_LIMIT_MICROS;
        }
        // A grant is for one amount under a key: the other one's would never come.
        if run.habit == Habit::ChangesTheAmount {
            run.habit = Habit::Retries;
        }
        run.person = Some(Person { approves, answers_after });
    }
    for death in deaths.iter_mut().flatten() {
        let (is_here, arrival) = (random.chance(35), 1 + random.below(3));
        let point = random.one_of(&APPROVAL_POINTS).unwrap_or("granted.after");
        if is_here {
            death.point = Some((point, arrival));
        }
    }
}

/// What the runs of the day after do with the keys of the day before.
pub(super) fn reuses(seed: u64, index: u64, runs: &mut [RunPlan], before: &[RunPlan]) {
    let mut random = stream(seed, REUSE + 1, index);
    for (run, before) in runs.iter_mut().zip(before) {
        let (is_new, is_same) = (random.chance(35), random.chance(40));
        run.memo = format!("{}again.", run.key);
        // A refusal stands in no account, so a relayer that forgot it may pay under its key.
        if is_new || before.amount_micros > SINGLE_LIMIT_MICROS {
            run.key = run.memo.clone();
            continue;
        }
        // Which of two amounts was paid, the plan cannot know.
        let was_changed = before.habit == Habit::ChangesTheAmount;
        if run.habit == Habit::ChangesTheAmount {
            run.habit = Habit::Retries;
        }
        if is_same && !was_changed {
            (run.again, run.person) = (Some(Again::TheSame), None);
            (run.to, run.amount_micros) = (before.to, before.amount_micros);
            run.memo.clone_from(&before.memo);
        } else {
            run.again = Some(Again::AnotherPayment);
        }
    }
}

fn copying(random: &mut Random) -> Copying {
    Copying { at: Duration::from_millis(random.below(MOMENT_MS)), accounts_are_lost: random.chance(50) }
}

fn next_day(random: &mut Random) -> NextDay {
    // A round's payments are minutes apart at most.
    let minutes =
        if random.chance(75) { 24 * 60 + 10 + random.below(12 * 60) } else { 60 + random.below(22 * 60) };
    NextDay { seconds: 60 * minutes.cast_signed(), begins_late: random.chance(40) }
}

fn lying(random: &mut Random) -> Lying {
    // The first node gets nearly all calls.
    Lying { node: usize::from(random.chance(25)), spell: spell(random) }
}

fn spell(random: &mut Random) -> Spell {
    let from = if random.chance(30) { 0 } else { random.below(MOMENT_MS) };
    let lasts = random.chance(35).then(|| Duration::from_millis(300 + random.below(2_000)));
    Spell { from: Duration::from_millis(from), lasts }
}

fn wrong_clock(random: &mut Random) -> WrongClock {
    // More than a day off, a key would seem expired; less than a day off, it would not.
    let hours = if random.chance(65) { 24 + random.below(12) } else { 1 + random.below(23) };
    let seconds = (hours * HOUR + random.below(HOUR)).cast_signed();
    let seconds = if random.chance(50) { seconds } else { -seconds };
    WrongClock { seconds, blocks_too: random.chance(50) }
}

fn wrong_host(random: &mut Random) -> i64 {
    // Mostly minutes, by which leases and retries go; and more than a day ahead, when names would seem to be free again.
    let minutes = if random.chance(70) { 1 + random.below(60) } else { 60 * (24 + random.below(12)) };
    let seconds = (60 * minutes).cast_signed();
    if seconds < HOUR.cast_signed() && random.chance(30) { -seconds } else { seconds }
}

fn wrong_height(random: &mut Random) -> WrongHeight {
    // A blockhash lives for 150 blocks.
    let blocks = (100 + random.below(2_000)).cast_signed();
    let blocks = if random.chance(85) { blocks } else { -blocks };
    WrongHeight { blocks, slots_too: random.chance(50) }
}

fn invented_landings(random: &mut Random) -> InventedLandings {
    let slots_ahead = if random.chance(50) { 0 } else { 1 + random.below(1_000) };
    InventedLandings { failed: random.chance(50), slots_ahead }
}

fn wrong_history(random: &mut Random) -> WrongHistory {
    // Mostly about as many lines as an account remembers tags: enough to look complete.
    let lines = if random.chance(60) { 16 + random.below(7) } else { 1 + random.below(30) } as usize;
    match random.below(6) {
        0 => WrongHistory::ShortPages { lines },
        1..=2 => WrongHistory::EndsEarly { lines },
        3 => WrongHistory::Behind { lines },
        4 => WrongHistory::Holes { per_mille: 20 + random.below(200) },
        _ => WrongHistory::NotFetched { per_mille: 20 + random.below(200) },
    }
}

fn restores(random: &mut Random, relayers: Relayers, weight: u64) -> [Option<Restore>; 2] {
    let mut restore = |number: usize| {
        // A database that two relayers share cannot be put back under one of them.
        let has_its_own = relayers != Relayers::TwoOnOneDatabase && number < relayers.count();
        let copied_after = random.one_of(&[0, 0, 1, 2]).unwrap_or_default();
        let put_back_after = if random.chance(60) { usize::MAX } else { copied_after + 1 };
        (random.chance(weight) && has_its_own).then_some(Restore { copied_after, put_back_after })
    };
    [restore(0), restore(1)]
}

fn spells(random: &mut Random) -> Vec<Spell> {
    let mut from = 0;
    let spell = |_| {
        from += 200 + random.below(1_200);
        let lasts = Duration::from_millis(50 + random.below(700));
        let spell = Spell { from: Duration::from_millis(from), lasts: Some(lasts) };
        from += 700;
        spell
    };
    (0..2).map(spell).collect()
}

fn rotations(random: &mut Random) -> Vec<(Duration, Keys)> {
    let mut at = 0;
    let rotation = |_| {
        at += 200 + random.below(900);
        let keys = random.one_of(&[Keys::First, Keys::Second, Keys::Both, Keys::Second, Keys::Foreign]);
        (Duration::from_millis(at), keys.unwrap_or(Keys::Second))
    };
    (0..3).map(rotation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_changes_nothing_else() {
        let all = Weights::all_at(100);
        for index in 0..50 {
            let of = |weights| Hazards::of(1, index, Relayers::One, weights);
            let whole = of(all);
            assert_eq!(of(Weights { clock: 0, ..all }).history.map(|it| it.1), whole.history.map(|it| it.1));
            assert_eq!(of(Weights { history: 0, ..all }).rotations, whole.rotations);
            assert_eq!(of(Weights { disk: 0, ..all }).skews, whole.skews);
            assert_eq!(of(Weights { fork: 0, ..all }).next_day, whole.next_day);
            assert!(of(Weights::NONE).names().iter().all(|name| name == "two nodes"));
        }
    }
}
