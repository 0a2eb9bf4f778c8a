//! Every rule of the store, on both databases. Each file of `cases` is compiled once for SQLite, on real files, and
//! once for Postgres if `PURSER_TEST_POSTGRES_URL` names a server whose user may create schemas; each test has its own schema.

mod explained;
mod fairness;
mod full_disk;
mod many_rows;
mod noted;
mod postgres;
mod sqlite;

use std::time::Duration;

use purser_policy::id_with_tag;
use sqlx::AssertSqlSafe;
use tempfile::TempDir;

use super::pools::Pools;
use super::query::{Sql, query, sql};
use purser_core::{ClaimClock, Duplicates, GivesBack, NewTransfer, RefusalLimits};

use super::{NewTokenAccount, Store, StoreError, TokenAccountReservation};
pub(super) use noted::note;
use purser_model::*;

/// A database of its own, with one operator, one account and one key.
pub(super) struct Fixture {
    pub store: Store,
    pub operator: Operator,
    pub account: Account,
    pub key: ApiKey,
    place: Place,
}

/// The location of a database, deleted on drop.
enum Place {
    Folder(TempDir),
    Schema(postgres::Schema),
}

impl Place {
    fn url(&self) -> String {
        match self {
            Self::Folder(folder) => format!("sqlite://{}", folder.path().join("purser.db").display()),
            Self::Schema(schema) => schema.url(),
        }
    }

    /// Bypasses the store.
    fn open_sqlite(&self) -> rusqlite::Connection {
        let url = self.url();
        let file = super::sqlite::file_of(&url).expect("SQLite");
        rusqlite::Connection::open(file).expect("opened")
    }
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000 + seconds)
}

pub(super) fn operator(byte: u8) -> Operator {
    Operator {
        id: OperatorId::from_bytes([byte; 16]),
        network: Network::Test,
        name: Label::parse("Acme").expect("valid"),
        address: Address::from_bytes([byte; 32]),
        requires_reason: false,
        created_at: at(0),
    }
}

pub(super) fn account(operator: &Operator, byte: u8) -> Account {
    Account {
        id: AccountId::from_bytes([byte; 16]),
        operator_id: operator.id,
        name: Label::parse("Buyer").expect("valid"),
        metadata: None,
        tags: Tags::default(),
        address: Address::from_bytes([byte; 32]),
        token_account: Address::from_bytes([byte.wrapping_add(1); 32]),
        status: AccountStatus::Active,
        allowlist_entries: 0,
        duplicates: DuplicateRule::AsAsked,
        approvals: ApprovalRule::On,
        create_token_accounts: false,
        created_at: at(i64::from(byte)),
    }
}

pub(super) fn key(operator: &Operator, holder: KeyHolder, byte: u8) -> (ApiKey, PlainKey) {
    let plain = PlainKey::new(holder.role(), operator.network, None, [byte; 32]);
    let key = ApiKey {
        id: KeyId::from_bytes([byte; 16]),
        operator_id: operator.id,
        holder,
        scopes: holder.all_scopes(),
        made_by: None,
        name: Some("laptop".into()),
        hint: plain.hint(),
        created_at: at(0),
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
        allowed_cidrs: None,
    };
    (key, plain)
}

impl Fixture {
    async fn in_place(place: Place) -> Self {
        let store = Store::open(&place.url()).await.expect("opened");
        let operator = operator(1);
        let account = account(&operator, 2);
        let (key, plain) = key(&operator, KeyHolder::Operator, 3);
        store.operators.insert_operator(&operator).await.expect("inserted");
        store.accounts.insert_account(&account).await.expect("inserted");
        store.keys.insert_key(&key, &plain.hash()).await.expect("inserted");
        Self { store, operator, account, key, place }
    }

    /// Opens the same database again, like a process that starts after a crash or runs beside this one.
    pub async fn reopen(&self) -> Store {
        Store::open(&self.place.url()).await.expect("opened")
    }

    pub fn transfer(&self, number: u8, idempotency_key: &str) -> NewTransfer {
        let idempotency_key = IdempotencyKey::parse(idempotency_key).expect("valid");
        let tag = transfer_tag(&self.operator.address, &self.account.address, &idempotency_key);
        let transfer = Transfer {
            id: TransferId::from_bytes(id_with_tag([number; 8], tag)),
            operator_id: self.operator.id,
            network: self.operator.network,
            key_id: self.key.id,
            idempotency_key,
            request: TransferRequest {
                from: self.account.id,
                to: Recipient::TokenAccount(Address::from_bytes([9; 32])),
                amount: UsdcAmount::from_micros(12_500_000),
                memo: Some(Memo::parse("coffee \u{1F600}").expect("valid")),
            },
            fee_payer: None,
            refusal: None,
            approval: purser_core::Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state: TransferState::Claimed,
            created_at: at(0),
            updated_at: at(0),
        };
        new_transfer(transfer)
    }

    /// Claims at `seconds` by both clocks, with a lease of 60 s.
    pub async fn claim(&self, new: &NewTransfer, seconds: i64) -> Claim {
        let transfer = Transfer { created_at: at(seconds), ..new.transfer.clone() };
        let new = NewTransfer { transfer, ..new.clone() };
        self.store.transfers.claim_transfer(&new, clock(seconds)).await.expect("claimed")
    }

    pub async fn claim_new(&self, new: &NewTransfer, seconds: i64) -> Transfer {
        match self.claim(new, seconds).await {
            Claim::New(transfer) => transfer,
            other => panic!("not new: {other:?}"),
        }
    }
}

/// Asks for its key as a transfer of which nothing is decided, as version 0.1.0 stored them.
pub(super) fn new_transfer(transfer: Transfer) -> NewTransfer {
    NewTransfer {
        next: TransferState::Claimed,
        transfer,
        fingerprint: None,
        duplicates: Duplicates::default(),
        refusals: RefusalLimits { per_account: 1_000, per_operator: 1_000 },
    }
}

/// The same, signed before its claim.
pub(super) fn signed_ahead(new: NewTransfer, number: u8) -> NewTransfer {
    let transfer = Transfer { policy_version: Some(7), ..new.transfer };
    NewTransfer { next: TransferState::Signed(signed(number)), transfer, ..new }
}

pub(super) fn clock(seconds: i64) -> ClaimClock {
    let now = at(seconds);
    ClaimClock { now, lease_expires_at: now.after(Duration::from_secs(60)), agreed: Some(now.unix_seconds()) }
}

pub(super) fn signed(number: u8) -> SignedTransfer {
    SignedTransfer {
        bytes: vec![number; 300],
        signature: format!("signature-{number}"),
        last_valid_block_height: 1_000 + u64::from(number),
    }
}

pub(super) fn settlement(seconds: i64) -> Settlement {
    Settlement { signature: "signature-1".into(), settled_at: at(seconds), slot: u64::MAX, number: None }
}

pub(super) fn failure(code: FailureCode) -> Failure {
    Failure { code, message: "no".into(), failed_at: at(1), retry_at: None }
}

pub(super) fn rejection(reason: RejectionReason) -> Rejection {
    Rejection {
        reason,
        message: "12.500000 is above max_single_transfer 5.000000".into(),
        checks: Checks(vec![
            RuleCheck {
                rule: CheckedRule::Paused,
                ok: true,
                limit: Limit::Unlimited,
                used: UsdcAmount::ZERO,
            },
            RuleCheck {
                rule: CheckedRule::MaxDailySpend,
                ok: false,
                limit: Limit::AtMost(UsdcAmount::from_micros(5_000_000)),
                used: UsdcAmount::MAX,
            },
        ]),
        policy_version: Some(7),
        retry_at: Some(at(500)),
        rejected_at: at(1),
    }
}
