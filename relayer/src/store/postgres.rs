//! Postgres: how to connect to a server and run a statement on it.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, SqlStr};

use super::StoreError;
use super::connections::Connect;
use super::row::{Column, Record, Row};
use super::statement::{Answer, Value, Wanted};

/// Session settings of every connection, and whether the server accepts writes. Statements end before their caller
/// gives up, unless the operator has set a limit. A server soon notices that its client is gone, and releases its locks.
const SESSION: &str = "SELECT set_config('statement_timeout',
        CASE current_setting('statement_timeout') WHEN '0' THEN '9s' ELSE current_setting('statement_timeout') END, FALSE),
    set_config('idle_in_transaction_session_timeout', '15s', FALSE),
    set_config('tcp_keepalives_idle', '10', FALSE), set_config('tcp_keepalives_interval', '5', FALSE),
    set_config('tcp_keepalives_count', '3', FALSE), set_config('tcp_user_timeout', '20000', FALSE),
    current_setting('transaction_read_only')";

/// A Postgres server that must be a primary.
pub(super) struct PostgresPrimary(pub PgConnectOptions);

impl Connect for PostgresPrimary {
    type Connection = PgConnection;
    const IS_REMOTE: bool = true;

    async fn connect(&self) -> Result<PgConnection, StoreError> {
        type Settings = (String, String, String, String, String, String, String);
        let mut connection = self.0.connect().await?;
        let (.., read_only): Settings = sqlx::query_as(SESSION).fetch_one(&mut connection).await?;
        // A standby has stale data, and says so only to writers.
        if read_only == "on" {
            return Err(StoreError::unavailable("the server takes no writing: is it a standby?"));
        }
        Ok(connection)
    }
    async fn is_alive(connection: &mut PgConnection) -> bool {
        connection.ping().await.is_ok()
    }

    async fn close(connection: PgConnection) -> Result<(), StoreError> {
        Ok(connection.close().await?)
    }
}

/// Runs a statement.
pub(super) async fn run<R: Record>(
    connection: &mut PgConnection,
    sql: SqlStr,
    values: Vec<Value>,
    wanted: Wanted,
) -> Result<Answer<R>, StoreError> {
    let query = values.into_iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
        Value::Flag(flag) => query.bind(flag),
    });
    let rows = match wanted {
        Wanted::Count => {
            let touched = query.execute(connection).await?.rows_affected();
            return Ok(Answer { touched, rows: Vec::new() });
        }
        Wanted::First => query.fetch_optional(connection).await?.into_iter().collect(),
        Wanted::All => query.fetch_all(connection).await?,
    };
    let read = rows.iter().map(|row| R::read(&Row::Postgres(row), Column::Place(0)));
    Ok(Answer { touched: 0, rows: read.collect::<Result<_, _>>()? })
}
