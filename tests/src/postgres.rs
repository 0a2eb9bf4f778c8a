//! A database for one test, on the Postgres that `PURSER_TEST_POSTGRES_URL` names.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::runtime::Builder;

const SERVER: &str = "PURSER_TEST_POSTGRES_URL";
/// How often a statement is repeated that needs a checkpoint, every half second.
const CHECKPOINT_TRIES: u32 = 120;

static SKIPPED: Once = Once::new();

/// An empty database; dropping this value drops the database.
pub struct TestDatabase {
    server: String,
    name: String,
    /// Its files are in a tablespace of the same name.
    has_tablespace: bool,
}

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

/// The same for a `drop`: on its own thread, which may block; blocking here would block the test's runtime.
pub fn runs_apart(server: &str, sql: String) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(runs(server, sql));
        });
    });
}

impl TestDatabase {
    /// `None`, with a note on standard error, if no server is named.
    pub async fn create() -> Option<Arc<TestDatabase>> {
        Some(TestDatabase::create_on(&server()?).await)
    }

    /// The same on the server at this URL.
    pub async fn create_on(server: &str) -> Arc<TestDatabase> {
        let name = format!("purser_test_{}", ulid::Ulid::generate()).to_lowercase();
        let database = TestDatabase { server: server.to_owned(), name, has_tablespace: false };
        runs(server, format!("CREATE DATABASE {}", database.name)).await;
        Arc::new(database)
    }

    /// With its files in this folder. `None`, with a note on standard error: no server is named, or none that may write there.
    pub async fn create_at(folder: &Path) -> Option<Arc<TestDatabase>> {
        let server = server()?;
        let place = folder.join("data");
        std::fs::create_dir(&place).expect("the folder is writable");
        let given = Command::new("chown").arg("postgres").arg(&place).status();
        let name = format!("purser_test_{}", ulid::Ulid::generate()).to_lowercase();
        let mut connection = PgConnection::connect(&server).await.expect("Postgres answers");
        let sql = format!("CREATE TABLESPACE {name} LOCATION '{}'", place.display());
        if !given.is_ok_and(|status| status.success())
            || connection.execute(AssertSqlSafe(sql)).await.is_err()
        {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a full disk, since Postgres takes no folder of this machine"
            );
            return None;
        }
        let database = TestDatabase { server, name, has_tablespace: true };
        runs(&database.server, format!("CREATE DATABASE {0} TABLESPACE {0}", database.name)).await;
        Some(Arc::new(database))
    }

    /// The value for `database.url`.
    pub fn url(&self) -> String {
        let mut url = reqwest::Url::parse(&self.server).expect("a URL");
        url.set_path(&self.name);
        url.into()
    }

    /// How many of a table's rows meet a condition.
    pub async fn counts(&self, table: &str, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let mut connection = PgConnection::connect(&self.url()).await.expect("Postgres answers");
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.expect("the query is right")
    }

    /// From now on new sessions may write, or are read-only, as on a standby.
    pub async fn takes_writing(&self, does: bool) {
        let read_only = if does { "off" } else { "on" };
        let name = &self.name;
        let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = {read_only}");
        runs(&self.server, sql).await;
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        runs_apart(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.name));
        if self.has_tablespace {
            runs_apart(&self.server, format!("DROP TABLESPACE {}", self.name));
        }
    }
}
