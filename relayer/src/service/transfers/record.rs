//! How a step of a transfer is written down. The first end that is recorded stays.

use std::time::Duration;

use super::balances::paid_by;
use super::carry::Carrier;
use super::flights::{Ended, Landing};
use crate::crash_point::crash_point;
use crate::domain::{Checks, Failure, Rejection, Settlement, Timestamp, Transfer, TransferState};
use crate::store::{Settled, StoreError};

/// How long a settlement waits for its block's time.
const BLOCK_TIME_PATIENCE: Duration = Duration::from_secs(1);

impl Carrier {
    /// Final on the chain.
    pub(super) async fn settle(
        &self,
        transfer: Transfer,
        signature: String,
        slot: u64,
        block_time: Option<i64>,
    ) -> Landing {
        let settled_at = match block_time {
            Some(second) => Timestamp::from_unix_seconds(second),
            None => self.time_of(slot).await,
        };
        let settlement = Settlement { signature, settled_at, slot };
        let paid = paid_by(&transfer, settled_at);
        crash_point!("settled.before");
        match self.parts.store.mark_settled(&transfer, settlement, self.now()).await {
            Ok(Settled { transfer, is_watched }) => {
                crash_point!("settled.after");
                if is_watched {
                    self.look_at_balance(paid);
                }
                Ok(Ended { transfer, checks: None })
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// Refused by policy.
    pub(super) async fn reject(&self, transfer: Transfer, rejection: Rejection) -> Landing {
        crash_point!("rejected.before");
        match self.parts.store.mark_rejected(&transfer, rejection, self.now()).await {
            Ok(transfer) => {
                crash_point!("rejected.after");
                self.disown(transfer.tag);
                Ok(Ended { transfer, checks: None })
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// Ends without a payment.
    pub(super) async fn fail(&self, transfer: Transfer, failure: Failure, checks: Option<Checks>) -> Landing {
        crash_point!("failed.before");
        match self.parts.store.mark_failed(&transfer, failure, self.now()).await {
            Ok(transfer) => {
                crash_point!("failed.after");
                self.disown(transfer.tag);
                Ok(Ended { transfer, checks })
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// Notes that the bytes went out, while their outcome is awaited. Only a note: without it the bytes are sent again.
    pub(super) async fn note_sent(&self, transfer: Transfer) -> Transfer {
        match transfer.state {
            TransferState::Signed(_) => {
                crash_point!("sent.before");
                let noted = self.parts.store.mark_sent(&transfer, self.now()).await;
                crash_point!("sent.after");
                noted.unwrap_or(transfer)
            }
            TransferState::Claimed
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => transfer,
        }
    }

    /// A step was not recorded. If another worker was faster, what it recorded is the truth.
    pub(super) async fn superseded(&self, transfer: Transfer, error: StoreError) -> Landing {
        match error {
            StoreError::Superseded => {
                let recorded = self.parts.store.find_transfer(self.operator.id, transfer.id).await?;
                Ok(Ended { transfer: recorded.unwrap_or(transfer), checks: None })
            }
            error => Err(error.into()),
        }
    }

    /// When the block was made, as everybody else reads it too. Where the node does not say at once, about now; the
    /// indexer puts history right later.
    async fn time_of(&self, slot: u64) -> Timestamp {
        match tokio::time::timeout(BLOCK_TIME_PATIENCE, self.network.chain.block_time(slot)).await {
            Ok(Ok(Some(second))) => Timestamp::from_unix_seconds(second),
            Ok(Ok(None) | Err(_)) | Err(_) => self.chain_now().await,
        }
    }

    pub(super) async fn chain_now(&self) -> Timestamp {
        match self.network.chain.now().await {
            Ok(second) => Timestamp::from_unix_seconds(second),
            Err(_) => self.now(),
        }
    }
}
