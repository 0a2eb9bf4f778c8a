//! What an account could pay now: its limits, and transfer previews.

use purser_core::{Decision, Payment, decide};

use super::{Transfers, payer};
use crate::domain::{
    AccountId, Checks, Failure, FailureCode, Limit, Principal, Rejection, Timestamp, TransferRequest,
    UsdcAmount,
};
use crate::service::error::{ServiceError, from_fault};
use crate::service::reads::{find_account, find_payer, window_now};

/// No transfer has this tag, so the chain never shows it.
const NO_TAG: u64 = 0;

/// An account's limits and how much of them is used.
#[derive(Debug, Clone, Copy)]
pub struct LimitsView {
    pub account_id: AccountId,
    pub single_limit: Option<UsdcAmount>,
    pub daily_limit: Option<UsdcAmount>,
    /// What left in the last 24 hours.
    pub used: UsdcAmount,
    /// When the oldest spend stops counting.
    pub frees_at: Option<Timestamp>,
}

/// What would happen to a transfer now.
#[derive(Debug, Clone)]
pub enum Preview {
    Allowed(Checks),
    Rejected(Rejection),
    Failing(Failure, Checks),
}

impl Transfers {
    /// What remains of an account's limits. Errors as [`Transfers::create`] for the account.
    pub async fn limits(&self, principal: &Principal, id: AccountId) -> Result<LimitsView, ServiceError> {
        let operator = principal.operator();
        let account = find_account(&self.accounts, principal, id).await?;
        let agent = self.looks.read_agent(&self.chains, operator, &account).await?;
        let now = window_now(&self.chains, &self.ambient, operator).await?;
        let used = agent.window.spent(now);
        // An amount of the used total less one micro-USDC fits as soon as the oldest spend stops counting.
        let frees_at = agent.window.frees_at(now, used, UsdcAmount::from_micros(1));
        Ok(LimitsView {
            account_id: id,
            single_limit: amount(agent.policy.max_single_transfer),
            daily_limit: amount(agent.policy.max_daily_spend),
            used,
            frees_at: frees_at.map(Timestamp::from_unix_seconds),
        })
    }

    /// Judges a transfer as if it were requested now; keeps and sends nothing.
    /// InvalidRecipient: it could not be paid. Otherwise errors as [`Transfers::create`].
    pub async fn preview(
        &self,
        principal: &Principal,
        request: TransferRequest,
    ) -> Result<Preview, ServiceError> {
        let operator = principal.operator();
        let account = find_payer(&self.accounts, principal, request.from).await?;
        let carrier = self.path.carrier(payer(operator, &account))?;
        let found = carrier.destination(&request.to).await?;
        let destination = found.map_err(ServiceError::InvalidRecipient)?;
        let read = async { carrier.read(&destination).await.map_err(|fault| from_fault(&fault)) };
        let view = self.looks.read_view(&account, destination, read).await?;
        let payment = Payment { tag: NO_TAG, destination, request: &request };
        let (decision, checks) = decide(&view, &payment, self.ambient.now());
        match decision {
            Decision::Sign | Decision::AlreadyMade => Ok(Preview::Allowed(checks)),
            Decision::Rejected(rejection) => Ok(Preview::Rejected(rejection)),
            Decision::Failing(failure, _) if failure.code == FailureCode::InvalidRecipient => {
                Err(ServiceError::InvalidRecipient(failure.message))
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
