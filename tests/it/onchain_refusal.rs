//! Each rule twice: the relayer refuses with 402 and `checks`; and the chain refuses the same transfer for the same
//! violation, when the transfer authority's key signs it for the program directly.

#[path = "../../policy/tests/table/mod.rs"]
mod table;

use futures::{StreamExt, stream};
use purser::Bounds;
use purser::error::PurserError;
use purser_client::DraftAccounts;
use purser_policy::UsdcAmount;
use purser_tests::agent::random_tag;
use purser_tests::chain::{DirectOutcome, DirectTransfer};
use purser_tests::{Agent, Operator};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::history::entries_once;
use table::{ROWS, Row};

/// An agent that holds 100 USDC under this policy, and a payee.
async fn agent_under(policy: Value) -> (Agent, Pubkey) {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    agent.sets_policy(policy).await;
    let (payee, _) = operator.chain.new_payee().await;
    (agent, payee)
}

fn refused_as(error: PurserError) -> DirectOutcome {
    DirectOutcome::Refused(u32::from(error))
}

/// Both refuse `usdc` to `payee` because of this rule, and no money moves.
async fn both_refuse(agent: &Agent, usdc: &str, payee: &Pubkey, code: &str, rule: &str, error: PurserError) {
    let before = (agent.balance_micros().await, agent.operator.chain.agent(&agent.address).await);
    let refused = agent.pays(usdc).to(payee).await.is_error(402, code);
    assert_eq!(refused["status"], "rejected");
    assert!(refused.text_of("transfer_id").starts_with("txn_"));
    assert_eq!(refused.failed_checks(), [rule]);
    assert_eq!(agent.pays_directly(usdc, payee, "").await, refused_as(error));
    let after = (agent.balance_micros().await, agent.operator.chain.agent(&agent.address).await);
    assert_eq!(before, after);
}

/// The table of decisions, by the running service and by the program under it.
#[tokio::test]
async fn service_and_program_decide_as_the_table_says() {
    stream::iter(ROWS).for_each_concurrent(3, decides).await;
}

async fn decides(row: Row) {
    // A halt is of the operator, and so each row has its own.
    let operator = match row.halted {
        true => Operator::shared().await.app().new_operator().await,
        false => Operator::shared().await,
    };
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, owner) = operator.chain.new_payee().await;
    let usdc = |micros: u64| UsdcAmount::from_micros(micros).to_string();
    if row.spent > 0 {
        agent.pays(&usdc(row.spent)).to(&payee).await.is_settled();
    }
    let policy = row.policy_json(&owner.pubkey().to_string(), &payee.to_string());
    agent.sets_policy(serde_json::from_str(&policy).expect("JSON")).await;
    if row.halted {
        let halted = operator.chain.halts(operator.address, None, operator.app().policy_authority()).await;
        assert!(matches!(halted, DirectOutcome::Settled(_)), "{halted:?}");
    }
    let amount = usdc(row.amount);
    let mut payment = agent.pays(&amount).to(&payee);
    if !row.memo.is_empty() {
        payment = payment.memo(row.memo);
    }
    match row.refusal {
        None => drop(payment.await.is_settled()),
        Some(refusal) => {
            let before = (agent.balance_micros().await, operator.chain.agent(&agent.address).await);
            let refused = payment.await.is_error(402, refusal.code);
            assert_eq!(refused["status"], "rejected", "{}", row.name);
            assert!(refused.text_of("transfer_id").starts_with("txn_"), "{}", row.name);
            assert_eq!(refused.failed_checks()[0], refusal.rule, "{}", row.name);
            assert!(refused.text_of("message").contains(refusal.words), "{}: {}", row.name, refused.text);
            let directly = agent.pays_directly(&amount, &payee, row.memo).await;
            assert_eq!(directly, refused_as(refusal.violation.into()), "{}", row.name);
            let after = (agent.balance_micros().await, operator.chain.agent(&agent.address).await);
            assert_eq!(before, after, "{}", row.name);
        }
    }
}

#[tokio::test]
async fn memo_of_201_characters_is_refused_here_and_one_of_801_bytes_on_chain() {
    let (agent, payee) = agent_under(json!({})).await;
    agent.pays("1").to(&payee).memo(&"é".repeat(201)).await.blames("memo");
    agent.pays("1").to(&payee).memo(&"🪙".repeat(200)).await.is_settled();
    let longest = "x".repeat(800);
    let longer = format!("{longest}x");
    assert_eq!(agent.pays_directly("1", &payee, &longer).await, refused_as(PurserError::MemoTooLong));
    // A memo that bypasses the relayer may use the full length, and the history shows all of it.
    assert!(matches!(agent.pays_directly("1", &payee, &longest).await, DirectOutcome::Settled(_)));
    let entries = entries_once(&agent, 2).await;
    assert!(entries.iter().any(|entry| entry["memo"] == longest.as_str()), "{entries:#?}");
}

#[tokio::test]
async fn amount_above_the_daily_limit_is_refused_here_and_on_chain() {
    let (agent, payee) = agent_under(json!({ "max_daily_spend": 10 })).await;
    agent.pays("4").to(&payee).await.is_settled();
    // A transfer straight to the program counts as much as one through the relayer.
    assert!(matches!(agent.pays_directly("3", &payee, "").await, DirectOutcome::Settled(_)));
    let (code, rule) = ("policy_violation", "max_daily_spend");
    both_refuse(&agent, "3.000001", &payee, code, rule, PurserError::DailyLimitExceeded).await;
    let refused = agent.pays("3.000001").to(&payee).await;
    let daily = refused.check("max_daily_spend");
    assert_eq!(
        (&daily["limit"], &daily["used"], &daily["remaining"]),
        (&json!("10.000000"), &json!("7.000000"), &json!("3.000000"))
    );
    assert!(refused.text_of("message").contains("10"), "the message names the limit: {}", refused.text);
    assert!(refused["retry_at"].is_string());
    agent.pays("3").to(&payee).await.is_settled();
    assert_eq!(
        agent.pays_directly("0.000001", &payee, "").await,
        refused_as(PurserError::DailyLimitExceeded)
    );
}

#[tokio::test]
async fn balance_too_low_is_refused_here_and_on_chain() {
    let (agent, payee) = agent_under(json!({})).await;
    agent.pays("100.000001").to(&payee).await.is_error(402, "insufficient_balance");
    let direct = agent.pays_directly("100.000001", &payee, "").await;
    // Error 1 is the token program's own InsufficientFunds.
    assert!(
        direct == refused_as(PurserError::InsufficientBalance) || direct == DirectOutcome::Refused(1),
        "{direct:?}"
    );
    assert_eq!(agent.balance_micros().await, 100_000_000);
}

#[tokio::test]
async fn same_payment_under_the_same_tag_is_refused_on_chain() {
    let (agent, payee) = agent_under(json!({})).await;
    let tag = random_tag();
    assert!(matches!(agent.pays_directly_tagged("1", &payee, "", tag).await, DirectOutcome::Settled(_)));
    for usdc in ["1", "2"] {
        let again = agent.pays_directly_tagged(usdc, &payee, "", tag).await;
        assert_eq!(again, refused_as(PurserError::DuplicateTransfer));
    }
    assert_eq!(agent.balance_micros().await, 99_000_000);
}

#[tokio::test]
async fn amount_of_zero_is_refused_here_and_on_chain() {
    let (agent, payee) = agent_under(json!({})).await;
    agent.pays("0").to(&payee).await.blames("amount");
    assert_eq!(agent.pays_directly("0", &payee, "").await, refused_as(PurserError::AmountZero));
}

#[tokio::test]
async fn transfer_to_the_source_itself_is_refused_here_and_on_chain() {
    let (agent, _) = agent_under(json!({})).await;
    agent.pays("1").to(&agent).await.is_error(422, "invalid_recipient");
    let direct = agent.pays_directly("1", &agent.token_account, "").await;
    assert_eq!(direct, refused_as(PurserError::RecipientIsSource));
}

#[tokio::test]
async fn recipient_that_is_frozen_or_of_another_mint_is_refused_here_and_on_chain() {
    let (agent, _) = agent_under(json!({})).await;
    let chain = &agent.operator.chain;
    for (payee, error) in [
        (chain.new_payee_in_state("frozen").await, PurserError::RecipientFrozen),
        (chain.new_payee_of_other_mint().await, PurserError::RecipientWrongMint),
        (chain.usdc_mint, PurserError::RecipientNotTokenAccount),
    ] {
        agent.pays("1").to(&payee).await.is_error(422, "invalid_recipient");
        assert_eq!(agent.pays_directly("1", &payee, "").await, refused_as(error), "{payee}");
    }
}

#[tokio::test]
async fn no_other_key_can_transfer_on_chain() {
    let (agent, payee) = agent_under(json!({})).await;
    let operator = &agent.operator;
    let stranger = Keypair::new();
    operator.chain.funds(&solana_sdk::signer::Signer::pubkey(&stranger), 1).await;
    let order = DirectTransfer {
        operator: operator.address,
        agent: agent.address,
        destination: payee,
        amount_micros: 1,
        memo: "",
        tag: random_tag(),
    };
    for key in [&stranger, operator.app().policy_authority()] {
        assert_eq!(operator.chain.transfers(&order, key).await, refused_as(PurserError::Unauthorized));
    }
    let theirs = operator.app().new_operator().await;
    let borrowed = DirectTransfer { operator: theirs.address, ..order };
    let landing = operator.chain.transfers(&borrowed, operator.app().transfer_authority()).await;
    assert_eq!(landing, refused_as(PurserError::WrongOperator));
    assert_eq!(agent.balance_micros().await, 100_000_000);
}

#[tokio::test]
async fn account_pays_within_its_cap_for_30_days_and_nothing_where_it_pays_by_grants_alone() {
    let (agent, payee) = agent_under(json!({})).await;
    let (chain, app) = (&agent.operator.chain, agent.operator.app());
    let sets = async |max_30_day_spend: Option<u64>, by_grant_only: bool| {
        let (admin, at) = (app.admin(), agent.operator.address);
        let accounts = DraftAccounts { authority: admin.pubkey(), operator: at, agent: agent.address };
        let refund = chain.agent(&agent.address).await.agent.rent_refund;
        let bounds = Bounds { max_30_day_spend, by_grant_only, ..Bounds::default() };
        let set = chain.program().set_bounds(accounts, admin.pubkey(), refund, bounds, None);
        let outcome = chain.lands(set, admin).await;
        assert!(matches!(outcome, DirectOutcome::Settled(_)), "{outcome:?}");
    };
    sets(Some(3_000_000), false).await;
    let before = agent.balance_micros().await;
    // Within the cap it pays as ever, beyond it is refused.
    agent.pays("2").to(&payee).await.is_settled();
    let refused = agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(refused.failed_checks(), ["max_30_day_spend"]);
    assert_eq!(agent.balance_micros().await, before - 2_000_000);
    // By grants alone it pays nothing without one, and nothing is sent.
    sets(None, true).await;
    let refused = agent.pays("1").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(refused.failed_checks(), ["by_grant_only"]);
    sets(None, false).await;
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(agent.balance_micros().await, before - 3_000_000);
}
