//! Signed refusals, over a scripted node: what is signed, who may read it, and heads whose answers get lost.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use purser_api::http::testing::{Relayer, operator_key};
use purser_chain::{FileSigner, new_keypair};
use purser_service::Services;
use serde_json::{Value, json};

use crate::{DenialParts, Denials};

/// The denials of a relayer. The key is the same for every relayer of these tests.
fn denials(services: &Services) -> Denials {
    static KEY: OnceLock<Vec<u8>> = OnceLock::new();
    let key = KEY.get_or_init(|| serde_json::from_str(&new_keypair().0).expect("numbers"));
    let parts = DenialParts {
        key: Arc::new(FileSigner::from_bytes(key).expect("a keypair")),
        head_interval: Some(Duration::from_secs(3_600)),
    };
    Denials::new(services, Some(parts))
}

async fn start() -> Relayer {
    Relayer::with_rest(|services| crate::routes(denials(services)), |_| ()).await
}

/// An account that may pay nothing, with this many refusals.
async fn refused(relayer: &Relayer, count: usize) -> Vec<String> {
    let account = relayer.account().await;
    let policy = format!("/v1/accounts/{account}/policy");
    assert_eq!(relayer.put(&policy, &json!({ "paused": true })).await.status, StatusCode::OK);
    let mut ids = Vec::new();
    for number in 0..count {
        let order = relayer.order(&account, &format!("{account} {number}"));
        let answer = relayer.post("/v1/transfers", &order).await;
        assert_eq!(answer.error(), (402, "account_paused"), "{}", answer.body);
        ids.push(answer.body["transfer_id"].as_str().expect("text").to_owned());
    }
    ids
}

fn named(answer: &Value) -> Vec<(u64, String)> {
    let data = answer["data"].as_array().expect("a list");
    let named = data.iter().map(|one| {
        let denial = &one["denial"];
        (
            denial["number"].as_u64().expect("a number"),
            denial["transfer_id"].as_str().expect("text").to_owned(),
        )
    });
    named.collect()
}

#[tokio::test]
async fn every_refusal_is_in_the_list_once_and_for_its_operator_alone() {
    let relayer = start().await;
    let ids = refused(&relayer, 25).await;
    assert_eq!(relayer.get("/v1/denials").await.body["data"], json!([]), "not yet");
    denials(&relayer.services).sign().await.expect("signed");
    denials(&relayer.services).sign().await.expect("nothing to do");
    let first = relayer.get("/v1/denials").await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    let path = format!("/v1/denials?cursor={}", first.body["cursor"].as_str().expect("a cursor"));
    let mut all = named(&first.body);
    all.extend(named(&relayer.get(&path).await.body));
    all.reverse();
    let expected: Vec<(u64, String)> = (1..).zip(ids).collect();
    assert_eq!(all, expected);
    let later = relayer.get("/v1/denials?above=23").await;
    assert_eq!(named(&later.body).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [25, 24]);
    for wrong in ["?above=-1", "?above=x", "?above=", "?cursor=AAAA", "?limit=0", "?since=1"] {
        assert_eq!(
            relayer.get(&format!("/v1/denials{wrong}")).await.error(),
            (400, "invalid_request"),
            "{wrong}"
        );
    }
    let stranger = operator_key(&relayer.store, 8).await;
    let seen = relayer.send("GET", "/v1/denials", &stranger, None).await;
    assert_eq!(seen.body["data"], json!([]));
    let denial = &first.body["data"][0]["denial"];
    assert_eq!(denial["reason"], "paused");
    assert_eq!(denial["amount_micro_usdc"], "1500000");
    assert_eq!(
        denial["checks"][0],
        json!({
            "limit_micro_usdc": null, "ok": false, "rule": "paused", "used_micro_usdc": "0"
        })
    );
}

/// Two processes sign at once, over and over: the chain has each refusal once, and no fork.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_relayers_sign_one_chain() {
    let relayer = start().await;
    let other = relayer.beside().await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.extend(refused(&relayer, 3).await);
        let (first, second) = (denials(&relayer.services), denials(&other.services));
        let (one, two) = tokio::join!(first.sign(), second.sign());
        one.expect("signed");
        two.expect("signed");
    }
    denials(&relayer.services).sign().await.expect("signed");
    let list = named(&relayer.get("/v1/denials?limit=100").await.body);
    assert_eq!(
        list.iter().map(|(number, _)| *number).rev().collect::<Vec<_>>(),
        (1..=18).collect::<Vec<u64>>()
    );
    let mut signed: Vec<String> = list.into_iter().map(|(_, id)| id).collect();
    signed.sort();
    ids.sort();
    assert_eq!(signed, ids);
}

#[tokio::test]
async fn a_head_whose_answer_is_lost_is_written_again_and_never_another() {
    let relayer = start().await;
    let denials = denials(&relayer.services);
    denials.write_heads().await.expect("nothing to do");
    assert!(relayer.chain.script().memos.is_empty(), "there is no chain");
    refused(&relayer, 2).await;
    denials.sign().await.expect("signed");
    relayer.chain.script().answers_lost = 1;
    denials.write_heads().await.expect("tried");
    relayer.chain.is_heard().await;
    denials.write_heads().await.expect("not its turn");
    let memos = relayer.chain.script().memos.clone();
    assert_eq!(memos.len(), 1);
    let words: Vec<&str> = memos[0].split(' ').collect();
    assert_eq!((&words[..3], words[4]), (&["purser", "denials", "v1"][..], "2"));
    // The claim was given up.
    let operator = relayer.store.operators.list_operators().await.expect("listed")[0].clone();
    let now = purser_service::SystemClock::SYSTEM.now();
    let past = now.before(Duration::from_secs(1));
    let ahead = purser_store::Due {
        now: now.after(Duration::from_secs(61)),
        latest: now.after(Duration::from_secs(7_200)),
    };
    assert!(relayer.store.denials.claim_head(operator.id, ahead, past).await.expect("claimed"));
    denials.write_heads().await.expect("written");
    denials.write_heads().await.expect("nothing to do");
    assert_eq!(relayer.chain.script().memos, [memos[0].clone(), memos[0].clone()]);
}

#[tokio::test]
async fn list_is_501_where_refusals_have_no_key() {
    let relayer = Relayer::with_rest(|services| crate::routes(Denials::new(services, None)), |_| ()).await;
    assert_eq!(relayer.get("/v1/denials").await.error(), (501, "not_configured"));
}
