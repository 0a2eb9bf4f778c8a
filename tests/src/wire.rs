//! A line that carries bytes, whatever they mean, and that a test can cut or have swallow everything: for websockets and
//! for Postgres.

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

/// Two ends, and whether what is said between them is lost.
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
                // Refused or not, it was tried.
                let _ = accepting.carries(Stream::Tcp(incoming), &target);
            }
        });
        Wire { address, state }
    }

    /// The address to give to the relayer, of a websocket.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// The address to give to the relayer, in the place of the server in a `postgres://` address.
    pub fn postgres_url(&self, url: &str) -> String {
        let mut url = reqwest::Url::parse(url).expect("a URL");
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(self.address.port())).expect("a port");
        url.into()
    }

    /// Ends every connection, and every new one.
    pub fn cuts(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for connection in self.state.open().drain(..) {
            connection.ends.iter().for_each(Stream::ends);
        }
    }

    /// Swallows everything that is said from now on, in both directions, and leaves every connection open.
    pub fn swallows(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
        for connection in self.state.open().iter() {
            connection.is_lost.store(true, Ordering::SeqCst);
        }
    }

    /// Lets new connections through again. Those that were swallowed stay lost, as after a router forgot them.
    pub fn mends(&self) {
        self.state.swallows.store(false, Ordering::SeqCst);
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// How many connections were let through.
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
                // The end of one side is lost too.
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
        // It may have ended before.
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
