//! Runs against the test's own websocket, over loopback.

use super::*;
use parking_lot::Mutex;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_util::task::TaskTracker;

/// What was reported, and how many topics were missing, which depends on the time.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>, Arc<Mutex<usize>>);

impl Recorder {
    fn take(&self, line: String) {
        self.0.lock().push(line);
    }

    /// Waits until the last line recorded is `last`.
    async fn comes_to(&self, last: &str) {
        let come = async {
            while self.0.lock().last().map(String::as_str) != Some(last) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        let reached = timeout(Duration::from_secs(10), come).await;
        assert!(reached.is_ok(), "{last} is not the last of {:?}", self.0.lock());
    }
}

impl Recorder {
    async fn misses(&self, topics: usize) {
        let come = async {
            while *self.1.lock() != topics {
                sleep(Duration::from_millis(2)).await;
            }
        };
        assert!(timeout(Duration::from_secs(20), come).await.is_ok(), "{topics} topics are not missing");
    }
}

impl Listener for Recorder {
    fn subscribed(&self, topic: &Topic) {
        self.take(format!("subscribed {}", name(topic)));
    }

    fn notice(&self, node: usize, slot: u64, notice: Notice) {
        let what = match notice {
            Notice::Landed { signature, err, .. } => format!("{signature} {err:?}"),
            Notice::Account { account, .. } => format!("account {}", account.lamports),
        };
        self.take(format!("node {node} slot {slot} {what}"));
    }

    fn missing(&self, topics: usize) {
        *self.1.lock() = topics;
    }

    fn lost(&self) {
        self.take("lost".into());
    }
}

fn name(topic: &Topic) -> String {
    match topic {
        Topic::Naming { commitment, .. } => format!("naming {}", commitment.as_str()),
        Topic::Account(_) => "account".into(),
        Topic::WholeAccount { .. } => "whole account".into(),
    }
}

struct Server {
    listener: TcpListener,
}

struct Connection(WebSocketStream<TcpStream>);

impl Server {
    async fn start() -> (Self, Subscriber, Recorder) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (subscriber, inbox) = Subscriber::new();
        let recorder = Recorder::default();
        TaskTracker::new().spawn(run(
            vec![(3, url)],
            Resolver::default(),
            inbox,
            recorder.clone(),
            CancellationToken::new(),
        ));
        (Self { listener }, subscriber, recorder)
    }

    async fn accept(&self) -> Connection {
        let (stream, _) = self.listener.accept().await.unwrap();
        Connection(tokio_tungstenite::accept_async(stream).await.unwrap())
    }
}

impl Connection {
    async fn request(&mut self) -> Value {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                _ => continue,
            }
        }
    }

    async fn says(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Takes one request, checks its method and grants it under `number`.
    async fn grants(&mut self, method: &str, number: u64) -> Value {
        let request = self.request().await;
        assert_eq!(request["method"], method);
        self.says(json!({ "jsonrpc": "2.0", "id": request["id"], "result": number })).await;
        request
    }

    async fn notifies(&mut self, number: u64, slot: u64, value: Value) {
        let result = json!({ "context": { "slot": slot }, "value": value });
        self.says(json!({ "method": "any", "params": { "subscription": number, "result": result } })).await;
    }
}

fn naming() -> Topic {
    let commitment = crate::Commitment::Confirmed;
    Topic::Naming { account: Pubkey::default(), commitment }
}

#[tokio::test]
async fn landings_are_reported_with_their_node_and_slot() {
    let (server, subscriber, recorder) = Server::start().await;
    subscriber.subscribe(naming());
    let mut connection = server.accept().await;
    let request = connection.grants("logsSubscribe", 40).await;
    let mentions = json!({ "mentions": [Pubkey::default().to_string()] });
    assert_eq!(request["params"], json!([mentions, { "commitment": "confirmed" }]));
    recorder.comes_to("subscribed naming confirmed").await;
    let landed = |signature: &str| json!({ "signature": signature, "err": null, "logs": [] });
    connection.notifies(41, 6, landed("not asked for")).await;
    connection.notifies(40, 7, landed("one")).await;
    connection.notifies(40, 8, landed("two")).await;
    recorder.comes_to("node 3 slot 8 two Some(Null)").await;
    assert_eq!(recorder.0.lock()[1..], ["node 3 slot 7 one Some(Null)", "node 3 slot 8 two Some(Null)"]);
}

#[tokio::test]
async fn after_a_loss_everything_wanted_is_subscribed_to_again_and_nothing_else() {
    let (server, subscriber, recorder) = Server::start().await;
    let mut connection = server.accept().await;
    subscriber.subscribe(naming());
    connection.grants("logsSubscribe", 1).await;
    subscriber.subscribe(Topic::Account(Pubkey::default()));
    connection.grants("accountSubscribe", 2).await;
    subscriber.unsubscribe(naming());
    let request = connection.grants("logsUnsubscribe", 0).await;
    assert_eq!(request["params"], json!([1]));
    drop(connection);
    recorder.comes_to("lost").await;
    let mut connection = server.accept().await;
    connection.grants("accountSubscribe", 9).await;
    recorder.comes_to("subscribed account").await;
    // The old number means nothing on the new connection.
    let account = json!({ "owner": Pubkey::default().to_string(), "executable": false, "lamports": 5, "data": ["", "base64"] });
    connection.notifies(2, 10, account.clone()).await;
    connection.notifies(9, 11, account).await;
    recorder.comes_to("node 3 slot 11 account 5").await;
}

#[tokio::test]
async fn refused_or_unreadable_messages_are_skipped() {
    let (server, subscriber, recorder) = Server::start().await;
    let mut connection = server.accept().await;
    subscriber.subscribe(naming());
    let request = connection.request().await;
    let error = json!({ "code": -32601, "message": "no" });
    connection.says(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    connection.says(json!("what?")).await;
    connection.0.send(Message::text("{")).await.unwrap();
    subscriber.subscribe(Topic::Account(Pubkey::default()));
    connection.grants("accountSubscribe", 2).await;
    recorder.comes_to("subscribed account").await;
    assert_eq!(recorder.0.lock().len(), 1);
}

#[tokio::test]
async fn refused_subscription_is_requested_again_after_a_pause_and_on_the_next_connection() {
    let (server, subscriber, recorder) = Server::start().await;
    let mut connection = server.accept().await;
    subscriber.subscribe(naming());
    subscriber.subscribe(Topic::Account(Pubkey::default()));
    let error = json!({ "code": -32005, "message": "too many" });
    for _ in 0..2 {
        let request = connection.request().await;
        connection.says(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }
    drop(connection);
    recorder.comes_to("lost").await;
    let mut connection = server.accept().await;
    let mut refused = connection.request().await;
    if refused["method"] == "accountSubscribe" {
        connection.says(json!({ "jsonrpc": "2.0", "id": refused["id"], "result": 1 })).await;
        refused = connection.request().await;
    } else {
        connection.grants("accountSubscribe", 1).await;
    }
    recorder.comes_to("subscribed account").await;
    connection.says(json!({ "jsonrpc": "2.0", "id": refused["id"], "error": error })).await;
    connection.grants("logsSubscribe", 2).await;
    recorder.comes_to("subscribed naming confirmed").await;
}

#[tokio::test]
async fn request_without_an_answer_or_refused_under_a_foreign_id_is_sent_again() {
    let (server, subscriber, recorder) = Server::start().await;
    let mut connection = server.accept().await;
    subscriber.subscribe(naming());
    subscriber.subscribe(Topic::Account(Pubkey::default()));
    let unanswered = connection.request().await;
    let refused = connection.request().await;
    let error = json!({ "code": -32005, "message": "too many" });
    for id in [Value::Null, json!(7_000)] {
        connection.says(json!({ "jsonrpc": "2.0", "id": id, "error": error })).await;
    }
    recorder.misses(2).await;
    let mut again = [connection.request().await, connection.request().await];
    again.sort_by_key(|request| request["method"] != unanswered["method"]);
    assert_eq!(
        again.each_ref().map(|request| &request["params"]),
        [&unanswered["params"], &refused["params"]]
    );
    for (request, number) in again.iter().zip([1, 2]) {
        connection.says(json!({ "jsonrpc": "2.0", "id": request["id"], "result": number })).await;
    }
    recorder.misses(0).await;
}

#[tokio::test]
async fn refused_topics_take_turns_and_one_that_nobody_wants_is_missing_no_more() {
    struct Nobody;
    impl Listener for Nobody {
        fn subscribed(&self, _: &Topic) {}
        fn notice(&self, _: usize, _: u64, _: Notice) {}
        fn lost(&self) {}
    }
    tokio::time::pause();
    let topic = |number: u8| Topic::Account(Pubkey::new_from_array([number; 32]));
    let mut subscriptions = Subscriptions::default();
    let refuse_all = |subscriptions: &mut Subscriptions| {
        let ids: Vec<u64> = subscriptions.asked.keys().copied().collect();
        for id in ids {
            let refusal = json!({ "id": id, "error": { "code": -32005 } }).to_string();
            assert_eq!(subscriptions.handle(&refusal, 0, &Nobody), None);
        }
    };
    for number in 0..100 {
        assert!(subscriptions.take(Wish::Subscribe(topic(number))).is_some());
    }
    refuse_all(&mut subscriptions);
    let mut requested = HashSet::new();
    for _ in 0..4 {
        tokio::time::advance(REQUEST_AGAIN_AFTER).await;
        assert!(subscriptions.request_again(0, &Nobody).len() <= REQUESTED_AGAIN_MAX);
        requested.extend(subscriptions.asked.values().map(|(topic, _)| topic.clone()));
        refuse_all(&mut subscriptions);
    }
    assert_eq!(requested.len(), 100, "none waits for ever behind others");
    assert_eq!(subscriptions.missing.len(), 100);
    // A new connection asks for all of them; until one is granted, it is missing.
    assert_eq!(subscriptions.begin().len(), 100);
    assert_eq!(subscriptions.missing.len(), 100);
    subscriptions.take(Wish::Unsubscribe(topic(1)));
    let (id, granted) = subscriptions.asked.iter().find(|(_, (asked, _))| *asked != topic(1)).unwrap();
    let grant = json!({ "id": id, "result": 5 }).to_string();
    let granted = granted.0.clone();
    assert_eq!(subscriptions.handle(&grant, 0, &Nobody), None);
    assert_eq!(subscriptions.missing.len(), 98);
    assert!(!subscriptions.missing.contains(&granted));
}

#[tokio::test]
async fn a_message_longer_than_any_notice_ends_the_connection_and_another_begins() {
    let (server, subscriber, recorder) = Server::start().await;
    let mut connection = server.accept().await;
    subscriber.subscribe(Topic::Account(Pubkey::default()));
    let request = connection.grants("accountSubscribe", 2).await;
    assert_eq!(request["params"][1]["dataSlice"], json!({ "offset": 0, "length": 65_536 }));
    recorder.comes_to("subscribed account").await;
    let long = Message::text(" ".repeat(MESSAGE_BYTES_MAX + 1));
    // The client may hang up before the end.
    let _ = connection.0.send(long).await;
    recorder.comes_to("lost").await;
    let mut connection = server.accept().await;
    connection.grants("accountSubscribe", 3).await;
    recorder.comes_to("subscribed account").await;
}
