//! A line between a relayer and its network that a test can spoil: for every call, by JSON-RPC method, or by payment.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`faults`] | the wire: answers that are late, lost, cut short, doubled, out of order or somebody else's |
//! | [`outcomes`] | the network: a transaction that lands, is dropped, lands late, or that its nodes do not know |
//! | [`lies`] | the node: a clock or a height that is off, a history with holes, transactions that it keeps |
//! | [`gate`] | holds transactions back until the test lets them go |
//! | `exchange` | one HTTP request and its answer, byte by byte |
//! | `transaction` | parses signed transactions |
//!
//! It runs on threads, so that a blocked test runtime cannot stop it.

mod exchange;
pub mod faults;
pub mod gate;
pub mod lies;
pub mod outcomes;
mod transaction;

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use self::exchange::{Upstream, read_message, response};
use self::faults::{Fault, Faults};
use self::gate::Gate;
use self::lies::Lies;
use self::outcomes::{Outcomes, Sent};

/// How long a half-open connection is held, and how long an answer waits for a later one to overtake it.
const HELD: Duration = Duration::from_secs(20);
const OVERTAKEN_WITHIN: Duration = Duration::from_millis(250);

/// An HTTP forwarder on a port of its own. A clone is the same one.
#[derive(Clone)]
pub struct Proxy {
    address: SocketAddr,
    line: Arc<Line>,
}

struct Line {
    target: String,
    cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    faults: Faults,
    lies: Lies,
    outcomes: Arc<Outcomes>,
    gate: Gate,
    calls: Mutex<BTreeMap<String, u64>>,
}

impl Proxy {
    /// Forwards to the host and port of an `http://` address.
    pub fn to(url: &str) -> Proxy {
        let target = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let outcomes = Arc::new(Outcomes::towards(&target));
        Proxy::with(target, outcomes)
    }

    /// Another node of the same network. A payment has the same outcome through both.
    pub fn beside(&self) -> Proxy {
        Proxy::with(self.line.target.clone(), Arc::clone(&self.line.outcomes))
    }

    fn with(target: String, outcomes: Arc<Outcomes>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let line = Arc::new(Line {
            outcomes,
            target,
            cut: AtomicBool::new(false),
            open: Mutex::default(),
            faults: Faults::default(),
            lies: Lies::default(),
            gate: Gate::default(),
            calls: Mutex::default(),
        });
        let accepted = Arc::clone(&line);
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                let line = Arc::clone(&accepted);
                thread::spawn(move || line.serves(incoming));
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
        for stream in lock(&self.line.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub fn mends(&self) {
        self.line.cut.store(false, Ordering::SeqCst);
    }

    /// What the wire does to calls.
    pub fn faults(&self) -> &Faults {
        &self.line.faults
    }

    /// The node's false answers.
    pub fn lies(&self) -> &Lies {
        &self.line.lies
    }

    /// What the network does to payments.
    pub fn outcomes(&self) -> &Outcomes {
        &self.line.outcomes
    }

    /// The gate that holds transactions back.
    pub fn gate(&self) -> &Gate {
        &self.line.gate
    }

    /// How often each method was called.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        lock(&self.line.calls).clone()
    }
}

impl Line {
    /// Serves one connection until either side closes it.
    fn serves(&self, incoming: TcpStream) {
        let (Ok(kept), Ok(mut outgoing)) = (incoming.try_clone(), incoming.try_clone()) else { return };
        let _ = incoming.set_nodelay(true);
        {
            let mut open = lock(&self.open);
            open.retain(|stream| stream.peer_addr().is_ok());
            open.push(kept);
        }
        let mut reader = BufReader::new(incoming);
        let mut upstream = Upstream::new(&self.target);
        while !self.cut.load(Ordering::SeqCst)
            && let Ok(Some(request)) = read_message(&mut reader)
            && !self.cut.load(Ordering::SeqCst)
            && self.answers(&request.body, &mut upstream, &mut outgoing).is_some()
        {}
        let _ = outgoing.shutdown(Shutdown::Both);
    }

    /// Answers one request, or does to it what the test ordered. `None` ends the connection.
    fn answers(&self, body: &[u8], upstream: &mut Upstream, outgoing: &mut TcpStream) -> Option<()> {
        let call: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let method = call["method"].as_str().unwrap_or_default().to_owned();
        *lock(&self.calls).entry(method.clone()).or_default() += 1;
        if method == "sendTransaction" {
            self.gate.passes();
        }
        let fault = self.faults.next(&method);
        if fault == Some(Fault::Dropped) {
            return None;
        }
        if let Some(Fault::Code(status, code)) = fault {
            return outgoing.write_all(&exchange::refusal(status, code)).ok();
        }
        if fault == Some(Fault::Nothing) {
            let nothing = json!({ "jsonrpc": "2.0", "id": call["id"] }).to_string();
            return outgoing.write_all(&response(nothing.as_bytes())).ok();
        }
        let kept = self.lies.keeps(&method, &call);
        let sent = kept.map_or_else(|| self.outcomes.takes(&method, &call), Sent::Swallowed);
        let answer = match sent {
            Sent::Forward => upstream.asks(body)?,
            Sent::Swallowed(answer) => answer,
            Sent::ForwardAndHangUp => {
                upstream.asks(body)?;
                return None;
            }
        };
        let answer = self.outcomes.hides(&method, &call, answer);
        let payment = |signature: &str| self.outcomes.mark_of(signature);
        let answer = self.lies.tells(&method, &call, answer, payment);
        match fault {
            None => outgoing.write_all(&response(&answer)).ok(),
            Some(Fault::Dropped | Fault::Code(..) | Fault::Nothing) => None,
            Some(Fault::Delayed(by)) => {
                thread::sleep(by);
                outgoing.write_all(&response(&answer)).ok()
            }
            Some(Fault::Reset) => {
                exchange::resets(outgoing);
                None
            }
            Some(Fault::HalfOpen) => {
                thread::sleep(HELD);
                None
            }
            Some(Fault::Truncated) => {
                let whole = response(&answer);
                let _ = outgoing.write_all(&whole[..whole.len() - answer.len() / 2 - 1]);
                None
            }
            Some(Fault::Duplicated) => {
                let once = response(&answer);
                outgoing.write_all(&once).and_then(|()| outgoing.write_all(&once)).ok()
            }
            Some(Fault::Overtaken) => {
                self.faults.waits_to_be_overtaken(&method, OVERTAKEN_WITHIN);
                outgoing.write_all(&response(&answer)).ok()
            }
            Some(Fault::Misdelivered) => {
                let others = self.faults.swaps(&method, answer);
                outgoing.write_all(&response(&others)).ok()
            }
            Some(Fault::Status(status)) => outgoing.write_all(&exchange::failure(status)).ok(),
        }?;
        self.faults.answered(&method);
        Some(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
