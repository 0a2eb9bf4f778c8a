//! `GET /v1/accounts` while the chain does not answer: every account as last seen.

use std::time::Duration;

use purser_tests::proxy::faults::Fault;
use purser_tests::{Agent, Answer, AppSettings, Browser, Operator, Proxy, TestApp, TestNetwork};
use serde_json::{Value, json};

/// An operator behind a line that can be cut.
async fn operator_behind_a_proxy() -> (Operator, Proxy) {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings =
        AppSettings { rpc_url: Some(proxy.url()), indexer_interval_ms: 200, ..AppSettings::default() };
    let app = TestApp::start(network, &settings).await;
    (app.new_operator().await, proxy)
}

fn entry<'a>(page: &'a Answer, agent: &Agent) -> &'a Value {
    let data = page["data"].as_array().expect("a page has data");
    let found = data.iter().find(|account| account["account_id"] == agent.id);
    found.unwrap_or_else(|| panic!("{} is not listed: {}", agent.id, page.text))
}

#[tokio::test]
async fn accounts_are_listed_with_their_last_known_balance_while_the_chain_is_away() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let (payer, agent) =
        (operator.creates_account_with("Payer", "10").await, operator.creates_account("Ada").await);
    let paused = operator.creates_account("Ben").await;
    paused.sets_policy(json!({ "paused": true })).await;
    payer.pays("4").to(&agent).await.is_settled();
    let alive = operator.client.get("/v1/accounts").await.has_status(200);
    let living = entry(&alive, &agent);
    assert_eq!(living["balance_usdc"], "4.000000");
    assert!(living["balance_as_of"].as_str().is_some_and(|at| at.ends_with('Z')));
    assert!(living["policy"].is_object());

    proxy.cuts();
    let away = operator.client.get("/v1/accounts").await.has_status(200);
    let known = entry(&away, &agent);
    for field in ["account_id", "name", "solana_address", "usdc_token_account", "metadata", "created_at"] {
        assert_eq!(known[field], living[field], "{field}");
    }
    assert!(known["policy"].is_null(), "nobody remembers a policy but the chain: {known}");
    // From before or after the payment, depending on the last sweep.
    assert!(known["balance_usdc"] == "0.000000" || known["balance_usdc"] == "4.000000", "{known}");
    let moment = |account: &Value, field: &str| account[field].as_str().expect("a moment").to_owned();
    let as_of = moment(known, "balance_as_of");
    assert!(moment(known, "created_at") <= as_of, "{known}");
    assert!(as_of <= moment(living, "balance_as_of"), "{known}");
    assert_eq!((&known["status"], &known["halted"]), (&json!("unknown"), &Value::Null), "{known}");
    assert_eq!(entry(&away, &paused)["status"], "paused");

    // Whether the others may pay nobody knows, so no filter leaves them out.
    for (filter, listed) in [("paused", vec![&paused, &agent, &payer]), ("active", vec![&agent, &payer])] {
        let page = operator.client.get(&format!("/v1/accounts?status={filter}")).await.has_status(200);
        let data = page["data"].as_array().expect("a list");
        let ids: Vec<&Value> = data.iter().map(|account| &account["account_id"]).collect();
        assert_eq!(json!(ids), json!(listed.iter().map(|agent| &agent.id).collect::<Vec<_>>()), "{filter}");
        assert_eq!(entry(&page, &agent)["status"], "unknown", "{filter}");
    }
    let first = operator.client.get("/v1/accounts?limit=2").await.has_status(200);
    proxy.mends();
    let rest = format!("/v1/accounts?limit=2&cursor={}", first.text_of("cursor"));
    let rest = operator.client.get(&rest).await.has_status(200);
    let ids = |page: &Answer| {
        page["data"].as_array().expect("data").iter().map(|a| a["account_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(Value::from([ids(&first), ids(&rest)].concat()), json!([paused.id, agent.id, payer.id]));
}

#[tokio::test]
async fn last_known_balance_is_what_a_sweep_saw() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let agent = operator.creates_account_with("Ada", "7").await;
    // A finished sweep reports when it began: poll until one began after the funding.
    let funded = operator.client.get("/v1/accounts").await.has_status(200);
    let since = funded["data"][0]["balance_as_of"].as_str().expect("a moment").to_owned();
    for _ in 0..100 {
        proxy.cuts();
        let away = operator.client.get("/v1/accounts").await.has_status(200);
        proxy.mends();
        let known = entry(&away, &agent);
        if known["balance_as_of"].as_str().is_some_and(|as_of| as_of > since.as_str())
            && known["policy"].is_null()
        {
            assert_eq!(known["balance_usdc"], "7.000000");
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    panic!("no sweep was over: {}", operator.app().log_tail());
}

#[tokio::test]
async fn dashboard_calls_nothing_well_while_the_chain_is_away() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let agent = operator.creates_account("Ada").await;
    operator.creates_account("Ben").await;
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    let alive = browser.reads("/dashboard").await.has_status(200).says("2 active").says("no caps");
    assert!(!alive.text.contains("not known now"), "{}", alive.text);
    proxy.cuts();
    let away = browser.reads("/dashboard").await.has_status(200);
    for said in ["state of 2 not known now", "caps not known now", "The chain did not answer for 2 accounts"]
    {
        assert!(away.text.contains(said), "{said}: {}", away.text);
    }
    for claimed in ["no caps", " active", "Nothing does"] {
        assert!(!away.text.contains(claimed), "{claimed}: {}", away.text);
    }
    for path in ["/dashboard/accounts", "/dashboard/accounts?status=paused"] {
        let listed = browser.reads(path).await.has_status(200).says(&agent.id).says("not known now");
        assert!(!listed.text.contains("No account is in this state"), "{path}");
    }
    proxy.mends();
}

#[tokio::test]
async fn node_that_is_slow_answers_all_the_same() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let agent = operator.creates_account("Ada").await;
    agent.sets_policy(json!({ "max_daily_spend": 7 })).await;
    proxy.faults().rains(1, 1_000, vec![Fault::Delayed(Duration::from_millis(600))]);
    let listed = operator.client.get("/v1/accounts").await.has_status(200);
    proxy.faults().clears();
    let slow = entry(&listed, &agent);
    assert_eq!(
        (&slow["status"], &slow["policy"]["max_daily_spend"]),
        (&json!("active"), &json!(7)),
        "{slow}"
    );
}
