//! Creates the token account of a wallet that is to be paid, where the payment lacks nothing else. It has its own transaction, before
//! anything of the payment is claimed; the payment is decided again after it.

use std::time::Duration;

use purser_core::Chain as _;
use purser_core::{AskedTransfer, Decision, Payer, Payment, Room, decide, transfer_tag};
use tokio::time::{Instant, timeout_at};

use super::{Transfers, payer};
use crate::error::ServiceError;
use crate::parts::finish;
use purser_base::crash_point::crash_point;
use purser_chain::{ChainError, ChainView, Destination};
use purser_model::{Account, Address, Fingerprint, NoTokenAccount, Principal, TransferRequest};
use purser_store::{NewTokenAccount, TokenAccountReservation};

/// How long nobody else creates the same one: most are confirmed by then. A second one would cost a fee.
const LEASE: Duration = Duration::from_secs(30);
/// How often to check what another request or relayer creates.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The reason that a payment to a wallet cannot be made yet.
enum Lacks {
    /// Its token account alone.
    TokenAccount,
    Otherwise,
}

impl Transfers {
    /// Has the payee's token account created, if that is all that the payment lacks. Returns when the payment can be decided, or at
    /// the deadline; the creation runs on when the caller leaves.
    ///
    /// NoTokenAccount: the service creates none for it. ChainUnavailable: it is not there in time. Nothing was claimed.
    pub(super) async fn create_token_account(
        &self,
        principal: &Principal,
        account: &Account,
        asked: &AskedTransfer,
        deadline: Instant,
    ) -> Result<(), ServiceError> {
        let Some(wallet) = asked.request.to.wallet() else { return Ok(()) };
        let (this, principal) = (self.clone(), principal.clone());
        let (payer, asked) = (payer(principal.operator(), account), asked.clone());
        let work = async move { this.create_if_lacking(&principal, payer, wallet, &asked, deadline).await };
        let created = timeout_at(deadline, finish(&self.inside.tasks, work)).await;
        created.unwrap_or(Err(ServiceError::ChainUnavailable { retryable: true }))
    }

    async fn create_if_lacking(
        &self,
        principal: &Principal,
        payer: Payer,
        wallet: Address,
        asked: &AskedTransfer,
        deadline: Instant,
    ) -> Result<(), ServiceError> {
        let creating = self.creating.of((payer.operator_id, wallet));
        let _creating = creating.lock().await;
        let AskedTransfer { idempotency_key: key, request, approval, .. } = asked;
        let fingerprint = Fingerprint::of(request);
        if self.find_started(principal, key, fingerprint, *approval).await?.is_some() {
            return Ok(());
        }
        loop {
            if Instant::now() >= deadline {
                // Nobody waits for it.
                return Err(ServiceError::ChainUnavailable { retryable: true });
            }
            match self.lacks(&payer, asked, wallet).await? {
                Lacks::TokenAccount => {}
                Lacks::Otherwise => return Ok(()),
            }
            let now = self.inside.clock.now();
            let new = NewTokenAccount {
                operator_id: payer.operator_id,
                account_id: payer.account_id,
                wallet,
                idempotency_key: key.clone(),
                amount: request.amount,
                created_at: now,
                lease_expires_at: now.after(LEASE),
            };
            let quotas = self.inside.quotas;
            match self.inside.store.accounts.reserve_token_account(&new, quotas).await? {
                TokenAccountReservation::Made => return self.create_reserved(&payer, &new).await,
                TokenAccountReservation::Running => tokio::time::sleep(LOOK_EVERY).await,
                TokenAccountReservation::Refused(reason) => return Err(ServiceError::NoTokenAccount(reason)),
            }
        }
    }

    async fn create_reserved(&self, payer: &Payer, new: &NewTokenAccount) -> Result<(), ServiceError> {
        let network = self.inside.chains.get(payer.network)?;
        crash_point!("token_account.reserved");
        let created = network.chain.create_token_account(&new.wallet).await;
        crash_point!("token_account.created");
        let accounts = &self.inside.store.accounts;
        let ended = match &created {
            Ok(_) | Err(ChainError::Rejected { .. }) => {
                accounts.end_token_account(new, self.inside.clock.now()).await
            }
            // No transaction of it can land any more.
            Err(ChainError::SignerUnavailable { .. } | ChainError::Expired) => {
                accounts.delete_token_account(new).await
            }
            Err(error) if error.is_before_anything() => accounts.delete_token_account(new).await,
            // It may land yet: until the lease expires, others look for it.
            Err(_) => Ok(()),
        };
        if let Err(error) = ended {
            tracing::warn!(%error, "cannot end the reservation of a token account; its lease will expire");
        }
        let NewTokenAccount { account_id, wallet, .. } = new;
        match created {
            Ok(_) => {
                tracing::info!(%account_id, %wallet, "the service created the token account of a payee");
                Ok(())
            }
            // Something else is at the address. The decision about the payment sees it.
            Err(ChainError::Rejected { .. }) => {
                tracing::warn!(%account_id, %wallet, "the chain refused the token account of a payee");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Decides about the payment as if its payee had a token account. Of an account that is full, makes the room first.
    async fn lacks(
        &self,
        payer: &Payer,
        asked: &AskedTransfer,
        wallet: Address,
    ) -> Result<Lacks, ServiceError> {
        let AskedTransfer { idempotency_key, request, approval, .. } = asked;
        let Ok(destination) = self.engine.task(*payer)?.destination(&request.to).await? else {
            return Ok(Lacks::Otherwise);
        };
        let tag = transfer_tag(&payer.operator, &payer.addresses.agent, idempotency_key);
        let payment = Payment { tag, asked_at: None, destination, request };
        let chain = self.inside.chain(payer.network)?;
        let known = chain.known_for_transfer(payer, &payment);
        let view = match known.filter(|view| view.destination != Destination::NoTokenAccount) {
            Some(known) => known,
            None => {
                let with_grant = approval.requested().is_some();
                chain.read_for_transfer(payer, &payment, with_grant).await?
            }
        };
        if view.destination != Destination::NoTokenAccount {
            return Ok(Lacks::Otherwise);
        }
        let buckets = view.tags.len();
        let with_one = ChainView { destination: Destination::TokenAccount { owner: wallet }, ..view };
        match decide(&with_one, &payment, self.inside.clock.now()).0 {
            Decision::Sign => Ok(Lacks::TokenAccount),
            Decision::NoRoom => Ok(match chain.make_room(payer, buckets).await? {
                Room::Made => Lacks::TokenAccount,
                Room::None => Lacks::Otherwise,
            }),
            Decision::AlreadyMade | Decision::Rejected(_) | Decision::Failing(..) => Ok(Lacks::Otherwise),
        }
    }

    /// Why the service would not create a token account for this payment now.
    pub(super) async fn refuses_token_account(
        &self,
        account: &Account,
        asked: &TransferRequest,
    ) -> Result<Option<NoTokenAccount>, ServiceError> {
        let (whose, now) = ((account.operator_id, account.id), self.inside.clock.now());
        let accounts = &self.inside.store.accounts;
        Ok(accounts.refuses_token_account(whose, asked.amount, now, self.inside.quotas).await?)
    }
}
