//! Steps of transfers by name, for tests: the payment engine takes each by `mark`.

use purser_core::GivesBack;

use super::{Result, Transfers};
use purser_model::{Failure, Rejection, Settlement, SignedTransfer, Timestamp, Transfer};

impl Transfers {
    pub async fn mark_signed(
        &self,
        transfer: &Transfer,
        signed: SignedTransfer,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.mark(transfer, transfer.state.sign(signed)?, now).await
    }

    pub async fn mark_sent(&self, transfer: &Transfer, now: Timestamp) -> Result<Transfer> {
        self.mark(transfer, transfer.state.send(now)?, now).await
    }

    pub async fn mark_settled(
        &self,
        transfer: &Transfer,
        settlement: Settlement,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.mark(transfer, transfer.state.settle(settlement)?, now).await
    }

    pub async fn mark_rejected(
        &self,
        transfer: &Transfer,
        rejection: Rejection,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.mark(transfer, transfer.state.reject(rejection)?, now).await
    }

    pub async fn mark_failed(
        &self,
        transfer: &Transfer,
        failure: Failure,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.mark(transfer, transfer.state.fail(failure)?, now).await
    }

    pub async fn mark_given_up(
        &self,
        transfer: &Transfer,
        failure: Failure,
        gives_back: GivesBack,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.step(transfer, transfer.state.fail(failure)?, Some(gives_back), now).await
    }
}
