//! Millions of rows, which the database generates itself: as if that many payments had been made within the last 30 days.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use purser_tests::clock::iso_of;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use ulid::Ulid;

/// Rows of one moment share the beginning of their ids, as those of one millisecond do.
const ROWS_A_MOMENT: u64 = 100;
const DAYS: u64 = 30;
/// Rows of the helper tables in one statement.
const AT_ONCE: usize = 1_000;
/// Below all slots of the network: the relayer checks recent slots again.
const SLOT: &str = "i - 10000000";
const SIGNATURE: &str =
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZ";

/// An account, with everything that its rows refer to.
pub struct Owner {
    pub operator_id: String,
    pub account_id: String,
    pub token_account: String,
    pub key_id: String,
    pub webhook_id: String,
}

/// The database to fill. The relayer is not running meanwhile.
pub enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
}

impl Database {
    /// Opens what `database.url` names.
    pub async fn open(url: &str) -> Result<Database> {
        if let Some(file) = url.strip_prefix("sqlite://") {
            let connection = rusqlite::Connection::open(file)?;
            connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144")?;
            return Ok(Database::Sqlite(connection));
        }
        let mut connection = PgConnection::connect(url).await?;
        connection.execute("SET synchronous_commit = off").await?;
        Ok(Database::Postgres(connection))
    }

    async fn runs(&mut self, sql: String) -> Result<()> {
        let failed = || sql.chars().take(300).collect::<String>();
        let ran = match self {
            Database::Sqlite(connection) => connection.execute_batch(&sql).map_err(anyhow::Error::from),
            Database::Postgres(connection) => {
                connection.execute(AssertSqlSafe(sql.clone())).await.map(drop).map_err(anyhow::Error::from)
            }
        };
        ran.with_context(failed)
    }

    /// Brings the database into the state of a server that had days to settle.
    async fn settles(&mut self) -> Result<()> {
        match self {
            Database::Sqlite(connection) => {
                connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
            }
            Database::Postgres(connection) => {
                connection.execute("VACUUM ANALYZE").await?;
            }
        }
        Ok(())
    }
}

/// The beginnings of row ids: the time, as ULIDs encode it.
pub struct Moments(Vec<(String, String)>);

impl Moments {
    /// Enough moments for `rows` rows, the last of them now.
    pub fn until_now(rows: u64) -> Moments {
        let count = rows.div_ceil(ROWS_A_MOMENT);
        let apart = Duration::from_secs(DAYS * 86_400).as_millis() as u64 / count;
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_millis() as u64;
        let moment = |number: u64| {
            let ms = now - (count - number) * apart;
            let id = Ulid::from_parts(ms, 0).to_string();
            (id[..10].to_owned(), iso_of(i64::try_from(ms / 1_000).expect("a moment")))
        };
        Moments((0..count).map(moment).collect())
    }

    /// The id of a row. Each row has two events, so events have two ids.
    pub fn id(&self, prefix: &str, row: u64, number: u64) -> String {
        let moment = usize::try_from(row / ROWS_A_MOMENT).expect("few");
        format!("{prefix}{}0000{number:012}", self.0[moment].0)
    }
}

/// The owner of a row: the first account has a tenth of all rows.
pub fn owner_of(row: u64, owners: u64) -> u64 {
    if row.is_multiple_of(10) { 0 } else { row % owners }
}

/// Inserts `rows` transfers (each with its entry, two events, a delivery of the second, an attempt) and `rows` policy versions.
pub async fn fill(database: &mut Database, owners: &[Owner], moments: &Moments, rows: u64) -> Result<()> {
    database
        .runs("CREATE TEMP TABLE owners (n BIGINT PRIMARY KEY, operator_id TEXT, account_id TEXT, token_account TEXT, key_id TEXT, webhook_id TEXT)".to_owned())
        .await?;
    for (at, chunk) in owners.chunks(AT_ONCE).enumerate() {
        let mut values = String::new();
        for (n, owner) in chunk.iter().enumerate() {
            let Owner { operator_id, account_id, token_account, key_id, webhook_id } = owner;
            let n = at * AT_ONCE + n;
            write!(
                values,
                ",({n},'{operator_id}','{account_id}','{token_account}','{key_id}','{webhook_id}')"
            )?;
        }
        database.runs(format!("INSERT INTO owners VALUES {}", &values[1..])).await?;
    }
    database.runs("CREATE TEMP TABLE moments (m BIGINT PRIMARY KEY, id TEXT, at TEXT)".to_owned()).await?;
    for (at, chunk) in moments.0.chunks(AT_ONCE).enumerate() {
        let mut values = String::new();
        for (m, (id, moment)) in chunk.iter().enumerate() {
            // Without the fraction of a second, which the row adds.
            write!(values, ",({},'{id}','{}')", at * AT_ONCE + m, &moment[..19])?;
        }
        database.runs(format!("INSERT INTO moments VALUES {}", &values[1..])).await?;
    }
    for (table, columns, values) in tables() {
        eprintln!("filling {table}");
        let count = owners.len();
        let sql = format!(
            "INSERT INTO {table} ({columns})
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {})
             SELECT {values} FROM n
             JOIN owners o ON o.n = CASE WHEN i % 10 = 0 THEN 0 ELSE i % {count} END
             JOIN moments ON moments.m = i / {ROWS_A_MOMENT}",
            rows - 1
        );
        database.runs(sql).await?;
    }
    database.settles().await
}

/// Tables, their columns, and SQL for the values, by the number `i` of a payment.
fn tables() -> Vec<(&'static str, &'static str, String)> {
    let id = |prefix: &str, number: &str| {
        format!("'{prefix}' || moments.id || '0000' || substr(CAST(1000000000000 + {number} AS TEXT), 2)")
    };
    let at = format!("moments.at || '.' || substr(CAST(1000000 + i % {ROWS_A_MOMENT} AS TEXT), 2) || 'Z'");
    let signature = format!("'{SIGNATURE}' || replace(CAST(1000 + i % 1000 AS TEXT), '0', 'A')");
    // One in five hundred was refused.
    let refused = "i % 1000 < 2";
    let only = |condition: &str, value: &str| format!("CASE WHEN {condition} THEN {value} END");
    let settled = format!("NOT ({refused})");
    let status = format!("CASE WHEN {refused} THEN 'rejected' ELSE 'settled' END");
    let payee = "CASE WHEN i % 2 = 0 THEN (SELECT token_account FROM owners WHERE n = 1) ELSE '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU' END";
    let [txn, sent, settled_event] = [id("txn_", "i"), id("evt_", "2 * i"), id("evt_", "(2 * i + 1)")];
    let event = |kind: &str| {
        let data = format!(
            "'{{\"transfer_id\":\"' || {txn} || '\",\"status\":\"{kind}\",\"from\":\"' || o.account_id || '\",\"amount_usdc\":\"1.000000\",\"memo\":\"invoice\",\"tx_signature\":\"{SIGNATURE}\"}}'"
        );
        format!("o.operator_id, o.account_id, {txn}, {data}, {at}")
    };
    let transfer = [
        format!(
            "o.operator_id, {txn}, 'test', o.account_id, o.key_id, {payee}, '1.000000', 'invoice ' || CAST(i AS TEXT)"
        ),
        format!("'invoice-' || CAST(i AS TEXT), 1, 0, '{}', {status}, 'bench', {at}", "0".repeat(64)),
        format!("{}, {}, {}", only(&settled, &signature), only(&settled, SLOT), at),
        format!(
            "{}, {}, {}",
            only(refused, "'single_limit_exceeded'"),
            only(refused, "'above the limit'"),
            only(refused, "'[]'")
        ),
        format!("{at}, {at}"),
    ];
    let entry = [
        format!(
            "o.operator_id, {}, o.account_id, 'test', 'transfer', {status}, '1.000000', {payee}",
            id("ent_", "i")
        ),
        format!(
            "'invoice ' || CAST(i AS TEXT), {txn}, {}, {}",
            only(&settled, &signature),
            only(&settled, SLOT)
        ),
        format!(
            "{}, {}, TRUE, {at}, {at}",
            only(refused, "'single_limit_exceeded'"),
            only(refused, "'above the limit'")
        ),
        only(&settled, "i + 1"),
    ];
    vec![
        (
            "transfers",
            "operator_id, transfer_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key, key_use,
             key_expires_unix, fingerprint, state, lease_holder, lease_expires_at, tx_signature, slot, ended_at, reason, message,
             checks, created_at, updated_at",
            transfer.join(", "),
        ),
        (
            "history",
            "operator_id, entry_id, account_id, network, kind, status, amount_usdc, counterparty, memo, transfer_id, tx_signature,
             slot, reason, message, is_final, created_at, position, number",
            entry.join(", "),
        ),
        (
            "events",
            "event_id, event_type, operator_id, account_id, transfer_id, data, created_at",
            format!("{sent}, 'transfer.initiated', {}", event("submitted")),
        ),
        (
            "events",
            "event_id, event_type, operator_id, account_id, transfer_id, data, created_at",
            format!("{settled_event}, 'transfer.' || {status}, {}", event("settled")),
        ),
        (
            "deliveries",
            "operator_id, webhook_id, event_id, state, failures, ended_at, attempts, created_at",
            format!(
                "o.operator_id, o.webhook_id, {settled_event}, CASE WHEN {refused} THEN 'undelivered' ELSE 'delivered' END, 0, {at}, 1, {at}"
            ),
        ),
        (
            "delivery_attempts",
            "operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body",
            format!("o.operator_id, o.webhook_id, {settled_event}, 1, {at}, {at}, 200, 'ok'"),
        ),
        (
            "policy_versions",
            "operator_id, account_id, version, set_at, tx_signature",
            format!("o.operator_id, o.account_id, i + 1000, {at}, {signature}"),
        ),
    ]
}
