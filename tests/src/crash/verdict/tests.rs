use serde_json::json;

use super::*;
use crate::crash::hazards::NextDay;
use crate::crash::plan::Relayers;
use crate::crash::weights::Weights;

const AGENT: Pubkey = Pubkey::new_from_array([1; 32]);
const PURSE: Pubkey = Pubkey::new_from_array([2; 32]);
const PAYEE: Pubkey = Pubkey::new_from_array([3; 32]);

/// A round of one allowed payment on one relayer.
fn plan() -> RoundPlan {
    let mut plan = RoundPlan::of(1, 0, 1, Weights::NONE);
    plan.relayers = Relayers::One;
    plan.runs[0].amount_micros = 5;
    plan.runs[0].habit = Habit::Retries;
    plan.runs[0].outcomes.clear();
    (plan.runs[0].from, plan.runs[0].to) = (0, To::Payee(0));
    plan.commitment = "confirmed";
    plan
}

fn payment(plan: &RoundPlan, signature: &str) -> Payment {
    Payment {
        signature: signature.to_owned(),
        number: 1,
        agent: AGENT,
        transfer_id: [0; 16],
        tag: 1,
        amount_micros: 5,
        recipient: PAYEE,
        memo: plan.runs[0].key.clone(),
    }
}

fn settled(plan: &RoundPlan, signature: &str) -> Said {
    let body = json!({ "status": "settled", "memo": plan.runs[0].key, "tx_signature": signature,
        "amount_usdc": "0.000005" });
    Said { asked: Asked::AsPlanned, relayer: 0, status: 200, body }
}

/// Counts duplicates, lost and mismatches for these answers and payments.
fn judged(plan: &RoundPlan, said: Vec<Said>, payments: &[Payment]) -> (u64, u64, u64) {
    judged_after(plan, None, &[], said, payments)
}

/// As `judged`, with a day before and with what a fork showed.
fn judged_after(
    plan: &RoundPlan,
    yesterday: Option<&Day>,
    forked: &[&str],
    said: Vec<Said>,
    payments: &[Payment],
) -> (u64, u64, u64) {
    let paid = payments.len() as u64 * 5;
    let standing = |purse: u64, payee: u64| LedgerSnapshot::of([(PURSE, purse), (PAYEE, payee)]);
    let (before, after) = (standing(100, 0), standing(100 - paid, paid));
    let (agents, accounts) = ([(AGENT, PURSE)], [PURSE, PAYEE]);
    let scene = Scene {
        plan,
        runs: &plan.runs,
        yesterday,
        agents: &agents,
        payees: &[PAYEE],
        accounts: &accounts,
        before: &before,
        after: &after,
        payments,
        forked: &forked.iter().map(|signature| (*signature).to_owned()).collect(),
    };
    let last = said.last().filter(|said| said.is_final()).cloned();
    let report = judges(&scene, &[Record { said, last: vec![last], unsaid: Vec::new() }]);
    assert_eq!(report.is_clean(), report.failures.is_empty());
    (report.duplicates, report.lost, report.mismatches)
}

#[test]
fn one_payment_that_is_answered_is_clean() {
    let plan = plan();
    assert_eq!(judged(&plan, vec![settled(&plan, "a")], &[payment(&plan, "a")]), (0, 0, 0));
}

#[test]
fn second_payment_is_a_duplicate_and_does_not_add_up() {
    let plan = plan();
    let paid = [payment(&plan, "a"), payment(&plan, "b")];
    assert_eq!(judged(&plan, vec![settled(&plan, "a")], &paid), (1, 0, 1));
}

#[test]
fn settlement_that_is_not_on_the_chain_and_payment_that_is_not_answered_are_lost() {
    let plan = plan();
    let (duplicates, lost, mismatches) = judged(&plan, vec![settled(&plan, "a")], &[]);
    assert!(duplicates == 0 && lost > 0 && mismatches > 0);
    let (_, lost, mismatches) = judged(&plan, Vec::new(), &[payment(&plan, "a")]);
    assert!(lost > 0 && mismatches > 0);
}

#[test]
fn unpaid_that_was_paid_and_answers_that_differ_are_mismatches() {
    let plan = plan();
    let body = json!({ "error": "transfer_expired", "message": "It expired; nothing was paid.",
        "transfer_id": "txn_00000000000000000000000000" });
    let unpaid = Said { asked: Asked::AsPlanned, relayer: 0, status: 503, body };
    assert_eq!(judged(&plan, vec![unpaid, settled(&plan, "a")], &[payment(&plan, "a")]), (0, 0, 1));
    let mut other = settled(&plan, "a");
    other.body["settled_at"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(judged(&plan, vec![other, settled(&plan, "a")], &[payment(&plan, "a")]), (0, 0, 1));
}

#[test]
fn payment_to_somebody_else_and_payment_that_nobody_asked_for_are_mismatches() {
    let plan = plan();
    let (_, _, mismatches) =
        judged(&plan, vec![settled(&plan, "a")], &[Payment { recipient: AGENT, ..payment(&plan, "a") }]);
    assert!(mismatches > 0);
    let stolen = Payment { memo: "stolen".to_owned(), ..payment(&plan, "b") };
    let (_, _, mismatches) = judged(&plan, vec![settled(&plan, "a")], &[payment(&plan, "a"), stolen]);
    assert!(mismatches > 0);
}

#[test]
fn settlement_on_a_fork_may_be_said_until_it_is_paid_but_never_at_finalized() {
    let mut plan = plan();
    let said = vec![settled(&plan, "fork"), settled(&plan, "a")];
    let paid = [payment(&plan, "a")];
    assert_eq!(judged_after(&plan, None, &["fork"], said.clone(), &paid), (0, 0, 0));
    let (_, lost, _) = judged_after(&plan, None, &[], said.clone(), &paid);
    assert!(lost > 0, "no fork showed it");
    plan.commitment = "finalized";
    let (_, lost, _) = judged_after(&plan, None, &["fork"], said, &paid);
    assert!(lost > 0, "a fork is never final");
    plan.commitment = "confirmed";
    let (_, lost, _) = judged_after(&plan, None, &["fork"], vec![settled(&plan, "fork")], &[]);
    assert!(lost > 0, "it has to end");
}

#[test]
fn key_of_the_day_before_is_free_after_24_hours_and_taken_within() {
    let yesterday = Day { plan: &plan(), payments: vec![payment(&plan(), "old")] };
    let on = |seconds, again| {
        let mut plan = plan();
        plan.day = Some(NextDay { seconds, begins_late: false });
        plan.runs[0].again = Some(again);
        plan
    };
    let conflict = Said {
        asked: Asked::AsPlanned,
        relayer: 0,
        status: 409,
        body: json!({ "error": "idempotency_conflict" }),
    };
    let judged = |plan: &RoundPlan, said: &Said, paid: &[Payment]| {
        judged_after(plan, Some(&yesterday), &[], vec![said.clone()], paid)
    };
    let late = on(90_000, Again::TheSame);
    assert_eq!(judged(&late, &settled(&late, "new"), &[payment(&late, "new")]), (0, 0, 0));
    assert!(judged(&late, &settled(&late, "old"), &[]).1 > 0, "the key is free");
    let early = on(3_600, Again::TheSame);
    assert_eq!(judged(&early, &settled(&early, "old"), &[]), (0, 0, 0));
    assert!(judged(&early, &settled(&early, "new"), &[payment(&early, "new")]).0 > 0, "paid twice");
    let other = on(3_600, Again::AnotherPayment);
    assert_eq!(judged(&other, &conflict, &[]), (0, 0, 0));
    let other = on(90_000, Again::AnotherPayment);
    assert!(judged(&other, &conflict, &[]).1 > 0, "the key is free");
    // After its database was put back, a relayer may pay and then say that the key is taken.
    let mut unsure = on(90_000, Again::AnotherPayment);
    unsure.relayers = Relayers::OneThatForgets;
    let paid = [payment(&unsure, "new")];
    assert_eq!(judged(&unsure, &conflict, &paid), (0, 0, 0));
    assert!(judged(&other, &conflict, &paid).2 > 0, "this one cannot have forgotten");
    let twice = [payment(&unsure, "new"), payment(&unsure, "newer")];
    assert!(judged(&unsure, &conflict, &twice).0 > 0, "paid twice");
}

#[test]
fn a_second_account_a_missing_one_and_two_answers_are_found() {
    let judged = |ids: &[&str], new_agents| {
        let made = Made { ids: ids.iter().map(|id| (*id).to_owned()).collect(), wrong: Vec::new() };
        let mut report = Report::default();
        judges_accounts(&[made], new_agents, &mut report);
        (report.is_clean(), report.second_accounts, report.lost, report.mismatches)
    };
    assert_eq!(judged(&["a"], 1), (true, 0, 0, 0));
    assert_eq!(judged(&["a"], 2), (false, 1, 0, 0));
    assert_eq!(judged(&["a"], 0), (false, 0, 1, 0));
    assert_eq!(judged(&["a", "b"], 2), (false, 1, 0, 1));
    assert_eq!(judged(&[], 1), (false, 0, 0, 1));
}
