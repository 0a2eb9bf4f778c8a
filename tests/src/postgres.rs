//! A database of the test's own on the Postgres that `PURSER_TEST_POSTGRES_URL` names.

use std::io::Write;
use std::sync::{Arc, Once};
use std::thread;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::runtime::Builder;

const SERVER: &str = "PURSER_TEST_POSTGRES_URL";

static SKIPPED: Once = Once::new();

/// An empty database; dropped with everything in it when this is.
pub struct TestDatabase {
    server: String,
    name: String,
}

impl TestDatabase {
    /// `None`, and a word about it on standard error, when no server is named.
    pub async fn create() -> Option<Arc<TestDatabase>> {
        let Ok(server) = std::env::var(SERVER) else {
            SKIPPED.call_once(|| {
                // Past the test runner, which keeps what passing tests print.
                let _ =
                    writeln!(std::io::stderr(), "skipped: the tests on Postgres, since {SERVER} is not set");
            });
            return None;
        };
        Some(TestDatabase::create_on(&server).await)
    }

    /// The same on the server at this URL.
    pub async fn create_on(server: &str) -> Arc<TestDatabase> {
        let name = format!("purser_test_{}", ulid::Ulid::generate()).to_lowercase();
        let database = TestDatabase { server: server.to_owned(), name };
        database.server_runs(format!("CREATE DATABASE {}", database.name)).await;
        Arc::new(database)
    }

    /// What goes into `database.url`.
    pub fn url(&self) -> String {
        let mut url = reqwest::Url::parse(&self.server).expect("a URL");
        url.set_path(&self.name);
        url.into()
    }

    /// How many rows of a table meet a condition.
    pub async fn counts(&self, table: &str, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let mut connection = PgConnection::connect(&self.url()).await.expect("Postgres answers");
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.expect("the query is right")
    }

    /// From now on new sessions may write, or only read, as on a standby.
    pub async fn takes_writing(&self, does: bool) {
        let read_only = if does { "off" } else { "on" };
        let name = &self.name;
        self.server_runs(format!("ALTER DATABASE {name} SET default_transaction_read_only = {read_only}"))
            .await;
    }

    async fn server_runs(&self, sql: String) {
        let mut connection = PgConnection::connect(&self.server).await.expect("Postgres answers");
        connection.execute(AssertSqlSafe(sql)).await.expect("the user may make databases");
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // On a thread of its own, which may wait: the test's runtime cannot be waited on here.
        thread::scope(|scope| {
            scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(self.server_runs(format!("DROP DATABASE {} WITH (FORCE)", self.name)));
            });
        });
    }
}
