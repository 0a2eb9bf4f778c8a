//! Postgres: how to connect to a server, what time it has, and how to run a statement on it.

use parking_lot::{Mutex, MutexGuard};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, SqlStr};

use super::connections::Connect;
use super::row::{Record, Row};
use super::statement::{Answer, Value, Wanted};
use super::{Result, StoreError};
use purser_model::Timestamp;

/// Session settings of every connection, and whether the server accepts writes. Statements end before their caller
/// gives up, unless the operator has set a limit. A server soon notices that its client is gone, and releases its locks.
const SESSION: &str = "SELECT set_config('statement_timeout',
        CASE current_setting('statement_timeout') WHEN '0' THEN '9s' ELSE current_setting('statement_timeout') END, FALSE),
    set_config('idle_in_transaction_session_timeout', '15s', FALSE),
    set_config('tcp_keepalives_idle', '10', FALSE), set_config('tcp_keepalives_interval', '5', FALSE),
    set_config('tcp_keepalives_count', '3', FALSE), set_config('tcp_user_timeout', '20000', FALSE),
    current_setting('transaction_read_only')";

const CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

/// The server's clock, which all relayers on it share: a time that one of them stored means the same to every other,
/// whatever their hosts' clocks show. Each new or checked connection reads it; in between, this host's steady clock goes on.
#[derive(Debug, Clone)]
pub struct ServerClock(Arc<Mutex<(Timestamp, Instant)>>);

impl ServerClock {
    pub(super) async fn of(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let read = read_clock(connection).await?;
        Ok(Self(Arc::new(Mutex::new((read, Instant::now())))))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        let (read, at) = *self.reading();
        read.after(at.elapsed())
    }

    async fn read_again(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let asked_at = Instant::now();
        let read = read_clock(connection).await?;
        let (now, took) = (self.now(), asked_at.elapsed());
        // As long as the earlier reading may be right it stays, so that time does not go back by a network's delay.
        if now < read || now > read.after(took) {
            *self.reading() = (read, Instant::now());
        }
        Ok(())
    }

    fn reading(&self) -> MutexGuard<'_, (Timestamp, Instant)> {
        self.0.lock()
    }
}

async fn read_clock(connection: &mut PgConnection) -> Result<Timestamp, sqlx::Error> {
    let (micros,): (i64,) = sqlx::query_as(CLOCK).fetch_one(connection).await?;
    Ok(Timestamp::from_unix_micros(micros))
}

/// Connects to a server that must be a primary.
pub(super) async fn connect(login: &Login) -> Result<PgConnection> {
    type Settings = (String, String, String, String, String, String, String);
    let mut connection = login.options()?.connect().await?;
    let (.., read_only): Settings = sqlx::query_as(SESSION).fetch_one(&mut connection).await?;
    // A standby has stale data, and says so only to writers.
    if read_only == "on" {
        return Err(StoreError::unavailable("the server takes no writing: is it a standby?"));
    }
    Ok(connection)
}

/// The shortest time between two complaints.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// The parameter of a URL that names the file with the password.
const PASSWORD_FILE: &str = "password_file";

/// The URL of a server whose password is read from this file for each connection. `None`: it is none of Postgres.
pub fn with_password_file(url: &str, file: &Path) -> Option<String> {
    let mut url = url::Url::parse(url).ok().filter(|url| url.scheme().starts_with("postgres"))?;
    url.query_pairs_mut().append_pair(PASSWORD_FILE, file.to_str()?);
    Some(url.into())
}

/// Where a server is, and how to log in there.
#[derive(Clone)]
pub(super) struct Login {
    options: PgConnectOptions,
    password_file: Option<PathBuf>,
}

impl Login {
    pub fn parse(url: &str) -> Result<Self> {
        let mut url = url::Url::parse(url).map_err(|_| StoreError::Unsupported)?;
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let password_file = pairs.iter().find(|(name, _)| name == PASSWORD_FILE).map(|(_, file)| file.into());
        if password_file.is_some() {
            url.query_pairs_mut()
                .clear()
                .extend_pairs(pairs.iter().filter(|(name, _)| name != PASSWORD_FILE));
        }
        let options = PgConnectOptions::from_str(url.as_str()).map_err(|_| StoreError::Unsupported)?;
        // Poolers refuse a start with settings that they do not know, and there is no float to print.
        Ok(Self { options: options.extra_float_digits(None), password_file })
    }

    /// A name and a server, without user and password.
    pub fn place(&self) -> String {
        let Self { options, password_file: _ } = self;
        let database = options.get_database().unwrap_or(options.get_username());
        format!("{database} at {}:{}", options.get_host(), options.get_port())
    }

    /// With the password that is in the file now.
    pub fn options(&self) -> Result<PgConnectOptions, sqlx::Error> {
        let Some(file) = &self.password_file else { return Ok(self.options.clone()) };
        let unreadable = |error| std::io::Error::other(format!("{}: {error}", file.display()));
        let password = std::fs::read_to_string(file).map_err(unreadable)?;
        Ok(self.options.clone().password(password.trim_end_matches(['\r', '\n'])))
    }
}

/// A Postgres server that must be a primary, and its clock.
pub(super) struct PostgresPrimary {
    pub login: Login,
    pub clock: ServerClock,
    /// When the log last said that it lets nobody in.
    pub said_at: Mutex<Option<Instant>>,
}

impl PostgresPrimary {
    fn say(&self, error: &StoreError) {
        let mut said_at = self.said_at.lock();
        if said_at.is_none_or(|at| at.elapsed() >= SAY_EVERY) && !matches!(error, StoreError::NoRoom) {
            *said_at = Some(Instant::now());
            tracing::warn!(%error, place = self.login.place(), "cannot connect to the database; trying again with the next request");
        }
    }
}

impl Connect for PostgresPrimary {
    type Connection = PgConnection;
    const IS_REMOTE: bool = true;

    async fn connect(&self) -> Result<PgConnection> {
        let connected = connect(&self.login).await.inspect_err(|error| self.say(error));
        // It may let us in later, with another password.
        let refused = |error| match error {
            StoreError::Postgres(error) => StoreError::unavailable(error),
            error => error,
        };
        let mut connection = connected.map_err(refused)?;
        self.clock.read_again(&mut connection).await?;
        Ok(connection)
    }

    async fn is_alive(&self, connection: &mut PgConnection) -> bool {
        self.clock.read_again(connection).await.is_ok()
    }

    async fn close(connection: PgConnection) -> Result<()> {
        Ok(connection.close().await?)
    }
}

/// Runs a statement.
pub(super) async fn run<R: Record>(
    connection: &mut PgConnection,
    sql: SqlStr,
    values: Vec<Value>,
    wanted: Wanted,
) -> Result<Answer<R>> {
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
    let read = rows.iter().map(|row| Row::Postgres(row).record());
    Ok(Answer { touched: 0, rows: read.collect::<Result<_, _>>()? })
}
