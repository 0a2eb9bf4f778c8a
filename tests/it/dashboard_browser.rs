//! The dashboard in headless Chromium, driven by `tests/browser/dashboard.mjs`. It needs `PURSER_NODE_MODULES` with
//! `playwright-core` and `axe-core`, and a Chromium at `PURSER_CHROMIUM` or in Debian's place; `.ci/run` installs both.
//! Without them the test says so and skips. `PURSER_SHOTS` names a folder for screenshots.

use std::path::PathBuf;
use std::time::Duration;

use purser_tests::binaries::workspace;
use purser_tests::turns::{BROWSER, Turn};
use purser_tests::{AppSettings, Receiver, TestApp, TestNetwork};
use serde_json::json;
use tokio::process::Command;

use crate::loosening::loosens_after;
use crate::webhooks::registers;

pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("PURSER_CHROMIUM").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from("/usr/bin/chromium"))).filter(|path| path.exists())
}

#[tokio::test]
async fn every_task_is_done_in_a_browser_and_no_page_keeps_anybody_out() {
    let modules = std::env::var_os("PURSER_NODE_MODULES").map(PathBuf::from);
    let modules = modules
        .filter(|modules| modules.join("playwright-core").exists() && modules.join("axe-core").exists());
    let (Some(modules), Some(chromium)) = (modules, chromium()) else {
        eprintln!("PURSER_NODE_MODULES or a Chromium is missing: nobody looked at the dashboard");
        return;
    };
    let _turn = Turn::wait(BROWSER);
    let settings = AppSettings { server: "public_url = \"http://127.0.0.1\"", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Research agent", "250").await;
    let payee = operator.creates_account_with("Travel bookings", "42.5").await;
    let limits = json!({ "max_single_transfer": 25, "max_daily_spend": 50, "reason": "first limits" });
    agent.sets_policy(limits).await;
    let budget = operator.makes_budget(1, "500", Some("5000")).await;
    payee.sets_policy(json!({ "max_single_transfer": 20, "budget_id": budget })).await;
    // Those that are paused and halted together, once with scripts and once without.
    for tag in ["with-scripts", "without-scripts"] {
        for _ in 0..2 {
            let body = json!({ "name": "Night shift", "tags": [tag], "policy": { "max_daily_spend": 20 } });
            operator.client.post("/v1/accounts", &body).await.has_status(201);
        }
    }
    let receiver = Receiver::start();
    let webhook =
        registers(&operator, &receiver.url("/purser"), &["transfer.settled", "transfer.rejected"]).await;
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    operator.client.patch(&path, &json!({ "status": "disabled" })).await.has_status(200);
    let settled = agent.pays("18.75").to(&payee).memo("hotel, two nights").await.is_settled();
    agent.pays("24").to(&payee).memo("train").await.is_settled();
    payee.pays("12").to(&agent).memo("refund").await.is_settled();
    let rejected = agent.pays("30").to(&payee).memo("flight").await.is_error(402, "policy_violation");
    // As long as a memo may be, and without a blank.
    let memo = "printer-".repeat(25);
    let asked = agent.pays("40").to(&payee).memo(&memo).field("approval", json!("request")).await;
    let mut approvable = String::new();
    for memo in ["no, thanks", "no, again", "a new desk"] {
        let payment = payee.pays("25").to(&agent).memo(memo).field("approval", json!("request"));
        payment.await.has_status(202).text_of("approval_url").clone_into(&mut approvable);
    }
    let approvable = approvable.trim_start_matches("http://127.0.0.1").to_owned();
    let page = asked.text_of("approval_url").trim_start_matches("http://127.0.0.1").to_owned();
    operator.client.patch(&path, &json!({ "status": "enabled" })).await.has_status(200);
    agent.pays("1").to(&payee).memo("coffee").await.is_settled();
    let delivered = receiver.waits_for("/purser", 1).await[0].event_id().to_owned();
    agent.new_key().await;
    let slow = app.new_operator().await;
    let waiting = slow.creates_account("Waits").await;
    waiting.sets_policy(json!({ "max_single_transfer": 10 })).await;
    loosens_after(&slow, 7_200).await;
    // In every mode the same pages are pictured, and these change nothing that is on the others.
    let halted = operator.creates_account("Halted").await;
    operator.client.post(&halted.path("/halt"), &json!({})).await.has_status(200);
    let disabled = registers(&operator, &receiver.url("/disabled"), &["policy.changed"]).await;
    let path = format!("/v1/webhooks/{}", disabled.text_of("id"));
    operator.client.patch(&path, &json!({ "status": "disabled" })).await.has_status(200);
    let later = slow.creates_account("Waits already").await;
    let limits = json!({
        "max_single_transfer": 10, "allowed_counterparties": [waiting.id], "max_30_day_spend": 500,
    });
    later.sets_policy(limits).await;
    slow.client.patch(&later.path("/policy"), &json!({ "max_single_transfer": 40 })).await.has_status(202);
    receiver.hangs("/hanging");
    let hanging = registers(&slow, &receiver.url("/hanging"), &["transfer.rejected"]).await;
    for _ in 0..80 {
        waiting.pays("11").to(&later).await.is_error(402, "policy_violation");
    }
    // More than a page of the list shows.
    for number in 0..50 {
        slow.creates_account(&format!("Agent {number}")).await;
    }
    let mut node = Command::new("node");
    node.env("PURSER_SETTLED", settled.text_of("transfer_id")).env("PURSER_HALTED", &halted.id);
    node.env("PURSER_DISABLED_WEBHOOK", disabled.text_of("id")).env("PURSER_WAITING_ACCOUNT", &later.id);
    node.env("PURSER_APPROVAL", asked.text_of("transfer_id")).env("PURSER_APPROVE_PAGE", page);
    node.env("PURSER_APPROVABLE_PAGE", approvable);
    node.env("PURSER_HANGING_WEBHOOK", hanging.text_of("id"));
    node.arg(workspace().join("tests/browser/dashboard.mjs")).kill_on_drop(true);
    node.env("PURSER_NODE_MODULES", &modules).env("PURSER_CHROMIUM", chromium);
    node.env("PURSER_SITE", app.base_url()).env("PURSER_OPERATOR_KEY", operator.client.key());
    node.env("PURSER_ACCOUNT", &agent.id).env("PURSER_REJECTED", rejected.text_of("transfer_id"));
    node.env("PURSER_WEBHOOK", webhook.text_of("id")).env("PURSER_EVENT", delivered);
    node.env("PURSER_RECEIVER", receiver.url("")).env("PURSER_BUDGET", budget);
    node.env("PURSER_SLOW_OPERATOR_KEY", slow.client.key()).env("PURSER_SLOW_ACCOUNT", &waiting.id);
    let output = tokio::time::timeout(Duration::from_secs(450), node.output()).await;
    let output = output.expect("the script ends").expect("node starts");
    let (printed, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{complaint}");
    assert_eq!(printed.lines().count(), 10, "{printed}");
}
