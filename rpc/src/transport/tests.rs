use super::*;

fn calls() -> Calls {
    Calls { through: Through::Nothing, ..Calls::default() }
}

async fn answered(head: &str, body: &str) -> Result<Value, CallError> {
    called("getEpochInfo", head, body).await
}

/// The result of a call when the node answers with these bytes and hangs up.
async fn called(method: &'static str, head: &str, body: &str) -> Result<Value, CallError> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/secret-token", listener.local_addr().unwrap());
    let length = body.len();
    let answer = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let node = async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 4_096]).await.unwrap();
        socket.write_all(answer.as_bytes()).await.unwrap();
    };
    let counters = Arc::new(RpcCounters::default());
    let transport = HttpTransport::new(&url, &calls(), counters.clone()).unwrap();
    transport.next_id.store(0, Ordering::Relaxed);
    let (answer, ()) = tokio::join!(transport.call(method, Value::Null), node);
    let counted = counters.read().into_iter().find(|count| count.method == method).unwrap();
    assert_eq!((counted.calls, counted.failures), (1, u64::from(answer.is_err())));
    answer
}

#[tokio::test]
async fn answers_over_http_are_classified_by_status_and_code() {
    let limited =
        |seconds: Option<u64>| NodeFault::RateLimited { retry_after: seconds.map(Duration::from_secs) };
    let slow_down = r#"{"jsonrpc":"2.0","id":0,"error":{"code":429,"message":"slow down"}}"#;
    let behind = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32016,"message":"behind"}}"#;
    let faults = [
        ("429 Too Many Requests", "", limited(None)),
        ("429 Too Many Requests\r\nRetry-After: 3", "", limited(Some(3))),
        ("429 Too Many Requests\r\nRetry-After: 3", slow_down, limited(Some(3))),
        ("200 OK", slow_down, limited(None)),
        ("503 Service Unavailable", "<html>", NodeFault::Unhealthy),
        ("401 Unauthorized", "no API key", NodeFault::Denied),
        ("402 Payment Required", "<html>", NodeFault::Denied),
        ("403 Forbidden", "no", NodeFault::Denied),
        ("200 OK", "not json", NodeFault::Unreadable),
        ("200 OK", behind, NodeFault::Lagging),
        (
            "200 OK",
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32007,"message":"plan"}}"#,
            NodeFault::Unhealthy,
        ),
        (
            "401 Unauthorized",
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"key"}}"#,
            NodeFault::Denied,
        ),
    ];
    for (head, body, fault) in faults {
        assert_eq!(answered(head, body).await, Err(CallError::Node(fault)), "{head} {body}");
    }
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"invalid"}}"#;
    for status in ["200 OK", "400 Bad Request"] {
        let answer = answered(status, refused).await;
        assert!(matches!(answer, Err(CallError::Refused { code: -32602, .. })), "{status}: {answer:?}");
    }
}

#[tokio::test]
async fn answer_with_neither_result_nor_error_cannot_be_read() {
    let unreadable = Err(CallError::Node(NodeFault::Unreadable));
    for body in
        [r#"{"jsonrpc":"2.0","id":0}"#, r#"{"id":0,"error":null}"#, r#"{"id":0,"message":"plan exceeded"}"#]
    {
        for method in ["getEpochInfo", "getTransaction", "sendTransaction"] {
            assert_eq!(called(method, "200 OK", body).await, unreadable, "{method} {body}");
        }
    }
    for body in [r#"{"jsonrpc":"2.0","id":0,"result":null}"#, r#"{"id":0,"result":null,"error":null}"#] {
        for method in ["getTransaction", "getBlockTime"] {
            assert_eq!(called(method, "200 OK", body).await, Ok(Value::Null), "{method} {body}");
        }
        for method in ["getEpochInfo", "getMultipleAccounts", "sendTransaction"] {
            assert_eq!(called(method, "200 OK", body).await, unreadable, "{method} {body}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_on() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for head in ["content-length: 999999999999", "transfer-encoding: chunked"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let node = async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4_096]).await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
            socket.write_all(head.as_bytes()).await.unwrap();
            let chunk = [b"10000\r\n", &[b' '; 65_536][..], b"\r\n"].concat();
            let mut written = 0;
            while socket.write_all(&chunk).await.is_ok() {
                written += chunk.len();
            }
            written
        };
        let transport = HttpTransport::new(&url, &calls(), Arc::default()).unwrap();
        let (answer, written) = tokio::join!(transport.call("getEpochInfo", Value::Null), node);
        assert_eq!(answer, Err(CallError::Node(NodeFault::TooLong)), "{head}");
        assert!(written < 3 * ANSWER_BYTES_MAX, "{written} bytes were taken");
    }
}

#[tokio::test]
async fn the_answer_to_another_question_is_not_taken() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
        r#"{"jsonrpc":"2.0","result":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"theirs"}}"#,
    ] {
        assert_eq!(answered("200 OK", body).await, Err(CallError::Node(NodeFault::Unreadable)), "{body}");
    }
}

#[tokio::test]
async fn unreachable_node_is_reported_without_its_url() {
    let transport = HttpTransport::new("http://127.0.0.1:1/secret-token", &calls(), Arc::default()).unwrap();
    let error = transport.call("getEpochInfo", Value::Null).await.unwrap_err();
    assert_eq!(error, CallError::Node(NodeFault::Unreachable));
    assert!(!error.to_string().contains("secret-token"));
}
