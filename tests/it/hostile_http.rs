//! Requests that are not even HTTP: the server says so, closes the connection and goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use purser_tests::Operator;
use serde_json::json;

/// Sends raw bytes to a relayer, and reads until it closes.
async fn raw_answer(operator: &Operator, bytes: &[u8]) -> String {
    let address = operator.app().base_url().trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.expect("the relayer listens");
    let (mut reading, mut writing) = stream.split();
    let mut answer = Vec::new();
    let both = async {
        // The server may close before everything is sent, and what it leaves unread resets the connection.
        let _ = tokio::join!(writing.write_all(bytes), reading.read_to_end(&mut answer));
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), both).await;
    ended.expect("the relayer closes");
    String::from_utf8(answer).expect("an answer is text")
}

/// The connection's last answer has this status.
fn is_refused(answer: &str, status: &str) {
    let start = answer.rfind("HTTP/1.1 ").unwrap_or_else(|| panic!("no answer: {answer}"));
    assert!(answer[start..].starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
}

#[tokio::test]
async fn malformed_head_is_answered_with_400() {
    let operator = Operator::shared().await;
    for bytes in [
        "no http\r\n\r\n",
        "GET /v1/accounts HTTP/9.9\r\nhost: x\r\n\r\n",
        "GET /v1/accounts HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /v1/accounts HTTP/1.1\r\nna me: x\r\n\r\n",
        "GET /v1/<> \u{7f} HTTP/1.1\r\nhost: x\r\n\r\n",
        "POST /v1/accounts HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        "POST /v1/accounts HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    ] {
        let answer = raw_answer(&operator, bytes.as_bytes()).await;
        is_refused(&answer, "400");
    }
}

#[tokio::test]
async fn long_head_and_many_headers_are_answered_with_431() {
    let operator = Operator::shared().await;
    let start = "GET /v1/accounts HTTP/1.1\r\nhost: x\r\n";
    for bytes in [
        format!("{start}x-long: {}\r\n\r\n", "x".repeat(40_000)),
        format!("{start}x-long: {}\r\n\r\n", "x".repeat(400_000)),
        format!("{start}{}\r\n", "x-many: 1\r\n".repeat(100)),
        format!("GET /v1/accounts?x={} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(200_000)),
    ] {
        is_refused(&raw_answer(&operator, bytes.as_bytes()).await, "431");
    }
}

#[tokio::test]
async fn malformed_head_after_a_good_request_is_answered_in_its_turn() {
    let operator = Operator::shared().await;
    let both = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nno http\r\n\r\n";
    let answer = raw_answer(&operator, both.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    is_refused(&answer, "400");
}

#[tokio::test]
async fn broken_http_does_not_disturb_the_server() {
    let operator = Operator::shared().await;
    let address = operator.app().base_url().trim_start_matches("http://").to_owned();
    let key = operator.client.key();
    let long_header =
        format!("GET /v1/accounts HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n", "x".repeat(200_000));
    let many_headers =
        format!("GET /v1/accounts HTTP/1.1\r\nhost: x\r\n{}\r\n", "x-many: 1\r\n".repeat(5_000));
    let chunks = format!(
        "POST /v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nx"
    );
    let both_lengths = format!(
        "POST /v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n"
    );
    let two_lengths =
        "POST /v1/accounts HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!"
            .to_owned();
    let long_line = format!("GET /v1/accounts?x={} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(200_000));
    let garbage = "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned();
    for bytes in [long_header, many_headers, chunks, both_lengths, two_lengths, long_line, garbage] {
        let mut stream = tokio::net::TcpStream::connect(&address).await.expect("the relayer listens");
        // The server may close before everything is sent.
        let _ = stream.write_all(bytes.as_bytes()).await;
        let _ = stream.shutdown().await;
        let mut answer = vec![0; 64];
        let read = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut answer)).await;
        let count = read.expect("the server does not leave broken requests hanging").unwrap_or(0);
        let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{}: {answer}",
            &bytes[..bytes.len().min(60)]
        );
    }
    let accounts = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(accounts["data"], json!([]), "nothing was made");
}
