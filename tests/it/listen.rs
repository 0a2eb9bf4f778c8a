//! `purser listen`: events reach a receiver that the service cannot reach, signed as deliveries are.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use purser_tests::network::temp_folder;
use purser_tests::process::Process;
use purser_tests::receiver::Delivery;
use purser_tests::{Operator, Receiver, binaries, until};

use crate::webhooks::signature;

const READY_WITHIN: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";

#[tokio::test]
async fn listen_prints_events_and_posts_them_as_a_webhook_gets_them() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let receiver = Receiver::start();
    let to = receiver.url("/listened");
    let url = format!("{}/v1", operator.app().base_url());
    let folder = temp_folder();
    let arguments = ["listen", "--url", &url, "--forward-to", &to, "--events", "transfer.settled", "--json"];
    let environment = [
        ("PURSER_OPERATOR_KEY", operator.client.key().to_owned()),
        ("PURSER_WEBHOOK_SECRET", SECRET.to_owned()),
    ];
    let log = folder.path().join("listen.log");
    let listening = Process::start_with(&binaries::relayer(), &arguments, &environment, &log, None);
    listening.says("listening", READY_WITHIN);
    agent.pays("0.1").to(&payee).await.is_settled();
    let ours = |delivery: &&Delivery| delivery.event()["data"]["account_id"] == agent.id.as_str();
    until("the agent's event is posted", async || {
        receiver.received("/listened").iter().any(|one| ours(&one))
    })
    .await;
    let received = receiver.received("/listened");
    let one = received.iter().find(ours).expect("the agent's");
    assert_eq!(one.event_type(), "transfer.settled");
    assert_eq!(one.header("webhook-id"), one.event_id());
    assert!(one.header("webhook-signature").starts_with("v1,"));
    assert_eq!(one.header("x-service-signature"), signature(SECRET, &one.body));
    let printed = listening.says("event", READY_WITHIN);
    assert_eq!(printed["answer"], 204, "{printed}");
}

/// Answers every request with this, and hangs up.
fn serves(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4_096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[tokio::test]
async fn listen_goes_on_whatever_a_broken_server_sends_and_posts_nothing_twice() {
    let event = |number: u8| {
        format!(r#"{{"id":"evt_01ARZ3NDEKTSV4RRFFQ69G5F{number:02}","type":"transfer.settled","data":{{}}}}"#)
    };
    let mut stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\r\n\r\n".to_owned();
    for data in
        [event(10), event(10), "no event".to_owned(), r#"{"id":"x","type":"y"}"#.to_owned(), event(10)]
    {
        stream += &format!("id: 1\r\ndata: {data}\r\n\r\n");
    }
    stream += &format!("data: {}\r\n\r\n", "x".repeat(3 << 20));
    stream += &format!("id: 2\r\ndata: {}\r\n\r\n", event(11));
    let url = serves(stream);
    let receiver = Receiver::start();
    let to = receiver.url("/broken");
    let folder = temp_folder();
    let environment = [("PURSER_OPERATOR_KEY", "psr_op_test_x".to_owned())];
    let log = folder.path().join("listen.log");
    let arguments = ["listen", "--url", &url, "--forward-to", &to, "--json"];
    let listening = Process::start_with(&binaries::relayer(), &arguments, &environment, &log, None);
    listening.says("listening", READY_WITHIN);
    // The stream ends and is opened again, and sends all of it again.
    until("it has read the stream twice", async || {
        listening.log().matches("an event is too long").count() >= 2
    })
    .await;
    let ids = receiver.received("/broken").iter().map(|one| one.event_id()).collect::<Vec<_>>();
    assert_eq!(ids, ["evt_01ARZ3NDEKTSV4RRFFQ69G5F10", "evt_01ARZ3NDEKTSV4RRFFQ69G5F11"]);
    assert!(listening.log().contains("an event cannot be read"), "{}", listening.log());
}
