use serde_json::json;

use super::*;
use crate::crash::hazards::Weights;
use crate::crash::plan::Relayers;

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
    plan
}

fn payment(plan: &RoundPlan, signature: &str) -> Payment {
    Payment {
        signature: signature.to_owned(),
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
    let paid = payments.len() as u64 * 5;
    let standing = |purse: u64, payee: u64| LedgerSnapshot::of([(PURSE, purse), (PAYEE, payee)]);
    let (before, after) = (standing(100, 0), standing(100 - paid, paid));
    let (agents, accounts) = ([(AGENT, PURSE)], [PURSE, PAYEE]);
    let scene =
        Scene { plan, agents: &agents, accounts: &accounts, before: &before, after: &after, payments };
    let last = said.last().filter(|said| said.is_final()).cloned();
    let report = judges(&scene, &[Record { said, last: vec![last] }]);
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
