//! Resolves names to addresses, for registration and for connections; it never returns a closed address.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolving};

use purser_base::lookup::{Lookups, NoRoom};
use purser_model::{DestinationRules, may_reach};

/// Threads that look up other people's names, who run their own name servers.
const LOOKUPS_AT_ONCE: usize = 64;

/// The addresses of a name; empty if it has none.
pub type Resolved = Vec<IpAddr>;

/// Resolves names to addresses.
#[async_trait]
pub trait Resolve: Send + Sync + 'static {
    /// NoRoom: nobody was asked.
    async fn resolve(&self, name: &str) -> Result<Resolved, NoRoom>;
}

/// The system's resolver.
#[derive(Clone)]
pub struct SystemResolver(Lookups);

impl Default for SystemResolver {
    fn default() -> Self {
        Self(Lookups::new(LOOKUPS_AT_ONCE))
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> Result<Resolved, NoRoom> {
        Ok(self.0.addresses(name).await?.unwrap_or_default())
    }
}

/// Why no connection was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotReachable {
    #[error("the host resolves to an address that may not be reached")]
    Refused,
    #[error("the host does not resolve")]
    NotResolved,
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

/// Resolves at every new connection, and connects only to addresses that it checked itself, so moving a name between
/// check and connection gains nothing. One closed address closes the name.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub resolve: Arc<dyn Resolve>,
    pub rules: Arc<DestinationRules>,
}

impl reqwest::dns::Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.resolve.resolve(name.as_str()).await.map_err(NotReachable::from)?;
            if found.is_empty() {
                return Err(NotReachable::NotResolved.into());
            }
            if !found.iter().all(|address| may_reach(*address, &this.rules)) {
                return Err(NotReachable::Refused.into());
            }
            // The port comes from the URL.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
