//! One transfer, from its claim to its end: decide, sign, store, send, wait, record. Each step gives the transfer as it was
//! stored; whatever happens between two steps, the sweeper goes on from there.
//!
//! Where all that the decision needs is known, a transfer is signed ahead of its claim and stored with it: one write
//! instead of two.

use std::time::Duration;

use super::decide::{Decision, Order, decide, insufficient, invalid_recipient, rejection_without_numbers};
use super::flights::Ended;
use super::payments::{Paid, Permit, SeenPayments};
use crate::chain::{ChainError, Outcome, Refusal, TransferOrder, TransferView};
use crate::crash_point::crash_point;
use crate::domain::{
    Account, Address, Checks, FailureCode, Operator, Recipient, RejectionReason, Transfer, TransferId,
    TransferRequest, TransferState,
};
use crate::service::reads::addresses;
use crate::service::signers::ROTATED;
use crate::service::{NetworkParts, Parts, ServiceError};
use crate::store::{NewTransfer, PaymentMade, SignedAhead};

/// An outcome that comes sooner than this says too that the bytes went out.
const NOTED_AFTER: Duration = Duration::from_millis(20);
/// How long to wait before the chain is asked again for what it did not tell.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often one transfer is signed: anew only after the bytes before can no longer land.
const SIGNATURES_MAX: u32 = 2;
/// The same where others make payments from the same account at the same time.
const STALE_SIGNATURES_MAX: u32 = 10;

/// Everything that carrying out a transfer needs, and what it has come to.
pub(super) struct Carrier {
    pub parts: Parts,
    pub network: NetworkParts,
    pub operator: Operator,
    pub account: Account,
    pub payments: SeenPayments,
    /// Held from before the signature until the payment is confirmed.
    permit: Option<Permit>,
    /// What every rule said when it was signed, or refused.
    pub checks: Option<Checks>,
    signatures: u32,
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
        Self { parts, network, operator, account, payments, permit: None, checks: None, signatures: 0 }
    }

    /// Carries the transfer to its end, from whatever state it is in.
    pub(super) async fn run(mut self, mut transfer: Transfer) -> Result<Ended, ServiceError> {
        loop {
            let step = match &transfer.state {
                TransferState::Claimed => self.sign(transfer).await?,
                TransferState::Signed(_) | TransferState::Sent { .. } => self.follow(transfer).await?,
                TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => {
                    return Ok(Ended { transfer, checks: self.checks });
                }
            };
            match step {
                Step::Took(next) => transfer = next,
                Step::Left(transfer) => return Ok(Ended { transfer, checks: None }),
            }
        }
    }

    /// Signs what is about to be claimed, if nobody needs to be asked whether it may be paid.
    pub(super) async fn sign_ahead(&mut self, asked: &NewTransfer) -> Option<SignedAhead> {
        let destination = self.destination(&asked.request.to).await.ok()?.ok()?;
        self.permit = self.payments.try_permit(self.account.id);
        self.permit.as_ref()?;
        let tag = asked.id.tag();
        let order = order(tag, &asked.request, destination);
        let (view, checks) = self.clearly_allowed(&order)?;
        let known_up_to = self.seen_unpaid(tag, &view)?;
        let order = self.transfer_order(asked.id, &order, &view);
        let signed = self.network.chain.sign_transfer(&order).await.ok()?;
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
    async fn sign(&mut self, transfer: Transfer) -> Stepped {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) => return self.fail(transfer, invalid_recipient(message, self.now())).await,
        };
        crash_point!("read.before");
        let mut is_read = self.signatures > 0;
        loop {
            let asked = order(transfer.tag, &transfer.request, destination);
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
            match self.was_paid(transfer.tag, &view).await? {
                Paid::No => {}
                Paid::Yes(made) => return self.settle_as_made(transfer, destination, *made).await,
                Paid::OldView if !is_read => {
                    is_read = true;
                    continue;
                }
                Paid::Unknown | Paid::OldView => return self.fail_unknown(transfer).await,
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
        view: &TransferView,
    ) -> Stepped {
        let order = order(transfer.tag, &transfer.request, destination);
        let order = self.transfer_order(transfer.id, &order, view);
        let signed = match self.network.chain.sign_transfer(&order).await {
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

    /// From stored bytes to what became of them.
    async fn follow(&mut self, mut transfer: Transfer) -> Stepped {
        let Some(signed) = transfer.state.signed().cloned() else { return Ok(Step::Left(transfer)) };
        if self.signatures == 0 {
            // Taken up: its bytes may be out, or not.
            self.signatures = 1;
            self.permit = self.wait_for_permit().await;
            if self.permit.is_none() {
                return Ok(Step::Left(transfer));
            }
        }
        crash_point!("send.before");
        if let Err(error) = self.network.chain.send(&signed).await {
            // Says nothing about whether they land; the outcome does.
            tracing::info!(transfer_id = %transfer.id, %error, "a send went unanswered");
        }
        crash_point!("send.after");
        let chain = self.network.chain.clone();
        let (outcome, confirmed) = (chain.outcome(&signed), chain.confirmed(&signed));
        let noted = tokio::time::sleep(NOTED_AFTER);
        tokio::pin!(outcome, confirmed, noted);
        let (mut is_noted, mut is_confirmed) = (false, false);
        let outcome = loop {
            tokio::select! {
                outcome = &mut outcome => break outcome,
                () = &mut confirmed, if !is_confirmed => {
                    // The account shows it from now on: the next may be signed.
                    is_confirmed = true;
                    self.permit = None;
                }
                () = &mut noted, if !is_noted => {
                    is_noted = true;
                    transfer = self.note_sent(transfer).await;
                }
                () = self.parts.tasks.stop.cancelled() => return Ok(Step::Left(transfer)),
            }
        };
        crash_point!("outcome.after");
        match outcome {
            Outcome::Settled { slot, block_time } => {
                let number = self.landed_number(&transfer).await;
                self.settle(transfer, signed.signature.clone(), slot, block_time, number).await
            }
            Outcome::Refused(Refusal::StaleSequence | Refusal::AuthorityRotated)
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
            Outcome::Expired if self.signatures < SIGNATURES_MAX => self.sign_anew(transfer).await,
            Outcome::Expired => self.expired(transfer).await,
        }
    }

    /// The bytes can no longer land, and nothing says that they did.
    async fn sign_anew(&mut self, transfer: Transfer) -> Stepped {
        tracing::info!(transfer_id = %transfer.id, "deciding anew under the same tag");
        self.sign(transfer).await
    }

    /// Expired for good, unless other bytes with its tag were paid.
    async fn expired(&mut self, transfer: Transfer) -> Stepped {
        let destination = self.stored_destination(&transfer).await?;
        let view = loop {
            match self.read(&destination).await {
                Ok(view) => break view,
                Err(error) => {
                    tracing::warn!(transfer_id = %transfer.id, %error, "cannot tell yet whether it landed");
                    if !self.pauses().await {
                        return Ok(Step::Left(transfer));
                    }
                }
            }
        };
        match self.was_paid(transfer.tag, &view).await? {
            Paid::Yes(made) => self.settle_as_made(transfer, destination, *made).await,
            Paid::Unknown | Paid::OldView => self.fail_unknown(transfer).await,
            Paid::No => {
                let message = "Solana did not take the transfer before it expired; nothing was paid. Send the same \
                               request again.";
                self.fail(transfer, self.failure(FailureCode::TransferExpired, message)).await
            }
        }
    }

    /// The program said no after we said yes: something changed in between.
    async fn refused(&mut self, transfer: Transfer, refusal: Refusal) -> Stepped {
        let destination = self.stored_destination(&transfer).await?;
        let reason = match refusal {
            // Other bytes paid it: the account shows which.
            Refusal::DuplicateTransfer => return self.expired(transfer).await,
            Refusal::InsufficientBalance => {
                let failure = insufficient(transfer.request.amount, None, self.now());
                return self.fail(transfer, failure).await;
            }
            Refusal::InvalidRecipient => {
                let message = "The recipient could no longer be paid when the transfer reached the chain.";
                return self.fail(transfer, invalid_recipient(message, self.now())).await;
            }
            Refusal::StaleSequence => {
                let message = "The account makes more payments at once than can be told apart; nothing was paid. Send \
                               the same request again.";
                return self.fail(transfer, self.failure(FailureCode::SolanaUnavailable, message)).await;
            }
            Refusal::AuthorityRotated => {
                return self.fail(transfer, self.failure(FailureCode::AuthorityRotated, ROTATED)).await;
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

    /// The chain holds a payment with the tag: it is the answer, if it is this one.
    async fn settle_as_made(
        &mut self,
        transfer: Transfer,
        destination: Address,
        made: PaymentMade,
    ) -> Stepped {
        crash_point!("duplicate.before");
        if is_same(&made, &order(transfer.tag, &transfer.request, destination)) {
            let block_time = Some(made.made_at.unix_seconds());
            return self.settle(transfer, made.signature, made.slot, block_time, None).await;
        }
        let message =
            format!("The idempotency key was used on the chain for another transfer, {}.", made.signature);
        // First: a claim that keeps the key would answer 409 to the one whose payment this is.
        self.parts.store.release_key(&transfer).await?;
        self.fail(transfer, self.failure(FailureCode::TransferFailed, message)).await?;
        Err(ServiceError::IdempotencyConflict)
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

    /// The same for a transfer that was signed, and so had one.
    async fn stored_destination(&self, transfer: &Transfer) -> Result<Address, ServiceError> {
        self.destination(&transfer.request.to).await?.map_err(|reason| {
            tracing::error!(transfer_id = %transfer.id, reason, "a signed transfer lost its recipient");
            ServiceError::Internal
        })
    }

    /// Everything that the decision rests on, at one slot.
    pub(super) async fn read(&self, destination: &Address) -> Result<TransferView, ChainError> {
        let agent = addresses(&self.account);
        self.network.chain.read_for_transfer(&self.operator.address, &agent, destination).await
    }

    /// The same as far as it is known without asking.
    fn known(&self, destination: &Address) -> Option<TransferView> {
        let agent = addresses(&self.account);
        self.network.chain.known_for_transfer(&self.operator.address, &agent, destination)
    }

    /// The view and what every rule says to it, if all that is needed is known and the transfer would be signed by it.
    fn clearly_allowed(&self, order: &Order) -> Option<(TransferView, Checks)> {
        let view = self.known(&order.destination)?;
        match decide(&view, order, self.now()) {
            (Decision::Sign, checks) => Some((view, checks)),
            (Decision::AlreadyMade | Decision::Rejected(_) | Decision::Failing(..), _) => None,
        }
    }

    /// The number of a payment that has just landed, if that is known without asking; the indexer reads it otherwise.
    async fn landed_number(&self, transfer: &Transfer) -> Option<u64> {
        let destination = self.stored_destination(transfer).await.ok()?;
        self.number_of(transfer.tag, self.known(&destination).as_ref())
    }

    /// `None` at a stop.
    async fn wait_for_permit(&self) -> Option<Permit> {
        let stop = &self.parts.tasks.stop;
        stop.run_until_cancelled(self.payments.permit(self.account.id)).await.flatten()
    }

    /// Waits before the chain is asked again. False at a stop.
    async fn pauses(&self) -> bool {
        self.parts.tasks.stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN_AFTER)).await.is_some()
    }

    fn transfer_order(&self, id: TransferId, order: &Order, view: &TransferView) -> TransferOrder {
        TransferOrder {
            operator: self.operator.address,
            transfer_authorities: view.operator.transfer_authorities.clone(),
            agent: addresses(&self.account),
            destination: order.destination,
            transfer_id: id.bytes(),
            sequence: view.tags.sequence(),
            amount: order.amount,
            memo: order.memo.to_owned(),
        }
    }
}

pub(super) fn order(tag: u64, request: &TransferRequest, destination: Address) -> Order<'_> {
    let memo = request.memo.as_ref().map_or("", |memo| memo.as_str());
    Order { tag, amount: request.amount, memo, destination }
}

fn is_same(made: &PaymentMade, order: &Order) -> bool {
    made.amount == order.amount && made.recipient == order.destination && made.memo == order.memo
}
