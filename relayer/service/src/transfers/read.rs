//! What an account could pay now: its limits, and transfer previews.

use purser_core::{Decision, Payment, decide};

use super::{Transfers, payer};
use crate::budgets::{BudgetView, LimitUse};
use crate::error::{ServiceError, from_chain, from_fault};
use crate::reads::{find_account, find_payer, window_now};
use purser_model::{
    AccountId, BudgetId, Checks, Failure, FailureCode, Limit, Operator, Principal, Rejection,
    TransferRequest, UsdcAmount,
};

/// No transfer has this tag, so the chain never shows it.
const NO_TAG: u64 = 0;

/// An account's limits and how much of them is used.
#[derive(Debug, Clone, Copy)]
pub struct LimitsView {
    pub account_id: AccountId,
    pub single_limit: Option<UsdcAmount>,
    pub daily: LimitUse,
    /// Its cap for 30 days, if it has one.
    pub month: Option<LimitUse>,
    /// The budget that it pays through, if it does.
    pub budget: Option<BudgetLimits>,
}

/// The caps of a budget and how much of them is used, whichever account paid.
#[derive(Debug, Clone, Copy)]
pub struct BudgetLimits {
    pub id: BudgetId,
    pub daily: LimitUse,
    pub month: LimitUse,
}

/// What would happen to a transfer now.
#[derive(Debug, Clone)]
pub enum Preview {
    Allowed(Checks),
    /// It would be paid once the service has created the payee's token account, which it would do first.
    Creating(Checks),
    Rejected(Rejection),
    Failing(Failure, Checks),
}

impl Transfers {
    /// What remains of an account's limits. Errors as [`Transfers::create`] for the account.
    pub async fn limits(&self, principal: &Principal, id: AccountId) -> Result<LimitsView, ServiceError> {
        let operator = principal.operator();
        let account = find_account(&self.inside.store.accounts, principal, id).await?;
        let agent = self.inside.looks.read_agent(&self.inside.chains, operator, &account).await?;
        let now = window_now(&self.inside.chains, &self.inside.ambient, operator).await?;
        let budget = match agent.bounds().budget {
            Some(named) => Some(self.budget_limits(operator, named, now).await?),
            None => None,
        };
        Ok(LimitsView {
            account_id: id,
            single_limit: amount(agent.policy.max_single_transfer),
            daily: LimitUse::of_day(amount(agent.policy.max_daily_spend), &agent.window, now),
            month: agent.month.map(|month| LimitUse::of_month(Some(month.cap), month, now)),
            budget,
        })
    }

    /// Of one that is closed: nothing leaves through it.
    async fn budget_limits(
        &self,
        operator: &Operator,
        id: BudgetId,
        now: i64,
    ) -> Result<BudgetLimits, ServiceError> {
        let chain = &self.inside.chains.get(operator.network)?.chain;
        let read = chain.read_budget(&operator.address, &id.0).await;
        let found = read.map_err(|error| from_chain(operator.network, &error, true))?;
        let closed = || {
            let none = LimitUse { limit: Some(UsdcAmount::ZERO), used: UsdcAmount::ZERO, frees_at: None };
            BudgetLimits { id, daily: none, month: LimitUse { limit: None, ..none } }
        };
        let found = found.map(|budget| BudgetView::of(&budget, now));
        Ok(found.map_or_else(closed, |view| BudgetLimits {
            id: view.id,
            daily: view.daily,
            month: view.month,
        }))
    }

    /// Judges a transfer as if it were requested now; keeps and sends nothing.
    /// InvalidRecipient: it could not be paid. Otherwise errors as [`Transfers::create`].
    pub async fn preview(
        &self,
        principal: &Principal,
        request: TransferRequest,
        create_token_account: Option<bool>,
    ) -> Result<Preview, ServiceError> {
        let operator = principal.operator();
        let account = find_payer(&self.inside.store.accounts, principal, request.from).await?;
        let carrier = self.path.carrier(payer(operator, &account))?;
        let found = carrier.destination(&request.to).await?;
        let destination = found.map_err(ServiceError::InvalidRecipient)?;
        let payment = Payment { tag: NO_TAG, asked_at: None, destination, request: &request };
        let read = async { carrier.read(&payment).await.map_err(|fault| from_fault(&fault)) };
        let view = self.inside.looks.read_view(&account, &payment, read).await?;
        let (decision, checks) = decide(&view, &payment, self.inside.ambient.now());
        match decision {
            Decision::Sign | Decision::AlreadyMade | Decision::NoRoom => Ok(Preview::Allowed(checks)),
            Decision::Rejected(rejection) => Ok(Preview::Rejected(rejection)),
            Decision::Failing(failure, _) if failure.code == FailureCode::InvalidRecipient => {
                Err(ServiceError::InvalidRecipient(failure.message))
            }
            Decision::Failing(failure, _)
                if failure.code == FailureCode::RecipientHasNoTokenAccount
                    && create_token_account.unwrap_or(account.create_token_accounts) =>
            {
                Ok(match self.refuses_token_account(&account, &request).await? {
                    None => Preview::Creating(checks),
                    Some(reason) => {
                        Preview::Failing(Failure { message: reason.to_string(), ..failure }, checks)
                    }
                })
            }
            Decision::Failing(failure, _) => Ok(Preview::Failing(failure, checks)),
        }
    }
}

fn amount(limit: Limit) -> Option<UsdcAmount> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(limit) => Some(limit),
    }
}
