//! The dashboard's first page: what an operator has, and everything that needs attention.

use std::sync::Arc;
use std::time::Duration;

use purser::OperatorUpdate;
use purser_tests::clock::HostClock;
use purser_tests::{AppSettings, Browser, Node, Operator, Receiver, TestApp, TestNetwork, awaited, until};
use serde_json::json;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::runtime::Handle;

use crate::dashboard::signed_in;
use crate::webhooks::registers;

/// Polls a page until it contains this text.
pub async fn comes_to_say(browser: &Browser, path: &str, text: &str) {
    let what = format!("{path} says {text:?}");
    until(&what, async || browser.reads(path).await.has_status(200).text.contains(text)).await;
}

#[tokio::test]
async fn home_and_stop_all_count_more_accounts_than_a_page_of_the_api_holds() {
    const ACCOUNTS: usize = 105;
    let operator = Operator::shared().await;
    let first = operator.creates_account_with("Oldest", "7.25").await;
    first.sets_policy(json!({ "max_daily_spend": 10, "paused": true })).await;
    let create = async |number: usize| {
        let body = json!({ "name": format!("Agent {number}") });
        operator.client.post("/v1/accounts", &body).await.has_status(201);
    };
    for ten in (1..ACCOUNTS).collect::<Vec<_>>().chunks(10) {
        futures::future::join_all(ten.iter().map(|number| create(*number))).await;
    }
    let browser = signed_in(&operator).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    assert!(!home.text.contains("Sums are over"), "{}", home.text);
    home.says(&format!("<dd>{ACCOUNTS}</dd>"))
        .says("<dd>7.25 ")
        .says(&format!("of 10.00 in all caps; {} without a cap", ACCOUNTS - 1))
        .says(&format!("{} active; ", ACCOUNTS - 1))
        .says(&format!("{} without money", ACCOUNTS - 1))
        .says("Oldest is paused.");
    let stop = browser.reads("/dashboard/stop-all").await.has_status(200);
    stop.says(&format!("<strong>{ACCOUNTS} accounts</strong>"));
}

#[tokio::test]
async fn all_that_needs_attention_is_on_the_first_page() {
    let app = TestApp::start(TestNetwork::own(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let defended = OperatorUpdate {
        guardian: Some(Keypair::new().pubkey()),
        loosening_delay_seconds: Some(60),
        ..Default::default()
    };
    operator.chain.updates_operator(operator.address, defended, app.admin()).await;
    let browser = signed_in(&operator).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    home.says("The admin&#39;s key lies on the server, beside the service&#39;s keys");
    // It is looked for at the start.
    std::fs::remove_file(app.folder().join("admin.json")).expect("own file");
    app.stops(Duration::from_secs(60)).await;
    app.starts();
    let browser = signed_in(&operator.reconnected()).await;
    browser.reads("/dashboard").await.says("Nothing needs attention: no account is stopped");
    let operator = operator.reconnected();
    let receiver = Receiver::start();
    let [near, halted, payee] = [
        operator.creates_account_with("Near", "9").await,
        operator.creates_account("Halted").await,
        operator.creates_account("Payee").await,
    ];
    near.sets_policy(json!({ "max_daily_spend": 5 })).await;
    let low = json!({
        "url": receiver.url("/low"), "events": ["balance.low_threshold"], "low_balance_threshold_usdc": 6,
        "account_ids": [near.id],
    });
    operator.client.post("/v1/webhooks", &low).await.has_status(201);
    let silent = registers(&operator, &receiver.url("/silent"), &["transfer.settled"]).await;
    let silent = format!("/v1/webhooks/{}", silent.text_of("id"));
    operator.client.patch(&silent, &json!({ "status": "disabled" })).await.has_status(200);
    near.pays("3.99").to(&payee).await.is_settled();
    let home = browser.reads("/dashboard").await.has_status(200);
    assert!(!home.text.contains("Near has spent"), "79 percent");
    near.pays("0.01").to(&payee).await.is_settled();
    let halt = format!("/dashboard/accounts/{}/halt", halted.id);
    browser.sends_form(&halt, &[]).await;
    // More than nothing, and less than 0.01 SOL.
    let wallet = app.transfer_authority().pubkey();
    operator.chain.sets_lamports(&wallet, 2_000_000).await;
    comes_to_say(&browser, "/dashboard", &format!("The relayer&#39;s wallet {wallet} can spend")).await;
    comes_to_say(&browser, "/dashboard", "Events were not delivered to").await;
    let home = browser.reads("/dashboard").await.has_status(200);
    home.says("Near has spent 4.00 of 5.00 USDC in 24 hours.")
        .says("Near holds 5.00 USDC, below its threshold of 6.00.")
        .says("Halted is halted by the policy authority")
        .says("/silent is disabled since");
}

#[tokio::test]
async fn budget_failing_webhook_and_payment_that_waits_need_attention() {
    let settings =
        AppSettings { server: "public_url = \"https://pay.example.com\"", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let (ada, payee) =
        (operator.creates_account_with("Ada", "20").await, operator.creates_account("Ben").await);
    let budget = operator.makes_budget(1, "10", Some("100")).await;
    ada.sets_policy(json!({ "max_single_transfer": 9, "budget_id": budget })).await;
    let browser = signed_in(&operator).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    for absent in ["Budget 1", "waits for approval", "has failed since"] {
        assert!(!home.text.contains(absent), "{absent}: {}", home.text);
    }
    ada.pays("8").to(&payee).await.is_settled();
    comes_to_say(&browser, "/dashboard", "Budget 1 is nearly used up: 8.00 of 10.00 USDC in 24 hours").await;
    ada.pays("2").to(&payee).await.is_settled();
    comes_to_say(&browser, "/dashboard", "Budget 1 is used up, and stops the accounts").await;
    let cat = operator.creates_account_with("Cat", "20").await;
    cat.sets_policy(json!({ "max_single_transfer": 1 })).await;
    cat.pays("5").to(&payee).field("approval", json!("request")).await.has_status(202);
    browser.reads("/dashboard").await.says("A payment waits for approval until");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    registers(&operator, &format!("http://{nobody}/silent"), &["policy.changed"]).await;
    ada.sets_policy(json!({ "require_memo": true })).await;
    comes_to_say(&browser, "/dashboard", "/silent has failed since").await;
}

// The node answers while this waits for the relayer to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_takes_long_says_that_it_is_under_way_and_then_that_it_is_done() {
    let network = TestNetwork::shared().await;
    let node = Node::before(&network.rpc_url, &network.ws_url, &Handle::current());
    let settings = AppSettings {
        rpc_url: Some(node.rpc_url.clone()),
        ws_url: Some(node.ws_url.clone()),
        ..AppSettings::default()
    };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let operator = app.new_operator().await;
    operator.creates_account("Ada").await;
    let browser = signed_in(&operator).await;
    node.answers_after(Duration::from_millis(1_500));
    let form = [("once", "stop")];
    let answer = browser.sends_form("/dashboard/stop-all", &form).await.has_status(303);
    let progress = answer.header("location").expect("a page").to_owned();
    assert!(progress.starts_with("/dashboard/stop-all?working="), "{progress}");
    let page = browser.reads(&progress).await.has_status(200).says("The chain has not confirmed it yet.");
    assert_eq!(page.header("refresh"), Some("2"));
    // A second click while it is under way leads to the same page.
    browser.sends_form("/dashboard/stop-all", &form).await.leads_to(&progress);
    node.answers_after(Duration::ZERO);
    let stopped = awaited("all is stopped", async || {
        let page = browser.reads(&progress).await;
        if page.status == 303 {
            return Some(page);
        }
        page.has_status(200);
        None
    });
    stopped.await.leads_to("/dashboard?stopped=1");
    comes_to_say(&browser, "/dashboard", "Every account is halted").await;
    // Of a form that nobody sent, nothing is known.
    let unknown = browser.reads("/dashboard/stop-all?working=nothing").await.has_status(200);
    unknown.says("The chain did not confirm the stop");
}

#[tokio::test]
async fn sign_in_attempts_are_limited_and_existing_sessions_stay() {
    let settings = AppSettings { sections: "[keys]\nunknown_per_second = 5", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let browser = signed_in(&operator).await;
    let guesser = Browser::new(&app.base_url());
    let mut refused = 0;
    for number in 0..200 {
        let key = format!("psr_op_test_{}{number:04}", "z".repeat(36));
        let answer = guesser.sends_form("/dashboard/sign-in", &[("key", &key)]).await;
        assert_eq!(guesser.cookie(), None);
        match answer.status {
            401 => {}
            429 => {
                answer.says(r#"id="wrong-key""#);
                refused += 1;
            }
            other => panic!("{other}: {}", answer.text),
        }
    }
    assert!(refused > 0, "two hundred tries were looked up");
    browser.reads("/dashboard").await.has_status(200);
    signed_in(&operator).await.reads("/dashboard").await.has_status(200);
}

#[tokio::test]
async fn session_ends_half_an_hour_after_its_last_page_and_twelve_hours_after_its_first() {
    const MINUTE: i64 = 60;
    let network = TestNetwork::own();
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let operator = app.new_operator().await;
    let start = operator.chain.now().await + MINUTE;
    app.host_stands_at(start);
    let [idle, used] = [signed_in(&operator).await, signed_in(&operator).await];
    app.host_stands_at(start + 29 * MINUTE);
    used.reads("/dashboard/webhooks").await.has_status(200);
    app.host_stands_at(start + 31 * MINUTE);
    idle.reads("/dashboard/webhooks").await.leads_to("/dashboard/sign-in?next=%2Fdashboard%2Fwebhooks");
    used.reads("/dashboard/webhooks").await.has_status(200);
    for minutes in (31..12 * 60).step_by(25) {
        app.host_stands_at(start + minutes * MINUTE);
        used.reads("/dashboard/webhooks").await.has_status(200);
    }
    app.host_stands_at(start + (12 * 60 + 1) * MINUTE);
    used.reads("/dashboard/webhooks").await.leads_to("/dashboard/sign-in?next=%2Fdashboard%2Fwebhooks");
}
