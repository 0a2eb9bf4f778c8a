//! One transfer, from its claim to its end: decide, sign, store, send, wait, record. Each step returns the transfer as
//! stored; after an interruption between two steps, the sweeper goes on from there.
//!
//! When everything that the decision needs is known, a transfer is signed ahead of its claim and stored with it: one
//! write instead of two.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::decide::{Decision, NO_PAYEE, Payment, decide, full, invalid_recipient};
use super::error::PaymentError;
use super::pending::Ended;
use crate::crash_point;
use crate::{
    Address, Chain, ChainFault, ChainView, Checks, Failure, Marked, NewTransfer, Outside, Payer, PaymentMade,
    Recipient, Rejection, Room, SignedAhead, SignedTransfer, Signer, Transfer, TransferId, TransferState,
    UnsignedTransfer,
};

/// How often an account is given room for one transfer without a pause: from one bucket to a hundred.
const ROOMS_AT_ONCE: u32 = 10;
/// How long to wait before asking the chain again.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Everything needed to carry out a transfer, and its progress.
pub struct Carrier {
    pub(super) outside: Outside,
    pub(super) chain: Arc<dyn Chain>,
    pub(super) payer: Payer,
    /// Until when a failure surely reaches the caller. After that the transfer counts as accepted, and an unclear outcome
    /// does not end it.
    pub(super) awaited_until: Option<Instant>,
    /// The result of every rule when the transfer was signed or refused.
    pub(super) checks: Option<Checks>,
    pub(super) signatures: u32,
    /// Its last bytes were signed before this moment.
    pub(super) signed_before: Instant,
    /// How often the account was given room for it.
    pub(super) rooms: u32,
    /// Signed bytes of this transfer have expired.
    pub(super) has_expired: bool,
    /// For bytes that others send; without it, such bytes cannot be signed.
    pub(super) hand_over: Option<HandOver>,
}

/// Takes signed bytes to somebody else, who sends them to the chain.
pub struct HandOver {
    /// Signs on the terms of whoever sends the bytes.
    pub signer: Arc<dyn Signer>,
    /// Fires once, when the bytes are stored.
    pub signed: oneshot::Sender<(TransferId, SignedTransfer)>,
}

/// How a transfer ends without a payment.
pub(super) enum End {
    Rejected(Rejection),
    Failed(Failure),
}

/// The outcome of a step.
pub(super) enum Step {
    /// The transfer as it is stored now.
    Took(Transfer),
    /// The process stops: the next one goes on.
    Left(Transfer),
}

/// What is known about a tag.
pub(super) enum WasPaid {
    No,
    Yes(Box<PaymentMade>),
    /// It was, and our records do not hold the payment yet.
    Unread,
}

pub(super) type Stepped = Result<Step, PaymentError>;

impl Carrier {
    pub(super) fn new(outside: Outside, chain: Arc<dyn Chain>, payer: Payer) -> Self {
        Self {
            outside,
            chain,
            payer,
            awaited_until: None,
            checks: None,
            signatures: 0,
            signed_before: Instant::now(),
            rooms: 0,
            has_expired: false,
            hand_over: None,
        }
    }

    /// Carries the transfer from any state to its end.
    pub(super) async fn run(mut self, mut transfer: Transfer) -> Result<Ended, PaymentError> {
        let mut is_counted = false;
        loop {
            if !is_counted && transfer.fee_payer.is_none() && transfer.state.signed().is_some() {
                // A refusal is none of the service's work on the chain, nor are bytes that others send.
                self.outside.observer.submitted(&transfer);
                is_counted = true;
            }
            let step = match &transfer.state {
                // Whoever was to get its bytes is gone.
                TransferState::Claimed if transfer.fee_payer.is_some() && self.hand_over.is_none() => {
                    self.fail_interrupted(transfer).await?
                }
                TransferState::Claimed => self.sign(transfer).instrument(step!("transfer.sign")).await?,
                TransferState::PendingApproval(wanted) => {
                    let wanted = wanted.clone();
                    self.look_for_grant(transfer, &wanted).instrument(step!("transfer.approval")).await?
                }
                TransferState::Signed(_) | TransferState::Sent { .. } if transfer.fee_payer.is_some() => {
                    self.hand_over(transfer).instrument(step!("transfer.hand_over")).await?
                }
                TransferState::Signed(_) | TransferState::Sent { .. } => {
                    self.follow(transfer).instrument(step!("transfer.follow")).await?
                }
                TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => {
                    self.outside.observer.ended(&transfer);
                    return Ok(Ended { transfer, checks: self.checks });
                }
            };
            match step {
                Step::Took(next) => transfer = next,
                Step::Left(transfer) => return Ok(Ended { transfer, checks: None }),
            }
        }
    }

    /// The caller still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.hand_over.is_some() || self.awaited_until.is_some_and(|until| Instant::now() < until)
    }

    /// Signs a transfer ahead of its claim, if nobody needs to be asked whether it may be paid.
    pub(super) async fn sign_ahead(&mut self, new: &mut NewTransfer) -> Option<SignedAhead> {
        if new.sender.is_some() {
            return None;
        }
        let request = &new.asked.request;
        let destination = self.destination(&request.to).await.ok()?.ok()?;
        let payment = Payment { tag: new.id.tag(), asked_at: Some(new.asked_at), destination, request };
        let (view, checks) = self.clearly_allowed(&payment)?;
        // The account's clock never goes back, the chain's may.
        let asked_at = view.window.effective(new.asked_at);
        let unsigned = self.unsigned(new.id, &payment, &view, asked_at);
        let signed = self.chain.sign_transfer(&unsigned).await.ok()?;
        new.asked_at = asked_at;
        self.checks = Some(checks);
        self.signatures = 1;
        self.signed_before = Instant::now();
        Some(SignedAhead { signed, policy_version: view.policy_version })
    }

    /// Forgets bytes that were signed ahead but not stored.
    pub(super) fn discard(&mut self, ahead: &SignedAhead) {
        self.chain.discard(&ahead.signed);
        self.checks = None;
        self.signatures = 0;
    }

    /// Reads the chain, decides and signs; also decides about a second signature.
    pub(super) async fn sign(&mut self, transfer: Transfer) -> Stepped {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) if transfer.may_land_until().is_none() => {
                return self.fail(transfer, invalid_recipient(message, self.now())).await;
            }
            Err(_) => self.stored_destination(&transfer).await?,
        };
        crash_point!("read.before");
        let is_read = self.signatures > 0;
        loop {
            let asked = Payment::of(&transfer, destination);
            // A view known without asking is enough to sign; nothing is refused before the chain was read.
            let is_read_anyway = is_read || transfer.approval.requested().is_some();
            let known = if is_read_anyway { None } else { self.clearly_allowed(&asked) };
            let (view, decision) = match known {
                Some((view, checks)) => {
                    self.checks = Some(checks);
                    (view, Decision::Sign)
                }
                None => {
                    let read_at = self.now();
                    let granted = transfer.approval.requested().map(|_| &asked);
                    let view = match self.read_for(&destination, granted).await {
                        Ok(view) => view,
                        Err(error) if transfer.state.signed().is_none() => {
                            return self.fail_unsigned(transfer, destination, &error).await;
                        }
                        Err(error) => {
                            tracing::warn!(transfer_id = %transfer.id, %error, "cannot re-evaluate yet; retrying");
                            if self.pauses().await {
                                continue;
                            }
                            return Ok(Step::Left(transfer));
                        }
                    };
                    let (decision, checks) = decide(&view, &asked, self.now());
                    self.checks = Some(checks);
                    if decision == Decision::Sign {
                        self.outside.observer.balance_read(&self.payer, view.balance, read_at).await;
                    }
                    (view, decision)
                }
            };
            crash_point!("read.after");
            // Checked before a refusal too: the earlier payment itself may be what stands in the way now.
            match self.was_paid(&transfer, &view).await? {
                WasPaid::No => {}
                WasPaid::Yes(made) => return self.settle_as_made(transfer, destination, *made).await,
                WasPaid::Unread => return self.await_payment(transfer).await,
            }
            if !transfer.can_pay_at(view.account_now()) {
                return match transfer.may_land_until() {
                    Some(_) => self.expired(transfer).await,
                    None => self.fail_interrupted(transfer).await,
                };
            }
            let end = match decision {
                Decision::Sign => {
                    return match self.signed(&transfer, destination, &view).await {
                        Ok(signed) => self.store(allowed_by(&view, transfer), signed).await,
                        Err(error) => {
                            self.fail_unsigned(allowed_by(&view, transfer), destination, &error).await
                        }
                    };
                }
                Decision::NoRoom => match self.make_room(&transfer, &view).await {
                    Ok(Room::Made) => continue,
                    Ok(Room::None) => End::Failed(full(view.frees_at(transfer.id.tag()), self.now())),
                    Err(error) => return self.fail_unsigned(transfer, destination, &error).await,
                },
                // Of a payment a day before its request, which is not a day ago by the account's clock: soon it is.
                Decision::AlreadyMade => return self.await_payment(transfer).await,
                Decision::Rejected(rejection) if self.may_ask(&transfer, &rejection) => {
                    return self.ask(transfer, rejection).await;
                }
                Decision::Rejected(rejection) => End::Rejected(rejection),
                Decision::Failing(failure, checks) => {
                    // The policy allows it; something else is in the way.
                    let is_allowed = checks.is_some();
                    self.checks = checks;
                    if is_allowed {
                        return self
                            .end_unpaid(allowed_by(&view, transfer), destination, End::Failed(failure))
                            .await;
                    }
                    End::Failed(failure)
                }
            };
            return self.end_unpaid(transfer, destination, end).await;
        }
    }

    /// Gives the account room for one more payment, if it is as full as this view shows.
    pub(super) async fn make_room(
        &mut self,
        transfer: &Transfer,
        view: &ChainView,
    ) -> Result<Room, ChainFault> {
        self.rooms += 1;
        if self.rooms > ROOMS_AT_ONCE {
            self.pauses().await;
        }
        let room = self.chain.make_room(&self.payer, view.tags.len()).await?;
        tracing::info!(transfer_id = %transfer.id, account_id = %self.payer.account_id, ?room, "the account is full");
        Ok(room)
    }

    /// Ends a transfer none of whose present bytes can land any more.
    pub(super) async fn end_unpaid(&mut self, transfer: Transfer, destination: Address, end: End) -> Stepped {
        if transfer.earlier_valid_until.is_some()
            && let Err(step) = self.view_unpaid(&transfer, destination).await?
        {
            return Ok(step);
        }
        match end {
            End::Rejected(rejection) => self.reject(transfer, rejection).await,
            End::Failed(failure) => self.fail(transfer, failure).await,
        }
    }

    /// The bytes that pay it, decided from this view.
    pub(super) async fn signed(
        &self,
        transfer: &Transfer,
        destination: Address,
        view: &ChainView,
    ) -> Result<SignedTransfer, ChainFault> {
        // Without it nothing is signed: such a transfer is too old.
        let asked_at = transfer.asked_at.unwrap_or_default();
        let unsigned = self.unsigned(transfer.id, &Payment::of(transfer, destination), view, asked_at);
        match &self.hand_over {
            None => self.chain.sign_transfer(&unsigned).await,
            Some(HandOver { signer, .. }) => signer.sign_transfer(&unsigned).await,
        }
    }

    /// Stores its signed bytes, so that they may be sent.
    pub(super) async fn store(&mut self, transfer: Transfer, signed: SignedTransfer) -> Stepped {
        self.signed_before = Instant::now();
        let transfer = transfer.before_signing();
        crash_point!("signed.before");
        // Stored before the first send: from here on it may be on the chain.
        match self.mark(&transfer, transfer.state.sign(signed.clone())).await {
            Ok(Marked { transfer, .. }) => {
                crash_point!("signed.after");
                self.signatures += 1;
                Ok(Step::Took(transfer))
            }
            Err(error) => {
                self.chain.discard(&signed);
                self.superseded(transfer, error).await
            }
        }
    }

    /// The token account to pay, or why there is none.
    pub async fn destination(&self, to: &Recipient) -> Result<Result<Address, String>, PaymentError> {
        let destination = match to {
            Recipient::Unreadable(_) => {
                return Ok(Err("The recipient is neither an account id nor a Solana address.".into()));
            }
            Recipient::TokenAccount(address) => *address,
            // An account of another operator is paid like our own, if it is on the same network.
            Recipient::Agent(id) => match self.outside.ledger.find_payee(self.payer.network, *id).await? {
                Some(token_account) => token_account,
                None => return Ok(Err(NO_PAYEE.into())),
            },
        };
        if destination == self.payer.addresses.token_account {
            return Ok(Err("The recipient is the account that pays.".into()));
        }
        Ok(Ok(destination))
    }

    /// The token account of a transfer that was signed, and so had one.
    pub(super) async fn stored_destination(&self, transfer: &Transfer) -> Result<Address, PaymentError> {
        self.destination(&transfer.request.to).await?.map_err(|reason| {
            tracing::error!(transfer_id = %transfer.id, reason, "a signed transfer lost its recipient");
            PaymentError::Inconsistent("a signed transfer lost its recipient")
        })
    }

    /// Reads everything that the decision needs, at one slot.
    pub async fn read(&self, destination: &Address) -> Result<ChainView, ChainFault> {
        self.read_for(destination, None).await
    }

    /// The same, with the grant for this payment.
    pub(super) async fn read_for(
        &self,
        destination: &Address,
        granted: Option<&Payment<'_>>,
    ) -> Result<ChainView, ChainFault> {
        self.chain.read_for_transfer(&self.payer, destination, granted).await
    }

    /// The view and every rule's result, if everything needed is known and the transfer can be signed.
    fn clearly_allowed(&self, payment: &Payment) -> Option<(ChainView, Checks)> {
        let view = self.chain.known_for_transfer(&self.payer, &payment.destination)?;
        match decide(&view, payment, self.now()) {
            (Decision::Sign, checks) => Some((view, checks)),
            (Decision::AlreadyMade | Decision::NoRoom | Decision::Rejected(_) | Decision::Failing(..), _) => {
                None
            }
        }
    }

    /// Waits before asking the chain again. False at a stop.
    pub(super) async fn pauses(&self) -> bool {
        self.outside.stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN_AFTER)).await.is_some()
    }

    fn unsigned(
        &self,
        id: TransferId,
        payment: &Payment,
        view: &ChainView,
        asked_at: i64,
    ) -> UnsignedTransfer {
        UnsignedTransfer {
            operator: self.payer.operator,
            transfer_authorities: view.transfer_authorities.clone(),
            agent: self.payer.addresses,
            destination: payment.destination,
            transfer_id: id.bytes(),
            asked_at,
            tag_buckets: u16::try_from(view.tags.len()).unwrap_or(u16::MAX),
            amount: payment.request.amount,
            memo: payment.request.memo().to_owned(),
            beyond: view.beyond,
            has_expired: self.has_expired,
        }
    }
}

/// The transfer after every rule of the policy in force has passed.
pub(super) fn allowed_by(view: &ChainView, transfer: Transfer) -> Transfer {
    Transfer { policy_version: Some(view.policy_version), ..transfer }
}
