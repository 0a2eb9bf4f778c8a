//! Limits that no payment's transaction tells of: caps for 30 days, and those of budgets. Their use is read from the chain after
//! payments, and what the latest of them reached is announced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::error::ServiceError;
use super::reads::{addresses, window_now};
use crate::Inside;
use purser_chain::AgentOnChain;
use purser_model::{
    AccountId, Address, BudgetId, Event, HistoryEntry, LimitUsed, Operator, PaymentNumber, UsdcAmount,
    WatchedLimit,
};

/// How long ago a payment may have become visible that is looked at: so long may no relayer run, and nothing is missed.
const LATEST: Duration = Duration::from_secs(600);
const PAYMENTS_MAX: u32 = 5_000;

/// Announces what the operator's latest payments reached. Looking again announces nothing again. `false`: a node does not show
/// all of them yet.
pub async fn look_at_limits(inside: &Arc<Inside>, operator: &Operator) -> Result<bool, ServiceError> {
    if !inside.store.events.watches_limits(operator.id).await? {
        return Ok(true);
    }
    let now = inside.clock.now();
    let since = now.before(LATEST);
    let payments = inside.store.events.list_latest_payments(operator.id, since, PAYMENTS_MAX).await?;
    let mut ids: Vec<AccountId> = payments.iter().map(|payment| payment.account_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let accounts = inside.store.accounts.find_accounts(operator.id, &ids).await?;
    if accounts.is_empty() {
        return Ok(true);
    }
    let chain = inside.chain(operator.network)?;
    let places: Vec<_> = accounts.iter().map(addresses).collect();
    let agents = chain.read_agents(&places).await?;
    let second = window_now(&inside.chains, &inside.clock, operator).await?;
    let mut events = Vec::new();
    let mut budgets: BTreeMap<Address, Vec<AccountId>> = BTreeMap::new();
    let mut shows_all = true;
    for (account, agent) in accounts.iter().zip(&agents) {
        let Some(agent) = agent else { continue };
        let paid = paid_by(&payments, &[account.id]);
        shows_all &= shows(agent, &paid);
        if let Some(month) = agent.month {
            let limit = (WatchedLimit::Month, None);
            events.extend(reached(&paid, limit, month.used(second), month.cap, now));
        }
        if let Some(budget) = agent.beyond.and_then(|beyond| beyond.budget) {
            budgets.entry(budget).or_default().push(account.id);
        }
    }
    for (address, accounts) in budgets {
        let found = chain.read_budget(&operator.address, &address).await?;
        let Some(budget) = found else { continue };
        let (paid, caps) = (paid_by(&payments, &accounts), budget.caps());
        let limit = (WatchedLimit::BudgetDaily, Some(BudgetId(address)));
        let used = budget.state.window.spent(second);
        events.extend(reached(&paid, limit, used, caps.max_daily_spend, now));
        if let Some(cap) = caps.max_30_day_spend {
            let limit = (WatchedLimit::BudgetMonth, Some(BudgetId(address)));
            events.extend(reached(&paid, limit, budget.month.spent(second), cap, now));
        }
    }
    inside.store.events.announce_limits(events).await?;
    Ok(shows_all)
}

/// The payments of these accounts, newest first.
fn paid_by<'a>(payments: &'a [HistoryEntry], accounts: &[AccountId]) -> Vec<&'a HistoryEntry> {
    payments.iter().filter(|payment| accounts.contains(&payment.account_id)).collect()
}

/// Whether the account was read with all of its payments.
fn shows(agent: &AgentOnChain, paid: &[&HistoryEntry]) -> bool {
    let newest = paid.iter().filter_map(|payment| match payment.number? {
        PaymentNumber::Is(number) => Some(number),
        PaymentNumber::CutOff => None,
    });
    newest.max().is_none_or(|newest| agent.payments >= newest)
}

fn reached(
    paid: &[&HistoryEntry],
    (limit, budget): (WatchedLimit, Option<BudgetId>),
    used: UsdcAmount,
    cap: UsdcAmount,
    now: purser_model::Timestamp,
) -> Vec<Event> {
    let amounts: Vec<UsdcAmount> = paid.iter().map(|payment| payment.amount).collect();
    let reached = LimitUsed { limit, budget, used, cap }.reached_by(&amounts).into_iter();
    reached
        .filter_map(|(index, percent, with)| {
            Event::limit_reached_today(paid.get(index)?, &with, percent, now)
        })
        .collect()
}
