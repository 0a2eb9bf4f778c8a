//! Resolves names to addresses with the system's resolver, within bounds. Each lookup takes a thread for as long as the
//! resolver likes: half a minute for a name whose servers do not answer. The process has 512 such threads for everything. The
//! caller waits for at most 5 s; the thread keeps its place until the resolver comes back.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::{Instant, timeout_at};

use crate::shares::Shares;
use purser_core::OperatorId;

const PATIENCE: Duration = Duration::from_secs(5);
/// A look-up that found its place late gets this long all the same: what is too busy must not look like a name that hangs.
const LOOK_AT_LEAST: Duration = Duration::from_secs(1);

type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

tokio::task_local! {
    /// Whose names the client of this task looks up: reqwest tells its resolver a name and nothing else.
    pub static LOOKED_UP_FOR: OperatorId;
}

/// There was no place in time: nobody has asked the name's servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many lookups are in flight")]
pub struct NoRoom;

/// Limits how many lookups run at once. Operators share the places, so that one's hanging name servers hold up no other's names.
#[derive(Clone)]
pub struct Lookups {
    places: Shares,
    resolver: Resolver,
}

impl Lookups {
    /// Uses the system's resolver, on at most `at_once` threads.
    pub fn new(at_once: usize) -> Self {
        Self::by(at_once, Arc::new(ask_system))
    }

    fn by(at_once: usize, resolver: Resolver) -> Self {
        Self { places: Shares::new(at_once), resolver }
    }

    /// The addresses of a name. `Ok(Err)`: the resolver failed or took too long.
    pub async fn addresses(&self, name: &str) -> Result<io::Result<Vec<IpAddr>>, NoRoom> {
        let deadline = Instant::now() + PATIENCE;
        let holder = LOOKED_UP_FOR.try_with(|operator| *operator).ok();
        let place = timeout_at(deadline, self.places.take(holder)).await.map_err(|_| NoRoom)?;
        let (resolver, name) = (self.resolver.clone(), name.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            let found = resolver(&name);
            drop(place);
            found
        });
        let found = timeout_at(deadline.max(Instant::now() + LOOK_AT_LEAST), looking).await;
        Ok(found.map_or_else(
            |_| Err(ErrorKind::TimedOut.into()),
            |found| found.unwrap_or_else(|error| Err(io::Error::other(error))),
        ))
    }
}

impl Resolve for Lookups {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.addresses(name.as_str()).await??;
            // The port comes from the URL.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

fn ask_system(name: &str) -> io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

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

    fn operator(number: u8) -> OperatorId {
        OperatorId::from_bytes([number; 16])
    }

    #[tokio::test]
    async fn names_that_hang_for_one_operator_keep_no_other_from_the_same_domain() {
        let hanging = Hanging::default();
        let lookups = Lookups::by(64, hanging.resolver());
        let ask = |number: u8, name: String| {
            let lookups = lookups.clone();
            LOOKED_UP_FOR.scope(operator(number), async move { lookups.addresses(&name).await })
        };
        let asked = futures::future::join_all((0..600).map(|host| ask(1, format!("hanging-{host}.co.test"))));
        let others = async {
            assert!(matches!(ask(2, "receiver.co.test".into()).await, Ok(Ok(_))), "another tenant's name");
            assert!(tokio::task::spawn_blocking(|| true).await.expect("ran"), "a thread for something else");
        };
        let (answers, ()) = tokio::join!(asked, others);
        let without_room = answers.iter().filter(|answer| answer.is_err()).count();
        assert_eq!(
            (without_room, hanging.threads.load(Ordering::SeqCst)),
            (600 - 32, 32),
            "half of the threads"
        );
        assert!(answers.iter().all(|answer| !matches!(answer, Ok(Ok(_)))));
        assert!(matches!(ask(2, "receiver.co.test".into()).await, Ok(Ok(_))));
        hanging.lets_go();
        // The places are free again once the threads have come back.
        while !matches!(ask(1, "hanging.co.test".into()).await, Ok(Ok(_))) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let found = Lookups::new(1).addresses("localhost").await.expect("room").expect("found");
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }
}
