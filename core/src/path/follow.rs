//! Follows stored bytes: sends, awaits and records them, or decides anew when they can no longer land.

use std::time::Duration;

use super::carrier::{Carrier, Step, Stepped};
use super::decide::{
    Decision, Payment, decide, frozen, insufficient, invalid_recipient, rejection_without_numbers,
};
use super::error::PaymentError;
use super::record::ROTATED;
use super::seen::WasPaid;
use crate::crash_point;
use crate::{
    Address, ChainView, Checks, FailureCode, GivesBack, IDEMPOTENCY_SECONDS, Outcome, PaymentMade, Refusal,
    RejectionReason, Transfer, TransferState, happened_at,
};

/// How long to await the outcome before noting that the bytes were sent; a faster outcome says so itself.
const NOTED_AFTER: Duration = Duration::from_millis(20);
/// How often a transfer may be signed. Each new signature needs bytes before it that can no longer land.
const SIGNATURES_MAX: u32 = 2;
/// Likewise, when others pay from the same account at the same time.
const STALE_SIGNATURES_MAX: u32 = 10;

impl Carrier {
    /// From stored bytes to their outcome.
    pub(super) async fn follow(&mut self, mut transfer: Transfer) -> Stepped {
        let Some(signed) = transfer.state.signed().cloned() else { return Ok(Step::Left(transfer)) };
        if self.signatures == 0 {
            // A resumed transfer: its bytes may or may not have been sent.
            self.signatures = 1;
            self.permit = self.wait_for_permit().await;
            if self.permit.is_none() {
                return Ok(Step::Left(transfer));
            }
        }
        crash_point!("send.before");
        if let Err(error) = self.chain.send(&signed).await {
            // A failed send does not say whether the bytes land; only the outcome does.
            tracing::info!(transfer_id = %transfer.id, %error, "no answer to a send");
        }
        crash_point!("send.after");
        let chain = self.chain.clone();
        let (outcome, confirmed) = (chain.outcome(&signed), chain.confirmed(&signed));
        let noted = tokio::time::sleep(NOTED_AFTER);
        tokio::pin!(outcome, confirmed, noted);
        let (mut is_noted, mut is_confirmed) = (false, false);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut outcome => break outcome,
                () = &mut confirmed, if !is_confirmed => {
                    // The account shows the payment from now on, so the next one may be signed.
                    is_confirmed = true;
                    self.permit = None;
                }
                () = &mut noted, if !is_noted => {
                    is_noted = true;
                    transfer = self.note_sent(transfer).await;
                }
                () = self.outside.stop.cancelled() => return Ok(Step::Left(transfer)),
            }
        };
        crash_point!("outcome.after");
        match outcome {
            Outcome::Settled { slot } => {
                self.permit = None;
                let Some(block) = self.time_of(slot).await else { return Ok(Step::Left(transfer)) };
                let settled_at = happened_at(block, Some(transfer.id));
                let number = chain.logged_number(&signed, transfer.id.bytes());
                self.settle(transfer, signed.signature.clone(), slot, settled_at, number).await
            }
            Outcome::Refused(Refusal::StaleSequence | Refusal::AuthorityRotated | Refusal::BoundsChanged)
                if self.signatures < STALE_SIGNATURES_MAX =>
            {
                self.sign_anew(transfer).await
            }
            Outcome::Refused(refusal) => self.refused(transfer, refusal).await,
            Outcome::Failed { code, message } => {
                tracing::warn!(transfer_id = %transfer.id, ?code, message, "a transfer failed on the chain");
                let code = code.map_or(String::new(), |code| format!(" (program error {code})"));
                let message =
                    format!("The transfer reached the chain and failed there{code}; nothing was paid.");
                self.fail(transfer, self.failure(FailureCode::TransferFailed, message)).await
            }
            Outcome::Expired if self.signatures < SIGNATURES_MAX => {
                self.has_expired = true;
                self.sign_anew(transfer).await
            }
            Outcome::Expired => self.expired(transfer).await,
        }
    }

    /// The bytes can no longer land, and nothing shows that they did.
    async fn sign_anew(&mut self, transfer: Transfer) -> Stepped {
        if self.is_outdated(&transfer).await {
            return self.expired(transfer).await;
        }
        tracing::info!(transfer_id = %transfer.id, "re-evaluating under the same tag");
        self.sign(transfer).await
    }

    /// Fails the transfer as expired for good, unless other bytes with its tag were paid.
    pub(super) async fn expired(&mut self, transfer: Transfer) -> Stepped {
        let destination = self.stored_destination(&transfer).await?;
        let message = "Solana did not take the transfer before it expired; nothing was paid. Send the same request again.";
        self.fail_if_unpaid(transfer, destination, FailureCode::TransferExpired, message).await
    }

    /// Fails the transfer, unless the chain shows that it was paid.
    pub(super) async fn fail_if_unpaid(
        &mut self,
        transfer: Transfer,
        destination: Address,
        code: FailureCode,
        message: &str,
    ) -> Stepped {
        match self.view_unpaid(&transfer, destination).await? {
            Ok(_) => self.fail(transfer, self.failure(code, message)).await,
            Err(step) => Ok(step),
        }
    }

    /// A view of the account in which the transfer is unpaid, or the step that follows from another.
    async fn view_unpaid(
        &mut self,
        transfer: &Transfer,
        destination: Address,
    ) -> Result<Result<ChainView, Step>, PaymentError> {
        let view = loop {
            match self.read(&destination).await {
                Ok(view) => break view,
                Err(error) => {
                    tracing::warn!(transfer_id = %transfer.id, %error, "cannot tell yet whether it landed");
                    if !self.pauses().await {
                        return Ok(Err(Step::Left(transfer.clone())));
                    }
                }
            }
        };
        let transfer = transfer.clone();
        Ok(match self.was_paid(&transfer, &view).await? {
            WasPaid::No => Ok(view),
            WasPaid::Yes(made) => Err(self.settle_as_made(transfer, destination, *made).await?),
            WasPaid::Unknown | WasPaid::OldView => Err(self.fail_unknown(transfer).await?),
        })
    }

    /// The program refused what we had allowed: something changed in between.
    async fn refused(&mut self, transfer: Transfer, refusal: Refusal) -> Stepped {
        let destination = self.stored_destination(&transfer).await?;
        let reason = match refusal {
            // Other bytes paid it; the account shows which.
            Refusal::DuplicateTransfer => return self.expired(transfer).await,
            Refusal::InsufficientBalance => {
                self.checks = self.checks.take().map(Checks::without_balance);
                let failure = insufficient(transfer.request.amount, None, self.now());
                return self.fail(transfer, failure).await;
            }
            Refusal::SourceFrozen => {
                self.checks = self.checks.take().map(Checks::without_balance);
                return self.fail(transfer, frozen(self.now())).await;
            }
            Refusal::InvalidRecipient => {
                let message = "The recipient could no longer be paid when the transfer reached the chain.";
                return self.fail(transfer, invalid_recipient(message, self.now())).await;
            }
            Refusal::GrantVoid => {
                return self
                    .void(transfer, "The grant no longer covered it when it reached the chain.")
                    .await;
            }
            Refusal::StaleSequence => {
                let message = "The account makes more payments at once than can be told apart; nothing was paid. Send \
                               the same request again.";
                return self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message)).await;
            }
            Refusal::AuthorityRotated => {
                return self.fail(transfer, self.failure(FailureCode::AuthorityRotated, ROTATED)).await;
            }
            Refusal::BoundsChanged => {
                let message = "What binds the account beside its policy changes as fast as it pays; nothing was paid. Send \
                               the same request again.";
                return self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message)).await;
            }
            Refusal::AccountGone => {
                let is_closed = |view: ChainView| view.bounds.budget.is_some_and(|budget| budget.is_closed);
                if !self.read(&destination).await.is_ok_and(is_closed) {
                    let message =
                        "An account that it names was not there when it reached the chain; nothing was paid.";
                    return self.fail(transfer, self.failure(FailureCode::TransferFailed, message)).await;
                }
                RejectionReason::BudgetExceeded
            }
            Refusal::Rule(reason) => reason,
        };
        // A refusal is for good, and after a restore our records may lack other bytes that were paid meanwhile.
        let view = match self.view_unpaid(&transfer, destination).await? {
            Ok(view) => view,
            Err(step) => return Ok(step),
        };
        // The program's code carries no numbers, so decide again from the current state.
        let rejection = match decide(&view, &Payment::of(&transfer, destination), self.now()) {
            (Decision::Rejected(rejection), _) if rejection.reason == reason => rejection,
            (_, checks) => rejection_without_numbers(reason, checks, self.now()),
        };
        self.reject(transfer, rejection).await
    }

    /// The chain holds a payment with the tag. It is the answer if it matches this transfer.
    pub(super) async fn settle_as_made(
        &mut self,
        transfer: Transfer,
        destination: Address,
        made: PaymentMade,
    ) -> Stepped {
        crash_point!("duplicate.before");
        let other = self.settled_by(&transfer, &made).await?;
        if let Some(other) = &other
            && self.is_of_another_day(&transfer, other).await
        {
            return self.fail_unknown(transfer).await;
        }
        if let Some(paid) = other.filter(|other| other.request == transfer.request) {
            // Another try, given up earlier, was paid after all. One payment settles one transfer: that try is the answer.
            let message = format!("Another try under this key, {}, was paid.", paid.id);
            return Ok(match self.give_up(transfer, message, GivesBack::ItsUse).await? {
                Step::Took(given_up) if is_failed(&given_up) => Step::Took(paid),
                step => step,
            });
        }
        if transfer.equals(&made, Some(destination)) {
            return self.settle(transfer, made.signature, made.slot, made.made_at, None).await;
        }
        tracing::error!(transfer_id = %transfer.id, signature = made.signature,
            "a payment carries a transfer's tag and is not that transfer");
        self.outside.observer.contradicted(&transfer);
        let message =
            format!("The idempotency key was used on the chain for another transfer, {}.", made.signature);
        // The key is free from this moment: otherwise the claim would answer 409 to the request that made this payment.
        match self.give_up(transfer, message, GivesBack::TheKey).await? {
            Step::Took(given_up) if is_failed(&given_up) => Err(PaymentError::KeyPaidElsewhere),
            step => Ok(step),
        }
    }

    /// Another transfer of ours that this payment has settled.
    async fn settled_by(
        &self,
        transfer: &Transfer,
        made: &PaymentMade,
    ) -> Result<Option<Transfer>, PaymentError> {
        if made.transfer_id == transfer.id {
            return Ok(None);
        }
        let found = self.outside.ledger.find_transfer(self.payer.operator_id, made.transfer_id).await?;
        let is_settled_by_it = |paid: &Transfer| matches!(&paid.state, TransferState::Settled(by) if by.signature == made.signature);
        Ok(found.filter(is_settled_by_it))
    }

    /// Whether the key was perhaps free again when this transfer took it. By the records alone: this host and the chain disagree about the
    /// time, and another host that began the transfer may know it.
    async fn is_of_another_day(&self, transfer: &Transfer, paid: &Transfer) -> bool {
        let free_from = paid.updated_at.after(Duration::from_secs(IDEMPOTENCY_SECONDS.unsigned_abs()));
        free_from <= transfer.created_at && self.agreed_now().await.is_none()
    }
}

const fn is_failed(transfer: &Transfer) -> bool {
    matches!(transfer.state, TransferState::Failed(_))
}
