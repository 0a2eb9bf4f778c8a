//! `GET /v1/transfers`: newest first, by every filter, in pages.

use std::time::Duration;

use purser_tests::agent::unique_key;
use purser_tests::{Agent, Answer, Client, Operator};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

/// Two accounts of one operator, and a payee.
async fn accounts_and_payee() -> (Agent, Agent, Pubkey) {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "10").await;
    let ben = operator.creates_account_with("Ben", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    (ada, ben, payee)
}

async fn listed(client: &Client, query: &[(&str, &str)]) -> Vec<String> {
    let request = client.request(reqwest::Method::GET, "/v1/transfers").query(query);
    ids(&client.sends(request).await.has_status(200))
}

fn ids(page: &Answer) -> Vec<String> {
    let data = page["data"].as_array().expect("a page has data");
    data.iter().map(|transfer| transfer["transfer_id"].as_str().expect("an id").to_owned()).collect()
}

fn id(answer: &Answer) -> String {
    answer.text_of("transfer_id").to_owned()
}

#[tokio::test]
async fn transfers_of_all_accounts_are_listed_newest_first_and_by_every_filter() {
    let (ada, ben, payee) = accounts_and_payee().await;
    let client = &ada.operator.client;
    assert!(listed(client, &[]).await.is_empty());
    let key = unique_key();
    let first = id(&ada.pays("1").to(&payee).await.is_settled());
    let failed = id(&ben.pays("99").to(&payee).key(&key).await.is_error(402, "insufficient_balance"));
    // Ids are in order by the millisecond, which is over once the answer is a millisecond old.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let again = id(&ben.pays("99").to(&payee).key(&key).await.is_error(402, "insufficient_balance"));
    ada.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let refused = id(&ada.pays("2").to(&payee).await.is_error(402, "policy_violation"));
    let last = id(&ben.pays("1").to(&ada).await.is_settled());
    let all = [&last, &refused, &again, &failed, &first].map(String::clone);
    assert_eq!(listed(client, &[]).await, all);
    for (query, expected) in [
        (vec![("account_id", ada.id.as_str())], vec![&refused, &first]),
        (vec![("account_id", &ben.id)], vec![&last, &again, &failed]),
        (vec![("status", "settled")], vec![&last, &first]),
        (vec![("status", "rejected")], vec![&refused]),
        (vec![("status", "failed")], vec![&again, &failed]),
        (vec![("status", "submitted")], vec![]),
        (vec![("status", "settled"), ("account_id", &ada.id)], vec![&first]),
        (vec![("idempotency_key", &key)], vec![&again, &failed]),
        (vec![("idempotency_key", &key), ("account_id", &ada.id)], vec![]),
        (vec![("idempotency_key", &key), ("status", "failed")], vec![&again, &failed]),
        (vec![("idempotency_key", "nobody\u{1F600}'s | key")], vec![]),
        (vec![("account_id", "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")], vec![]),
    ] {
        assert_eq!(listed(client, &query).await.iter().collect::<Vec<_>>(), expected, "{query:?}");
    }
    let page = client.get("/v1/transfers").await.has_status(200);
    assert_eq!((&page["has_more"], &page["cursor"]), (&json!(false), &Value::Null));
    for transfer in page["data"].as_array().expect("data") {
        let path = format!("/v1/transfers/{}", transfer["transfer_id"].as_str().expect("an id"));
        assert_eq!(client.get(&path).await.body, *transfer, "a list shows what GET shows");
    }
}

#[tokio::test]
async fn transfers_of_a_span_of_time_are_listed() {
    let (ada, _, payee) = accounts_and_payee().await;
    let client = &ada.operator.client;
    let mut moments = Vec::new();
    let mut transfers = Vec::new();
    for _ in 0..3 {
        let made = ada.pays("1").to(&payee).await.is_settled();
        moments.push(made.text_of("created_at").to_owned());
        transfers.insert(0, id(&made));
    }
    assert_eq!(listed(client, &[("since", &moments[0])]).await, transfers[..2]);
    assert_eq!(listed(client, &[("until", &moments[1])]).await, transfers[1..]);
    assert_eq!(listed(client, &[("since", &moments[0]), ("until", &moments[1])]).await, transfers[1..2]);
    assert!(listed(client, &[("since", &moments[2])]).await.is_empty());
    assert!(listed(client, &[("until", "2000-01-01T00:00:00Z")]).await.is_empty());
}

#[tokio::test]
async fn pages_of_transfers_stay_whole_while_more_are_made() {
    let (ada, _, payee) = accounts_and_payee().await;
    let client = &ada.operator.client;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, id(&ada.pays("0.1").to(&payee).await.is_settled()));
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/transfers?limit=2{cursor}")).await.has_status(200);
        seen.extend(ids(&page));
        ada.pays("0.1").to(&payee).await.is_settled();
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        assert_eq!(page["has_more"], true);
    }
    assert_eq!(seen, made);
    let page = client.get("/v1/transfers?limit=1").await.has_status(200);
    let foreign = format!("/v1/transfers?status=settled&cursor={}", page.text_of("cursor"));
    client.get(&foreign).await.blames("cursor");
    client.get("/v1/transfers?limit=101").await.blames("limit");
}

#[tokio::test]
async fn agent_lists_its_own_transfers_and_no_others() {
    let (ada, ben, payee) = accounts_and_payee().await;
    let own = id(&ada.pays("1").to(&payee).await.is_settled());
    ben.pays("1").to(&payee).await.is_settled();
    let key = ada.new_key().await;
    assert_eq!(listed(&key, &[]).await, std::slice::from_ref(&own));
    assert_eq!(listed(&key, &[("account_id", &ada.id), ("status", "settled")]).await, [own]);
    key.get(&format!("/v1/transfers?account_id={}", ben.id)).await.is_error(403, "forbidden");
    let stranger = ada.operator.app().new_operator().await;
    assert!(listed(&stranger.client, &[("account_id", &ada.id)]).await.is_empty());
}
