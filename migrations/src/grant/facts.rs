//! What is printed of grants, approvers and budgets.

use anchor_lang::prelude::Pubkey;
use purser::OpenedBy;
use purser::state::{Agent, Approver, Budget, Grant, Operator};
use purser_policy::{UsdcAmount, Waived};
use serde_json::{Value, json};

use crate::agent::facts::{in_usdc, timestamp};

/// What is printed of a grant of this agent. `now`: the chain's Unix second.
pub fn of_grant(
    address: &Pubkey,
    grant: &Grant,
    under: (&Operator, &Agent),
    now: i64,
) -> Vec<(&'static str, Value)> {
    let (state, pays_from) = match has_to_wait(grant, under.1).then(|| grant.loosens_at(under.0)) {
        _ if grant.is_over(now) => ("over", None),
        _ if is_void(grant, under) => ("void", None),
        Some(None) => ("never", None),
        Some(Some(at)) if now < at => ("waiting", Some(at)),
        Some(at) => ("open", at),
        None => ("open", None),
    };
    let mut facts = vec![
        ("grant", json!(address.to_string())),
        ("state", json!(state)),
        ("pays_from", json!(pays_from.map(timestamp))),
    ];
    facts.extend(terms(grant));
    facts
}

/// Whether it is of the policy authority and allows what is refused without it.
pub fn has_to_wait(grant: &Grant, agent: &Agent) -> bool {
    let loosens = Waived::from_bits(grant.flags) != Waived::NOTHING || agent.pays_by_grant_only();
    loosens && grant.opened_by() == OpenedBy::PolicyAuthority
}

/// Whether it pays nothing any more because of what changed since it was opened.
pub fn is_void(grant: &Grant, (operator, agent): (&Operator, &Agent)) -> bool {
    grant.is_void(operator, agent) || ![0, agent.policy_version].contains(&grant.policy_version)
}

/// What a grant is for.
pub fn terms(grant: &Grant) -> Vec<(&'static str, Value)> {
    let opened_by = match grant.opened_by() {
        OpenedBy::Admin => "admin",
        OpenedBy::PolicyAuthority => "policy_authority",
        OpenedBy::Approver => "approver",
    };
    let past = [(1, "list"), (2, "single_limit"), (4, "daily_limit")];
    let past = past.into_iter().filter(|(bit, _)| grant.flags & bit != 0).map(|(_, name)| name);
    let kind = if grant.flags & 8 == 0 { "wallet" } else { "token_account" };
    vec![
        ("payee", json!({ kind: grant.payee.to_string() })),
        ("left_usdc", json!(UsdcAmount::from_micros(grant.left).to_string())),
        ("ends_at", json!(timestamp(grant.expires_at))),
        ("beyond", json!(past.collect::<Vec<_>>())),
        ("one_payment", json!(grant.tag != 0)),
        ("opened_by", json!(opened_by)),
    ]
}

/// What is printed of an approver. `now`: the chain's Unix second.
pub fn of_approver(approver: &Approver, now: i64) -> [(&'static str, Value); 4] {
    let usdc = |micros| json!(UsdcAmount::from_micros(micros).to_string());
    [
        ("key", json!(approver.key.to_string())),
        ("max_grant_usdc", usdc(approver.max_grant)),
        ("max_daily_usdc", usdc(approver.max_daily)),
        ("granted_last_24_hours_usdc", usdc(approver.window().spent(now).micros())),
    ]
}

/// What is printed of a budget. `now`: the chain's Unix second.
pub fn of_budget(budget: &Budget, operator: &Operator, now: i64) -> [(&'static str, Value); 6] {
    let caps = budget.caps(operator, now);
    [
        ("max_daily_usdc", json!(in_usdc(Some(caps.max_daily_spend)))),
        ("max_30_days_usdc", json!(in_usdc(caps.max_30_day_spend))),
        ("spent_last_24_hours_usdc", json!(budget.window().spent(now).to_string())),
        ("spent_last_30_days_usdc", json!(budget.month().spent(now).to_string())),
        ("waiting", json!(raise(budget, operator, now).filter(|raise| raise["state"] == "waiting"))),
        ("empty", json!(budget.is_empty(now))),
    ]
}

/// The caps that its last raise had to wait for: in force from a second on, which is moved back where the delay gets longer.
pub fn raise(budget: &Budget, operator: &Operator, now: i64) -> Option<Value> {
    let month = (budget.waiting_30_day != u64::MAX).then_some(budget.waiting_30_day);
    let from = budget.loosens_at(operator);
    (budget.raised_at != 0).then(|| {
        json!({
            "state": if from.is_some_and(|at| now >= at) { "in_force" } else { "waiting" },
            "max_daily_usdc": in_usdc(Some(budget.waiting_daily)), "max_30_days_usdc": in_usdc(month),
            "from": from.map(timestamp),
        })
    })
}
