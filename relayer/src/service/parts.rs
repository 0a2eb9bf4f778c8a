use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rand::RngCore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::ServiceError;
use crate::chain::Chain;
use crate::domain::{Network, Timestamp};

/// Time and randomness, as arguments.
#[derive(Debug, Clone, Copy)]
pub struct Ambient {
    pub now: fn() -> Timestamp,
    pub fill_random: fn(&mut [u8]),
}

impl Ambient {
    /// The system's clock and generator.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub const SYSTEM: Self = Self {
        now: || Timestamp::from(SystemTime::now() + crate::crash_point::host_clock_ahead()),
        fill_random: |bytes| rand::rng().fill_bytes(bytes),
    };

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.fill_random)(&mut bytes);
        bytes
    }

    /// What makes an id one of its kind.
    pub(crate) fn id_bits(&self) -> u128 {
        u128::from_le_bytes(self.random())
    }
}

/// Where a transaction can be looked at: a template with `{signature}` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplorerUrl(Arc<str>);

impl ExplorerUrl {
    /// From the configuration's template.
    pub fn new(template: &str) -> Self {
        Self(template.into())
    }

    /// The page of one transaction.
    pub fn of(&self, signature: &str) -> String {
        self.0.replace("{signature}", signature)
    }
}

/// One network that is served.
#[derive(Clone)]
pub struct NetworkParts {
    pub chain: Arc<dyn Chain>,
    pub explorer: ExplorerUrl,
}

/// The networks that are served; a key picks one.
#[derive(Clone, Default)]
pub struct Chains(Arc<HashMap<Network, NetworkParts>>);

impl Chains {
    /// From every configured network.
    pub fn new(networks: impl IntoIterator<Item = NetworkParts>) -> Self {
        let by_network = networks.into_iter().map(|parts| (parts.chain.network(), parts)).collect();
        Self(Arc::new(by_network))
    }

    pub(super) fn networks(&self) -> Vec<Network> {
        self.0.keys().copied().collect()
    }

    /// A key may outlive its network's configuration.
    pub(super) fn get(&self, network: Network) -> Result<&NetworkParts, ServiceError> {
        self.0.get(&network).ok_or_else(|| {
            tracing::warn!(%network, "asked for a network that is not configured");
            ServiceError::ChainUnavailable { retryable: true }
        })
    }
}

/// Notices the end of a task, however it ends.
struct Watch {
    name: &'static str,
    tasks: Tasks,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.tasks.stop.is_cancelled() {
            tracing::error!(task = self.name, "a task ended that should run until the stop");
            self.tasks.ended.lock().unwrap_or_else(PoisonError::into_inner).push(self.name);
        }
    }
}

/// Work that outlives the request that asked for it.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// What a stop waits for.
    pub tracker: TaskTracker,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
    ended: Arc<Mutex<Vec<&'static str>>>,
}

impl Tasks {
    /// Starts work that a stop waits for. What it logs says which request it was started by.
    pub(super) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        // Boxed: the runtime copies what a task is when it begins and when it ends.
        self.tracker.spawn(Box::pin(work.in_current_span()))
    }

    /// Starts work that goes on until the stop. Should it end before, by a panic for example, that is logged and told by
    /// [`Tasks::ended`].
    pub fn start_vital(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let watch = Watch { name, tasks: self.clone() };
        self.start(async move {
            work.await;
            drop(watch);
        });
    }

    /// The tasks that ended before the stop.
    pub fn ended(&self) -> Vec<&'static str> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Does work to its end even if nobody waits for it any longer.
    pub(super) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.start(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a task did not end well");
            Err(ServiceError::Internal)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_vital_task_that_ends_before_the_stop_is_known() {
        let tasks = Tasks::default();
        tasks.start_vital("panics", async { panic!("as the test wants it") });
        tasks.start_vital("returns", async {});
        tasks.start_vital("stays", {
            let stop = tasks.stop.clone();
            async move { stop.cancelled().await }
        });
        while tasks.ended().len() < 2 {
            tokio::task::yield_now().await;
        }
        tasks.stop.cancel();
        tasks.tracker.close();
        tasks.tracker.wait().await;
        let mut ended = tasks.ended();
        ended.sort_unstable();
        assert_eq!(ended, ["panics", "returns"]);
    }
}
