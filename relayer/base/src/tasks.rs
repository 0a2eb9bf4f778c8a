//! The tasks of a process: those that a stop waits for, and those that must not end before it.

use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Work that outlives the request that started it, and work that lasts as long as the process.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// What a stop waits for.
    pub tracker: TaskTracker,
    /// Cancelled when requests are taken, and clients are told to go elsewhere.
    pub leaving: CancellationToken,
    /// Cancelled when no more requests are taken, so that answers without an end are closed.
    pub closing: CancellationToken,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
    fallen: Arc<OnceLock<&'static str>>,
    has_fallen: CancellationToken,
    kept: Arc<Mutex<BTreeMap<&'static str, Kept>>>,
}

/// The tasks under one name that the process cannot do without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    pub running: usize,
    /// Whether one has ended although no stop was requested.
    pub has_ended: bool,
}

impl purser_core::Tasks for Tasks {
    fn start(&self, work: purser_core::Work) {
        Tasks::start(self, work);
    }
}

impl Tasks {
    /// Starts work that a stop waits for. A panic ends only this work. Its log lines name the request that started it.
    pub fn start<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        // Boxed: the runtime copies a task's future when the task begins and when it ends.
        self.tracker.spawn(Box::pin(work.in_current_span()))
    }

    /// Starts work that the process cannot do without: if it panics, the process ends, and its supervisor
    /// restarts it. See [`Tasks::fallen`].
    pub fn keep(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let this = self.clone();
        #[cfg(feature = "fault-injection")]
        let work = breakable(name, work);
        self.lock_kept().entry(name).or_default().running += 1;
        self.start(async move {
            let ended = AssertUnwindSafe(work).catch_unwind().await;
            this.note_end(name);
            if let Err(panic) = ended {
                let panic = panic_message(&*panic);
                tracing::error!(task = name, panic, "an essential task panicked");
                this.fallen.get_or_init(|| name);
                this.has_fallen.cancel();
            }
        });
    }

    /// Starts work that is repeated: at once, and then `pause` after each time, until the stop, which may interrupt it anywhere. The
    /// first of several failures in a row is logged.
    pub fn every<E, W>(
        &self,
        name: &'static str,
        pause: Duration,
        mut work: impl FnMut() -> W + Send + 'static,
    ) where
        E: Display + Send,
        W: Future<Output = Result<(), E>> + Send,
    {
        let stop = self.stop.clone();
        self.keep(name, async move {
            let mut has_failed = false;
            while let Some(done) = stop.run_until_cancelled(work()).await {
                if let (Err(error), false) = (&done, has_failed) {
                    tracing::warn!(task = name, %error, "a task failed; retrying");
                }
                has_failed = done.is_err();
                if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                    return;
                }
            }
        });
    }

    /// The tasks that the process cannot do without, by name.
    pub fn kept(&self) -> BTreeMap<&'static str, Kept> {
        self.lock_kept().clone()
    }

    fn note_end(&self, name: &'static str) {
        let is_early = !self.stop.is_cancelled() && !self.closing.is_cancelled();
        let mut all = self.lock_kept();
        let kept = all.entry(name).or_default();
        kept.running = kept.running.saturating_sub(1);
        kept.has_ended |= is_early;
    }

    fn lock_kept(&self) -> MutexGuard<'_, BTreeMap<&'static str, Kept>> {
        self.kept.lock()
    }

    /// Waits until such a task panics, and returns its name.
    pub async fn fallen(&self) -> &'static str {
        self.has_fallen.cancelled().await;
        self.fallen.get().copied().unwrap_or("unknown")
    }
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// The work, which reaches the point `task NAME` whenever it is polled.
#[cfg(feature = "fault-injection")]
fn breakable(name: &'static str, work: impl Future<Output = ()>) -> impl Future<Output = ()> {
    let point = format!("task {name}");
    let mut work = Box::pin(work);
    std::future::poll_fn(move |context| {
        crate::crash_point::reached(&point);
        work.as_mut().poll(context)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repeated_work_goes_on_after_a_failure_and_ends_at_the_stop() {
        let (tasks, times) = (Tasks::default(), Arc::new(Mutex::new(0)));
        let counted = times.clone();
        tasks.every("flaky", Duration::from_secs(10), move || {
            let mut times = counted.lock();
            *times += 1;
            let done = if *times == 2 { Err("no answer") } else { Ok(()) };
            let hangs = *times == 4;
            async move { if hangs { std::future::pending().await } else { done } }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(*times.lock(), 4, "at 0, 10, 20 and 30 s");
        tasks.stop.cancel();
        tasks.tracker.close();
        tasks.tracker.wait().await;
        assert_eq!(tasks.kept()["flaky"], Kept::default());
    }

    #[tokio::test]
    async fn panic_of_kept_work_is_reported_and_of_other_work_is_not() {
        let tasks = Tasks::default();
        let other = tasks.start(async { panic!("on purpose") });
        let ended = tasks.stop.clone();
        tasks.keep("ends at the stop", async move { ended.cancelled().await });
        tasks.keep("ends too early", async {});
        assert!(other.await.is_err());
        assert!(tasks.fallen().now_or_never().is_none());
        tasks.keep("sweeper", async { panic!("on purpose") });
        assert_eq!(tasks.fallen().await, "sweeper");
        tasks.stop.cancel();
        tasks.tracker.close();
        tasks.tracker.wait().await;
        let early = tasks.kept().into_iter().filter(|(_, kept)| kept.has_ended).map(|(name, _)| name);
        assert_eq!(early.collect::<Vec<_>>(), ["ends too early", "sweeper"]);
        assert!(tasks.kept().values().all(|kept| kept.running == 0));
    }
}
