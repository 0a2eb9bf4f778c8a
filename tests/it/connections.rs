//! Connections that send nothing, or too many of them: the service goes on, and reports it.

use std::time::Duration;

use futures::future::join_all;
use purser_tests::agent::unique_key;
use purser_tests::{Agent, AppSettings, TestApp, TestNetwork};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::x402::road::Road;

/// Longer than any time limit of a connection that has sent no request yet.
const PATIENCE: Duration = Duration::from_secs(90);

fn files(count: u32) -> Vec<(&'static str, String)> {
    vec![("PURSER_TEST_FILES", count.to_string())]
}

async fn silent_sockets(app: &TestApp, count: usize) -> Vec<TcpStream> {
    let address = app.base_url().trim_start_matches("http://").to_owned();
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(TcpStream::connect(&address).await.expect("the relayer listens"));
    }
    sockets
}

async fn answers(app: &TestApp) {
    let answer = timeout(Duration::from_secs(60), app.client().get("/healthz")).await;
    let answer = answer.unwrap_or_else(|_| panic!("no answer while sockets are silent:\n{}", app.log_tail()));
    answer.has_status(200);
}

#[tokio::test]
async fn a_thousand_silent_sockets_at_a_thousand_files_do_not_stop_the_service() {
    let settings = AppSettings { environment: files(1_024), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let sockets = silent_sockets(&app, 1_000).await;
    for _ in 0..20 {
        answers(&app).await;
    }
    assert!(app.log().contains("too many connections"), "{}", app.log_tail());
    for mut socket in sockets {
        let read = timeout(PATIENCE, socket.read(&mut [0; 1])).await.expect("silent sockets are closed");
        assert!(matches!(read, Ok(0) | Err(_)), "nothing was asked: {read:?}");
    }
}

#[tokio::test]
async fn the_soft_limit_of_open_files_is_raised_to_the_hard_one_at_start() {
    let environment = vec![("PURSER_TEST_SOFT_FILES", "200".to_owned())];
    let settings = AppSettings { environment, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", app.pid())).expect("it runs");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let mut words = files.split_whitespace().skip(3);
    let (soft, hard) = (words.next().expect("soft"), words.next().expect("hard"));
    assert_eq!(soft, hard, "{files}");
    assert_ne!(hard, "200", "this machine allows more");
}

#[tokio::test]
async fn files_that_run_out_are_logged_once_a_second_and_survived() {
    let settings =
        AppSettings { environment: files(64), server: "connections_max = 1000", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let begun = std::time::Instant::now();
    let sockets = silent_sockets(&app, 200).await;
    for _ in 0..5 {
        answers(&app).await;
    }
    let said = app.log().matches("cannot accept connections").count();
    assert!((1..=2 + begun.elapsed().as_secs() as usize).contains(&said), "{said}: {}", app.log_tail());
    drop(sockets);
    answers(&app).await;
}

#[tokio::test]
async fn purchases_at_servers_that_hang_leave_files_and_places_to_others() {
    let settings = AppSettings { environment: files(200), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let greedy = app.new_operator().await.creates_account("Ada").await;
    let other = app.new_operator().await.creates_account("Ben").await;
    // It takes connections and never answers.
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = hanging.local_addr().expect("it is bound");
    let order = |agent: &Agent, url: String| {
        let order =
            json!({ "from": agent.id, "url": url, "max_amount": "1", "idempotency_key": unique_key() });
        let client = agent.operator.client.clone();
        async move { client.post("/v1/x402/payments", &order).await }
    };
    let purchases = join_all((0..90).map(|_| order(&greedy, format!("http://{address}/"))));
    let road = Road::to("http://127.0.0.1:9").await;
    let others = async {
        for _ in 0..10 {
            answers(&app).await;
            order(&other, format!("{}/free", road.url)).await.has_status(200);
        }
    };
    let (purchases, ()) = tokio::join!(purchases, others);
    let (refused, asked): (Vec<_>, Vec<_>) = purchases.into_iter().partition(|answer| answer.status == 429);
    assert!(!refused.is_empty(), "more than there is room for");
    for answer in refused {
        assert_eq!(answer.is_error(429, "rate_limited")["retryable"], true);
    }
    asked.into_iter().for_each(|answer| drop(answer.is_error(502, "server_unreachable")));
    assert!(!app.log().contains("cannot accept connections"), "{}", app.log_tail());
}

#[tokio::test]
async fn http_2_by_prior_knowledge_is_answered() {
    let app = TestApp::shared().await;
    let address = app.base_url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.expect("the relayer listens");
    // GET /healthz over http by the static table of RFC 7541; stream 1, END_STREAM and END_HEADERS.
    let head = [&[0x82, 0x86, 0x04, 8][..], b"/healthz", &[0x01, 1], b"x"].concat();
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, u8::try_from(payload.len()).expect("short"), kind, flags, 0, 0, 0, stream][..], payload]
            .concat()
    };
    let opening =
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(4, 0, 0, &[])[..], &frame(1, 5, 1, &head)].concat();
    stream.write_all(&opening).await.expect("sent");
    loop {
        let mut head = [0; 9];
        timeout(PATIENCE, stream.read_exact(&mut head)).await.expect("in time").expect("a frame");
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await.expect("a whole frame");
        if head[3] == 1 {
            assert_eq!((head[8], payload[0]), (1, 0x88), ":status 200 on stream 1");
            return;
        }
    }
}
