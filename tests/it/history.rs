//! `GET /v1/accounts/:id/transactions`: its entries, their order, and paging.

use std::collections::BTreeSet;
use std::time::Duration;

use purser_tests::wallet::{mints, withdraws};
use purser_tests::{Agent, AppSettings, DirectOutcome, Operator, TestApp, TestNetwork, Wallet, Wire};
use serde_json::{Value, json};

/// How long a deposit may take to appear.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// The entries of one page, for this query.
pub async fn entries(agent: &Agent, query: &str) -> Vec<Value> {
    let answer =
        agent.operator.client.get(&agent.path(&format!("/transactions{query}"))).await.has_status(200);
    answer["data"].as_array().expect("data is a list").clone()
}

/// The history once it has at least this many entries.
pub async fn entries_once(agent: &Agent, count: usize) -> Vec<Value> {
    let deadline = tokio::time::Instant::now() + SHOWN_WITHIN;
    loop {
        let entries = entries(agent, "?limit=100").await;
        if entries.len() >= count {
            return entries;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{} of {count} entries: {entries:#?}\n{}",
            entries.len(),
            agent.operator.app().log_tail()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn signature_of(entry: &Value) -> &str {
    entry["tx_signature"].as_str().unwrap_or_else(|| panic!("no signature in {entry}"))
}

#[tokio::test]
async fn settled_transfer_is_in_the_history_as_soon_as_it_is_answered() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Payer", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let paid = agent.pays("1.25").to(&payee).memo("rent 🏠").await.is_settled();
    let entries = entries(&agent, "").await;
    let [entry] = &entries[..] else { panic!("one payment, one entry: {entries:#?}") };
    let id = entry["id"].as_str().expect("an id");
    assert!(id.starts_with("ent_"), "{id}");
    let expected = json!({
        "id": id,
        "type": "transfer",
        "direction": "out",
        "status": "settled",
        "amount_usdc": "1.250000",
        "counterparty": payee.to_string(),
        "memo": "rent 🏠",
        "transfer_id": paid["transfer_id"],
        "tx_signature": paid["tx_signature"],
        "solana_explorer_url": paid["solana_explorer_url"],
        "error": null,
        "message": null,
        "created_at": paid["settled_at"],
        "visible_at": entry["visible_at"],
        "memo_from": "account",
    });
    assert_eq!(*entry, expected);
}

#[tokio::test]
async fn transfer_between_two_accounts_leaves_one_and_enters_the_other() {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "10").await;
    let ben = operator.creates_account("Ben").await;
    let by_id = ada.pays("1").to(&ben).memo("by id").await.is_settled();
    let by_address = ada.pays("2").to(&ben.token_account).await.is_settled();
    let (out, into) = (entries(&ada, "").await, entries(&ben, "").await);
    for (paid, amount) in [(&by_id, "1.000000"), (&by_address, "2.000000")] {
        let of = |entries: &[Value]| {
            let found: Vec<_> = entries
                .iter()
                .filter(|entry| entry["tx_signature"] == paid["tx_signature"])
                .cloned()
                .collect();
            assert_eq!(found.len(), 1, "{entries:#?}");
            found[0].clone()
        };
        let (out, into) = (of(&out), of(&into));
        assert_eq!((&out["type"], &out["direction"]), (&json!("transfer"), &json!("out")));
        assert_eq!((&into["type"], &into["direction"]), (&json!("deposit"), &json!("in")));
        assert_eq!((&out["counterparty"], &into["counterparty"]), (&json!(ben.id), &json!(ada.id)));
        assert_eq!((&out["amount_usdc"], &into["amount_usdc"]), (&json!(amount), &json!(amount)));
        assert_eq!((&into["transfer_id"], &into["memo"]), (&paid["transfer_id"], &paid["memo"]));
        assert_eq!((&out["transfer_id"], &out["memo"]), (&paid["transfer_id"], &paid["memo"]));
        assert_ne!(out["id"], into["id"]);
    }
}

#[tokio::test]
async fn payee_of_another_operator_sees_who_paid_and_why_and_no_more() {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "10").await;
    let others = operator.app().new_operator().await;
    let ben = others.creates_account("Ben").await;
    let paid = ada.pays("1").to(&ben.token_account).memo("invoice 7").await.is_settled();
    let [entry] = &entries(&ben, "").await[..] else { panic!("one payment, one entry") };
    let expected = json!({
        "id": entry["id"],
        "type": "deposit",
        "direction": "in",
        "status": "settled",
        "amount_usdc": "1.000000",
        "counterparty": ada.id,
        "memo": "invoice 7",
        "transfer_id": paid["transfer_id"],
        "tx_signature": paid["tx_signature"],
        "solana_explorer_url": paid["solana_explorer_url"],
        "error": null,
        "message": null,
        "created_at": paid["settled_at"],
        "visible_at": entry["visible_at"],
        "memo_from": "sender",
    });
    assert_eq!(*entry, expected);
    // The ids give the payee no access.
    let transfer = format!("/v1/transfers/{}", paid.text_of("transfer_id"));
    for path in [transfer, ada.path(""), ada.path("/transactions")] {
        others.client.get(&path).await.is_error(404, "not_found");
    }
    // The payer named a token account, and still sees that one.
    assert_eq!(entries(&ada, "").await[0]["counterparty"], json!(ben.token_account.to_string()));
}

#[tokio::test]
async fn every_way_of_depositing_shows_up_once() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Payee").await;
    let other = operator.creates_account("Other payee").await;
    let chain = &operator.chain;
    let wallet = Wallet::with(chain, "100").await;
    let to = &agent.token_account;
    let mut expected = BTreeSet::new();
    let source = Some(wallet.token_account.to_string());
    expected.insert((mints(chain, "5", to).await, "5.000000".to_owned(), None));
    for (instructions, amount) in [
        (vec![wallet.transfer("1.5", to)], "1.500000"),
        (vec![wallet.transfer_checked("2", to)], "2.000000"),
        (vec![wallet.transfer("0.000001", to)], "0.000001"),
        (vec![wallet.transfer("1", to), wallet.transfer_checked("0.25", to)], "1.250000"),
        (vec![wallet.transfer("3", to), wallet.transfer("4", &other.token_account)], "3.000000"),
        (vec![wallet.batch(&[wallet.transfer("0.5", to), wallet.transfer_checked("0.1", to)])], "0.600000"),
    ] {
        expected.insert((wallet.does(&instructions).await, amount.to_owned(), source.clone()));
    }
    let looked_up = wallet.does_by_lookup(&[wallet.transfer("6", to)], &[*to]).await;
    expected.insert((looked_up, "6.000000".to_owned(), source));
    // From within another program: ours, through an account of another operator.
    let stranger = operator.app().new_operator().await.creates_account_with("Stranger", "9").await;
    let DirectOutcome::Settled(inner) = stranger.pays_directly("9", to, "from within").await else {
        panic!("the transfer lands")
    };
    expected.insert((inner.to_string(), "9.000000".to_owned(), Some(stranger.id.clone())));
    let shown = entries_once(&agent, expected.len()).await;
    let text = |entry: &Value, field: &str| entry[field].as_str().map(str::to_owned);
    let shown: BTreeSet<_> = shown
        .iter()
        .map(|entry| {
            assert_eq!((&entry["type"], &entry["status"]), (&json!("deposit"), &json!("settled")));
            let amount = text(entry, "amount_usdc").expect("an amount");
            (signature_of(entry).to_owned(), amount, text(entry, "counterparty"))
        })
        .collect();
    assert_eq!(shown, expected);
    let others = entries_once(&other, 1).await;
    assert_eq!((others.len(), &others[0]["amount_usdc"]), (1, &json!("4.000000")));
}

#[tokio::test]
async fn history_goes_on_when_the_websocket_was_cut() {
    let network = TestNetwork::shared().await;
    let wire = Wire::to(&network.ws_url);
    // An interval so long that the timer finds nothing in this test.
    let settings = AppSettings {
        rpc_url: Some(network.rpc_url.clone()),
        ws_url: Some(wire.url()),
        indexer_interval_ms: 600_000,
        ..AppSettings::default()
    };
    let app = TestApp::start(network, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let pays = async |usdc: &str| match agent.pays_directly(usdc, &payee, "by hand").await {
        DirectOutcome::Settled(signature) => signature.to_string(),
        other => panic!("{other:?}"),
    };
    let mut expected = vec![pays("1").await];
    assert_eq!(entries_once(&agent, 1).await.len(), 1, "woken by the program's log");
    let before = wire.connections();
    wire.cuts();
    // No notice comes for this one, but a look that was still due may find it.
    expected.push(pays("2").await);
    wire.mends();
    assert_eq!(entries_once(&agent, 2).await.len(), 2, "what was missed is found after the reconnection");
    // A look that was still due may have found it before the reconnection.
    for _ in 0..600 {
        if wire.connections() > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(wire.connections() > before);
    expected.push(pays("3").await);
    let shown = entries_once(&agent, 3).await;
    let shown: Vec<_> = shown.iter().rev().map(signature_of).collect();
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn transactions_that_failed_leave_nothing() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Payee").await;
    let wallet = Wallet::with(&operator.chain, "1").await;
    let too_much = [wallet.transfer("0.5", &agent.token_account), wallet.transfer("9", &agent.token_account)];
    let landing = operator.chain.all_land(&too_much, &[&wallet.keypair]).await;
    assert_eq!(landing, DirectOutcome::Refused(1));
    let good = wallet.does(&[wallet.transfer("0.75", &agent.token_account)]).await;
    let entries = entries_once(&agent, 1).await;
    assert_eq!((entries.len(), signature_of(&entries[0])), (1, good.as_str()));
}

#[tokio::test]
async fn withdrawal_by_the_admins_wallet_shows_up() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Drained").await;
    let deposit = mints(&operator.chain, "10", &agent.token_account).await;
    let (payee, _) = operator.chain.new_payee().await;
    let signature = withdraws(&agent, "4", &payee, operator.app().admin()).await;
    let entries = entries_once(&agent, 2).await;
    let withdrawal = entries.iter().find(|entry| entry["type"] == "withdrawal").expect("a withdrawal");
    assert_eq!(signature_of(withdrawal), signature);
    assert_eq!((&withdrawal["direction"], &withdrawal["amount_usdc"]), (&json!("out"), &json!("4.000000")));
    assert_eq!(withdrawal["counterparty"], json!(payee.to_string()));
    let deposited = entries.iter().find(|entry| entry["type"] == "deposit").expect("a deposit");
    assert_eq!((signature_of(deposited), entries.len()), (deposit.as_str(), 2));
}

#[tokio::test]
async fn transfer_past_the_relayer_shows_up_too() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Bypassed", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let DirectOutcome::Settled(signature) = agent.pays_directly("3", &payee, "by hand").await else {
        panic!("the transfer lands")
    };
    let entries = entries_once(&agent, 1).await;
    assert_eq!(signature_of(&entries[0]), signature.to_string());
    assert_eq!((&entries[0]["type"], &entries[0]["memo"]), (&json!("transfer"), &json!("by hand")));
    assert!(entries[0]["transfer_id"].as_str().is_some_and(|id| id.starts_with("txn_")));
}

#[tokio::test]
async fn rejected_transfer_is_listed_with_its_reason_and_the_status_filter_picks() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Careful", "10").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let refused = agent.pays("2").to(&payee).memo("too much").await.is_error(402, "policy_violation");
    agent.pays("1").to(&payee).await.is_settled();
    // A policy change is no history entry.
    agent.sets_policy(json!({})).await;
    agent.pays("500").to(&payee).await.is_error(402, "insufficient_balance");
    let all = entries(&agent, "").await;
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(entries(&agent, "?status=all").await, all);
    let rejected = entries(&agent, "?status=rejected").await;
    let [entry] = &rejected[..] else { panic!("{rejected:#?}") };
    let expected = json!({
        "id": entry["id"],
        "type": "transfer",
        "direction": "out",
        "status": "rejected",
        "amount_usdc": "2.000000",
        "counterparty": payee.to_string(),
        "memo": "too much",
        "transfer_id": refused["transfer_id"],
        "tx_signature": null,
        "solana_explorer_url": null,
        "error": "policy_violation",
        "message": refused["message"],
        "created_at": entry["created_at"],
        "visible_at": entry["visible_at"],
        "memo_from": "account",
    });
    assert_eq!(*entry, expected);
    let settled = entries(&agent, "?status=settled").await;
    assert_eq!((settled.len(), &settled[0]["status"]), (1, &json!("settled")));
}

#[tokio::test]
async fn paused_account_lists_its_rejections_as_account_paused() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Paused", "10").await;
    agent.sets_policy(json!({ "paused": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.pays("2").to(&payee).await.is_error(402, "account_paused");
    assert_eq!(entries(&agent, "").await[0]["error"], "account_paused");
}
