//! A webhook receiver on a local port. It keeps what arrives, and the test sets what each path answers.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::request::Request;

/// What a path answers.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Status(u16),
    /// 204 after this long.
    Late(Duration),
    /// No answer.
    Hang,
}

/// One delivery as received.
#[derive(Debug, Clone)]
pub struct Delivery {
    request: Request,
    pub arrived_at: SystemTime,
}

impl Deref for Delivery {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl Delivery {
    /// The body as JSON.
    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body).expect("deliveries are JSON")
    }

    /// The event's type.
    pub fn event_type(&self) -> String {
        self.event()["type"].as_str().expect("an event has a type").to_owned()
    }

    /// The event's id.
    pub fn event_id(&self) -> String {
        self.event()["id"].as_str().expect("an event has an id").to_owned()
    }

    /// A header; panics if it is missing.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name} in {:?}", self.headers))
    }
}

/// The receiver. It runs on threads, so that a blocked test runtime cannot stop it.
pub struct Receiver {
    address: SocketAddr,
    desk: Arc<Desk>,
}

#[derive(Default)]
struct Desk {
    connections: AtomicUsize,
    received: Mutex<Vec<Delivery>>,
    answers: Mutex<HashMap<String, Answer>>,
}

impl Receiver {
    /// A receiver that answers 204 everywhere.
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let desk = Arc::new(Desk::default());
        let accepting = Arc::clone(&desk);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let desk = Arc::clone(&accepting);
                desk.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    desk.serves(stream);
                    desk.connections.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Receiver { address, desk }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on the path answers this status.
    pub fn answers(&self, path: &str, status: u16) {
        self.sets(path, Answer::Status(status));
    }

    /// From now on the path answers 204 after `delay`.
    pub fn answers_after(&self, path: &str, delay: Duration) {
        self.sets(path, Answer::Late(delay));
    }

    /// From now on the path never answers.
    pub fn hangs(&self, path: &str) {
        self.sets(path, Answer::Hang);
    }

    /// The path's deliveries so far.
    pub fn received(&self, path: &str) -> Vec<Delivery> {
        let received = lock(&self.desk.received);
        received.iter().filter(|delivery| delivery.path == path).cloned().collect()
    }

    /// All deliveries so far.
    pub fn all_received(&self) -> Vec<Delivery> {
        lock(&self.desk.received).clone()
    }

    /// How many deliveries have arrived at paths with this prefix.
    pub fn count_below(&self, prefix: &str) -> usize {
        lock(&self.desk.received).iter().filter(|delivery| delivery.path.starts_with(prefix)).count()
    }

    /// Waits until `count` deliveries have arrived at the path, and returns all of them; panics after a minute.
    pub async fn waits_for(&self, path: &str, count: usize) -> Vec<Delivery> {
        let started = Instant::now();
        loop {
            let received = self.received(path);
            if received.len() >= count {
                return received;
            }
            let types: Vec<_> = received.iter().map(Delivery::event_type).collect();
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{path} got {types:?} and waits for {count}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until it has read everything that a sender sent before it died; panics after a minute.
    pub async fn finishes_reading(&self) {
        let started = Instant::now();
        while self.desk.connections.load(Ordering::SeqCst) > 0 {
            assert!(started.elapsed() < Duration::from_secs(60), "somebody is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn sets(&self, path: &str, answer: Answer) {
        lock(&self.desk.answers).insert(path.to_owned(), answer);
    }
}

impl Desk {
    /// Serves one connection, request after request.
    fn serves(&self, stream: TcpStream) {
        let Ok(mut writer) = stream.try_clone() else { return };
        let mut reader = BufReader::new(stream);
        while let Some(request) = Request::next_of(&mut reader) {
            let delivery = Delivery { request, arrived_at: SystemTime::now() };
            let answer = lock(&self.answers).get(&delivery.path).copied();
            lock(&self.received).push(delivery);
            let status = match answer.unwrap_or(Answer::Status(204)) {
                Answer::Status(status) => status,
                Answer::Late(delay) => {
                    thread::sleep(delay);
                    204
                }
                Answer::Hang => {
                    // Until the sender hangs up.
                    let _ = reader.read(&mut [0]);
                    return;
                }
            };
            let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n");
            if status == 204 {
                let _ = writer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            } else if writer.write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
