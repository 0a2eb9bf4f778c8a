//! Connections, lent for one call at a time.
//!
//! Every call has a time limit that includes waiting for a connection: a server may vanish silently and leave its
//! connections open for ever. Only a successful call gives its connection back; any other drops it. After a failure,
//! the next calls also drop the connections that were opened before it.

use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::Notify;

use super::{Result, StoreError};

/// Longest time for one call.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);
/// A connection that was used this recently is not pinged.
const FRESH: Duration = Duration::from_secs(1);
/// How long a ping may take.
const PING_LIMIT: Duration = Duration::from_secs(2);
/// Longest use of a connection to a server. By then the server may want to close it, or another may be less busy.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// How long a server that had no room for another connection is not asked for one.
const FULL_FOR: Duration = Duration::from_secs(1);
/// How often a closing pool checks whether all connections are back.
const CLOSING_PAUSE: Duration = Duration::from_millis(10);

/// The error of a call that was given up.
pub(super) fn overdue() -> StoreError {
    StoreError::unavailable(format!("no answer within {} s", CALL_LIMIT.as_secs()))
}

/// How to connect to a database.
pub(super) trait Connect: Send + Sync + 'static {
    type Connection: Send;

    fn connect(&self) -> impl Future<Output = Result<Self::Connection>> + Send;
    /// Whether the other end may vanish while the connection stays open.
    const IS_REMOTE: bool;
    fn is_alive(&self, connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;
    fn close(connection: Self::Connection) -> impl Future<Output = Result<()>> + Send;
}

/// A bounded pool of connections, opened on demand.
pub(super) struct Connections<C: Connect> {
    pool: managed::Pool<Opener<C>>,
    /// Lends while the server has no room for a single connection of this pool.
    beside: Option<Box<Self>>,
    /// How long calls waited for a connection, seconds.
    waits: Histogram,
}

impl<C: Connect> Clone for Connections<C> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), beside: self.beside.clone(), waits: self.waits.clone() }
    }
}

struct Opener<C> {
    connect: C,
    /// The number of failures. Connections from before the last failure are not lent again.
    failures: AtomicU64,
    /// When the server last had no room for another connection.
    full_at: Mutex<Option<Instant>>,
    /// Wakes who waits for a connection because the server has no room for another.
    given_back: Notify,
}

impl<C> Opener<C> {
    fn full_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.full_at.lock()
    }
}

struct Opened<T> {
    connection: T,
    /// The number of failures when this was opened.
    after_failures: u64,
}

impl<C: Connect> managed::Manager for Opener<C> {
    type Type = Opened<C::Connection>;
    type Error = StoreError;

    async fn create(&self) -> Result<Self::Type> {
        let after_failures = self.failures.load(Ordering::SeqCst);
        if self.full_at().is_some_and(|at| at.elapsed() < FULL_FOR) {
            return Err(StoreError::NoRoom);
        }
        let connected = self.connect.connect().await;
        if let Err(StoreError::NoRoom) = connected {
            *self.full_at() = Some(Instant::now());
        }
        Ok(Opened { connection: connected?, after_failures })
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
        match tokio::time::timeout(PING_LIMIT, self.connect.is_alive(&mut opened.connection)).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => {
                self.failures.fetch_add(1, Ordering::SeqCst);
                Err(gone())
            }
        }
    }
}

impl<C: Connect> Connections<C> {
    pub(super) fn new(connect: C, connections_max: usize, waits: Histogram) -> Result<Self> {
        let opener = Opener {
            connect,
            failures: AtomicU64::new(0),
            full_at: Mutex::default(),
            given_back: Notify::new(),
        };
        let built = managed::Pool::builder(opener).max_size(connections_max).build();
        built.map(|pool| Self { pool, beside: None, waits }).map_err(StoreError::unavailable)
    }

    /// The same, with a pool that helps out.
    pub(super) fn beside(self, other: &Self) -> Self {
        Self { beside: Some(Box::new(other.clone())), ..self }
    }

    /// The numbers of connections, of lent ones, and of calls waiting for one.
    pub(super) fn figures(&self) -> (usize, usize, usize) {
        let status = self.pool.status();
        (status.size, status.size.saturating_sub(status.available), status.waiting)
    }

    /// Makes a call with a connection, and gives up when it takes too long; then every connection is suspect.
    pub(super) async fn call<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout(CALL_LIMIT, call).await {
            Ok(answer) => answer,
            Err(_) => {
                self.pool.manager().failures.fetch_add(1, Ordering::SeqCst);
                Err(overdue())
            }
        }
    }

    /// A connection for one call; see [`Lent::give_back`].
    pub(super) async fn lend(&self) -> Result<Lent<C>> {
        let asked_at = Instant::now();
        let got = self.get().await;
        self.waits.observe(asked_at.elapsed().as_secs_f64());
        match got {
            Ok(object) => Ok(Lent(Some(object))),
            Err(PoolError::Backend(error)) => Err(error),
            Err(error) => Err(StoreError::unavailable(error)),
        }
    }

    /// A free connection or a new one. While the server has no room for a new one, one of those that are open will do.
    async fn get(&self) -> Result<Object<Opener<C>>, PoolError<StoreError>> {
        let (mut pool, mut beside) = (&self.pool, self.beside.as_deref());
        loop {
            match pool.get().await {
                Err(PoolError::Backend(StoreError::NoRoom)) if pool.status().size > 0 => {
                    let given_back = pool.manager().given_back.notified();
                    // Whoever waits also looks again by itself: another process may have made room.
                    let _ = tokio::time::timeout(FULL_FOR, given_back).await;
                }
                Err(PoolError::Backend(StoreError::NoRoom)) => match beside.take() {
                    Some(other) => pool = &other.pool,
                    None => return Err(PoolError::Backend(StoreError::NoRoom)),
                },
                got => return got,
            }
        }
    }

    /// Stops lending, waits for lent connections, and closes.
    pub(super) async fn close(&self) {
        for opened in self.pool.retain(|_, _| false).removed {
            if let Err(error) = C::close(opened.connection).await {
                tracing::warn!(%error, "cannot close the database");
            }
        }
        self.pool.close();
        while self.pool.status().size > 0 {
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
    }
}

/// A lent connection. If it is dropped without [`Lent::give_back`], its call was given up in an unknown state, so it is
/// not lent again.
pub(super) struct Lent<C: Connect>(Option<Object<Opener<C>>>);

impl<C: Connect> Lent<C> {
    pub(super) fn connection(&mut self) -> Result<&mut C::Connection> {
        let object = self.0.as_mut().ok_or_else(overdue)?;
        Ok(&mut object.connection)
    }

    /// Gives the connection back if the call succeeded.
    pub(super) fn give_back<T>(mut self, answer: &Result<T>) {
        match answer {
            Err(StoreError::Postgres(_) | StoreError::Sqlite(_)) => {}
            Err(StoreError::Unavailable { is_connection_lost, .. }) => {
                if let Some(object) = self.0.as_ref().filter(|_| *is_connection_lost)
                    && let Some(pool) = Object::pool(object)
                {
                    // Counts once, however many connections of this age fail.
                    let failures = &pool.manager().failures;
                    failures.fetch_max(object.after_failures + 1, Ordering::SeqCst);
                }
            }
            Ok(_) | Err(_) => {
                if let Some(object) = self.0.take()
                    && let Some(pool) = Object::pool(&object)
                {
                    drop(object);
                    pool.manager().given_back.notify_one();
                }
            }
        }
    }
}

impl<C: Connect> Drop for Lent<C> {
    fn drop(&mut self) {
        drop(self.0.take().map(Object::take));
    }
}
