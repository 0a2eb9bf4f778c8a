//! Resolves names to addresses with the system's resolver, within bounds. Each lookup takes a thread for as long as the
//! resolver likes: half a minute for a name whose servers do not answer. The process has 512 such threads for everything. The
//! caller waits for at most 5 s; the thread keeps its places until the resolver comes back.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(5);

type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Limits how many lookups run at once, in all and within one domain.
#[derive(Clone)]
pub(crate) struct Lookups {
    places: Arc<Semaphore>,
    domains: Domains,
    resolver: Resolver,
}

/// Lookups under way by domain, so that one tenant's hanging name servers hold up no other tenant.
#[derive(Clone)]
struct Domains {
    under_way: Arc<Mutex<HashMap<String, usize>>>,
    each_max: usize,
}

/// One lookup within a domain.
struct InDomain {
    domain: String,
    domains: Domains,
}

impl Lookups {
    /// Uses the system's resolver, on at most `at_once` threads, `each_domain_max` of them for one domain.
    pub fn new(at_once: usize, each_domain_max: usize) -> Self {
        Self::by(at_once, each_domain_max, Arc::new(ask_system))
    }

    fn by(at_once: usize, each_max: usize, resolver: Resolver) -> Self {
        let domains = Domains { under_way: Arc::default(), each_max };
        Self { places: Arc::new(Semaphore::new(at_once)), domains, resolver }
    }

    /// The addresses of a name. It also fails if the resolver takes too long or is too busy.
    pub async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let looked_up = timeout(PATIENCE, self.look_up(name)).await;
        looked_up.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let busy = || io::Error::from(ErrorKind::ResourceBusy);
        let in_domain = self.domains.enter(name).ok_or_else(busy)?;
        let place = self.places.clone().acquire_owned().await.map_err(|_| busy())?;
        let (resolver, name) = (self.resolver.clone(), name.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            let found = resolver(&name);
            drop((place, in_domain));
            found
        });
        looking.await.unwrap_or_else(|_| Err(busy()))
    }
}

impl Resolve for Lookups {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.addresses(name.as_str()).await?;
            // The port comes from the URL.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

impl Domains {
    /// `None` if the domain has reached its limit.
    fn enter(&self, name: &str) -> Option<InDomain> {
        let domain = domain_of(name);
        let mut under_way = self.lock();
        let count = under_way.entry(domain.clone()).or_default();
        if *count >= self.each_max {
            return None;
        }
        *count += 1;
        Some(InDomain { domain, domains: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InDomain {
    fn drop(&mut self) {
        let mut under_way = self.domains.lock();
        match under_way.get_mut(&self.domain) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(under_way.remove(&self.domain)),
        }
    }
}

/// The last two labels.
fn domain_of(name: &str) -> String {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let labels: Vec<&str> = name.rsplitn(3, '.').take(2).collect();
    labels.join(".")
}

fn ask_system(name: &str) -> io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A resolver that hangs on names of `hanging` domains until it is released.
    #[derive(Clone, Default)]
    struct Hanging {
        let_go: Arc<(Mutex<bool>, Condvar)>,
        threads: Arc<AtomicUsize>,
    }

    impl Hanging {
        fn resolver(&self) -> Resolver {
            let this = self.clone();
            Arc::new(move |name: &str| {
                if name.contains("hanging") {
                    this.threads.fetch_add(1, Ordering::SeqCst);
                    let (let_go, changed) = &*this.let_go;
                    let held = let_go.lock().expect("lock");
                    drop(changed.wait_while(held, |let_go| !*let_go).expect("lock"));
                }
                Ok(vec![Ipv4Addr::LOCALHOST.into()])
            })
        }

        fn lets_go(&self) {
            *self.let_go.0.lock().expect("lock") = true;
            self.let_go.1.notify_all();
        }
    }

    #[tokio::test]
    async fn names_that_hang_leave_threads_for_others_and_other_domains_are_looked_up() {
        let hanging = Hanging::default();
        let lookups = Lookups::by(64, 8, hanging.resolver());
        let ask = |domain: u32, host: u32| {
            let lookups = lookups.clone();
            async move { lookups.addresses(&format!("host-{host}.hanging-{domain}.test")).await }
        };
        let asked = futures::future::join_all((0..600).map(|number| ask(number % 3, number)));
        let others = async {
            assert!(lookups.addresses("receiver.other.test").await.is_ok(), "another tenant's name");
            assert!(tokio::task::spawn_blocking(|| true).await.expect("ran"), "a thread for something else");
        };
        let (answers, ()) = tokio::join!(asked, others);
        assert!(answers.iter().all(Result::is_err));
        assert_eq!(hanging.threads.load(Ordering::SeqCst), 24, "8 for each domain");
        let everywhere = futures::future::join_all((100..200).map(|domain| ask(domain, 0))).await;
        assert!(everywhere.iter().all(Result::is_err));
        assert_eq!(hanging.threads.load(Ordering::SeqCst), 64, "and so many in all");
        hanging.lets_go();
        // The places are free again once the threads have come back.
        while ask(1, 1).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let found = Lookups::new(1, 1).addresses("localhost").await.expect("found");
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }

    #[test]
    fn a_domain_is_the_last_two_labels() {
        for (name, domain) in
            [("a.b.Example.com.", "example.com"), ("example.com", "example.com"), ("localhost", "localhost")]
        {
            let two = domain.rsplit('.').collect::<Vec<_>>().join(".");
            assert_eq!(domain_of(name), two);
        }
    }
}
