//! POST /v1/transfers and GET /v1/transfers/:id.

use purser_tests::money::micros_of;
use purser_tests::{Agent, AppSettings, Operator, TestApp, TestNetwork};
use serde_json::json;
use solana_sdk::signer::Signer;

#[tokio::test]
async fn transfer_to_a_token_account_settles_and_moves_the_money() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    let (payee, _) = operator.chain.new_payee().await;
    let settled = agent.pays("12.5").to(&payee).memo("Rent, März").key("rent-1").await.is_settled();
    assert!(settled.text_of("transfer_id").starts_with("txn_"));
    assert_eq!(settled["from"], agent.id);
    assert_eq!(settled["to"], payee.to_string());
    assert_eq!(settled["amount_usdc"], "12.500000");
    assert_eq!(settled["memo"], "Rent, März");
    assert_eq!(settled["idempotency_key"], "rent-1");
    assert!(settled.text_of("settled_at").ends_with('Z'));
    let signature = settled.text_of("tx_signature");
    assert!(settled.text_of("solana_explorer_url").contains(signature));
    assert!(operator.chain.has_settled(signature).await);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 12_500_000);
    assert_eq!(agent.balance_micros().await, 7_500_000);
}

#[tokio::test]
async fn transfer_to_another_account_settles_and_moves_the_money() {
    let operator = Operator::shared().await;
    let (ada, ben) = (operator.creates_account_with("Ada", "3").await, operator.creates_account("Ben").await);
    let settled = ada.pays("1.000001").to(&ben).await.is_settled();
    assert_eq!(settled["to"], ben.id);
    assert_eq!((ada.balance_micros().await, ben.balance_micros().await), (1_999_999, 1_000_001));
    let balance = operator.client.get(&ben.path("/balance")).await;
    assert_eq!(micros_of(&balance["balance_usdc"]), 1_000_001);
}

#[tokio::test]
async fn agent_pays_from_its_own_account_with_its_own_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = agent.new_key().await;
    let settled = agent.pays("1").to(&payee).by(&key).await.is_settled();
    let read = key.get(&format!("/v1/transfers/{}", settled.text_of("transfer_id"))).await.has_status(200);
    assert_eq!(read["status"], "settled");
    assert_eq!(agent.balance_micros().await, 0);
}

#[tokio::test]
async fn settled_transfer_reads_as_it_was_answered() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let settled = agent.pays("0.5").to(&payee).memo("once").await.is_settled();
    let read = operator.client.get(&path_of(settled.text_of("transfer_id"))).await.has_status(200);
    for field in [
        "transfer_id",
        "status",
        "from",
        "to",
        "amount_usdc",
        "memo",
        "idempotency_key",
        "tx_signature",
        "solana_explorer_url",
        "settled_at",
    ] {
        assert_eq!(read[field], settled[field], "{field}");
    }
}

#[tokio::test]
async fn rejected_transfer_reads_with_its_reason() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    agent.sets_policy(json!({ "require_memo": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let rejected = agent.pays("0.5").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(rejected["status"], "rejected");
    let read = operator.client.get(&path_of(rejected.text_of("transfer_id"))).await.has_status(200);
    assert_eq!(read["status"], "rejected");
    assert_eq!((&read["error"], &read["message"]), (&rejected["error"], &rejected["message"]));
    assert_eq!((&read["from"], &read["amount_usdc"]), (&json!(agent.id), &json!("0.500000")));
    assert!(read["tx_signature"].is_null() && read["settled_at"].is_null());
}

#[tokio::test]
async fn rejected_transfer_never_reaches_the_chain() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    agent.sets_policy(json!({ "max_single_transfer": 0.1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let before = operator.chain.transactions_of(&agent.address).await;
    agent.pays("0.5").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(operator.chain.transactions_of(&agent.address).await, before);
    assert_eq!(agent.balance_micros().await, 1_000_000);
}

#[tokio::test]
async fn memo_of_200_four_byte_characters_settles_and_201_characters_are_invalid() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let memo = "\u{1F600}".repeat(200);
    let settled = agent.pays("0.5").to(&payee).memo(&memo).await.is_settled();
    assert_eq!(settled["memo"], memo);
    for memo in ["\u{1F600}".repeat(201), "a".repeat(201), "a\0b".to_owned()] {
        agent.pays("0.5").to(&payee).memo(&memo).await.blames("memo");
    }
}

#[tokio::test]
async fn empty_memo_counts_as_none_where_a_memo_is_required() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    agent.sets_policy(json!({ "require_memo": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    for payment in
        [agent.pays("0.1"), agent.pays("0.1").memo(""), agent.pays("0.1").field("memo", json!(null))]
    {
        let refused = payment.to(&payee).await.is_error(402, "policy_violation");
        assert_eq!(refused.failed_checks(), ["require_memo"]);
    }
    agent.pays("0.1").memo("x").to(&payee).await.is_settled();
}

#[tokio::test]
async fn recipient_that_cannot_take_usdc_is_invalid() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let chain = &operator.chain;
    let off_curve = agent.address;
    let cases = [
        ("not base58", "not an address".to_owned()),
        ("empty", String::new()),
        ("not 32 bytes", "abc".to_owned()),
        ("the source's id", agent.id.clone()),
        ("the source's token account", agent.token_account.to_string()),
        ("an unknown account", "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned()),
        ("another mint's account", chain.new_payee_of_other_mint().await.to_string()),
        ("a frozen account", chain.new_payee_in_state("frozen").await.to_string()),
        ("the mint", chain.usdc_mint.to_string()),
        ("a program", purser::ID.to_string()),
        ("a program's account", off_curve.to_string()),
        ("nothing at all", "11111111111111111111111111111112".to_owned()),
    ];
    for (case, recipient) in cases {
        let refused = agent.pays("0.1").to(&recipient).await;
        assert_eq!(
            (refused.status, &refused["error"]),
            (422, &json!("invalid_recipient")),
            "{case}: {}",
            refused.text
        );
        refused.has_error_shape();
    }
}

#[tokio::test]
async fn refusal_of_a_wallet_as_recipient_names_its_usdc_token_account() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (token_account, wallet) = operator.chain.new_payee().await;
    operator.chain.funds(&wallet.pubkey(), 1).await;
    let refused = agent.pays("0.1").to(&wallet.pubkey()).await.is_error(422, "invalid_recipient");
    assert!(refused.text_of("message").contains(&token_account.to_string()), "{}", refused.text);
}

#[tokio::test]
async fn more_than_the_balance_is_refused_and_the_whole_balance_is_not() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let refused = agent.pays("1.000001").to(&payee).await.is_error(402, "insufficient_balance");
    assert!(refused["checks"].is_array());
    agent.pays("1").to(&payee).await.is_settled();
    agent.pays("0.000001").to(&payee).await.is_error(402, "insufficient_balance");
}

#[tokio::test]
async fn rules_win_over_one_another_in_the_order_of_the_program() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let mut policy = json!({ "paused": true, "require_memo": true, "allowed_counterparties": [],
        "max_single_transfer": 1, "max_daily_spend": 2 });
    let mut failing = vec![
        "paused",
        "require_memo",
        "allowed_counterparties",
        "max_single_transfer",
        "max_daily_spend",
        "balance",
    ];
    let memo = "x";
    let lifted = [json!(false), json!(false), json!(null), json!(null), json!(null)];
    for value in lifted {
        agent.sets_policy(policy.clone()).await;
        let refused = agent.pays("5").to(&payee).await;
        let code = if failing[0] == "paused" { "account_paused" } else { "policy_violation" };
        let refused = refused.is_error(402, code);
        assert_eq!(refused.failed_checks(), failing, "every broken rule is listed");
        policy[failing.remove(0)] = value;
    }
    agent.sets_policy(policy).await;
    agent.pays("5").to(&payee).memo(memo).await.is_error(402, "insufficient_balance");
}

#[tokio::test]
async fn account_of_another_operator_is_no_source() {
    let operator = Operator::shared().await;
    let theirs = operator.app().new_operator().await.creates_account_with("Theirs", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let foreign = theirs.pays("1").to(&payee).by(&operator.client).await.is_error(404, "not_found");
    let unknown = theirs.pays("1").field("from", json!("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")).to(&payee);
    let unknown = unknown.by(&operator.client).await.is_error(404, "not_found");
    assert_eq!(foreign.without_request_id(), unknown.without_request_id());
    assert_eq!(theirs.balance_micros().await, 5_000_000);
}

#[tokio::test]
async fn transfer_of_another_operator_is_answered_like_an_unknown_one() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let settled = agent.pays("1").to(&payee).await.is_settled();
    let stranger = operator.app().new_operator().await;
    let foreign =
        stranger.client.get(&path_of(settled.text_of("transfer_id"))).await.is_error(404, "not_found");
    let unknown =
        stranger.client.get(&path_of("txn_01ARZ3NDEKTSV4RRFFQ69G5FAV")).await.is_error(404, "not_found");
    assert_eq!(foreign.without_request_id(), unknown.without_request_id());
    stranger.client.get(&path_of(&agent.id)).await.is_error(404, "not_found");
}

#[tokio::test]
async fn transfer_past_the_deadline_answers_202_and_settles_later() {
    let settings = AppSettings { deadline_seconds: 2, commitment: "finalized", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let submitted = agent.pays("1").to(&payee).await.has_status(202);
    assert_eq!(submitted["status"], "submitted");
    assert!(submitted["tx_signature"].is_string() && submitted["settled_at"].is_null());
    let settled = settles(&agent, submitted.text_of("transfer_id")).await;
    assert_eq!(settled["tx_signature"], submitted["tx_signature"]);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn operator_halted_on_chain_stops_every_account_until_the_admin_resumes() {
    let operator = Operator::shared().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "1").await, operator.creates_account_with("Ben", "1").await);
    let (payee, _) = operator.chain.new_payee().await;
    operator.chain.halts(operator.address, None, operator.app().admin()).await;
    for agent in [&ada, &ben] {
        let refused = agent.pays("0.1").to(&payee).await.is_error(402, "account_paused");
        assert_eq!(refused.failed_checks(), ["paused"]);
    }
    operator.chain.resumes(operator.address, None, operator.app().admin()).await;
    ada.pays("0.1").to(&payee).await.is_settled();
}

/// Reads the transfer until it has settled.
pub async fn settles(agent: &Agent, transfer_id: &str) -> purser_tests::Answer {
    for _ in 0..600 {
        let read = agent.operator.client.get(&path_of(transfer_id)).await.has_status(200);
        if read["status"] == "settled" {
            return read;
        }
        assert_eq!(read["status"], "submitted", "{}", read.text);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{transfer_id} did not settle: {}", agent.operator.app().log_tail());
}

fn path_of(transfer_id: &str) -> String {
    format!("/v1/transfers/{transfer_id}")
}
