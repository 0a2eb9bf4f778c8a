//! A wallet as the payee: its associated USDC token account is paid, if it has one and still owns it.

use axum::http::StatusCode;
use purser_chain::scripted::{vault_at, wallet_at};
use purser_chain::{Destination, Outcome, Refusal};
use purser_core::NotWallet;
use purser_model::Address;
use serde_json::{Value, json};

use super::Relayer;

/// A wallet, and where it is paid.
fn wallet(relayer: &Relayer, number: u16) -> (Address, Address) {
    let wallet = wallet_at(number);
    (wallet, relayer.chain.usdc_account_of(&wallet))
}

/// The same, with a token account of this owner.
fn owned(relayer: &Relayer, number: u16, owner: Option<Address>) -> (Address, Address) {
    let (wallet, token_account) = wallet(relayer, number);
    stands(relayer, token_account, Destination::TokenAccount { owner: owner.unwrap_or(wallet) });
    (wallet, token_account)
}

fn stands(relayer: &Relayer, at: Address, destination: Destination) {
    relayer.chain.script().destinations.insert(at, destination);
}

fn order(relayer: &Relayer, account: &str, key: &str, wallet: Address) -> Value {
    with_payee(&relayer.order(account, key), json!({ "wallet": wallet.to_string() }))
}

fn with_payee(order: &Value, to: Value) -> Value {
    let mut changed = order.clone();
    changed["to"] = to;
    changed
}

#[tokio::test]
async fn wallet_is_paid_at_its_token_account_and_both_are_told() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, token_account) = owned(&relayer, 50, None);
    let order = order(&relayer, &account, "order-1", wallet);
    let preview = relayer.post("/v1/transfers/preview", &order).await;
    assert_eq!(preview.body["allowed"], true, "{}", preview.body);
    let paid = relayer.post("/v1/transfers", &order).await;
    assert_eq!((paid.status, &paid.body["status"]), (StatusCode::OK, &json!("settled")), "{}", paid.body);
    assert_eq!(paid.body["to"], token_account.to_string());
    assert_eq!(paid.body["to_wallet"], wallet.to_string());
    assert_eq!(relayer.chain.script().orders[0].destination, token_account);
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!(
        (again.body, &again.headers["idempotent-replayed"]),
        (paid.body.clone(), &"true".parse().expect("text"))
    );
    let path = format!("/v1/transfers/{}", paid.body["transfer_id"].as_str().expect("text"));
    assert_eq!(relayer.get(&path).await.body, paid.body);
    let events = relayer.get("/v1/events").await;
    for event in
        events.body["data"].as_array().expect("a list").iter().filter(|event| event["data"]["to"].is_string())
    {
        assert_eq!(event["data"]["to_wallet"], wallet.to_string(), "{event}");
    }
    // What names no wallet says so.
    let text = relayer.post("/v1/transfers", &relayer.order(&account, "order-2")).await;
    assert_eq!((&text.body["status"], &text.body["to_wallet"]), (&json!("settled"), &Value::Null));
}

#[tokio::test]
async fn wallet_and_its_token_account_are_two_requests_and_one_payee() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, token_account) = owned(&relayer, 50, None);
    let (other, _) = owned(&relayer, 51, None);
    let mut order = order(&relayer, &account, "order-1", wallet);
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
    for to in [json!(token_account.to_string()), json!({ "wallet": other.to_string() })] {
        let conflict = relayer.post("/v1/transfers", &with_payee(&order, to)).await;
        assert_eq!(conflict.error(), (409, "idempotency_conflict"), "{}", conflict.body);
    }
    for (key, to) in [("a", json!(token_account.to_string())), ("b", json!({ "wallet": wallet.to_string() }))]
    {
        order["to"] = to;
        order["idempotency_key"] = json!(key);
        order["refuse_duplicate"] = json!(true);
        let like = relayer.post("/v1/transfers", &order).await;
        assert_eq!(like.error(), (409, "likely_duplicate"), "{}", like.body);
    }
    order["to"] = json!({ "wallet": other.to_string() });
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
    assert_eq!(relayer.chain.script().sent.len(), 2);
}

#[tokio::test]
async fn wallet_without_a_token_account_is_told_the_rent_and_paid_once_it_has_one() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, token_account) = wallet(&relayer, 50);
    let order = order(&relayer, &account, "order-1", wallet);
    let preview = relayer.post("/v1/transfers/preview", &order).await;
    assert_eq!(
        (preview.status, &preview.body["allowed"]),
        (StatusCode::OK, &json!(false)),
        "{}",
        preview.body
    );
    assert_eq!(preview.body["error"], "recipient_has_no_token_account");
    for _ in 0..2 {
        let refused = relayer.post("/v1/transfers", &order).await;
        assert_eq!(refused.error(), (422, "recipient_has_no_token_account"), "{}", refused.body);
        assert_eq!((&refused.body["retryable"], &refused.body["approvable"]), (&json!(false), &json!(false)));
        assert_eq!((&refused.body["status"], &refused.body["checks"]), (&json!("failed"), &Value::Null));
        for answer in [&refused, &preview] {
            assert_eq!(answer.body["rent_lamports"], 2_039_280, "{}", answer.body);
            assert_eq!(answer.body["message"], refused.body["message"]);
        }
        let message = refused.body["message"].as_str().expect("text");
        assert!(message.contains(&token_account.to_string()), "{message}");
        let path = format!("/v1/transfers/{}", refused.body["transfer_id"].as_str().expect("text"));
        let read = relayer.get(&path).await;
        assert_eq!(read.body["error"], "recipient_has_no_token_account");
        assert_eq!(read.body["to_wallet"], wallet.to_string());
    }
    assert!(relayer.chain.script().orders.is_empty());
    owned(&relayer, 50, None);
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn policy_and_balance_refuse_before_anybody_is_told_to_create_a_token_account() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, _) = wallet(&relayer, 50);
    let path = format!("/v1/accounts/{account}/policy");
    let refused = async |key: &str, policy: Value, amount: &str| {
        assert_eq!(relayer.put(&path, &policy).await.status, StatusCode::OK);
        let mut order = order(&relayer, &account, key, wallet);
        order["amount"] = json!(amount);
        let answer = relayer.post("/v1/transfers", &order).await;
        assert!(answer.body["rent_lamports"].is_null(), "{}", answer.body);
        let (status, code) = answer.error();
        (status, code.to_owned())
    };
    let violation = (402, "policy_violation".to_owned());
    assert_eq!(refused("a", json!({ "allowed_counterparties": [] }), "1").await, violation);
    assert_eq!(refused("b", json!({ "max_single_transfer": 1 }), "2").await, violation);
    assert_eq!(refused("c", json!({ "paused": true }), "1").await, (402, "account_paused".to_owned()));
    assert_eq!(refused("d", json!({}), "101").await, (402, "insufficient_balance".to_owned()));
    // The list has the wallet, which will own its token account.
    let allowed = json!({ "allowed_counterparties": [{ "wallet": wallet.to_string() }] });
    assert_eq!(relayer.put(&path, &allowed).await.status, StatusCode::OK);
    let answer = relayer.post("/v1/transfers", &order(&relayer, &account, "e", wallet)).await;
    assert_eq!(answer.error(), (422, "recipient_has_no_token_account"), "{}", answer.body);
}

#[tokio::test]
async fn allowlist_matches_the_wallet_or_its_token_account() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, token_account) = owned(&relayer, 50, None);
    let path = format!("/v1/accounts/{account}/policy");
    for (key, entry, status) in [
        ("a", json!({ "wallet": wallet.to_string() }), StatusCode::OK),
        ("b", json!({ "token_account": token_account.to_string() }), StatusCode::OK),
        ("c", json!({ "token_account": wallet.to_string() }), StatusCode::PAYMENT_REQUIRED),
        ("d", json!({ "wallet": token_account.to_string() }), StatusCode::PAYMENT_REQUIRED),
    ] {
        let set = relayer.put(&path, &json!({ "allowed_counterparties": [entry] })).await;
        assert_eq!(set.status, StatusCode::OK, "{}", set.body);
        let answer = relayer.post("/v1/transfers", &order(&relayer, &account, key, wallet)).await;
        assert_eq!(answer.status, status, "{key}: {}", answer.body);
    }
}

#[tokio::test]
async fn token_account_that_its_wallet_gave_away_is_not_paid() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let view = relayer.get(&format!("/v1/accounts/{account}")).await;
    let payer: Address = view.body["solana_address"].as_str().expect("text").parse().expect("an address");
    // To somebody else, to the paying account, and to itself.
    for (number, owner) in [
        (50, Address::from_bytes([99; 32])),
        (51, payer),
        (52, relayer.chain.usdc_account_of(&wallet_at(52))),
    ] {
        let (wallet, token_account) = owned(&relayer, number, Some(owner));
        let order = order(&relayer, &account, &format!("order-{number}"), wallet);
        let refused = relayer.post("/v1/transfers", &order).await;
        assert_eq!(refused.error(), (422, "invalid_recipient"), "{}", refused.body);
        let message = refused.body["message"].as_str().expect("text");
        let said =
            format!("does not own its USDC token account any more: {token_account} belongs to {owner}");
        assert!(message.contains(&said), "{message}");
        assert_eq!(relayer.post("/v1/transfers/preview", &order).await.body["message"], message);
    }
    assert!(relayer.chain.script().orders.is_empty());
    // By its own address it is paid as ever.
    let (_, token_account) = wallet(&relayer, 50);
    let mut by_address = relayer.order(&account, "text");
    by_address["to"] = json!(token_account.to_string());
    assert_eq!(relayer.post("/v1/transfers", &by_address).await.status, StatusCode::OK);
}

#[tokio::test]
async fn payee_that_is_no_wallet_is_422_and_each_kind_is_told() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (frozen, token_account) = wallet(&relayer, 54);
    let [held, program, of_program] = [51, 52, 53].map(wallet_at);
    stands(&relayer, held, Destination::TokenAccount { owner: frozen });
    stands(&relayer, program, Destination::NotWallet(NotWallet::Program));
    stands(&relayer, of_program, Destination::NotTokenAccount);
    stands(&relayer, token_account, Destination::Frozen);
    let kinds = [
        (vault_at(50), "is no wallet's"),
        (held, "and is a token account"),
        (program, "and is a program"),
        (of_program, "that a program owns"),
        (frozen, "is frozen"),
    ];
    for (number, (wallet, said)) in (50..).zip(kinds) {
        let refused =
            relayer.post("/v1/transfers", &order(&relayer, &account, &format!("{number}"), wallet)).await;
        assert_eq!(refused.error(), (422, "invalid_recipient"), "{said}: {}", refused.body);
        let message = refused.body["message"].as_str().expect("text");
        assert!(message.contains(said), "{message}");
        assert!(refused.body["rent_lamports"].is_null());
    }
    let own = relayer.get(&format!("/v1/accounts/{account}")).await;
    let own: Address = own.body["solana_address"].as_str().expect("text").parse().expect("an address");
    let to_itself = relayer.post("/v1/transfers", &order(&relayer, &account, "own", own)).await;
    assert_eq!(to_itself.error(), (422, "invalid_recipient"), "{}", to_itself.body);
    assert!(relayer.chain.script().orders.is_empty());
}

#[tokio::test]
async fn wallet_as_a_text_is_refused_and_told_the_form_that_is_paid() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, usdc_token_account) = owned(&relayer, 50, None);
    stands(&relayer, wallet, Destination::Wallet { usdc_token_account });
    let mut asked = relayer.order(&account, "order-1");
    asked["to"] = json!(wallet.to_string());
    let refused = relayer.post("/v1/transfers", &asked).await;
    assert_eq!(refused.error(), (422, "invalid_recipient"));
    let message = refused.body["message"].as_str().expect("text");
    let form = json!({ "wallet": wallet.to_string() });
    assert!(message.contains(&form.to_string().replace("\":\"", "\": \"")), "{message}");
    asked["to"] = form;
    asked["idempotency_key"] = json!("order-2");
    assert_eq!(relayer.post("/v1/transfers", &asked).await.status, StatusCode::OK);
    // A vault's address is told without that form, which would be refused.
    let vault = vault_at(60);
    let usdc_token_account = relayer.chain.usdc_account_of(&vault);
    stands(&relayer, vault, Destination::Vault { usdc_token_account });
    let mut to_vault = relayer.order(&account, "order-3");
    to_vault["to"] = json!(vault.to_string());
    let refused = relayer.post("/v1/transfers", &to_vault).await;
    let message = refused.body["message"].as_str().expect("text");
    assert!(
        message.contains(&usdc_token_account.to_string()) && !message.contains("\"wallet\""),
        "{message}"
    );
}

#[tokio::test]
async fn token_account_that_goes_before_the_payment_lands_ends_it_unpaid_and_the_key_stays_good() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let (wallet, token_account) = owned(&relayer, 50, None);
    let order = order(&relayer, &account, "order-1", wallet);
    assert_eq!(relayer.post("/v1/transfers/preview", &order).await.body["allowed"], true);
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::InvalidRecipient));
    let refused = relayer.post("/v1/transfers", &order).await;
    assert_eq!(refused.error(), (422, "invalid_recipient"), "{}", refused.body);
    assert_eq!(refused.body["status"], "failed");
    // Closed: the same request is told so, and pays once it is there again.
    relayer.chain.script().destinations.remove(&token_account);
    let closed = relayer.post("/v1/transfers", &order).await;
    assert_eq!(closed.error(), (422, "recipient_has_no_token_account"), "{}", closed.body);
    owned(&relayer, 50, None);
    let paid = relayer.post("/v1/transfers", &order).await;
    assert_eq!(paid.body["status"], "settled", "{}", paid.body);
}

#[tokio::test]
async fn wallet_that_is_no_address_is_400_and_leaves_the_key_free() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    for (to, param) in [
        (json!({}), "to.wallet"),
        (json!({ "wallet": "" }), "to.wallet"),
        (json!({ "wallet": account }), "to.wallet"),
        (json!({ "wallet": null }), "to.wallet"),
        (json!({ "wallet": { "wallet": "x" } }), "to.wallet"),
        (json!({ "token_account": Address::from_bytes([1; 32]).to_string() }), "to.token_account"),
        (json!([]), "to"),
    ] {
        let mut asked = relayer.order(&account, "order-1");
        asked["to"] = to.clone();
        for path in ["/v1/transfers", "/v1/transfers/preview"] {
            let answer = relayer.post(path, &asked).await;
            assert_eq!(answer.error(), (400, "invalid_request"), "{to}: {}", answer.body);
            assert_eq!(answer.body["param"], param, "{to}: {}", answer.body);
        }
    }
    assert_eq!(
        relayer.post("/v1/transfers", &relayer.order(&account, "order-1")).await.status,
        StatusCode::OK
    );
}
