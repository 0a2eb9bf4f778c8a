//! A client's request id finds every log line of its request.

use std::time::Duration;

use axum::http::StatusCode;

use super::{Relayer, comes_about};
use purser_base::captured_log::CapturedLog;

#[tokio::test]
async fn a_transfer_carried_out_after_its_request_was_answered_is_logged_under_the_requests_id() {
    let log = CapturedLog::start();
    let relayer = Relayer::with_deadline(Duration::from_secs(1)).await;
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
    let lines = || log.lines_with("a transfer was carried out");
    comes_about(|| !lines().is_empty()).await;
    let [carried_out] = &lines()[..] else { panic!("one line: {}", log.text()) };
    assert!(log.text()[answered..].contains(carried_out), "only after the answer");
    for id in [request_id.as_str(), transfer_id, "key_id=key_", "network=test"] {
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
