//! The API's names, and that its messages are its own.

use serde_json::{Value, json};

use super::{Answer, Relayer, operator_key};

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

impl Answer {
    pub fn blames(&self, param: &str) -> &Self {
        assert_eq!(
            (self.error(), &self.body["param"]),
            ((400, "invalid_request"), &json!(param)),
            "{}",
            self.text
        );
        self
    }
}

#[tokio::test]
async fn things_name_themselves_id_and_refer_to_others_by_kind() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let keys = format!("/v1/accounts/{account}/keys");
    let key = relayer.post(&keys, &json!({})).await;
    let body = json!({ "url": "https://8.8.8.8/hook", "events": ["transfer.settled"] });
    let webhook = relayer.post("/v1/webhooks", &body).await;
    for (answer, prefix) in [(&key, "key_"), (&webhook, "whk_")] {
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(answer.body["id"].as_str().is_some_and(|id| id.starts_with(prefix)), "{}", answer.text);
    }
    assert_eq!((&key.body["account_id"], &key.body["key_id"]), (&json!(account), &Value::Null));
    assert_eq!(relayer.get(&keys).await.body["data"][0]["id"], key.body["id"]);
    let path = format!("/v1/keys/{}", key.body["id"].as_str().expect("an id"));
    assert_eq!(relayer.delete(&path).await.status, 204);
}

#[tokio::test]
async fn message_of_a_bad_body_is_in_our_own_words() {
    let relayer = Relayer::start().await;
    let policy = format!("/v1/accounts/{}/policy", relayer.account().await);
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
    let policies = [
        (r#"{"paused":1}"#, "paused"),
        (r#"{"paused":null}"#, "paused"),
        (r#"{"require_memo":"yes"}"#, "require_memo"),
        (r#"{"expected_version":-1}"#, "expected_version"),
        (r#"{"expected_version":1.5}"#, "expected_version"),
        (r#"{"max":1}"#, "max"),
    ];
    let bodies = bodies.map(|(body, param)| ("POST", "/v1/accounts", body, param)).into_iter();
    for (method, path, body, param) in
        bodies.chain(policies.map(|(body, param)| ("PUT", policy.as_str(), body, param)))
    {
        let refused = relayer.send(method, path, &relayer.key, Some(body)).await;
        let message = refused.blames(param).body["message"].as_str().expect("text");
        for words in PARSER_WORDS {
            assert!(!message.contains(words), "{body}: {message}");
        }
    }
    let refused = relayer.post("/v1/accounts", &json!({ "name": 5 })).await;
    assert_eq!(refused.blames("name").body["message"], r#"`name` cannot be 5; send a text: "5""#);
}

#[tokio::test]
async fn payer_that_is_not_found_is_named_as_from() {
    let relayer = Relayer::start().await;
    relayer.account().await;
    let other = operator_key(&relayer.store, 8).await;
    let made = relayer.send("POST", "/v1/accounts", &other, Some(r#"{"name":"Theirs"}"#)).await;
    let theirs = made.body["account_id"].as_str().expect("an id").to_owned();
    for from in ["acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", &theirs] {
        for path in ["/v1/transfers", "/v1/transfers/preview"] {
            let refused = relayer.post(path, &relayer.order(from, "k")).await;
            assert_eq!((refused.error(), &refused.body["param"]), ((404, "not_found"), &json!("from")));
        }
    }
    let refused = relayer.get(&format!("/v1/accounts/{theirs}")).await;
    assert_eq!(
        (refused.error(), &refused.body["param"]),
        ((404, "not_found"), &Value::Null),
        "the path is no parameter of the body"
    );
}

#[tokio::test]
async fn name_that_overrides_the_direction_of_text_is_refused() {
    let relayer = Relayer::start().await;
    let made = relayer.post("/v1/accounts", &json!({ "name": "\u{5d0}\u{5d1} (1)\u{200f}" })).await;
    let keys = format!("/v1/accounts/{}/keys", made.body["account_id"].as_str().expect("an id"));
    for letter in ['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2069}'] {
        let body = json!({ "name": format!("pay{letter}me") });
        relayer.post("/v1/accounts", &body).await.blames("name");
        relayer.post(&keys, &body).await.blames("name");
    }
}

#[tokio::test]
async fn tags_are_set_changed_as_a_whole_and_taken_away() {
    let relayer = Relayer::start().await;
    let made =
        relayer.post("/v1/accounts", &json!({ "name": "Ada", "tags": ["team:research", "eu", "eu"] })).await;
    let id = made.body["account_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/accounts/{id}");
    assert_eq!(relayer.get(&path).await.body["tags"], json!(["eu", "team:research"]), "each once, in order");
    let renamed = relayer.patch(&path, &json!({ "name": "Ada 2" })).await;
    assert_eq!(renamed.body["tags"], json!(["eu", "team:research"]), "what is left out stays");
    let changed = relayer.patch(&path, &json!({ "tags": ["us"] })).await;
    assert_eq!((&changed.body["tags"], &changed.body["name"]), (&json!(["us"]), &json!("Ada 2")));
    let on_record = relayer.get("/v1/actions?action=update_account").await;
    assert_eq!(on_record.body["data"][0]["after"], json!({ "tags": ["us"] }));
    assert_eq!(relayer.patch(&path, &json!({ "tags": [] })).await.body["tags"], json!([]));
    // An agent sees the tags of its own account.
    let key = relayer.agent_key(&id).await;
    assert_eq!(relayer.send("GET", &path, &key, None).await.body["tags"], json!([]));
}

#[tokio::test]
async fn what_is_no_tag_is_refused_by_its_place() {
    let relayer = Relayer::start().await;
    let many: Vec<String> = (0..21).map(|tag| format!("t{tag}")).collect();
    for (tags, blamed) in [
        (json!(["eu", "EU"]), "tags[1]"),
        (json!([""]), "tags[0]"),
        (json!(["a b"]), "tags[0]"),
        (json!(["x".repeat(65)]), "tags[0]"),
        (json!(many), "tags"),
    ] {
        relayer.post("/v1/accounts", &json!({ "name": "Ada", "tags": tags })).await.blames(blamed);
    }
    for tags in [json!("eu"), json!([1]), json!({ "eu": true })] {
        let refused = relayer.post("/v1/accounts", &json!({ "name": "Ada", "tags": tags })).await;
        assert_eq!(refused.error(), (400, "invalid_request"), "{}", refused.text);
    }
    let path = format!("/v1/accounts/{}", relayer.account().await);
    for tags in [json!(null), json!(["A"])] {
        assert_eq!(relayer.patch(&path, &json!({ "tags": tags })).await.status, 400);
    }
}
