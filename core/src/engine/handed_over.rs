//! Follows bytes that others send: hands them over, then watches the chain for their payment. We never send them, and
//! sign nothing else for the transfer while they may land.

use std::time::Duration;

use tokio::time::Instant;

use super::task::{PaymentTask, Step, Stepped};
use crate::crash_point;
use crate::{Address, FailureCode, Transfer};

/// How often to check our records, at first. Later, once in a twentieth of the time since: most land at once or never.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often to ask the chain whether the bytes can still land.
const ASK_EVERY: Duration = Duration::from_secs(5);

impl PaymentTask {
    /// From stored bytes to their payment, or until they can no longer land.
    pub(super) async fn hand_over(&mut self, transfer: Transfer) -> Stepped {
        let Some(signed) = transfer.state.signed().cloned() else { return Ok(Step::Left(transfer)) };
        crash_point!("handed_over.before");
        if let Some(to) = self.hand_over.take() {
            // If the receiver is gone, the bytes expire.
            let _ = to.signed.send((transfer.id, signed.clone()));
        }
        let destination = self.stored_destination(&transfer).await?;
        let asked_after = transfer.asked_after();
        let signed_before = Instant::now();
        let mut asked_at = signed_before;
        loop {
            if let Some(made) =
                self.outside.ledger.find_payment(&self.payer, transfer.id.tag(), asked_after).await?
            {
                return self.settle_as_made(transfer, destination, made).await;
            }
            if asked_at.elapsed() >= ASK_EVERY {
                asked_at = Instant::now();
                self.chain.look_again();
                match self.chain.has_passed(signed.last_valid_block_height, signed_before).await {
                    Ok(true) => return self.expired_elsewhere(transfer, destination).await,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::info!(transfer_id = %transfer.id, %error, "cannot tell yet whether it expired")
                    }
                }
            }
            let pause = tokio::time::sleep(LOOK_EVERY.max(signed_before.elapsed() / 20));
            if self.outside.stop.run_until_cancelled(pause).await.is_none() {
                return Ok(Step::Left(transfer));
            }
        }
    }

    /// The bytes can no longer land. If whoever holds them has refused them, that is how the transfer ends.
    async fn expired_elsewhere(&mut self, transfer: Transfer, destination: Address) -> Stepped {
        let stored = self.outside.ledger.find_transfer(self.payer.operator_id, transfer.id).await?;
        match stored.and_then(|stored| stored.refusal) {
            Some(refusal) => {
                let message = format!("{refusal} Nothing was paid.");
                self.fail_if_unpaid(transfer, destination, FailureCode::PaymentRefused, &message).await
            }
            None => self.expired(transfer).await,
        }
    }
}
