//! How many transfers may end without a payment. Each is kept, with an entry, an event and a denial, so whoever has one
//! agent key could fill the disk with them. Beyond a day's budget the service decides before it claims: what can be paid
//! is paid as ever, and what would be refused leaves nothing behind.

use std::time::Duration;

use super::carrier::{Carrier, payment};
use super::decide::{Decision, decide};
use crate::domain::{Timestamp, TransferRequest};
use crate::service::error::{ServiceError, from_chain};
use crate::store::NewTransfer;

const DAY: Duration = Duration::from_secs(86_400);

/// How many transfers of an account, and of all accounts of an operator, may be rejected or fail in 24 hours.
#[derive(Debug, Clone, Copy)]
pub struct RefusalLimits {
    pub per_account: u32,
    pub per_operator: u32,
}

impl Carrier {
    /// TooManyRefusals: the transfer would end without a payment, and the budget for that is used up.
    pub(super) async fn check_refusals(&self, asked: &NewTransfer) -> Result<(), ServiceError> {
        let now = self.now();
        let RefusalLimits { per_account, per_operator } = self.parts.refusals;
        let whose = (self.operator.id, self.account.id);
        let counted_since = now.before(DAY);
        let found = self
            .parts
            .store
            .find_last_allowed_refusal(whose, counted_since, per_account, per_operator)
            .await?;
        let Some(last) = found else { return Ok(()) };
        if self.would_be_paid(asked.id.tag(), &asked.request, now).await? {
            return Ok(());
        }
        let wait = now.until(last.made_by().after(DAY));
        Err(ServiceError::TooManyRefusals { retry_after_seconds: wait.as_secs() + 1 })
    }

    async fn would_be_paid(
        &self,
        tag: u64,
        request: &TransferRequest,
        now: Timestamp,
    ) -> Result<bool, ServiceError> {
        let Ok(destination) = self.destination(&request.to).await? else { return Ok(false) };
        let read = self.read(&destination).await;
        let view = read.map_err(|error| from_chain(self.operator.network, &error, true))?;
        Ok(match decide(&view, &payment(tag, request, destination), now).0 {
            Decision::Sign | Decision::AlreadyMade => true,
            Decision::Rejected(_) | Decision::Failing(..) => false,
        })
    }
}
