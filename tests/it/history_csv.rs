//! The history as CSV: the same entries, whatever text others put into them.

use purser_tests::agent::all_at_once;
use purser_tests::wallet::mints;
use purser_tests::{Agent, Answer, Client, Operator};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::history::{entries, entries_once};

async fn asks(client: &Client, agent: &Agent, query: &str, accept: &str) -> Answer {
    let path = agent.path(&format!("/transactions{query}"));
    client.sends(client.request(Method::GET, &path).header("accept", accept)).await
}

/// Each line as an object by column name; an empty cell is `null`.
fn lines(csv: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().expect("a head").clone();
    let line = |cells: csv::StringRecord| {
        let cell = |(name, text): (&str, &str)| {
            (name.to_owned(), if text.is_empty() { Value::Null } else { json!(text) })
        };
        Value::Object(names.iter().zip(cells.iter()).map(cell).collect::<Map<_, _>>())
    };
    reader.records().map(|cells| line(cells.expect("a line"))).collect()
}

#[tokio::test]
async fn csv_has_the_entries_that_pages_have_and_no_formula() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Booked").await;
    let (payee, _) = operator.chain.new_payee().await;
    mints(&operator.chain, "100", &agent.token_account).await;
    entries_once(&agent, 1).await;
    let memos = [
        "=HYPERLINK(\"http://evil.example\")",
        "+1",
        "-1",
        "@SUM(A1)",
        "rent, \"July\"",
        "two\nlines",
        "🏠",
        "lunch;=1+1;x",
    ];
    for memo in memos {
        agent.pays("1").to(&payee).memo(memo).await.is_settled();
    }
    agent.sets_policy(json!({ "paused": true })).await;
    agent.pays("1").to(&payee).memo("=1").await.is_error(402, "account_paused");
    let answer = asks(&operator.client, &agent, "", "text/csv").await.has_status(200);
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(answer.header("vary"), Some("accept"));
    let file = format!("attachment; filename=\"{}.csv\"", agent.id);
    assert_eq!(answer.header("content-disposition"), Some(file.as_str()));
    assert!(answer.text.starts_with("\u{feff}"), "a byte order mark");
    let media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let book = asks(&operator.client, &agent, "", media_type).await.has_status(200);
    assert_eq!(book.header("content-type"), Some(media_type));
    let file = format!("attachment; filename=\"{}.xlsx\"", agent.id);
    assert_eq!(book.header("content-disposition"), Some(file.as_str()));
    let mut expected = entries(&agent, "").await;
    assert_eq!(expected.len(), memos.len() + 2);
    for entry in &mut expected {
        if let Some(memo) = entry["memo"].as_str()
            && memo.starts_with(['=', '+', '-', '@'])
        {
            entry["memo"] = json!(format!("'{memo}"));
        } else if entry["memo"] == "lunch;=1+1;x" {
            entry["memo"] = json!("lunch;'=1+1;x");
        }
    }
    assert_eq!(lines(&answer.text), expected);
    // The filters of the JSON pages work here.
    let deposits = asks(&operator.client, &agent, "?type=deposit", "text/csv").await;
    assert_eq!(lines(&deposits.text), expected[expected.len() - 1..]);
    let newest = expected[1]["visible_at"].as_str().expect("a moment");
    let later = asks(&operator.client, &agent, &format!("?since={newest}"), "text/csv").await;
    assert_eq!(lines(&later.text), expected[..1]);
    let none = asks(&operator.client, &agent, "?until=2020-01-01T00:00:00Z", "text/csv").await;
    assert_eq!(none.text.lines().count(), 1, "the names alone");
}

#[tokio::test]
async fn csv_of_a_long_history_is_whole_and_comes_in_pieces() {
    const ENTRIES: usize = 1_030;
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Long", "1").await;
    agent.sets_policy(json!({ "paused": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    for begun in (0..ENTRIES).step_by(10) {
        for answer in all_at_once((begun..begun + 10).map(|_| agent.pays("1").to(&payee))).await {
            answer.is_error(402, "account_paused");
        }
    }
    let answer = asks(&operator.client, &agent, "", "text/csv").await.has_status(200);
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let lines = lines(&answer.text);
    let (mut paged, mut query) = (Vec::new(), "?limit=100".to_owned());
    loop {
        let page = operator.client.get(&agent.path(&format!("/transactions{query}"))).await.has_status(200);
        paged.extend(page["data"].as_array().expect("a list").clone());
        let Some(cursor) = page["cursor"].as_str() else { break };
        query = format!("?limit=100&cursor={cursor}");
    }
    assert_eq!((lines.len(), lines), (ENTRIES, paged));
}

#[tokio::test]
async fn csv_is_for_clients_that_accept_it_and_may_see_the_history() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Asked").await;
    for accept in ["application/json", "*/*", "application/json, text/csv", "text/csv;q=0"] {
        let answer = asks(&operator.client, &agent, "", accept).await.has_status(200);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
    }
    for (query, param) in [("?limit=5", "limit"), ("?cursor=AAAA", "cursor"), ("?type=gift", "type")] {
        asks(&operator.client, &agent, query, "text/csv").await.blames(param);
    }
    let other = operator.creates_account("Other").await;
    let foreign = operator.app().new_operator().await;
    asks(&other.new_key().await, &agent, "", "text/csv").await.is_error(403, "forbidden");
    asks(&foreign.client, &agent, "", "text/csv").await.is_error(404, "not_found");
    asks(&agent.new_key().await, &agent, "", "text/csv").await.has_status(200);
}
