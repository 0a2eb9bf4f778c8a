//! The one connection that writes to SQLite, on a thread of its own.
//!
//! SQLite has one writer at a time, and a commit costs a sync of the disk. What is asked for while the thread is busy waits,
//! and then commits together (group commit). Should one piece of work fail, all is taken back and each is done alone. Nobody
//! is answered before the commit.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use super::StoreError;
use super::pools::Transaction;

/// Most pieces of work that commit together.
const GROUP_MAX: usize = 64;

/// Where work is handed to the thread. It ends when this is closed, or when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Writer(mpsc::UnboundedSender<Request>);

enum Request {
    Work(Box<dyn Work>),
    Close(oneshot::Sender<()>),
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
    result: Result<T, StoreError>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Work for Asked<F, T>
where
    F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T, StoreError>> + Clone + Send,
    T: Send,
{
    fn run<'c>(&'c mut self, tx: &'c mut Transaction<'_>) -> BoxFuture<'c, bool> {
        async move {
            self.result = Err(gone());
            self.result = self.work.clone()(tx).await;
            self.result.is_ok()
        }
        .boxed()
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        // Whoever asked may have gone.
        let _ = self.answer.send(self.result.and_then(|done| committed.map(|()| done)));
    }
}

impl Writer {
    /// Starts the thread.
    pub fn start(connection: SqliteConnection) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || futures::executor::block_on(write_until_closed(connection, inbox)))?;
        Ok(Self(requests))
    }

    /// Does `work` in a transaction, and answers when that is committed. It must not wait for anything but statements. It
    /// is done to the end even when nobody waits for it any longer.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T, StoreError>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let asked = Asked { work, result: Err(gone()), answer };
        self.0.send(Request::Work(Box::new(asked))).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits for what was asked for before, and closes the connection.
    pub async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        if self.0.send(Request::Close(closed)).is_ok() {
            let _ = when_closed.await;
        }
    }
}

fn gone() -> StoreError {
    StoreError::Database(sqlx::Error::WorkerCrashed)
}

async fn write_until_closed(mut connection: SqliteConnection, mut inbox: mpsc::UnboundedReceiver<Request>) {
    let mut requests = Vec::with_capacity(GROUP_MAX);
    while inbox.recv_many(&mut requests, GROUP_MAX).await > 0 {
        let (mut group, mut closing) = (Vec::with_capacity(requests.len()), None);
        for request in requests.drain(..) {
            match request {
                Request::Work(work) => group.push(work),
                Request::Close(closed) => closing = Some(closed),
            }
        }
        write_together(&mut connection, group).await;
        if let Some(closed) = closing {
            if let Err(error) = connection.close().await {
                tracing::warn!(%error, "the database was not closed well");
            }
            // Whoever waits for this may have gone.
            let _ = closed.send(());
            return;
        }
    }
}

async fn write_together(connection: &mut SqliteConnection, mut group: Vec<Box<dyn Work>>) {
    if group.len() > 1 && matches!(commit(connection, &mut group).await, Ok(true)) {
        group.into_iter().for_each(|work| work.finish(Ok(())));
        return;
    }
    for mut work in group {
        let committed = commit(connection, std::slice::from_mut(&mut work)).await;
        work.finish(committed.map(|_| ()).map_err(StoreError::from));
    }
}

/// False when one of them failed: nothing of any was written.
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
