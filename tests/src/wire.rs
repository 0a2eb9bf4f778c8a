//! A line for websockets and Postgres. It forwards bytes without parsing them. A test can cut it, or make it swallow all.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A forwarder on a port of its own.
pub struct Wire {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    swallows: AtomicBool,
    connections: AtomicUsize,
    open: Mutex<Vec<Connection>>,
}

/// Both ends of a connection, and whether their data is swallowed.
struct Connection {
    ends: [Stream; 2],
    is_lost: Arc<AtomicBool>,
}

/// Where the line leads.
enum Target {
    Host(String),
    Socket(PathBuf),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    /// To the host and port of a `ws://` address.
    pub fn to(url: &str) -> Wire {
        Wire::leads_to(Target::Host(url.trim_start_matches("ws://").trim_end_matches('/').to_owned()))
    }

    /// To the server of a `postgres://` address, by TCP or by its socket in a folder.
    pub fn to_postgres(url: &str) -> Wire {
        let url = reqwest::Url::parse(url).expect("a URL");
        let host = url.host_str().expect("a host").replace("%2F", "/").replace("%2f", "/");
        let port = url.port().unwrap_or(5432);
        Wire::leads_to(match host.starts_with('/') {
            true => Target::Socket(PathBuf::from(host).join(format!(".s.PGSQL.{port}"))),
            false => Target::Host(format!("{host}:{port}")),
        })
    }

    fn leads_to(target: Target) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let state = Arc::new(State::default());
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                // A failure to connect is fine: the attempt was made.
                let _ = accepting.carries(Stream::Tcp(incoming), &target);
            }
        });
        Wire { address, state }
    }

    /// The websocket address to give to the relayer.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// The `postgres://` address to give to the relayer: the original one, but with this line as the server.
    pub fn postgres_url(&self, url: &str) -> String {
        let mut url = reqwest::Url::parse(url).expect("a URL");
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(self.address.port())).expect("a port");
        url.into()
    }

    /// Ends every connection, and refuses new ones.
    pub fn cuts(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for connection in self.state.open().drain(..) {
            connection.ends.iter().for_each(Stream::ends);
        }
    }

    /// From now on swallows all data in both directions, and leaves every connection open.
    pub fn swallows(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
        for connection in self.state.open().iter() {
            connection.is_lost.store(true, Ordering::SeqCst);
        }
    }

    /// Lets new connections through again. Swallowed ones stay lost, as if a router had forgotten them.
    pub fn mends(&self) {
        self.state.swallows.store(false, Ordering::SeqCst);
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// How many connections were forwarded.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl State {
    fn open(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carries(&self, incoming: Stream, target: &Target) -> io::Result<()> {
        let mut open = self.open();
        if self.is_cut.load(Ordering::SeqCst) {
            incoming.ends();
            return Ok(());
        }
        let outgoing = target.connects()?;
        let is_lost = Arc::new(AtomicBool::new(self.swallows.load(Ordering::SeqCst)));
        self.connections.fetch_add(1, Ordering::SeqCst);
        for (from, to) in [(&incoming, &outgoing), (&outgoing, &incoming)] {
            let (mut from, mut to, is_lost) = (from.again()?, to.again()?, is_lost.clone());
            thread::spawn(move || {
                let mut buffer = [0; 16 * 1024];
                while let Ok(length @ 1..) = from.read(&mut buffer) {
                    if !is_lost.load(Ordering::SeqCst) && to.write_all(&buffer[..length]).is_err() {
                        break;
                    }
                }
                // One side's end-of-stream is swallowed too.
                if !is_lost.load(Ordering::SeqCst) {
                    to.ends();
                }
            });
        }
        open.push(Connection { ends: [incoming, outgoing], is_lost });
        Ok(())
    }
}

impl Target {
    fn connects(&self) -> io::Result<Stream> {
        match self {
            Target::Host(host) => TcpStream::connect(host).map(Stream::Tcp),
            Target::Socket(path) => UnixStream::connect(path).map(Stream::Unix),
        }
    }
}

impl Stream {
    fn again(&self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
        }
    }

    fn ends(&self) {
        // It may have ended already.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
        }
    }
}
