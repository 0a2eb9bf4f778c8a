//! Transfers: requested once, carried out once, answered as often as asked. What happens to one is `purser_core`'s.

mod approval;
mod list;
mod observer;
mod read;
mod token_accounts;
mod views;

use std::sync::Arc;

use std::time::Duration;

use purser_core::{
    AskedTransfer, Ended, HandOver, Order, OtherSender, Payer, PaymentEngine, PaymentError, PendingLimits,
    PendingPlace, Started,
};
use tokio::time::Instant;

use self::approval::asks_nobody;
pub(super) use self::observer::{TransferObserver, UNUSED_BYTES};
pub use self::read::Preview;
pub use self::views::{ApprovalPage, TransferView, TransferViews};
use super::error::{Resource, ServiceError, meant};
use super::reads::{addresses, find_payer};
use crate::Inside;
use crate::parts::finish;
use purser_base::crash_point::crash_point;
use purser_base::turns::OneAtATime;
use purser_model::{
    Account, AccountId, Address, Approval, ApprovalRule, AskedPayee, Checks, Fingerprint, IdempotencyKey,
    Operator, OperatorId, Principal, Recipient, Transfer, TransferId,
};

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
    inside: Arc<Inside>,
    transfer_deadline: Duration,
    pending: PendingLimits,
    engine: PaymentEngine,
    pub views: TransferViews,
    /// Token accounts of payees, by operator and wallet.
    creating: OneAtATime<(OperatorId, Address)>,
}

impl Transfers {
    pub(super) fn new(
        inside: Arc<Inside>,
        engine: PaymentEngine,
        transfer_deadline: Duration,
        pending: PendingLimits,
        views: TransferViews,
    ) -> Self {
        Self { inside, transfer_deadline, pending, engine, views, creating: OneAtATime::default() }
    }

    /// Carries out a transfer and waits for its end up to the deadline; it runs on when the caller leaves.
    ///
    /// Invalid: it asks for an approval, and this build has none. Forbidden: an agent key of another account. NotFound: the paying
    /// account. IdempotencyConflict: the key was used with other parameters. LikelyDuplicate, TooManyPending, TooManyRefusals: nothing was claimed.
    /// NoTokenAccount: the wallet that is to be paid has none, and the service creates none for it. A refusal by policy and a failure are states of the transfer.
    pub async fn create(
        &self,
        principal: &Principal,
        asked: AskedTransfer,
        create_token_account: Option<bool>,
    ) -> Result<TransferAnswer, ServiceError> {
        let deadline = Instant::now() + self.transfer_deadline;
        let from = asked.request.from;
        let account = find_payer(&self.inside.store.accounts, principal, from).await?;
        let asks_in_vain = asked.approval == Approval::Request && !self.views.asks_people();
        let approvals = if self.views.asks_people() { account.approvals } else { ApprovalRule::Off };
        let asked = AskedTransfer {
            duplicates: account.duplicates.over(asked.duplicates),
            approval: approvals.over(asked.approval),
            ..asked
        };
        // It gets the answer of a used key like any other, and is no new try.
        let place = if asks_in_vain { None } else { self.try_place(principal, from, &asked.idempotency_key) };
        let started = match place {
            Some(place) => {
                if create_token_account.unwrap_or(account.create_token_accounts) {
                    self.create_token_account(principal, &account, &asked, deadline).await?;
                }
                self.start(principal, account, asked, place, deadline, None).await?
            }
            None => {
                let AskedTransfer { idempotency_key: key, request, approval, .. } = &asked;
                let found = self.find_started(principal, key, Fingerprint::of(request), *approval).await?;
                found
                    .ok_or_else(|| if asks_in_vain { asks_nobody() } else { ServiceError::TooManyPending })?
            }
        };
        self.answer(principal, started, deadline).await
    }

    /// Whom a request of this caller names: a wallet is paid at its associated USDC token account. Asks no node.
    pub fn recipient(&self, principal: &Principal, asked: AskedPayee) -> Result<Recipient, ServiceError> {
        Ok(match asked {
            AskedPayee::Text(to) => to,
            AskedPayee::Wallet(wallet) => {
                let chain = self.inside.chain(principal.operator().network)?;
                Recipient::Wallet { wallet, token_account: chain.usdc_account_of(&wallet) }
            }
        })
    }

    /// Claims a transfer and starts it. Its caller gets an answer at `deadline`. `sent_by` is set for bytes that somebody else
    /// sends.
    pub(super) async fn start(
        &self,
        principal: &Principal,
        account: Account,
        asked: AskedTransfer,
        place: PendingPlace,
        deadline: Instant,
        sent_by: Option<(OtherSender, HandOver)>,
    ) -> Result<Started, ServiceError> {
        let payer = payer(principal.operator(), &account);
        let key = asked.idempotency_key.clone();
        let order = Order { payer, key_id: principal.key_id(), asked, sent_by, deadline };
        let engine = self.engine.clone();
        // The claim and the start belong together, even when the client leaves.
        let begun = finish(&self.inside.tasks, async move { Ok(engine.begin(order, place).await) }).await?;
        self.started(principal, &key, begun).await
    }

    /// The transfer's state by the deadline.
    pub(super) async fn answer(
        &self,
        principal: &Principal,
        started: Started,
        deadline: Instant,
    ) -> Result<TransferAnswer, ServiceError> {
        let (id, watch, replayed) = match started {
            Started::Ours(id, watch) => (id, watch, false),
            Started::Others(id) => (id, None, true),
            Started::Over(transfer) => {
                let view = self.views.one(*transfer).await?;
                return Ok(TransferAnswer { view, replayed: true, checks: None });
            }
        };
        let ended = self.engine.wait(principal.operator_id(), id, watch, deadline).await;
        let Ended { transfer, checks } = ended.map_err(|error| meant(&error))?;
        crash_point!("answer.before");
        Ok(TransferAnswer { view: self.views.one(transfer).await?, replayed, checks })
    }

    /// One pass over the transfers that nobody carries.
    #[cfg(any(test, feature = "testing"))]
    pub(super) async fn sweep(&self) {
        self.engine.sweep().await.expect("swept");
    }

    /// How many keys have pending requests.
    pub fn pending(&self) -> usize {
        self.engine.pending()
    }

    /// Sweeps open transfers at once, by timer and when woken, until the stop.
    pub(super) fn sweep_until_stopped(&self) {
        let this = self.clone();
        self.inside.tasks.keep("sweeper", async move {
            if let Err(error) =
                this.inside.store.transfers.release_orphaned_leases(this.inside.clock.now()).await
            {
                tracing::warn!(%error, "cannot release the previous process's leases; they will expire");
            }
            this.engine.sweep_until_stopped().await;
        });
    }

    /// One transfer, in any state. NotFound: unknown, another operator's, or for an agent key another account's.
    pub async fn get(&self, principal: &Principal, id: TransferId) -> Result<TransferView, ServiceError> {
        self.views.one(self.find(principal, id).await?).await
    }

    /// Takes a pending place, which every new try needs.
    pub(super) fn try_place(
        &self,
        principal: &Principal,
        account: AccountId,
        key: &IdempotencyKey,
    ) -> Option<PendingPlace> {
        self.engine.try_place(principal.operator_id(), account, key, self.pending)
    }

    /// The transfer that answers a request under this key. `None`: the request would be a new try, and needs a place.
    pub(super) async fn find_started(
        &self,
        principal: &Principal,
        key: &IdempotencyKey,
        fingerprint: Fingerprint,
        approval: Approval,
    ) -> Result<Option<Started>, ServiceError> {
        let operator = principal.operator();
        let found =
            self.engine.find_started((operator.network, operator.id), key, fingerprint, approval).await;
        self.started(principal, key, found).await
    }

    async fn started<T>(
        &self,
        principal: &Principal,
        key: &IdempotencyKey,
        begun: Result<T, PaymentError>,
    ) -> Result<T, ServiceError> {
        match begun {
            Ok(started) => Ok(started),
            Err(PaymentError::KeyTaken) => Err(self.conflict(principal, key).await?),
            Err(error) => Err(error.into()),
        }
    }

    /// Agents of one operator share its key space, and must not learn what another agent pays.
    async fn conflict(&self, asker: &Principal, key: &IdempotencyKey) -> Result<ServiceError, ServiceError> {
        let operator = asker.operator();
        let used = self.inside.store.transfers.find_used_key(operator.id, operator.network, key).await?;
        let used = used.map(|used| used.transfer);
        Ok(match (asker, used) {
            (Principal::Agent { account_id, .. }, Some(used)) if used.request.from != *account_id => {
                ServiceError::KeyOfOtherAccount
            }
            (Principal::Agent { .. } | Principal::Operator { .. }, used) => {
                ServiceError::IdempotencyConflict(used.map(|used| used.id))
            }
        })
    }

    async fn find(&self, principal: &Principal, id: TransferId) -> Result<Transfer, ServiceError> {
        let transfer = self.inside.store.transfers.find_transfer(principal.operator_id(), id).await?;
        let transfer = transfer.ok_or(ServiceError::NotFound(Resource::Transfer))?;
        match principal {
            Principal::Agent { account_id, .. } if *account_id != transfer.request.from => {
                Err(ServiceError::NotFound(Resource::Transfer))
            }
            Principal::Agent { .. } | Principal::Operator { .. } => Ok(transfer),
        }
    }
}

/// As the payment engine names them.
pub(super) fn payer(operator: &Operator, account: &Account) -> Payer {
    Payer {
        network: operator.network,
        operator_id: operator.id,
        operator: operator.address,
        account_id: account.id,
        addresses: addresses(account),
    }
}
