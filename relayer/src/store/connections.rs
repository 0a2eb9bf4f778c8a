//! Connections, lent for one call at a time.
//!
//! Every call has a time limit, the waiting for a connection included: a server may be gone without saying so, and then a
//! connection stays open and says nothing for ever. A connection goes back only from a call that went well; any other is
//! dropped, and when it has failed so are those that were opened before it, as each next call comes to them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use prometheus_client::metrics::histogram::Histogram;

use super::StoreError;

/// How long a call takes at most.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);
/// A connection that was used this recently is not asked how it is.
const FRESH: Duration = Duration::from_secs(1);
/// How long a connection may take to say how it is.
const PING_LIMIT: Duration = Duration::from_secs(2);
/// How long a connection to a server is used. A server may have grown tired of it, and another may be less busy by then.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// How often a closing pool looks whether all connections have come back.
const CLOSING_PAUSE: Duration = Duration::from_millis(10);

/// What is answered when a call was given up.
pub(super) fn overdue() -> StoreError {
    StoreError::unavailable(format!("no answer within {} s", CALL_LIMIT.as_secs()))
}

/// How a database is connected to.
pub(super) trait Connect: Send + Sync + 'static {
    type Connection: Send;

    fn connect(&self) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;
    /// Whether the other end may go away while the connection stands.
    const IS_REMOTE: bool;
    fn is_alive(connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;
    fn close(connection: Self::Connection) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// So many connections at most, made when they are needed.
pub(super) struct Connections<C: Connect> {
    pool: managed::Pool<Opener<C>>,
    /// How long calls waited for a connection, seconds.
    waits: Histogram,
}

impl<C: Connect> Clone for Connections<C> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), waits: self.waits.clone() }
    }
}

struct Opener<C> {
    connect: C,
    /// Counts failures: a connection from before the last one is not lent any more.
    failures: AtomicU64,
}

struct Opened<T> {
    connection: T,
    /// How many failures there had been.
    after_failures: u64,
}

impl<C: Connect> managed::Manager for Opener<C> {
    type Type = Opened<C::Connection>;
    type Error = StoreError;

    async fn create(&self) -> Result<Self::Type, StoreError> {
        let after_failures = self.failures.load(Ordering::SeqCst);
        Ok(Opened { connection: self.connect.connect().await?, after_failures })
    }

    async fn recycle(&self, opened: &mut Self::Type, metrics: &Metrics) -> RecycleResult<StoreError> {
        let gone = || RecycleError::message("the connection is gone");
        if opened.after_failures < self.failures.load(Ordering::SeqCst) {
            return Err(gone());
        }
        if !C::IS_REMOTE {
            return Ok(());
        }
        if metrics.age() > LIFETIME {
            return Err(gone());
        }
        if metrics.last_used() < FRESH {
            return Ok(());
        }
        match tokio::time::timeout(PING_LIMIT, C::is_alive(&mut opened.connection)).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => {
                self.failures.fetch_add(1, Ordering::SeqCst);
                Err(gone())
            }
        }
    }
}

impl<C: Connect> Connections<C> {
    pub(super) fn new(connect: C, connections_max: usize, waits: Histogram) -> Result<Self, StoreError> {
        let opener = Opener { connect, failures: AtomicU64::new(0) };
        let built = managed::Pool::builder(opener).max_size(connections_max).build();
        built.map(|pool| Self { pool, waits }).map_err(StoreError::unavailable)
    }

    /// How many connections there are, how many of them are lent, and how many calls wait for one.
    pub(super) fn figures(&self) -> (usize, usize, usize) {
        let status = self.pool.status();
        (status.size, status.size.saturating_sub(status.available), status.waiting)
    }

    /// Makes a call that lends a connection, and gives up on it when it takes too long: then every connection is suspect.
    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(CALL_LIMIT, call).await {
            Ok(answer) => answer,
            Err(_) => {
                self.pool.manager().failures.fetch_add(1, Ordering::SeqCst);
                Err(overdue())
            }
        }
    }

    /// A connection for one call; see [`Lent::give_back`].
    pub(super) async fn lend(&self) -> Result<Lent<C>, StoreError> {
        let asked_at = Instant::now();
        let got = self.pool.get().await;
        self.waits.observe(asked_at.elapsed().as_secs_f64());
        match got {
            Ok(object) => Ok(Lent(Some(object))),
            Err(PoolError::Backend(error)) => Err(error),
            Err(error) => Err(StoreError::unavailable(error)),
        }
    }

    /// Lends no more, waits for what is lent, and closes.
    pub(super) async fn close(&self) {
        for opened in self.pool.retain(|_, _| false).removed {
            if let Err(error) = C::close(opened.connection).await {
                tracing::warn!(%error, "the database was not closed well");
            }
        }
        self.pool.close();
        while self.pool.status().size > 0 {
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
    }
}

/// A lent connection. Dropped without a word, it is not lent again: its call was given up, and who knows what it is at.
pub(super) struct Lent<C: Connect>(Option<Object<Opener<C>>>);

impl<C: Connect> Lent<C> {
    pub(super) fn connection(&mut self) -> Result<&mut C::Connection, StoreError> {
        let object = self.0.as_mut().ok_or_else(overdue)?;
        Ok(&mut object.connection)
    }

    /// Gives the connection back, unless the call did not go well.
    pub(super) fn give_back<T>(mut self, answer: &Result<T, StoreError>) {
        match answer {
            Err(StoreError::Postgres(_) | StoreError::Sqlite(_)) => {}
            Err(StoreError::Unavailable { is_connection_lost, .. }) => {
                if let Some(object) = self.0.as_ref().filter(|_| *is_connection_lost)
                    && let Some(pool) = Object::pool(object)
                {
                    // Once, however many of the same age fail.
                    let failures = &pool.manager().failures;
                    failures.fetch_max(object.after_failures + 1, Ordering::SeqCst);
                }
            }
            Ok(_) | Err(_) => drop(self.0.take()),
        }
    }
}

impl<C: Connect> Drop for Lent<C> {
    fn drop(&mut self) {
        drop(self.0.take().map(Object::take));
    }
}
