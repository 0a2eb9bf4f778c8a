//! The one connection that writes to SQLite, on a thread of its own.
//!
//! SQLite has one writer at a time, and a commit costs a sync of the disk. What is asked for while the thread is busy waits,
//! and then commits together (group commit). Should one piece of work fail, all is taken back and each is done alone. Nobody
//! is answered before the commit. When more waits than one commit takes, what goes on with something comes before what begins
//! something new: so work under way ends sooner, and those who wait to begin wait alike.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{mpsc, oneshot};

use super::StoreError;
use super::connections::{CALL_LIMIT, overdue};
use super::transaction::Transaction;

/// Most pieces of work that commit together.
const GROUP_MAX: usize = 16;
/// Slots per commit reserved for new claims.
const BEGINNING_MIN: usize = 8;
/// How long the thread stays awake for the driver's answer.
const WAKEFUL: Duration = Duration::from_micros(100);

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
    /// Starts the thread. `options` open the connection anew after it failed.
    pub fn start(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        waits: Histogram,
    ) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::unbounded_channel();
        let writing = Writing { options, open: Some(connection) };
        std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || futures::executor::block_on(write_until_closed(writing, inbox)))?;
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
    StoreError::Database(sqlx::Error::WorkerCrashed)
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
/// itself (a full disk), and the driver would refuse every further one. So it is opened anew, as soon as that can be done.
struct Writing {
    options: SqliteConnectOptions,
    open: Option<SqliteConnection>,
}

impl Writing {
    /// False when one of them failed: nothing of any was written.
    async fn commit(&mut self, group: &mut [Box<dyn Work>]) -> Result<bool, sqlx::Error> {
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        let done = commit(&mut connection, group).await;
        match &done {
            Ok(_) => self.open = Some(connection),
            Err(error) => {
                tracing::error!(%error, "the database failed; its connection is opened anew");
                // It is closed for what it is still good for.
                let _ = connection.close().await;
            }
        }
        done
    }

    async fn close(self) {
        if let Some(connection) = self.open
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the database was not closed well");
        }
    }
}

async fn write_until_closed(mut writing: Writing, mut inbox: mpsc::UnboundedReceiver<Request>) {
    let mut queue = Queue::default();
    while let Some(request) = inbox.recv().await {
        queue.take_in(request);
        loop {
            while let Ok(request) = inbox.try_recv() {
                queue.take_in(request);
            }
            if queue.is_empty() {
                break;
            }
            write_together(&mut writing, queue.next_group()).await;
        }
        if let Some(closed) = queue.closing.take() {
            writing.close().await;
            // Whoever waits for this may have gone.
            let _ = closed.send(());
            return;
        }
    }
}

async fn write_together(writing: &mut Writing, mut group: Vec<Box<dyn Work>>) {
    if group.len() > 1 && matches!(wakeful(writing.commit(&mut group)).await, Ok(true)) {
        group.into_iter().for_each(|work| work.finish(Ok(())));
        return;
    }
    for mut work in group {
        let committed = wakeful(writing.commit(std::slice::from_mut(&mut work))).await;
        work.finish(committed.map(|_| ()).map_err(StoreError::from));
    }
}

async fn commit(connection: &mut SqliteConnection, group: &mut [Box<dyn Work>]) -> Result<bool, sqlx::Error> {
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    for work in group {
        let mut writing = Transaction::Sqlite(&mut tx);
        // A panic is a failure of that work alone; the thread goes on.
        let run = AssertUnwindSafe(work.run(&mut writing)).catch_unwind();
        if !run.await.unwrap_or(false) {
            tx.rollback().await?;
            return Ok(false);
        }
    }
    tx.commit().await?;
    Ok(true)
}

/// Stays awake for a moment while the driver's thread runs a statement: to be woken takes longer than most of them.
async fn wakeful<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(move |context| {
        let awake_until = Instant::now() + WAKEFUL;
        loop {
            let polled = future.as_mut().poll(context);
            if polled.is_ready() || Instant::now() > awake_until {
                return polled;
            }
            std::thread::yield_now();
        }
    })
    .await
}
