//! One transfer, from its claim to its end: decide, sign, store, send, wait, record. Each step gives the transfer as it was
//! stored; whatever happens between two steps, the sweeper goes on from there.
//!
//! Where all that the decision needs is known, a transfer is signed ahead of its claim and stored with it: one write
//! instead of two.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::decide::{Decision, NO_PAYEE, Payment, decide, invalid_recipient};
use super::payments::{Permit, SeenPayments, WasPaid};
use super::pending::Ended;
use crate::chain::{ChainError, ChainView, UnsignedTransfer};
use crate::crash_point::crash_point;
use crate::domain::{
    Account, Address, Checks, IDEMPOTENCY_SECONDS, Operator, Recipient, SignedTransfer, Terms, Transfer,
    TransferId, TransferRequest, TransferState,
};
use crate::service::reads::addresses;
use crate::service::{NetworkParts, Parts, ServiceError};
use crate::store::{NewTransfer, SignedAhead};
use crate::traces::step;

/// How long to wait before the chain is asked again for what it did not tell.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Everything that carrying out a transfer needs, and what it has come to.
pub(super) struct Carrier {
    pub parts: Parts,
    pub network: NetworkParts,
    pub operator: Operator,
    pub account: Account,
    pub payments: SeenPayments,
    /// Until when somebody waits for the answer. Past that it was accepted, and what cannot be told yet is no end.
    pub awaited_until: Option<Instant>,
    /// Held from before the signature until the payment is confirmed.
    pub permit: Option<Permit>,
    /// What every rule said when it was signed, or refused.
    pub checks: Option<Checks>,
    pub signatures: u32,
    /// Bytes of it have expired.
    pub has_expired: bool,
    /// Where the bytes are to be sent by others: without it, nothing that they are to send can be signed.
    pub hand_over: Option<HandOver>,
}

/// Whom signed bytes are for who is not the chain.
pub(in crate::service) struct HandOver {
    pub terms: Terms,
    /// Told once, when they are stored.
    pub signed: oneshot::Sender<(TransferId, SignedTransfer)>,
}

/// What came of a step.
pub(super) enum Step {
    /// The transfer as it is stored now.
    Took(Transfer),
    /// A stop: the next process goes on.
    Left(Transfer),
}

pub(super) type Stepped = Result<Step, ServiceError>;

impl Carrier {
    pub(super) const fn new(
        parts: Parts,
        network: NetworkParts,
        operator: Operator,
        account: Account,
        payments: SeenPayments,
    ) -> Self {
        Self {
            parts,
            network,
            operator,
            account,
            payments,
            awaited_until: None,
            permit: None,
            checks: None,
            signatures: 0,
            has_expired: false,
            hand_over: None,
        }
    }

    /// Carries the transfer to its end, from whatever state it is in.
    pub(super) async fn run(mut self, mut transfer: Transfer) -> Result<Ended, ServiceError> {
        loop {
            let step = match &transfer.state {
                TransferState::Claimed if self.is_interrupted(&transfer).await => {
                    self.fail_interrupted(transfer).await?
                }
                TransferState::Claimed => self.sign(transfer).instrument(step!("transfer.sign")).await?,
                TransferState::Signed(_) | TransferState::Sent { .. } if transfer.fee_payer.is_some() => {
                    self.hand_over(transfer).instrument(step!("transfer.hand_over")).await?
                }
                TransferState::Signed(_) | TransferState::Sent { .. } => {
                    self.follow(transfer).instrument(step!("transfer.follow")).await?
                }
                TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => {
                    self.count(&transfer);
                    return Ok(Ended { transfer, checks: self.checks });
                }
            };
            match step {
                Step::Took(next) => transfer = next,
                Step::Left(transfer) => return Ok(Ended { transfer, checks: None }),
            }
        }
    }

    /// Nothing of it is signed, and nobody wants it any longer: whom its bytes were for is gone, or its key has expired.
    async fn is_interrupted(&self, transfer: &Transfer) -> bool {
        if self.is_awaited() {
            return false;
        }
        let age =
            self.agreed_now().await.map_or(0, |now| now.saturating_sub(transfer.created_at.unix_seconds()));
        transfer.fee_payer.is_some() || age >= IDEMPOTENCY_SECONDS
    }

    /// Somebody still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.hand_over.is_some() || self.awaited_until.is_some_and(|until| Instant::now() < until)
    }

    /// It has come to its end here.
    fn count(&self, transfer: &Transfer) {
        let (metrics, network) = (&self.parts.metrics, transfer.network.as_str());
        metrics.transfer_is(network, transfer.state.status().as_str());
        if let TransferState::Settled(_) = transfer.state {
            metrics.settled_after(network, transfer.created_at.until(self.now()).as_secs_f64());
        }
    }

    /// Signs what is about to be claimed, if nobody needs to be asked whether it may be paid.
    pub(super) async fn sign_ahead(&mut self, asked: &NewTransfer) -> Option<SignedAhead> {
        if asked.purchase.is_some() {
            return None;
        }
        let destination = self.destination(&asked.request.to).await.ok()?.ok()?;
        self.permit = self.payments.try_permit(self.account.id);
        self.permit.as_ref()?;
        let tag = asked.id.tag();
        let payment = payment(tag, &asked.request, destination);
        let (view, checks) = self.clearly_allowed(&payment)?;
        let known_up_to = self.seen_unpaid(tag, &view)?;
        let unsigned = self.unsigned(asked.id, &payment, &view);
        let signed = self.network.chain.sign_transfer(&unsigned).await.ok()?;
        self.checks = Some(checks);
        self.signatures = 1;
        Some(SignedAhead { signed, known_up_to })
    }

    /// The bytes that were signed ahead were not stored.
    pub(super) fn discard(&mut self, ahead: &SignedAhead) {
        self.network.chain.discard(&ahead.signed);
        self.checks = None;
        self.signatures = 0;
    }

    /// Reads the chain, decides and signs; also before a second signature.
    pub(super) async fn sign(&mut self, transfer: Transfer) -> Stepped {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) => return self.fail(transfer, invalid_recipient(message, self.now())).await,
        };
        crash_point!("read.before");
        let mut is_read = self.signatures > 0;
        loop {
            let asked = payment(transfer.id.tag(), &transfer.request, destination);
            // What is known without asking is enough to go on by; nothing is refused before the chain was asked.
            let known = if is_read { None } else { self.clearly_allowed(&asked) };
            let (view, decision) = match known {
                Some((view, checks)) => {
                    self.checks = Some(checks);
                    (view, Decision::Sign)
                }
                None => {
                    let read_at = self.now();
                    let view = match self.read(&destination).await {
                        Ok(view) => view,
                        Err(error) if transfer.state.signed().is_none() => {
                            return self.fail_unsigned(transfer, &error).await;
                        }
                        Err(error) => {
                            tracing::warn!(transfer_id = %transfer.id, %error, "cannot decide anew yet");
                            if self.pauses().await {
                                continue;
                            }
                            return Ok(Step::Left(transfer));
                        }
                    };
                    let (decision, checks) = decide(&view, &asked, self.now());
                    self.checks = Some(checks);
                    if decision == Decision::Sign {
                        self.note_balance(view.agent.balance, read_at).await;
                    }
                    (view, decision)
                }
            };
            crash_point!("read.after");
            if decision == Decision::Sign && self.permit.is_none() {
                self.permit = self.wait_for_permit().await;
                if self.permit.is_none() {
                    return Ok(Step::Left(transfer));
                }
                continue;
            }
            // Before a refusal too: what was paid before may be what is in its own way now.
            match self.was_paid(transfer.id.tag(), &view).await? {
                WasPaid::No => {}
                WasPaid::Yes(made) => return self.settle_as_made(transfer, destination, *made).await,
                WasPaid::OldView if !is_read => {
                    is_read = true;
                    continue;
                }
                WasPaid::Unknown | WasPaid::OldView => return self.fail_unknown(transfer).await,
            }
            return match decision {
                Decision::Sign => self.sign_and_store(transfer, destination, &view).await,
                Decision::Rejected(rejection) => self.reject(transfer, rejection).await,
                Decision::Failing(failure, checks) => {
                    self.checks = checks;
                    self.fail(transfer, failure).await
                }
                // The account remembers the tag, and our records do not know of the payment.
                Decision::AlreadyMade => self.fail_unknown(transfer).await,
            };
        }
    }

    async fn sign_and_store(
        &mut self,
        transfer: Transfer,
        destination: Address,
        view: &ChainView,
    ) -> Stepped {
        let payment = payment(transfer.id.tag(), &transfer.request, destination);
        let unsigned = self.unsigned(transfer.id, &payment, view);
        let chain = &self.network.chain;
        let signed = match &self.hand_over {
            None => chain.sign_transfer(&unsigned).await,
            Some(HandOver { terms, .. }) => chain.sign_for(&unsigned, terms).await,
        };
        let signed = match signed {
            Ok(signed) => signed,
            Err(error) => return self.fail_unsigned(transfer, &error).await,
        };
        crash_point!("signed.before");
        // Stored before the first send: from here on it may be on the chain.
        match self.parts.store.mark_signed(&transfer, signed.clone(), self.now()).await {
            Ok(transfer) => {
                crash_point!("signed.after");
                self.signatures += 1;
                Ok(Step::Took(transfer))
            }
            Err(error) => {
                self.network.chain.discard(&signed);
                self.superseded(transfer, error).await
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
            // Another operator's account is paid like one's own, as long as it is on the same network.
            Recipient::Agent(id) => match self.parts.store.find_payee(self.operator.network, *id).await? {
                Some(token_account) => token_account,
                None => return Ok(Err(NO_PAYEE.into())),
            },
        };
        if destination == self.account.token_account {
            return Ok(Err("The recipient is the account that pays.".into()));
        }
        Ok(Ok(destination))
    }

    /// The same for a transfer that was signed, and so had one.
    pub(super) async fn stored_destination(&self, transfer: &Transfer) -> Result<Address, ServiceError> {
        self.destination(&transfer.request.to).await?.map_err(|reason| {
            tracing::error!(transfer_id = %transfer.id, reason, "a signed transfer lost its recipient");
            ServiceError::Internal
        })
    }

    /// Everything that the decision rests on, at one slot.
    pub(super) async fn read(&self, destination: &Address) -> Result<ChainView, ChainError> {
        let agent = addresses(&self.account);
        self.network.chain.read_for_transfer(&self.operator.address, &agent, destination).await
    }

    /// The same as far as it is known without asking.
    pub(super) fn known(&self, destination: &Address) -> Option<ChainView> {
        let agent = addresses(&self.account);
        self.network.chain.known_for_transfer(&self.operator.address, &agent, destination)
    }

    /// The view and what every rule says to it, if all that is needed is known and the transfer would be signed by it.
    fn clearly_allowed(&self, payment: &Payment) -> Option<(ChainView, Checks)> {
        let view = self.known(&payment.destination)?;
        match decide(&view, payment, self.now()) {
            (Decision::Sign, checks) => Some((view, checks)),
            (Decision::AlreadyMade | Decision::Rejected(_) | Decision::Failing(..), _) => None,
        }
    }

    /// `None` at a stop.
    pub(super) async fn wait_for_permit(&self) -> Option<Permit> {
        let stop = &self.parts.tasks.stop;
        stop.run_until_cancelled(self.payments.permit(self.account.id)).await.flatten()
    }

    /// Waits before the chain is asked again. False at a stop.
    pub(super) async fn pauses(&self) -> bool {
        self.parts.tasks.stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN_AFTER)).await.is_some()
    }

    fn unsigned(&self, id: TransferId, payment: &Payment, view: &ChainView) -> UnsignedTransfer {
        UnsignedTransfer {
            operator: self.operator.address,
            transfer_authorities: view.operator.transfer_authorities.clone(),
            agent: addresses(&self.account),
            destination: payment.destination,
            transfer_id: id.bytes(),
            sequence: view.tags.sequence(),
            amount: payment.amount,
            memo: payment.memo.to_owned(),
            has_expired: self.has_expired,
        }
    }
}

pub(super) fn payment(tag: u64, request: &TransferRequest, destination: Address) -> Payment<'_> {
    let memo = request.memo.as_ref().map_or("", |memo| memo.as_str());
    Payment { tag, amount: request.amount, memo, destination, to: &request.to }
}
