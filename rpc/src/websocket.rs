//! The ONE websocket of a network: it connects, reconnects, and subscribes again to every topic in demand.
//!
//! A socket counts as alive while frames come in; regular pings make sure that some do. No node reports what we missed while
//! the socket was down, so listeners learn that it is lost and have to ask.

use crate::sysvar;
use crate::topics::{Incoming, Notice, Topic};
use crate::transport::Resolver;
use futures::{SinkExt, StreamExt};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PING_EVERY: Duration = Duration::from_secs(2);
/// A socket that is silent for this long counts as dead.
pub const SILENCE_MAX: Duration = Duration::from_secs(6);
/// The largest message accepted: an account of maximum size in base64, from a node that does not
/// cut it, with some room.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A request without an answer for this long counts as refused: some providers answer a refusal under no id.
const ANSWER_MAX: Duration = SILENCE_MAX;
/// The pause before refused subscriptions are requested again, and how many of them at a time: a provider that allows fewer must
/// not be flooded.
const REQUEST_AGAIN_AFTER: Duration = Duration::from_secs(4);
const REQUESTED_AGAIN_MAX: usize = 32;
/// The pause before reconnecting; doubles with each failure.
const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// A socket that lasted this long was good: the next pause is short again.
const GOOD_AFTER: Duration = Duration::from_secs(10);

/// Receives the notices. Calls must not block.
pub trait Listener: Send + Sync + 'static {
    /// From now on every notice on `topic` arrives, until the socket is lost.
    fn subscribed(&self, topic: &Topic);
    /// A node answers on a new connection.
    fn connected(&self) {}
    /// A node (by its place in the configuration) reports something at `slot`.
    fn notice(&self, node: usize, slot: u64, notice: Notice);
    /// How many of the wanted topics were refused, and not granted since. Called every few seconds while a socket is connected.
    fn missing(&self, _topics: usize) {}
    /// Every subscription is gone. Each one still wanted is announced again once it is back.
    fn lost(&self);
}

/// A change to what the socket subscribes to.
#[derive(Debug)]
pub enum Wish {
    Subscribe(Topic),
    Unsubscribe(Topic),
}

/// Takes wishes. Without a websocket they have no effect.
#[derive(Debug, Clone)]
pub struct Subscriber(Option<mpsc::UnboundedSender<Wish>>);

impl Subscriber {
    /// Also returns the end that [`run`] takes.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Wish>) {
        let (wishes, inbox) = mpsc::unbounded_channel();
        (Self(Some(wishes)), inbox)
    }

    /// For a network without a websocket.
    pub fn none() -> Self {
        Self(None)
    }

    /// Whether there is a websocket at all.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub fn subscribe(&self, topic: Topic) {
        self.wish(Wish::Subscribe(topic));
    }

    pub fn unsubscribe(&self, topic: Topic) {
        self.wish(Wish::Unsubscribe(topic));
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.0 {
            let _ = wishes.send(wish);
        }
    }
}

/// The topics that are wanted, and which of them are subscribed on the present connection.
#[derive(Default)]
struct Subscriptions {
    wanted: HashSet<Topic>,
    /// Requests without an answer yet, and when they were sent.
    asked: HashMap<u64, (Topic, Instant)>,
    /// Wanted, and to be requested again: the one that was refused first comes first.
    refused: VecDeque<Topic>,
    request_again_at: Option<Instant>,
    /// Wanted, refused once, and not granted since, on whatever connection.
    missing: HashSet<Topic>,
    /// The log says that some are missing.
    is_said: bool,
    by_number: HashMap<u64, Topic>,
    numbers: HashMap<Topic, u64>,
    next_id: u64,
}

impl Subscriptions {
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn ask(&mut self, topic: Topic) -> String {
        let id = self.next_id();
        let text = topic.subscribe(id);
        self.asked.insert(id, (topic, Instant::now()));
        text
    }

    fn refuse(&mut self, topic: Topic) {
        self.request_again_at.get_or_insert_with(|| Instant::now() + REQUEST_AGAIN_AFTER);
        if self.wanted.contains(&topic) && !self.refused.contains(&topic) {
            self.missing.insert(topic.clone());
            self.refused.push_back(topic);
        }
    }

    /// Returns the request to send, if the wish needs one.
    fn take(&mut self, wish: Wish) -> Option<String> {
        match wish {
            Wish::Subscribe(topic) => self.wanted.insert(topic.clone()).then(|| self.ask(topic)),
            Wish::Unsubscribe(topic) => {
                self.wanted.remove(&topic);
                self.missing.remove(&topic);
                self.refused.retain(|refused| *refused != topic);
                let number = self.numbers.remove(&topic)?;
                self.by_number.remove(&number);
                let id = self.next_id();
                Some(topic.unsubscribe(id, number))
            }
        }
    }

    /// The requests that subscribe to every wanted topic on a new connection.
    fn begin(&mut self) -> Vec<String> {
        self.asked.clear();
        self.refused.clear();
        self.request_again_at = None;
        self.by_number.clear();
        self.numbers.clear();
        let wanted: Vec<Topic> = self.wanted.iter().cloned().collect();
        wanted.into_iter().map(|topic| self.ask(topic)).collect()
    }

    /// Requests some refused subscriptions again once their pause is over.
    fn request_again(&mut self, node: usize, listener: &dyn Listener) -> Vec<String> {
        let is_late = |(topic, at): &(Topic, Instant)| (at.elapsed() > ANSWER_MAX).then(|| topic.clone());
        let late: Vec<Topic> = self.asked.values().filter_map(is_late).collect();
        self.asked.retain(|_, asked| is_late(asked).is_none());
        late.into_iter().for_each(|topic| self.refuse(topic));
        self.tell_missing(node, listener);
        if self.request_again_at.is_none_or(|at| at > Instant::now()) {
            return Vec::new();
        }
        self.request_again_at = None;
        let some: Vec<Topic> = self.refused.drain(..self.refused.len().min(REQUESTED_AGAIN_MAX)).collect();
        if !self.refused.is_empty() {
            self.request_again_at = Some(Instant::now() + REQUEST_AGAIN_AFTER);
        }
        some.into_iter().map(|topic| self.ask(topic)).collect()
    }

    /// Logs once that topics are missing, and once that none is any more.
    fn tell_missing(&mut self, node: usize, listener: &dyn Listener) {
        let (topics, example) = (self.missing.len(), self.missing.iter().next());
        if topics > 0 && !self.is_said {
            tracing::warn!(
                node,
                topics,
                ?example,
                "websocket subscriptions refused; requesting them again until they are granted"
            );
        } else if topics == 0 && self.is_said {
            tracing::info!(node, "all websocket subscriptions are granted again");
        }
        self.is_said = topics > 0;
        listener.missing(topics);
    }

    /// Handles a message; returns the request to send, if there is one.
    fn handle(&mut self, text: &str, node: usize, listener: &dyn Listener) -> Option<String> {
        let incoming: Incoming = serde_json::from_str(text).ok()?;
        if let Some(notice) = incoming.params {
            let topic = self.by_number.get(&notice.subscription)?;
            let (slot, read) = topic.read(notice.result)?;
            listener.notice(node, slot, read);
            return None;
        }
        let (topic, _) = self.asked.remove(&incoming.id?)?;
        let Some(number) = incoming.result.as_u64() else {
            // Too many, or not available on this node. Until it is granted, the caller has to ask instead.
            self.refuse(topic);
            return None;
        };
        if !self.wanted.contains(&topic) {
            // Nobody wants it any more by the time it is granted.
            let id = self.next_id();
            return Some(topic.unsubscribe(id, number));
        }
        self.missing.remove(&topic);
        self.by_number.insert(number, topic.clone());
        self.numbers.insert(topic.clone(), number);
        listener.subscribed(&topic);
        None
    }
}

/// Keeps a socket open to one of `urls` (each with its node's place) until `stop`, and carries out wishes.
pub async fn run(
    urls: Vec<(usize, String)>,
    resolver: Resolver,
    mut inbox: mpsc::UnboundedReceiver<Wish>,
    listener: impl Listener,
    stop: CancellationToken,
) {
    let mut subscriptions = Subscriptions::default();
    let mut failures = 0u32;
    for (node, url) in urls.iter().cycle() {
        let begun = Instant::now();
        let held = stop.run_until_cancelled(hold(
            (*node, url),
            &resolver,
            &mut subscriptions,
            &mut inbox,
            &listener,
        ));
        let Some(reason) = held.await else { return };
        listener.lost();
        failures = if begun.elapsed() >= GOOD_AFTER { 0 } else { failures.saturating_add(1) };
        let pause = BACKOFF.saturating_mul(1 << failures.min(7)).min(BACKOFF_MAX);
        if failures <= 1 {
            tracing::info!(node, reason, "websocket lost; connecting to the next");
        }
        if stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Resolves the address as our calls do: the library's own lookup would take any number of threads.
async fn connect(url: &str, resolver: &Resolver) -> Option<WebSocketStream<MaybeTlsStream<TcpStream>>> {
    let parsed = url::Url::parse(url).ok()?;
    let port = parsed.port_or_known_default()?;
    let addresses: Vec<IpAddr> = match parsed.host()? {
        url::Host::Domain(name) => resolver.addresses(name).await?.map(|address| address.ip()).collect(),
        url::Host::Ipv4(address) => vec![address.into()],
        url::Host::Ipv6(address) => vec![address.into()],
    };
    let addresses: Vec<SocketAddr> =
        addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
    let stream = TcpStream::connect(&addresses[..]).await.ok()?;
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let connected = tokio_tungstenite::client_async_tls_with_config(url, stream, Some(limits), None).await;
    Some(connected.ok()?.0)
}

/// Whether a node's websocket takes a subscription: `Err` says what it does instead, without the address.
pub async fn probe(url: &str, resolver: &Resolver) -> Result<(), &'static str> {
    let asks = async {
        let mut socket = connect(url, resolver).await.ok_or("cannot connect")?;
        let text = Topic::Account(sysvar::CLOCK).subscribe(1);
        socket.send(Message::text(text)).await.map_err(|_| "cannot be written to")?;
        while let Some(Ok(frame)) = socket.next().await {
            let Message::Text(text) = frame else { continue };
            let answer: Option<Incoming> = serde_json::from_str(&text).ok();
            match answer.filter(|answer| answer.id == Some(1)) {
                Some(answer) if answer.result.is_u64() => return Ok(()),
                Some(_) => return Err("refuses subscriptions"),
                None => {}
            }
        }
        Err("closes the connection")
    };
    timeout(SILENCE_MAX, asks).await.unwrap_or(Err("is silent"))
}

/// Connects and stays connected as long as possible; returns why it ended, without the address.
async fn hold(
    (node, url): (usize, &str),
    resolver: &Resolver,
    subscriptions: &mut Subscriptions,
    inbox: &mut mpsc::UnboundedReceiver<Wish>,
    listener: &impl Listener,
) -> &'static str {
    let connected = timeout(CONNECT_TIMEOUT, connect(url, resolver)).await;
    // Wishes that arrived without a connection are part of the first requests. Those of a long outage must not pile up.
    while let Ok(wish) = inbox.try_recv() {
        let _ = subscriptions.take(wish);
    }
    let Ok(Some(socket)) = connected else { return "cannot connect" };
    let (mut sink, mut stream) = socket.split();
    let mut outgoing = subscriptions.begin();
    let mut ping = interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut received_at = Instant::now();
    let mut is_answered = false;
    loop {
        for text in outgoing.drain(..) {
            match timeout(SILENCE_MAX, sink.send(Message::text(text))).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return "cannot write",
            }
        }
        tokio::select! {
            wish = inbox.recv() => match wish {
                Some(wish) => outgoing.extend(subscriptions.take(wish)),
                None => return "nobody listens",
            },
            frame = stream.next() => {
                received_at = Instant::now();
                if matches!(frame, Some(Ok(_))) && !std::mem::replace(&mut is_answered, true) {
                    listener.connected();
                }
                match frame {
                    Some(Ok(Message::Text(text))) => {
                        outgoing.extend(subscriptions.handle(&text, node, listener));
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return "closed",
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                }
            }
            _ = ping.tick() => {
                if received_at.elapsed() > SILENCE_MAX {
                    return "silent";
                }
                outgoing.extend(subscriptions.request_again(node, listener));
                if timeout(SILENCE_MAX, sink.send(Message::Ping(Default::default()))).await.is_err() {
                    return "cannot write";
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
