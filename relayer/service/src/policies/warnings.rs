//! Which of an account's rules can never match, for whoever changes them. A change is never refused for that, nor for want of what a
//! warning needs: what the chain does not answer now is not warned of.

use crate::Inside;
use std::collections::HashMap;
use std::sync::Arc;

use super::PolicyView;
use crate::ServiceError;
use crate::allowlist::closed_entries;
use crate::planned::Planned;
use purser_chain::{AccountBounds, BudgetOnChain};
use purser_model::wire::{PolicyFields, WarningBody};
use purser_model::{
    Account, AccountId, Address, AllowedRecipients, BudgetId, Limit, Operator, PolicyUpdate, SpendingPolicy,
    UsdcAmount,
};
use purser_policy::{AccountRules, Warning};

/// What warnings need besides an account's own rules.
#[derive(Default)]
pub(super) struct WarningFacts {
    budgets: Vec<BudgetOnChain>,
    /// Of each allowlist that was looked at, its entries that are closed accounts.
    closed: Vec<(AllowedRecipients, Vec<purser_policy::Address>)>,
}

impl WarningFacts {
    /// Reads what accounts with these budgets and allowlists need.
    pub(super) async fn read(
        inside: &Arc<Inside>,
        operator: &Operator,
        budgets: &[Address],
        allowlists: &[&AllowedRecipients],
    ) -> Self {
        let mut closed_of: Vec<(AllowedRecipients, Vec<purser_policy::Address>)> = Vec::new();
        for allowlist in allowlists {
            if closed_of.iter().any(|(known, _)| known == *allowlist) {
                continue;
            }
            let closed = closed_entries(inside, operator, allowlist).await.unwrap_or_default();
            closed_of.push(((*allowlist).clone(), closed));
        }
        let budgets = read_budgets(inside, operator, budgets).await.unwrap_or_default();
        Self { budgets, closed: closed_of }
    }

    pub(super) fn warnings(
        &self,
        account: &Account,
        policy: &SpendingPolicy,
        bounds: &AccountBounds,
    ) -> Vec<Warning> {
        let closed = self.closed.iter().find(|(allowlist, _)| *allowlist == policy.allowlist);
        let budget = bounds.budget.and_then(|BudgetId(budget)| {
            self.budgets.iter().find(|known| known.state.address == budget).map(BudgetOnChain::caps)
        });
        let rules = AccountRules {
            policy: policy.as_policy(),
            own: [account.address.bytes(), account.token_account.bytes()],
            closed: closed.map_or(&[], |(_, closed)| closed),
            by_grant_only: bounds.by_grant_only,
            max_30_day_spend: limit(bounds.max_30_day_spend),
            budget: budget.map_or([Limit::Unlimited; 2], |caps| caps.limits()),
        };
        rules.warnings().collect()
    }
}

/// Warnings about the rules that an account has or is to have.
pub(crate) async fn warnings(
    inside: &Arc<Inside>,
    operator: &Operator,
    account: &Account,
    policy: &SpendingPolicy,
    bounds: &AccountBounds,
) -> Vec<Warning> {
    let budget = bounds.budget.map(|BudgetId(address)| address);
    let facts = WarningFacts::read(inside, operator, budget.as_slice(), &[&policy.allowlist]).await;
    facts.warnings(account, policy, bounds)
}

/// Adds the warnings about what many accounts are to have. A pause waits for none, and a list is looked at where it is changed.
pub(super) async fn warn_of_many(
    inside: &Arc<Inside>,
    operator: &Operator,
    update: &PolicyUpdate,
    accounts: &HashMap<AccountId, Account>,
    planned: &mut [Planned],
) {
    if update.pauses() {
        return;
    }
    let after = || planned.iter().filter_map(|one| one.rules.as_ref()).map(|(_, after)| after);
    let mut budgets: Vec<Address> =
        after().filter_map(|rules| rules.bounds.budget).map(|BudgetId(address)| address).collect();
    budgets.sort_unstable();
    budgets.dedup();
    let is_list_changed = update.allowed_counterparties.is_some();
    let allowlists: Vec<_> =
        after().filter(|_| is_list_changed).map(|rules| &rules.policy.allowlist).collect();
    let facts = WarningFacts::read(inside, operator, &budgets, &allowlists).await;
    for one in planned.iter_mut().filter(|one| one.will.is_ok()) {
        if let (Some(account), Some((_, after))) = (accounts.get(&one.id), &one.rules) {
            one.warnings = facts.warnings(account, &after.policy, &after.bounds);
        }
    }
}

/// Adds the warnings about the policy that was set, or that waits.
pub(super) async fn warn(inside: &Arc<Inside>, operator: &Operator, id: AccountId, view: &mut PolicyView) {
    let PolicyFields(policy) = view.pending.as_ref().map_or(&view.policy, |pending| &pending.policy);
    if let Ok(account) = super::find(inside, operator, id).await {
        let warnings = warnings(inside, operator, &account, policy, &view.bounds()).await;
        view.warnings = Some(WarningBody::all(&warnings));
    }
}

async fn read_budgets(
    inside: &Arc<Inside>,
    operator: &Operator,
    budgets: &[Address],
) -> Result<Vec<BudgetOnChain>, ServiceError> {
    if budgets.is_empty() {
        return Ok(Vec::new());
    }
    let chain = inside.chain(operator.network)?;
    Ok(chain.read_budgets_at(&operator.address, budgets).await?)
}

fn limit(cap: Option<UsdcAmount>) -> Limit {
    cap.map_or(Limit::Unlimited, Limit::AtMost)
}
