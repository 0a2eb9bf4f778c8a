//! The one connection that writes to SQLite, on a thread of its own.
//!
//! SQLite has one writer at a time, and a commit costs a sync of the disk. What is asked for while the thread is busy waits,
//! and then commits together (group commit). Should one piece of work fail, all is taken back and each is done alone. Nobody
//! is answered before the commit. When more waits than one commit takes, what goes on with something comes before what begins
//! something new: so work under way ends sooner, and those who wait to begin wait alike.

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

use super::StoreError;
use super::connections::{CALL_LIMIT, overdue};
use super::sqlite::open_to_write;
use super::transaction::Transaction;

/// Most pieces of work that commit together.
const GROUP_MAX: usize = 32;
/// Slots per commit reserved for new claims.
const BEGINNING_MIN: usize = 16;

/// Where work is handed to the thread. It ends when this is closed, or when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Writer {
    requests: mpsc::UnboundedSender<Request>,
    waiting: Waiting,
}

/// How much work waits for its turn, and how long it did, in seconds.
#[derive(Clone)]
struct Waiting {
    now: Gauge,
    waits: Histogram,
}

enum Request {
    Work(Box<dyn Work>, Turn),
    Close(oneshot::Sender<()>),
}

/// Which work is done first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Somebody waits for the end of something that this is a step of.
    GoesOn,
    /// Something new.
    Begins,
}

/// Statements of one transaction, and whom to tell of their end.
trait Work: Send {
    /// From the beginning, however often. False when it failed: what it wrote is to be taken back.
    fn run<'c>(&'c mut self, tx: &'c mut Transaction<'_>) -> BoxFuture<'c, bool>;
    /// Tells what came of it, where the commit went well.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Asked<F, T> {
    work: F,
    /// `None` until it was run to its end.
    result: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
    /// `None` once its turn has come.
    waiting: Option<(Instant, Waiting)>,
}

impl<F, T> Work for Asked<F, T>
where
    F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T, StoreError>> + Clone + Send,
    T: Send,
{
    fn run<'c>(&'c mut self, tx: &'c mut Transaction<'_>) -> BoxFuture<'c, bool> {
        async move {
            if let Some((since, waiting)) = self.waiting.take() {
                waiting.now.dec();
                waiting.waits.observe(since.elapsed().as_secs_f64());
            }
            self.result = None;
            self.result.insert(self.work.clone()(tx).await).is_ok()
        }
        .boxed()
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (self.result, committed) {
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            // It panicked.
            (None, Ok(())) => Err(gone()),
        };
        // Whoever asked may have gone.
        let _ = self.answer.send(result);
    }
}

impl Writer {
    /// Starts the thread. A connection that failed is opened anew to `file`.
    pub fn start(connection: Connection, file: Arc<Path>, waits: Histogram) -> Result<Self, StoreError> {
        let (requests, inbox) = mpsc::unbounded_channel();
        let writing = Writing { file, open: Some(connection) };
        std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || write_until_closed(writing, inbox))
            .map_err(StoreError::unavailable)?;
        Ok(Self { requests, waiting: Waiting { now: Gauge::default(), waits } })
    }

    /// How much work waits for its turn.
    pub fn waiting(&self) -> usize {
        usize::try_from(self.waiting.now.get()).unwrap_or(0)
    }

    /// Does `work` in a transaction, and answers when that is committed. It must not wait for anything but statements. It
    /// is done to the end even when nobody waits for it any longer, as happens when it takes too long.
    pub async fn write<T, F>(&self, work: F, turn: Turn) -> Result<T, StoreError>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T, StoreError>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let waiting = Some((Instant::now(), self.waiting.clone()));
        let asked = Asked { work, result: None, answer, waiting };
        self.waiting.now.inc();
        self.requests.send(Request::Work(Box::new(asked), turn)).map_err(|_| gone())?;
        let answered = tokio::time::timeout(CALL_LIMIT, answered).await;
        answered.map_err(|_| overdue())?.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits for what was asked for before, and closes the connection.
    pub async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        if self.requests.send(Request::Close(closed)).is_ok() {
            let _ = when_closed.await;
        }
    }
}

fn gone() -> StoreError {
    StoreError::unavailable("what wrote to it has ended")
}

/// What waits to be written.
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

    /// What is to commit next.
    fn next_group(&mut self) -> Vec<Box<dyn Work>> {
        let kept_free = self.beginning.len().min(BEGINNING_MIN);
        let going_on = self.going_on.len().min(GROUP_MAX - kept_free);
        let beginning = self.beginning.len().min(GROUP_MAX - going_on);
        self.going_on.drain(..going_on).chain(self.beginning.drain(..beginning)).collect()
    }
}

/// The connection. After a failed commit or roll-back nobody knows what it is at: SQLite may have ended the transaction by
/// itself (a full disk). So it is opened anew, as soon as that can be done.
struct Writing {
    file: Arc<Path>,
    open: Option<Connection>,
}

impl Writing {
    /// False when one of them failed: nothing of any was written.
    fn commit(&mut self, group: &mut [Box<dyn Work>]) -> Result<bool, StoreError> {
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => open_to_write(&self.file)?,
        };
        let done = commit(&mut connection, group);
        match &done {
            Ok(_) => self.open = Some(connection),
            Err(error) => tracing::error!(%error, "the database failed; its connection is opened anew"),
        }
        Ok(done?)
    }

    fn close(self) {
        if let Some(connection) = self.open
            && let Err((_, error)) = connection.close()
        {
            tracing::warn!(%error, "the database was not closed well");
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
            // Whoever waits for this may have gone.
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
