//! The fields of a policy: what `PUT` and `PATCH` make of them, which amounts are limits, and a policy that is read, edited and
//! written back.

use axum::http::StatusCode;
use purser_policy::Rule;
use serde_json::{Value, json};

use super::{Answer, Relayer, policy_with};
use purser_chain::scripted::wallet_at;

/// A relayer with one account, and the path of its policy.
async fn with_a_policy() -> (Relayer, String) {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    (relayer, path)
}

fn fields(policy: &Value) -> Value {
    let of = |field: &str| (field.to_owned(), policy[field].clone());
    Rule::ALL.map(Rule::name).into_iter().map(of).collect::<serde_json::Map<_, _>>().into()
}

fn defaults() -> Value {
    fields(&policy_with(json!({})))
}

impl Answer {
    #[track_caller]
    fn done(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.body
    }
}

#[tokio::test]
async fn policy_of_a_new_account_has_no_limits() {
    let (relayer, path) = with_a_policy().await;
    let policy = relayer.get(&path).await.done();
    assert!(path.contains(policy["account_id"].as_str().expect("text")));
    assert!(policy["updated_at"].as_str().expect("text").ends_with('Z'));
    assert_eq!(fields(&policy), defaults());
}

#[tokio::test]
async fn put_of_paused_alone_leaves_the_rest() {
    let (relayer, path) = with_a_policy().await;
    relayer.put(&path, &json!({ "max_single_transfer": 5, "require_memo": true })).await.done();
    for paused in [true, false] {
        let policy = relayer.put(&path, &json!({ "paused": paused })).await.done();
        assert_eq!(policy["paused"], paused);
        assert_eq!((&policy["max_single_transfer"], &policy["require_memo"]), (&json!(5), &json!(true)));
    }
    let replaced = relayer.put(&path, &json!({ "paused": false, "require_memo": false })).await.done();
    assert_eq!(fields(&replaced), defaults());
}

#[tokio::test]
async fn put_with_a_field_beside_paused_replaces_the_rest_too() {
    let (relayer, path) = with_a_policy().await;
    for paused in [true, false] {
        for (field, value) in [
            ("max_single_transfer", json!(4)),
            ("allowed_counterparties", json!([wallet_at(9).to_string()])),
            ("require_memo", json!(true)),
        ] {
            let before = json!({ "max_single_transfer": 5, "max_daily_spend": 9, "require_memo": true });
            relayer.put(&path, &before).await.done();
            let mut expected = defaults();
            (expected["paused"], expected[field]) = (json!(paused), value.clone());
            let put = relayer.put(&path, &json!({ "paused": paused, field: value })).await.done();
            assert_eq!(fields(&put), expected);
        }
    }
}

#[tokio::test]
async fn patch_changes_only_what_it_names() {
    let (relayer, path) = with_a_policy().await;
    let before = json!({ "max_single_transfer": 5, "max_daily_spend": 9, "require_memo": true });
    relayer.put(&path, &before).await.done();
    let patched = relayer.patch(&path, &json!({ "max_daily_spend": null, "paused": true })).await.done();
    let expected = json!({ "max_single_transfer": 5, "max_daily_spend": null, "allowed_counterparties": null,
        "require_memo": true, "paused": true });
    assert_eq!(fields(&patched), expected);
    assert_eq!(fields(&relayer.patch(&path, &json!({})).await.done()), expected);
    assert_eq!(fields(&relayer.get(&path).await.done()), expected);
}

#[tokio::test]
async fn limits_are_read_exactly_from_numbers_and_strings_and_answered_as_numbers() {
    let (relayer, path) = with_a_policy().await;
    for text in ["0.1", "0.000001", "100", "18446744073709.551615", "18446744073709.551614", "0"] {
        for body in [format!(r#"{{"max_daily_spend":{text}}}"#), format!(r#"{{"max_daily_spend":"{text}"}}"#)]
        {
            let answer = relayer.send("PUT", &path, &relayer.key, Some(&body)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
            assert!(answer.text.contains(&format!(r#""max_daily_spend":{text},"#)), "{}", answer.text);
        }
    }
    // How common JSON writers format 0.00001 and 100,000,000,000.
    for (written, read) in
        [("1e-05", "0.00001"), ("1.5e-1", "0.15"), ("1e3", "1000"), ("1E+11", "100000000000")]
    {
        let body = format!(r#"{{"max_daily_spend":{written}}}"#);
        let answer = relayer.send("PUT", &path, &relayer.key, Some(&body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let read = format!(r#""max_daily_spend":{read},"#);
        assert!(relayer.get(&path).await.text.contains(&read), "{written}");
    }
    let over = json!({ "max_single_transfer": 10, "max_daily_spend": 5 });
    assert_eq!(relayer.put(&path, &over).await.done()["max_single_transfer"], 10, "above the daily limit");
}

#[tokio::test]
async fn limit_that_is_no_amount_is_invalid_and_changes_nothing() {
    let (relayer, path) = with_a_policy().await;
    relayer.put(&path, &json!({ "max_single_transfer": 5 })).await.done();
    let before = relayer.get(&path).await.done();
    for field in ["max_single_transfer", "max_daily_spend"] {
        let numbers = [
            "-1",
            "0.0000001",
            "1e-7",
            "4503599627370497.5",
            "18446744073709.551616",
            "1e14",
            "1e999",
            "123456789012345678901234567890",
        ];
        let others = [
            r#""NaN""#, r#"" 1""#, r#""1.""#, r#""""#, "true", "[]", "{}", r#""-1""#, r#""1,5""#, r#""1e3""#,
            r#""１""#,
        ];
        for value in numbers.iter().chain(&others) {
            for method in ["PUT", "PATCH"] {
                let body = format!(r#"{{"{field}":{value}}}"#);
                relayer.send(method, &path, &relayer.key, Some(&body)).await.blames(field);
            }
        }
    }
    assert_eq!(relayer.get(&path).await.done(), before);
}

#[tokio::test]
async fn account_status_is_paused_exactly_when_the_policy_is() {
    let (relayer, path) = with_a_policy().await;
    let account = path.trim_end_matches("/policy");
    for (policy, status) in [
        (json!({ "paused": true }), "paused"),
        (json!({ "paused": false }), "active"),
        (json!({ "paused": true, "max_daily_spend": 1 }), "paused"),
        (json!({ "max_daily_spend": 1 }), "active"),
    ] {
        relayer.put(&path, &policy).await.done();
        assert_eq!(relayer.get(account).await.done()["status"], status, "{policy}");
    }
}

#[tokio::test]
async fn policy_that_was_changed_since_it_was_read_is_not_overwritten() {
    let (relayer, path) = with_a_policy().await;
    let mut read = relayer.get(&path).await.done();
    relayer.put(&path, &json!({ "max_daily_spend": 7 })).await.done();
    read["require_memo"] = json!(true);
    assert_eq!(relayer.put(&path, &read).await.error(), (409, "policy_changed"));
    assert_eq!(relayer.patch(&path, &read).await.error(), (409, "policy_changed"));
    let only_time = json!({ "require_memo": true, "updated_at": "2001-01-01T00:00:00.000000Z" });
    assert_eq!(relayer.put(&path, &only_time).await.error(), (409, "policy_changed"));
    let stands = relayer.get(&path).await.done();
    assert_eq!((&stands["max_daily_spend"], &stands["require_memo"]), (&json!(7), &json!(false)));
}

#[tokio::test]
async fn read_only_field_that_was_changed_is_refused() {
    let (relayer, path) = with_a_policy().await;
    let read = relayer.get(&path).await.done();
    for (field, value) in [
        ("account_id", json!("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")),
        ("account_id", json!(null)),
        ("counterparty_kinds", json!(["wallet"])),
        ("pending", json!({})),
        ("version", json!("1")),
        ("version", json!(-1)),
        ("version", json!(null)),
        ("updated_at", json!(5)),
        ("tx_signature", json!("x")),
        ("status", json!("active")),
    ] {
        let mut edited = read.clone();
        edited[field] = value;
        relayer.put(&path, &edited).await.blames(field);
        relayer.patch(&path, &edited).await.blames(field);
    }
    assert_eq!(relayer.get(&path).await.done(), read);
    // A new account has no version that the client could have read.
    let body = json!({ "name": "Ben", "policy": { "version": 1 } });
    relayer.post("/v1/accounts", &body).await.blames("policy.version");
}

#[tokio::test]
async fn pause_in_a_policy_that_was_read_holds_though_it_was_changed_since() {
    for method in ["PUT", "PATCH"] {
        let (relayer, path) = with_a_policy().await;
        let mut read = relayer.get(&path).await.done();
        relayer.put(&path, &json!({ "max_daily_spend": 7 })).await.done();
        read["paused"] = json!(true);
        let refused = relayer.send(method, &path, &relayer.key, Some(&read.to_string())).await;
        assert_eq!(refused.error(), (409, "policy_changed"));
        let message = refused.body["message"].as_str().expect("text");
        assert!(message.starts_with("The pause holds."), "{message}");
        let stands = relayer.get(&path).await.done();
        assert_eq!((&stands["max_daily_spend"], &stands["paused"]), (&json!(7), &json!(true)));
    }
}

#[tokio::test]
async fn pause_by_a_policy_that_was_read_waits_for_no_version() {
    let (relayer, path) = with_a_policy().await;
    let account = relayer.get(&path).await.done()["account_id"].clone();
    let paused = relayer.put(&path, &json!({ "account_id": account, "paused": true })).await.done();
    assert_eq!(paused["paused"], true);
}
