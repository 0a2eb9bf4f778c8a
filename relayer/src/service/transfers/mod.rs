//! Transfers: requested once, carried out once, answered as often as asked.

mod balances;
mod carrier;
mod decide;
mod follow;
mod handed_over;
mod list;
mod paid;
mod payments;
mod pending;
mod read;
mod record;
mod refusals;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::field::display;
use tracing::{Instrument, Span};

use self::carrier::Carrier;
pub(super) use self::carrier::{HandOver, UNUSED_PURCHASE};
use self::payments::SeenPayments;
pub use self::pending::PendingLimits;
pub(super) use self::pending::PendingPlace;
use self::pending::{Ended, Ending, PendingTransfer, PendingTransfers};
pub use self::read::{LimitsView, Preview, PreviewRequest};
pub use self::refusals::RefusalLimits;
use super::error::{Resource, ServiceError};
use super::reads::find_payer;
use super::{ExplorerUrl, Parts};
use crate::crash_point::crash_point;
use crate::domain::{
    Account, AccountId, Checks, Claim, Fingerprint, IdempotencyKey, Principal, Reuse, Transfer, TransferId,
    TransferRequest, TransferStatus, transfer_tag,
};
use crate::store::{ClaimClock, NewPurchase, NewTransfer};
use crate::traces::step;

/// How often to check a transfer that another process carries out.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// A transfer counts as accepted this long before its caller's deadline, or a quarter of the deadline before it: a failure
/// takes time to record, and the caller may have been answered with 202 meanwhile.
const ACCEPTED_BEFORE: Duration = Duration::from_secs(1);

/// A transfer, and the explorer template for its transaction.
#[derive(Debug, Clone)]
pub struct TransferView {
    pub transfer: Transfer,
    pub explorer: ExplorerUrl,
}

/// The answer to a transfer request.
#[derive(Debug, Clone)]
pub struct TransferAnswer {
    pub view: TransferView,
    /// The same key asked for this transfer before.
    pub replayed: bool,
    /// The result of every rule, if the stored transfer does not hold it.
    pub checks: Option<Checks>,
}

/// Transfers out of agent accounts.
#[derive(Clone)]
pub struct Transfers {
    parts: Parts,
    pending: PendingTransfers,
    payments: SeenPayments,
    wake: Arc<Notify>,
}

/// What stands under a request's idempotency key; a new transfer has been started.
pub(super) enum Started {
    Ours(TransferId),
    Others(TransferId),
    Over(Box<Transfer>),
}

impl Transfers {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            pending: PendingTransfers::default(),
            payments: SeenPayments::default(),
            wake: Arc::default(),
        }
    }

    /// Carries out a transfer and waits for its end up to the deadline; it runs on when the caller leaves.
    ///
    /// Forbidden: an agent key of another account. NotFound: the paying account. IdempotencyConflict: the key was used
    /// with other parameters. TooManyPending, TooManyRefusals: nothing was claimed. A refusal by policy and a failure are states of the transfer.
    pub async fn create(
        &self,
        principal: &Principal,
        request: TransferRequest,
    ) -> Result<TransferAnswer, ServiceError> {
        let deadline = Instant::now() + self.parts.transfer_deadline;
        let account = find_payer(&self.parts, principal, request.from).await?;
        let started = match self.try_place(principal, request.from, &request.idempotency_key) {
            Some(place) => self.start(principal, account, request, place, deadline, None).await?,
            None => {
                let fingerprint = Fingerprint::of(&request);
                let found = self.find_started(principal, &request.idempotency_key, fingerprint).await?;
                found.ok_or(ServiceError::TooManyPending)?
            }
        };
        self.answer(principal, started, deadline).await
    }

    /// Claims a transfer and starts it. Its caller gets an answer at `deadline`. `bought` is set for a purchase, whose
    /// bytes are handed over.
    pub(super) async fn start(
        &self,
        principal: &Principal,
        account: Account,
        request: TransferRequest,
        place: PendingPlace,
        deadline: Instant,
        bought: Option<(NewPurchase, HandOver)>,
    ) -> Result<Started, ServiceError> {
        // The claim and the start belong together, even when the client leaves.
        let this = self.clone();
        let asker = principal.clone();
        let start =
            async move { this.claim_and_start(asker, account, request, place, deadline, bought).await };
        self.parts.tasks.finish(start).await
    }

    /// The transfer's state by the deadline.
    pub(super) async fn answer(
        &self,
        principal: &Principal,
        started: Started,
        deadline: Instant,
    ) -> Result<TransferAnswer, ServiceError> {
        let (id, replayed) = match started {
            Started::Ours(id) => (id, false),
            Started::Others(id) => (id, true),
            Started::Over(transfer) => {
                let view = self.view(*transfer)?;
                return Ok(TransferAnswer { view, replayed: true, checks: None });
            }
        };
        let Ended { transfer, checks } = self.wait(principal, id, deadline).await?;
        crash_point!("answer.before");
        Ok(TransferAnswer { view: self.view(transfer)?, replayed, checks })
    }

    /// How many keys have pending requests.
    pub(crate) fn pending(&self) -> usize {
        self.pending.pending()
    }

    /// One transfer, in any state. NotFound: unknown, another operator's, or for an agent key another account's.
    pub async fn get(&self, principal: &Principal, id: TransferId) -> Result<TransferView, ServiceError> {
        self.view(self.find(principal, id).await?)
    }

    fn view(&self, transfer: Transfer) -> Result<TransferView, ServiceError> {
        let explorer = self.parts.chains.get(transfer.network)?.explorer.clone();
        Ok(TransferView { transfer, explorer })
    }

    /// Takes a pending place, which every new try needs.
    pub(super) fn try_place(
        &self,
        principal: &Principal,
        account: AccountId,
        key: &IdempotencyKey,
    ) -> Option<PendingPlace> {
        self.pending.try_place(principal.operator_id(), account, key, self.parts.pending)
    }

    /// The transfer that answers a request under this key. `None`: the request would be a new try, and needs a place.
    pub(super) async fn find_started(
        &self,
        principal: &Principal,
        key: &IdempotencyKey,
        fingerprint: Fingerprint,
    ) -> Result<Option<Started>, ServiceError> {
        let operator = principal.operator();
        let Some(used) = self.parts.store.find_used_key(operator.id, operator.network, key).await? else {
            return Ok(None);
        };
        let network = self.parts.chains.get(operator.network)?;
        let agreed = network.agreed_now(self.parts.ambient.now()).await;
        let claim = match used.reused_by(&fingerprint.to_hex(), agreed) {
            Reuse::Expired | Reuse::Retry => return Ok(None),
            Reuse::Answer(claim) => *claim,
        };
        let started = match claim {
            Claim::New(transfer) | Claim::Retry(transfer) | Claim::InFlight(transfer) => {
                Started::Others(transfer.id)
            }
            Claim::Replay(transfer) => Started::Over(Box::new(transfer)),
            Claim::Conflict => return Err(self.conflict(principal, key).await?),
        };
        Span::current().record("transfer_id", display(used.transfer.id));
        Ok(Some(started))
    }

    async fn claim_and_start(
        &self,
        asker: Principal,
        account: Account,
        request: TransferRequest,
        place: PendingPlace,
        deadline: Instant,
        bought: Option<(NewPurchase, HandOver)>,
    ) -> Result<Started, ServiceError> {
        let (purchase, hand_over) = bought.unzip();
        let operator = asker.operator().clone();
        let network = self.parts.chains.get(operator.network)?.clone();
        let now = self.parts.ambient.now();
        let tag = transfer_tag(&operator.address, &account.address, &request.idempotency_key);
        let mut asked = NewTransfer {
            id: TransferId::with_tag(now, self.parts.ambient.id_bits(), tag),
            operator_id: operator.id,
            network: operator.network,
            key_id: asker.key_id(),
            request,
            purchase,
            signed: None,
        };
        let mut carrier = Carrier::new(self.parts.clone(), network, operator, account, self.payments.clone());
        carrier.hand_over = hand_over;
        carrier.awaited_until = deadline.checked_sub(ACCEPTED_BEFORE.min(self.parts.transfer_deadline / 4));
        let agreed = carrier.agreed_now().await;
        asked.signed = carrier.sign_ahead(&asked).instrument(step!("transfer.sign_ahead")).await;
        if asked.signed.is_none()
            && let Err(refused) = carrier.check_refusals(&asked).await
        {
            let fingerprint =
                asked.purchase.map_or_else(|| Fingerprint::of(&asked.request), |bought| bought.fingerprint);
            let found = self.find_started(&asker, &asked.request.idempotency_key, fingerprint).await?;
            return found.ok_or(refused);
        }
        let clock = ClaimClock { now, lease_expires_at: now.after(sweep::LEASE), agreed };
        crash_point!("claim.before");
        let claim = self.parts.store.claim_transfer(&asked, clock).instrument(step!("transfer.claim")).await;
        crash_point!("claim.after");
        let are_stored =
            matches!(&claim, Ok(Claim::New(ours) | Claim::Retry(ours)) if ours.state.signed().is_some());
        if let Some(ahead) = asked.signed.as_ref().filter(|_| !are_stored) {
            carrier.discard(ahead);
        }
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
                if let Some(pending) = self.pending.begin(id, place) {
                    self.carry(pending, carrier.run(transfer));
                }
                Started::Ours(id)
            }
            Claim::InFlight(transfer) => Started::Others(transfer.id),
            Claim::Replay(transfer) => Started::Over(Box::new(transfer)),
            Claim::Conflict => {
                return Err(self.conflict(&asker, &asked.request.idempotency_key).await?);
            }
        })
    }

    /// Agents of one operator share its key space, and must not learn what another agent pays.
    async fn conflict(&self, asker: &Principal, key: &IdempotencyKey) -> Result<ServiceError, ServiceError> {
        let store = &self.parts.store;
        let Principal::Agent { operator, account_id, .. } = asker else {
            return Ok(ServiceError::IdempotencyConflict);
        };
        let holder = store.find_account_of_key(operator.id, operator.network, key).await?;
        Ok(match holder {
            Some(holder) if holder != *account_id => ServiceError::KeyOfOtherAccount,
            Some(_) | None => ServiceError::IdempotencyConflict,
        })
    }

    /// Works until the ending, in its own task, and notifies everybody who waits.
    fn carry(&self, pending: PendingTransfer, work: impl Future<Output = Ending> + Send + 'static) {
        let this = self.clone();
        self.parts.tasks.start(async move {
            let ending = work.await;
            if let Ok(Ended { transfer, .. }) = &ending {
                tracing::debug!(state = transfer.state.as_str(), "a transfer was carried out");
            }
            if let Err(ServiceError::Internal) = &ending {
                // Whichever process comes first finishes the transfer from what is stored. If this release fails too,
                // the lease expires by itself.
                let (operator, id) = pending.id();
                let _ = this.parts.store.release_lease(operator, id, this.parts.ambient.now()).await;
                this.wake();
            }
            pending.end(ending);
        });
    }

    /// The transfer at its end, or its state at the deadline or at a stop.
    async fn wait(
        &self,
        principal: &Principal,
        id: TransferId,
        deadline: Instant,
    ) -> Result<Ended, ServiceError> {
        let ended = async {
            loop {
                if let Some(ending) = self.pending.wait(id).await {
                    return ending;
                }
                // Another process carries it out, or nobody does until the sweeper comes.
                let transfer = self.find(principal, id).await?;
                match transfer.state.status() {
                    TransferStatus::Submitted => {}
                    TransferStatus::Settled | TransferStatus::Rejected | TransferStatus::Failed => {
                        return Ok(Ended { transfer, checks: None });
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let waited = tokio::select! {
            waited = tokio::time::timeout_at(deadline, ended) => waited.ok(),
            () = self.parts.tasks.stop.cancelled() => None,
        };
        match waited {
            Some(ended) => ended,
            None => Ok(Ended { transfer: self.find(principal, id).await?, checks: None }),
        }
    }

    async fn find(&self, principal: &Principal, id: TransferId) -> Result<Transfer, ServiceError> {
        let transfer = self.parts.store.find_transfer(principal.operator_id(), id).await?;
        let transfer = transfer.ok_or(ServiceError::NotFound(Resource::Transfer))?;
        match principal {
            Principal::Agent { account_id, .. } if *account_id != transfer.request.from => {
                Err(ServiceError::NotFound(Resource::Transfer))
            }
            Principal::Agent { .. } | Principal::Operator { .. } => Ok(transfer),
        }
    }
}
