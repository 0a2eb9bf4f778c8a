//! What must hold between what clients were answered and what the chain says.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use solana_sdk::pubkey::Pubkey;

use super::Report;
use super::client::{Asked, Record, Said};
use super::ledger::{LedgerSnapshot, Payment};
use super::maker::Made;
use super::plan::{Again, Habit, RoundPlan, RunPlan, SINGLE_LIMIT_MICROS, To};
use crate::money;
use crate::proxy::outcomes::Outcome;

/// A round that is over, for the day after.
pub(super) struct Day<'a> {
    pub plan: &'a RoundPlan,
    pub payments: Vec<Payment>,
}

impl Day<'_> {
    pub fn signatures(&self) -> impl Iterator<Item = String> {
        self.payments.iter().map(|payment| payment.signature.clone())
    }
}

/// Everything that is known about a round.
pub(super) struct Scene<'a> {
    pub plan: &'a RoundPlan,
    /// The planned runs, and those after everything else.
    pub runs: &'a [RunPlan],
    pub yesterday: Option<&'a Day<'a>>,
    /// Each account's address with its token account.
    pub agents: &'a [(Pubkey, Pubkey)],
    /// The token accounts of the wallets that are paid.
    pub payees: &'a [Pubkey],
    /// Every token account whose balance the round may change.
    pub accounts: &'a [Pubkey],
    pub before: &'a LedgerSnapshot,
    pub after: &'a LedgerSnapshot,
    pub payments: &'a [Payment],
    /// Transactions that a fork showed as confirmed.
    pub forked: &'a HashSet<String>,
}

/// Judges every run on its own, and all runs by their sums.
pub(super) fn judges(scene: &Scene, records: &[Record]) -> Report {
    let mut report = Report { runs: scene.plan.runs.len() as u64, ..Report::default() };
    let mut unanswered = 0;
    for (run, record) in scene.runs.iter().zip(records) {
        let of_run = |payments: &'_ [Payment]| -> Vec<Payment> {
            payments.iter().filter(|payment| payment.memo == run.memo).cloned().collect()
        };
        let paid = of_run(scene.payments);
        let paid_before = scene.yesterday.map_or_else(Vec::new, |day| of_run(&day.payments));
        let mut judge = Judge { run, scene, paid_before, report: &mut report };
        let paid: Vec<&Payment> = paid.iter().collect();
        judge.payments(&paid);
        judge.answers(record, &paid);
        judge.conclusions(record, &paid);
        unanswered += judge.unanswered(record, &paid);
        for unsaid in &record.unsaid {
            judge.mismatches(unsaid.clone());
        }
    }
    for payment in scene.payments {
        if !scene.runs.iter().any(|run| run.memo == payment.memo) {
            report.mismatches += 1;
            report.failures.push(format!("nobody asked for this payment: {payment:?}"));
        }
    }
    sums(scene, records, unanswered, &mut report);
    report
}

/// Judges the accounts that were made under keys, of which the chain has `new_agents`.
pub(super) fn judges_accounts(made: &[Made], new_agents: u64, report: &mut Report) {
    let keys = made.len() as u64;
    report.second_accounts += new_agents.saturating_sub(keys);
    report.lost += keys.saturating_sub(new_agents);
    if new_agents != keys {
        report.failures.push(format!("{keys} keys made {new_agents} accounts on the chain"));
    }
    for Made { ids, wrong } in made {
        let told_of = (ids.len() != 1).then(|| format!("one key was answered with the accounts {ids:?}"));
        for failure in wrong.iter().cloned().chain(told_of) {
            report.mismatches += 1;
            report.failures.push(failure);
        }
    }
}

struct Judge<'a> {
    run: &'a RunPlan,
    scene: &'a Scene<'a>,
    /// What was paid for the same content the day before.
    paid_before: Vec<Payment>,
    report: &'a mut Report,
}

/// What a key of the day before stands for.
enum Key {
    /// It was never used, or is free again.
    Free,
    /// A relayer cannot know that the day is over, so either will do.
    Either,
    /// The payment of the day before.
    Taken,
}

impl Judge<'_> {
    fn key(&self) -> Key {
        let Some(yesterday) = self.scene.yesterday.filter(|_| self.run.again.is_some()) else {
            return Key::Free;
        };
        match self.scene.plan.day {
            Some(day) if !day.frees_keys() => Key::Taken,
            _ if self.scene.plan.frees_keys(yesterday.plan) => Key::Free,
            _ => Key::Either,
        }
    }

    /// What was paid today under a key that in the end every relayer takes for the day before's: after its database was put back,
    /// one that cannot know that the day is over says so truthfully.
    fn unanswered(&self, record: &Record, paid: &[&Payment]) -> u128 {
        let is_answered = |last: &Said| paid.iter().any(|payment| is_of(payment, last));
        match self.key() {
            Key::Either if !record.last.iter().flatten().any(is_answered) => {
                paid.iter().map(|payment| u128::from(payment.amount_micros)).sum()
            }
            Key::Free | Key::Either | Key::Taken => 0,
        }
    }

    /// A relayer that lost its database reports the same payment under a new id.
    fn forgets(&self) -> bool {
        let yesterday = self.scene.yesterday.is_some_and(|day| day.plan.forgets());
        yesterday || self.scene.plan.forgets()
    }

    /// One node lies about block times, today or the day before, so rereading a payment gives another time.
    fn times_differ(&self) -> bool {
        let lies = |plan: &RoundPlan| plan.hazards.clock.is_some_and(|(_, clock)| clock.blocks_too);
        lies(self.scene.plan) || self.scene.yesterday.is_some_and(|day| lies(day.plan))
    }

    fn payments(&mut self, paid: &[&Payment]) {
        let allowed = if matches!(self.key(), Key::Taken) { 0 } else { 1 };
        let duplicates = paid.len().saturating_sub(allowed) as u64;
        if duplicates > 0 {
            self.report.duplicates += duplicates;
            self.fails(format!("paid {} times: {paid:?}", paid.len()));
        }
        let Scene { agents, payees, .. } = self.scene;
        let payer = agents[self.run.from].0;
        let payee = match self.run.to {
            To::Payee(number) => payees[number],
            To::Account(number) => agents[number].1,
        };
        if let Some(payment) = paid.iter().find(|it| (it.agent, it.recipient) != (payer, payee)) {
            self.mismatches(format!("{payer} was to pay {payee}: {payment:?}"));
        }
    }

    /// Checks that no answer was ever untrue.
    fn answers(&mut self, record: &Record, paid: &[&Payment]) {
        // A payment stands for itself: what is said of it must not change.
        let mut settled: HashMap<(usize, String), Value> = HashMap::new();
        let is_confirmed_enough = self.scene.plan.commitment == "confirmed";
        for said in &record.said {
            match (said.status, said.body["error"].as_str()) {
                (200, None) => {
                    let signature = said.signature().unwrap_or_default().to_owned();
                    let was_forked = self.scene.forked.contains(&signature);
                    let mut all = paid.iter().copied().chain(&self.paid_before);
                    let is_paid = all.any(|payment| is_of(payment, said));
                    if !(is_paid || was_forked && is_confirmed_enough) {
                        self.report.lost += 1;
                        self.fails(format!("answered settled, and not so on the chain: {}", said.body));
                    }
                    let facts = self.comparable(&said.body);
                    let first =
                        settled.entry((said.relayer, signature)).or_insert_with(|| facts.clone()).clone();
                    // The same bytes may land in another block.
                    if first != facts && !was_forked {
                        self.mismatches(format!("answered settled in two ways: {first} and {}", said.body));
                    }
                }
                (202, None) => {}
                (202, Some("policy_violation")) if self.run.person.is_some() => {}
                (402, Some("policy_violation")) => {
                    let is_refused = self.run.amount_micros > SINGLE_LIMIT_MICROS;
                    if !paid.is_empty() || !is_refused || self.run.person.is_some() {
                        self.mismatches(format!("answered rejected: {}; paid {paid:?}", said.body));
                    }
                }
                (402, Some("approval_rejected")) => {
                    if !paid.is_empty() || self.run.person.is_none_or(|person| person.approves) {
                        self.mismatches(format!("answered as a person's no: {}; paid {paid:?}", said.body));
                    }
                }
                // It is asked for again.
                (402, Some("approval_expired" | "approval_void")) if self.run.person.is_some() => {
                    self.failure(said, paid);
                }
                (409, Some("idempotency_conflict")) => self.conflict(record, said),
                // Until the accounts are found again.
                (404, Some("not_found")) if self.scene.plan.lost_accounts() => {}
                (422, Some("invalid_recipient"))
                    if self.scene.plan.lost_accounts() && matches!(self.run.to, To::Account(_)) =>
                {
                    self.failure(said, paid);
                }
                (500 | 502 | 503 | 504, Some(_)) => self.failure(said, paid),
                _ => self.mismatches(format!("an answer that cannot be: {} {}", said.status, said.body)),
            }
        }
    }

    /// A conflict needs two different requests.
    fn conflict(&mut self, record: &Record, said: &Said) {
        let differs = record.said.iter().any(|other| other.asked != said.asked)
            || self.run.again == Some(Again::AnotherPayment);
        if !differs && self.run.habit != Habit::ChangesTheAmount {
            self.mismatches(format!("a conflict with nothing: {}", said.body));
        }
    }

    /// "Nothing was paid" must stay true for ever for the transfer that it was said about.
    fn failure(&mut self, said: &Said, paid: &[&Payment]) {
        let says_unpaid = said.body["message"]
            .as_str()
            .is_some_and(|text| text.to_lowercase().contains("nothing was paid"));
        let id = said.body["transfer_id"].as_str().and_then(|id| id.strip_prefix("txn_"));
        let id = id.and_then(|id| ulid::Ulid::from_string(id).ok()).map(|id| id.to_bytes());
        // A database that is put back knows only the claim of a payment that failed since, and resumes it.
        let goes_back = self.scene.plan.hazards.restores.iter().any(Option::is_some);
        // A node that denies what it knows can mislead the relayer, but cannot make it pay twice.
        let deceived =
            self.run.outcomes.iter().any(|outcome| matches!(outcome, Outcome::UnknownInHistory(_)));
        if says_unpaid
            && !deceived
            && !goes_back
            && paid.iter().any(|payment| Some(payment.transfer_id) == id)
        {
            self.mismatches(format!("said to be unpaid, and paid: {}", said.body));
        }
    }

    /// In the calm every relayer knows the outcome, and it matches the chain's.
    fn conclusions(&mut self, record: &Record, paid: &[&Payment]) {
        let allowed = self.run.is_allowed();
        for (relayer, last) in record.last.iter().enumerate() {
            let Some(last) = last else {
                self.report.lost += 1;
                let latest = record.said.iter().rev().find(|said| said.relayer == relayer);
                let latest = latest.map(|said| (said.status, said.body.to_string()));
                self.fails(format!(
                    "relayer {relayer} never gave a final answer, last {latest:?}; paid {paid:?}"
                ));
                continue;
            };
            let settled = last.status == 200 && paid.iter().any(|payment| is_of(payment, last));
            let rejected = last.status == 402 && paid.is_empty();
            let stands = match self.run.again {
                None => false,
                Some(Again::TheSame) => self.paid_before.iter().any(|payment| is_of(payment, last)),
                Some(Again::AnotherPayment) => last.status == 409,
            };
            let is_right = match self.key() {
                Key::Free => {
                    if allowed {
                        settled
                    } else {
                        rejected
                    }
                }
                Key::Either => stands || if allowed { settled } else { rejected },
                Key::Taken => stands,
            };
            if !is_right {
                self.report.lost += 1;
                self.fails(format!(
                    "relayer {relayer} concludes {} {}; paid {paid:?}",
                    last.status, last.body
                ));
            }
        }
    }

    /// An answer without the fields that may differ between two answers to one question.
    fn comparable(&self, body: &Value) -> Value {
        let mut body = body.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("request_id");
            // Read from the chain in their own time, maybe after the payment.
            fields.remove("approved_by");
            fields.remove("grant_tx_signature");
            if self.forgets() {
                fields.remove("transfer_id");
                fields.remove("created_at");
                // Nobody asked a person about what was found paid.
                fields.remove("approval_url");
                fields.remove("approval_expires_at");
            }
            if self.times_differ() {
                fields.remove("settled_at");
            }
        }
        body
    }

    fn mismatches(&mut self, what: String) {
        self.report.mismatches += 1;
        self.fails(what);
    }

    /// Reports one line for each run: enough to know where to look.
    fn fails(&mut self, what: String) {
        let run = self.run;
        if self.report.failures.last().is_some_and(|last| last.starts_with(&run.key)) {
            return;
        }
        self.report.failures.push(format!("{} ({:?}, {:?}): {what}", run.key, run.outcomes, run.habit));
    }
}

/// Chain and ledger agree to one micro-USDC: the events explain every balance, and they match the answers.
fn sums(scene: &Scene, records: &[Record], unanswered: u128, report: &mut Report) {
    for account in scene.accounts {
        let mut expected = i128::from(scene.before.balances[account]);
        for payment in scene.payments {
            let amount = i128::from(payment.amount_micros);
            let pays = scene.agents.contains(&(payment.agent, *account));
            expected -= if pays { amount } else { 0 };
            expected += if payment.recipient == *account { amount } else { 0 };
        }
        let holds = i128::from(scene.after.balances[account]);
        if holds != expected {
            report.mismatches += 1;
            report.failures.push(format!("{account} holds {holds}; by the events it is {expected}"));
        }
    }
    let on_chain: u128 = scene.payments.iter().map(|payment| u128::from(payment.amount_micros)).sum();
    let is_of_yesterday = |signature: &str| {
        scene.yesterday.is_some_and(|day| day.payments.iter().any(|payment| payment.signature == signature))
    };
    let answered = |record: &Record| {
        let mut settled = record.last.iter().flatten().filter(|last| last.status == 200);
        let settled = settled.find(|last| !last.signature().is_some_and(is_of_yesterday));
        settled.map_or(0, |last| u128::from(money::micros_of(&last.body["amount_usdc"])))
    };
    let ledger: u128 = records.iter().map(answered).sum();
    if on_chain != ledger + unanswered {
        report.mismatches += 1;
        report.failures.push(format!("paid on the chain {on_chain}, answered as settled {ledger}"));
    }
}

fn is_of(payment: &Payment, said: &Said) -> bool {
    let asked_for_it = match said.asked {
        Asked::AsPlanned | Asked::OneMore => said.body["memo"] == payment.memo.as_str(),
    };
    asked_for_it
        && said.body["status"] == "settled"
        && said.body["tx_signature"] == payment.signature.as_str()
        && money::micros_of(&said.body["amount_usdc"]) == payment.amount_micros
}

#[cfg(test)]
mod tests;
