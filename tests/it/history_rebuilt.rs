//! The chain is the book: a relayer that lost its database shows the same history.

use std::time::Duration;

use purser_tests::wallet::{mints, withdraws};
use purser_tests::{Agent, AppSettings, DirectOutcome, Operator, TestApp, TestNetwork, Wallet};
use serde_json::{Value, json};

use crate::history::{entries, entries_once};

/// The part of a history that the chain determines: entries by id, without refusals and positions.
fn of_the_chain(entries: Vec<Value>) -> Vec<Value> {
    let mut settled: Vec<Value> = entries.into_iter().filter(|entry| entry["status"] == "settled").collect();
    settled.sort_by_key(|entry| entry["id"].to_string());
    for entry in &mut settled {
        entry["visible_at"].take();
    }
    settled
}

/// The operator under which a relayer with an empty database rediscovers the chain's accounts.
pub fn found_again(app: &std::sync::Arc<TestApp>, lost: &Operator) -> Operator {
    let added = app.runs(&[
        "operator",
        "add",
        "--network",
        "test",
        "--name",
        "Found again",
        "--address",
        &lost.address.to_string(),
    ]);
    let id = added["operator_id"].as_str().expect("operator add prints operator_id").to_owned();
    let key = app.new_operator_key(&id);
    lost.found_as(&id, &key)
}

#[tokio::test]
async fn history_without_the_database_is_the_same_less_the_rejections() {
    for commitment in ["confirmed", "finalized"] {
        let settings = AppSettings { commitment, indexer_interval_ms: 200, ..AppSettings::default() };
        let app = TestApp::start(TestNetwork::own(), &settings).await;
        let operator = app.new_operator().await;
        let ada = operator.creates_account("Ada").await;
        let ben = operator.creates_account("Ben").await;
        let chain = &operator.chain;
        let wallet = Wallet::with(chain, "100").await;
        let (payee, _) = chain.new_payee().await;

        mints(chain, "50", &ada.token_account).await;
        wallet
            .does(&[wallet.transfer("7", &ada.token_account), wallet.transfer("8", &ben.token_account)])
            .await;
        ada.pays("1").to(&ben).memo("between us").await.is_settled();
        ada.pays("2").to(&ben.token_account).await.is_settled();
        ben.pays("3").to(&payee).memo("").await.is_settled();
        ada.sets_policy(json!({ "max_single_transfer": 1 })).await;
        ada.pays("5").to(&payee).await.is_error(402, "policy_violation");
        ada.sets_policy(json!({})).await;
        withdraws(&ada, "4", &ben.token_account, app.admin()).await;
        let DirectOutcome::Settled(_) = ben.pays_directly("0.5", &ada.token_account, "by hand").await else {
            panic!("the transfer lands")
        };
        let before = [entries_once(&ada, 7).await, entries_once(&ben, 6).await];
        assert_eq!([before[0].len(), before[1].len()], [7, 6], "{before:#?}");

        assert!(app.stops(Duration::from_secs(60)).await, "the relayer stops by itself");
        app.restores_database(&[]);
        app.runs(&["migrate"]);
        app.starts();
        let again = found_again(&app, &operator);
        for (agent, before) in [&ada, &ben].into_iter().zip(before) {
            let agent = Agent { operator: again.clone(), ..agent.clone() };
            let expected = of_the_chain(before);
            let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
            loop {
                let answer = again.client.get(&agent.path("/transactions?limit=100")).await;
                if answer.status == 200
                    && answer["data"].as_array().is_some_and(|data| data.len() >= expected.len())
                {
                    break;
                }
                assert!(tokio::time::Instant::now() < deadline, "{}\n{}", answer.text, app.log_tail());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let shown = entries(&agent, "?limit=100").await;
            // The relayer reads the past newest first, but the history shows it in its usual order.
            assert!(shown.is_sorted_by_key(|entry| std::cmp::Reverse(entry["created_at"].to_string())));
            assert_eq!(of_the_chain(shown), expected, "{commitment}");
            again.reads_account(&agent.id).await.has_status(200);
        }
    }
}
