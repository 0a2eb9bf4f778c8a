//! Requests that are refused before their body has come. A client's pool uses the connection again unless the answer says that
//! it closes: its next request, maybe a payment, must not be sent into nothing.

use std::time::Duration;

use purser_tests::{AppSettings, Operator, TestApp, TestNetwork, foreign};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// One connection of a pool.
struct Connection(TcpStream);

struct Answer {
    status: u16,
    closes: bool,
}

impl Connection {
    async fn to(app: &TestApp) -> Connection {
        let address = app.base_url().trim_start_matches("http://").to_owned();
        Connection(TcpStream::connect(&address).await.expect("the relayer listens"))
    }

    async fn sends(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("the relayer reads");
    }

    /// The next answer; `None` if the connection ends without one.
    async fn answer(&mut self) -> Option<Answer> {
        timeout(Duration::from_secs(60), self.reads_answer()).await.expect("an answer in time")
    }

    async fn reads_answer(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).expect("a head is text").to_ascii_lowercase();
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
        self.0.read_exact(&mut vec![0; length]).await.ok()?;
        let status = head[9..12].parse().expect("a status");
        Some(Answer { status, closes: header("connection") == Some("close") })
    }

    /// A pool's next request over the same connection.
    async fn takes_another_request(&mut self) -> bool {
        let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        self.0.write_all(request).await.is_ok()
            && self.answer().await.is_some_and(|answer| answer.status == 200)
    }
}

fn head(line: &str, key: &str, framing: &str) -> String {
    format!("{line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n{framing}\r\n\r\n")
}

/// Sends the head, and the body once a refusal of the head alone would be on its way.
async fn is_refused_and_leaves_the_connection(app: &TestApp, line: &str, key: &str, status: u16) {
    let body = r#"{"name": "Ada"}"#;
    let framings = [
        (format!("content-length: {}", body.len()), body.to_owned()),
        ("transfer-encoding: chunked".to_owned(), format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())),
    ];
    for (framing, body) in framings {
        let mut connection = Connection::to(app).await;
        connection.sends(&head(line, key, &framing)).await;
        sleep(Duration::from_millis(50)).await;
        connection.sends(&body).await;
        let answer = connection.answer().await.expect("a refusal");
        assert_eq!(answer.status, status, "{line}");
        assert!(answer.closes || connection.takes_another_request().await, "{line}, {framing}");
    }
}

#[tokio::test]
async fn a_connection_takes_the_next_request_after_an_early_refusal_or_says_that_it_closes() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await.new_key().await;
    let (own, agent) = (operator.client.key(), agent.key());
    for (line, key, status) in [
        ("POST /v1/accounts", "psr_op_test_unknown", 401),
        ("POST /v1/accounts", agent, 403),
        ("POST /v1/nowhere", own, 404),
        ("POST /healthz", own, 405),
        ("POST /v1/accounts", own, 415),
    ] {
        is_refused_and_leaves_the_connection(operator.app(), line, key, status).await;
    }
    let settings = AppSettings { requests_per_second: 1, burst: 1, ..AppSettings::default() };
    let slow = TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await;
    let key = slow.client.key();
    futures::future::join_all((0..20).map(|_| slow.client.get("/v1/accounts"))).await;
    is_refused_and_leaves_the_connection(slow.app(), "POST /v1/transfers", key, 429).await;
}

#[tokio::test]
async fn a_refusal_whose_body_does_not_come_says_that_the_connection_closes() {
    let operator = Operator::shared().await;
    for framing in [
        "content-length: 15",
        "content-length: 10000000",
        "content-length: 15\r\nexpect: 100-continue",
        "transfer-encoding: chunked",
    ] {
        let mut connection = Connection::to(operator.app()).await;
        connection.sends(&head("POST /v1/accounts", "psr_op_test_unknown", framing)).await;
        let answer = connection.answer().await.expect("a refusal");
        assert!(answer.status == 401 && answer.closes, "{framing}");
    }
}

/// The stock client, whose head and body are two writes. Prints the requests that got no answer.
const POOL: &str = "\
import httpx, os
lost = 0
with httpx.Client(base_url=os.environ['PURSER_SITE']) as client:
    for number in range(400):
        try:
            client.post('/v1/transfers', json={'amount': '1'})
            client.get('/healthz').raise_for_status()
        except httpx.HTTPError:
            lost += 1
print(lost)
";

#[tokio::test]
async fn httpx_loses_no_request_after_refusals() {
    let Some(python) = foreign::python() else { return };
    let app = TestApp::shared().await;
    let mut command = tokio::process::Command::new(python.join("python"));
    command.args(["-c", POOL]).env("PURSER_SITE", app.base_url()).kill_on_drop(true);
    assert_eq!(foreign::printed(command).await.trim(), "0");
}
