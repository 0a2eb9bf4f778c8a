//! A database as the payment engine sees it: the ledger of one process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{
    AccountId, Address, Claim, ClaimClock, GivesBack, IdempotencyKey, Ledger, LedgerError, Network,
    NewTransfer, OperatorId, Payer, PaymentMade, Timestamp, Transfer, TransferId, TransferState, UsedKey,
};

use crate::database::{Database, Row, is_open};
use crate::names::{PAYEE, payer};
use crate::world::{Process, World};

/// How far relayers' clocks may differ.
const SLACK: Duration = Duration::from_secs(60);

/// A database as one process sees it.
pub struct SimLedger {
    pub world: Arc<World>,
    pub process: Arc<Process>,
    pub database: usize,
}

impl SimLedger {
    /// The process may die before the call or after it, and the database may be away, or lose its answer.
    async fn call<T>(
        &self,
        what: &str,
        work: impl FnOnce(&mut Database) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.process.lives(&self.world).await;
        self.world.pause(0, 3).await;
        let is_away = self.world.with(|state| state.databases[self.database].is_away);
        if is_away || self.world.goes_wrong(1) {
            self.world.tell(|| format!("{}: the database is away ({what})", self.process.name));
            return Err(LedgerError::Unavailable("away".into()));
        }
        let done = self.world.with(|state| work(&mut state.databases[self.database]));
        self.process.lives(&self.world).await;
        if self.world.goes_wrong(1) {
            self.world.tell(|| format!("{}: the database's answer is lost ({what})", self.process.name));
            return Err(LedgerError::Unavailable("the answer is lost".into()));
        }
        done
    }
}

#[async_trait]
impl Ledger for SimLedger {
    async fn claim(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim, LedgerError> {
        let holder = &self.process.name;
        let claim = self.call("claim", |database| Ok(database.claim(new, clock, holder))).await?;
        self.world.tell(|| match &claim {
            Claim::New(ours) | Claim::Retry(ours) => {
                let key = ours.idempotency_key.as_str();
                format!("{holder}: claims {key} as {} ({})", ours.id, ours.state.as_str())
            }
            Claim::Replay(_)
            | Claim::InFlight(_)
            | Claim::Conflict
            | Claim::Duplicate(_)
            | Claim::TooManyRefused(_) => format!("{holder}: the key is taken"),
        });
        Ok(claim)
    }

    async fn find_used_key(
        &self,
        _: OperatorId,
        _: Network,
        key: &IdempotencyKey,
    ) -> Result<Option<UsedKey>, LedgerError> {
        self.call("used key", |database| Ok(database.used(key))).await
    }

    async fn find_transfer(&self, _: OperatorId, id: TransferId) -> Result<Option<Transfer>, LedgerError> {
        let find = |database: &mut Database| {
            Ok(database.rows.iter().find(|row| row.transfer.id == id).map(|row| row.transfer.clone()))
        };
        self.call("transfer", find).await
    }

    async fn mark(
        &self,
        transfer: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError> {
        let marked = self.call("mark", |database| database.mark(transfer, next, now)).await?;
        self.world.tell(|| {
            let Transfer { id, state, .. } = &marked;
            let more = match state {
                TransferState::Failed(failure) => format!(": {}", failure.code.as_str()),
                TransferState::Signed(signed) => format!(" as transaction {}", signed.signature),
                TransferState::Settled(settlement) => format!(" by transaction {}", settlement.signature),
                TransferState::Claimed
                | TransferState::PendingApproval(_)
                | TransferState::Sent { .. }
                | TransferState::Rejected(_) => String::new(),
            };
            format!("{}: {id} is {}{more}", self.process.name, state.as_str())
        });
        Ok(marked)
    }

    async fn give_up(
        &self,
        transfer: &Transfer,
        failed: TransferState,
        gives_back: GivesBack,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError> {
        let give_up = |database: &mut Database| {
            let marked = database.mark(transfer, failed, now)?;
            database.release(transfer, gives_back);
            Ok(marked)
        };
        let marked = self.call("give up", give_up).await?;
        self.world.tell(|| format!("{}: {} gives its key back", self.process.name, transfer.id));
        Ok(marked)
    }

    async fn find_payment(
        &self,
        _: &Payer,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>, LedgerError> {
        self.call("payment", |database: &mut Database| Ok(database.tagged(tag, asked_after).cloned())).await
    }

    async fn find_payer(&self, _: &Transfer) -> Result<Option<Payer>, LedgerError> {
        self.call("payer", |_| Ok(Some(payer()))).await
    }

    async fn find_payee(&self, _: Network, _: AccountId) -> Result<Option<Address>, LedgerError> {
        self.call("payee", |_| Ok(Some(PAYEE))).await
    }

    async fn take_unfinished(
        &self,
        _: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, LedgerError> {
        let holder = &self.process.name;
        let take = |database: &mut Database| {
            // A lease that ends later than any that is given now is of a clock that was ahead.
            let latest = lease_expires_at.after(SLACK);
            let is_free = |at: Timestamp| at <= now || at > latest;
            let is_due = |row: &&mut Row| is_open(&row.transfer.state) && is_free(row.lease_expires_at);
            let due = database.rows.iter_mut().filter(is_due).take(rows_max as usize);
            Ok(due
                .map(|row| {
                    (row.holder, row.lease_expires_at) = (holder.clone(), lease_expires_at);
                    row.transfer.clone()
                })
                .collect())
        };
        self.call("take unfinished", take).await
    }

    async fn renew_leases(
        &self,
        _: OperatorId,
        ids: &[TransferId],
        lease_expires_at: Timestamp,
    ) -> Result<(), LedgerError> {
        let holder = &self.process.name;
        let renew = |database: &mut Database| {
            let ours = database.rows.iter_mut().filter(|row| row.holder == *holder);
            ours.filter(|row| ids.contains(&row.transfer.id))
                .for_each(|row| row.lease_expires_at = lease_expires_at);
            Ok(())
        };
        self.call("renew leases", renew).await
    }

    async fn release_lease(&self, _: OperatorId, id: TransferId, now: Timestamp) -> Result<(), LedgerError> {
        let holder = &self.process.name;
        let release = |database: &mut Database| {
            let ours = database.rows.iter_mut().filter(|row| row.holder == *holder);
            ours.filter(|row| row.transfer.id == id).for_each(|row| row.lease_expires_at = now);
            Ok(())
        };
        self.call("release lease", release).await
    }
}
