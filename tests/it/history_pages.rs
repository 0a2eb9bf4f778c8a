//! `GET /v1/accounts/:id/transactions`: spans, filters, pages and cursors.

use purser_tests::Operator;
use purser_tests::clock::{iso_of, unix_of};
use purser_tests::wallet::{mints, withdraws};
use serde_json::json;

use crate::history::{entries, entries_once};

#[tokio::test]
async fn since_leaves_out_its_own_moment_and_all_before() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Dated", "10").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
    agent.pays("3").to(&payee).await.is_error(402, "policy_violation");
    let entries = entries(&agent, "").await;
    let (newer, older) = (&entries[0], &entries[1]);
    assert_eq!((&newer["amount_usdc"], &older["amount_usdc"]), (&json!("3.000000"), &json!("2.000000")));
    let moment = older["created_at"].as_str().expect("a moment");
    let path = |since: &str| format!("?since={}", since.replace('+', "%2B"));
    assert_eq!(self::entries(&agent, &path(moment)).await, std::slice::from_ref(newer));
    assert_eq!(self::entries(&agent, &path(&iso_of(unix_of(moment) - 1))).await.len(), 2);
    assert!(self::entries(&agent, &path("2100-01-01T00:00:00+02:00")).await.is_empty());
}

#[tokio::test]
async fn until_has_its_own_moment_so_that_spans_neither_overlap_nor_leave_gaps() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Booked", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    let all = entries(&agent, "").await;
    let moment = |index: usize| all[index]["visible_at"].as_str().expect("a moment");
    let between = |since: &str, until: &str| format!("?since={since}&until={until}");
    let long_ago = "2020-01-01T00:00:00Z";
    assert_eq!(entries(&agent, &between(long_ago, moment(2))).await, all[2..]);
    assert_eq!(entries(&agent, &between(moment(2), moment(0))).await, all[..2]);
    assert!(entries(&agent, &between(moment(1), moment(1))).await.is_empty());
    assert_eq!(entries(&agent, &format!("?until={}", moment(1))).await, all[1..]);
    // Paging works within a span, too.
    let path = |more: &str| agent.path(&format!("/transactions?limit=1&until={}{more}", moment(1)));
    let page = operator.client.get(&path("")).await.has_status(200);
    let next = operator.client.get(&path(&format!("&cursor={}", page.text_of("cursor")))).await;
    assert_eq!(next["data"], json!([all[2]]));
}

#[tokio::test]
async fn type_picks_transfers_deposits_or_withdrawals() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Mixed").await;
    let (payee, _) = operator.chain.new_payee().await;
    mints(&operator.chain, "10", &agent.token_account).await;
    withdraws(&agent, "1", &payee, operator.app().admin()).await;
    entries_once(&agent, 2).await;
    agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    agent.pays("2").to(&payee).await.is_settled();
    agent.pays("3").to(&payee).await.is_error(402, "policy_violation");
    let amounts = async |query: &str| -> Vec<String> {
        let shown = entries(&agent, query).await;
        shown.iter().map(|entry| entry["amount_usdc"].as_str().expect("an amount").to_owned()).collect()
    };
    assert_eq!(amounts("").await.len(), 4);
    for (query, expected) in [
        ("?type=transfer", vec!["3.000000", "2.000000"]),
        ("?type=transfer&status=settled", vec!["2.000000"]),
        ("?type=transfer&status=rejected", vec!["3.000000"]),
        ("?type=transfer&limit=1", vec!["3.000000"]),
        ("?type=deposit", vec!["10.000000"]),
        ("?type=deposit&status=rejected", vec![]),
        ("?type=withdrawal&status=all", vec!["1.000000"]),
    ] {
        assert_eq!(amounts(query).await, expected, "{query}");
    }
    assert_eq!(amounts("?status=settled").await.len(), 3);
}

#[tokio::test]
async fn pages_have_no_gap_and_no_repetition_while_entries_are_added() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Busy", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..5 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    let before = entries(&agent, "").await;
    let mut seen = Vec::new();
    let mut query = "?limit=2".to_owned();
    for _ in 0..3 {
        let page = operator.client.get(&agent.path(&format!("/transactions{query}"))).await.has_status(200);
        seen.extend(page["data"].as_array().expect("a list").clone());
        // Newer entries come in between two pages, and do not appear on later pages.
        agent.pays("2").to(&payee).await.is_settled();
        match page["cursor"].as_str() {
            Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
            None => assert_eq!(page["has_more"], false),
        }
    }
    assert_eq!(seen, before);
    assert_eq!(entries(&agent, "").await.len(), 8);
}

#[tokio::test]
async fn cursor_belongs_to_its_account_and_filter() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Paged", "100").await;
    let other = operator.creates_account("Other").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..3 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    let page = operator.client.get(&agent.path("/transactions?limit=1")).await.has_status(200);
    assert_eq!(page["has_more"], true);
    let cursor = page.text_of("cursor");
    let next = agent.path(&format!("/transactions?limit=2&cursor={cursor}"));
    operator.client.get(&next).await.has_status(200);
    for path in [
        other.path(&format!("/transactions?cursor={cursor}")),
        agent.path(&format!("/transactions?cursor={cursor}&status=settled")),
        agent.path(&format!("/transactions?cursor={cursor}&since=2020-01-01T00:00:00Z")),
        agent.path(&format!("/transactions?cursor={cursor}&until=2120-01-01T00:00:00Z")),
        agent.path(&format!("/transactions?cursor={cursor}&type=transfer")),
        agent.path("/transactions?cursor=AAAA"),
    ] {
        operator.client.get(&path).await.blames("cursor");
    }
}

#[tokio::test]
async fn parameters_of_the_history_are_checked() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Asked").await;
    for (query, param) in [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?status=failed", "status"),
        ("?status=", "status"),
        ("?since=yesterday", "since"),
        ("?since=2026-01-01", "since"),
        ("?until=tomorrow", "until"),
        ("?type=payment", "type"),
        ("?type=", "type"),
        ("?order=asc", "order"),
    ] {
        operator.client.get(&agent.path(&format!("/transactions{query}"))).await.blames(param);
    }
    let page = operator.client.get(&agent.path("/transactions?limit=100")).await.has_status(200);
    assert_eq!(page.body, json!({ "data": [], "cursor": null, "has_more": false }));
}

#[tokio::test]
async fn page_of_the_history_has_25_entries_unless_asked_otherwise() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Long", "10").await;
    agent.sets_policy(json!({ "paused": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..26 {
        agent.pays("1").to(&payee).await.is_error(402, "account_paused");
    }
    assert_eq!(entries(&agent, "").await.len(), 25);
    assert_eq!(entries(&agent, "?limit=100").await.len(), 26);
}
