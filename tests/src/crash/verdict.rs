//! What must hold between what clients were answered and what the chain says.

use std::collections::HashMap;

use serde_json::Value;
use solana_sdk::pubkey::Pubkey;

use super::Report;
use super::client::{Asked, Record, Said};
use super::ledger::{LedgerSnapshot, Payment};
use super::plan::{Habit, RoundPlan, RunPlan, SINGLE_LIMIT_MICROS};
use crate::money;
use crate::proxy::outcomes::Outcome;

/// Everything that is known about a round.
pub(super) struct Scene<'a> {
    pub plan: &'a RoundPlan,
    /// Each account's address with its token account.
    pub agents: &'a [(Pubkey, Pubkey)],
    /// Every token account whose balance the round may change.
    pub accounts: &'a [Pubkey],
    pub before: &'a LedgerSnapshot,
    pub after: &'a LedgerSnapshot,
    pub payments: &'a [Payment],
}

/// Judges every run on its own, and all runs by their sums.
pub(super) fn judges(scene: &Scene, records: &[Record]) -> Report {
    let mut report = Report { runs: records.len() as u64, ..Report::default() };
    for (run, record) in scene.plan.runs.iter().zip(records) {
        let paid: Vec<&Payment> = scene.payments.iter().filter(|payment| payment.memo == run.key).collect();
        let forgets = scene.plan.forgets();
        let times_differ = scene.plan.hazards.clock.is_some_and(|(_, clock)| clock.blocks_too);
        let goes_back = scene.plan.hazards.restores.iter().any(Option::is_some);
        let mut judge = Judge { run, forgets, goes_back, times_differ, report: &mut report };
        judge.duplicates(&paid);
        judge.answers(record, &paid);
        judge.conclusions(record, &paid);
    }
    sums(scene, records, &mut report);
    report
}

struct Judge<'a> {
    run: &'a RunPlan,
    /// A relayer that lost its database reports the same payment under a new id.
    forgets: bool,
    /// A database is put back to an earlier copy. It knows only the claim of a payment that failed since, and resumes it.
    goes_back: bool,
    /// One node lies about block times, so rereading a payment gives another time.
    times_differ: bool,
    report: &'a mut Report,
}

impl Judge<'_> {
    fn duplicates(&mut self, paid: &[&Payment]) {
        let duplicates = paid.len().saturating_sub(1) as u64;
        if duplicates > 0 {
            self.report.duplicates += duplicates;
            self.fails(format!("paid {} times: {paid:?}", paid.len()));
        }
    }

    /// Checks that no answer was ever untrue.
    fn answers(&mut self, record: &Record, paid: &[&Payment]) {
        let mut settled: HashMap<usize, Value> = HashMap::new();
        for said in &record.said {
            match (said.status, said.body["error"].as_str()) {
                (200, None) => {
                    if !paid.iter().any(|payment| is_of(payment, said)) {
                        self.report.lost += 1;
                        self.fails(format!("answered settled, and not so on the chain: {}", said.body));
                    }
                    let facts = self.comparable(&said.body);
                    let first = settled.entry(said.relayer).or_insert_with(|| facts.clone());
                    if *first != facts {
                        let first = first.clone();
                        self.mismatches(format!("answered settled in two ways: {first} and {}", said.body));
                    }
                }
                (202, None) => {}
                (402, Some("policy_violation")) => {
                    if !paid.is_empty() || self.run.amount_micros <= SINGLE_LIMIT_MICROS {
                        self.mismatches(format!("answered rejected: {}; paid {paid:?}", said.body));
                    }
                }
                (409, Some("idempotency_conflict")) => self.conflict(record, said),
                (500 | 502 | 503 | 504, Some(_)) => self.failure(said, paid),
                _ => self.mismatches(format!("an answer that cannot be: {} {}", said.status, said.body)),
            }
        }
    }

    /// A conflict needs two different requests.
    fn conflict(&mut self, record: &Record, said: &Said) {
        let differs = record.said.iter().any(|other| other.asked != said.asked);
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
        // A node that denies what it knows can mislead the relayer, but cannot make it pay twice.
        let deceived =
            self.run.outcomes.iter().any(|outcome| matches!(outcome, Outcome::UnknownInHistory(_)));
        if says_unpaid
            && !deceived
            && !self.goes_back
            && paid.iter().any(|payment| Some(payment.transfer_id) == id)
        {
            self.mismatches(format!("said to be unpaid, and paid: {}", said.body));
        }
    }

    /// In the calm every relayer knows the outcome, and it matches the chain's.
    fn conclusions(&mut self, record: &Record, paid: &[&Payment]) {
        let allowed = self.run.amount_micros <= SINGLE_LIMIT_MICROS;
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
            if (allowed && !settled) || (!allowed && !rejected) {
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
            if self.forgets {
                fields.remove("transfer_id");
                fields.remove("created_at");
            }
            if self.forgets && self.times_differ {
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
fn sums(scene: &Scene, records: &[Record], report: &mut Report) {
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
    let answered = |record: &Record| {
        let settled = record.last.iter().flatten().find(|last| last.status == 200);
        settled.map_or(0, |last| u128::from(money::micros_of(&last.body["amount_usdc"])))
    };
    let ledger: u128 = records.iter().map(answered).sum();
    if on_chain != ledger {
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
