//! The table of decisions, by the router over a scripted node.

#[path = "../../../../../policy/tests/table/mod.rs"]
mod table;

use axum::http::StatusCode;
use purser_chain::scripted::ScriptedNetwork;
use purser_model::{Address, HaltedBy};
use purser_policy::UsdcAmount;
use serde_json::{Value, json};

use super::Relayer;
use table::ROWS;

fn usdc(micros: u64) -> String {
    UsdcAmount::from_micros(micros).to_string()
}

#[tokio::test]
async fn router_decides_as_the_table_says() {
    for row in ROWS {
        let relayer = Relayer::start().await;
        let account = relayer.account().await;
        let (payee, owner): (Address, Address) = (relayer.chain.payee(1), ScriptedNetwork::owner_of_payee(1));
        let policy = row.policy_json(&owner.to_string(), &payee.to_string());
        let policy: Value = serde_json::from_str(&policy).expect("JSON");
        let put = relayer.put(&format!("/v1/accounts/{account}/policy"), &policy).await;
        assert_eq!(put.status, StatusCode::OK, "{}: {}", row.name, put.body);
        let now = relayer.chain.script().now;
        relayer.chain.script().agents.values_mut().for_each(|agent| {
            agent.window.record(now, UsdcAmount::from_micros(row.spent));
        });
        if row.halted {
            relayer.chain.script().operator_halted = Some(HaltedBy::Guardian);
        }
        let mut order = relayer.order(&account, "order");
        order["amount"] = json!(usdc(row.amount));
        if !row.memo.is_empty() {
            order["memo"] = json!(row.memo);
        }
        let answer = relayer.post("/v1/transfers", &order).await;
        let Some(refusal) = row.refusal else {
            assert_eq!(answer.status, StatusCode::OK, "{}: {}", row.name, answer.body);
            continue;
        };
        assert_eq!(answer.error(), (402, refusal.code), "{}: {}", row.name, answer.body);
        let checks = answer.body["checks"].as_array().expect("checks");
        let broken = checks.iter().find(|check| check["ok"] == false).expect("one is broken");
        assert_eq!(broken["rule"], refusal.rule, "{}", row.name);
        let message = answer.body["message"].as_str().expect("text");
        assert!(message.contains(refusal.words), "{}: {message}", row.name);
    }
}
