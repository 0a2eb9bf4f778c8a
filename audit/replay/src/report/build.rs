//! Turns the findings into a report.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use purser::state::Operator;
use purser_client::committed_sha256;
use purser_policy::UsdcAmount;

use super::PeriodReport;
use super::ledger::ledger;
use super::links::Links;
use super::spans::{
    approver_report, budget_report, delay_report, halt_report, limits_report, policy_report, role_report,
    solvency_report, withdrawals,
};
use super::{
    AccountReport, CheckReport, Finding, KeysReport, LooseningReport, Moment, ProgramReport, Remark, Report,
    TotalsReport, Upgrade, Verdict, shown,
};
use crate::check::Check;
use crate::history::Held;
use crate::program::Program;
use crate::replay::{Life, Loosening, Movement, Outcome, Place, TimelineEntry, date, usdc};
use crate::scope::Scope;

/// The input of a report.
pub struct Facts<'a> {
    pub scope: &'a Scope,
    pub read_from: String,
    /// It was read from a directory alone.
    pub is_saved: bool,
    pub outcome: &'a Outcome,
    pub program: &'a Program,
    pub explorer: Option<String>,
    /// `None` if none was asked.
    pub relayer: Option<Relayer>,
    pub archive_sha256: String,
    /// Unix seconds.
    pub made_at: i64,
}

/// What a relayer was asked for.
pub struct Relayer {
    /// Entries of its history that are newer than the audit.
    pub newer: u64,
    pub held: Vec<Held>,
}

/// Builds the report.
pub fn build(facts: Facts) -> Report {
    let links = Links::of(facts.explorer.clone(), &facts.scope.manifest.genesis_hash);
    let Facts { scope, outcome, .. } = &facts;
    let checks: Vec<CheckReport> = Check::ALL.iter().map(|check| checked(*check, outcome, &links)).collect();
    let count = |result: Verdict| checks.iter().filter(|check| check.result == result).count();
    let (fails, open) = (count(Verdict::DoesNotHold), count(Verdict::Incomplete));
    let findings: usize = checks.iter().map(|check| check.findings.len()).sum();
    let (network, mint) = crate::network::names(&scope.manifest.genesis_hash, &scope.at.usdc_mint);
    let whole = if scope.account.is_some() { "ONE account was audited, and not the operator. " } else { "" };
    let verdict = whole.to_owned()
        + &match (fails, open) {
            (0, 0) => "Everything that was checked holds.".to_owned(),
            (0, open) => format!("What could be checked holds; {open} check(s) are incomplete."),
            (fails, _) => format!("{fails} check(s) DO NOT HOLD: {findings} finding(s)."),
        }
        + &loosened(outcome);
    let life = |agent: &Pubkey| outcome.lives.get(agent).and_then(|life| life.first_balance);
    let held: Vec<_> = scope.agents.iter().map(|agent| (*agent, life(agent).unwrap_or_default())).collect();
    let ledger = ledger(outcome, &held);
    Report {
        holds: fails == 0,
        complete: open == 0,
        verdict,
        operator: scope.operator.to_string(),
        account: scope.account.map(|account| account.to_string()),
        genesis_hash: scope.manifest.genesis_hash.clone(),
        usdc_mint: scope.at.usdc_mint.to_string(),
        read_from: facts.read_from.clone(),
        until_slot: scope.manifest.until_slot,
        until_time: scope.manifest.until_time.map(date),
        transactions: outcome.transactions,
        inputs_sha256: outcome.inputs_sha256.clone(),
        network,
        mint,
        archive_sha256: facts.archive_sha256.clone(),
        tool: concat!("purser audit ", env!("CARGO_PKG_VERSION")),
        // Known to whoever runs this, not to this crate.
        tool_sha256: None,
        made_at: date(facts.made_at),
        from_time: outcome.operator_created.as_ref().map(Place::date),
        keys: outcome.keys.as_ref().map(keys_report),
        roles: outcome.roles.iter().map(|it| role_report(it, &links)).collect(),
        delays: outcome.delays.iter().map(|it| delay_report(it, &links)).collect(),
        halts: outcome.halts.iter().map(|it| halt_report(it, &links)).collect(),
        limits: outcome.limits.iter().map(|it| limits_report(it, &links)).collect(),
        approvers: outcome.approvers.iter().map(|it| approver_report(it, &links)).collect(),
        budgets: outcome.budgets.iter().map(|it| budget_report(it, &links)).collect(),
        created_anew: outcome.anew,
        withdrawals: withdrawals(outcome, &links),
        loosenings: outcome.loosenings.iter().map(|it| loosening_report(it, &links)).collect(),
        timeline: outcome.timeline.iter().map(|it| moment(it, &links)).collect(),
        program: program_report(&facts, &links),
        accounts: scope.agents.iter().map(|agent| account_report(agent, &facts, &links)).collect(),
        totals: totals(scope, outcome),
        period: PeriodReport::whole(held, scope.manifest.until_time, &ledger),
        solvency: facts.relayer.as_ref().map(|relayer| solvency_report(&relayer.held)),
        checks,
        remarks: remarks(&facts, &links),
        unseen: unseen(&facts),
        ledger,
    }
}

/// What a policy or a grant let pass is no finding, and is said in the first line.
fn loosened(outcome: &Outcome) -> String {
    let by_grants = match outcome.by_grants {
        0 => String::new(),
        paid => format!(" {} USDC left by grants.", usdc(paid)),
    };
    let raised = match outcome.budgets_raised {
        0 => String::new(),
        1 => " A budget was raised.".to_owned(),
        count => format!(" Budgets were raised {count} times."),
    };
    loosened_policies(outcome) + &by_grants + &raised + &created_anew(outcome)
}

/// A life that begins again at an address has nothing of what bound the one before.
fn created_anew(outcome: &Outcome) -> String {
    let anew = match outcome.anew {
        0 => return String::new(),
        1 => " An account was closed and created anew".to_owned(),
        count => format!(" Accounts were closed and created anew {count} times"),
    };
    match outcome.forgotten {
        0 => anew + ".",
        paid => format!("{anew}: {} USDC that counted against caps for 30 days count no longer.", usdc(paid)),
    }
}

fn loosened_policies(outcome: &Outcome) -> String {
    let paid = outcome.loosenings.iter().map(|it| it.paid).fold(0_u128, u128::saturating_add);
    match outcome.loosenings.len() {
        _ if paid == 0 => String::new(),
        1 => format!(" 1 policy was loosened, and {} USDC left meanwhile.", usdc(paid)),
        count => format!(
            " {count} policies were loosened, and {} USDC left meanwhile, each time counted.",
            usdc(paid)
        ),
    }
}

fn keys_report(operator: &Operator) -> KeysReport {
    let given = |key: &Pubkey| (*key != Pubkey::default()).then(|| key.to_string());
    KeysReport {
        admin: operator.admin.to_string(),
        pending_admin: given(&operator.pending_admin),
        policy_authority: operator.policy_authority.to_string(),
        guardian: given(&operator.guardian),
        transfer_authorities: operator.transfer_authorities().iter().map(Pubkey::to_string).collect(),
        loosening_delay_seconds: operator.loosening_delay_seconds,
        halted: operator.halted_by != 0,
    }
}

fn loosening_report(loosening: &Loosening, links: &Links) -> LooseningReport {
    LooseningReport {
        account: loosening.agent.to_string(),
        policy_version: loosening.version,
        signer: loosening.signer.to_string(),
        what: loosening.what.clone(),
        from: links.to(&loosening.from),
        until: loosening.until.as_ref().map(|place| links.to(place)),
        payments: loosening.payments,
        paid_usdc: usdc(loosening.paid),
    }
}

fn moment(entry: &TimelineEntry, links: &Links) -> Moment {
    let account = entry.account.map(|account| account.to_string());
    Moment { kind: entry.kind, account, text: shown(&entry.text), at: links.to(&entry.place) }
}

fn checked(check: Check, outcome: &Outcome, links: &Links) -> CheckReport {
    let found = outcome.mismatches.iter().filter(|mismatch| mismatch.check == check);
    let findings: Vec<Finding> = found
        .map(|mismatch| Finding {
            account: mismatch.account.map(|account| account.to_string()),
            text: shown(&mismatch.text),
            at: mismatch.place.as_ref().map(|place| links.to(place)),
        })
        .collect();
    let unchecked: Vec<String> =
        outcome.unchecked.get(&check).into_iter().flatten().map(|why| shown(why)).collect();
    let examined = outcome.examined.get(&check).copied().unwrap_or_default();
    let result = match (findings.is_empty(), unchecked.is_empty(), examined) {
        (false, _, _) => Verdict::DoesNotHold,
        (true, false, _) => Verdict::Incomplete,
        (true, true, 0) => Verdict::NothingToCheck,
        (true, true, _) => Verdict::Holds,
    };
    CheckReport { check, title: check.title(), means: check.means(), result, examined, findings, unchecked }
}

fn account_report(agent: &Pubkey, facts: &Facts, links: &Links) -> AccountReport {
    let life: Life = facts.outcome.lives.get(agent).cloned().unwrap_or_default();
    let balance = |micros: u64| UsdcAmount::from_micros(micros).to_string();
    AccountReport {
        address: agent.to_string(),
        account_id: facts.scope.account_ids.of(agent),
        token_account: facts.scope.at.token_account(agent).to_string(),
        created: life.created.as_ref().map(|place| links.to(place)),
        closed: life.closed.as_ref().map(|place| links.to(place)),
        policy: life.terms,
        policies: life.policies.iter().map(|it| policy_report(it, links)).collect(),
        payments: life.payments,
        paid_usdc: usdc(life.paid),
        withdrawn_usdc: usdc(life.withdrawn),
        out_usdc: usdc(life.paid.saturating_add(life.withdrawn)),
        deposited_usdc: usdc(life.deposited),
        first_balance_usdc: life.first_balance.map(balance),
        last_balance_usdc: life.last_balance.map(balance),
    }
}

fn totals(scope: &Scope, outcome: &Outcome) -> TotalsReport {
    let lives = || scope.agents.iter().filter_map(|agent| outcome.lives.get(agent));
    let sum = |of: fn(&Life) -> u128| lives().map(of).fold(0, u128::saturating_add);
    TotalsReport {
        accounts: scope.agents.len(),
        payments: lives().map(|life| life.payments).fold(0, u64::saturating_add),
        paid_usdc: usdc(sum(|life| life.paid)),
        withdrawn_usdc: usdc(sum(|life| life.withdrawn)),
        out_usdc: usdc(sum(|life| life.paid.saturating_add(life.withdrawn))),
        deposited_usdc: usdc(sum(|life| life.deposited)),
        last_balance_usdc: usdc(sum(|life| u128::from(life.last_balance.unwrap_or_default()))),
    }
}

fn program_report(facts: &Facts, links: &Links) -> ProgramReport {
    let Program { is_committed, sha256, changed_in_slot, upgrade_authority, changes } = facts.program;
    let upgrade = |(place, what, authority): &(Place, &'static str, Option<Pubkey>)| Upgrade {
        what,
        authority: authority.map(|key| key.to_string()),
        at: links.to(place),
    };
    ProgramReport {
        program: facts.scope.at.program.to_string(),
        is_committed_build: *is_committed,
        committed_sha256: committed_sha256(),
        sha256: sha256.clone(),
        changed_in_slot: *changed_in_slot,
        upgrade_authority: upgrade_authority.map(|key| key.to_string()),
        upgrades: changes.iter().map(upgrade).collect(),
        payments_of_older_builds: older_payments(facts).count() as u64,
    }
}

/// Payments that another build may have decided: those up to the slot of the program's last change.
fn older_payments<'a>(facts: &Facts<'a>) -> impl Iterator<Item = Place> + 'a {
    let changed = facts.program.changed_in_slot.unwrap_or_default();
    let movements = facts.outcome.movements.iter();
    let payments = movements.filter(|(_, movement)| matches!(movement, Movement::Payment { .. }));
    payments.filter(move |(place, _)| place.slot <= changed).map(|(place, _)| place.clone())
}

fn remarks(facts: &Facts, links: &Links) -> Vec<Remark> {
    let Facts { outcome, program, .. } = facts;
    let mut remarks = Vec::new();
    let mut remark = |text: String, places: Vec<Place>| remarks.push(links.remark(text, places.into_iter()));
    let older: Vec<Place> = older_payments(facts).collect();
    if !older.is_empty() {
        let text = format!(
            "{} payment(s) were made up to the slot in which the program was last changed: an older build may have decided them. \
             This audit decided them anew, as the committed build would have.",
            older.len()
        );
        remark(text, older);
    }
    if program.is_committed == Some(false) {
        let mut text = "The program that runs is ANOTHER BUILD than the committed one. The replay shows what it did so far, not \
                        what it would do."
            .to_owned();
        if facts.scope.at.program != purser::ID {
            text += " Every build for an address of its own is one: compare it with `purser verify-program --program-id ... --sha256 ...`.";
        }
        remark(text, Vec::new());
    }
    if let Some(authority) = program.upgrade_authority {
        remark(format!("Whoever holds {authority} can replace the program at any time."), Vec::new());
    }
    let cut: u64 = outcome.recomputed.iter().map(|(_, events)| events).sum();
    if cut > 0 {
        let text = format!(
            "{cut} event(s) were cut off by full logs, or not kept by the node: they were recomputed from the signed instructions."
        );
        remark(text, outcome.recomputed.iter().map(|(place, _)| place.clone()).collect());
    }
    for ((other, name), places) in forged(&outcome.forged) {
        let text = format!(
            "The program {other} wrote {} line(s) in the form of the event {name}. They are forged, and of no effect.",
            places.len()
        );
        remark(text, places);
    }
    if !outcome.unknown_version.is_empty() {
        let text = "Transactions of a message version that this audit does not know name the operator or an account. As the node \
                    shows them, they call nothing of the program and move no audited money.";
        remark(text.to_owned(), outcome.unknown_version.clone());
    }
    if !outcome.airdrops.is_empty() {
        let text = "Nobody signed these gifts of SOL, as local networks make them.";
        remark(text.to_owned(), outcome.airdrops.clone());
    }
    if !outcome.second_earlier.is_empty() {
        let text = format!(
            "{} transaction(s) hold by a clock one second before their block's date, and were decided by that.",
            outcome.second_earlier.len()
        );
        remark(text, outcome.second_earlier.clone());
    }
    for agent in &outcome.frozen {
        let text = format!(
            "The freeze authority of the mint has frozen the token account of {agent}: nothing leaves it meanwhile."
        );
        remark(text, Vec::new());
    }
    let withdrawn = outcome.movements.iter().filter(|(_, it)| matches!(it, Movement::Withdrawal { .. }));
    let withdrawn: Vec<Place> = withdrawn.map(|(place, _)| place.clone()).collect();
    if !withdrawn.is_empty() {
        let text = "The admin took money out past every policy, as it may. It counts against no limit.";
        remark(text.to_owned(), withdrawn);
    }
    if let [first, others @ ..] = outcome.surplus.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        remark(format!("The directory holds what is no part of this audit: {first}{more}."), Vec::new());
    }
    let newer = facts.relayer.as_ref().map(|relayer| relayer.newer);
    if let Some(newer) = newer.filter(|newer| *newer > 0) {
        remark(
            format!("{newer} entries of the relayer's history are newer than this audit, and not compared."),
            Vec::new(),
        );
    }
    remarks
}

/// Forged events by program and name: anybody can write as many as they like.
fn forged(all: &[(Place, Pubkey, &'static str)]) -> BTreeMap<(Pubkey, &'static str), Vec<Place>> {
    let mut by_name: BTreeMap<_, Vec<Place>> = BTreeMap::new();
    for (place, program, name) in all {
        by_name.entry((*program, *name)).or_default().push(place.clone());
    }
    by_name
}

/// What no audit of the chain can see.
fn unseen(facts: &Facts) -> Vec<String> {
    let mut unseen: Vec<&str> = vec![
        "What the relayer refused before the chain, and whether it carried out what it was asked for: refusals leave no trace there.",
        "Transactions that every list of the node left out and that nothing later shows: with a second node, the same audit says so.",
        "Success, balances, block dates and calls between programs are the node's word; signatures cover the instructions alone.",
        "Who holds a key, and whether a recipient is the intended recipient.",
        "Token accounts of the accounts other than their USDC account: policies do not reach them, the admin alone empties them.",
        "SOL: what fees cost, what rent was paid, and whom it went back to.",
    ];
    if facts.is_saved {
        unseen.push(
            "Whoever made the directory could choose what to keep, when to stop and what the node said: signatures prove what was \
             signed, and nothing here proves that it was all. Audit a node of your own.",
        );
    }
    if facts.relayer.is_none() {
        unseen.push("The relayer's own history and balances: give --api and --key to compare them.");
    }
    unseen.into_iter().map(str::to_owned).collect()
}
