use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;

use super::ServiceError;
use purser_base::tasks::Tasks;
use purser_chain::SolanaChain;
use purser_model::{Network, Timestamp};

/// Where to look at a transaction: a template with `{signature}` in it.
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
    pub chain: Arc<SolanaChain>,
    pub explorer: ExplorerUrl,
}

impl NetworkParts {
    /// See [`purser_core::agreed_now`].
    pub(super) async fn agreed_now(&self, our_now: Timestamp) -> Option<i64> {
        purser_core::agreed_now(&*self.chain, our_now).await
    }
}

/// The networks that are served; a key picks one.
#[derive(Clone, Default)]
pub struct Chains(Arc<HashMap<Network, NetworkParts>>);

impl Chains {
    /// From every configured network.
    pub fn new(networks: impl IntoIterator<Item = NetworkParts>) -> Self {
        let by_network = networks.into_iter().map(|parts| (parts.chain.network, parts)).collect();
        Self(Arc::new(by_network))
    }

    /// For the payment engine.
    pub(super) fn to_pay(&self) -> BTreeMap<Network, Arc<dyn purser_core::Chain>> {
        self.0.iter().map(|(network, parts)| (*network, parts.chain.clone() as _)).collect()
    }

    /// Those that are served.
    pub fn networks(&self) -> Vec<Network> {
        Network::ALL.into_iter().filter(|network| self.0.contains_key(network)).collect()
    }

    /// A key may outlive its network's configuration.
    pub fn get(&self, network: Network) -> Result<&NetworkParts, ServiceError> {
        self.0.get(&network).ok_or_else(|| {
            tracing::warn!(%network, "a key's network is not configured");
            ServiceError::ChainUnavailable { retryable: true }
        })
    }
}

/// Runs work to its end even when the caller leaves.
pub async fn finish<T: Send + 'static>(
    tasks: &Tasks,
    work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
) -> Result<T, ServiceError> {
    tasks.start(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a task panicked or was cancelled");
        Err(ServiceError::Internal)
    })
}
