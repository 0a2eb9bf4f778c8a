//! A database of transfers, which can be copied, put back, and away at times.

use std::collections::BTreeMap;

use purser_core::{
    Claim, ClaimClock, GivesBack, IdempotencyKey, KeyUse, LedgerError, NewTransfer, PaymentMade,
    PaymentMeans, Reuse, SignedTransfer, Timestamp, Transfer, TransferState, UsedKey,
};

use crate::names::PAYEE;

#[derive(Clone)]
pub struct Row {
    pub transfer: Transfer,
    pub fingerprint: String,
    /// `None`: it was given back.
    pub key_use: Option<i64>,
    pub key_expires_unix: i64,
    pub holder: String,
    pub lease_expires_at: Timestamp,
    /// The last bytes that were stored with it.
    pub bytes: Option<SignedTransfer>,
}

/// A payment in the account's history.
#[derive(Clone)]
pub struct Entry {
    payment: PaymentMade,
    /// The second that its bytes name.
    asked_at: Option<i64>,
    /// Set once it was read on the chain.
    number: Option<u64>,
}

/// Everything that a database holds, of one account.
#[derive(Clone, Default)]
pub struct Database {
    pub rows: Vec<Row>,
    /// By signature.
    pub history: BTreeMap<String, Entry>,
    pub is_away: bool,
    /// It was put back at some time.
    pub has_forgotten: bool,
}

impl Database {
    /// Becomes an earlier copy of itself.
    pub fn put_back(&mut self, copy: Self) {
        *self = Self { is_away: self.is_away, has_forgotten: true, ..copy };
    }

    pub fn open(&self) -> impl Iterator<Item = &Transfer> {
        self.rows.iter().map(|row| &row.transfer).filter(|transfer| is_open(&transfer.state))
    }

    pub fn used(&self, key: &IdempotencyKey) -> Option<UsedKey> {
        let uses = self.rows.iter().filter(|row| row.transfer.idempotency_key == *key);
        let row = uses.filter(|row| row.key_use.is_some()).max_by_key(|row| row.key_use)?;
        Some(UsedKey {
            fingerprint: row.fingerprint.clone(),
            uses: row.key_use?,
            expires_unix: row.key_expires_unix,
            transfer: row.transfer.clone(),
        })
    }

    pub fn claim(&mut self, new: &NewTransfer, clock: ClaimClock, holder: &str) -> Claim {
        let fingerprint = new.fingerprint().to_hex();
        let (key_use, is_retry) = match self.used(&new.transfer.idempotency_key) {
            None => (KeyUse::begins(0, clock), false),
            Some(used) => match used.reused_by(&fingerprint, clock.agreed, new.transfer.approval) {
                Reuse::Expired => (KeyUse::begins(used.uses, clock), false),
                Reuse::Retry => (KeyUse::goes_on(&used), true),
                Reuse::Answer(claim) => return *claim,
            },
        };
        let transfer = new.claimed(key_use, clock.now);
        self.rows.push(Row {
            transfer: transfer.clone(),
            fingerprint,
            key_use: Some(key_use.number),
            key_expires_unix: key_use.expires_unix,
            holder: holder.to_owned(),
            lease_expires_at: clock.lease_expires_at,
            bytes: transfer.state.signed().cloned(),
        });
        if is_retry { Claim::Retry(transfer) } else { Claim::New(transfer) }
    }

    pub fn release(&mut self, transfer: &Transfer, gives_back: GivesBack) {
        let its_use = self.rows.iter().find(|row| row.transfer.id == transfer.id).and_then(|row| row.key_use);
        for row in &mut self.rows {
            let is_earlier =
                row.transfer.idempotency_key == transfer.idempotency_key && row.key_use <= its_use;
            if row.transfer.id == transfer.id || gives_back == GivesBack::TheKey && is_earlier {
                row.key_use = None;
            }
        }
    }

    pub fn tagged(&self, tag: u64, asked_after: i64) -> Option<&PaymentMade> {
        let is_tagged =
            |entry: &&Entry| entry.payment.transfer_id.tag() == tag && entry.asked_at > Some(asked_after);
        let late = self.history.values().filter(is_tagged).map(|entry| &entry.payment);
        late.max_by_key(|payment| payment.slot)
    }

    pub fn mark(
        &mut self,
        before: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError> {
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
            | TransferState::PendingApproval(_)
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
            let entry = Entry { payment, asked_at: before.asked_at, number: None };
            self.history.entry(settlement.signature.clone()).or_insert(entry);
        }
        row.transfer = before.moved(next, now);
        Ok(row.transfer.clone())
    }

    /// A payment was read on the chain: it is added, and settles the transfer that it pays. False: it contradicts one.
    pub fn read(&mut self, (number, asked_at): (u64, i64), payment: &PaymentMade, now: Timestamp) -> bool {
        let known = self.history.get(&payment.signature);
        if known.is_some_and(|known| known.number == Some(number) && known.payment.slot == payment.slot) {
            return true;
        }
        let entry = Entry { payment: payment.clone(), asked_at: Some(asked_at), number: Some(number) };
        self.history.insert(payment.signature.clone(), entry);
        let Some(row) = self.rows.iter_mut().find(|row| row.transfer.id == payment.transfer_id) else {
            return true;
        };
        match row.transfer.met_by(payment, Some(PAYEE)) {
            PaymentMeans::Known => true,
            PaymentMeans::Settles(settlement) => {
                let settled = TransferState::Settled(settlement);
                row.transfer = Transfer { state: settled, updated_at: now, ..row.transfer.clone() };
                let paid = row.clone();
                self.free_unpaid_after(&paid);
                true
            }
            PaymentMeans::Contradicts => false,
        }
    }

    /// Later tries of the same use of the key ended without a payment: they give their use back, so that the key stands for the payment.
    fn free_unpaid_after(&mut self, paid: &Row) {
        for row in &mut self.rows {
            let is_later = row.transfer.idempotency_key == paid.transfer.idempotency_key
                && row.key_expires_unix == paid.key_expires_unix
                && paid.key_use.is_some_and(|paid| row.key_use.is_some_and(|later| later > paid));
            if is_later && matches!(row.transfer.state, TransferState::Rejected(_) | TransferState::Failed(_))
            {
                row.key_use = None;
            }
        }
    }

    /// Payments that a fork dropped are taken back, and what they had settled is open again.
    pub fn take_back(&mut self, is_gone: impl Fn(&PaymentMade) -> bool, now: Timestamp) -> usize {
        let gone: Vec<Entry> =
            self.history.values().filter(|entry| is_gone(&entry.payment)).cloned().collect();
        for entry in &gone {
            let signature = &entry.payment.signature;
            self.history.remove(signature);
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

pub fn is_open(state: &TransferState) -> bool {
    match state {
        TransferState::Claimed
        | TransferState::PendingApproval(_)
        | TransferState::Signed(_)
        | TransferState::Sent { .. } => true,
        TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) => false,
    }
}

fn is_same(one: &TransferState, other: &TransferState) -> bool {
    let signature = |state: &TransferState| state.signed().map(|signed| signed.signature.clone());
    one.as_str() == other.as_str() && signature(one) == signature(other)
}
