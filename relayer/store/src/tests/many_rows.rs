//! A database with many rows, which it generates itself, all older than what the rules make. Half of them belong to the
//! operator, account and webhook of the rules, half to others.

use sqlx::AssertSqlSafe;

use super::*;

/// An address to pay.
const NOBODY: &str = "11111111111111111111111111111111";

/// Inserts `rows` transfers, as many rows of everything else, and twice as many events.
pub(super) async fn fill(fixture: &Fixture, rows: u32) {
    let store = &fixture.store;
    let (others, their_account) = (operator(201), account(&operator(201), 202));
    store.operators.insert_operator(&others).await.expect("inserted");
    store.accounts.insert_account(&their_account).await.expect("inserted");
    let hook = |number: u8| WebhookId::from_bytes([number; 16]);
    let owned = |ours: &dyn ToString, theirs: &dyn ToString| {
        format!("CASE WHEN i % 2 = 0 THEN '{}' ELSE '{}' END", ours.to_string(), theirs.to_string())
    };
    let operator_id = owned(&fixture.operator.id, &others.id);
    let account_id = owned(&fixture.account.id, &their_account.id);
    let webhook_id = owned(&hook(1), &hook(203));
    // Ids sort by creation, long before those that the rules make.
    let id = |prefix: &str, at: &str| {
        format!("'{prefix}0000000000000' || substr(CAST(10000000000000 + {at} AS TEXT), 2)")
    };
    // 43 base-58 digits, none a zero: 32 bytes.
    let address = |first: char| {
        let ones = "1".repeat(29);
        format!("'{first}{ones}' || replace(substr(CAST(10000000000000 + i AS TEXT), 2), '0', 'A')")
    };
    let moment = "'2026-01-' || substr(CAST(110 + i % 18 AS TEXT), 2) || 'T00:00:00.' \
                  || substr(CAST(1000000 + i % 1000000 AS TEXT), 2) || 'Z'";
    let each = format!(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {})",
        rows.saturating_sub(1)
    );
    // One in a thousand was refused or not delivered.
    let rare = "i % 1000 < 2";
    for (table, columns, values) in [
        (
            "transfers",
            "transfer_id, operator_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key,
             key_use, key_expires_unix, fingerprint, state, lease_holder, lease_expires_at, signed_bytes, tx_signature, last_valid_block_height, slot,
             ended_at, reason, message, checks, denial, created_at, updated_at",
            format!(
                "{}, {operator_id}, 'test', {account_id}, '{}', '{NOBODY}', '1.000000', NULL, 'key ' || CAST(i AS TEXT),
                 1, i, '{}', CASE WHEN {rare} THEN 'rejected' ELSE 'settled' END, 'nobody', {moment}, NULL,
                 'signature ' || CAST(i AS TEXT), 1, i, {moment}, CASE WHEN {rare} THEN 'paused' END,
                 CASE WHEN {rare} THEN 'no' END, CASE WHEN {rare} THEN '[]' END,
                 CASE WHEN {rare} THEN i + 1 END, {moment}, {moment}",
                id("txn_", "i"),
                fixture.key.id,
                "0".repeat(64)
            ),
        ),
        (
            "events",
            "event_id, operator_id, event_type, account_id, transfer_id, data, created_at",
            format!(
                "{}, {operator_id}, 'transfer.initiated', {account_id}, {}, '{{}}', {moment}",
                id("evt_", "2 * i"),
                id("txn_", "i")
            ),
        ),
        (
            "events",
            "event_id, operator_id, event_type, account_id, transfer_id, data, created_at",
            format!(
                "{}, {operator_id}, CASE WHEN {rare} THEN 'transfer.rejected' ELSE 'transfer.settled' END, {account_id},
                 {}, '{{}}', {moment}",
                id("evt_", "2 * i + 1"),
                id("txn_", "i")
            ),
        ),
        (
            "deliveries",
            "operator_id, webhook_id, event_id, state, failures, ended_at, attempts, created_at",
            format!(
                "{operator_id}, {webhook_id}, {}, CASE WHEN {rare} THEN 'undelivered' ELSE 'delivered' END, 0, {moment}, 1, {moment}",
                id("evt_", "2 * i + 1")
            ),
        ),
        (
            "delivery_attempts",
            "operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body",
            format!("{operator_id}, {webhook_id}, {}, 1, {moment}, {moment}, 200, ''", id("evt_", "2 * i + 1")),
        ),
        (
            "history",
            "entry_id, operator_id, account_id, network, kind, status, amount_usdc, counterparty, transfer_id,
             tx_signature, slot, reason, message, is_final, created_at, position, number, tag",
            format!(
                "{}, {operator_id}, {account_id}, 'test', 'transfer', CASE WHEN {rare} THEN 'rejected' ELSE 'settled' END,
                 '1.000000', '{NOBODY}', {}, CASE WHEN NOT ({rare}) THEN 'signature ' || CAST(i AS TEXT) END,
                 CASE WHEN NOT ({rare}) THEN i - 10000000 END, CASE WHEN {rare} THEN 'paused' END, CASE WHEN {rare} THEN 'no' END,
                 TRUE, {moment}, {moment} || {}, CASE WHEN NOT ({rare}) THEN i END, NULL",
                id("ent_", "i"),
                id("txn_", "i"),
                id("", "i")
            ),
        ),
        (
            "requests",
            "operator_id, idempotency_key, fingerprint, key_id, seed, lease, lease_expires_at, status_code, answer,
             created_at",
            format!(
                "{operator_id}, 'request ' || CAST(i AS TEXT), '{}', '{}', '{}', 'nobody', {moment}, 201, '{{}}', {moment}",
                "0".repeat(64),
                fixture.key.id,
                "0".repeat(32)
            ),
        ),
        (
            "actions",
            "action_id, operator_id, name, outcome, key_id, object_id, made_id, tx_signature, created_at",
            format!(
                "{}, {operator_id}, CASE WHEN {rare} THEN 'halt' ELSE 'create_key' END, 'done', '{}', {account_id},
                 CASE WHEN NOT ({rare}) THEN {} END, 'signature ' || CAST(i AS TEXT), {moment}",
                id("act_", "i"),
                fixture.key.id,
                id("key_", "i")
            ),
        ),
        (
            "policy_versions",
            "operator_id, account_id, version, set_at, tx_signature",
            format!("{operator_id}, {account_id}, i + 1000, {moment}, 'signature ' || CAST(i AS TEXT)"),
        ),
        (
            "denials",
            "operator_id, number, transfer_id, document, signature",
            format!("{operator_id}, i + 1, {}, '{{}}', 'signature'", id("txn_", "i")),
        ),
        (
            "accounts",
            "account_id, operator_id, name, address, token_account, status, provisioning, created_at",
            format!(
                "{}, {operator_id}, 'Buyer', {}, {},
                 CASE WHEN {rare} THEN 'paused' ELSE 'active' END, 'ready', {moment}",
                id("acct_", "i"),
                address('8'),
                address('9')
            ),
        ),
        (
            "api_keys",
            "key_id, key_hash, operator_id, account_id, hint, created_at",
            format!(
                "{}, '{}' || {}, {operator_id}, {}, 'hint', {moment}",
                id("key_", "i"),
                "0".repeat(38),
                id("", "i"),
                id("acct_", "i")
            ),
        ),
        (
            "ledgers",
            "operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot",
            format!("{operator_id}, {}, 0, 0, 0, 0", id("acct_", "i")),
        ),
    ] {
        let sql = format!("INSERT INTO {table} ({columns}) {each} SELECT {values} FROM n");
        run(fixture, &sql).await;
    }
    let analyze = "ANALYZE";
    match &store.pools {
        Pools::Sqlite { .. } => {}
        Pools::Postgres { .. } => run_postgres(fixture, analyze).await,
    }
}

/// Runs a statement. Bypasses the time limit of a call, which is not meant for this.
pub(super) async fn run(fixture: &Fixture, sql: &str) {
    match &fixture.store.pools {
        Pools::Sqlite { .. } => run_sqlite(fixture, sql),
        Pools::Postgres { .. } => run_postgres(fixture, sql).await,
    }
}

fn run_sqlite(fixture: &Fixture, sql: &str) {
    let connection = fixture.place.open_sqlite();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}

async fn run_postgres(fixture: &Fixture, sql: &str) {
    use sqlx::{Connection, Executor, PgConnection};
    let mut connection = PgConnection::connect(&fixture.place.url()).await.expect("opened");
    connection.execute(AssertSqlSafe(sql)).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    connection.close().await.expect("closed");
}
