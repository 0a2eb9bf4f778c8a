//! The Postgres that `PURSER_TEST_POSTGRES_URL` names. The store's unit tests have this file too, since they link no Solana crate.

use std::io::Write;
use std::sync::Once;
use std::thread;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::runtime::Builder;

const SERVER: &str = "PURSER_TEST_POSTGRES_URL";
/// How often a statement is repeated that needs a checkpoint, every half second.
const CHECKPOINT_TRIES: u32 = 120;

static SKIPPED: Once = Once::new();

/// The server's URL; `None`, with a note on standard error, if none is named.
pub fn server() -> Option<String> {
    let server = std::env::var(SERVER).ok();
    if server.is_none() {
        SKIPPED.call_once(|| {
            // Bypasses the test runner, which hides what passing tests print.
            let _ = writeln!(std::io::stderr(), "skipped: the tests on Postgres, since {SERVER} is not set");
        });
    }
    server
}

/// Runs statements on the server, whose user may make databases, schemas and roles.
pub async fn runs(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.expect("Postgres answers");
    let mut tries_left = CHECKPOINT_TRIES;
    while let Err(error) = connection.execute(AssertSqlSafe(sql.clone())).await {
        // Another test has filled a disk of the server for a while.
        let is_passing = error.to_string().contains("checkpoint request failed") && tries_left > 0;
        assert!(is_passing, "the user may do this: {error:?}");
        tries_left -= 1;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Runs statements from a `drop`, on a thread of its own: blocking here would block the test's runtime.
pub fn runs_apart(server: &str, sql: String) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(runs(server, sql));
        });
    });
}
