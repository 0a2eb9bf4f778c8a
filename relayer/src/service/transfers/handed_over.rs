//! What becomes of bytes that others send: handed over, and awaited by what the chain says of their payment. They are never
//! sent from here, and nothing else is signed while they may land.

use std::time::Duration;

use tokio::time::Instant;

use super::carrier::{Carrier, Step, Stepped};
use crate::crash_point::crash_point;
use crate::domain::{IDEMPOTENCY_SECONDS, Timestamp, Transfer};

/// How often our records are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often the chain is asked whether the bytes can still land.
const ASK_EVERY: Duration = Duration::from_secs(5);

impl Carrier {
    /// From stored bytes to the payment that they made, or to where they can no longer land.
    pub(super) async fn hand_over(&mut self, transfer: Transfer) -> Stepped {
        let Some(signed) = transfer.state.signed().cloned() else { return Ok(Step::Left(transfer)) };
        crash_point!("handed_over.before");
        if let Some(to) = self.hand_over.take() {
            // Whoever asked may be gone: then they expire.
            let _ = to.signed.send((transfer.id, signed.clone()));
        }
        // Whether they land, and when, is for others to say: no place is kept for them.
        self.permit = None;
        let destination = self.stored_destination(&transfer).await?;
        let since = self.agreed_now().await.map(|now| now.saturating_sub(IDEMPOTENCY_SECONDS));
        let since = since.map(Timestamp::from_unix_seconds);
        let mut asked_at = Instant::now();
        loop {
            let known = self.parts.store.find_payment(&self.account, transfer.id.tag(), since).await?;
            if let Some(made) = known.made {
                return self.settle_as_made(transfer, destination, made).await;
            }
            if asked_at.elapsed() >= ASK_EVERY {
                asked_at = Instant::now();
                self.network.chain.look_again();
                match self.network.chain.has_passed(signed.last_valid_block_height).await {
                    Ok(true) => return self.expired(transfer).await,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::info!(transfer_id = %transfer.id, %error, "cannot tell yet whether it expired")
                    }
                }
            }
            let pause = tokio::time::sleep(LOOK_EVERY);
            if self.parts.tasks.stop.run_until_cancelled(pause).await.is_none() {
                return Ok(Step::Left(transfer));
            }
        }
    }
}
