//! Halts: who stopped what, and that nothing here lifts a halt.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;
use std::collections::HashSet;
use std::num::NonZeroU32;

use super::{NoExtensions, Relayer, settings};
use crate::http::{HttpSettings, router};
use purser_chain::{Outcome, Refusal, SentEnd};
use purser_model::{Action, Address, HaltedBy, RejectionReason, Stop, Stopped};
use purser_service::SystemClock;

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
    let mut signatures = HashSet::new();
    for body in [None, Some("{}"), Some("")] {
        let halted = relayer.send("POST", "/v1/halt", &relayer.key, body).await;
        assert_eq!(halted.status, StatusCode::OK, "{}", halted.body);
        let on_record = relayer.get("/v1/actions?action=halt&limit=1").await.body["data"][0].clone();
        let signature = on_record["tx_signature"].as_str().expect("text").to_owned();
        let expected = json!({
            "halted": true, "halted_by": "policy_authority", "tx_signature": signature, "action_id": on_record["id"],
        });
        assert_eq!(halted.body, expected);
        signatures.insert(signature);
    }
    assert_eq!(signatures.len(), 3, "each is a transaction of its own");
    // No indexer has seen it yet.
    let halted = json!({ "by": "policy_authority", "scope": "operator", "action_id": null });
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
    let halted = json!({ "by": "guardian", "scope": "account", "action_id": null });
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
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::Rule(RejectionReason::Halted)));
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

impl Relayer {
    /// The stops that are followed.
    async fn followed(&self) -> Vec<String> {
        let stops = self.store.actions.list_stops(10).await.expect("listed");
        stops.into_iter().map(|stop| stop.tx_signature).collect()
    }

    fn stands(&self, signature: &str, end: SentEnd) {
        self.chain.script().ends.insert(signature.to_owned(), end);
    }
}

#[tokio::test]
async fn a_halt_that_a_fork_drops_is_sent_again_until_one_is_final() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let one = format!("/v1/accounts/{account}");
    for path in ["/v1/halt".to_owned(), format!("{one}/halt")] {
        let halted = relayer.send("POST", &path, &relayer.key, None).await;
        let first = halted.body["tx_signature"].as_str().expect("text").to_owned();
        relayer.stands(&first, SentEnd::Open);
        relayer.services.look_at_stops().await.expect("looked");
        assert_eq!(relayer.followed().await, [first.as_str()], "not final yet");

        relayer.stands(&first, SentEnd::Expired);
        relayer.services.look_at_stops().await.expect("looked");
        assert_eq!(relayer.followed().await, [first.as_str()], "it is halted: the node may be behind");

        {
            let mut script = relayer.chain.script();
            script.operator_halted = None;
            script.agents.values_mut().for_each(|agent| agent.halted_by = None);
        }
        relayer.services.look_at_stops().await.expect("looked");
        assert_eq!(relayer.get(&one).await.body["status"], "paused", "{path}");
        let again = relayer.followed().await;
        assert!(again.len() == 1 && again[0] != first, "{again:?}");
        let action = relayer.get("/v1/actions?limit=1").await.body["data"][0].clone();
        assert_eq!((&action["outcome"], &action["tx_signature"]), (&json!("done"), &json!(again[0])));

        relayer.services.look_at_stops().await.expect("looked");
        assert_eq!(relayer.followed().await, [""; 0], "final");
        relayer.chain.script().operator_halted = None;
    }
}

#[tokio::test]
async fn a_halt_whose_process_was_killed_is_followed_and_done_once_it_is_final() {
    let relayer = Relayer::start().await;
    relayer.account().await;
    let operators = relayer.store.operators.list_operators().await.expect("read");
    let operator_id = operators.first().expect("an operator").id;
    let now = SystemClock::SYSTEM.now();
    let action =
        Action::new(operator_id, "halt".parse().expect("a word"), now, SystemClock::SYSTEM.id_bits());
    relayer.store.actions.insert_action(&action).await.expect("inserted");
    let what = Stopped::Halted(None);
    let stop = Stop {
        operator_id,
        action_id: Some(action.id),
        what,
        tx_signature: "cut".to_owned(),
        landed_at: now,
    };
    relayer.store.actions.insert_stop(&stop).await.expect("inserted");
    // A fork drops it; it is sent again, lands, and is final with the next look.
    relayer.stands("cut", SentEnd::Expired);
    relayer.services.look_at_stops().await.expect("looked");
    let [again] = &relayer.followed().await[..] else { panic!("it is followed") };
    assert_ne!(again, "cut");
    assert!(relayer.chain.script().operator_halted.is_some());
    relayer.services.look_at_stops().await.expect("looked");
    let listed = relayer.get(&format!("/v1/actions?action_id={}", action.id)).await.body["data"][0].clone();
    assert_eq!((&listed["outcome"], &listed["tx_signature"]), (&json!("done"), &json!(again)));
}

#[tokio::test]
async fn a_pause_that_a_fork_drops_is_sent_again_unless_it_was_lifted() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let policy = format!("/v1/accounts/{account}/policy");
    let drop_it = |signature: &str| {
        relayer.stands(signature, SentEnd::Expired);
        relayer.chain.script().agents.values_mut().for_each(|agent| agent.policy.paused = false);
    };
    for body in [json!({ "paused": true }), json!({ "paused": true, "require_memo": true })] {
        assert_eq!(relayer.patch(&policy, &body).await.status, StatusCode::OK);
        let [first] = &relayer.followed().await[..] else { panic!("one pause is followed") };
        drop_it(first);
        // Another process follows it as well: the one that paused may be gone.
        relayer.beside().await.services.look_at_stops().await.expect("looked");
        assert_eq!(relayer.get(&policy).await.body["paused"], true, "{body}");
        assert_eq!(relayer.put(&policy, &json!({ "paused": false })).await.body["paused"], false);
        assert_eq!(relayer.followed().await, [""; 0], "{body}");
    }
}

#[tokio::test]
async fn a_flood_under_the_same_key_does_not_hold_up_who_stops_it() {
    let mut relayer = Relayer::start().await;
    let account = relayer.account().await;
    let two = NonZeroU32::new(2).expect("positive");
    let slow = HttpSettings { requests_per_second: NonZeroU32::MIN, burst: two, ..settings() };
    relayer.router = router(&relayer.services, slow, &NoExtensions);
    let (one, policy) = (format!("/v1/accounts/{account}"), format!("/v1/accounts/{account}/policy"));
    let pause = json!({ "paused": true }).to_string();
    while relayer.get(&one).await.status == StatusCode::OK {}
    for (method, path, body) in [("POST", "/v1/halt", None), ("PUT", &policy, Some(pause.as_str()))] {
        let stopped = relayer.send(method, path, &relayer.key, body).await;
        assert_eq!(stopped.status, StatusCode::OK, "{method} {path}: {}", stopped.body);
    }
    // What lifts or changes is no stop, and stops have a limit too. However slow this machine is, some request comes too early.
    let (lift, memo) = (json!({ "paused": false }).to_string(), json!({ "require_memo": true }).to_string());
    let halt = format!("{one}/halt");
    for (method, path, body) in
        [("PUT", &policy, Some(&lift)), ("PATCH", &policy, Some(&memo)), ("POST", &halt, None)]
    {
        let mut tries = 0..1_000;
        let is_refused = async || {
            let answer = relayer.send(method, path, &relayer.key, body.map(String::as_str)).await;
            answer.status == StatusCode::TOO_MANY_REQUESTS
        };
        while !is_refused().await {
            tries.next().expect("there is a limit");
        }
    }
}
