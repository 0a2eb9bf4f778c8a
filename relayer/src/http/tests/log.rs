//! What is logged on a request's behalf can be found by the id that its client has.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::MakeWriter;

use super::Relayer;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("lock").clone()).expect("UTF-8")
    }

    /// The lines so far with this text.
    fn lines_with(&self, text: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_transfer_carried_out_after_its_request_was_answered_is_logged_under_the_requests_id() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(Level::DEBUG).with_ansi(false);
    let subscriber = Dispatch::new(subscriber.with_writer(log.clone()).finish());
    // While there is but one, what other tests' threads meet first is not heard here either.
    let _another = Dispatch::new(tracing_subscriber::registry());
    // Of this thread, which is that of all tasks of this test.
    let _subscribed = tracing::dispatcher::set_default(&subscriber);
    let relayer = Relayer::with_deadline(Duration::from_millis(100)).await;
    let account = relayer.account().await;
    let key = relayer.agent_key(&account).await;
    relayer.chain.script().held = true;
    let order = relayer.order(&account, "order-1").to_string();
    let answer = relayer.send("POST", "/v1/transfers", &key, Some(&order)).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    let request_id = answer.headers["x-request-id"].to_str().expect("text").to_owned();
    let transfer_id = answer.body["transfer_id"].as_str().expect("text");
    let answered = log.text().len();

    relayer.chain.release();
    let carried_out = loop {
        let lines = log.lines_with("a transfer was carried out");
        if let [line] = &lines[..] {
            break line.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(log.text()[answered..].contains(&carried_out), "only after the answer");
    for id in [request_id.as_str(), transfer_id, "key_id=key_"] {
        assert!(carried_out.contains(id), "{id} is not in {carried_out}");
    }
    let [line] =
        &log.lines_with(&request_id).into_iter().filter(|line| line.contains("answered")).collect::<Vec<_>>()
            [..]
    else {
        panic!("one line for each answer: {}", log.text());
    };
    assert!(line.contains("status=202") && line.contains(transfer_id), "{line}");
    assert!(!log.text().contains(&key[12..]), "a key is never logged");
}
