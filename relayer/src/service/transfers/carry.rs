//! One transfer from its claim to its stored bytes: read, decide, sign, store; [`super::follow`] goes on from there.
//! Whatever happens between two steps, the sweeper goes on from what is stored.
//!
//! Where all that the decision needs is known, it is signed ahead, and stored with the claim: one write instead of two. A
//! claim that is not ours to carry out throws the signature away.

use std::ops::ControlFlow;

use super::decide::{Decision, Order, decide, invalid_recipient};
use super::flights::{Ended, Landing};
use super::known::{KnownTags, Place};
use super::unpaid::Unknowable;
use crate::chain::{ChainError, LandedTransfer, TransferOrder, TransferView};
use crate::crash_point::crash_point;
use crate::domain::{
    Account, Address, Checks, Failure, FailureCode, Operator, Recipient, SignedTransfer, Timestamp, Transfer,
    TransferId, TransferRequest,
};
use crate::service::reads::addresses;
use crate::service::{NetworkParts, Parts, ServiceError, signers};
use crate::store::NewTransfer;

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

/// How far deciding came.
pub(super) enum Signing {
    /// The bytes are stored; what every rule said.
    Signed(Transfer, Checks),
    Ended(Ended),
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
        let SignedAhead { destination, checks, place, .. } = ahead;
        let landing = self.see_through(transfer, destination, Some(place)).await?;
        Ok(landing.with_checks(checks))
    }

    /// From the claim on.
    pub(super) async fn carry_out(&self, transfer: Transfer) -> Landing {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) => return self.fail(transfer, invalid_recipient(message, self.now()), None).await,
        };
        crash_point!("read.before");
        let mut place = self.try_place();
        let asked = order(transfer.tag, &transfer.request, destination);
        if place.is_none() && self.clearly_allowed(&asked).is_some() {
            place = self.place().await;
            if place.is_none() {
                return Ok(Ended { transfer, checks: None });
            }
        }
        // What is known without asking is enough to go on by; nothing is refused before the chain was asked.
        let known = place.as_ref().and_then(|_| self.clearly_allowed(&asked));
        let signing = match known {
            Some((view, checks)) => {
                crash_point!("read.after");
                self.sign_if_unpaid(transfer, destination, &view, checks).await?
            }
            None => self.decide_and_sign(transfer, destination, &mut place).await?,
        };
        match signing {
            Signing::Signed(transfer, checks) => {
                let landing = self.see_through(transfer, destination, place).await?;
                Ok(landing.with_checks(checks))
            }
            Signing::Ended(ended) => Ok(ended),
        }
    }

    /// From stored bytes on, after a crash or a stop.
    pub(super) async fn carry_on(&self, transfer: Transfer) -> Landing {
        let destination = self.destination(&transfer.request.to).await?.map_err(|reason| {
            tracing::error!(transfer_id = %transfer.id, reason, "a signed transfer lost its recipient");
            ServiceError::Internal
        })?;
        let Some(place) = self.place().await else { return Ok(Ended { transfer, checks: None }) };
        self.see_through(transfer, destination, Some(place)).await
    }

    /// By the chain's word: at first, and again before other bytes are signed. What waits for a place reads once more when
    /// it has one. A stop leaves the transfer as it is.
    pub(super) async fn decide_and_sign(
        &self,
        mut transfer: Transfer,
        destination: Address,
        place: &mut Option<Place>,
    ) -> Result<Signing, ServiceError> {
        let ended = |landing: Landing| landing.map(Signing::Ended);
        loop {
            let read_at = self.now();
            let view = match self.read(&destination).await {
                Ok(view) => view,
                Err(error) if transfer.state.signed().is_none() => {
                    return ended(self.fail_unsigned(transfer, &error).await);
                }
                Err(error) => {
                    tracing::warn!(transfer_id = %transfer.id, %error, "cannot decide anew yet");
                    if self.pauses().await {
                        continue;
                    }
                    return ended(Ok(Ended { transfer, checks: None }));
                }
            };
            crash_point!("read.after");
            let order = order(transfer.tag, &transfer.request, destination);
            let (decision, checks) = decide(&view, &order, self.now());
            let is_refused = matches!(decision, Decision::Rejected(_) | Decision::Failing(..));
            if is_refused && !self.is_unpaid(transfer.tag, &view) {
                // What was paid before may be what is in its own way now.
                transfer = match self.unless_paid_before(transfer, destination, &view).await? {
                    ControlFlow::Continue(transfer) => transfer,
                    ControlFlow::Break(end) => return Ok(Signing::Ended(end)),
                };
            }
            match decision {
                Decision::AlreadyMade => return ended(self.settle_as_landed(transfer, destination).await),
                Decision::Rejected(rejection) => return ended(self.reject(transfer, rejection).await),
                Decision::Failing(failure, checks) => {
                    return ended(self.fail(transfer, failure, checks).await);
                }
                Decision::Sign => self.note_balance(view.agent.balance, read_at).await,
            }
            if place.is_some() {
                return self.sign_if_unpaid(transfer, destination, &view, checks).await;
            }
            *place = self.place().await;
            if place.is_none() {
                return ended(Ok(Ended { transfer, checks: None }));
            }
        }
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

    /// Signs and stores the bytes, unless it was paid before and forgotten.
    async fn sign_if_unpaid(
        &self,
        transfer: Transfer,
        destination: Address,
        view: &TransferView,
        checks: Checks,
    ) -> Result<Signing, ServiceError> {
        let ended = |landing: Landing| landing.map(Signing::Ended);
        let transfer = match self.unless_paid_before(transfer, destination, view).await? {
            ControlFlow::Continue(transfer) => transfer,
            ControlFlow::Break(end) => return Ok(Signing::Ended(end)),
        };
        let order = self.transfer_order(transfer.id, transfer.tag, &transfer.request, destination, view);
        let signed = match self.network.chain.sign_transfer(&order).await {
            Ok(signed) => signed,
            Err(error) => return ended(self.fail_unsigned(transfer, &error).await),
        };
        crash_point!("signed.before");
        // Stored before the first send: from here on it may be on the chain.
        match self.parts.store.mark_signed(&transfer, signed, self.now()).await {
            Ok(transfer) => {
                crash_point!("signed.after");
                Ok(Signing::Signed(transfer, checks))
            }
            Err(error) => ended(self.superseded(transfer, error).await),
        }
    }

    /// Goes on unless it was paid before and forgotten, or nobody can tell.
    async fn unless_paid_before(
        &self,
        transfer: Transfer,
        destination: Address,
        view: &TransferView,
    ) -> Result<ControlFlow<Ended, Transfer>, ServiceError> {
        let end = match self.was_paid_before(&transfer, view).await {
            Ok(false) => return Ok(ControlFlow::Continue(transfer)),
            Ok(true) => self.settle_as_landed(transfer, destination).await,
            Err(Unknowable::Chain(error)) => {
                tracing::warn!(transfer_id = %transfer.id, %error, "what was paid before cannot be read");
                let message =
                    "Solana does not show yet whether this was paid before. Send the same request again.";
                self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message), None).await
            }
            Err(Unknowable::Service(error)) => return Err(error),
        };
        end.map(ControlFlow::Break)
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
            transfer_authorities: view.operator.transfer_authorities.clone(),
            agent: addresses(&self.account),
            destination,
            transfer_id: id.bytes(),
            tag,
            sequence: view.tags.sequence(),
            amount: order.amount,
            memo: order.memo.to_owned(),
        }
    }

    /// The chain has seen the tag: the payment that bears it is the answer, if it is this one.
    pub(super) async fn settle_as_landed(&self, transfer: Transfer, destination: Address) -> Landing {
        crash_point!("duplicate.before");
        let found = self.network.chain.find_landed(&self.account.address, transfer.tag).await;
        // However this ends: the next who asks under the key must know.
        let landed_at = found.as_ref().ok().and_then(Option::as_ref).and_then(|landed| landed.block_time);
        let landed_at = match landed_at {
            Some(second) => Timestamp::from_unix_seconds(second),
            None => self.chain_now().await,
        };
        self.keep_landed(transfer.tag, landed_at).await?;
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
        if let Some((code, message)) = signers::unsigned(error) {
            return self.fail(transfer, self.failure(code, message), None).await;
        }
        let failure = match error {
            ChainError::Unavailable { .. } | ChainError::Expired => {
                let message =
                    "Solana cannot be reached right now; nothing was paid. Send the same request again.";
                self.failure(FailureCode::SolanaUnavailable, message)
            }
            ChainError::Rejected { .. }
            | ChainError::PolicyChanged
            | ChainError::RentOfAnother { .. }
            | ChainError::AuthorityRotated { .. }
            | ChainError::FeePayerEmpty { .. }
            | ChainError::NotFound { .. }
            | ChainError::Misconfigured(_) => {
                let message = "The account cannot pay: it is not in order on the chain. Nothing was paid.";
                self.failure(FailureCode::TransferFailed, message)
            }
        };
        tracing::warn!(transfer_id = %transfer.id, %error, "the chain did not serve a transfer");
        self.fail(transfer, failure, None).await
    }

    pub(super) fn failure(&self, code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), failed_at: self.now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.parts.ambient.now()
    }
}

pub(super) fn order(tag: u64, request: &TransferRequest, destination: Address) -> Order<'_> {
    let memo = request.memo.as_ref().map_or("", |memo| memo.as_str());
    Order { tag, amount: request.amount, memo, destination }
}

fn is_same(landed: &LandedTransfer, transfer: &Transfer, destination: &Address) -> bool {
    let order = order(transfer.tag, &transfer.request, *destination);
    landed.amount == order.amount && landed.recipient == order.destination && landed.memo == order.memo
}
