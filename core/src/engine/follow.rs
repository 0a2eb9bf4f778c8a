//! Follows stored bytes: sends, awaits and records them, or decides anew when they can no longer land.

use std::time::Duration;

use super::decide::{
    Decision, Payment, ROTATED, decide, frozen, full, insufficient, invalid_recipient,
    rejection_without_numbers,
};
use super::error::PaymentError;
use super::task::{End, PaymentTask, Step, Stepped, WasPaid};
use crate::crash_point;
use crate::{
    Address, ChainView, Checks, FailureCode, GivesBack, Outcome, PaymentMade, Refusal, RejectionReason,
    Transfer, TransferState, happened_at,
};

/// How long to await the outcome before noting that the bytes were sent; a faster outcome says so itself.
const NOTED_AFTER: Duration = Duration::from_millis(20);
/// How often a transfer may be signed after its bytes expired.
const EXPIRED_MAX: u32 = 2;
/// How often a transfer may be signed in all, as what it names changes.
const SIGNATURES_MAX: u32 = 10;

impl PaymentTask {
    /// From stored bytes to their outcome.
    pub(super) async fn follow(&mut self, mut transfer: Transfer) -> Stepped {
        let Some(signed) = transfer.state.signed().cloned() else { return Ok(Step::Left(transfer)) };
        if self.signatures == 0 {
            // A resumed transfer: its bytes may or may not have been sent.
            self.signatures = 1;
        }
        crash_point!("send.before");
        if let Err(error) = self.chain.send(&signed).await {
            // A failed send does not say whether the bytes land; only the outcome does.
            tracing::info!(transfer_id = %transfer.id, %error, "no answer to a send");
        }
        crash_point!("send.after");
        let chain = self.chain.clone();
        let outcome = chain.outcome(&signed);
        let noted = tokio::time::sleep(NOTED_AFTER);
        tokio::pin!(outcome, noted);
        let mut is_noted = false;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut outcome => break outcome,
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
                let Some(block) = self.time_of(slot).await else { return Ok(Step::Left(transfer)) };
                let settled_at = happened_at(block, Some(transfer.id));
                let number = chain.logged_number(&signed, transfer.id.bytes());
                self.settle(transfer, signed.signature.clone(), slot, settled_at, number).await
            }
            Outcome::Refused(Refusal::TagsFull | Refusal::AuthorityRotated | Refusal::BoundsChanged)
                if self.signatures < SIGNATURES_MAX =>
            {
                self.sign_anew(transfer).await
            }
            Outcome::Refused(refusal) => self.refused(transfer, refusal).await,
            Outcome::Failed { code, message } => {
                tracing::warn!(transfer_id = %transfer.id, ?code, message, "a transfer failed on the chain");
                let code = code.map_or(String::new(), |code| format!(" (program error {code})"));
                let message =
                    format!("The transfer reached the chain and failed there{code}; nothing was paid.");
                let destination = self.stored_destination(&transfer).await?;
                let failure = self.failure(FailureCode::TransferFailed, message);
                self.end_unpaid(transfer, destination, End::Failed(failure)).await
            }
            Outcome::Expired if self.signatures < EXPIRED_MAX => {
                self.has_expired = true;
                self.sign_anew(transfer).await
            }
            Outcome::Expired => self.expired(transfer).await,
        }
    }

    /// The bytes can no longer land, and nothing shows that they did.
    async fn sign_anew(&mut self, transfer: Transfer) -> Stepped {
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

    /// A view of the account in which the transfer is unpaid for good, or the step that follows from another. For transfers none of whose
    /// present bytes can land; of earlier ones, which a fork may bring back, this waits for the end.
    pub(super) async fn view_unpaid(
        &mut self,
        transfer: &Transfer,
        destination: Address,
    ) -> Result<Result<ChainView, Step>, PaymentError> {
        let may_land = transfer.may_land_until().filter(|_| transfer.earlier_valid_until.is_some());
        if let Some(until) = may_land {
            while !self.chain.has_passed(until, self.signed_before).await.unwrap_or(false) {
                if !self.pauses().await {
                    return Ok(Err(Step::Left(transfer.clone())));
                }
            }
        }
        let view = loop {
            match self.read(&Payment::of(transfer, destination)).await {
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
            WasPaid::Unread => Err(self.await_payment(transfer).await?),
        })
    }

    /// The program refused what we had allowed: something changed in between.
    async fn refused(&mut self, transfer: Transfer, refusal: Refusal) -> Stepped {
        let destination = self.stored_destination(&transfer).await?;
        let failure = match refusal {
            // Other bytes paid it.
            Refusal::DuplicateTransfer => return self.find_duplicate(transfer, destination).await,
            // Or asked for too early, by a clock that was wrong: it is never signed again with that second.
            Refusal::TooOld => {
                let message = "Solana took the request for too old, or for one of later; nothing was paid for it. Send the same request again.";
                let code = FailureCode::SolanaUnavailable;
                return self.fail_if_unpaid(transfer, destination, code, message).await;
            }
            Refusal::TagsFull => {
                let frees_at = self.read(&Payment::of(&transfer, destination)).await.ok();
                full(frees_at.and_then(|view| view.frees_at(transfer.id.tag())), self.now())
            }
            Refusal::InsufficientBalance => {
                self.checks = self.checks.take().map(Checks::without_balance);
                insufficient(transfer.request.amount, None, self.now())
            }
            Refusal::SourceFrozen => {
                self.checks = self.checks.take().map(Checks::without_balance);
                frozen(self.now())
            }
            Refusal::InvalidRecipient => {
                let message = "The recipient could no longer be paid when the transfer reached the chain.";
                invalid_recipient(message, self.now())
            }
            Refusal::GrantVoid => self.voided("The grant no longer covered it when it reached the chain."),
            Refusal::AuthorityRotated => self.failure(FailureCode::AuthorityRotated, ROTATED),
            Refusal::BoundsChanged => {
                let message = "What binds the account beside its policy changes as fast as it pays; nothing was paid. Send \
                               the same request again.";
                self.failure(FailureCode::SolanaUnavailable, message)
            }
            Refusal::AccountGone => {
                let is_closed = |view: ChainView| view.caps.budget.is_some_and(|budget| budget.is_closed);
                if self.read(&Payment::of(&transfer, destination)).await.is_ok_and(is_closed) {
                    return self.refused_by(transfer, destination, RejectionReason::BudgetExceeded).await;
                }
                let message =
                    "An account that it names was not there when it reached the chain; nothing was paid.";
                self.failure(FailureCode::TransferFailed, message)
            }
            Refusal::Rule(reason) => return self.refused_by(transfer, destination, reason).await,
        };
        self.end_unpaid(transfer, destination, End::Failed(failure)).await
    }

    /// The program refused it by a rule. That is for good, and other bytes may have been paid meanwhile.
    async fn refused_by(
        &mut self,
        transfer: Transfer,
        destination: Address,
        reason: RejectionReason,
    ) -> Stepped {
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

    /// The program knows a payment with its tag: that is the answer, and never that nothing was paid.
    pub(super) async fn find_duplicate(&mut self, transfer: Transfer, destination: Address) -> Stepped {
        match self.view_unpaid(&transfer, destination).await? {
            // A fork dropped that payment, or it was one of the day before.
            Ok(_) if self.signatures < SIGNATURES_MAX => self.sign_anew(transfer).await,
            Ok(_) => self.await_payment(transfer).await,
            Err(step) => Ok(step),
        }
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
}

const fn is_failed(transfer: &Transfer) -> bool {
    matches!(transfer.state, TransferState::Failed(_))
}
