//! One transfer from its claim to its end: read, decide, sign, store, send, wait, record.
//! Whatever happens between two of these steps, the sweeper goes on from what is stored.
//!
//! Where all that the decision needs is known, it is signed ahead, and stored with the claim: one write instead of two. A
//! claim that is not ours to carry out throws the signature away.

use std::time::Duration;

use super::decide::{Decision, Order, decide, insufficient, invalid_recipient, rejection_without_numbers};
use super::flights::{Ended, Landing};
use super::known::{KnownTags, Place, Unknowable};
use crate::chain::{ChainError, LandedTransfer, Outcome, Refusal, TransferOrder, TransferView};
use crate::crash_point::crash_point;
use crate::domain::{
    Account, Address, Checks, Failure, FailureCode, Operator, Recipient, RejectionReason, SignedTransfer,
    Timestamp, Transfer, TransferId, TransferRequest,
};
use crate::service::accounts::addresses;
use crate::service::{NetworkParts, Parts, ServiceError};
use crate::store::NewTransfer;

/// An outcome that comes sooner than this says too that the bytes went out.
const NOTED_AFTER: Duration = Duration::from_millis(20);
/// How long to wait before the chain is asked again what other bytes would rest on.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How far our clock may be ahead of the chain's.
const CLOCKS_DIFFER_SECONDS: i64 = 900;
/// How often one transfer is signed: anew only after the bytes before can no longer land.
const SIGNATURES_MAX: u32 = 2;
/// How often at most where others make payments from the same account at the same time.
const STALE_SIGNATURES_MAX: u32 = 10;

/// Everything that carrying out transfers of one account needs.
pub(super) struct Carrier {
    pub parts: Parts,
    pub network: NetworkParts,
    pub operator: Operator,
    pub account: Account,
    pub known: KnownTags,
}

/// A payment that was signed before its claim.
pub(super) struct SignedAhead {
    pub signed: SignedTransfer,
    destination: Address,
    checks: Checks,
    place: Place,
}

impl Carrier {
    /// Signs what is about to be claimed, if nobody needs to be asked whether it may be paid.
    pub(super) async fn sign_ahead(&self, asked: &NewTransfer) -> Option<SignedAhead> {
        let destination = self.destination(&asked.request.to).await.ok()?.ok()?;
        let place = self.try_place()?;
        let (view, checks) = self.clearly_allowed(&order(asked.tag, &asked.request, destination))?;
        if !self.own_if_unpaid(asked.tag, &view) {
            return None;
        }
        let order = self.transfer_order(asked.id, asked.tag, &asked.request, destination, &view);
        match self.network.chain.sign_transfer(&order).await {
            Ok(signed) => Some(SignedAhead { signed, destination, checks, place }),
            Err(_) => {
                self.disown(asked.tag);
                None
            }
        }
    }

    /// The claim is not ours to carry out.
    pub(super) fn discard(&self, tag: u64, signed: &SignedTransfer) {
        self.network.chain.discard(signed);
        self.disown(tag);
    }

    /// From a claim on that has stored the signature.
    pub(super) async fn carry_out_signed(&self, transfer: Transfer, ahead: SignedAhead) -> Landing {
        let SignedAhead { destination, checks, place: _place, .. } = ahead;
        let landing = self.follow(transfer, destination, 1).await?;
        Ok(landing.with_checks(checks))
    }

    /// From the claim on.
    pub(super) async fn carry_out(&self, transfer: Transfer) -> Landing {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) => return self.fail(transfer, invalid_recipient(message, self.now()), None).await,
        };
        crash_point!("read.before");
        // What is known without asking is enough to go on by; nothing is refused before the chain was asked.
        let place = self.try_place();
        if place.is_some()
            && let Some((view, checks)) =
                self.clearly_allowed(&order(transfer.tag, &transfer.request, destination))
        {
            crash_point!("read.after");
            return self.pay(transfer, destination, &view, checks, 1).await;
        }
        self.carry_out_by_reading(transfer, destination, place.is_some(), 1).await
    }

    /// From the chain's word on: at first, and again before other bytes are signed. What waits for a place reads once more
    /// when it has one.
    async fn carry_out_by_reading(
        &self,
        transfer: Transfer,
        destination: Address,
        holds_place: bool,
        signature: u32,
    ) -> Landing {
        let mut place = None;
        loop {
            let read_at = self.now();
            let view = match self.read(&destination).await {
                Ok(view) => view,
                Err(error) if signature == 1 => return self.fail_unsigned(transfer, &error).await,
                Err(error) => {
                    tracing::warn!(transfer_id = %transfer.id, %error, "cannot decide anew yet");
                    tokio::select! {
                        () = tokio::time::sleep(READ_AGAIN_AFTER) => continue,
                        () = self.parts.tasks.stop.cancelled() => return Ok(Ended { transfer, checks: None }),
                    }
                }
            };
            crash_point!("read.after");
            let order = order(transfer.tag, &transfer.request, destination);
            let (decision, checks) = decide(&view, &order, self.now());
            match decision {
                Decision::AlreadyMade => return self.settle_as_landed(transfer, destination).await,
                Decision::Rejected(rejection) => return self.reject(transfer, rejection).await,
                Decision::Failing(failure, checks) => return self.fail(transfer, failure, checks).await,
                Decision::Sign => self.note_balance(view.agent.balance, read_at).await,
            }
            if holds_place || place.is_some() {
                return self.pay(transfer, destination, &view, checks, signature).await;
            }
            place = self.place().await;
            if place.is_none() {
                return Ok(Ended { transfer, checks: None });
            }
        }
    }

    /// From stored bytes on, after a crash or a stop.
    pub(super) async fn carry_on(&self, transfer: Transfer) -> Landing {
        let destination = self.destination(&transfer.request.to).await?.map_err(|reason| {
            tracing::error!(transfer_id = %transfer.id, reason, "a signed transfer lost its recipient");
            ServiceError::Internal
        })?;
        let Some(_place) = self.place().await else { return Ok(Ended { transfer, checks: None }) };
        self.follow(transfer, destination, 1).await
    }

    /// The token account to pay, or why there is none.
    pub(super) async fn destination(&self, to: &Recipient) -> Result<Result<Address, String>, ServiceError> {
        let destination = match to {
            Recipient::Unreadable(_) => {
                return Ok(Err("The recipient is neither an account id nor a Solana address.".into()));
            }
            Recipient::TokenAccount(address) => *address,
            Recipient::Agent(id) => match self.parts.store.find_account(self.operator.id, *id).await? {
                Some(account) => account.token_account,
                None => return Ok(Err("The recipient is not an account of this service.".into())),
            },
        };
        if destination == self.account.token_account {
            return Ok(Err("The recipient is the account that pays.".into()));
        }
        Ok(Ok(destination))
    }

    /// Everything that the decision rests on, at one slot.
    pub(super) async fn read(&self, destination: &Address) -> Result<TransferView, ChainError> {
        let agent = addresses(&self.account);
        self.network.chain.read_for_transfer(&self.operator.address, &agent, destination).await
    }

    /// The view and what every rule says to it, if all that is needed is known and the transfer would be signed by it.
    fn clearly_allowed(&self, order: &Order) -> Option<(TransferView, Checks)> {
        let agent = addresses(&self.account);
        let view =
            self.network.chain.known_for_transfer(&self.operator.address, &agent, &order.destination)?;
        match decide(&view, order, self.now()) {
            (Decision::Sign, checks) => Some((view, checks)),
            (Decision::AlreadyMade | Decision::Rejected(_) | Decision::Failing(..), _) => None,
        }
    }

    /// Pays, unless that was done before and forgotten.
    async fn pay(
        &self,
        transfer: Transfer,
        destination: Address,
        view: &TransferView,
        checks: Checks,
        signature: u32,
    ) -> Landing {
        match self.was_paid_before(&transfer, view).await {
            Ok(false) => {}
            Ok(true) => return self.settle_as_landed(transfer, destination).await,
            Err(Unknowable::Chain(error)) => {
                tracing::warn!(transfer_id = %transfer.id, %error, "what was paid before cannot be read");
                let message =
                    "Solana does not show yet whether this was paid before. Send the same request again.";
                return self
                    .fail(transfer, self.failure(FailureCode::SolanaUnavailable, message), None)
                    .await;
            }
            Err(Unknowable::Service(error)) => return Err(error),
        }
        let landing = self.sign_and_follow(transfer, destination, view, signature).await?;
        Ok(landing.with_checks(checks))
    }

    fn transfer_order(
        &self,
        id: TransferId,
        tag: u64,
        request: &TransferRequest,
        destination: Address,
        view: &TransferView,
    ) -> TransferOrder {
        let order = order(tag, request, destination);
        TransferOrder {
            operator: self.operator.address,
            agent: addresses(&self.account),
            destination,
            transfer_id: id.bytes(),
            tag,
            sequence: view.tags.sequence(),
            amount: order.amount,
            memo: order.memo.to_owned(),
        }
    }

    async fn sign_and_follow(
        &self,
        transfer: Transfer,
        destination: Address,
        view: &TransferView,
        signature: u32,
    ) -> Landing {
        let order = self.transfer_order(transfer.id, transfer.tag, &transfer.request, destination, view);
        let signed = match self.network.chain.sign_transfer(&order).await {
            Ok(signed) => signed,
            Err(error) => return self.fail_unsigned(transfer, &error).await,
        };
        crash_point!("signed.before");
        // Stored before the first send: from here on it may be on the chain.
        match self.parts.store.mark_signed(&transfer, signed, self.now()).await {
            Ok(transfer) => {
                crash_point!("signed.after");
                Box::pin(self.follow(transfer, destination, signature)).await
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// Sends the stored bytes and waits for their end, while a place is held. A stop leaves them to the next process.
    async fn follow(&self, transfer: Transfer, destination: Address, signature: u32) -> Landing {
        let Some(signed) = transfer.state.signed().cloned() else {
            return Ok(Ended { transfer, checks: None });
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
        let Some(outcome) = outcome else { return Ok(Ended { transfer, checks: None }) };
        crash_point!("outcome.after");
        match outcome {
            Outcome::Settled { slot, block_time } => {
                self.settle(transfer, signed.signature.clone(), slot, block_time).await
            }
            Outcome::Refused(Refusal::StaleSequence) if signature < STALE_SIGNATURES_MAX => {
                tracing::info!(transfer_id = %transfer.id, "much was paid meanwhile; deciding anew under the same tag");
                self.decide_anew(transfer, destination, signature).await
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
                Some(false) if signature < SIGNATURES_MAX => {
                    tracing::info!(transfer_id = %transfer.id, "expired unseen; deciding anew under the same tag");
                    self.decide_anew(transfer, destination, signature).await
                }
                Some(false) => {
                    let message = "Solana did not take the transfer before it expired; nothing was paid. Send the same \
                                   request again.";
                    self.fail(transfer, self.failure(FailureCode::TransferExpired, message), None).await
                }
            },
        }
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
            tokio::select! {
                () = tokio::time::sleep(READ_AGAIN_AFTER) => {}
                () = self.parts.tasks.stop.cancelled() => return None,
            }
        }
    }

    /// The bytes before can no longer land; their place is still held.
    async fn decide_anew(&self, transfer: Transfer, destination: Address, signature: u32) -> Landing {
        self.disown(transfer.tag);
        self.carry_out_by_reading(transfer, destination, true, signature + 1).await
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

    /// The chain has seen the tag: the payment that bears it is the answer, if it is this one.
    async fn settle_as_landed(&self, transfer: Transfer, destination: Address) -> Landing {
        crash_point!("duplicate.before");
        // Whoever made it knew what our database may not.
        self.disown(transfer.tag);
        let found = self.network.chain.find_landed(&self.account.address, transfer.tag).await;
        match found {
            Ok(Some(landed)) if is_same(&landed, &transfer, &destination) => {
                self.settle(transfer, landed.signature, landed.slot, landed.block_time).await
            }
            Ok(Some(landed)) => {
                let message = format!(
                    "The idempotency key was used on the chain for another transfer, {}.",
                    landed.signature
                );
                // First: a claim that keeps the key would answer 409 to the one whose payment this is.
                self.parts.store.release_key(&transfer).await?;
                self.fail(transfer, self.failure(FailureCode::TransferFailed, message), None).await?;
                Err(ServiceError::IdempotencyConflict)
            }
            found @ (Ok(None) | Err(_)) => {
                let error = found.err().map(|error| error.to_string());
                tracing::warn!(transfer_id = %transfer.id, error, "a payment that was made before is not shown");
                let message = "The transfer was made before, but Solana does not show it yet. Send the same request \
                               again.";
                self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message), None).await
            }
        }
    }

    /// Nothing of this transfer can be on its way: an error of the chain is a failure that may be tried again.
    async fn fail_unsigned(&self, transfer: Transfer, error: &ChainError) -> Landing {
        tracing::warn!(transfer_id = %transfer.id, %error, "the chain did not serve a transfer");
        let failure = match error {
            ChainError::Unavailable { .. } | ChainError::Expired => {
                let message =
                    "Solana cannot be reached right now; nothing was paid. Send the same request again.";
                self.failure(FailureCode::SolanaUnavailable, message)
            }
            ChainError::Rejected { .. } | ChainError::NotFound { .. } | ChainError::Misconfigured(_) => {
                let message = "The account cannot pay: it is not in order on the chain. Nothing was paid.";
                self.failure(FailureCode::TransferFailed, message)
            }
        };
        self.fail(transfer, failure, None).await
    }

    pub(super) fn failure(&self, code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), failed_at: self.now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.parts.ambient.now()
    }
}

fn order(tag: u64, request: &TransferRequest, destination: Address) -> Order<'_> {
    let memo = request.memo.as_ref().map_or("", |memo| memo.as_str());
    Order { tag, amount: request.amount, memo, destination }
}

fn is_same(landed: &LandedTransfer, transfer: &Transfer, destination: &Address) -> bool {
    let order = order(transfer.tag, &transfer.request, *destination);
    landed.amount == order.amount && landed.recipient == order.destination && landed.memo == order.memo
}
