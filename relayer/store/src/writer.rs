//! The single connection that writes to SQLite, on its own thread.
//!
//! SQLite has one writer at a time, and a commit costs a disk sync. Work that arrives while the thread is busy waits
//! and then commits together (group commit). If one piece of work fails, all are rolled back and each runs alone.
//! Nobody is answered before the commit. When more waits than one commit takes, work that continues something goes
//! before work that begins something: started work ends sooner, and all who wait to begin wait alike.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::BoxFuture;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::connections::{CALL_LIMIT, overdue};
use super::sqlite::open_to_write;
use super::transaction::Transaction;
use super::{Result, StoreError};

/// The most pieces of work that commit together.
const GROUP_MAX: usize = 32;
/// The most pieces of work that wait; of new claims, half as many. A disk that hangs must not collect what clients repeat.
const WAITING_MAX: usize = if cfg!(test) { 1_024 } else { 8_192 };
/// Slots per commit reserved for new claims.
const BEGINNING_MIN: usize = 16;

/// Hands work to the thread. The thread ends when this is closed, or when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Writer {
    requests: mpsc::UnboundedSender<Request>,
    /// How much work is waiting.
    waiting: Gauge,
    /// How long work waited, in seconds.
    waits: Histogram,
}

enum Request {
    Work(Box<dyn Work>, Turn),
    Close(oneshot::Sender<()>),
}

/// Decides which work goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// A step of something whose end somebody awaits.
    GoesOn,
    /// Something new.
    Begins,
}

/// The statements of one transaction, and who waits for the result.
trait Work: Send {
    /// Runs from the beginning, and may be repeated. False when it failed: its writes must be rolled back.
    fn run<'c>(&'c mut self, tx: &'c mut Transaction<'_>) -> BoxFuture<'c, bool>;
    /// Reports the result, or the failed commit.
    fn finish(self: Box<Self>, committed: Result<()>);
}

struct RequestedWork<F, T> {
    work: F,
    /// `None` until the work has run to its end.
    result: Option<Result<T>>,
    answer: oneshot::Sender<Result<T>>,
    /// `None` once its turn has come.
    waiting: Option<(Instant, Gauge, Histogram)>,
}

impl<F, T> Work for RequestedWork<F, T>
where
    F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>> + Clone + Send,
    T: Send,
{
    fn run<'c>(&'c mut self, tx: &'c mut Transaction<'_>) -> BoxFuture<'c, bool> {
        async move {
            if let Some((since, waiting, waits)) = self.waiting.take() {
                waiting.dec();
                waits.observe(since.elapsed().as_secs_f64());
            }
            self.result = None;
            self.result.insert(self.work.clone()(tx).await).is_ok()
        }
        .boxed()
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let result = match (self.result, committed) {
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            // It panicked.
            (None, Ok(())) => Err(gone()),
        };
        // The caller may be gone.
        let _ = self.answer.send(result);
    }
}

impl Writer {
    /// Starts the thread. Reopens a failed connection to `file`.
    pub fn start(connection: Connection, file: Arc<Path>, waits: Histogram) -> Result<Self> {
        let (requests, inbox) = mpsc::unbounded_channel();
        let writing = Writing { file, open: Some(connection) };
        std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || write_until_closed(writing, inbox))
            .map_err(StoreError::unavailable)?;
        Ok(Self { requests, waiting: Gauge::default(), waits })
    }

    /// How much work is waiting.
    pub fn waiting(&self) -> usize {
        usize::try_from(self.waiting.get()).unwrap_or(0)
    }

    /// Runs `work` in a transaction, and answers once that is committed. `work` must await nothing but statements. It
    /// runs to the end even when the caller leaves, as callers do when it takes too long. Unavailable at once: too much
    /// is waiting.
    pub async fn write<T, F>(&self, work: F, turn: Turn) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        let waiting_max = match turn {
            Turn::GoesOn => WAITING_MAX,
            Turn::Begins => WAITING_MAX / 2,
        };
        if self.waiting() >= waiting_max {
            return Err(StoreError::unavailable("too many writes are queued"));
        }
        let (answer, answered) = oneshot::channel();
        let waiting = Some((Instant::now(), self.waiting.clone(), self.waits.clone()));
        let asked = RequestedWork { work, result: None, answer, waiting };
        self.waiting.inc();
        self.requests.send(Request::Work(Box::new(asked), turn)).map_err(|_| gone())?;
        let answered = tokio::time::timeout(CALL_LIMIT, answered).await;
        answered.map_err(|_| overdue())?.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits for earlier work, and closes the connection.
    pub async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        if self.requests.send(Request::Close(closed)).is_ok() {
            let _ = when_closed.await;
        }
    }
}

fn gone() -> StoreError {
    StoreError::unavailable("its writer has ended")
}

/// Work waiting to be written.
#[derive(Default)]
struct Queue {
    going_on: VecDeque<Box<dyn Work>>,
    beginning: VecDeque<Box<dyn Work>>,
    closing: Option<oneshot::Sender<()>>,
}

impl Queue {
    fn take_in(&mut self, request: Request) {
        match request {
            Request::Work(work, Turn::GoesOn) => self.going_on.push_back(work),
            Request::Work(work, Turn::Begins) => self.beginning.push_back(work),
            Request::Close(closed) => self.closing = Some(closed),
        }
    }

    fn is_empty(&self) -> bool {
        self.going_on.is_empty() && self.beginning.is_empty()
    }

    /// The next group to commit.
    fn next_group(&mut self) -> Vec<Box<dyn Work>> {
        let kept_free = self.beginning.len().min(BEGINNING_MIN);
        let going_on = self.going_on.len().min(GROUP_MAX - kept_free);
        let beginning = self.beginning.len().min(GROUP_MAX - going_on);
        self.going_on.drain(..going_on).chain(self.beginning.drain(..beginning)).collect()
    }
}

/// The writing connection. After a failed commit or rollback its state is unknown: SQLite may have ended the
/// transaction itself (a full disk). So it is reopened as soon as possible.
struct Writing {
    file: Arc<Path>,
    open: Option<Connection>,
}

impl Writing {
    /// False when one piece of work failed: nothing of any was written.
    fn commit(&mut self, group: &mut [Box<dyn Work>]) -> Result<bool> {
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => open_to_write(&self.file)?,
        };
        let done = commit(&mut connection, group);
        match &done {
            Ok(_) => self.open = Some(connection),
            Err(error) => tracing::error!(%error, "the database failed; reopening its connection"),
        }
        Ok(done?)
    }

    fn close(self) {
        if let Some(connection) = self.open
            && let Err((_, error)) = connection.close()
        {
            tracing::warn!(%error, "cannot close the database");
        }
    }
}

fn write_until_closed(mut writing: Writing, mut inbox: mpsc::UnboundedReceiver<Request>) {
    let mut queue = Queue::default();
    while let Some(request) = inbox.blocking_recv() {
        queue.take_in(request);
        loop {
            while let Ok(request) = inbox.try_recv() {
                queue.take_in(request);
            }
            if queue.is_empty() {
                break;
            }
            write_together(&mut writing, queue.next_group());
        }
        if let Some(closed) = queue.closing.take() {
            writing.close();
            // The caller may be gone.
            let _ = closed.send(());
            return;
        }
    }
}

fn write_together(writing: &mut Writing, mut group: Vec<Box<dyn Work>>) {
    if group.len() > 1 && matches!(writing.commit(&mut group), Ok(true)) {
        group.into_iter().for_each(|work| work.finish(Ok(())));
        return;
    }
    for mut work in group {
        let committed = writing.commit(std::slice::from_mut(&mut work));
        work.finish(committed.map(|_| ()));
    }
}

fn commit(connection: &mut Connection, group: &mut [Box<dyn Work>]) -> Result<bool, rusqlite::Error> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for work in group {
        let mut writing = Transaction::Sqlite(connection);
        // A panic is a failure of that work alone; the thread goes on.
        let run = AssertUnwindSafe(work.run(&mut writing)).catch_unwind();
        if !block_on(run).unwrap_or(false) {
            connection.prepare_cached("ROLLBACK")?.execute([])?;
            return Ok(false);
        }
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(true)
}
