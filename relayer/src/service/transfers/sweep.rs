//! The sweeper: finishes the transfers that a crash, a stop or a failing database left open.

use std::time::Duration;

use super::Transfers;
use super::carrier::Carrier;
use crate::crash_point::crash_point;
use crate::domain::Transfer;
use crate::service::ServiceError;

/// How long a silent process keeps a transfer; also how long a transfer may take from the claim to the signature.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How often a process renews its leases and looks for abandoned transfers. A third of the lease: two renewals may fail.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
const WAKE_DELAY: Duration = Duration::from_secs(1);
const ROWS_MAX: u32 = 200;

impl Transfers {
    /// Wakes the sweeper.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Sweeps at once, by timer and when woken, until the stop.
    pub(in crate::service) fn sweep_until_stopped(&self) {
        let this = self.clone();
        let stop = self.parts.tasks.stop.clone();
        self.parts.tasks.keep("sweeper", async move {
            if let Err(error) = this.parts.store.release_orphaned_leases(this.parts.ambient.now()).await {
                tracing::warn!(%error, "cannot release the previous process's leases; they will expire");
            }
            loop {
                if let Err(error) = this.sweep().await {
                    tracing::warn!(%error, "cannot sweep open transfers; retrying later");
                }
                tokio::select! {
                    () = stop.cancelled() => return,
                    // Delayed, because whatever went wrong is probably still wrong.
                    () = async { this.wake.notified().await; tokio::time::sleep(WAKE_DELAY).await } => {}
                    () = tokio::time::sleep(SWEEP_EVERY) => {}
                }
            }
        });
    }

    /// One pass: renews what this process carries, and takes over what no living process does. If two processes ever
    /// follow one transfer, no harm is done: the bytes are the same, and the first recorded end stays.
    pub(in crate::service) async fn sweep(&self) -> Result<(), ServiceError> {
        let store = &self.parts.store;
        let lease = || self.parts.ambient.now().after(LEASE);
        for (operator, ids) in self.pending.ids() {
            store.renew_leases(operator, &ids, lease()).await?;
        }
        for network in self.parts.chains.networks() {
            loop {
                let now = self.parts.ambient.now();
                let open = store.take_unfinished_transfers(network, now, lease(), ROWS_MAX).await?;
                if open.is_empty() {
                    break;
                }
                for transfer in open {
                    let id = transfer.id;
                    if let Err(error) = self.take_up(transfer).await {
                        tracing::warn!(transfer_id = %id, %error, "cannot take up an open transfer");
                    }
                }
            }
        }
        Ok(())
    }

    async fn take_up(&self, transfer: Transfer) -> Result<(), ServiceError> {
        let network = self.parts.chains.get(transfer.network)?.clone();
        let store = &self.parts.store;
        let operator = store.find_operator(transfer.operator_id).await?.ok_or(ServiceError::Internal)?;
        let account = store.find_account(operator.id, transfer.request.from).await?;
        let account = account.ok_or(ServiceError::Internal)?;
        let place =
            self.pending.take_place(operator.id, transfer.request.from, &transfer.request.idempotency_key);
        let Some(pending) = self.pending.begin(transfer.id, place) else { return Ok(()) };
        crash_point!("take_up.before");
        tracing::info!(transfer_id = %transfer.id, state = transfer.state.as_str(), "taking up an open transfer");
        let carrier = Carrier::new(self.parts.clone(), network, operator, account, self.payments.clone());
        self.carry(pending, carrier.run(transfer));
        Ok(())
    }
}
