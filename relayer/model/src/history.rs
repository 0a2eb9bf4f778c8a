mod steps;

use std::fmt;
use std::str::FromStr;

use purser_core::words;
use sha2::{Digest, Sha256};

use super::{
    AccountId, Address, EntryId, Invalid, Memo, Network, OperatorId, PaymentMade, Rejection, RejectionReason,
    Settlement, Spent, Timestamp, Transfer, TransferId, UsdcAmount,
};

pub use steps::own_settlement;

/// What a history entry knows of its payment's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentNumber {
    /// The first payment of an account is 1.
    Is(u64),
    /// The log was cut off before it.
    CutOff,
}

/// One line of an account's history: money that moved on the chain, or a transfer that policy refused. Settled entries
/// follow from the chain alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub id: EntryId,
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub network: Network,
    pub kind: EntryKind,
    pub amount: UsdcAmount,
    /// Who paid or was paid, if it is a single known party.
    pub counterparty: Option<Counterparty>,
    pub memo: Option<Memo>,
    /// For transfers, and deposits made by one transfer: read from the chain, so every reader gets the same.
    pub transfer_id: Option<TransferId>,
    /// For a settled transfer: the Unix second that its bytes name, if it is known.
    pub asked_at: Option<i64>,
    /// For a settled transfer, once it is known.
    pub number: Option<PaymentNumber>,
    /// For a settled transfer that was just read from the chain; not stored with it.
    pub spent: Option<Spent>,
    pub outcome: EntryOutcome,
    /// When it happened: see [`happened_at`]; for a refusal, when it was refused.
    pub created_at: Timestamp,
}

/// An entry with its place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEntry {
    pub entry: HistoryEntry,
    /// When it became visible, which is its place: later than all entries of the account that were visible before, and
    /// never before the entry happened.
    pub visible_at: Timestamp,
    /// Its place as text, which sorts by time.
    pub position: String,
}

words! {
    /// What an entry is about.
    pub enum EntryKind = "EntryKind":
        "A payment within policy, money received by whatever means, or a withdrawal by the operator's admin." {
        /// Out, through the program and within policy.
        Transfer = "transfer",
        /// In, by whatever means.
        Deposit = "deposit",
        /// Out, by the operator's admin, bypassing the policy.
        Withdrawal = "withdrawal",
    }
}

impl EntryKind {
    /// Seen from the account.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Deposit => Direction::In,
            Self::Transfer | Self::Withdrawal => Direction::Out,
        }
    }
}

words! {
    /// Which way money goes.
    pub enum Direction = "Direction": "Seen from the account." {
        In = "in",
        Out = "out",
    }
}

words! {
    /// Whose words a memo is.
    pub enum MemoFrom = "MemoFrom":
        "`account`: the account's own words, in what it asked for. `sender`: those of whoever sent a deposit." {
        /// The account's own, in what it asked for.
        Account = "account",
        /// Those of whoever sent a deposit: anybody.
        Sender = "sender",
    }
}

impl EntryKind {
    /// Whose words the memo of such an entry is.
    pub const fn memo_from(self) -> MemoFrom {
        match self {
            Self::Deposit => MemoFrom::Sender,
            Self::Transfer | Self::Withdrawal => MemoFrom::Account,
        }
    }
}

/// Whether money moved, and the transaction that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOutcome {
    Settled {
        /// Base58.
        signature: String,
        slot: u64,
    },
    Rejected {
        reason: RejectionReason,
        message: String,
    },
}

impl EntryOutcome {
    /// The status that lists filter by.
    pub const fn status(&self) -> HistoryStatus {
        match self {
            Self::Settled { .. } => HistoryStatus::Settled,
            Self::Rejected { .. } => HistoryStatus::Rejected,
        }
    }
}

/// Which entries a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryFilter {
    pub status: Option<HistoryStatus>,
    pub kind: Option<EntryKind>,
    /// Only entries that became visible after this time.
    pub since: Option<Timestamp>,
    /// Only entries that became visible up to this time.
    pub until: Option<Timestamp>,
}

impl HistoryFilter {
    /// Every kind of entry with each status it can have.
    const LINES: [(EntryKind, HistoryStatus); 4] = [
        (EntryKind::Transfer, HistoryStatus::Settled),
        (EntryKind::Transfer, HistoryStatus::Rejected),
        (EntryKind::Deposit, HistoryStatus::Settled),
        (EntryKind::Withdrawal, HistoryStatus::Settled),
    ];

    /// The kinds and statuses that the filter allows.
    pub fn lines(&self) -> impl Iterator<Item = (EntryKind, HistoryStatus)> {
        let passes = |(kind, status): &(EntryKind, HistoryStatus)| {
            self.kind.is_none_or(|wanted| wanted == *kind)
                && self.status.is_none_or(|wanted| wanted == *status)
        };
        Self::LINES.into_iter().filter(passes)
    }

    /// Binds a cursor of the list to its account and filter.
    pub fn text(&self, operator_id: OperatorId, account_id: AccountId) -> String {
        let moment = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.to_string());
        let status = self.status.map_or("", HistoryStatus::as_str);
        let kind = self.kind.map_or("", EntryKind::as_str);
        let (since, until) = (moment(self.since), moment(self.until));
        format!("history|{operator_id}|{account_id}|{status}|{kind}|{since}|{until}")
    }
}

words! {
    /// The two statuses that history has.
    pub enum HistoryStatus = "EntryStatus": "Whether money moved." {
        Settled = "settled",
        Rejected = "rejected",
    }
}

/// The other party. The chain knows token accounts; a reader sees the operator's own accounts by id, and everybody else
/// by token account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counterparty {
    Account(AccountId),
    TokenAccount(Address),
}

impl fmt::Display for Counterparty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => id.fmt(f),
            Self::TokenAccount(address) => address.fmt(f),
        }
    }
}

impl FromStr for Counterparty {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Account(id));
        }
        let address =
            text.parse().map_err(|_| Invalid::new("counterparty", "is no account and no address"))?;
        Ok(Self::TokenAccount(address))
    }
}

/// An account as a counterparty of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    pub account_id: AccountId,
    pub operator_id: OperatorId,
    pub token_account: Address,
}

/// The id of a transaction's entry: the `ordinal`-th of the account's own in the transaction, outgoing money before
/// incoming. Every reader of the chain gives an entry the same id.
pub fn entry_id(signature: &str, account: AccountId, ordinal: u32) -> EntryId {
    let mut digest = Sha256::new();
    digest.update(b"purser:entry:v1");
    digest.update(account.bytes());
    digest.update(ordinal.to_le_bytes());
    digest.update(signature.as_bytes());
    let [bytes @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _]: [u8; 32] = digest.finalize().into();
    EntryId::from_bytes(bytes)
}

impl HistoryEntry {
    /// The payment that it records, if it is one.
    pub fn payment(&self) -> Option<PaymentMade> {
        let (EntryKind::Transfer, EntryOutcome::Settled { signature, slot }) = (self.kind, &self.outcome)
        else {
            return None;
        };
        let Some(Counterparty::TokenAccount(recipient)) = self.counterparty else { return None };
        Some(PaymentMade {
            transfer_id: self.transfer_id?,
            account_id: self.account_id,
            signature: signature.clone(),
            slot: *slot,
            made_at: self.created_at,
            amount: self.amount,
            recipient,
            memo: self.memo.as_ref().map_or_else(String::new, |memo| memo.as_str().to_owned()),
        })
    }

    /// The owner and id of its account.
    pub const fn account_key(&self) -> (OperatorId, AccountId) {
        (self.operator_id, self.account_id)
    }

    /// The entry of a transfer that policy refused and that never reaches the chain.
    pub fn of_rejection(transfer: &Transfer, rejection: &Rejection) -> Self {
        Self {
            id: EntryId::from_bytes(transfer.id.bytes()),
            operator_id: transfer.operator_id,
            account_id: transfer.request.from,
            network: transfer.network,
            kind: EntryKind::Transfer,
            amount: transfer.request.amount,
            counterparty: transfer.request.to.text().parse().ok(),
            memo: transfer.request.memo.clone(),
            transfer_id: Some(transfer.id),
            asked_at: None,
            number: None,
            spent: None,
            outcome: EntryOutcome::Rejected { reason: rejection.reason, message: rejection.message.clone() },
            created_at: rejection.rejected_at,
        }
    }

    /// The entries of our transfer that settled in its own transaction: out of `from`, to the token account `to` and,
    /// if that is an account of the service, into `recipient`. The indexer makes the same entries.
    pub fn of_settlement(
        transfer: &Transfer,
        settlement: &Settlement,
        from: &Party,
        to: Address,
        recipient: Option<&Party>,
    ) -> Vec<Self> {
        let signature = &settlement.signature;
        let outgoing = Self {
            id: entry_id(signature, from.account_id, 0),
            operator_id: from.operator_id,
            account_id: from.account_id,
            network: transfer.network,
            kind: EntryKind::Transfer,
            amount: transfer.request.amount,
            counterparty: Some(Counterparty::TokenAccount(to)),
            memo: transfer.request.memo.clone().filter(|memo| !memo.as_str().is_empty()),
            transfer_id: Some(transfer.id),
            asked_at: transfer.asked_at,
            // Only the chain's own event says it.
            number: settlement.number.map(PaymentNumber::Is),
            spent: None,
            outcome: EntryOutcome::Settled { signature: signature.clone(), slot: settlement.slot },
            created_at: settlement.settled_at,
        };
        let incoming = recipient.map(|party| Self {
            id: entry_id(signature, party.account_id, 0),
            operator_id: party.operator_id,
            account_id: party.account_id,
            kind: EntryKind::Deposit,
            counterparty: Some(Counterparty::TokenAccount(from.token_account)),
            asked_at: None,
            number: None,
            ..outgoing.clone()
        });
        std::iter::once(outgoing).chain(incoming).collect()
    }

    /// Its position by the chain, as text that sorts by time.
    pub fn chain_position(&self) -> String {
        let slot = match &self.outcome {
            EntryOutcome::Settled { slot, .. } => *slot,
            EntryOutcome::Rejected { .. } => 0,
        };
        format!("{}|{slot:020}|{}", self.created_at, self.id)
    }
}

/// Above the position of everything that became visible up to `moment`, and below everything later.
pub fn position_after(moment: Timestamp) -> String {
    format!("{moment}~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checks, IdempotencyKey, KeyId, Recipient, TransferRequest, TransferState};

    pub(super) fn transfer(to: &str) -> Transfer {
        Transfer {
            id: TransferId::from_bytes([7; 16]),
            operator_id: OperatorId::from_bytes([1; 16]),
            network: Network::Test,
            key_id: KeyId::from_bytes([2; 16]),
            idempotency_key: IdempotencyKey::parse("k").expect("valid"),
            request: TransferRequest {
                from: AccountId::from_bytes([3; 16]),
                to: Recipient::parse(to).expect("valid"),
                amount: UsdcAmount::from_micros(5),
                memo: Some(Memo::parse("tea").expect("valid")),
            },
            fee_payer: None,
            refusal: None,
            approval: crate::Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state: TransferState::Claimed,
            created_at: Timestamp::from_unix_seconds(1),
            updated_at: Timestamp::from_unix_seconds(1),
        }
    }

    pub(super) fn party(byte: u8) -> Party {
        Party {
            account_id: AccountId::from_bytes([byte; 16]),
            operator_id: OperatorId::from_bytes([1; 16]),
            token_account: Address::from_bytes([byte; 32]),
        }
    }

    pub(super) fn settlement() -> Settlement {
        Settlement {
            signature: "sig".into(),
            settled_at: Timestamp::from_unix_seconds(50),
            slot: 9,
            number: None,
        }
    }

    pub(super) fn rejection() -> Rejection {
        Rejection {
            reason: RejectionReason::Paused,
            message: "paused".into(),
            checks: Checks::default(),
            policy_version: Some(1),
            retry_at: None,
            rejected_at: Timestamp::from_unix_seconds(5),
        }
    }

    #[test]
    fn a_payment_between_two_accounts_leaves_one_and_enters_the_other() {
        let (from, to) = (party(3), party(4));
        let payment = transfer("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV");
        let entries =
            HistoryEntry::of_settlement(&payment, &settlement(), &from, to.token_account, Some(&to));
        let [out, into] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!((out.kind, out.account_id), (EntryKind::Transfer, from.account_id));
        assert_eq!(out.counterparty, Some(Counterparty::TokenAccount(to.token_account)));
        assert_eq!((into.kind, into.account_id), (EntryKind::Deposit, to.account_id));
        assert_eq!((&into.memo, into.transfer_id), (&out.memo, out.transfer_id));
        assert_eq!((out.number.is_some(), into.number), (false, None));
        assert_eq!(into.counterparty, Some(Counterparty::TokenAccount(from.token_account)));
        assert_ne!(out.id, into.id);
    }

    #[test]
    fn the_order_of_the_chain_is_by_time_then_slot() {
        let at = |second, slot| {
            let settlement =
                Settlement { slot, settled_at: Timestamp::from_unix_seconds(second), ..settlement() };
            let payment = transfer("11111111111111111111111111111111");
            HistoryEntry::of_settlement(&payment, &settlement, &party(3), Address::from_bytes([0; 32]), None)
                .remove(0)
                .chain_position()
        };
        assert!(at(50, 9) < at(50, 10) && at(50, 999) < at(51, 1));
        let since = position_after(Timestamp::from_unix_seconds(50));
        assert!(at(50, u64::MAX) < since && since < at(51, 0));
    }

    #[test]
    fn filter_selects_entries_by_kind_and_status() {
        let lines = |kind, status| HistoryFilter { kind, status, ..HistoryFilter::default() }.lines().count();
        let (settled, rejected) = (Some(HistoryStatus::Settled), Some(HistoryStatus::Rejected));
        assert_eq!(lines(None, None), 4);
        assert_eq!((lines(None, settled), lines(None, rejected)), (3, 1));
        assert_eq!(lines(Some(EntryKind::Transfer), None), 2);
        assert_eq!(lines(Some(EntryKind::Deposit), settled), 1);
        assert_eq!(lines(Some(EntryKind::Withdrawal), rejected), 0);
    }

    #[test]
    fn a_rejection_keeps_its_recipient_and_its_transfer() {
        let entry = HistoryEntry::of_rejection(&transfer("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV"), &rejection());
        assert_eq!(
            entry.counterparty.map(|party| party.to_string()).as_deref(),
            Some("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")
        );
        assert_eq!(entry.outcome.status(), HistoryStatus::Rejected);
        assert_eq!(entry.transfer_id, Some(TransferId::from_bytes([7; 16])));
    }

    #[test]
    fn an_entrys_id_follows_from_signature_account_and_ordinal_alone() {
        let (a, b) = (AccountId::from_bytes([1; 16]), AccountId::from_bytes([2; 16]));
        let ids = [entry_id("s", a, 0), entry_id("s", a, 1), entry_id("s", b, 0), entry_id("t", a, 0)];
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id));
        }
        assert_eq!(ids[0].to_string(), entry_id("s", a, 0).to_string());
        // These ids must never change, so that a re-indexed history keeps them.
        assert_eq!(entry_id("s", a, 0).to_string().len(), "ent_".len() + 26);
    }
}
