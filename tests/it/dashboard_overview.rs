//! The dashboard over many accounts: who spends, what was refused and why, names in place of ids, what waits, what is halted.

use purser_client::OnChainPolicy;
use purser_tests::{AppSettings, Operator, TestApp, TestNetwork, awaited};
use serde_json::json;
use solana_sdk::signer::Signer;

use crate::dashboard::signed_in;
use crate::loosening::{agent_with_delay, seals};

/// A part of a page: from this text to that.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("{from} is not in {page}")).1;
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

/// The text of a page, as a person reads it.
fn read(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn home_says_who_paid_how_much_and_what_was_refused_today_and_why() {
    let operator = Operator::shared().await;
    let [ada, ben, idle] = [
        operator.creates_account_with("Ada", "20").await,
        operator.creates_account_with("Ben", "20").await,
        operator.creates_account("Idle").await,
    ];
    let browser = signed_in(&operator).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    home.says("Nothing was paid in 7 days.")
        .says("Policy refused nothing since midnight")
        .says("Nothing left any account in 24 hours.");
    for account in [&ada, &ben] {
        account.sets_policy(json!({ "max_single_transfer": 10 })).await;
    }
    ada.pays("2.5").to(&idle).await.is_settled();
    ada.pays("1").to(&idle).await.is_settled();
    ben.pays("9").to(&idle).await.is_settled();
    for memo in ["a", "b"] {
        ada.pays("11").to(&idle).memo(memo).await.is_error(402, "policy_violation");
    }
    ben.pays("11").to(&idle).memo("c").await.is_error(402, "policy_violation");
    ben.sets_policy(json!({ "max_single_transfer": 10, "require_memo": true })).await;
    ben.pays("1").to(&idle).await.is_error(402, "policy_violation");
    let home = browser.reads("/dashboard").await.has_status(200).text;
    let paid = part(&home, r#"<h2 id="paid">"#, "</section>");
    assert!(read(paid).contains("12.50 USDC in 7 days") && read(paid).contains("Ben 9.00"), "{}", read(paid));
    assert!(paid.contains(": Ada, 3.50 USDC</title>"), "{paid}");
    browser.reads("/dashboard?days=30").await.has_status(200).says("in 30 days; at most 12.50 in a day");
    let refused = part(&home, r#"<h2 id="refused">"#, "</section>");
    let words = read(refused);
    assert!(words.contains("single limit exceeded 2 accounts 3 memo required 1 account 1"), "{words}");
    let spenders = read(part(&home, r#"<h2 id="spenders">"#, "</section>"));
    let at = |name| spenders.find(name).unwrap_or_else(|| panic!("{name} is not in {spenders}"));
    assert!(at("Ben") < at("Ada") && !spenders.contains("Idle"), "{spenders}");
    // The link leads to exactly those.
    let link = part(refused, "href=\"", "\"").replace("&#38;", "&").replace("&amp;", "&");
    let listed = browser.reads(&link).await.has_status(200);
    assert_eq!(listed.text.matches(r#"<th scope="row">"#).count(), 3, "{link}: {}", listed.text);
    let other = browser.reads("/dashboard/transfers?reason=memo_required").await.has_status(200);
    assert_eq!(other.text.matches(r#"<th scope="row">"#).count(), 1, "{}", other.text);
    browser.reads("/dashboard/transfers?reason=nonsense").await.has_status(400);
    browser
        .reads("/dashboard/transfers?since=2026-01-31T12:00&until=2026-02-01T12:00:30")
        .await
        .has_status(200);
    // Accounts by their refusals, and by how little they hold.
    let sorted = |page: String, first: &str, second: &str| {
        let table = read(part(&page, "<tbody>", "</tbody>"));
        assert!(table.find(first) < table.find(second), "{first} before {second}: {table}");
    };
    ada.pays("11").to(&idle).memo("d").await.is_error(402, "policy_violation");
    sorted(browser.reads("/dashboard/accounts?sort=refused").await.text, "Ada", "Ben");
    sorted(browser.reads("/dashboard/accounts?sort=refused").await.text, "Ben", "Idle");
    sorted(browser.reads("/dashboard/accounts?sort=low").await.text, "Ben", "Ada");
}

#[tokio::test]
async fn accounts_and_keys_are_shown_by_name_with_their_ids_beside() {
    let operator = Operator::shared().await;
    let payer = operator.creates_account_with("Research agent", "20").await;
    let payee = operator.creates_account("Travel bookings").await;
    let paid = payer.pays("2.5").to(&payee).memo("hotel").await.is_settled();
    payer.pays("1").field("to", json!(payee.token_account.to_string())).await.is_settled();
    let (stranger, _) = operator.chain.new_payee().await;
    payer.pays("1").to(&stranger).await.is_settled();
    let browser = signed_in(&operator).await;
    let id = payee.id.as_str();
    let named = format!(r#"<a href="/dashboard/accounts/{id}" title="{id}"><bdi>Travel bookings</bdi></a>"#);
    let list = browser.reads("/dashboard/transfers").await.has_status(200).says(&named).says("hotel").text;
    assert!(list.matches("<bdi>Travel bookings</bdi>").count() == 2, "by its token account as well: {list}");
    let words = read(&list);
    assert!(!words.contains(id) && !words.contains(&payer.id), "{words}");
    assert!(words.contains(&stranger.to_string()), "who is not ours has no name: {words}");
    let one = browser.reads(&format!("/dashboard/transfers/{}", paid.text_of("transfer_id"))).await;
    one.says(&named).says("<bdi>Research agent</bdi>").says(&format!(r#"<code class="faint">{id}</code>"#));
    // Where a deposit came from.
    let history = browser.reads(&format!("/dashboard/accounts/{id}/history")).await.has_status(200);
    let from = format!(r#"<td data-label="From"><a href="/dashboard/accounts/{}""#, payer.id);
    history.says(&from).says("<bdi>Research agent</bdi>").says("<bdi>hotel</bdi>");
    browser.reads("/dashboard/actions?action=create_account").await.says("<bdi>Travel bookings</bdi>");
    payer.sets_policy(json!({ "max_daily_spend": 100 })).await;
    let versions = browser.reads(&format!("/dashboard/accounts/{}/policy/versions", payer.id)).await;
    versions.says("<bdi>Research agent</bdi></a></p>");
    let hook = json!({ "url": "http://127.0.0.1:9/", "events": ["transfer.settled"], "account_ids": [id] });
    let hook = operator.client.post("/v1/webhooks", &hook).await.has_status(201);
    browser.reads(&format!("/dashboard/webhooks/{}", hook.text_of("id"))).await.says(&named);
}

#[tokio::test]
async fn of_many_accounts_of_which_the_same_is_true_a_few_are_named() {
    let operator = Operator::shared().await;
    for number in 0..7 {
        let body = json!({ "name": format!("Agent {number}"), "policy": { "paused": true } });
        operator.client.post("/v1/accounts", &body).await.has_status(201);
    }
    let browser = signed_in(&operator).await;
    let home = browser.reads("/dashboard").await.has_status(200);
    home.says("Paused: 2 more accounts.").says(r#"href="/dashboard/accounts?status=paused""#);
}

#[tokio::test]
async fn a_halt_of_all_is_one_banner_and_no_list() {
    let operator = Operator::shared().await;
    let accounts = [operator.creates_account("Ada").await, operator.creates_account("Ben").await];
    accounts[1].sets_policy(json!({ "paused": true })).await;
    operator.client.post(&accounts[0].path("/halt"), &json!({})).await.has_status(200);
    let browser = signed_in(&operator).await;
    browser.reads("/dashboard").await.says("Ada is halted by").says("Ben is paused.").says("Stop all");
    browser.sends_form("/dashboard/stop-all", &[("once", "stop")]).await.has_status(303);
    let home = awaited("every account is halted", async || {
        let home = browser.reads("/dashboard?stopped=1").await.has_status(200).text;
        home.contains("Every account is halted").then_some(home)
    });
    let home = home.await;
    assert_eq!(home.matches(r#"<p class="note"#).count(), 1, "{home}");
    for absent in ["Ada is halted", "Ben is paused", "Stop all"] {
        assert!(!home.contains(absent), "{absent}: {home}");
    }
    for account in &accounts {
        let page = browser.reads(&format!("/dashboard/accounts/{}", account.id)).await.has_status(200).text;
        let banners = page.matches(r#"<p class="note"#).count();
        assert_eq!(
            (banners, page.contains(">Pause<"), page.contains("Let it pay again")),
            (1, false, false),
            "{page}"
        );
    }
}

#[tokio::test]
async fn home_shows_wallets_with_their_sol_and_the_websocket() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let browser = signed_in(&operator).await;
    let wallet = app.transfer_authority().pubkey().to_string();
    let system = awaited("the websocket is connected, and SOL is known", async || {
        let home = browser.reads("/dashboard").await.has_status(200).text;
        let system = read(part(&home, r#"<h2 id="system">"#, "</section>"));
        (system.contains(" SOL") && system.contains("Websocket connected")).then_some(system)
    });
    let system = system.await;
    for words in ["Database working", "Nodes working", "Websocket connected", &wallet, " SOL"] {
        assert!(system.contains(words), "{words}: {system}");
    }
}

#[tokio::test]
async fn every_looser_policy_that_waits_is_in_one_list_whoever_sealed_it_and_is_dropped_there() {
    let (operator, asked) = agent_with_delay(7_200).await;
    let sealed = operator.creates_account("Ben").await;
    sealed.sets_policy(json!({ "max_single_transfer": 10 })).await;
    let browser = signed_in(&operator).await;
    browser.reads("/dashboard/pending").await.has_status(200).says("No policy waits.");
    let change = json!({ "max_single_transfer": 50, "reason": "a bigger order" });
    operator.client.patch(&asked.path("/policy"), &change).await.has_status(202);
    let admin = operator.app().admin();
    seals(&operator, &sealed, admin, OnChainPolicy::default()).await;
    let mut list = String::new();
    for _ in 0..600 {
        list = browser.reads("/dashboard/pending").await.has_status(200).text;
        if list.contains("<bdi>Ben</bdi>") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let words = read(&list);
    for said in ["10.00 USDC", "50.00 USDC", "No limit", "a bigger order", &admin.pubkey().to_string()] {
        assert!(words.contains(said), "{said}: {words}");
    }
    // They were sealed within a second of each other.
    browser.reads("/dashboard").await.says("2 looser policies wait, the first of them, for");
    for account in [&asked, &sealed] {
        let path = format!("/dashboard/accounts/{}/policy/drop", account.id);
        let dropped = browser.sends_form(&path, &[("from", "pending")]).await;
        dropped.leads_to("/dashboard/pending?dropped=1");
    }
    let list = browser.reads("/dashboard/pending?dropped=1").await.has_status(200);
    list.says("No policy waits.").says("The pending policy was dropped.");
    for account in [&asked, &sealed] {
        let policy = operator.client.get(&account.path("/policy")).await.has_status(200);
        assert!(policy["pending"].is_null() && policy["max_single_transfer"] == 10, "{}", policy.text);
    }
}
