//! `GET /v1/accounts` while the chain does not answer: every account as last seen.

use std::time::Duration;

use purser_tests::proxy::faults::Fault;
use purser_tests::{Agent, Answer, AppSettings, Browser, Operator, Proxy, TestApp, TestNetwork, until};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An operator behind a line that can be cut.
async fn operator_behind_a_proxy() -> (Operator, Proxy) {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let app = TestApp::start(network, &settings_behind(&proxy)).await;
    (app.new_operator().await, proxy)
}

fn settings_behind(proxy: &Proxy) -> AppSettings {
    AppSettings { rpc_url: Some(proxy.url()), indexer_interval_ms: 200, ..AppSettings::default() }
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
    let cut_at = OffsetDateTime::now_utc().format(&Rfc3339).expect("every moment has a text");
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
    assert!(as_of <= cut_at, "{known}");
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
    for claimed in ["no caps", " active", "Nothing needs attention"] {
        assert!(!away.text.contains(claimed), "{claimed}: {}", away.text);
    }
    for path in ["/dashboard/accounts", "/dashboard/accounts?status=paused"] {
        let listed = browser.reads(path).await.has_status(200).says(&agent.id).says("not known now");
        assert!(!listed.text.contains("No account is in this state"), "{path}");
    }
    proxy.mends();
}

/// The table's cell of this column, without its tags.
fn cell(page: &str, column: &str) -> String {
    let cell = page.split(&format!("data-label=\"{column}\">")).nth(1).expect("a cell");
    let cell = cell.split("</td>").next().expect("its end");
    let texts = cell.split('<').map(|part| part.rsplit('>').next().unwrap_or(""));
    texts.collect::<String>().trim().to_owned()
}

#[tokio::test]
async fn what_was_last_seen_is_shown_with_its_time_while_the_chain_is_away() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let ben = operator.creates_account("Ben").await;
    let budget = operator.makes_budget(1, "10", None).await;
    ada.sets_policy(json!({ "max_daily_spend": 12, "budget_id": budget })).await;
    ada.pays("10").to(&ben).await.is_settled();
    operator.client.post(&format!("/v1/accounts/{}/halt", ada.id), &json!({})).await.has_status(200);
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    let alive = browser.reads("/dashboard").await.has_status(200);
    alive.says("Ada is halted by the policy authority.").says("Budget 1 is used up");
    proxy.cuts();
    let away = browser.reads("/dashboard").await.has_status(200);
    let away = away
        .says("Ada is halted by the policy authority, as of 20")
        .says("1 stopped")
        .says("12.00 in all caps");
    let away = away.says("Budget 1 is used up, and stops the accounts that pay through it: 10.00 of 10.00 USDC in 24 hours, as of 20");
    away.says("what they have left is not known now");
    let listed = browser.reads("/dashboard/accounts?search=ada").await.has_status(200);
    for (column, said) in [("Spent in 24 h", "10.00 as of 20"), ("Daily limit", "12.00 USDC as of 20")] {
        let cell = cell(&listed.text, column);
        assert!(cell.starts_with(said) && cell.ends_with("UTC"), "{column}: {cell}");
    }
    // The indexer may have seen the halt before the line was cut, and no later word lifted it.
    let status = cell(&listed.text, "Status");
    let seen = ["paused ", "not known now "].iter().find_map(|known| status.strip_prefix(known));
    assert!(
        seen.is_some_and(|seen| seen.starts_with("halted as of 20") && seen.ends_with("UTC")),
        "{status}"
    );
    browser.reads("/dashboard/budgets").await.has_status(200).says("these are the budgets as of");
    // The interface says as much: what it knows now, and beside that what was last seen.
    let known = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(entry(&known, &ben)["status"], "unknown");
    assert_ne!(entry(&known, &ada)["status"], "active");
    let (ada, ben) = (&entry(&known, &ada)["last_seen"], &entry(&known, &ben)["last_seen"]);
    assert_eq!((&ada["status"], &ada["halted"]["scope"]), (&json!("paused"), &json!("account")), "{ada}");
    assert_eq!((&ben["status"], &ben["halted"]), (&json!("active"), &Value::Null), "{ben}");
    assert_eq!((&ada["spent_24h_usdc"], &ada["budget_id"]), (&json!("10.000000"), &json!(budget)), "{ada}");
    assert_eq!(ada["policy"]["max_daily_spend"], 12, "{ada}");
    assert!(ada["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{ada}");
    proxy.mends();
}

#[tokio::test]
async fn page_of_one_account_shows_what_was_last_seen_while_the_chain_is_away_and_no_form_that_needs_it() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let ben = operator.creates_account("Ben").await;
    ada.sets_policy(json!({ "max_daily_spend": 12 })).await;
    let key = operator.client.post(&ada.path("/keys"), &json!({ "name": "laptop" })).await.has_status(201);
    let other = operator.app().new_operator().await;
    ada.pays("10").to(&ben).memo("invoice 7").await.is_settled();
    operator.client.post(&ada.path("/halt"), &json!({})).await.has_status(200);
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    let page = format!("/dashboard/accounts/{}", ada.id);
    browser.reads(&page).await.has_status(200).says("Change the policy");
    until("the history has the payment", async || browser.reads(&page).await.text.contains("invoice 7"))
        .await;
    proxy.cuts();
    let away = browser.reads(&page).await.has_status(200);
    for said in
        ["The chain does not answer.", "halted as of", "12.00 USDC", "10.00 <span", "invoice 7", "laptop"]
    {
        assert!(away.text.contains(said), "{said}: {}", away.text);
    }
    let forms = ["/pause", "/halt", "/policy", "/policy/drop", "/tags", "/keys"];
    for form in forms {
        assert!(
            !away.text.contains(&format!("{page}{form}\"")) && !away.text.contains("Change the policy"),
            "{form}"
        );
    }
    browser.reads(&format!("{page}/history")).await.has_status(200).says("invoice 7");
    // A key that was stolen meanwhile is revoked all the same.
    browser.sends_form(&format!("{page}/keys/revoke"), &[("key", key.text_of("id"))]).await.has_status(303);
    // What was sent from a page of before is refused there, and says so.
    let refused = browser.sends_form(&format!("{page}/pause"), &[("paused", "true")]).await;
    assert!(refused.status == 503 && refused.text.contains("role=\"alert\""), "{}", refused.text);
    // The interface answers for one account with what the chain says now, or not at all.
    operator.client.get(&ada.path("")).await.is_error(503, "solana_unavailable");
    let stranger = Browser::signed_in(&operator.app().base_url(), other.client.key()).await;
    stranger.reads(&page).await.has_status(404);
    proxy.mends();
    until("the chain is read again", async || browser.reads(&page).await.text.contains("Fund it")).await;
}

#[tokio::test]
async fn page_of_one_budget_shows_what_was_last_seen_while_the_chain_is_away_and_no_form_that_needs_it() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let ben = operator.creates_account("Ben").await;
    let budget = operator.makes_budget(1, "15", None).await;
    ada.sets_policy(json!({ "budget_id": budget })).await;
    ada.pays("10").to(&ben).await.is_settled();
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    let page = format!("/dashboard/budgets/{budget}");
    browser.reads(&page).await.has_status(200).says("Change the caps").says("5.00 left");
    proxy.cuts();
    let away =
        browser.reads(&page).await.has_status(200).says("this is the budget as of").says("10.00 of 15.00");
    let away = away.says("When last seen, these did:").says(&ada.id);
    assert!(!away.text.contains(&ben.id) && !away.text.contains("Change the caps"), "{}", away.text);
    let changed = [("max_daily_spend", "20"), ("max_30_day_spend", ""), ("step", "look")];
    let refused = browser.sends_form(&page, &changed).await;
    assert!(refused.status == 503 && refused.text.contains("role=\"alert\""), "{}", refused.text);
    operator.client.get(&format!("/v1/budgets/{budget}")).await.is_error(503, "solana_unavailable");
    proxy.mends();
}

#[tokio::test]
async fn pages_claim_nothing_of_an_account_or_a_budget_that_was_not_seen_since_the_start() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    // Nothing counts conditions meanwhile, and nobody looks at the account.
    let settings = AppSettings { indexer_interval_ms: 60_000, ..settings_behind(&proxy) };
    let operator = TestApp::start(network, &settings).await.new_operator().await;
    let ada = operator.creates_account("Ada").await;
    ada.sets_policy(json!({ "max_daily_spend": 7_654_321 })).await;
    let budget = operator.makes_budget(1, "15", None).await;
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    proxy.cuts();
    let away = browser.reads(&format!("/dashboard/accounts/{}", ada.id)).await.has_status(200);
    let away = away.says("not known now").says("were not read since this service started");
    let is_said = ["7,654,321", "7654321", "tag active"].iter().any(|said| away.text.contains(said));
    assert!(!is_said, "{}", away.text);
    browser.reads(&format!("/dashboard/budgets/{budget}")).await.has_status(503);
    proxy.mends();
}

#[tokio::test]
async fn halt_of_all_that_was_seen_is_said_with_its_time_while_the_chain_is_away() {
    let (operator, proxy) = operator_behind_a_proxy().await;
    operator.creates_account("Ada").await;
    operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    browser.reads("/dashboard").await.has_status(200).says("Every account is halted by the policy authority");
    proxy.cuts();
    let away = browser.reads("/dashboard").await.has_status(200);
    assert!(away.text.contains("Every account is halted by the policy authority, as of 20"), "{}", away.text);
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
