//! Records the steps of a transfer. The first recorded end stays.

use std::time::Duration;

use super::task::{PaymentTask, Step, Stepped};
use crate::crash_point;
use crate::{
    Failure, FailureCode, GivesBack, LedgerError, Rejection, Settlement, Timestamp, Transfer, TransferState,
    WrongState, agreed_now,
};

/// How long one query of the chain's time may take.
const TIME_PATIENCE: Duration = Duration::from_secs(1);
/// How often a settlement asks for its block's time, a second apart. A node that lists a payment usually knows it.
const TIME_QUESTIONS: u32 = 15;

impl PaymentTask {
    /// Final on the chain.
    pub(super) async fn settle(
        &self,
        transfer: Transfer,
        signature: String,
        slot: u64,
        settled_at: Timestamp,
        number: Option<u64>,
    ) -> Stepped {
        let settlement = Settlement { signature, settled_at, slot, number };
        crash_point!("settled.before");
        match self.mark(&transfer, transfer.state.settle(settlement)).await {
            Ok(transfer) => {
                crash_point!("settled.after");
                self.outside.observer.paid(&self.payer);
                Ok(Step::Took(transfer))
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// Refused by policy: for good, unless a person was asked. Then what the person approved does not cover it any more.
    pub(super) async fn reject(&mut self, transfer: Transfer, rejection: Rejection) -> Stepped {
        // The rejection holds its own checks.
        self.checks = None;
        if transfer.approval.requested().is_some() {
            return self.void(transfer, &rejection.message).await;
        }
        crash_point!("rejected.before");
        let recorded = self.mark(&transfer, transfer.state.reject(rejection)).await;
        crash_point!("rejected.after");
        self.recorded(transfer, recorded).await
    }

    /// What a person was asked, or approved, holds no longer.
    pub(super) async fn void(&self, transfer: Transfer, why: &str) -> Stepped {
        let failure = self.voided(why);
        self.fail(transfer, failure).await
    }

    pub(super) fn voided(&self, why: &str) -> Failure {
        let message = format!("{why} Nothing was paid. Send the same request again to have it decided anew.");
        self.failure(FailureCode::ApprovalVoid, message)
    }

    /// Ends without a payment.
    pub(super) async fn fail(&self, transfer: Transfer, failure: Failure) -> Stepped {
        crash_point!("failed.before");
        let recorded = self.mark(&transfer, transfer.state.fail(self.with_address(failure))).await;
        crash_point!("failed.after");
        self.recorded(transfer, recorded).await
    }

    /// Where the balance is too low, the failure says where to send USDC.
    pub(super) fn with_address(&self, mut failure: Failure) -> Failure {
        if failure.code == FailureCode::InsufficientBalance {
            failure.message.push_str(&format!(" Send it USDC at {}.", self.payer.addresses.token_account));
        }
        failure
    }

    /// Ends without a payment, since its key stands for something else.
    pub(super) async fn give_up(
        &self,
        transfer: Transfer,
        message: String,
        gives_back: GivesBack,
    ) -> Stepped {
        let failed = transfer.state.fail(self.failure(FailureCode::TransferFailed, message));
        crash_point!("failed.before");
        let failed = failed.map_err(LedgerError::from)?;
        let recorded = self.outside.ledger.give_up(&transfer, failed, gives_back, self.now()).await;
        crash_point!("failed.after");
        self.recorded(transfer, recorded).await
    }

    /// Nobody waits any longer, and our records hold no signature. After a restore they may lack one that was paid.
    pub(super) async fn fail_interrupted(&mut self, transfer: Transfer) -> Stepped {
        let message =
            "The service was away before it was signed; nothing was paid. Send the same request again.";
        match self.destination(&transfer.request.to).await? {
            Ok(destination) => {
                self.fail_if_unpaid(transfer, destination, FailureCode::Interrupted, message).await
            }
            Err(_) => self.fail(transfer, self.failure(FailureCode::Interrupted, message)).await,
        }
    }

    /// The chain says that it was paid, and our records do not hold that payment yet. It stays as it is until they do: nobody hears that
    /// nothing was paid.
    pub(super) async fn await_payment(&mut self, transfer: Transfer) -> Stepped {
        if self.hand_over.is_some() {
            // Somebody waits for bytes, and there will be none.
            let message = "It was paid before, and Solana does not show yet by which payment. Send the same request again.";
            return self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message)).await;
        }
        self.chain.look_again();
        self.again(transfer).await
    }

    /// Its next step is tried after a pause.
    pub(super) async fn again(&self, transfer: Transfer) -> Stepped {
        Ok(if self.pauses().await { Step::Took(transfer) } else { Step::Left(transfer) })
    }

    pub(super) fn failure(&self, code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), failed_at: self.now(), retry_at: None }
    }

    /// Notes that the bytes were sent, while their outcome is awaited. Without this note the bytes are only sent again.
    pub(super) async fn note_sent(&self, transfer: Transfer) -> Transfer {
        match transfer.state {
            TransferState::Signed(_) => {
                crash_point!("sent.before");
                let noted = self.mark(&transfer, transfer.state.send(self.now())).await;
                crash_point!("sent.after");
                noted.unwrap_or(transfer)
            }
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => transfer,
        }
    }

    /// Takes a step in our records.
    pub(super) async fn mark(
        &self,
        transfer: &Transfer,
        next: Result<TransferState, WrongState>,
    ) -> Result<Transfer, LedgerError> {
        self.outside.ledger.mark(transfer, next?, self.now()).await
    }

    pub(super) async fn recorded(
        &self,
        before: Transfer,
        recorded: Result<Transfer, LedgerError>,
    ) -> Stepped {
        match recorded {
            Ok(recorded) => Ok(Step::Took(recorded)),
            Err(error) => self.superseded(before, error).await,
        }
    }

    /// A step was not recorded. If another worker was faster, its record is the truth.
    pub(super) async fn superseded(&self, transfer: Transfer, error: LedgerError) -> Stepped {
        match error {
            LedgerError::Superseded => {
                let recorded = self.outside.ledger.find_transfer(self.payer.operator_id, transfer.id).await?;
                let recorded = recorded.unwrap_or(transfer);
                // Often the indexer, which read the payment sooner.
                if let TransferState::Settled(_) = recorded.state {
                    self.outside.observer.paid(&self.payer);
                    return Ok(Step::Took(recorded));
                }
                // If the transfer has not ended, the other worker goes on.
                Ok(Step::Left(recorded))
            }
            error => Err(error.into()),
        }
    }

    /// The time of the block. The history gives the payment the same time, and so does an answer after a database was
    /// lost. If no node reports it in the end, roughly now. `None` at a stop.
    pub(super) async fn time_of(&self, slot: u64) -> Option<Timestamp> {
        for _ in 0..TIME_QUESTIONS {
            let asked = tokio::time::timeout(TIME_PATIENCE, self.chain.block_time(slot)).await;
            if let Ok(Ok(Some(second))) = asked {
                return Some(Timestamp::from_unix_seconds(second));
            }
            if !self.pauses().await {
                return None;
            }
        }
        let now = tokio::time::timeout(TIME_PATIENCE, self.chain.now()).await;
        Some(now.ok().and_then(Result::ok).map_or_else(|| self.now(), Timestamp::from_unix_seconds))
    }

    pub(super) async fn agreed_now(&self) -> Option<i64> {
        agreed_now(&*self.chain, self.now()).await
    }

    pub(super) fn now(&self) -> Timestamp {
        self.outside.clock.now()
    }
}
