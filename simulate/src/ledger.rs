//! A database of transfers, which can be copied, put back, and away at times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{
    AccountId, Address, Claim, ClaimClock, IdempotencyKey, KeyUse, KnownPayments, Ledger, LedgerError,
    Marked, Network, NewTransfer, OperatorId, Payer, PaymentMade, PaymentMeans, PaymentNumber, PaymentsKnown,
    Reuse, SignedTransfer, Timestamp, Transfer, TransferId, TransferState, UsedKey,
};

use crate::world::{PAYEE, Process, World, payer};

/// How far relayers' clocks may differ.
const SLACK: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Row {
    transfer: Transfer,
    fingerprint: String,
    /// `None`: it was given back.
    key_use: Option<i64>,
    key_expires_unix: i64,
    holder: String,
    lease_expires_at: Timestamp,
    /// The last bytes that were stored with it.
    bytes: Option<SignedTransfer>,
}

/// A payment in the account's history.
#[derive(Clone)]
struct Entry {
    payment: PaymentMade,
    /// Set once it was read on the chain.
    number: Option<u64>,
    read_at: Option<Timestamp>,
}

/// Everything that a database holds, of one account.
#[derive(Clone, Default)]
pub struct Database {
    rows: Vec<Row>,
    /// By signature.
    history: BTreeMap<String, Entry>,
    known: KnownPayments,
    pub is_away: bool,
    /// How far its clock is off, in seconds.
    pub clock: i64,
    /// It was put back at some time.
    pub has_forgotten: bool,
}

impl Database {
    pub fn copy(&self) -> Self {
        self.clone()
    }

    /// Becomes an earlier copy of itself.
    pub fn put_back(&mut self, copy: Self) {
        *self = Self { clock: self.clock, is_away: self.is_away, has_forgotten: true, ..copy };
    }

    pub fn open(&self) -> impl Iterator<Item = &Transfer> {
        self.rows.iter().map(|row| &row.transfer).filter(|transfer| is_open(&transfer.state))
    }

    fn used(&self, key: &IdempotencyKey) -> Option<UsedKey> {
        let uses = self.rows.iter().filter(|row| row.transfer.request.idempotency_key == *key);
        let row = uses.filter(|row| row.key_use.is_some()).max_by_key(|row| row.key_use)?;
        Some(UsedKey {
            fingerprint: row.fingerprint.clone(),
            uses: row.key_use?,
            expires_unix: row.key_expires_unix,
            transfer: row.transfer.clone(),
        })
    }

    fn claim(&mut self, new: &NewTransfer, clock: ClaimClock, holder: &str) -> Claim {
        let fingerprint = new.fingerprint().to_hex();
        let (key_use, is_retry) = match self.used(&new.request.idempotency_key) {
            None => (KeyUse::begins(0, clock), false),
            Some(used) => match used.reused_by(&fingerprint, clock.agreed) {
                Reuse::Expired => (KeyUse::begins(used.uses, clock), false),
                Reuse::Retry => (KeyUse::goes_on(&used), true),
                Reuse::Answer(claim) => return *claim,
            },
        };
        let is_known = |up_to| up_to == 0 || self.known.up_to() >= up_to;
        let is_unpaid = self.tagged(new.id.tag(), clock.since()).is_none();
        let ahead = new.signed.as_ref().filter(|ahead| is_known(ahead.known_up_to) && is_unpaid);
        let state = ahead.map_or(TransferState::Claimed, |ahead| TransferState::Signed(ahead.signed.clone()));
        let transfer = Transfer {
            id: new.id,
            operator_id: new.operator_id,
            network: new.network,
            key_id: new.key_id,
            request: new.request.clone(),
            fee_payer: new.sender.map(|sender| sender.fee_payer),
            refusal: None,
            policy_version: ahead.map(|ahead| ahead.policy_version),
            reopened: 0,
            state,
            created_at: clock.now,
            updated_at: clock.now,
        };
        self.rows.push(Row {
            transfer: transfer.clone(),
            fingerprint,
            key_use: Some(key_use.number),
            key_expires_unix: key_use.expires_unix,
            holder: holder.to_owned(),
            lease_expires_at: clock.lease_expires_at,
            bytes: ahead.map(|ahead| ahead.signed.clone()),
        });
        if is_retry { Claim::Retry(transfer) } else { Claim::New(transfer) }
    }

    fn tagged(&self, tag: u64, since: Option<Timestamp>) -> Option<&PaymentMade> {
        let is_later = |at: Timestamp| since.is_none_or(|since| at > since);
        let entries = self.history.values().filter(|entry| entry.payment.transfer_id.tag() == tag);
        let late =
            entries.filter(|entry| is_later(entry.payment.made_at) || entry.read_at.is_some_and(is_later));
        late.map(|entry| &entry.payment).max_by_key(|payment| payment.made_at)
    }

    fn mark(
        &mut self,
        before: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Marked, LedgerError> {
        let row = self.rows.iter_mut().find(|row| row.transfer.id == before.id);
        let row =
            row.filter(|row| is_same(&row.transfer.state, &before.state)).ok_or(LedgerError::Superseded)?;
        if let TransferState::Signed(signed) = &next {
            row.bytes = Some(signed.clone());
        }
        let own = before.state.signed().map(|signed| signed.signature.clone());
        let settlement = match &next {
            TransferState::Settled(settlement) if own.as_ref() == Some(&settlement.signature) => {
                Some(settlement)
            }
            TransferState::Settled(_)
            | TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => None,
        };
        if let Some(settlement) = settlement {
            let request = &before.request;
            let payment = PaymentMade {
                transfer_id: before.id,
                account_id: request.from,
                signature: settlement.signature.clone(),
                slot: settlement.slot,
                made_at: settlement.settled_at,
                amount: request.amount,
                recipient: PAYEE,
                memo: String::new(),
            };
            let entry = Entry { payment, number: None, read_at: None };
            self.history.entry(settlement.signature.clone()).or_insert(entry);
        }
        let policy_version = before.policy_version;
        row.transfer = Transfer { state: next, policy_version, updated_at: now, ..before.clone() };
        Ok(Marked { transfer: row.transfer.clone(), is_watched: false })
    }

    /// A payment was read on the chain: it is added, and settles the transfer that it pays. False: it contradicts one.
    pub fn read(&mut self, number: u64, payment: PaymentMade, now: Timestamp) -> bool {
        let known = self.history.get(&payment.signature);
        if known.is_some_and(|known| known.number == Some(number) && known.payment.slot == payment.slot) {
            // A fork may have given its number to another payment, which was taken back since.
            self.known.insert(PaymentNumber::Is(number));
            return true;
        }
        if let Some(other) = known.and_then(|known| known.number) {
            self.known.remove(PaymentNumber::Is(other));
        }
        self.known.insert(PaymentNumber::Is(number));
        let entry = Entry { payment: payment.clone(), number: Some(number), read_at: Some(now) };
        self.history.insert(payment.signature.clone(), entry);
        let Some(row) = self.rows.iter_mut().find(|row| row.transfer.id == payment.transfer_id) else {
            return true;
        };
        match row.transfer.met_by(&payment, Some(PAYEE)) {
            PaymentMeans::Known => true,
            PaymentMeans::Settles(settlement) => {
                let settled = TransferState::Settled(settlement);
                row.transfer = Transfer { state: settled, updated_at: now, ..row.transfer.clone() };
                true
            }
            PaymentMeans::Contradicts => false,
        }
    }

    /// Payments that a fork dropped are taken back, and what they had settled is open again.
    pub fn take_back(&mut self, is_gone: impl Fn(&PaymentMade) -> bool, now: Timestamp) -> usize {
        let gone: Vec<Entry> =
            self.history.values().filter(|entry| is_gone(&entry.payment)).cloned().collect();
        for entry in &gone {
            let signature = &entry.payment.signature;
            self.history.remove(signature);
            if let Some(number) = entry.number {
                self.known.remove(PaymentNumber::Is(number));
            }
            for row in &mut self.rows {
                if let Some(open) = row.transfer.reopened_by_loss(signature, row.bytes.clone(), now) {
                    row.transfer = open;
                    row.lease_expires_at = now;
                }
            }
        }
        gone.len()
    }
}

fn is_open(state: &TransferState) -> bool {
    match state {
        TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. } => true,
        TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => false,
    }
}

fn is_same(one: &TransferState, other: &TransferState) -> bool {
    let signature = |state: &TransferState| state.signed().map(|signed| signed.signature.clone());
    one.as_str() == other.as_str() && signature(one) == signature(other)
}

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
                let key = new.request.idempotency_key.as_str();
                format!("{holder}: claims {key} as {} ({})", ours.id, ours.state.as_str())
            }
            Claim::Replay(_) | Claim::InFlight(_) | Claim::Conflict => format!("{holder}: the key is taken"),
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
    ) -> Result<Marked, LedgerError> {
        let marked = self.call("mark", |database| database.mark(transfer, next, now)).await?;
        self.world.tell(|| {
            let Transfer { id, state, .. } = &marked.transfer;
            let more = match state {
                TransferState::Failed(failure) => format!(": {}", failure.code.as_str()),
                TransferState::Signed(signed) => format!(" as transaction {}", signed.signature),
                TransferState::Settled(settlement) => format!(" by transaction {}", settlement.signature),
                TransferState::Claimed | TransferState::Sent { .. } | TransferState::Rejected(_) => {
                    String::new()
                }
            };
            format!("{}: {id} is {}{more}", self.process.name, state.as_str())
        });
        Ok(marked)
    }

    async fn release_use(&self, transfer: &Transfer) -> Result<(), LedgerError> {
        let release = |database: &mut Database| {
            database
                .rows
                .iter_mut()
                .filter(|row| row.transfer.id == transfer.id)
                .for_each(|row| row.key_use = None);
            Ok(())
        };
        self.call("release use", release).await
    }

    async fn release_key(&self, transfer: &Transfer) -> Result<(), LedgerError> {
        let release = |database: &mut Database| {
            let latest =
                database.rows.iter().find(|row| row.transfer.id == transfer.id).and_then(|row| row.key_use);
            let key = &transfer.request.idempotency_key;
            for row in database.rows.iter_mut().filter(|row| row.transfer.request.idempotency_key == *key) {
                if row.key_use <= latest {
                    row.key_use = None;
                }
            }
            Ok(())
        };
        self.call("release key", release).await
    }

    async fn find_payment(
        &self,
        _: &Payer,
        tag: u64,
        since: Option<Timestamp>,
    ) -> Result<PaymentsKnown, LedgerError> {
        let find = |database: &mut Database| {
            Ok(PaymentsKnown { up_to: database.known.up_to(), made: database.tagged(tag, since).cloned() })
        };
        self.call("payment", find).await
    }

    async fn want_payments(&self, _: &Payer, _: u64) -> Result<(), LedgerError> {
        self.call("want payments", |_| Ok(())).await
    }

    async fn find_payer(&self, _: &Transfer) -> Result<Option<Payer>, LedgerError> {
        self.call("payer", |_| Ok(Some(payer()))).await
    }

    async fn find_payee(&self, _: Network, _: AccountId) -> Result<Option<Address>, LedgerError> {
        self.call("payee", |_| Ok(Some(PAYEE))).await
    }

    async fn find_last_allowed_refusal(
        &self,
        _: &Payer,
        _: Timestamp,
        _: u32,
        _: u32,
    ) -> Result<Option<TransferId>, LedgerError> {
        self.call("refusals", |_| Ok(None)).await
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
