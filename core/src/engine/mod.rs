//! The way of a payment: decided, signed and claimed under its key in one write, then sent, followed to its end and recorded, by
//! whichever process holds its lease.

mod approval;
mod decide;
mod error;
mod follow;
mod handed_over;
mod paid;
mod pending;
mod record;
mod sweep;
mod task;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::field::display;
use tracing::{Instrument, Span};

pub use self::decide::{Decision, Payment, decide};
pub use self::error::PaymentError;
pub use self::pending::{Ended, PendingLimits, PendingPlace, Watch};
use self::pending::{PendingTransfer, PendingTransfers};
pub use self::task::{HandOver, PaymentTask};
use crate::crash_point;
use crate::{
    AccountId, Approval, AskedTransfer, Chain, ChainFault, Claim, ClaimClock, Fingerprint, IdempotencyKey,
    KeyId, LedgerError, Network, NewTransfer, OperatorId, OtherSender, Outside, Payer, Reuse, Transfer,
    TransferId, TransferState, TransferStatus, agreed_now, transfer_tag,
};

/// How often to check a transfer that another process carries out.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// How long a refusal counts against [`crate::RefusalLimits`].
const DAY: Duration = Duration::from_secs(86_400);

/// Transfers of one process, from the request to their end. Every process on a ledger has one.
#[derive(Clone)]
pub struct PaymentEngine {
    outside: Outside,
    pending: PendingTransfers,
    wake: Arc<Notify>,
}

/// A request to pay.
pub struct Order {
    pub payer: Payer,
    /// The API key that asks for it.
    pub key_id: KeyId,
    pub asked: AskedTransfer,
    /// Set when somebody else sends the bytes.
    pub sent_by: Option<(OtherSender, HandOver)>,
    /// When its caller gets an answer.
    pub deadline: Instant,
}

/// What a person's no made of a transfer.
#[derive(Debug)]
pub enum Rejected {
    Done(Box<Transfer>),
    /// It does not wait for a person any more, or never did.
    TooLate(Box<Transfer>),
}

/// What stands under a request's idempotency key; a new transfer has been started.
#[derive(Debug)]
pub enum Started {
    Ours(TransferId, Option<Watch>),
    Others(TransferId),
    Over(Box<Transfer>),
}

impl PaymentEngine {
    pub fn new(outside: Outside) -> Self {
        Self { outside, pending: PendingTransfers::default(), wake: Arc::default() }
    }

    /// How many keys have pending requests.
    pub fn pending(&self) -> usize {
        self.pending.pending()
    }

    /// Takes a pending place if one is free, which every new try needs. All requests under one key share one place.
    pub fn try_place(
        &self,
        operator: OperatorId,
        account: AccountId,
        key: &IdempotencyKey,
        limits: PendingLimits,
    ) -> Option<PendingPlace> {
        self.pending.try_place(operator, account, key, limits)
    }

    /// The transfer that answers a request under this key. `None`: the request would be a new try, and needs a place.
    pub async fn find_started(
        &self,
        (network, operator): (Network, OperatorId),
        key: &IdempotencyKey,
        fingerprint: Fingerprint,
        approval: Approval,
    ) -> Result<Option<Started>, PaymentError> {
        let Some(used) = self.outside.ledger.find_used_key(operator, network, key).await? else {
            return Ok(None);
        };
        let agreed = agreed_now(&**self.chain(network)?, self.outside.clock.now()).await;
        let id = used.transfer.id;
        let claim = match used.reused_by(&fingerprint.to_hex(), agreed, approval) {
            Reuse::Expired | Reuse::Retry => return Ok(None),
            Reuse::Answer(claim) => *claim,
        };
        let started = match claim {
            Claim::New(transfer) | Claim::Retry(transfer) | Claim::InFlight(transfer) => {
                Started::Others(transfer.id)
            }
            Claim::Replay(transfer) => Started::Over(Box::new(transfer)),
            Claim::Conflict => return Err(PaymentError::KeyTaken),
            Claim::Duplicate(earlier) => return Err(PaymentError::Duplicate(earlier)),
            Claim::TooManyRefused(last) => return Err(self.too_many_refused(last)),
        };
        Span::current().record("transfer_id", display(id));
        Ok(Some(started))
    }

    /// Decides about a request, claims its key with what came of that, and starts it. Must run to its end: the claim and the start belong
    /// together.
    pub async fn begin(&self, order: Order, place: PendingPlace) -> Result<Started, PaymentError> {
        let Order { payer, key_id, asked, sent_by, deadline } = order;
        let AskedTransfer { idempotency_key, request, duplicates, approval } = asked;
        let (sender, hand_over) = sent_by.unzip();
        let fingerprint = sender.map(|sender| sender.fingerprint);
        let whose = (payer.network, payer.operator_id);
        let asked_for = fingerprint.unwrap_or_else(|| Fingerprint::of(&request));
        // Of identical requests at once one decides, and its answer is that of all.
        let turn = place.turn();
        let (mut turn, has_waited) = match turn.try_lock() {
            Ok(turn) => (turn, false),
            Err(_) => (turn.lock().await, true),
        };
        if has_waited && let Some((_, id)) = turn.filter(|(claimed_for, _)| *claimed_for == asked_for) {
            return Ok(Started::Others(id));
        }
        *turn = None;
        if let Some(started) = self.find_started(whose, &idempotency_key, asked_for, approval).await? {
            return Ok(started);
        }
        let mut task = self.task(payer)?;
        task.hand_over = hand_over;
        task.awaited_until = Some(deadline);
        let prepared = async {
            let now = self.outside.clock.now();
            let tag = transfer_tag(&payer.operator, &payer.addresses.agent, &idempotency_key);
            let transfer = Transfer {
                id: TransferId::with_tag(now, self.outside.clock.id_bits(), tag),
                operator_id: payer.operator_id,
                network: payer.network,
                key_id,
                idempotency_key,
                request,
                fee_payer: sender.map(|sender| sender.fee_payer),
                refusal: None,
                approval,
                policy_version: None,
                reopened: 0,
                asked_at: Some(self.chain(payer.network)?.asking_second().await?),
                earlier_valid_until: None,
                state: TransferState::Claimed,
                created_at: now,
                updated_at: now,
            };
            task.prepare(transfer).await
        };
        let prepared = tokio::time::timeout_at(deadline, prepared.instrument(step!("transfer.sign"))).await;
        let too_slow = |_| ChainFault::Unavailable("it was not signed in time".into());
        let (transfer, next) = prepared.map_err(too_slow)??;
        let mut new =
            NewTransfer { transfer, next, fingerprint, duplicates, refusals: self.outside.refusals };
        let agreed = task.agreed_now().await;
        let now = self.outside.clock.now();
        let clock = ClaimClock { now, lease_expires_at: now.after(sweep::LEASE), agreed };
        crash_point!("claim.before");
        let claim = loop {
            let claim = self.outside.ledger.claim(&new, clock);
            match (claim.instrument(step!("transfer.claim")).await, &new.next) {
                (Err(LedgerError::TooManyApprovals), TransferState::PendingApproval(wanted)) => {
                    new.next = TransferState::Rejected(wanted.refused());
                }
                (claim, _) => break claim,
            }
        };
        crash_point!("claim.after");
        let claim = claim?;
        if let Claim::New(transfer)
        | Claim::Retry(transfer)
        | Claim::InFlight(transfer)
        | Claim::Replay(transfer) = &claim
        {
            Span::current().record("transfer_id", display(transfer.id));
        }
        Ok(match claim {
            Claim::New(transfer) | Claim::Retry(transfer) => {
                let id = transfer.id;
                *turn = Some((asked_for, id));
                let pending = self.pending.begin(id, place);
                // Watched from the beginning: it may end before anybody waits.
                let watch = self.pending.watch(id);
                if let Some(pending) = pending {
                    self.carry(pending, task, transfer);
                }
                Started::Ours(id, watch)
            }
            Claim::InFlight(transfer) => Started::Others(transfer.id),
            Claim::Replay(transfer) => Started::Over(Box::new(transfer)),
            Claim::Conflict => return Err(PaymentError::KeyTaken),
            Claim::Duplicate(earlier) => return Err(PaymentError::Duplicate(earlier)),
            Claim::TooManyRefused(last) => return Err(self.too_many_refused(last)),
        })
    }

    fn too_many_refused(&self, last: TransferId) -> PaymentError {
        let wait = self.outside.clock.now().until(last.made_by().after(DAY));
        PaymentError::TooManyRefusals { retry_after_seconds: wait.as_secs() + 1 }
    }

    /// The transfer at its end, or its state at the deadline or at a stop.
    pub async fn wait(
        &self,
        operator: OperatorId,
        id: TransferId,
        mut watch: Option<Watch>,
        deadline: Instant,
    ) -> Result<Ended, PaymentError> {
        let ended = async {
            loop {
                if let Some(watch) = watch.take().or_else(|| self.pending.watch(id))
                    && let Some(ending) = watch.ending().await
                {
                    return ending;
                }
                // Another process carries it out, or nobody does until the sweeper comes.
                let transfer = self.find(operator, id).await?;
                match transfer.state.status() {
                    TransferStatus::Submitted => {}
                    TransferStatus::PendingApproval
                    | TransferStatus::Settled
                    | TransferStatus::Rejected
                    | TransferStatus::Failed => {
                        return Ok(Ended { transfer, checks: None });
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let waited = tokio::select! {
            biased;
            waited = tokio::time::timeout_at(deadline, ended) => waited.ok(),
            () = self.outside.stop.cancelled() => None,
        };
        match waited {
            Some(ended) => ended,
            None => Ok(Ended { transfer: self.find(operator, id).await?, checks: None }),
        }
    }

    /// For one payment of this payer, or to look at what it would do.
    pub fn task(&self, payer: Payer) -> Result<PaymentTask, PaymentError> {
        let chain = self.chain(payer.network)?.clone();
        Ok(PaymentTask::new(self.outside.clone(), chain, payer))
    }

    /// Works until the ending, in its own task, and notifies everybody who waits.
    fn carry(&self, pending: PendingTransfer, task: PaymentTask, transfer: Transfer) {
        let this = self.clone();
        let (chain, payer) = (task.chain.clone(), task.payer);
        self.outside.tasks.start(Box::pin(async move {
            let ending = task.run(transfer).await;
            match &ending {
                Ok(Ended { transfer, .. }) => {
                    tracing::debug!(state = transfer.state.as_str(), "a transfer was carried out");
                }
                Err(error) if error.is_ours() => {
                    tracing::error!(%error, "cannot carry out a transfer");
                    // Whichever process comes first finishes the transfer from what is stored. If this release fails too,
                    // the lease expires by itself.
                    let (operator, id) = pending.id();
                    let now = this.outside.clock.now();
                    let _ = this.outside.ledger.release_lease(operator, id, now).await;
                    this.wake();
                }
                Err(error) => tracing::warn!(%error, "cannot carry out a transfer yet"),
            }
            let is_paid =
                matches!(&ending, Ok(ended) if ended.transfer.state.status() == TransferStatus::Settled);
            pending.end(ending);
            if is_paid {
                chain.make_room_ahead(&payer).await;
            }
        }));
    }

    async fn find(&self, operator: OperatorId, id: TransferId) -> Result<Transfer, PaymentError> {
        self.outside.ledger.find_transfer(operator, id).await?.ok_or(PaymentError::Gone)
    }

    fn chain(&self, network: Network) -> Result<&Arc<dyn Chain>, PaymentError> {
        let chain = self.outside.chains.get(&network);
        chain.ok_or_else(|| ChainFault::Unavailable(format!("network {network} is not configured")).into())
    }
}
