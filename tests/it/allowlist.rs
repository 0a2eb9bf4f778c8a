//! `allowed_counterparties`: valid entries, their number, and whom they allow to be paid.

use purser_policy::Allowlist;
use purser_tests::Operator;
use reqwest::Method;
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

/// Addresses in the order of an allowlist.
fn by_bytes(addresses: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut addresses: Vec<String> = addresses.into_iter().collect();
    addresses.sort_by_key(|text| text.parse::<Pubkey>().expect("an address").to_bytes());
    addresses
}

#[tokio::test]
async fn allowlist_takes_token_accounts_wallets_and_accounts_and_answers_them_by_address() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let friend = operator.creates_account("Friend").await;
    let (listed, _) = operator.chain.new_payee().await;
    let (owned, wallet) = operator.chain.new_payee().await;
    let (stranger, _) = operator.chain.new_payee().await;
    let wallet = wallet.pubkey().to_string();
    let entries = json!([friend.id, listed.to_string(), wallet]);
    let mut answered = by_bytes([friend.address.to_string(), wallet]);
    answered.push(listed.to_string());
    let kinds = json!(["wallet", "wallet", "token_account"]);
    for policy in [
        agent.sets_policy(json!({ "allowed_counterparties": entries })).await,
        agent.operator.client.get(&agent.path("/policy")).await,
    ] {
        assert_eq!(policy["allowed_counterparties"], json!(answered));
        assert_eq!(policy["counterparty_kinds"], kinds);
    }
    agent.pays("1").to(&friend).await.is_settled();
    agent.pays("1").to(&friend.token_account).await.is_settled();
    agent.pays("1").to(&listed).await.is_settled();
    agent.pays("1").to(&owned).await.is_settled();
    let refused = agent.pays("1").to(&stranger).await.is_error(402, "policy_violation");
    assert_eq!(refused.failed_checks(), ["allowed_counterparties"]);
}

#[tokio::test]
async fn empty_allowlist_allows_nobody_and_null_allows_all() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let policy = agent.sets_policy(json!({ "allowed_counterparties": [] })).await;
    assert_eq!(policy["allowed_counterparties"], json!([]));
    agent.pays("1").to(&payee).await.is_error(402, "policy_violation");
    agent.sets_policy(json!({ "allowed_counterparties": null })).await;
    agent.pays("1").to(&payee).await.is_settled();
}

#[tokio::test]
async fn duplicate_allowlist_entries_collapse() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let (one, two) = (
        Keypair::new_from_array([1; 32]).pubkey().to_string(),
        Keypair::new_from_array([2; 32]).pubkey().to_string(),
    );
    let policy = agent.sets_policy(json!({ "allowed_counterparties": [one, two, one] })).await;
    assert_eq!(policy["allowed_counterparties"], json!(by_bytes([one, two])));
}

#[tokio::test]
async fn allowlist_of_256_entries_works_and_257_are_invalid() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let address = |n: u16| {
        let mut bytes = [9; 32];
        bytes[..2].copy_from_slice(&n.to_be_bytes());
        Keypair::new_from_array(bytes).pubkey().to_string()
    };
    let mut entries: Vec<String> = (0..255).map(address).collect();
    let mut answered = by_bytes(entries.clone());
    for list in [&mut entries, &mut answered] {
        list.push(payee.to_string());
    }
    let policy = agent.sets_policy(json!({ "allowed_counterparties": entries })).await;
    assert_eq!(policy["allowed_counterparties"], json!(answered));
    let view = operator.chain.agent(&agent.address).await;
    let policy = view.policy();
    assert!(matches!(policy.allowlist, Allowlist::Only(_)));
    let (wallets, token_accounts) = policy.allowlist.entries();
    assert_eq!((wallets.len(), token_accounts.len()), (255, 1));
    agent.pays("1").to(&payee).await.is_settled();
    entries.push(address(255));
    let body = json!({ "allowed_counterparties": entries });
    operator.client.put(&agent.path("/policy"), &body).await.blames("allowed_counterparties");
    assert_eq!(operator.chain.agent(&agent.address).await.policy(), view.policy());
    let lifted = agent.sets_policy(json!({})).await;
    assert_eq!(lifted["allowed_counterparties"], json!(null));
}

#[tokio::test]
async fn allowlist_entry_that_is_no_address_is_invalid_and_named() {
    let agent = Operator::shared().await.creates_account("Ada").await;
    let fine = Keypair::new_from_array([1; 32]).pubkey().to_string();
    for entry in [json!("nobody"), json!(""), json!("acct_x"), json!("0OIl")] {
        let body = json!({ "allowed_counterparties": [fine, entry] });
        let refused = agent.operator.client.put(&agent.path("/policy"), &body).await;
        refused.blames("allowed_counterparties[1]");
    }
    for list in [json!("all"), json!({}), json!([7]), json!([null]), json!(true)] {
        let body = json!({ "allowed_counterparties": list });
        let refused =
            agent.operator.client.put(&agent.path("/policy"), &body).await.is_error(400, "invalid_request");
        assert!(refused.text_of("param").starts_with("allowed_counterparties"));
    }
}

#[tokio::test]
async fn allowlist_entry_of_another_operator_is_answered_like_an_unknown_one() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let theirs = operator.app().new_operator().await.creates_account("Theirs").await;
    let mut answers = Vec::new();
    for id in [theirs.id.as_str(), "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let body = json!({ "allowed_counterparties": [id] });
        let refused =
            operator.client.put(&agent.path("/policy"), &body).await.is_error(400, "invalid_request");
        answers.push(refused.text.replace(id, "ID").replace(refused.text_of("request_id"), ""));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn bad_allowlist_entry_is_named_by_its_place_whatever_is_wrong_with_it() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let good = Keypair::new().pubkey().to_string();
    let address = good.as_str();
    let bad = [
        r#""nobody""#.to_owned(),
        r#""""#.to_owned(),
        "7".to_owned(),
        "1e999".to_owned(),
        "-9223372036854775809".to_owned(),
        "null".to_owned(),
        "true".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        r#""a\u0000b""#.to_owned(),
        r#""\ud800""#.to_owned(),
        r#""acct_01ARZ3NDEKTSV4RRFFQ69G5FAV""#.to_owned(),
        format!("\"{}\"", "x".repeat(10_000)),
        format!("\" {address}\""),
        r#"{"wallet":5}"#.to_owned(),
        r#"{"wallet":null}"#.to_owned(),
        r#"{"wallet":"nobody"}"#.to_owned(),
        r#"{"wallet":"a\u0000b"}"#.to_owned(),
        r#"{"bank":"nobody"}"#.to_owned(),
        format!(r#"{{"wallet":"{address}","token_account":"{address}"}}"#),
        format!(r#"{{"wallet":"{address}","wallet":"{address}"}}"#),
        format!("{}{}", "[".repeat(40), "]".repeat(40)),
        // Off the curve and no token account: the entry must say what it is.
        format!("\"{}\"", operator.address),
    ];
    for entry in &bad {
        let list = format!(r#"{{"allowed_counterparties":["{address}","{address}",{entry}]}}"#);
        for method in [Method::PUT, Method::PATCH] {
            let answer = operator.client.sends_bytes(method, &agent.path("/policy"), list.clone()).await;
            assert_eq!(answer["param"], "allowed_counterparties[2]", "{entry:.60}: {}", answer.text);
            answer.is_error(400, "invalid_request");
        }
        let body = format!(r#"{{"name":"Ben","policy":{list}}}"#);
        let answer = operator.client.sends_bytes(Method::POST, "/v1/accounts", body).await;
        assert_eq!(answer["param"], "policy.allowed_counterparties[2]", "{entry:.60}: {}", answer.text);
        answer.is_error(400, "invalid_request");
    }
}
