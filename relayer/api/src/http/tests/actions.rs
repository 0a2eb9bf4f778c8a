//! How much one key leaves on record.

use axum::http::header;
use serde_json::{Value, json};

use super::{ACTIONS_MAX, Relayer};
use purser_model::PlainKey;
use purser_service::ServiceError;

impl Relayer {
    async fn recorded(&self) -> Vec<Value> {
        let listed = self.get("/v1/actions?limit=100").await;
        listed.body["data"].as_array().expect("a list").clone()
    }
}

#[tokio::test]
async fn key_that_made_its_changes_of_a_day_may_still_stop_tighten_and_revoke() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}");
    let made = relayer.post("/v1/keys", &json!({ "name": "bot" })).await;
    let (key, key_id) = (made.body["key"].as_str().expect("text"), made.body["id"].as_str().expect("text"));
    let renames = async |number: u32, by: &str| {
        let body = json!({ "name": format!("agent {number}") }).to_string();
        relayer.send("PATCH", &path, by, Some(&body)).await
    };
    let mut number = 0;
    let refused = loop {
        let renamed = renames(number, &relayer.key).await;
        if renamed.status != 200 {
            break renamed;
        }
        number += 1;
        assert!(number <= ACTIONS_MAX, "no end");
    };
    assert_eq!(refused.error(), (429, "rate_limited"));
    assert_eq!(refused.headers[header::RETRY_AFTER], "3600");
    assert_eq!(number, ACTIONS_MAX - 2, "an account and a key were made before");
    let plain = PlainKey::parse(&relayer.key).expect("a key");
    let holder = relayer.services.keys.authenticate(&plain, || None).await.expect("an operator's key");
    let signed_in = relayer.services.sessions.open(&holder, None, None, None).await;
    assert!(matches!(signed_in, Err(ServiceError::TooManyActions { most: ACTIONS_MAX, .. })));
    // Another key has its own number.
    assert_eq!(renames(number, key).await.status, 200);
    let policy = format!("{path}/policy");
    assert_eq!(relayer.patch(&policy, &json!({ "max_daily_spend": 1 })).await.status, 200);
    assert_eq!(relayer.patch(&policy, &json!({ "paused": true })).await.status, 200);
    assert_eq!(relayer.delete(&format!("/v1/keys/{key_id}")).await.status, 204);
    assert_eq!(relayer.send("POST", &format!("{path}/halt"), &relayer.key, None).await.status, 200);
    assert_eq!(relayer.send("POST", "/v1/halt", &relayer.key, None).await.status, 200);
}

#[tokio::test]
async fn what_repeats_what_was_leaves_no_record() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}");
    let hook = json!({ "url": "https://8.8.8.8/a", "events": ["transfer.settled"] });
    let hook = relayer.post("/v1/webhooks", &hook).await;
    let hook =
        format!("/v1/webhooks/{}", hook.body["id"].as_str().unwrap_or_else(|| panic!("{}", hook.body)));
    let recorded = relayer.recorded().await;
    for (path, body) in [
        (&path, json!({ "name": "agent" })),
        (&path, json!({ "name": "agent", "tags": [] })),
        (&hook, json!({ "url": "https://8.8.8.8/a" })),
    ] {
        assert_eq!(relayer.patch(path, &body).await.status, 200, "{body}");
        assert_eq!(relayer.recorded().await, recorded, "{body}");
    }
    for (path, body) in [
        (&path, json!({ "name": "agent", "tags": ["fleet"] })),
        (&hook, json!({ "url": "https://8.8.8.8/b" })),
    ] {
        let before = relayer.recorded().await.len();
        assert_eq!(relayer.patch(path, &body).await.status, 200, "{body}");
        assert_eq!(relayer.recorded().await.len(), before + 1, "{body}");
    }
}
