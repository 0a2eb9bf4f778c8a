//! The client against real sockets, and against resolvers that lie.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

use crate::{HttpClient, Payload, Post};
use crate::{Resolve, Resolved};
use purser_base::lookup::NoRoom;
use purser_model::*;

/// Returns these addresses in turn, then the last one again and again.
struct Script {
    answers: Vec<Resolved>,
    asked: AtomicUsize,
}

impl Script {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let read = |answer: &&[&str]| answer.iter().map(|text| text.parse().expect("an address")).collect();
        Arc::new(Self { answers: answers.iter().map(read).collect(), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Resolve for Script {
    async fn resolve(&self, _: &str) -> Result<Resolved, NoRoom> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers.get(asked).or(self.answers.last()).cloned().unwrap_or_default())
    }
}

fn open() -> DestinationRules {
    DestinationRules {
        allow_http: true,
        ports: Vec::new(),
        open_ranges: vec!["127.0.0.1/32".parse().expect("a range")],
    }
}

fn client(resolve: Arc<dyn Resolve>, rules: DestinationRules) -> HttpClient {
    HttpClient::new(resolve, Arc::new(rules)).expect("a client")
}

fn payload() -> Payload {
    Payload { body: b"{}".to_vec(), headers: vec![("webhook-id", "evt_1".into())] }
}

fn url(text: &str, rules: &DestinationRules) -> WebhookUrl {
    WebhookUrl::parse(text, rules).expect("allowed")
}

/// A server that answers everything with these bytes, and counts the connections.
async fn serves(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, count) = (listener.local_addr().expect("bound"), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    tokio_util::task::TaskTracker::new().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, count)
}

#[tokio::test]
async fn every_inside_address_that_a_name_leads_to_is_refused_at_the_connection() {
    let (address, connections) = serves(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let rules = DestinationRules { allow_http: true, ports: Vec::new(), open_ranges: Vec::new() };
    for inside in [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        for answers in [&[inside][..], &["93.184.215.14", inside], &[inside, "93.184.215.14"]] {
            let client = client(Script::of(&[answers]), rules.clone());
            let to = url(&format!("http://rebind.example.com:{}/", address.port()), &rules);
            let outcome = client.post(&to, payload()).await.expect("room");
            assert_eq!(outcome, AttemptOutcome::Unanswered(Unanswered::Refused), "{answers:?}");
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_moves_inside_between_two_deliveries_is_refused_at_the_second() {
    let (address, connections) = serves(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let script = Script::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = client(script, open());
    let to = url(&format!("http://rebind.example.com:{}/", address.port()), &open());
    let first = client.post(&to, payload()).await.expect("room");
    assert!(first.is_success(), "{first:?}");
    let second = client.post(&to, payload()).await.expect("room");
    assert_eq!(second, AttemptOutcome::Unanswered(Unanswered::Refused));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_address_that_was_open_at_registration_is_refused_when_it_no_longer_is() {
    let (address, connections) = serves(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let to = url(&format!("http://{address}/"), &open());
    let closed = DestinationRules { allow_http: true, ..DestinationRules::default() };
    let outcome = client(Script::of(&[]), closed).post(&to, payload()).await.expect("room");
    assert_eq!(outcome, AttemptOutcome::Unanswered(Unanswered::Refused));
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let (inside, connections) = serves(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let answer = format!("HTTP/1.1 307 Moved\r\nlocation: http://{inside}/\r\ncontent-length: 0\r\n\r\n");
    let (address, _) = serves(answer.leak().as_bytes()).await;
    let to = url(&format!("http://{address}/"), &open());
    let outcome = client(Script::of(&[]), open()).post(&to, payload()).await.expect("room");
    assert_eq!(outcome, AttemptOutcome::Answered { status: 307, body: String::new() });
    assert!(!outcome.is_success());
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_its_status_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let tracker = tokio_util::task::TaskTracker::new();
    let served = tracker.spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 4_096];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 1000000000\r\n\r\n").await;
        while stream.write_all(&[b'a'; 65_536]).await.is_ok() {}
    });
    let to = url(&format!("http://{address}/"), &open());
    let outcome = client(Script::of(&[]), open()).post(&to, payload()).await.expect("room");
    assert_eq!(outcome, AttemptOutcome::Answered { status: 500, body: "a".repeat(1_024) });
    served.await.expect("the connection was closed on the server");
}

#[tokio::test]
async fn endpoint_that_does_not_answer_within_ten_seconds_has_timed_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = url(&format!("http://{}/", listener.local_addr().expect("bound")), &open());
    let started = std::time::Instant::now();
    let outcome = client(Script::of(&[]), open()).post(&to, payload()).await.expect("room");
    assert_eq!(outcome, AttemptOutcome::Unanswered(Unanswered::TimedOut));
    // Not the minutes that a system waits.
    assert!((9..60).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn reasons_for_no_answer_are_distinguished() {
    // Bound, so that nobody else gets the port, and without a listener.
    let bound = TcpSocket::new_v4().expect("a socket");
    bound.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let gone = bound.local_addr().expect("bound");
    let (garbage, _) = serves(b"SSH-2.0-OpenSSH_9.6\r\n").await;
    let nowhere = url("http://nowhere.example.com/", &open());
    for (to, reason) in [
        (url(&format!("http://{gone}/"), &open()), Unanswered::NotConnected),
        (url(&format!("http://{garbage}/"), &open()), Unanswered::Broken),
        (nowhere, Unanswered::NotResolved),
    ] {
        let outcome = client(Script::of(&[]), open()).post(&to, payload()).await.expect("room");
        assert_eq!(outcome, AttemptOutcome::Unanswered(reason), "{}", to.as_str());
    }
}

#[tokio::test]
async fn public_addresses_may_be_reached() {
    let rules = DestinationRules::default();
    for text in ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:82f::200e"] {
        assert!(may_reach(text.parse::<IpAddr>().expect("an address"), &rules), "{text}");
    }
    assert!(!may_reach(IpAddr::V4(Ipv4Addr::LOCALHOST), &rules));
}
