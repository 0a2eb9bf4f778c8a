//! What will happen, derived from the seed.

use std::time::Duration;

use super::hazards::{Hazards, Weights};
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
/// Clients begin within this time.
const BEGIN_WITHIN_MS: u64 = 3_000;

/// Where a relayer can be made to die. A long run must reach each of them.
pub const CRASH_POINTS: [&str; 20] = [
    "claim.before",
    "claim.after",
    "read.before",
    "read.after",
    "signed.before",
    "signed.after",
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
];

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
    /// Each relayer's deaths, in order.
    pub deaths: [Vec<Death>; 2],
    pub hazards: Hazards,
    pub weights: Weights,
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
}

/// One idempotency key.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// The idempotency key. Also the memo, which identifies the payment on the wire and on the chain.
    pub key: String,
    pub from: usize,
    pub to: To,
    pub amount_micros: u64,
    pub outcomes: Vec<Outcome>,
    pub habit: Habit,
    pub begins_after: Duration,
    /// The relayer that the client asks first.
    pub relayer: usize,
}

/// Who receives the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Payee(usize),
    Account(usize),
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

impl RoundPlan {
    /// The plan of round number `index`.
    pub fn of(seed: u64, index: u64, runs: u64, weights: Weights) -> RoundPlan {
        let mut random = Random::of(seed, index);
        let relayers = match random.below(10) {
            0..=4 => Relayers::One,
            5..=6 => Relayers::TwoOnSeparateDatabases,
            7..=8 => Relayers::TwoOnOneDatabase,
            _ => Relayers::OneThatForgets,
        };
        let commitment = if random.chance(50) { "confirmed" } else { "finalized" };
        let faults_per_mille = if random.chance(50) { 10 + random.below(40) } else { 0 };
        let mut deaths = [0, 1].map(|relayer| {
            let count = if relayer < relayers.count() { 2 + random.below(5) } else { 0 };
            (0..count).map(|_| death(&mut random)).collect::<Vec<_>>()
        });
        let runs = (0..runs).map(|number| run(&mut random, seed, index, number, relayers)).collect();
        let hazards = Hazards::of(seed, index, relayers, weights);
        if hazards.nobody_dies {
            deaths.iter_mut().for_each(Vec::clear);
        }
        RoundPlan { seed, index, relayers, commitment, faults_per_mille, runs, deaths, hazards, weights }
    }

    /// Who serves the round, and what goes wrong in it.
    pub fn title(&self) -> String {
        let who = format!("{:?}, {}", self.relayers, self.commitment);
        [vec![who], self.hazards.names()].concat().join(", ")
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
        self.relayers == Relayers::OneThatForgets || self.hazards.forgets()
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
    Death { point, killed_after }
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
    RunPlan {
        key: format!("run-{seed}-{round}-{number}."),
        from,
        to,
        amount_micros: if above_the_limit { SINGLE_LIMIT_MICROS + amount } else { amount },
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
    use purser_policy::TAGS_MAX;

    use super::*;

    #[test]
    fn a_round_follows_from_its_seed_and_every_account_gets_more_keys_than_the_chain_remembers() {
        for index in 0..20 {
            let of = |weights| RoundPlan::of(1, index, RUNS_PER_ROUND, weights);
            let plan = of(Weights::default());
            assert_eq!(format!("{plan:?}"), format!("{:?}", of(Weights::default())));
            assert_eq!(format!("{:?}", plan.runs), format!("{:?}", of(Weights::NONE).runs));
            for account in 0..ACCOUNTS {
                assert!(plan.runs.iter().filter(|run| run.from == account).count() > TAGS_MAX);
            }
        }
    }
}
