//! Halts: who stopped what, and that nothing here lifts a halt.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;

use super::Relayer;
use crate::chain::{Outcome, Refusal};
use crate::domain::{Address, HaltedBy};

fn halt_account(relayer: &Relayer, by: HaltedBy) {
    for agent in relayer.chain.script().agents.values_mut() {
        agent.halted_by = Some(by);
    }
}

#[tokio::test]
async fn one_call_halts_every_account_of_the_operator_and_again_is_the_same() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let path = format!("/v1/accounts/{account}");
    assert_eq!(relayer.get(&path).await.body["halted"], json!(null));
    for body in [None, Some("{}"), Some("")] {
        let halted = relayer.send("POST", "/v1/halt", &relayer.key, body).await;
        assert_eq!(halted.status, StatusCode::OK, "{}", halted.body);
        let expected = json!({ "halted": true, "halted_by": "policy_authority", "tx_signature": "halt" });
        assert_eq!(halted.body, expected);
    }
    let halted = json!({ "by": "policy_authority", "scope": "operator" });
    let read = relayer.get(&path).await;
    assert_eq!((&read.body["status"], &read.body["halted"]), (&json!("paused"), &halted));
    assert_eq!(read.body["policy"]["paused"], false, "the policy is as it was");
    let created = relayer.post("/v1/accounts", &json!({ "name": "late" })).await;
    assert_eq!((&created.body["status"], &created.body["halted"]), (&json!("paused"), &halted));

    for text in [r#"{"colour":1}"#, "[]", "{"] {
        let answer = relayer.send("POST", "/v1/halt", &relayer.key, Some(text)).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{text}");
    }
    let plain = Request::post("/v1/halt").header(header::AUTHORIZATION, format!("Bearer {}", relayer.key));
    let plain = relayer.answer(plain.body(Body::from("{}")).expect("a request")).await;
    assert_eq!(plain.error(), (415, "unsupported_media_type"));
    assert_eq!(relayer.delete("/v1/halt").await.error(), (405, "method_not_allowed"), "nothing resumes");
}

#[tokio::test]
async fn answer_names_who_halted_first() {
    let relayer = Relayer::start().await;
    relayer.chain.script().operator_halted = Some(HaltedBy::Guardian);
    let halted = relayer.send("POST", "/v1/halt", &relayer.key, None).await;
    assert_eq!(halted.body["halted_by"], "guardian");
}

#[tokio::test]
async fn a_halted_account_pays_nothing_and_says_who_can_resume_it() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let key = relayer.agent_key(&account).await;
    halt_account(&relayer, HaltedBy::Guardian);
    let halted = json!({ "by": "guardian", "scope": "account" });
    let read = relayer.send("GET", &format!("/v1/accounts/{account}"), &key, None).await;
    assert_eq!((&read.body["status"], &read.body["halted"]), (&json!("paused"), &halted));

    let order = relayer.order(&account, "order-1");
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (402, "account_paused"));
    assert_eq!(answer.body["checks"][0], json!({ "rule": "paused", "ok": false }));
    let message = answer.body["message"].as_str().expect("text");
    assert!(message.contains("by the guardian") && message.contains("`anchor run resume`"), "{message}");
    let preview = relayer.post("/v1/transfers/preview", &order).await;
    assert_eq!(
        (&preview.body["error"], &preview.body["message"]),
        (&json!("account_paused"), &json!(message))
    );
    assert!(relayer.chain.script().orders.is_empty(), "nothing is signed");

    // The operator's own halt is reported first, and a pause is not reported during a halt.
    let policy = format!("/v1/accounts/{account}/policy");
    relayer.put(&policy, &json!({ "paused": true })).await;
    relayer.chain.script().operator_halted = Some(HaltedBy::Admin);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "order-2")).await;
    let message = answer.body["message"].as_str().expect("text");
    assert!(message.contains("by the admin") && message.contains("`anchor run resume-all`"), "{message}");
    let events = relayer.get("/v1/events?type=transfer.rejected").await;
    assert_eq!(events.body["data"][0]["data"]["rejection_reason"], "halted");
}

#[tokio::test]
async fn a_halt_that_comes_between_the_check_and_the_chain_is_a_halt() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::Halted));
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "order-1")).await;
    assert_eq!(answer.error(), (402, "account_paused"), "{}", answer.body);
    assert!(answer.body["message"].as_str().is_some_and(|message| message.contains("halted")));
}

#[tokio::test]
async fn lists_know_halted_accounts_as_paused() {
    let relayer = Relayer::start().await;
    let (one, two) = (relayer.account().await, relayer.account().await);
    let address = relayer.get(&format!("/v1/accounts/{one}")).await.body["solana_address"].clone();
    let address: Address = address.as_str().expect("text").parse().expect("an address");
    relayer.chain.script().agents.get_mut(&address).expect("there").halted_by = Some(HaltedBy::Guardian);
    let listed = async |status: &str| {
        let page = relayer.get(&format!("/v1/accounts?status={status}")).await;
        let data = page.body["data"].as_array().expect("a list").clone();
        data.into_iter()
            .map(|account| account["account_id"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((listed("paused").await, listed("active").await), (vec![one.clone()], vec![two.clone()]));
    relayer.chain.script().operator_halted = Some(HaltedBy::Guardian);
    assert_eq!((listed("paused").await.len(), listed("active").await.len()), (2, 0));
}

#[tokio::test]
async fn a_halt_that_the_chain_cannot_be_asked_for_is_503() {
    let relayer = Relayer::start().await;
    relayer.chain.script().unreachable = true;
    let answer = relayer.send("POST", "/v1/halt", &relayer.key, None).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"));
}
