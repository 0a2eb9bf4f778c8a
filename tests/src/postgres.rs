//! A database for one test, on the Postgres that `PURSER_TEST_POSTGRES_URL` names.

mod server;

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use self::server::runs_apart;
pub use self::server::{runs, server};

/// An empty database; dropping this value drops the database.
pub struct TestDatabase {
    server: String,
    name: String,
    /// Its files are in a tablespace of the same name.
    has_tablespace: bool,
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
