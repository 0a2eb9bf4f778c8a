//! What will happen, derived from the seed.

use std::time::Duration;

use super::hazards::{self, Hazards, NextDay};
use super::weights::Weights;
use crate::proxy::faults::Fault;
use crate::proxy::outcomes::Outcome;
use crate::random::Random;

/// Runs that share one start of the relayers and that start's faults.
pub const RUNS_PER_ROUND: u64 = 72;
/// Accounts of a world. Few enough that in a round each gets more keys than the chain remembers tags.
pub(super) const ACCOUNTS: usize = 3;
/// Wallets that receive payments, besides the accounts.
pub(super) const PAYEES: usize = 3;
/// The policy's limit for one transfer.
pub(super) const SINGLE_LIMIT_MICROS: u64 = 10_000_000;
/// Where the draws of a day after are among those of all rounds.
const DRAWS_OF_THE_DAY_AFTER: u64 = 1 << 31;
/// And those of accounts.
const DRAWS_OF_ACCOUNTS: u64 = 1 << 30;
/// And those of stops.
const DRAWS_OF_STOPS: u64 = 1 << 32;
/// How many accounts are made in a round.
const NEW_ACCOUNTS: usize = 8;
/// How long a relayer that is asked to stop has at most, until it is killed.
const STOPS_FOR_MS: u64 = 600;
/// Clients begin within this time.
const BEGIN_WITHIN_MS: u64 = 3_000;

/// Where a relayer can be made to die. A long run must reach each of them.
pub const CRASH_POINTS: [&str; 20] = [
    "claim.before",
    "claim.after",
    "read.before",
    "read.after",
    "send.before",
    "send.after",
    "sent.before",
    "sent.after",
    "outcome.after",
    "settled.before",
    "settled.after",
    "rejected.before",
    "rejected.after",
    "failed.before",
    "failed.after",
    "answer.before",
    "take_up.before",
    "duplicate.before",
    "place.before",
    "place.after",
];

/// Those on the way of what a person is asked about, for rounds in which people approve.
pub const APPROVAL_POINTS: [&str; 3] = ["granted.after", "signed.before", "signed.after"];

/// Those on the way of a new account.
pub const ACCOUNT_POINTS: [&str; 4] =
    ["action.begun", "account.created", "action.carried_out", "request.done"];

/// One start of the relayers, and everything that happens to them.
#[derive(Debug, Clone)]
pub struct RoundPlan {
    pub seed: u64,
    pub index: u64,
    pub relayers: Relayers,
    pub commitment: &'static str,
    /// How many of 1,000 calls meet one of the wire's faults.
    pub faults_per_mille: u64,
    pub runs: Vec<RunPlan>,
    pub accounts: Vec<NewAccount>,
    /// Each relayer's deaths, in order.
    pub deaths: [Vec<Death>; 2],
    pub hazards: Hazards,
    pub weights: Weights,
    /// Set on the day after: how it began.
    pub day: Option<NextDay>,
}

/// Which relayers serve the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relayers {
    One,
    /// One relayer; every other death deletes its database.
    OneThatForgets,
    TwoOnOneDatabase,
    TwoOnSeparateDatabases,
}

impl Relayers {
    pub(super) fn count(self) -> usize {
        match self {
            Relayers::One | Relayers::OneThatForgets => 1,
            Relayers::TwoOnOneDatabase | Relayers::TwoOnSeparateDatabases => 2,
        }
    }
}

/// How a relayer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// The crash point, and which arrival there kills it.
    pub point: Option<(&'static str, u64)>,
    /// `kill -9` after this time, unless the crash point came first.
    pub killed_after: Duration,
    /// It is asked to stop instead, and killed if it has not after this time.
    pub stops_for: Option<Duration>,
}

/// One idempotency key.
#[derive(Debug, Clone)]
pub struct RunPlan {
    pub key: String,
    /// Identifies the payment on the wire and on the chain.
    pub memo: String,
    /// Set if the key was used the day before.
    pub again: Option<Again>,
    pub from: usize,
    pub to: To,
    pub amount_micros: u64,
    /// Set if its client asks for a person, and what that one says.
    pub person: Option<Person>,
    pub outcomes: Vec<Outcome>,
    pub habit: Habit,
    pub begins_after: Duration,
    /// The relayer that the client asks first.
    pub relayer: usize,
}

/// An account that is made under an idempotency key.
#[derive(Debug, Clone)]
pub struct NewAccount {
    pub key: String,
    pub begins_after: Duration,
    /// How long its client waits for the first answer.
    pub hangs_up_after: Duration,
    /// The relayer that the client asks first.
    pub relayer: usize,
}

/// What a person says to a payment above the limit, this long after it began to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    pub approves: bool,
    pub answers_after: Duration,
}

/// Who receives the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Payee(usize),
    Account(usize),
}

/// What a key of the day before is used again for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    TheSame,
    AnotherPayment,
}

/// What a client does until it has a final answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Retries after every answer that is not final, and when no answer comes.
    Retries,
    /// Hangs up after this long, twice, before it retries.
    HangsUp(Duration),
    /// Asks twice at the same time: both relayers, if there are two.
    AsksTwice,
    /// Asks for another amount under the same key in between.
    ChangesTheAmount,
    /// Hangs up after this long, and comes back in the calm.
    GoesAway(Duration),
}

impl RunPlan {
    /// Whether it must be paid in the end: policy allows it, or a person does.
    pub(super) fn is_allowed(&self) -> bool {
        self.person.map_or(self.amount_micros <= SINGLE_LIMIT_MICROS, |person| person.approves)
    }
}

impl RoundPlan {
    /// The plan of round number `index`.
    pub fn of(seed: u64, index: u64, runs: u64, weights: Weights) -> RoundPlan {
        RoundPlan::drawn(seed, index, index, runs, weights, None)
    }

    /// The day after this one, on the same databases and with the same keys.
    pub fn tomorrow(&self) -> Option<RoundPlan> {
        let day = self.hazards.next_day?;
        let (seed, draws) = (self.seed, self.index + DRAWS_OF_THE_DAY_AFTER);
        let runs = self.runs.len() as u64;
        let mut plan = RoundPlan::drawn(seed, self.index, draws, runs, self.weights, Some(self.relayers));
        hazards::reuses(seed, self.index, &mut plan.runs, &self.runs);
        let full_disk = Vec::new();
        plan.hazards = Hazards { copy: self.hazards.copy, next_day: None, full_disk, ..plan.hazards };
        plan.day = Some(day);
        Some(plan)
    }

    fn drawn(
        seed: u64,
        index: u64,
        draws: u64,
        runs: u64,
        weights: Weights,
        relayers: Option<Relayers>,
    ) -> RoundPlan {
        let mut random = Random::of(seed, draws);
        let drawn = match random.below(10) {
            0..=4 => Relayers::One,
            5..=6 => Relayers::TwoOnSeparateDatabases,
            7..=8 => Relayers::TwoOnOneDatabase,
            _ => Relayers::OneThatForgets,
        };
        let relayers = relayers.unwrap_or(drawn);
        let commitment = if random.chance(50) { "confirmed" } else { "finalized" };
        let faults_per_mille = if random.chance(50) { 10 + random.below(40) } else { 0 };
        let mut deaths = [0, 1].map(|relayer| {
            let count = if relayer < relayers.count() { 2 + random.below(5) } else { 0 };
            (0..count).map(|_| death(&mut random)).collect::<Vec<_>>()
        });
        let mut runs: Vec<_> =
            (0..runs).map(|number| run(&mut random, seed, index, number, relayers)).collect();
        let hazards = Hazards::of(seed, draws, relayers, weights);
        if hazards.fork {
            hazards::forks(seed, draws, &mut runs);
        }
        if hazards.people {
            hazards::asks_people(seed, draws, &mut runs, &mut deaths);
        }
        if hazards.nobody_dies {
            deaths.iter_mut().for_each(Vec::clear);
        }
        let mut random = Random::of(seed, draws + DRAWS_OF_STOPS);
        for death in deaths.iter_mut().flatten() {
            let time = Duration::from_millis(random.below(STOPS_FOR_MS));
            death.stops_for = random.chance(30).then_some(time);
        }
        let (accounts, day) = (Vec::new(), None);
        let mut plan = RoundPlan {
            seed,
            index,
            relayers,
            commitment,
            faults_per_mille,
            runs,
            accounts,
            deaths,
            hazards,
            weights,
            day,
        };
        plan.makes_accounts(draws);
        plan
    }

    /// New accounts, where the relayers remember the keys, and relayers that die on the way to them.
    fn makes_accounts(&mut self, draws: u64) {
        if draws != self.index || self.forgets() || self.relayers == Relayers::TwoOnSeparateDatabases {
            return;
        }
        let mut random = Random::of(self.seed, self.index + DRAWS_OF_ACCOUNTS);
        for number in 0..NEW_ACCOUNTS {
            self.accounts.push(NewAccount {
                key: format!("account-{}-{}-{number}", self.seed, self.index),
                begins_after: Duration::from_millis(random.below(BEGIN_WITHIN_MS)),
                hangs_up_after: Duration::from_millis(1 + random.below(400)),
                relayer: random.below(self.relayers.count() as u64) as usize,
            });
        }
        for death in self.deaths.iter_mut().flatten() {
            if random.chance(30) {
                death.point = random.one_of(&ACCOUNT_POINTS).map(|point| (point, 1));
            }
        }
    }

    /// One more payment of each account through each relayer, once everything else is over: no account is frozen.
    pub(super) fn last_runs(&self) -> Vec<RunPlan> {
        let day = if self.day.is_some() { "again" } else { "" };
        let of = |number: usize| {
            let (from, relayer) = (number % ACCOUNTS, number / ACCOUNTS);
            let key = format!("last-{}-{}-{number}.{day}", self.seed, self.index);
            RunPlan {
                memo: key.clone(),
                key,
                again: None,
                from,
                to: To::Payee(from % PAYEES),
                amount_micros: 1,
                person: None,
                outcomes: Vec::new(),
                habit: Habit::Retries,
                begins_after: Duration::ZERO,
                relayer,
            }
        };
        (0..ACCOUNTS * self.relayers.count()).map(of).collect()
    }

    /// Who serves the round, and what goes wrong in it.
    pub fn title(&self) -> String {
        let who = format!("{:?}, {}", self.relayers, self.commitment);
        let day = self.day.iter().map(|_| "the day after".to_owned()).collect();
        [vec![who], day, self.hazards.names()].concat().join(", ")
    }

    /// The command line that replays it.
    pub(super) fn command(&self) -> String {
        let command = format!("cargo xtask crash --seed {} --round {}", self.seed, self.index);
        if self.weights == Weights::default() {
            return command;
        }
        format!("{command} --hazards {}", self.weights)
    }

    /// Whether a relayer may know less than before: its database was lost or put back.
    pub(super) fn forgets(&self) -> bool {
        self.relayers == Relayers::OneThatForgets || self.hazards.forgets() || self.lost_accounts()
    }

    /// Whether the relayers begin with databases from before the accounts.
    pub(super) fn lost_accounts(&self) -> bool {
        self.hazards.copy.is_some_and(|copy| copy.accounts_are_lost)
    }

    /// Whether keys of the day before must be free: it was more than 24 hours ago by every clock that a relayer goes by, and each
    /// read the payments on that day.
    pub(super) fn frees_keys(&self, yesterday: &RoundPlan) -> bool {
        let is_plain = |plan: &RoundPlan| {
            let Hazards { clock, history, skews, .. } = &plan.hazards;
            clock.is_none() && history.is_none() && *skews == [0, 0] && !plan.forgets()
        };
        let is_over = self.day.is_some_and(NextDay::frees_keys);
        let is_shared = self.relayers != Relayers::TwoOnSeparateDatabases;
        is_over && is_shared && is_plain(self) && is_plain(yesterday)
    }

    /// What the wire does during the storm.
    pub(super) fn wire_faults() -> Vec<Fault> {
        vec![
            Fault::Dropped,
            Fault::Delayed(Duration::from_millis(40)),
            Fault::Delayed(Duration::from_millis(400)),
            Fault::Reset,
            Fault::HalfOpen,
            Fault::Truncated,
            Fault::Duplicated,
            Fault::Overtaken,
            Fault::Misdelivered,
            Fault::Status(429),
            Fault::Status(502),
        ]
    }
}

fn death(random: &mut Random) -> Death {
    let killed_after = Duration::from_millis(300 + random.below(1_200));
    // Few transfers reach the rare points, so do not wait for many arrivals there.
    let point = random.chance(80).then(|| {
        let point = random.one_of(&CRASH_POINTS).unwrap_or("send.after");
        let rare =
            ["rejected.", "failed.", "take_up.", "duplicate."].iter().any(|prefix| point.starts_with(prefix));
        (point, 1 + random.below(if rare { 2 } else { 6 }))
    });
    Death { point, killed_after, stops_for: None }
}

fn run(random: &mut Random, seed: u64, round: u64, number: u64, relayers: Relayers) -> RunPlan {
    let above_the_limit = random.chance(6);
    let from = number as usize % ACCOUNTS;
    let to = if random.chance(70) {
        To::Payee(random.below(PAYEES as u64) as usize)
    } else {
        To::Account((from + 1 + random.below(ACCOUNTS as u64 - 1) as usize) % ACCOUNTS)
    };
    let amount = 1 + random.below(SINGLE_LIMIT_MICROS - 1);
    let key = format!("run-{seed}-{round}-{number}.");
    RunPlan {
        memo: key.clone(),
        key,
        again: None,
        from,
        to,
        amount_micros: if above_the_limit { SINGLE_LIMIT_MICROS + amount } else { amount },
        person: None,
        outcomes: outcomes(random),
        habit: habit(random),
        begins_after: Duration::from_millis(random.below(BEGIN_WITHIN_MS)),
        relayer: random.below(relayers.count() as u64) as usize,
    }
}

fn outcomes(random: &mut Random) -> Vec<Outcome> {
    let count = if random.chance(80) { 1 } else { 2 };
    (0..count).map(|_| outcome(random)).collect()
}

fn outcome(random: &mut Random) -> Outcome {
    let ms = |random: &mut Random, bound| Duration::from_millis(random.below(bound));
    match random.below(16) {
        0..=5 => Outcome::Lands,
        6 => Outcome::Dropped { sends: 1 },
        7 => Outcome::Dropped { sends: u32::MAX },
        8..=9 => Outcome::ReplyLost,
        10..=11 => Outcome::Late(ms(random, 1_200)),
        12 => Outcome::AtLastValidHeight,
        13 => Outcome::AfterLastValidHeight,
        14 => Outcome::Unknown(ms(random, 3_000)),
        _ => Outcome::UnknownInHistory(ms(random, 6_000)),
    }
}

fn habit(random: &mut Random) -> Habit {
    let moment = Duration::from_millis(1 + random.below(120));
    match random.below(10) {
        0..=3 => Habit::Retries,
        4..=5 => Habit::HangsUp(moment),
        6..=7 => Habit::AsksTwice,
        8 => Habit::ChangesTheAmount,
        _ => Habit::GoesAway(moment),
    }
}

#[cfg(test)]
mod tests {
    use purser_policy::BUCKET_SLOTS;

    use super::*;

    #[test]
    fn a_round_follows_from_its_seed_and_every_account_gets_more_keys_than_it_has_room_for_at_first() {
        for index in 0..20 {
            let of = |weights| RoundPlan::of(1, index, RUNS_PER_ROUND, weights);
            let asks_nobody = Weights { people: 0, ..Weights::default() };
            let asked = of(Weights { people: 100, ..asks_nobody });
            let plan = of(asks_nobody);
            assert_eq!(format!("{plan:?}"), format!("{:?}", of(asks_nobody)));
            assert_eq!(format!("{asked:?}"), format!("{:?}", of(Weights { people: 100, ..asks_nobody })));
            let asking =
                |account| asked.runs.iter().filter(move |run| run.from == account && run.person.is_some());
            assert!((0..ACCOUNTS).all(|account| (1..=hazards::ASKS_MAX).contains(&asking(account).count())));
            let mut without_forks = plan.runs.clone();
            for run in &mut without_forks {
                run.outcomes.retain(|outcome| !matches!(outcome, Outcome::DroppedByFork(_)));
            }
            assert_eq!(format!("{without_forks:?}"), format!("{:?}", of(Weights::NONE).runs));
            for account in 0..ACCOUNTS {
                assert!(plan.runs.iter().filter(|run| run.from == account).count() > BUCKET_SLOTS);
            }
        }
    }
    #[test]
    fn the_day_after_uses_keys_of_the_day_before_again_for_the_same_and_for_other_payments() {
        let today = RoundPlan::of(1, 0, RUNS_PER_ROUND, Weights { reuse: 100, ..Weights::NONE });
        let tomorrow = today.tomorrow().expect("there is one");
        assert!(tomorrow.tomorrow().is_none());
        assert_eq!(tomorrow.relayers, today.relayers);
        let (mut new, mut same, mut other) = (0, 0, 0);
        for (run, before) in tomorrow.runs.iter().zip(&today.runs) {
            assert_eq!(run.from, before.from);
            let is_same =
                (run.to, run.amount_micros, &run.memo) == (before.to, before.amount_micros, &before.memo);
            assert_eq!(is_same, run.again == Some(Again::TheSame), "{run:?}");
            match run.again {
                None => new += usize::from(run.key != before.key),
                Some(Again::TheSame) => same += usize::from(run.key == before.key),
                Some(Again::AnotherPayment) => other += usize::from(run.key == before.key),
            }
        }
        assert_eq!(new + same + other, tomorrow.runs.len());
        assert!(new > 5 && same > 5 && other > 5, "{new} {same} {other}");
    }
}
