//! What Purser remembers. Never asks the chain, and never holds a transaction open during a network call.
//!
//! **Two databases, one text.** Every function has one body and one SQL text for SQLite and Postgres:
//! `sql! {"... {id} ...", id}.fetch_all(self.reader())`, or `.execute(tx)` in [`Database::write`]
//! ([`query::Query`] hands the values to whichever driver is in use). So the text keeps to what both understand:
//! TEXT, BIGINT and BOOLEAN; `ON CONFLICT`, `RETURNING` (columns without an alias of their table).
//! [`stored`] says how each of our types stands in a column, and a [`row::row`] once which columns it has.
//! In migrations every text column is `TEXT COLLATE "binary"`, so that ids and times sort by bytes in both.
//! Only [`pools`] knows the differences: opening, running a transaction (SQLite's by [`writer`]),
//! `skip_locked`.
//!
//! **Any number of processes.** A Postgres transaction does not stop others from writing between its read and
//! its write. So no write trusts an earlier read: its `WHERE` names what it saw, and it touches no row if
//! that has changed (`Superseded`, or `Contended` and retried by [`Database::write`]). Workers lease the rows they carry
//! ([`leases`]); a lease only spares double work, and no step relies on it for safety.
//!
//! Every finder takes the owner first; functions for workers serve all operators, and say so.
//! Tests in `tests/cases` run on both databases. Start at `accounts.rs`, then `claims.rs`.

mod accounts;
mod actions;
mod approvals;
mod attempts;
mod balances;
mod chain_wins;
mod claims;
mod cleaning;
mod clock;
mod co_signatures;
mod connections;
mod deliveries;
mod denials;
mod due;
mod error;
mod events;
mod finality;
mod grants_opened;
mod history;
mod keys;
mod known_balances;
mod leases;
mod ledgers;
mod limits;
mod look;
mod marks;
mod operators;
mod parties;
mod passkeys;
mod payment_ledger;
mod pending_fetches;
mod pending_policies;
mod places;
mod policies;
mod policy_versions;
mod pools;
mod postgres;
mod probe;
mod query;
mod quotas;
mod refusals;
mod replays;
mod requests;
mod row;
mod sessions;
mod spending;
mod sqlite;
mod statement;
#[cfg(any(test, feature = "testing"))]
mod steps;
mod stops;
mod stored;
mod streams;
mod tables;
mod token_accounts;
mod transaction;
mod transfer_lists;
mod transfer_row;
mod transfer_sums;
mod transfers;
mod walks;
mod webhooks;
mod writer;

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;

pub use attempts::AttemptMade;
use cleaning::LookedAt;
pub use clock::SystemClock;
pub use due::Due;
use error::Result;
pub use error::StoreError;
use events::Outbox;
pub use known_balances::KnownAccount;
pub use ledgers::{Ledger, in_ledger};
pub use look::{Found, is_pooled_by_transaction, look_at};
pub use marks::Mark;
pub use pending_fetches::PendingFetch;
pub use pools::PoolFigures;
use pools::Pools;
pub use postgres::ServerClock;
pub use postgres::with_password_file;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use query::{Target, query};
pub use quotas::Held;
pub use requests::{NewRequest, RequestClaim, RequestState};
pub use tables::Tables;
pub use token_accounts::{NewTokenAccount, TokenAccountReservation};
use transaction::Transaction;
pub use walks::{ADOPTED_STATUS, Readings, UnfinishedWalk, Walk, WalkOwner};
pub use webhooks::SealedSecrets;
use writer::Turn;

use purser_base::metrics::Histograms;

/// How often a transaction is tried while others keep getting in first.
const TRIES_MAX: u32 = 10;
/// The wait before the second try; each further try waits this much longer.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// An open database, which its roles share, as one holder of leases. Outside of this module it can do nothing.
pub struct Database {
    pools: Pools,
    /// Identifies this opening of the database among all, in this process or elsewhere.
    holder: Arc<str>,
    /// What this process has just written for webhooks.
    outbox: Outbox,
    looked_at: Mutex<LookedAt>,
    /// A write found the disk full, and none has shown since that there is room.
    disk_was_full: AtomicBool,
    waits: Histograms,
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident $field:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub struct $role(Arc<Database>);

            impl Deref for $role {
                type Target = Database;

                fn deref(&self) -> &Database {
                    &self.0
                }
            }
        )*

        /// The database by its roles: who uses it is given those that they need, and no other.
        #[derive(Clone)]
        pub struct Store {
            database: Arc<Database>,
            $(pub $field: $role,)*
        }

        impl From<Arc<Database>> for Store {
            fn from(database: Arc<Database>) -> Self {
                Self { $($field: $role(database.clone()),)* database }
            }
        }
    };
}

roles! {
    /// Operators.
    Operators operators;
    /// Agent accounts, and what operators may have of them.
    Accounts accounts;
    /// API keys.
    Keys keys;
    /// What people and programs change, and the transactions of that which are open.
    Actions actions;
    /// Dashboard sessions, and the passkeys that open some.
    Sessions sessions;
    /// Named requests and their answers.
    Requests requests;
    /// Transfers: the payment engine's ledger, and lists.
    Transfers transfers;
    /// What the service signs for approvers, and pays.
    CoSignatures co_signatures;
    /// Accounts' histories, as they are shown.
    History history;
    /// What the indexer has read of the chain, and how far.
    Index index;
    /// Policies that were read, proposed and asked for.
    Policies policies;
    /// Events, their streams, and balances and limits that are announced.
    Events events;
    /// Webhooks and replays.
    Webhooks webhooks;
    /// Deliveries and their attempts.
    Deliveries deliveries;
    /// Signed refusals.
    Denials denials;
    /// Deleting what is old, checking that the database works, and its figures.
    Upkeep upkeep;
}

impl Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

impl Store {
    /// Opens the database at `url` and migrates its tables: `sqlite:///path/purser.db`, where a missing file is
    /// created, or `postgres://user:password@host/database`, which must exist.
    pub async fn open(url: &str) -> Result<Self> {
        let waits = Family::new_with_constructor(wait_seconds as fn() -> Histogram);
        let pools = Pools::open(url, &waits).await?;
        let holder = format!("{:032x}", rand::random::<u128>()).into();
        let (outbox, looked_at, disk_was_full) = Default::default();
        let opened = Database { pools, holder, outbox, looked_at, disk_was_full, waits };
        Ok(Arc::new(opened).into())
    }

    /// The clock that all processes on this database share. `None` for a file: they share their host's.
    pub fn clock(&self) -> Option<ServerClock> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres { clock, .. } => Some(clock.clone()),
        }
    }

    /// Which database it is: `sqlite` or `postgres`.
    pub fn kind(&self) -> &'static str {
        match self.pools {
            Pools::Sqlite { .. } => "sqlite",
            Pools::Postgres { .. } => "postgres",
        }
    }

    /// The migrations that the tables have, ascending.
    pub async fn list_migrations(&self) -> Result<Vec<i64>> {
        query("SELECT version FROM _sqlx_migrations ORDER BY version").fetch_all(self.reader()).await
    }

    /// Waits for connections in use, and closes.
    pub async fn close(&self) {
        self.pools.close().await;
    }
}

impl Upkeep {
    /// How long calls waited for a connection, or for their turn to write, per pool.
    pub fn waits(&self) -> &Histograms {
        &self.waits
    }

    /// The state of each pool.
    pub fn figures(&self) -> Vec<PoolFigures> {
        self.pools.figures()
    }
}

impl Database {
    /// Runs `work` in a transaction and commits it; repeats it from the beginning when it was `Contended`, a bounded
    /// number of times.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        self.write_in_turn(work, Turn::GoesOn).await
    }

    async fn write_in_turn<T, F>(&self, work: F, turn: Turn) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        let mut tries = 1;
        let done = loop {
            match self.pools.write(work.clone(), turn).await {
                Err(StoreError::Contended) if tries < TRIES_MAX => {
                    tokio::time::sleep(RETRY_PAUSE * tries).await;
                    tries += 1;
                }
                done => break done,
            }
        };
        if let Err(StoreError::DiskFull(_)) = &done {
            self.disk_was_full.store(true, Ordering::Relaxed);
        }
        done
    }

    fn writer(&self) -> Target<'_> {
        self.pools.writer()
    }

    /// For reads that a payment waits for, and other lookups by id.
    fn reader(&self) -> Target<'_> {
        self.pools.reader()
    }

    /// For lists and workers' searches: no payment waits for them, however many there are.
    fn lister(&self) -> Target<'_> {
        self.pools.lister()
    }
}

fn wait_seconds() -> Histogram {
    Histogram::new([0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0])
}
