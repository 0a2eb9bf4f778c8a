//! A line between a relayer and its network that a test can cut and mend: the network goes away without dying.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A TCP forwarder on a port of its own. It runs on threads, so that a blocked test runtime cannot stop it.
pub struct Proxy {
    address: SocketAddr,
    line: Arc<Line>,
}

#[derive(Default)]
struct Line {
    cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Forwards to the host and port of an `http://` address.
    pub fn to(url: &str) -> Proxy {
        let target = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let line = Arc::new(Line::default());
        let accepted = Arc::clone(&line);
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                accepted.connects(incoming, &target);
            }
        });
        Proxy { address, line }
    }

    /// The address to give to the relayer.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes every connection and refuses new ones.
    pub fn cuts(&self) {
        self.line.cut.store(true, Ordering::SeqCst);
        for stream in self.line.streams().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub fn mends(&self) {
        self.line.cut.store(false, Ordering::SeqCst);
    }
}

impl Line {
    fn connects(&self, incoming: TcpStream, target: &str) {
        if self.cut.load(Ordering::SeqCst) {
            return;
        }
        let Ok(outgoing) = TcpStream::connect(target) else { return };
        for (from, to) in [(&incoming, &outgoing), (&outgoing, &incoming)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            thread::spawn(move || forwards(from, to));
        }
        self.streams().extend([incoming, outgoing]);
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forwards(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
