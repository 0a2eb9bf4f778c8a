//! Requests that are refused, with their answers: `bad_requests.txt` lists each request and, below it, the status, the code,
//! the parameter and the message. `PURSER_TEST_REWRITE=1` writes the answers anew, to be read as a change of the interface.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use super::{ACTIONS_MAX, Relayer, operator_key};

/// Compares a committed file with what it should be, or writes it: see `PURSER_TEST_REWRITE` above.
pub(in crate::http) fn is_as_committed(file: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/tests").join(file);
    if std::env::var_os("PURSER_TEST_REWRITE").is_some() {
        return std::fs::write(&path, now).expect("a writable file");
    }
    let committed = std::fs::read_to_string(&path).expect("a committed file");
    let lines = committed.lines().zip(now.lines()).enumerate();
    let differing: Vec<_> = lines.filter(|(_, (before, now))| before != now).take(20).collect();
    assert!(committed == now, "{file} changed, see PURSER_TEST_REWRITE: {differing:#?}");
}

#[tokio::test]
async fn bad_requests_are_answered_as_listed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let webhook = json!({ "url": "https://192.0.43.8/", "events": ["transfer.settled"] });
    let webhook = relayer.post("/v1/webhooks", &webhook).await.body["id"].as_str().expect("an id").to_owned();
    let (mut now, mut key) = (String::new(), relayer.key.clone());
    let requests = include_str!("bad_requests.txt").lines().filter(|line| !line.starts_with(' '));
    for (at, request) in requests.enumerate() {
        if at % (ACTIONS_MAX as usize / 2) == 0 {
            key = operator_key(&relayer.store, 9).await;
        }
        let named = request.replace("$account", &account).replace("$webhook", &webhook);
        let mut parts = named.splitn(3, ' ');
        let (method, path) = (parts.next().expect("a method"), parts.next().expect("a path"));
        let answer = relayer.send(method, path, &key, parts.next()).await;
        let (status, code) = answer.error();
        assert!((400..500).contains(&status), "{request}: {}", answer.text);
        let text = |field: &str| answer.body[field].as_str().unwrap_or("-").replace(&account, "$account");
        let (param, message) = (text("param"), text("message"));
        writeln!(now, "{request}\n    {status} {code} {param}: {message}").expect("a text");
    }
    is_as_committed("bad_requests.txt", &now);
}
