//! What was so from when to when, and what the admin took out.

use anchor_lang::prelude::Pubkey;
use purser::{Bounds, BudgetCaps};
use purser_policy::UsdcAmount;

use super::links::Links;
use super::{
    ApproverReport, BalanceReport, BudgetReport, DelayReport, HaltReport, LimitsReport, PolicyReport,
    Reference, RoleReport, SolvencyReport, WaitingCaps, WithdrawalReport, shown,
};
use crate::history::Held;
use crate::replay::{BudgetTerms, Halt, KeyRole, Movement, Outcome, Place, Span, Term, bound, date, usdc};

fn until(place: Option<&Place>, links: &Links) -> Option<Reference> {
    place.map(|place| links.to(place))
}

pub(super) fn role_report(span: &Span<(KeyRole, Pubkey)>, links: &Links) -> RoleReport {
    let (role, key) = span.what;
    let until = until(span.until.as_ref(), links);
    RoleReport { role, key: key.to_string(), from: links.to(&span.from), until }
}

pub(super) fn delay_report(span: &Span<u32>, links: &Links) -> DelayReport {
    let until = until(span.until.as_ref(), links);
    DelayReport { seconds: span.what, from: links.to(&span.from), until }
}

pub(super) fn halt_report(span: &Span<Halt>, links: &Links) -> HaltReport {
    let Halt { account, by, resumed_by } = &span.what;
    HaltReport {
        account: account.map(|account| account.to_string()),
        by: by.to_string(),
        from: links.to(&span.from),
        until: until(span.until.as_ref(), links),
        resumed_by: resumed_by.map(|key| key.to_string()),
    }
}

fn amount(micros: u64) -> String {
    UsdcAmount::from_micros(micros).to_string()
}

pub(super) fn limits_report(span: &Span<(Pubkey, Bounds)>, links: &Links) -> LimitsReport {
    LimitsReport {
        account: span.what.0.to_string(),
        terms: bound(&span.what.1).join(", "),
        from: links.to(&span.from),
        until: until(span.until.as_ref(), links),
    }
}

pub(super) fn approver_report(span: &Span<(Pubkey, [u64; 2])>, links: &Links) -> ApproverReport {
    let (key, [at_once, a_day]) = span.what;
    ApproverReport {
        key: key.to_string(),
        max_grant_usdc: amount(at_once),
        max_daily_usdc: amount(a_day),
        from: links.to(&span.from),
        until: until(span.until.as_ref(), links),
    }
}

pub(super) fn budget_report(span: &Span<(Pubkey, BudgetTerms)>, links: &Links) -> BudgetReport {
    let (budget, BudgetTerms { caps, waiting }) = span.what;
    let waiting = waiting.map(|(BudgetCaps { max_daily_spend, max_30_day_spend }, at)| WaitingCaps {
        max_daily_usdc: amount(max_daily_spend),
        max_30_day_usdc: max_30_day_spend.map(amount),
        until: date(at),
    });
    BudgetReport {
        budget: budget.to_string(),
        max_daily_usdc: amount(caps.max_daily_spend),
        max_30_day_usdc: caps.max_30_day_spend.map(amount),
        waiting,
        from: links.to(&span.from),
        until: until(span.until.as_ref(), links),
    }
}

pub(super) fn policy_report(term: &Term, links: &Links) -> PolicyReport {
    PolicyReport {
        version: term.version,
        terms: term.words.clone(),
        signer: term.signer.to_string(),
        from: links.to(&term.from),
        until: until(term.until.as_ref(), links),
        payments: term.payments,
        paid_usdc: usdc(term.paid),
    }
}

pub(super) fn withdrawals(outcome: &Outcome, links: &Links) -> Vec<WithdrawalReport> {
    let withdrawal = |(place, movement): &(Place, Movement)| match movement {
        Movement::Withdrawal { agent, amount, recipient, owner, admin } => Some(WithdrawalReport {
            account: agent.to_string(),
            amount_usdc: amount.to_string(),
            recipient: recipient.to_string(),
            recipient_owner: owner.map(|owner| owner.to_string()),
            admin: admin.to_string(),
            at: links.to(place),
        }),
        Movement::Payment { .. } | Movement::Deposit { .. } => None,
    };
    outcome.movements.iter().filter_map(withdrawal).collect()
}

pub(super) fn solvency_report(held: &[Held]) -> SolvencyReport {
    let purses = held.iter().map(|it| u128::from(it.purse)).fold(0, u128::saturating_add);
    let stated: Option<Vec<u128>> = held
        .iter()
        .map(|it| it.stated.parse::<UsdcAmount>().ok().map(|amount| u128::from(amount.micros())))
        .collect();
    let balance = |it: &Held| BalanceReport {
        account: it.agent.to_string(),
        purse_usdc: UsdcAmount::from_micros(it.purse).to_string(),
        stated_usdc: shown(&it.stated),
    };
    SolvencyReport {
        purses_usdc: usdc(purses),
        stated_usdc: stated.map(|all| usdc(all.into_iter().fold(0, u128::saturating_add))),
        accounts: held.iter().map(balance).collect(),
    }
}
