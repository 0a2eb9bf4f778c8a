//! The sweeper: finishes the transfers that a crash, a stop or a failing database left open.

use std::time::Duration;

use super::Transfers;
use super::carry::Carrier;
use crate::domain::{FailureCode, Transfer, TransferState};
use crate::service::ServiceError;

const SWEEP_EVERY: Duration = Duration::from_secs(10);
const WAKE_DELAY: Duration = Duration::from_secs(1);
const ROWS_MAX: u32 = 200;

impl Transfers {
    /// Has the sweeper look at once.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Sweeps at once, by timer and when woken, until the stop.
    pub(in crate::service) fn sweep_until_stopped(&self) {
        let this = self.clone();
        let stop = self.parts.tasks.stop.clone();
        self.parts.tasks.start(async move {
            loop {
                if let Err(error) = this.sweep().await {
                    tracing::warn!(%error, "open transfers could not be swept; trying again later");
                }
                tokio::select! {
                    () = stop.cancelled() => return,
                    // Not at once: whatever went wrong is likely to be wrong still.
                    () = async { this.wake.notified().await; tokio::time::sleep(WAKE_DELAY).await } => {}
                    () = tokio::time::sleep(SWEEP_EVERY) => {}
                }
            }
        });
    }

    /// One pass. Following what another process follows too does no harm: the bytes are the same, and the first end
    /// that is recorded stays.
    pub(in crate::service) async fn sweep(&self) -> Result<(), ServiceError> {
        for network in self.parts.chains.networks() {
            let mut after = None;
            loop {
                let now = self.parts.ambient.now();
                let open = self.parts.store.list_unfinished_transfers(network, now, after, ROWS_MAX).await?;
                let Some(last) = open.last() else { break };
                after = Some(last.id);
                for transfer in open {
                    self.take_up(transfer).await?;
                }
            }
        }
        Ok(())
    }

    async fn take_up(&self, transfer: Transfer) -> Result<(), ServiceError> {
        let interrupted = match &transfer.state {
            TransferState::Claimed => true,
            TransferState::Signed(_) | TransferState::Sent { .. } => false,
            TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => {
                return Ok(());
            }
        };
        let network = self.parts.chains.get(transfer.network)?;
        let store = &self.parts.store;
        let operator = store.find_operator(transfer.operator_id).await?.ok_or(ServiceError::Internal)?;
        let account = store.find_account(operator.id, transfer.request.from).await?;
        let account = account.ok_or(ServiceError::Internal)?;
        let Some(flight) = self.flights.begin(transfer.id) else { return Ok(()) };
        tracing::info!(transfer_id = %transfer.id, state = transfer.state.as_str(), "taking up an open transfer");
        let carrier = Carrier { parts: self.parts.clone(), network: network.clone(), operator, account };
        self.fly(flight, async move {
            if interrupted {
                let message = "The service stopped before the transfer was signed; nothing was paid. Send the same \
                               request again.";
                let failure = carrier.failure(FailureCode::Interrupted, message);
                return carrier.fail(transfer, failure, None).await;
            }
            carrier.carry_on(transfer).await
        });
        Ok(())
    }
}
