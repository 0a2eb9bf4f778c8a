//! A line that carries bytes, whatever they mean, and that a test can cut: for websockets.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
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
    connections: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

impl Wire {
    /// To the host and port of a `ws://` address.
    pub fn to(url: &str) -> Wire {
        let target = url.trim_start_matches("ws://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let state = Arc::new(State::default());
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                // Refused or not, it was tried.
                let _ = accepting.carries(&incoming, &target);
            }
        });
        Wire { address, state }
    }

    /// The address to give to the relayer.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Ends every connection, and every new one.
    pub fn cuts(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub fn mends(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// How many connections were let through.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl State {
    fn carries(&self, incoming: &TcpStream, target: &str) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cut.load(Ordering::SeqCst) {
            return incoming.shutdown(Shutdown::Both);
        }
        let outgoing = TcpStream::connect(target)?;
        open.extend([incoming.try_clone()?, outgoing.try_clone()?]);
        self.connections.fetch_add(1, Ordering::SeqCst);
        for (from, to) in [(incoming, &outgoing), (&outgoing, incoming)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        Ok(())
    }
}
