//! One transfer from its stored bytes to its end: send, wait, record; and decide anew where they can no longer land.

use std::time::Duration;

use super::carry::{Carrier, Signing, order};
use super::decide::{Decision, decide, insufficient, invalid_recipient, rejection_without_numbers};
use super::flights::{Ended, Landing};
use super::known::Place;
use crate::chain::{ChainError, Outcome, Refusal};
use crate::crash_point::crash_point;
use crate::domain::{Address, Checks, FailureCode, RejectionReason, Transfer};
use crate::service::ServiceError;
use crate::service::signers::ROTATED;

/// An outcome that comes sooner than this says too that the bytes went out.
const NOTED_AFTER: Duration = Duration::from_millis(20);
/// How long to wait before the chain is asked again for what it did not tell.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How far our clock may be ahead of the chain's.
const CLOCKS_DIFFER_SECONDS: i64 = 900;
/// How often one transfer is signed: anew only after the bytes before can no longer land.
const SIGNATURES_MAX: u32 = 2;
/// The same where others make payments from the same account at the same time.
const STALE_SIGNATURES_MAX: u32 = 10;

/// How bytes ended.
enum Followed {
    Ended(Ended),
    /// They can no longer land, and nothing was paid.
    Open(Transfer),
}

impl Carrier {
    /// From stored bytes to the end, by other bytes if need be. The place is held until then; a stop leaves the transfer to
    /// the next process.
    pub(super) async fn see_through(
        &self,
        mut transfer: Transfer,
        destination: Address,
        mut place: Option<Place>,
    ) -> Landing {
        let mut signature = 1;
        loop {
            transfer = match self.follow(transfer, destination, signature).await? {
                Followed::Ended(ended) => return Ok(ended),
                Followed::Open(transfer) => transfer,
            };
            tracing::info!(transfer_id = %transfer.id, "deciding anew under the same tag");
            self.disown(transfer.tag);
            transfer = match self.decide_and_sign(transfer, destination, &mut place).await? {
                Signing::Signed(transfer, _) => transfer,
                Signing::Ended(ended) => return Ok(ended),
            };
            signature += 1;
        }
    }

    async fn follow(
        &self,
        transfer: Transfer,
        destination: Address,
        signature: u32,
    ) -> Result<Followed, ServiceError> {
        let ended = |landing: Landing| landing.map(Followed::Ended);
        let Some(signed) = transfer.state.signed().cloned() else {
            return ended(Ok(Ended { transfer, checks: None }));
        };
        crash_point!("send.before");
        if let Err(error) = self.network.chain.send(&signed).await {
            // Says nothing about whether they land; the outcome does.
            tracing::info!(transfer_id = %transfer.id, %error, "a send went unanswered");
        }
        crash_point!("send.after");
        let mut outcome = Box::pin(async {
            tokio::select! {
                outcome = self.network.chain.outcome(&signed) => Some(outcome),
                () = self.parts.tasks.stop.cancelled() => None,
            }
        });
        let (transfer, outcome) = match tokio::time::timeout(NOTED_AFTER, &mut outcome).await {
            Ok(outcome) => (transfer, outcome),
            Err(_) => tokio::join!(self.note_sent(transfer), outcome),
        };
        let Some(outcome) = outcome else { return ended(Ok(Ended { transfer, checks: None })) };
        crash_point!("outcome.after");
        ended(match outcome {
            Outcome::Settled { slot, block_time } => {
                self.settle(transfer, signed.signature.clone(), slot, block_time).await
            }
            Outcome::Refused(Refusal::StaleSequence | Refusal::AuthorityRotated)
                if signature < STALE_SIGNATURES_MAX =>
            {
                return Ok(Followed::Open(transfer));
            }
            Outcome::Refused(refusal) => self.refused(transfer, destination, refusal).await,
            Outcome::Failed { code, message } => {
                tracing::warn!(transfer_id = %transfer.id, ?code, message, "a transfer failed on the chain");
                let code = code.map_or(String::new(), |code| format!(" (program error {code})"));
                let message =
                    format!("The transfer reached the chain and failed there{code}; nothing was paid.");
                self.fail(transfer, self.failure(FailureCode::TransferFailed, message), None).await
            }
            Outcome::Expired => match self.has_landed_unseen(&transfer, &destination).await {
                None => Ok(Ended { transfer, checks: None }),
                Some(true) => self.settle_as_landed(transfer, destination).await,
                Some(false) if signature < SIGNATURES_MAX => return Ok(Followed::Open(transfer)),
                Some(false) => {
                    let message = "Solana did not take the transfer before it expired; nothing was paid. Send the same \
                                   request again.";
                    self.fail(transfer, self.failure(FailureCode::TransferExpired, message), None).await
                }
            },
        })
    }

    /// Whether expired bytes did land, or others under their tag, though no node knows their signature: by the account and
    /// its history, which must show all that the account remembers. `None` at a stop.
    async fn has_landed_unseen(&self, transfer: &Transfer, destination: &Address) -> Option<bool> {
        let since = transfer.created_at.unix_seconds().saturating_sub(CLOCKS_DIFFER_SECONDS);
        let (agent, tag) = (&self.account.address, transfer.tag);
        let look = async || {
            let view = self.read(destination).await?;
            if view.tags.contains(tag, view.now) {
                return Ok(true);
            }
            let remembered: Vec<u64> = view.tags.remembered(view.now).collect();
            let landed = self.network.chain.find_landed_since(agent, tag, &remembered, since).await?;
            Ok::<_, ChainError>(landed.is_some())
        };
        loop {
            match look().await {
                Ok(has_landed) => return Some(has_landed),
                Err(error) => {
                    tracing::warn!(transfer_id = %transfer.id, %error, "cannot tell yet whether it landed");
                }
            }
            if !self.pauses().await {
                return None;
            }
        }
    }

    /// Waits before the chain is asked again. False at a stop.
    pub(super) async fn pauses(&self) -> bool {
        tokio::select! {
            () = tokio::time::sleep(ASK_AGAIN_AFTER) => true,
            () = self.parts.tasks.stop.cancelled() => false,
        }
    }

    /// The program said no after we said yes: something changed in between.
    async fn refused(&self, transfer: Transfer, destination: Address, refusal: Refusal) -> Landing {
        let reason = match refusal {
            Refusal::DuplicateTransfer => return self.settle_as_landed(transfer, destination).await,
            Refusal::InsufficientBalance => {
                let failure = insufficient(transfer.request.amount, None, self.now());
                return self.fail(transfer, failure, None).await;
            }
            Refusal::InvalidRecipient => {
                let message = "The recipient could no longer be paid when the transfer reached the chain.";
                return self.fail(transfer, invalid_recipient(message, self.now()), None).await;
            }
            Refusal::StaleSequence => {
                let message = "The account makes more payments at once than can be told apart; nothing was paid. Send \
                               the same request again.";
                let failure = self.failure(FailureCode::SolanaUnavailable, message);
                return self.fail(transfer, failure, None).await;
            }
            Refusal::AuthorityRotated => {
                return self.fail(transfer, self.failure(FailureCode::AuthorityRotated, ROTATED), None).await;
            }
            Refusal::Halted => RejectionReason::Halted,
            Refusal::Paused => RejectionReason::Paused,
            Refusal::MemoRequired => RejectionReason::MemoRequired,
            Refusal::MemoTooLong => RejectionReason::MemoTooLong,
            Refusal::RecipientNotAllowed => RejectionReason::RecipientNotAllowed,
            Refusal::SingleLimitExceeded => RejectionReason::SingleLimitExceeded,
            Refusal::DailyLimitExceeded => RejectionReason::DailyLimitExceeded,
        };
        // The program's code carries no numbers: decide once more by what is there now.
        let decided = match self.read(&destination).await {
            Ok(view) => Some(decide(&view, &order(transfer.tag, &transfer.request, destination), self.now())),
            Err(_) => None,
        };
        let rejection = match decided {
            Some((Decision::Rejected(rejection), _)) if rejection.reason == reason => rejection,
            Some((_, checks)) => rejection_without_numbers(reason, checks, self.now()),
            None => rejection_without_numbers(reason, Checks::default(), self.now()),
        };
        self.reject(transfer, rejection).await
    }
}
