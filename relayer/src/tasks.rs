//! The tasks of a process: what a stop waits for, and what must not end before.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Work that outlives the request that asked for it, and work that goes on as long as the process.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// What a stop waits for.
    pub tracker: TaskTracker,
    /// Cancelled when no more requests are taken: what would go on answering for ever ends.
    pub closing: CancellationToken,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
    fallen: Arc<OnceLock<&'static str>>,
    has_fallen: CancellationToken,
}

impl Tasks {
    /// Starts work that a stop waits for. Should it panic, it alone ends. What it logs says which request it was started by.
    pub fn start<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        // Boxed: the runtime copies what a task is when it begins and when it ends.
        self.tracker.spawn(Box::pin(work.in_current_span()))
    }

    /// Starts work that the process cannot do without: should it panic, the process ends, and whoever supervises it
    /// starts it anew. See [`Tasks::fallen`].
    pub fn keep(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let this = self.clone();
        #[cfg(feature = "fault-injection")]
        let work = breakable(name, work);
        self.start(async move {
            if let Err(panic) = AssertUnwindSafe(work).catch_unwind().await {
                let panic = panic_message(&*panic);
                tracing::error!(task = name, panic, "a task panicked that the process cannot do without");
                this.fallen.get_or_init(|| name);
                this.has_fallen.cancel();
            }
        });
    }

    /// Waits until a task has panicked that the process cannot do without, and gives its name.
    pub async fn fallen(&self) -> &'static str {
        self.has_fallen.cancelled().await;
        self.fallen.get().copied().unwrap_or("unknown")
    }
}

/// What a panic said.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// The work, with a point `task NAME` that it comes to whenever it goes on.
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

    #[tokio::test]
    async fn a_panic_of_kept_work_is_told_and_of_other_work_is_not() {
        let tasks = Tasks::default();
        let other = tasks.start(async { panic!("on purpose") });
        tasks.keep("ends well", async {});
        assert!(other.await.is_err());
        assert!(tasks.fallen().now_or_never().is_none());
        tasks.keep("sweeper", async { panic!("on purpose") });
        assert_eq!(tasks.fallen().await, "sweeper");
        tasks.tracker.close();
        tasks.tracker.wait().await;
    }
}
