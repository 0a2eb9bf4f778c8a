//! Finds the payment that was made under a tag. The program refuses a second one within 24 hours; this is for the answer.

use std::time::Duration;

use tokio::time::Instant;

use super::carrier::{Carrier, WasPaid};
use super::error::PaymentError;
use crate::{ChainView, IDEMPOTENCY_SECONDS, Timestamp, Transfer};

/// How long to wait before checking our records again.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

impl Carrier {
    /// Whether the account or our records show a payment with the transfer's tag.
    pub(super) async fn is_shown_paid(
        &self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<bool, PaymentError> {
        let (tag, since) = (transfer.id.tag(), transfer.paid_since());
        let is_shown = view.shows_payment(transfer);
        Ok(is_shown || self.outside.ledger.find_payment(&self.payer, tag, since).await?.is_some())
    }

    /// Whether the transfer's tag was paid. While a caller waits for the answer, this waits a while for the payment to be read.
    pub(super) async fn was_paid(
        &self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<WasPaid, PaymentError> {
        let tag = transfer.id.tag();
        let is_shown = view.shows_payment(transfer);
        // Blocks are dated by the chain's clock, which went back if it is behind the account's: then that payment looks older.
        let now = if is_shown { view.now } else { i64::MAX };
        let since =
            transfer.paid_since().min(Timestamp::from_unix_seconds(now.saturating_sub(IDEMPOTENCY_SECONDS)));
        let patience = if self.is_awaited() { self.outside.deadline / 2 } else { Duration::ZERO };
        let until = Instant::now() + patience;
        loop {
            if let Some(made) = self.outside.ledger.find_payment(&self.payer, tag, since).await? {
                return Ok(WasPaid::Yes(Box::new(made)));
            }
            if !is_shown {
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
