//! Requests that are not even HTTP: the server closes them and goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::hostile_input::Target;

#[tokio::test]
async fn broken_http_does_not_disturb_the_server() {
    let target = Target::set().await;
    let address = target.operator.app().base_url().trim_start_matches("http://").to_owned();
    let key = target.operator.client.key();
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
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut answer)).await;
        let count = read.expect("the server does not leave broken requests hanging").unwrap_or(0);
        let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{}: {answer}",
            &bytes[..bytes.len().min(60)]
        );
    }
    target.is_unchanged().await;
}
