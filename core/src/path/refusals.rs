//! How many transfers may end without a payment. Each is kept, with an entry, an event and a denial, so whoever has one
//! agent key could fill the disk with them. Beyond a day's budget the service decides before it claims: what can be paid
//! is paid as ever, and what would be refused leaves nothing behind.

use std::time::Duration;

use super::carrier::Carrier;
use super::decide::{Decision, Payment, decide};
use super::error::PaymentError;
use crate::{NewTransfer, RefusalLimits, Timestamp};

const DAY: Duration = Duration::from_secs(86_400);

impl Carrier {
    /// TooManyRefusals: the transfer would end without a payment, and the budget for that is used up.
    pub(super) async fn check_refusals(&self, new: &NewTransfer) -> Result<(), PaymentError> {
        let now = self.now();
        let RefusalLimits { per_account, per_operator } = self.outside.refusals;
        let counted_since = now.before(DAY);
        let found = self
            .outside
            .ledger
            .find_last_allowed_refusal(&self.payer, counted_since, per_account, per_operator)
            .await?;
        let Some(last) = found else { return Ok(()) };
        if self.would_be_paid(new, now).await? {
            return Ok(());
        }
        let wait = now.until(last.made_by().after(DAY));
        Err(PaymentError::TooManyRefusals { retry_after_seconds: wait.as_secs() + 1 })
    }

    async fn would_be_paid(&self, new: &NewTransfer, now: Timestamp) -> Result<bool, PaymentError> {
        let request = &new.asked.request;
        let Ok(destination) = self.destination(&request.to).await? else { return Ok(false) };
        let view = self.read(&destination).await?;
        Ok(
            match decide(
                &view,
                &Payment { tag: new.id.tag(), asked_at: Some(new.asked_at), destination, request },
                now,
            )
            .0
            {
                Decision::Sign | Decision::AlreadyMade | Decision::NoRoom => true,
                Decision::Rejected(_) | Decision::Failing(..) => false,
            },
        )
    }
}
