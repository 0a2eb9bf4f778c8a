//! Names to addresses, for registration and for connections; none that is closed comes out.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolving};

use crate::domain::{DestinationRules, may_reach};
use crate::service::{Resolve, Resolved};

/// The system's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> Resolved {
        match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => found.map(|address| address.ip()).collect(),
            Err(_) => Vec::new(),
        }
    }
}

/// Why a connection was not even tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotReachable {
    #[error("the name leads to an address that may not be reached")]
    Refused,
    #[error("the name leads nowhere")]
    NotResolved,
}

/// Resolves at every new connection, and connects only to what it has checked itself: a name that is moved between
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
            let found = this.resolve.resolve(name.as_str()).await;
            if found.is_empty() {
                return Err(NotReachable::NotResolved.into());
            }
            if !found.iter().all(|address| may_reach(*address, &this.rules)) {
                return Err(NotReachable::Refused.into());
            }
            // The port is the URL's.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
