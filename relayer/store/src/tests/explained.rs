//! No statement of the store scans or sorts a large table, whatever filter a list has.
//!
//! The rules of `cases` run in a separate process, which notes their statements. Each statement is explained, and on
//! SQLite its steps are counted, over 20,000 rows; with `PURSER_TEST_LONG` over 1,000,000. Both sizes have the same bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::super::row::{Record, Row as StoreRow, row};
use super::super::sqlite;
use super::super::statement::{Value, Wanted};
use super::noted::{Noted, statements};
use super::*;

/// Tables that grow with every payment or account. Keys have a quota, so half a table of them may be read.
const LARGE: [&str; 11] = [
    "accounts",
    "actions",
    "ledgers",
    "transfers",
    "events",
    "deliveries",
    "delivery_attempts",
    "history",
    "requests",
    "policy_versions",
    "denials",
];
/// Indexes that hold only rows with work left to do.
const OF_WHAT_IS_OPEN: [&str; 8] = [
    "ledgers_unplaced",
    "transfers_unfinished",
    "transfers_pending_approval",
    "transfers_undenied",
    "deliveries_due",
    "deliveries_next",
    "deliveries_leased",
    "history_open",
];
/// It scans all accounts of an operator, at most its quota; in this test one operator has them all.
const WITHIN_A_QUOTA: &str = "FROM accounts WHERE operator_id = $1 AND NOT is_closed";
/// The most rows that a plan node may sort or skip, by the server's own estimate.
const ROWS_MAX: f64 = 6_000.0;
/// SQLite's most virtual-machine steps per statement, and per row returned. Scanning 20,000 rows takes more.
const STEPS_MAX: u64 = 30_000;
const STEPS_PER_ROW: u64 = 100;
/// The granularity of the step count.
const STEPS_AT_ONCE: i32 = 100;

fn rows() -> u32 {
    if std::env::var_os("PURSER_TEST_LONG").is_some() { 1_000_000 } else { 20_000 }
}

/// A row of a plan.
struct PlanRow {
    detail: String,
}

row! { PlanRow { detail } }

/// Counts a row, whatever it holds.
struct Given;

impl Record for Given {
    fn read(_: &StoreRow<'_>, _: usize) -> Result<Self, StoreError> {
        Ok(Self)
    }
}

#[tokio::test]
async fn no_statement_reads_through_a_large_table_on_sqlite() {
    let statements = statements();
    assert!(statements.len() > 60, "{} statements", statements.len());
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = Fixture::in_place(Place::Folder(folder)).await;
    many_rows::fill(&fixture, rows()).await;
    let mut connection = fixture.place.open_sqlite();
    let mut wrong = Vec::new();
    for statement in statements {
        wrong.extend(explain_on_sqlite(&connection, statement));
        if !statement.sql.contains(WITHIN_A_QUOTA) {
            wrong.extend(count_on_sqlite(&mut connection, statement));
        }
        assert!(wrong.len() < 20, "{}", wrong.join("\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn explain_on_sqlite(connection: &rusqlite::Connection, statement: &Noted) -> Option<String> {
    let explain = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let plan = sqlite::run::<PlanRow>(connection, &explain, &statement.values, Wanted::All);
    let plan = plan.unwrap_or_else(|error| panic!("{error}: {}", statement.sql)).rows;
    let lines: Vec<String> = plan.into_iter().map(|row| row.detail).collect();
    let is_scan = |line: &String| {
        let mut words = line.split_whitespace();
        let reads_all =
            words.next() == Some("SCAN") && words.next().is_some_and(|table| LARGE.contains(&table));
        // An index of open work only: scanning it reads open work.
        reads_all && !OF_WHAT_IS_OPEN.iter().any(|index| line.ends_with(index))
    };
    lines.iter().any(is_scan).then(|| format!("{}\n    {}", statement.sql, lines.join("\n    ")))
}

fn count_on_sqlite(connection: &mut rusqlite::Connection, statement: &Noted) -> Option<String> {
    let steps = Arc::new(AtomicU64::new(0));
    let counted = steps.clone();
    let tx = connection.transaction().expect("begun");
    let count = move || {
        counted.fetch_add(STEPS_AT_ONCE as u64, Ordering::SeqCst);
        false
    };
    tx.progress_handler(STEPS_AT_ONCE, Some(count)).expect("counted");
    // Whether the statement succeeds or is refused (such a row exists) does not matter here.
    let found = sqlite::run::<Given>(&tx, &statement.sql, &statement.values, Wanted::All);
    let given = found.map_or(0, |found| found.rows.len() as u64);
    tx.progress_handler(0, None::<fn() -> bool>).expect("counted no more");
    drop(tx);
    let steps = steps.load(Ordering::SeqCst);
    let bound = STEPS_MAX + STEPS_PER_ROW * given;
    (steps > bound)
        .then(|| format!("{}\n    {steps} steps for {given} rows of {:?}", statement.sql, statement.values))
}

#[tokio::test]
async fn no_statement_reads_through_a_large_table_on_postgres() {
    let Some(fixture) = postgres::fixture().await else { return };
    let statements = statements();
    assert!(statements.len() > 60, "{} statements", statements.len());
    many_rows::fill(&fixture, rows()).await;
    let mut connection = PgConnection::connect(&fixture.place.url()).await.expect("opened");
    // At the default cost a small table is scanned; this setting makes the planner prefer indexes.
    connection.execute("SET random_page_cost = 1.1").await.expect("set");
    let mut wrong = Vec::new();
    for statement in statements {
        let Some(plan) = plan_on_postgres(&mut connection, statement).await else { continue };
        let mut found = Vec::new();
        look_into(&plan[0]["Plan"], &mut found);
        if !found.is_empty() && !statement.sql.contains(WITHIN_A_QUOTA) {
            wrong.push(format!("{}\n    {}", statement.sql, found.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `None` for statements without a plan.
async fn plan_on_postgres(connection: &mut PgConnection, statement: &Noted) -> Option<serde_json::Value> {
    let first = statement.sql.split_whitespace().next().unwrap_or_default();
    if !["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&first) {
        return None;
    }
    let explain = format!("EXPLAIN (FORMAT JSON) {}", statement.sql);
    let mut query = sqlx::query(AssertSqlSafe(explain));
    for value in &statement.values {
        query = match value.clone() {
            Value::Text(text) => query.bind(text),
            Value::Number(number) => query.bind(number),
            Value::Flag(flag) => query.bind(flag),
        };
    }
    let row: PgRow =
        query.fetch_one(connection).await.unwrap_or_else(|error| panic!("{error}: {}", statement.sql));
    let text: String = row.try_get_unchecked(0).expect("a text");
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Collects scans of large tables, and sorts of many rows.
fn look_into(node: &serde_json::Value, found: &mut Vec<String>) {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let rows: f64 = node["Plan Rows"].to_string().parse().unwrap_or_default();
    if text("Node Type") == "Seq Scan" && LARGE.contains(&text("Relation Name")) {
        found.push(format!("reads through {}", text("Relation Name")));
    }
    if text("Node Type").contains("Sort") && rows > ROWS_MAX {
        found.push(format!("sorts {rows} rows"));
    }
    for inner in node["Plans"].as_array().into_iter().flatten() {
        look_into(inner, found);
    }
}
