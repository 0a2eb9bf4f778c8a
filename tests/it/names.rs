//! The API's names, and that its messages are its own.

use purser_tests::{Answer, Operator};
use reqwest::Method;
use serde_json::{Value, json};

/// Texts that reveal a parser's message.
const PARSER_WORDS: [&str; 9] = [
    "invalid type",
    "invalid value",
    "unknown field",
    ", expected",
    "missing field",
    "at line",
    "EOF",
    "trailing",
    "recursion",
];

#[tokio::test]
async fn things_name_themselves_id_and_refer_to_others_by_kind() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let client = &operator.client;
    let key = client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    let body = json!({ "url": "http://127.0.0.1:9/hook", "events": ["transfer.settled"] });
    let webhook = client.post("/v1/webhooks", &body).await.has_status(201);
    for (answer, prefix) in [(&key, "key_"), (&webhook, "whk_")] {
        assert!(answer.text_of("id").starts_with(prefix), "{}", answer.text);
    }
    assert_eq!((&key["account_id"], &key["key_id"]), (&json!(agent.id), &Value::Null));
    let listed = client.get(&agent.path("/keys")).await.has_status(200);
    assert_eq!(listed["data"][0]["id"], key["id"]);
    client.delete(&format!("/v1/keys/{}", key.text_of("id"))).await.has_status(204);
}

#[tokio::test]
async fn message_of_a_bad_body_is_in_our_own_words() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let bodies = [
        ("", "body"),
        ("{", "body"),
        ("[1]", "body"),
        ("null", "body"),
        ("{} {}", "body"),
        (r#"{"name":"#, "name"),
        (r#"{"name":5}"#, "name"),
        (r#"{"name":{}}"#, "name"),
        (r#"{"name":"a\ud800"}"#, "name"),
        ("{\"name\":\"a\u{1}\"}", "name"),
        (r#"{"name":"a\u0000"}"#, "name"),
        (r#"{"nickname":"a"}"#, "nickname"),
        (r#"{"nickname":{"a":1}}"#, "nickname"),
        (r#"{"name":"a","name":"b"}"#, "body"),
        (r#"{"metadata":{"a":{"b":1,"b":2}}}"#, "metadata.a"),
        (r#"{"metadata":1e999}"#, "metadata"),
    ];
    for (body, param) in bodies {
        let answer = operator.client.sends_bytes(Method::POST, "/v1/accounts", body).await;
        is_in_our_words(&answer.blames(param), body);
    }
    let policy = agent.path("/policy");
    for (body, param) in [
        (r#"{"paused":1}"#, "paused"),
        (r#"{"paused":null}"#, "paused"),
        (r#"{"require_memo":"yes"}"#, "require_memo"),
        (r#"{"expected_version":-1}"#, "expected_version"),
        (r#"{"expected_version":1.5}"#, "expected_version"),
        (r#"{"max":1}"#, "max"),
    ] {
        let answer = operator.client.sends_bytes(Method::PUT, &policy, body).await;
        is_in_our_words(&answer.blames(param), body);
    }
    let said = operator.client.post("/v1/accounts", &json!({ "name": 5 })).await.blames("name");
    assert_eq!(said["message"], r#"`name` cannot be 5; send a text: "5""#);
}

#[track_caller]
fn is_in_our_words(answer: &Answer, body: &str) {
    let message = answer.text_of("message");
    for words in PARSER_WORDS {
        assert!(!message.contains(words), "{body}: {message}");
    }
}

#[tokio::test]
async fn payer_that_is_not_found_is_named_as_from() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let theirs = operator.app().new_operator().await.creates_account("Theirs").await;
    let (payee, _) = operator.chain.new_payee().await;
    for from in ["acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", theirs.id.as_str()] {
        for payment in [agent.pays("1"), agent.previews("1")] {
            let refused = payment.field("from", json!(from)).to(&payee).await.is_error(404, "not_found");
            assert_eq!(refused["param"], "from", "{}", refused.text);
        }
    }
    let refused = operator.reads_account(&theirs.id).await.is_error(404, "not_found");
    assert_eq!(refused["param"], Value::Null, "the path is no parameter of the body");
}

#[tokio::test]
async fn name_that_overrides_the_direction_of_text_is_refused() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("\u{5d0}\u{5d1} (1)\u{200f}").await;
    let overrides = ['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2069}'];
    for letter in overrides {
        let body = json!({ "name": format!("pay{letter}me") });
        operator.client.post("/v1/accounts", &body).await.blames("name");
        operator.client.post(&agent.path("/keys"), &body).await.blames("name");
    }
}
