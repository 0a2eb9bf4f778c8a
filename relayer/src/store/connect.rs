//! How a connection to each of the two databases is made.

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::StoreError;
use super::connections::Connect;

/// What every connection to Postgres begins with, and whether it may write. Statements end before their caller gives up,
/// where the operator has not set a limit; and a server whose client is gone finds out before long, and lets go of its locks.
const SESSION: &str = "SELECT set_config('statement_timeout',
        CASE current_setting('statement_timeout') WHEN '0' THEN '9s' ELSE current_setting('statement_timeout') END, FALSE),
    set_config('idle_in_transaction_session_timeout', '15s', FALSE),
    set_config('tcp_keepalives_idle', '10', FALSE), set_config('tcp_keepalives_interval', '5', FALSE),
    set_config('tcp_keepalives_count', '3', FALSE), set_config('tcp_user_timeout', '20000', FALSE),
    current_setting('transaction_read_only')";

/// A SQLite file, to be read from. A connection is opened anew after it failed.
pub(super) struct SqliteReading(pub SqliteConnectOptions);

/// A Postgres server, as the one that takes writing.
pub(super) struct PostgresPrimary(pub PgConnectOptions);

impl Connect for SqliteReading {
    type Connection = SqliteConnection;
    const IS_REMOTE: bool = false;

    async fn connect(&self) -> Result<SqliteConnection, StoreError> {
        Ok(self.0.connect().await?)
    }
}

impl Connect for PostgresPrimary {
    type Connection = PgConnection;
    const IS_REMOTE: bool = true;

    async fn connect(&self) -> Result<PgConnection, StoreError> {
        type Settings = (String, String, String, String, String, String, String);
        let mut connection = self.0.connect().await?;
        let (.., read_only): Settings = sqlx::query_as(SESSION).fetch_one(&mut connection).await?;
        // A standby knows an earlier state, and says so only to who writes.
        if read_only == "on" {
            return Err(StoreError::unavailable("the server takes no writing: is it a standby?"));
        }
        Ok(connection)
    }
}
