use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use purser_core::{Clock, Work};
use rand::RngCore;

use super::ServiceError;
use crate::chain::{Chain, ReadChain};
use crate::domain::{Drawn, Network, Timestamp};
use crate::store::{ServerClock, Store};
use crate::tasks::Tasks;

/// Time and randomness, as arguments.
#[derive(Debug, Clone)]
pub struct Ambient {
    /// The host's clock.
    pub now: fn() -> Timestamp,
    /// The database's clock, if it has one that other hosts share: then the host's is not used.
    pub server: Option<ServerClock>,
    pub fill_random: fn(&mut [u8]),
}

impl Ambient {
    /// The system's clock and generator.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub const SYSTEM: Self = Self {
        now: || Timestamp::from(crate::crash_point::host_clock(SystemTime::now())),
        server: None,
        fill_random: |bytes| rand::rng().fill_bytes(bytes),
    };

    /// What the processes on this database share.
    pub fn of(store: &Store) -> Self {
        Self { server: store.clock(), ..Self::SYSTEM }
    }

    /// The time by the clock that the processes on a database share.
    pub fn now(&self) -> Timestamp {
        self.server.as_ref().map_or_else(self.now, ServerClock::now)
    }

    /// Random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.fill_random)(&mut bytes);
        bytes
    }

    /// The time, id bits and secret of something new, drawn at random.
    pub fn draw(&self) -> Drawn {
        Drawn { at: self.now(), id_bits: self.id_bits(), secret: self.random().into() }
    }

    /// The random bits that make an id unique.
    pub(crate) fn id_bits(&self) -> u128 {
        u128::from_le_bytes(self.random())
    }
}

impl Clock for Ambient {
    fn now(&self) -> Timestamp {
        Ambient::now(self)
    }

    fn id_bits(&self) -> u128 {
        Ambient::id_bits(self)
    }
}

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

/// One network that is served, as far as whoever has this may act on it.
pub struct NetworkParts<C: ?Sized = dyn Chain> {
    pub chain: Arc<C>,
    pub explorer: ExplorerUrl,
}

impl<C: ?Sized> Clone for NetworkParts<C> {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), explorer: self.explorer.clone() }
    }
}

impl<C: ReadChain + ?Sized> NetworkParts<C> {
    /// See [`purser_core::agreed_now`].
    pub(super) async fn agreed_now(&self, our_now: Timestamp) -> Option<i64> {
        purser_core::agreed_now(&*self.chain, our_now).await
    }
}

/// The networks that are served; a key picks one. A service has them in the role that it plays on a chain.
pub struct Chains<C: ?Sized = dyn ReadChain>(Arc<HashMap<Network, NetworkParts<C>>>);

impl<C: ?Sized> Clone for Chains<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: ?Sized> Default for Chains<C> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl Chains<dyn Chain> {
    /// From every configured network.
    pub fn new(networks: impl IntoIterator<Item = NetworkParts>) -> Self {
        let by_network = networks.into_iter().map(|parts| (parts.chain.network(), parts)).collect();
        Self(Arc::new(by_network))
    }

    /// The same for whoever may do less there.
    pub(super) fn to<C: ?Sized>(&self, role: fn(Arc<dyn Chain>) -> Arc<C>) -> Chains<C> {
        let of = |parts: &NetworkParts| NetworkParts {
            chain: role(parts.chain.clone()),
            explorer: parts.explorer.clone(),
        };
        Chains(Arc::new(self.0.iter().map(|(network, parts)| (*network, of(parts))).collect()))
    }

    /// For the money path.
    pub(super) fn to_pay(&self) -> BTreeMap<Network, Arc<dyn purser_core::Chain>> {
        self.0.iter().map(|(network, parts)| (*network, parts.chain.clone() as _)).collect()
    }

    /// For whoever only reads.
    pub(super) fn to_read(&self) -> Chains {
        self.to(|chain| chain)
    }
}

impl<C: ?Sized> Chains<C> {
    pub(super) fn networks(&self) -> Vec<Network> {
        Network::ALL.into_iter().filter(|network| self.0.contains_key(network)).collect()
    }

    /// A key may outlive its network's configuration.
    pub(super) fn get(&self, network: Network) -> Result<&NetworkParts<C>, ServiceError> {
        self.0.get(&network).ok_or_else(|| {
            tracing::warn!(%network, "a key's network is not configured");
            ServiceError::ChainUnavailable { retryable: true }
        })
    }
}

impl purser_core::Tasks for Tasks {
    fn start(&self, work: Work) {
        Tasks::start(self, work);
    }
}

impl Tasks {
    /// Runs work to its end even when the caller leaves.
    pub(super) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.start(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a task panicked or was cancelled");
            Err(ServiceError::Internal)
        })
    }
}
