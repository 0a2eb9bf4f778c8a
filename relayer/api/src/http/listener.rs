//! Accepts connections, as many as there is room for. When all places are taken, the connection that has been silent for
//! longest gives way. When the system gives no more connections, the listener logs that and tries again.

use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How long to wait after the system refused a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How many silent connections give way then: the database, nodes and webhooks need descriptors too.
const GIVING_WAY: usize = 16;
/// The shortest time between two complaints.
const SAY_EVERY: Duration = Duration::from_secs(1);
/// Without a setting, at most this many connections, however many files may be open.
const CONNECTIONS_MAX: usize = 8_192;
/// Without a setting, clients get one in this many of the files that may be open; database, nodes and webhooks get the rest.
const SHARE_OF_FILES: u64 = 2;

/// How many connections are accepted without a setting: half of the files that this process may have open.
pub fn default_connections_max() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / SHARE_OF_FILES).unwrap_or(usize::MAX).clamp(1, CONNECTIONS_MAX)
}

/// A connection, and its place among those that there is room for.
pub(super) struct Accepted {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub place: OwnedSemaphorePermit,
}

pub(super) struct BoundedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    /// Silent connections wait here, in the order in which they fell silent.
    silent: Arc<Notify>,
    full: PacedWarning,
    failing: PacedWarning,
}

impl BoundedListener {
    /// Errors: the listener cannot be used.
    pub fn new(listener: std::net::TcpListener, connections_max: usize) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            places: Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS))),
            silent: Arc::default(),
            full: PacedWarning::default(),
            failing: PacedWarning::default(),
        })
    }

    /// Notified when a silent connection is to give way.
    pub fn silent(&self) -> Arc<Notify> {
        self.silent.clone()
    }

    pub async fn accept(&self) -> Accepted {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Without it, answers are merely slower.
                    let _ = stream.set_nodelay(true);
                    return Accepted { stream, address, place: self.place().await };
                }
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    self.failing.say(|unsaid| {
                        tracing::error!(%error, unsaid, "cannot accept connections; retrying");
                    });
                    (0..GIVING_WAY).for_each(|_| self.silent.notify_one());
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = self.places.clone().try_acquire_owned() {
                return place;
            }
            self.full.say(|unsaid| {
                tracing::warn!(unsaid, "too many connections: closing silent ones, or new ones wait");
            });
            self.silent.notify_one();
            if let Ok(place) = self.places.clone().acquire_owned().await {
                // The notified connection may have closed by itself: take the permit back, so that it does not close another one.
                let _ = self.silent.notified().now_or_never();
                return place;
            }
        }
    }
}

/// Whether the connection was gone before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}

/// A log line that is written at most once a second.
#[derive(Default)]
struct PacedWarning(Mutex<LastWarning>);

#[derive(Default)]
struct LastWarning {
    at: Option<Instant>,
    /// How often it was suppressed since.
    unsaid: u64,
}

impl PacedWarning {
    fn say(&self, say: impl FnOnce(u64)) {
        let mut said = self.0.lock();
        if said.at.is_some_and(|at| at.elapsed() < SAY_EVERY) {
            said.unsaid += 1;
            return;
        }
        say(said.unsaid);
        *said = LastWarning { at: Some(Instant::now()), unsaid: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_complaint_is_made_once_a_second_and_counts_the_rest() {
        let complaint = PacedWarning::default();
        let said = Mutex::new(Vec::new());
        for _ in 0..30 {
            complaint.say(|unsaid| said.lock().push(unsaid));
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(*said.lock(), [0, 9, 9]);
    }

    #[test]
    fn the_default_leaves_half_of_the_files() {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert!(default_connections_max() as u64 <= files / 2);
    }
}
