//! One transfer: decided and signed before its claim, then sent, awaited and recorded. Each step after the claim returns the transfer
//! as stored; after an interruption between two steps, the sweeper goes on from there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::decide::{Decision, NO_PAYEE, Payment, decide, failing, full, invalid_recipient};
use super::error::PaymentError;
use super::pending::Ended;
use crate::crash_point;
use crate::{
    Address, ApprovalWanted, Chain, ChainFault, ChainView, Checks, Failure, LedgerError, Outside, Payer,
    PaymentMade, Recipient, Rejection, Room, SignedTransfer, Signer, Transfer, TransferId, TransferState,
    UnsignedTransfer,
};

/// How often an account is given room for one transfer without a pause: from one bucket to a hundred.
const ROOMS_AT_ONCE: u32 = 10;
/// How long to wait before asking the chain again.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Everything needed to carry out a transfer, and its progress.
pub struct PaymentTask {
    pub(super) outside: Outside,
    pub(super) chain: Arc<dyn Chain>,
    pub(super) payer: Payer,
    /// When its caller is answered; `None`: nobody waits.
    pub(super) awaited_until: Option<Instant>,
    /// The result of every rule when the transfer was signed or refused.
    pub(super) checks: Option<Checks>,
    pub(super) signatures: u32,
    /// Its last bytes were signed before this moment.
    pub(super) signed_before: Instant,
    /// The chain or our records showed a payment with its tag before it was sent.
    is_paid: bool,
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

/// The outcome of a look at the chain for one transfer.
enum Verdict {
    Signed(SignedTransfer),
    /// The chain or our records hold a payment with its tag.
    Paid(Box<ChainView>),
    /// The program takes no bytes of it now.
    OutOfTime,
    Ask(Rejection),
    End(End),
    /// Nothing can be said or signed now.
    Fault(ChainFault),
}

/// What is known about a tag.
pub(super) enum WasPaid {
    No,
    Yes(Box<PaymentMade>),
    /// It was, and our records do not hold the payment yet.
    Unread,
}

pub(super) type Stepped = Result<Step, PaymentError>;

impl PaymentTask {
    pub(super) fn new(outside: Outside, chain: Arc<dyn Chain>, payer: Payer) -> Self {
        Self {
            outside,
            chain,
            payer,
            awaited_until: None,
            checks: None,
            signatures: 0,
            signed_before: Instant::now(),
            is_paid: false,
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
                // A fork dropped the payment that settled it, and there are no bytes of it.
                TransferState::Claimed if transfer.fee_payer.is_none() && transfer.asked_at.is_some() => {
                    self.sign(transfer).instrument(step!("transfer.sign")).await?
                }
                TransferState::Claimed => self.fail_interrupted(transfer).await?,
                TransferState::PendingApproval(wanted) => {
                    let wanted = wanted.clone();
                    self.look_for_grant(transfer, &wanted).instrument(step!("transfer.approval")).await?
                }
                TransferState::Signed(_) if self.is_paid => {
                    let destination = self.stored_destination(&transfer).await?;
                    self.find_duplicate(transfer, destination).await?
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

    /// The first step of a new transfer: it is signed, refused, failed, or asked about. Nothing is written.
    pub(super) async fn prepare(
        &mut self,
        mut transfer: Transfer,
    ) -> Result<(Transfer, TransferState), PaymentError> {
        let verdict = match self.destination(&transfer.request.to).await? {
            Ok(destination) => match self.judge(&mut transfer, destination, true).await? {
                Verdict::Paid(view) => self.sign_paid(&transfer, destination, &view).await,
                verdict => verdict,
            },
            Err(message) => Verdict::End(End::Failed(invalid_recipient(message, self.now()))),
        };
        let state = &transfer.state;
        let next = match verdict {
            Verdict::Signed(signed) => {
                (self.signatures, self.signed_before) = (1, Instant::now());
                state.sign(signed)
            }
            Verdict::Ask(rejection) => state.ask(ApprovalWanted::new(rejection, transfer.created_at)),
            Verdict::End(End::Rejected(rejection)) => {
                // The rejection holds its own checks.
                self.checks = None;
                state.reject(rejection)
            }
            Verdict::End(End::Failed(failure)) => state.fail(self.with_address(failure)),
            Verdict::Fault(fault) => return Err(fault.into()),
            Verdict::Paid(_) | Verdict::OutOfTime => {
                return Err(ChainFault::Unavailable("its nodes' clocks disagree".into()).into());
            }
        };
        let next = next.map_err(LedgerError::from)?;
        Ok((transfer, next))
    }

    /// Bytes for a payment that was made: no transfer is claimed without some. That payment is looked for before they are sent, and the
    /// program refuses them as long as it stands.
    async fn sign_paid(&mut self, transfer: &Transfer, destination: Address, view: &ChainView) -> Verdict {
        self.is_paid = true;
        match self.signed(transfer, destination, view).await {
            Ok(signed) => Verdict::Signed(signed),
            // A missing signature does not mean that nothing was paid.
            Err(fault) => Verdict::Fault(ChainFault::Unavailable(fault.to_string())),
        }
    }

    /// Reads the chain, decides and signs once more, under the same tag.
    pub(super) async fn sign(&mut self, mut transfer: Transfer) -> Stepped {
        self.is_paid = false;
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) if transfer.may_land_until().is_none() => {
                return self.fail(transfer, invalid_recipient(message, self.now())).await;
            }
            Err(_) => self.stored_destination(&transfer).await?,
        };
        match self.judge(&mut transfer, destination, false).await? {
            Verdict::Signed(signed) => self.store(transfer, signed).await,
            Verdict::Paid(_) => match self.view_unpaid(&transfer, destination).await? {
                Ok(_) => self.again(transfer).await,
                Err(step) => Ok(step),
            },
            Verdict::OutOfTime => self.expired(transfer).await,
            // A person is asked about new transfers alone.
            Verdict::Ask(rejection) => self.end_unpaid(transfer, destination, End::Rejected(rejection)).await,
            Verdict::End(end) => self.end_unpaid(transfer, destination, end).await,
            Verdict::Fault(fault) => {
                tracing::warn!(transfer_id = %transfer.id, %fault, "cannot sign it again yet; retrying");
                self.again(transfer).await
            }
        }
    }

    /// Decides by what is known of the chain or by what is read of it, and signs what may be paid. Nothing is refused before the chain
    /// was read.
    async fn judge(
        &mut self,
        transfer: &mut Transfer,
        destination: Address,
        is_new: bool,
    ) -> Result<Verdict, PaymentError> {
        crash_point!("read.before");
        loop {
            let granted = transfer.approval.requested().is_some();
            // A view that is known without asking is enough to sign.
            let known = if is_new && !granted { self.known(transfer, destination) } else { None };
            let read_at = known.is_none().then(|| self.now());
            let view = match known {
                Some(view) => view,
                None => match self.read_for(&Payment::of(transfer, destination), granted).await {
                    Ok(view) => view,
                    Err(fault) => return Ok(self.unserved(transfer, fault)),
                },
            };
            crash_point!("read.after");
            if is_new {
                // The account's clock never goes back, the chain's may.
                transfer.asked_at = transfer.asked_at.map(|asked_at| view.window.effective(asked_at));
            }
            // Checked before a refusal too: the earlier payment itself may be what stands in the way now.
            if self.is_shown_paid(transfer, &view).await? {
                return Ok(Verdict::Paid(Box::new(view)));
            }
            if !transfer.can_pay_at(view.account_now()) {
                return Ok(Verdict::OutOfTime);
            }
            let (decision, checks) = decide(&view, &Payment::of(transfer, destination), self.now());
            self.checks = Some(checks);
            let end = match decision {
                Decision::Sign => {
                    if let Some(read_at) = read_at {
                        self.outside.observer.balance_read(&self.payer, view.balance, read_at).await;
                    }
                    transfer.policy_version = Some(view.policy_version);
                    return Ok(match self.signed(transfer, destination, &view).await {
                        Ok(signed) => Verdict::Signed(signed),
                        Err(fault) => self.unserved(transfer, fault),
                    });
                }
                Decision::NoRoom => match self.make_room(transfer, &view).await {
                    Ok(Room::Made) => continue,
                    Ok(Room::None) => End::Failed(full(view.frees_at(transfer.id.tag()), self.now())),
                    Err(fault) => return Ok(self.unserved(transfer, fault)),
                },
                // Of a payment a day before its request, which is not a day ago by the account's clock: soon it is.
                Decision::AlreadyMade => {
                    return Ok(Verdict::Fault(ChainFault::Unavailable("its clocks disagree".into())));
                }
                Decision::Rejected(rejection) if self.may_ask(transfer, &rejection) => {
                    return Ok(Verdict::Ask(rejection));
                }
                Decision::Rejected(rejection) => End::Rejected(rejection),
                Decision::Failing(failure, checks) => {
                    if checks.is_some() {
                        // The policy allows it; something else is in the way.
                        transfer.policy_version = Some(view.policy_version);
                    }
                    self.checks = checks;
                    End::Failed(failure)
                }
            };
            return Ok(Verdict::End(end));
        }
    }

    /// A fault of the chain: what comes from the account ends the transfer, everything else is tried again.
    fn unserved(&self, transfer: &Transfer, fault: ChainFault) -> Verdict {
        match failing(&fault, self.now()) {
            Some(failure) => {
                // The signer checks log the other reasons, once.
                if let ChainFault::Refused(_) = &fault {
                    tracing::warn!(transfer_id = %transfer.id, error = %fault, "the chain cannot serve a transfer");
                }
                Verdict::End(End::Failed(failure))
            }
            None => Verdict::Fault(fault),
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
        match self.mark(&transfer, transfer.state.sign(signed)).await {
            Ok(transfer) => {
                crash_point!("signed.after");
                self.signatures += 1;
                Ok(Step::Took(transfer))
            }
            Err(error) => self.superseded(transfer, error).await,
        }
    }

    /// The token account to pay, or why there is none.
    pub async fn destination(&self, to: &Recipient) -> Result<Result<Address, String>, PaymentError> {
        let destination = match to {
            Recipient::Unreadable(_) => {
                return Ok(Err("The recipient is neither an account id nor a Solana address.".into()));
            }
            Recipient::TokenAccount(token_account) | Recipient::Wallet { token_account, .. } => {
                *token_account
            }
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
    pub async fn read(&self, payment: &Payment<'_>) -> Result<ChainView, ChainFault> {
        self.read_for(payment, false).await
    }

    /// The same, and the payment's grant.
    pub(super) async fn read_for(
        &self,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainFault> {
        self.chain.read_for_transfer(&self.payer, payment, with_grant).await
    }

    /// A view that is known without asking, if it clearly allows the transfer.
    fn known(&self, transfer: &Transfer, destination: Address) -> Option<ChainView> {
        let payment = Payment::of(transfer, destination);
        let view = self.chain.known_for_transfer(&self.payer, &payment)?;
        let asked_at = transfer.asked_at.map(|asked_at| view.window.effective(asked_at));
        let payment = Payment { asked_at, ..payment };
        (decide(&view, &payment, self.now()).0 == Decision::Sign).then_some(view)
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
