//! `GET /v1/events` as `text/event-stream`: replay, then live events, without loss; and when the stream ends.

use std::time::{Duration, Instant};

use purser_tests::agent::all_at_once;
use purser_tests::{AppSettings, Client, Operator, TestApp, TestDatabase, TestNetwork};
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// How long an event, or the end of a stream, may take.
const WITHIN: Duration = Duration::from_secs(60);

/// An open stream, read without any library.
pub struct Stream {
    response: Response,
    text: String,
    /// Where a new stream goes on.
    pub last_id: Option<String>,
}

/// What comes next.
#[derive(Debug)]
enum Next {
    Event(Value),
    End,
}

impl Stream {
    async fn asked(client: &Client, query: &str, last_id: Option<&str>) -> Response {
        let request = client.request(Method::GET, &format!("/v1/events{query}"));
        let request = request.header("accept", "text/event-stream");
        let request = match last_id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        };
        request.send().await.expect("an answer")
    }

    /// Opens a stream, and reads its first lines.
    pub async fn open(client: &Client, query: &str, last_id: Option<&str>) -> Stream {
        let response = Stream::asked(client, query, last_id).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = Stream { response, text: String::new(), last_id: None };
        while stream.last_id.is_none() {
            assert!(stream.block().await.expect("a beginning").is_none());
        }
        stream
    }

    /// The data of the next block of lines, if it has any. `None` at the end of the stream.
    async fn block(&mut self) -> Option<Option<Value>> {
        let end = loop {
            if let Some(end) = self.text.find("\n\n") {
                break end;
            }
            match tokio::time::timeout(WITHIN, self.response.chunk()).await.expect("the stream goes on") {
                Ok(Some(bytes)) => self.text.push_str(std::str::from_utf8(&bytes).expect("UTF-8")),
                Ok(None) | Err(_) => return None,
            }
        };
        let block: String = self.text.drain(..end + 2).collect();
        let mut data = None;
        for line in block.lines() {
            if let Some(id) = line.strip_prefix("id:") {
                self.last_id = Some(id.trim().to_owned());
            }
            if let Some(text) = line.strip_prefix("data:") {
                data = Some(serde_json::from_str(text).expect("JSON"));
            }
        }
        Some(data)
    }

    async fn next(&mut self) -> Next {
        loop {
            match self.block().await {
                None => return Next::End,
                Some(Some(event)) => return Next::Event(event),
                Some(None) => {}
            }
        }
    }

    pub async fn event(&mut self) -> Value {
        match self.next().await {
            Next::Event(event) => event,
            Next::End => panic!("the stream ended"),
        }
    }

    /// The next event, after connecting again where the stream has ended.
    pub async fn event_over(&mut self, client: &Client, query: &str) -> Value {
        loop {
            match self.next().await {
                Next::Event(event) => return event,
                Next::End => *self = Stream::open(client, query, self.last_id.as_deref()).await,
            }
        }
    }
}

/// Payments that the policy refuses: one event each, and nothing on the chain.
async fn refuses(agent: &purser_tests::Agent, payee: &solana_sdk::pubkey::Pubkey, count: usize) {
    let payments = (0..count).map(|_| agent.pays("2").to(payee));
    for answer in all_at_once(payments).await {
        answer.is_error(402, "policy_violation");
    }
}

#[tokio::test]
async fn stream_sends_events_and_resumes_where_it_ended() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let query = "?type=transfer.rejected,transfer.settled";
    let mut stream = Stream::open(&operator.client, query, None).await;
    let begin = stream.last_id.clone();
    let paid = agent.pays("0.5").to(&payee).await.is_settled();
    let settled = stream.event().await;
    assert_eq!(
        (&settled["type"], &settled["data"]["transfer_id"]),
        (&json!("transfer.settled"), &paid["transfer_id"])
    );
    let read = operator.client.get(&format!("/v1/events/{}", settled["id"].as_str().expect("an id"))).await;
    assert_eq!(read.body, settled, "as it is delivered");
    let after_first = stream.last_id.clone().expect("an id");
    // Disconnect; the events of the meantime come first.
    drop(stream);
    refuses(&agent, &payee, 3).await;
    let mut again = Stream::open(&operator.client, query, Some(&after_first)).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(again.event().await["id"].clone());
    }
    refuses(&agent, &payee, 1).await;
    let live = again.event().await["id"].clone();
    assert!(!seen.contains(&live) && !seen.contains(&settled["id"]));
    // From its beginning, before the first event: everything, in the same order.
    let mut whole = Stream::open(&operator.client, query, begin.as_deref()).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(whole.event().await["id"].clone());
    }
    assert_eq!(all[0], settled["id"]);
    assert_eq!((&all[1..4], &all[4]), (&seen[..], &live));
    // Another operator sees none of these events, and cannot use their ids.
    let stranger = operator.app().new_operator().await;
    let refused = Stream::asked(&stranger.client, "", Some(&after_first)).await;
    assert_eq!(refused.status(), 400);
}

#[tokio::test]
async fn reader_that_comes_and_goes_misses_nothing_of_two_relayers_on_postgres() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = first.new_operator().await;
    let second = first.twin(&settings);
    let other = Client::new(&second.base_url(), Some(operator.client.key()));
    let agent = operator.creates_account_with("Ada", "5").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let begin = Stream::open(&operator.client, "?type=transfer.rejected", None).await;
    let mut last = begin.last_id.clone().expect("an id");
    drop(begin);
    const EVENTS: usize = 60;
    let writing = async {
        let here = (0..EVENTS / 2).map(|_| agent.pays("2").to(&payee));
        let there = (0..EVENTS / 2).map(|_| agent.pays("2").to(&payee).by(&other));
        for answer in all_at_once(here.chain(there)).await {
            answer.is_error(402, "policy_violation");
        }
    };
    let reading = async {
        let mut seen = Vec::new();
        // At both relayers in turn, a few at a time.
        for client in [&operator.client, &other].into_iter().cycle() {
            let mut stream = Stream::open(client, "?type=transfer.rejected", Some(&last)).await;
            for _ in 0..7.min(EVENTS - seen.len()) {
                seen.push(stream.event().await["data"]["transfer_id"].as_str().expect("an id").to_owned());
            }
            last = stream.last_id.clone().expect("an id");
            if seen.len() == EVENTS {
                break;
            }
        }
        seen
    };
    let ((), mut seen) = tokio::join!(writing, reading);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), EVENTS, "each once, and none is missing");
}

#[tokio::test]
async fn stream_ends_with_its_key_and_when_the_relayer_stops() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    // A second key, which expires.
    let made = app.runs(&["key", "create", "--operator", &operator.id]);
    let key = made["key"].as_str().expect("a key").to_owned();
    let key_id = made["id"].as_str().expect("its id");
    let client = operator.client.with_key(&key);
    // That a key is revoked is an event too.
    let query = "?type=transfer.settled";
    let mut stream = Stream::open(&client, query, None).await;
    let mut stays = Stream::open(&operator.client, query, None).await;
    app.runs(&["key", "revoke", key_id]);
    assert!(matches!(stream.next().await, Next::End));
    assert_eq!(Stream::asked(&client, "", None).await.status(), 401);
    // The other stream is still open; a stop ends it at once.
    let begun = Instant::now();
    let stopping = tokio::spawn({
        let app = std::sync::Arc::clone(&app);
        async move { app.stops(Duration::from_secs(60)).await }
    });
    assert!(matches!(stays.next().await, Next::End));
    assert!(stopping.await.expect("no panic"), "{}", app.log_tail());
    // For so long a stop lets requests finish.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn streams_are_bounded_and_for_operators_and_what_is_wrong_is_named() {
    let operator = Operator::shared().await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(Stream::open(&operator.client, "", None).await);
    }
    let refused = Stream::asked(&operator.client, "", None).await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let body: Value = refused.json().await.expect("JSON");
    assert_eq!(body["error"], "rate_limited");
    // A closed stream makes room, which the relayer notices at the latest with its next comment.
    streams.pop();
    let begun = Instant::now();
    while Stream::asked(&operator.client, "", None).await.status() == 429 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no room");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let agent = operator.creates_account("Ada").await.new_key().await;
    assert_eq!(Stream::asked(&agent, "", None).await.status(), 403);
    drop(streams);
    let other = operator.app().new_operator().await;
    for (query, last, param) in [
        ("?type=transfer.lost", None, "type"),
        ("?type=transfer.settled,", None, "type"),
        ("?account_id=nobody", None, "account_id"),
        ("?limit=5", None, "limit"),
        ("", Some("evt_1"), "Last-Event-ID"),
    ] {
        let refused = Stream::asked(&other.client, query, last).await;
        assert_eq!(refused.status(), 400, "{query}");
        let body: Value = refused.json().await.expect("JSON");
        assert_eq!(body["param"], param, "{query}");
    }
}

#[tokio::test]
async fn list_takes_no_last_event_id_that_no_stream_would() {
    let operator = Operator::shared().await;
    for (id, status) in
        [("".to_owned(), 200), ("evt_1".to_owned(), 200), ("k".repeat(512), 200), ("k".repeat(513), 400)]
    {
        let request = operator.client.request(Method::GET, "/v1/events").header("last-event-id", &id);
        let answer = operator.client.sends(request).await;
        assert_eq!(answer.status, status, "{id}: {}", answer.text);
    }
}
