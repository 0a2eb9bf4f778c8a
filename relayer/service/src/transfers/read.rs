//! What an account could pay now: its limits, and transfer previews.

use purser_core::{Decision, Payment, decide};

use super::{Transfers, payer};
use crate::budgets::{BudgetUse, BudgetView};
use crate::error::ServiceError;
use crate::limits::{BudgetLimit, DailyLimit, Limits, MonthLimit, SingleLimit};
use crate::reads::{find_account, find_payer, window_now};
use purser_model::{
    AccountId, BudgetId, Checks, Failure, FailureCode, Limit, Operator, Principal, Rejection,
    TransferRequest, UsdcAmount,
};

/// No transfer has this tag, so the chain never shows it.
const NO_TAG: u64 = 0;

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
    pub async fn limits(&self, principal: &Principal, id: AccountId) -> Result<Limits, ServiceError> {
        let operator = principal.operator();
        let account = find_account(&self.inside.store.accounts, principal, id).await?;
        let agent = self.inside.read_limiter.read_agent(&self.inside.chains, operator, &account).await?;
        let now = window_now(&self.inside.chains, &self.inside.clock, operator).await?;
        let budget = match agent.bounds().budget {
            Some(named) => Some(self.budget_limits(operator, named, now).await?),
            None => None,
        };
        Ok(Limits {
            account_id: id,
            max_single_transfer: SingleLimit::of(amount(agent.policy.max_single_transfer)),
            max_daily_spend: DailyLimit::of(amount(agent.policy.max_daily_spend), &agent.window, now),
            max_30_day_spend: agent
                .month
                .map_or_else(MonthLimit::default, |month| MonthLimit::of(Some(month.cap), month, now)),
            budget,
        })
    }

    /// Of one that is closed: nothing leaves through it.
    async fn budget_limits(
        &self,
        operator: &Operator,
        id: BudgetId,
        now: i64,
    ) -> Result<BudgetLimit, ServiceError> {
        let chain = self.inside.chain(operator.network)?;
        let found = chain.read_budget(&operator.address, &id.0).await?;
        let (max_daily_spend, max_30_day_spend) = match found {
            None => (DailyLimit::closed(), MonthLimit::closed()),
            Some(budget) => {
                let BudgetUse { max_daily_spend, max_30_day_spend } = BudgetView::of(&budget, now).limits;
                (max_daily_spend, max_30_day_spend)
            }
        };
        Ok(BudgetLimit { budget_id: id, max_daily_spend, max_30_day_spend })
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
        let task = self.engine.task(payer(operator, &account))?;
        let found = task.destination(&request.to).await?;
        let destination = found.map_err(ServiceError::InvalidRecipient)?;
        let payment = Payment { tag: NO_TAG, asked_at: None, destination, request: &request };
        let read = async { task.read(&payment).await.map_err(ServiceError::from) };
        let view = self.inside.read_limiter.read_view(&account, &payment, read).await?;
        let (decision, checks) = decide(&view, &payment, self.inside.clock.now());
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
