//! Finds the payment that was made under a tag. The program refuses a second one within 24 hours; this is for the answer.

use std::time::Duration;

use tokio::time::Instant;

use super::error::PaymentError;
use super::task::{PaymentTask, WasPaid};
use crate::{ChainView, IDEMPOTENCY_SECONDS, Transfer};

/// How long to wait before checking our records again.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

impl PaymentTask {
    /// Whether the account or our records show a payment with the transfer's tag.
    pub(super) async fn is_shown_paid(
        &self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<bool, PaymentError> {
        let (ledger, asked_after) = (&self.outside.ledger, transfer.asked_after());
        let recorded = ledger.find_payment(&self.payer, transfer.id.tag(), asked_after);
        Ok(view.paid_at(transfer).is_some() || recorded.await?.is_some())
    }

    /// Whether the transfer's tag was paid. While a caller waits for the answer, this waits a while for the payment to be read.
    pub(super) async fn was_paid(
        &self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<WasPaid, PaymentError> {
        let (tag, paid_at) = (transfer.id.tag(), view.paid_at(transfer));
        // Between the payment that the account shows and an earlier one with its tag lie 24 hours.
        let asked_after = paid_at.map_or(transfer.asked_after(), |second| second - IDEMPOTENCY_SECONDS / 2);
        let patience = if self.is_awaited() { self.outside.deadline / 2 } else { Duration::ZERO };
        let until = Instant::now() + patience;
        loop {
            if let Some(made) = self.outside.ledger.find_payment(&self.payer, tag, asked_after).await? {
                return Ok(WasPaid::Yes(Box::new(made)));
            }
            if paid_at.is_none() {
                return Ok(WasPaid::No);
            }
            self.chain.look_again();
            if Instant::now() >= until || self.outside.stop.is_cancelled() {
                return Ok(WasPaid::Unread);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
}
