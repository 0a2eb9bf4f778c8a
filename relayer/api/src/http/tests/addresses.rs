//! Keys: the addresses that they may be used from, their expiry and their last use.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, header};
use serde_json::{Value, json};

use super::{Answer, Relayer};
use crate::web::Peer;

impl Relayer {
    /// A key of the account that is bound to these ranges.
    async fn bound_key(&self, account: &str, ranges: &Value) -> Answer {
        self.post(&format!("/v1/accounts/{account}/keys"), &json!({ "allowed_cidrs": ranges })).await
    }

    async fn reads_from(&self, peer: Option<&str>, key: &str, forwarded: Option<&str>) -> Answer {
        let mut request =
            Request::get("/v1/transfers").header(header::AUTHORIZATION, format!("Bearer {key}"));
        if let Some(forwarded) = forwarded {
            request = request.header("x-forwarded-for", forwarded);
        }
        if let Some(peer) = peer {
            let peer: SocketAddr = peer.parse().expect("an address");
            request = request.extension(ConnectInfo(Peer(peer)));
        }
        self.answer(request.body(Body::empty()).expect("a request")).await
    }
}

#[tokio::test]
async fn a_bound_key_opens_nothing_from_elsewhere() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let made = relayer.bound_key(&account, &json!(["203.0.113.0/24", "2001:db8::7"])).await;
    assert_eq!(made.body["allowed_cidrs"], json!(["203.0.113.0/24", "2001:db8::7/128"]), "{}", made.text);
    let key = made.body["key"].as_str().expect("text");
    for inside in ["203.0.113.9:1", "[::ffff:203.0.113.9]:1", "[2001:db8::7]:1"] {
        assert_eq!(relayer.reads_from(Some(inside), key, None).await.status, 200, "{inside}");
    }
    for (outside, named) in [
        ("198.51.100.9:1", "198.51.100.9"),
        ("[::ffff:198.51.100.9]:1", "198.51.100.9"),
        ("[2001:db8::8]:1", "2001:db8::8"),
    ] {
        // No proxy is trusted, so the header changes nothing.
        for forwarded in [None, Some("203.0.113.9"), Some("203.0.113.9, 203.0.113.9")] {
            let refused = relayer.reads_from(Some(outside), key, forwarded).await;
            assert_eq!(refused.error(), (403, "forbidden"), "{outside}");
            assert!(refused.body["message"].as_str().expect("text").contains(named), "{}", refused.text);
        }
    }
    assert_eq!(relayer.reads_from(None, key, None).await.error(), (403, "forbidden"), "not known");
    assert_eq!(relayer.reads_from(Some("198.51.100.9:1"), &relayer.key, None).await.status, 200, "not bound");
    let listed = relayer.get(&format!("/v1/accounts/{account}/keys")).await;
    assert_eq!(listed.body["data"][0]["allowed_cidrs"], made.body["allowed_cidrs"]);
}

#[tokio::test]
async fn invalid_list_of_ranges_is_refused_with_its_index() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let many: Vec<String> = (0..51).map(|number| format!("10.0.0.{number}")).collect();
    for (ranges, param) in [
        (json!(["10.0.0.0/8", "example.com"]), "allowed_cidrs[1]"),
        (json!(["10.0.0.1/8"]), "allowed_cidrs[0]"),
        (json!(["10.0.0.0/33"]), "allowed_cidrs[0]"),
        (json!([""]), "allowed_cidrs[0]"),
        (json!([7]), "allowed_cidrs[0]"),
        (json!([]), "allowed_cidrs"),
        (json!(many), "allowed_cidrs"),
        (json!("10.0.0.0/8"), "allowed_cidrs"),
    ] {
        let refused = relayer.bound_key(&account, &ranges).await;
        assert_eq!(
            (refused.error(), &refused.body["param"]),
            ((400, "invalid_request"), &json!(param)),
            "{ranges}"
        );
    }
    let anywhere = relayer.bound_key(&account, &Value::Null).await;
    assert_eq!((anywhere.status.as_u16(), &anywhere.body["allowed_cidrs"]), (201, &Value::Null));
}

#[tokio::test]
async fn uses_are_written_down_at_a_stop_and_not_on_the_way_of_requests() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let bound = relayer.bound_key(&account, &json!(["203.0.113.0/24"])).await;
    let bound = bound.body["key"].as_str().expect("text");
    let agent = relayer.agent_key(&account).await;
    relayer.services.reconcile();
    assert_eq!(relayer.reads_from(None, bound, None).await.error(), (403, "forbidden"));
    assert_eq!(relayer.reads_from(None, &agent, None).await.status, 200);
    let listed = async || relayer.get(&format!("/v1/accounts/{account}/keys")).await.body["data"].clone();
    assert_eq!(
        (&listed().await[0]["last_used_at"], &listed().await[1]["last_used_at"]),
        (&Value::Null, &Value::Null)
    );
    relayer.tasks.stop.cancel();
    relayer.tasks.tracker.close();
    relayer.tasks.tracker.wait().await;
    let keys = listed().await;
    let used: Vec<bool> =
        keys.as_array().expect("a list").iter().map(|key| key["last_used_at"].is_string()).collect();
    assert_eq!(used, [true, false], "a refusal is no use: {keys}");
}
