//! Transfers: their answers, at first and on replay.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;

use super::Relayer;
use purser_chain::Destination;
use purser_chain::scripted::wallet_at;
use purser_model::{Address, Rule, Timestamp};

#[tokio::test]
async fn change_with_a_parameter_in_its_query_is_refused_and_nothing_is_done() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "asked");
    let refused = relayer.post("/v1/transfers?dry_run=true", &order).await;
    assert_eq!((refused.status.as_u16(), &refused.body["param"]), (400, &json!("dry_run")));
    let of_account = format!("/v1/accounts/{account}?expected_version=1");
    assert_eq!(relayer.patch(&of_account, &json!({ "name": "Other" })).await.status.as_u16(), 400);
    assert_eq!(
        relayer
            .delete(&format!("/v1/accounts/{account}/policy/pending?expected_version=1"))
            .await
            .status
            .as_u16(),
        400
    );
    let listed = relayer.get("/v1/transfers").await;
    assert_eq!(listed.body["data"], json!([]));
    assert_eq!(relayer.post("/v1/transfers?", &order).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_transfer_settles_and_its_replay_is_the_same() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    let first = relayer.post("/v1/transfers", &order).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    assert_eq!(first.body["status"], "settled");
    assert_eq!(first.body["amount_usdc"], "1.500000");
    let signature = relayer.chain.script().sent[0].signature.clone();
    assert_eq!(first.body["tx_signature"], signature);
    assert_eq!(first.body["solana_explorer_url"], format!("https://explorer.test/tx/{signature}"));
    assert!(first.body["settled_at"].is_string());
    assert!(!first.headers.contains_key("idempotent-replayed"));

    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(relayer.chain.script().sent.len(), 1);

    let path = format!("/v1/transfers/{}", first.body["transfer_id"].as_str().expect("text"));
    assert_eq!(relayer.get(&path).await.body, first.body);
    let key = relayer.agent_key(&account).await;
    assert_eq!(relayer.send("GET", &path, &key, None).await.status, StatusCode::OK);
    let other = relayer.account().await;
    let key = relayer.agent_key(&other).await;
    assert_eq!(relayer.send("GET", &path, &key, None).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_payment_settles_with_the_time_of_its_block_though_nodes_say_it_late() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let made_at = relayer.chain.script().now - 7;
    relayer.chain.script().block_times.extend([None, Some(made_at)]);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "order-1")).await;
    assert_eq!(answer.body["settled_at"], json!(Timestamp::from_unix_seconds(made_at).to_string()));
}

#[tokio::test]
async fn one_key_for_two_requests_is_a_conflict() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.post("/v1/transfers", &order).await;
    for (field, value) in [("amount", "1.51"), ("memo", "other"), ("to", "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")] {
        let mut changed = order.clone();
        changed[field] = json!(value);
        let answer = relayer.post("/v1/transfers", &changed).await;
        assert_eq!(answer.error(), (409, "idempotency_conflict"), "{}", answer.body);
    }
    let mut same = order.clone();
    same["amount"] = json!("1.500000");
    assert_eq!(relayer.post("/v1/transfers", &same).await.status, StatusCode::OK);
}

#[tokio::test]
async fn amounts_are_plain_decimal_strings() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let mut order = relayer.order(&account, "order-1");
    let texts = [
        "0",
        "0.0",
        "0.000000",
        "-0",
        "-1",
        "+1",
        "1e3",
        "1E3",
        "1e-3",
        "0.0000001",
        "1.0000000",
        "NaN",
        "Infinity",
        "inf",
        " 1",
        "1 ",
        "1.",
        ".5",
        ".",
        "",
        " ",
        "1,5",
        "1_000",
        "0x10",
        "1.2.3",
        "--1",
        "1\u{0}",
        "１",
        "٣",
        "18446744073709.551616",
        "18446744073710",
        "99999999999999999999999999999999999999999999",
        "1/2",
        "$1",
        "1 USDC",
        "\u{feff}1",
        "1\n",
        "null",
        "true",
    ];
    let others = [
        json!(1),
        json!(1.5),
        json!(0),
        json!(-1),
        json!(true),
        json!(null),
        json!(["1"]),
        json!({ "usdc": "1" }),
    ];
    for amount in texts.map(|text| json!(text)).into_iter().chain(others) {
        order["amount"] = amount.clone();
        for path in ["/v1/transfers", "/v1/transfers/preview"] {
            let answer = relayer.post(path, &order).await;
            assert_eq!(answer.error(), (400, "invalid_request"), "{amount}");
            assert_eq!(answer.body["param"], "amount", "{amount}");
        }
    }
    order["amount"] = json!("18446744073709.551615");
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (402, "insufficient_balance"), "an invalid request uses up no key");
    assert_eq!(answer.body["checks"].as_array().map(Vec::len), Some(Rule::ALL.len() + 1));
    assert!(relayer.chain.script().orders.is_empty());
}

#[tokio::test]
async fn overlong_fields_are_named() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let cases = [
        ("memo", "🙂".repeat(201)),
        ("idempotency_key", "k".repeat(129)),
        ("idempotency_key", String::new()),
        ("from", "nobody".into()),
    ];
    for (field, value) in cases {
        let mut order = relayer.order(&account, "order-1");
        order[field] = json!(value);
        let answer = relayer.post("/v1/transfers", &order).await;
        assert_eq!(answer.error(), (400, "invalid_request"));
        assert_eq!(answer.body["param"], field);
    }
    let mut order = relayer.order(&account, "order-1");
    order["memo"] = json!("🙂".repeat(200));
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_key_may_stand_in_the_header() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let ask = async |header: &str, body: &serde_json::Value| {
        let request = Request::post("/v1/transfers")
            .header(header::AUTHORIZATION, format!("Bearer {}", relayer.key))
            .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
            .header("idempotency-key", header)
            .body(Body::from(body.to_string()))
            .expect("a request");
        relayer.answer(request).await
    };
    let both = relayer.order(&account, "one");
    assert_eq!(ask("two", &both).await.body["param"], "idempotency_key");
    assert_eq!(ask("one", &both).await.status, StatusCode::OK);
    let mut bare = both.clone();
    bare.as_object_mut().expect("an object").remove("idempotency_key");
    assert_eq!(ask("one", &bare).await.headers["idempotent-replayed"], "true");
    assert_eq!(relayer.post("/v1/transfers", &bare).await.body["param"], "idempotency_key");
}

#[tokio::test]
async fn recipients_that_cannot_be_paid_are_422_and_leave_the_key_free() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let view = relayer.get(&format!("/v1/accounts/{account}")).await;
    let own = view.body["usdc_token_account"].as_str().expect("text").to_owned();
    let hint = relayer.chain.usdc_account_of(&wallet_at(50));
    let odd = |number: u16, destination| {
        let address = wallet_at(number);
        relayer.chain.script().destinations.insert(address, destination);
        address.to_string()
    };
    let wallet = odd(50, Destination::Wallet { usdc_token_account: hint });
    let recipients = [
        "not base58".to_owned(),
        String::new(),
        "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        account.clone(),
        own,
        wallet.clone(),
        odd(51, Destination::OtherMint),
        odd(52, Destination::Frozen),
        odd(53, Destination::NotTokenAccount),
        odd(54, Destination::Uninitialized),
        Address::from_bytes([60; 32]).to_string(),
    ];
    for (number, to) in recipients.iter().enumerate() {
        let mut order = relayer.order(&account, &format!("order-{number}"));
        order["to"] = json!(to);
        let answer = relayer.post("/v1/transfers", &order).await;
        assert_eq!(answer.error(), (422, "invalid_recipient"), "{to}: {}", answer.body);
        let preview = relayer.post("/v1/transfers/preview", &order).await;
        assert_eq!(preview.error(), (422, "invalid_recipient"), "{to}");
        assert_eq!(preview.body["message"], answer.body["message"]);
        if *to == wallet {
            assert!(answer.body["message"].as_str().is_some_and(|text| text.contains(&hint.to_string())));
            // Once the recipient can be paid, the same key pays.
            let wallet: Address = to.parse().expect("an address");
            let owner = Address::from_bytes([56; 32]);
            relayer.chain.script().destinations.insert(wallet, Destination::TokenAccount { owner });
            assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
        }
    }
}

#[tokio::test]
async fn policy_refuses_in_the_order_of_precedence() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}/policy");
    let mut order = relayer.order(&account, "order-1");
    order["amount"] = json!("200");
    let policy = json!({
        "max_single_transfer": 1.25, "max_daily_spend": "1", "allowed_counterparties": [], "require_memo": true,
        "paused": true
    });
    assert_eq!(relayer.put(&path, &policy).await.status, StatusCode::OK);
    let steps = [
        (json!({ "paused": false }), "account_paused", "paused"),
        (json!({ "require_memo": false }), "policy_violation", "require_memo"),
        (json!({ "allowed_counterparties": null }), "policy_violation", "allowed_counterparties"),
        (json!({ "max_single_transfer": null }), "policy_violation", "max_single_transfer"),
        (json!({ "max_daily_spend": null }), "policy_violation", "max_daily_spend"),
    ];
    for (number, (lift, code, rule)) in steps.iter().enumerate() {
        order["idempotency_key"] = json!(format!("order-{number}"));
        let answer = relayer.post("/v1/transfers", &order).await;
        assert_eq!(answer.error(), (402, *code), "{}", answer.body);
        assert_eq!(answer.body["status"], "rejected");
        let checks = answer.body["checks"].as_array().expect("checks");
        let broken = checks.iter().find(|check| check["ok"] == false).expect("one is broken");
        assert_eq!(broken["rule"], *rule);

        let preview = relayer.post("/v1/transfers/preview", &order).await;
        assert_eq!((preview.status, &preview.body["allowed"]), (StatusCode::OK, &json!(false)));
        assert_eq!(preview.body["error"], *code);
        assert_eq!(preview.body["checks"], answer.body["checks"]);

        let id = answer.body["transfer_id"].as_str().expect("text");
        let stored = relayer.get(&format!("/v1/transfers/{id}")).await;
        assert_eq!(stored.status, StatusCode::OK);
        assert_eq!((&stored.body["status"], &stored.body["error"]), (&json!("rejected"), &json!(*code)));
        assert_eq!(stored.body["message"], answer.body["message"]);

        assert_eq!(relayer.patch(&path, lift).await.status, StatusCode::OK);
        let replay = relayer.post("/v1/transfers", &order).await;
        assert_eq!(replay.error(), (402, *code), "a rejection is answered again as it was");
        assert_eq!(replay.headers["idempotent-replayed"], "true");
        assert_eq!(replay.body["transfer_id"], answer.body["transfer_id"]);
    }
    order["idempotency_key"] = json!("last");
    assert_eq!(relayer.post("/v1/transfers", &order).await.error(), (402, "insufficient_balance"));
    assert!(relayer.chain.script().orders.is_empty(), "nothing that is refused is signed");
}

#[tokio::test]
async fn agent_that_uses_the_key_of_another_agent_learns_nothing_of_its_payment() {
    let relayer = Relayer::start().await;
    let (one, other) = (relayer.account().await, relayer.account().await);
    let (by_one, by_other) = (relayer.agent_key(&one).await, relayer.agent_key(&other).await);
    let mut order = relayer.order(&one, "invoice-42");
    order["memo"] = json!("for the secret project");
    let paid = relayer.send("POST", "/v1/transfers", &by_one, Some(&order.to_string())).await;
    assert_eq!(paid.status, StatusCode::OK, "{}", paid.body);

    let mut theirs = order.clone();
    theirs["from"] = json!(other);
    let answer = relayer.send("POST", "/v1/transfers", &by_other, Some(&theirs.to_string())).await;
    assert_eq!(answer.error(), (409, "idempotency_conflict"));
    let message = answer.body["message"].as_str().expect("text");
    assert!(message.contains("belongs to a transfer of another account"), "{message}");
    let txn = paid.body["transfer_id"].as_str().expect("text");
    for secret in [one.as_str(), txn, "1.50", "secret project", order["to"].as_str().expect("text")] {
        assert!(!answer.text.contains(secret), "{secret}: {}", answer.text);
    }
    // The agent's own key and the operator both get a conflict for other parameters.
    order["amount"] = json!("1.51");
    for (key, order) in [(&by_one, &order), (&relayer.key, &theirs)] {
        let answer = relayer.send("POST", "/v1/transfers", key, Some(&order.to_string())).await;
        assert_eq!(answer.error(), (409, "idempotency_conflict"));
        assert!(
            answer.body["message"].as_str().expect("text").contains("other parameters"),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn build_without_approvals_refuses_to_ask_and_says_of_no_refusal_that_asking_helps() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let policy = json!({ "max_single_transfer": "1" });
    let put = relayer.put(&format!("/v1/accounts/{account}/policy"), &policy).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.body);
    let mut order = relayer.order(&account, "a");
    order["approval"] = json!("request");
    let asked = relayer.post("/v1/transfers", &order).await;
    assert_eq!((asked.error(), &asked.body["param"]), ((400, "invalid_request"), &json!("approval")));
    assert!(
        asked.body["message"].as_str().is_some_and(|text| text.contains("without approvals")),
        "{}",
        asked.text
    );
    // The key is still free.
    order["approval"] = json!("never");
    let refused = relayer.post("/v1/transfers", &order).await;
    assert_eq!(refused.error(), (402, "policy_violation"), "{}", refused.text);
    assert_eq!(refused.body["approvable"], json!(null));
    assert_eq!(relayer.get("/v1/approvals").await.error(), (404, "not_found"));
}
