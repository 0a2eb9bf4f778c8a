//! The sweeper: finishes the transfers that a crash, a stop or a failing database left open.

use std::time::Duration;

use super::PaymentEngine;
use super::error::PaymentError;
use crate::crash_point;
use crate::{Network, Payer, Transfer, TransferState};

/// How long a silent process keeps a transfer.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How often a process renews its leases and looks for abandoned transfers. A third of the lease: two renewals may fail.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
const WAKE_DELAY: Duration = Duration::from_secs(1);
const ROWS_MAX: u32 = 200;

impl PaymentEngine {
    /// Wakes the sweeper.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Sweeps at once, by timer and when woken, until the stop.
    pub async fn sweep_until_stopped(&self) {
        loop {
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "cannot sweep open transfers; retrying later");
            }
            tokio::select! {
                biased;
                () = self.outside.stop.cancelled() => return,
                // Delayed, because whatever went wrong is probably still wrong.
                () = async { self.wake.notified().await; tokio::time::sleep(WAKE_DELAY).await } => {}
                () = tokio::time::sleep(SWEEP_EVERY) => {}
            }
        }
    }

    /// One pass: renews what this process carries, and takes over what no living process does. If two processes ever
    /// follow one transfer, no harm is done: the bytes are the same, and the first recorded end stays.
    pub async fn sweep(&self) -> Result<(), PaymentError> {
        let lease = || self.outside.clock.now().after(LEASE);
        for (operator, ids) in self.pending.ids() {
            self.outside.ledger.renew_leases(operator, &ids, lease()).await?;
        }
        let networks: Vec<Network> = self.outside.chains.keys().copied().collect();
        for network in networks {
            let mut waiting = Vec::new();
            loop {
                let now = self.outside.clock.now();
                let open = self.outside.ledger.take_unfinished(network, now, lease(), ROWS_MAX).await?;
                if open.is_empty() {
                    break;
                }
                for transfer in open {
                    let id = transfer.id;
                    let taken = match self.payer_of(&transfer).await {
                        Ok(payer) if matches!(transfer.state, TransferState::PendingApproval(_)) => {
                            waiting.push((payer, transfer));
                            Ok(())
                        }
                        Ok(payer) => self.take_up(payer, transfer),
                        Err(error) => Err(error),
                    };
                    if let Err(error) = taken {
                        tracing::warn!(transfer_id = %id, %error, "cannot take up an open transfer");
                    }
                }
            }
            if !waiting.is_empty() {
                let this = self.clone();
                // A slow node must not keep this from renewing leases.
                self.outside.tasks.start(Box::pin(async move { this.look_at(network, waiting).await }));
            }
        }
        Ok(())
    }

    async fn payer_of(&self, transfer: &Transfer) -> Result<Payer, PaymentError> {
        let payer = self.outside.ledger.find_payer(transfer).await?;
        payer.ok_or(PaymentError::Inconsistent("its payer is unknown"))
    }

    pub(super) fn take_up(&self, payer: Payer, transfer: Transfer) -> Result<(), PaymentError> {
        let key = &transfer.idempotency_key;
        let place = self.pending.take_place(payer.operator_id, payer.account_id, key);
        let Some(pending) = self.pending.begin(transfer.id, place) else { return Ok(()) };
        crash_point!("take_up.before");
        // One that waits for a person is taken up whenever something may have changed for it.
        if !matches!(transfer.state, TransferState::PendingApproval(_)) {
            tracing::info!(transfer_id = %transfer.id, state = transfer.state.as_str(), "taking up an open transfer");
        }
        let task = self.task(payer)?;
        self.carry(pending, task, transfer);
        Ok(())
    }
}
