//! Accounts and transfers on the dashboard: what it shows, and what it changes.

use std::collections::HashSet;
use std::time::Duration;

use purser_tests::{AppSettings, Browser, Operator, TestApp, TestNetwork, until};
use serde_json::json;

use crate::dashboard::signed_in;
use crate::loosening::agent_with_delay;
use crate::window::{DAY, agent_on_a_standing_clock, stands_at};

/// The value of a form field on a page, hidden or visible.
pub fn field(page: &str, name: &str) -> String {
    let rest = page.split(&format!("name=\"{name}\" value=\"")).nth(1).expect("the field is there");
    rest.split('"').next().expect("a value").to_owned()
}

#[tokio::test]
async fn an_account_is_made_and_an_empty_name_is_refused_beside_its_field() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    browser.reads("/dashboard/accounts").await.says("There is no account yet");
    browser
        .sends_form("/dashboard/accounts", &[("name", " ")])
        .await
        .has_status(400)
        .says(r#"id="wrong-name""#);
    // Nothing is preselected: whom it may pay has to be said.
    let page = browser.reads("/dashboard/accounts/new").await.text;
    assert!(!page.contains(r#"value="anyone" required checked"#), "{page}");
    // Nor is having no limit: it has to be typed.
    let mut fields = vec![("name", "Ada")];
    for missing in ["max_single_transfer", "max_daily_spend"] {
        let refused = browser.sends_form("/dashboard/accounts", &fields).await.has_status(400);
        refused.says(&format!(r#"id="wrong-{missing}""#)).says("`none` for no limit");
        fields.push((missing, "none"));
    }
    browser
        .sends_form("/dashboard/accounts", &fields)
        .await
        .has_status(400)
        .says(r#"id="wrong-allowed_counterparties""#);
    let form = [&fields[..], &[("allowed", "anyone")]].concat();
    let made = browser.sends_form("/dashboard/accounts", &form).await.has_status(303);
    let path = made.header("location").expect("its page").to_owned();
    let page = browser.reads(&path).await.has_status(200).says("Never send SOL here").says("QR code");
    let listed = operator.client.get("/v1/accounts").await;
    let token_account = listed["data"][0]["usdc_token_account"].as_str().expect("an address");
    assert_eq!(scanned(&page.text), token_account);
    page.says(token_account);
}

/// What a wallet reads in the page's QR code.
fn scanned(page: &str) -> String {
    let svg = page.split(r#"<svg class="qr" viewBox="0 0 "#).nth(1).expect("a code is drawn");
    let side = svg.split(' ').next().and_then(|side| side.parse().ok()).expect("it has a side");
    let path = svg.split(r#"<path d=""#).nth(1).and_then(|rest| rest.split('"').next()).expect("a path");
    let dark: HashSet<(usize, usize)> = path
        .split('M')
        .skip(1)
        .map(|module| {
            let (x, y) = module.strip_suffix("h1v1h-1z").and_then(|at| at.split_once(' ')).expect("a module");
            (x.parse().expect("a column"), y.parse().expect("a row"))
        })
        .collect();
    let code = rqrr::SimpleGrid::from_func(side, |x, y| dark.contains(&(x, y)));
    rqrr::Grid::new(code).decode().expect("it can be read").1
}

#[tokio::test]
async fn a_policy_is_looked_at_before_it_is_changed_and_a_change_in_between_is_seen() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let form = browser.reads(&path).await.has_status(200).text;
    let version = field(&form, "expected_version");
    let asked = [
        ("expected_version", version.as_str()),
        ("max_single_transfer", "2.5"),
        ("max_daily_spend", "1000"),
        ("allowed", "anyone"),
        ("reason", "a first cap"),
    ];
    let look = [&asked[..], &[("step", "look")]].concat();
    let compared = browser.sends_form(&path, &look).await.has_status(200).says("What this changes");
    compared.says("2.50 USDC").says("1,000.00 USDC").says("in force at once");
    let stands = operator.client.get(&agent.path("/policy")).await;
    assert!(stands["max_single_transfer"].is_null(), "a look changes nothing: {}", stands.text);
    let seen = confirmation(&browser, &path, &asked).await;
    agent.sets_policy(json!({ "require_memo": true })).await;
    let change = [&asked[..], &[("step", "change"), ("compared", &seen)]].concat();
    browser.sends_form(&path, &change).await.has_status(409).says("nothing was changed");
    let version = field(&browser.reads(&path).await.text, "expected_version");
    let mut asked = asked;
    asked[0].1 = &version;
    let seen = confirmation(&browser, &path, &asked).await;
    let change = [&asked[..], &[("step", "change"), ("compared", &seen)]].concat();
    let page = format!("/dashboard/accounts/{}", agent.id);
    browser.sends_form(&path, &change).await.leads_to(&format!("{page}?changed=1"));
    let stands = operator.client.get(&agent.path("/policy")).await;
    assert_eq!((&stands["max_single_transfer"], &stands["max_daily_spend"]), (&json!(2.5), &json!(1000)));
    assert_eq!(stands["require_memo"], false, "as the form says it");
    let wrong = [("expected_version", version.as_str()), ("max_daily_spend", "ten")];
    let refused = browser.sends_form(&path, &wrong).await.has_status(400);
    refused.says(r#"id="wrong-max_daily_spend""#).says(r#"value="ten""#);
}

/// What a form's comparison has the browser send back.
async fn confirmation(browser: &Browser, path: &str, asked: &[(&str, &str)]) -> String {
    field(&browser.sends_form(path, asked).await.has_status(200).says("What this changes").text, "compared")
}

#[tokio::test]
async fn a_policy_is_never_changed_to_fields_that_nobody_was_shown() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let version = field(&browser.reads(&path).await.text, "expected_version");
    let with = |cap: &'static str| [("expected_version", version.as_str()), ("max_daily_spend", cap)];
    let seen = confirmation(&browser, &path, &with("6")).await;
    // Enter in an edited field of the comparison presses its first button.
    let edited = [&with("6000")[..], &[("step", "change"), ("compared", &seen)]].concat();
    let compared = browser.sends_form(&path, &edited).await.has_status(200).says("6,000.00 USDC");
    let compared = compared.says("Nothing was changed yet");
    // Nor without a comparison, nor with one of another version.
    let unseen = [&with("6")[..], &[("step", "change")]].concat();
    browser.sends_form(&path, &unseen).await.has_status(200).says("What this changes");
    let stands = operator.client.get(&agent.path("/policy")).await;
    assert!(stands["max_daily_spend"].is_null(), "{}", stands.text);
    let seen = field(&compared.text, "compared");
    let confirmed = [&with("6000")[..], &[("step", "change"), ("compared", &seen)]].concat();
    let done = format!("/dashboard/accounts/{}?changed=1", agent.id);
    browser.sends_form(&path, &confirmed).await.leads_to(&done);
    assert_eq!(operator.client.get(&agent.path("/policy")).await["max_daily_spend"], 6000);
}

#[tokio::test]
async fn a_comma_in_a_limit_is_refused_with_what_to_type() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let version = field(&browser.reads(&path).await.text, "expected_version");
    for limit in ["12,50", "1,250", "1,250.00", "1.250,00"] {
        for field in ["max_single_transfer", "max_daily_spend"] {
            let form = [("expected_version", version.as_str()), (field, limit)];
            let refused = browser.sends_form(&path, &form).await.has_status(400).says("without a comma");
            refused.says(&format!(r#"id="wrong-{field}""#)).says(&format!(r#"value="{limit}""#));
            let made = [("name", "Bea"), (field, limit)];
            browser.sends_form("/dashboard/accounts", &made).await.has_status(400).says("without a comma");
        }
    }
}

#[tokio::test]
async fn an_account_begins_with_the_policy_of_its_form() {
    let operator = Operator::shared().await;
    let payee = operator.creates_account("Bea").await;
    let browser = signed_in(&operator).await;
    let form = [
        ("name", "Ada"),
        ("max_single_transfer", "2.5"),
        ("max_daily_spend", "10"),
        ("allowed", "only"),
        ("allowed_counterparties", payee.id.as_str()),
        ("require_memo", "true"),
    ];
    let made = browser.sends_form("/dashboard/accounts", &form).await.has_status(303);
    let page = made.header("location").expect("its page").to_owned();
    let id = page.trim_start_matches("/dashboard/accounts/").split('?').next().expect("an id");
    let policy = operator.client.get(&format!("/v1/accounts/{id}/policy")).await.has_status(200);
    assert_eq!((&policy["max_single_transfer"], &policy["max_daily_spend"]), (&json!(2.5), &json!(10)));
    assert_eq!(
        (&policy["allowed_counterparties"], &policy["require_memo"]),
        (&json!([payee.address.to_string()]), &json!(true))
    );
    assert_eq!(policy["version"], 1, "it never stood without: {}", policy.text);
}

#[tokio::test]
async fn page_shows_who_changed_a_policy_and_why() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let changed = json!({ "max_daily_spend": 5, "reason": "<b>caution</b>" });
    agent.sets_policy(changed).await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy/versions", agent.id);
    until("the reason is shown", async || {
        let page = browser.reads(&path).await.has_status(200).text;
        assert!(!page.contains("<b>caution"), "{page}");
        page.contains("&#60;b&#62;caution")
    })
    .await;
}

#[tokio::test]
async fn an_account_is_halted_alone_and_nothing_here_resumes_it() {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "5").await;
    let bea = operator.creates_account_with("Bea", "5").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}", ada.id);
    browser.reads(&format!("{path}/settings")).await.says("Halt the account");
    browser.sends_form(&format!("{path}/halt"), &[]).await.leads_to(&format!("{path}?halted=1"));
    let settings = browser.reads(&format!("{path}/settings")).await.has_status(200);
    assert!(!settings.text.contains("Halt the account") && settings.text.contains("halted"));
    let page = browser.reads(&path).await.has_status(200);
    let banners = page.text.matches(r#"<p class="note"#).count();
    assert_eq!((banners, page.text.contains(">Pause<")), (1, false), "{}", page.text);
    ada.pays("1").to(&bea).await.is_error(402, "account_paused");
    // The policy's pause is a separate switch.
    browser.sends_form(&format!("{path}/pause"), &[("paused", "true")]).await;
    let page = browser.reads(&path).await.has_status(200);
    assert!(!page.text.contains("Let it pay again"), "nothing here does: {}", page.text);
    let version = field(&browser.reads(&format!("{path}/policy")).await.text, "expected_version");
    browser
        .sends_form(&format!("{path}/pause"), &[("paused", "false"), ("expected_version", &version)])
        .await;
    ada.pays("1").to(&bea).await.is_error(402, "account_paused");
    bea.pays("1").to(&ada).await.is_settled();
}

#[tokio::test]
async fn an_account_is_paused_and_pays_again() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let payee = operator.creates_account("Bea").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}", agent.id);
    browser
        .sends_form(&format!("{path}/pause"), &[("paused", "true")])
        .await
        .leads_to(&format!("{path}?changed=1"));
    agent.pays("1").to(&payee).await.is_error(402, "account_paused");
    browser.reads("/dashboard").await.says("Ada is paused.");
    let page = browser.reads(&path).await.has_status(200).says("Let it pay again").text;
    let version = field(&page, "expected_version");
    let again = [("paused", "false"), ("expected_version", version.as_str())];
    browser.sends_form(&format!("{path}/pause"), &again).await.leads_to(&format!("{path}?changed=1"));
    agent.pays("1").to(&payee).await.is_settled();
    let stale = browser.sends_form(&format!("{path}/pause"), &again).await;
    stale.has_status(409).says("nothing was changed");
}

#[tokio::test]
async fn end_of_a_pause_says_at_the_button_how_long_it_waits() {
    let (operator, agent) = agent_with_delay(7_200).await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}", agent.id);
    let open = browser.reads(&path).await.has_status(200);
    assert!(!open.text.contains("after you press"), "nothing waits: {}", open.text);
    browser.sends_form(&format!("{path}/pause"), &[("paused", "true")]).await;
    let paused = browser.reads(&path).await.says("It pays again 2 hours after you press this").text;
    let version = field(&paused, "expected_version");
    let again = [("paused", "false"), ("expected_version", version.as_str())];
    browser.sends_form(&format!("{path}/pause"), &again).await.leads_to(&format!("{path}?waits=1"));
    assert_eq!(operator.client.get(&agent.path("/policy")).await["paused"], true);
}

#[tokio::test]
async fn a_loosening_says_that_it_waits_and_is_dropped_from_the_page() {
    let (operator, agent) = agent_with_delay(7_200).await;
    let browser = signed_in(&operator).await;
    let page = format!("/dashboard/accounts/{}", agent.id);
    let path = format!("{page}/policy");
    let version = field(&browser.reads(&path).await.text, "expected_version");
    let asked = [("expected_version", version.as_str()), ("max_single_transfer", "50")];
    let look = browser.sends_form(&path, &asked).await.has_status(200);
    let look = look.says("This loosens something").says("It takes effect 2 hours after");
    let seen = field(&look.text, "compared");
    let change = [&asked[..], &[("step", "change"), ("compared", &seen)]].concat();
    browser.sends_form(&path, &change).await.leads_to(&format!("{page}?waits=1"));
    browser.reads(&page).await.says("A looser policy waits");
    browser.reads("/dashboard").await.says("A looser policy waits for Ada until");
    browser.sends_form(&format!("{path}/drop"), &[]).await.leads_to(&format!("{page}?dropped=1"));
    let stands = operator.client.get(&agent.path("/policy")).await;
    assert!(stands["pending"].is_null() && stands["max_single_transfer"] == 10, "{}", stands.text);
}

#[tokio::test]
async fn a_key_is_made_shown_once_and_revoked() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let payee = operator.creates_account("Bea").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}", agent.id);
    let past = [("name", "bot"), ("expires_at", "2020-01-01T00:00:00Z")];
    let refused = browser.sends_form(&format!("{path}/keys"), &past).await.has_status(400);
    refused.says(r#"id="wrong-expires_at""#).says(r#"value="bot""#);
    let picked = [("name", "bot"), ("expires_at", "2999-01-31T12:00")];
    let made = browser.sends_form(&format!("{path}/keys"), &picked).await.has_status(200).text;
    let key = made.split("<code>").find(|rest| rest.starts_with("psr_ag_")).expect("the key");
    let client = operator.client.with_key(key.split('<').next().expect("its text"));
    agent.pays("1").to(&payee).by(&client).await.is_settled();
    let page = browser.reads(&format!("{path}/keys")).await.has_status(200).says("bot").text;
    assert!(!page.contains(client.key()), "a key is shown once");
    let id =
        page.split("name=\"key\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("its id");
    browser
        .sends_form(&format!("{path}/keys/revoke"), &[("key", id)])
        .await
        .leads_to(&format!("{path}/keys?revoked=1"));
    browser.reads(&format!("{path}/keys")).await.says("No agent key is active here.").says("1 revoked");
    agent.pays("1").to(&payee).by(&client).await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn history_is_filtered_searched_and_taken_along() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "9").await;
    let payee = operator.creates_account("Bea").await;
    agent.sets_policy(json!({ "max_single_transfer": 5 })).await;
    let paid = agent.pays("1.25").to(&payee).memo("=SUM(<script>)").await.is_settled();
    agent.pays("6").to(&payee).memo("too much").await.is_error(402, "policy_violation");
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/history", agent.id);
    let all = browser.reads(&path).await.has_status(200).says("too much").says("=SUM(&#60;script&#62;)");
    assert!(!all.text.contains("SUM(<script>"), "{}", all.text);
    let rejected = browser.reads(&format!("{path}?status=rejected")).await.says("too much");
    assert!(!rejected.text.contains("=SUM("), "{}", rejected.text);
    for wanted in [paid.text_of("tx_signature"), "sum(", paid.text_of("transfer_id")] {
        let mut url = reqwest::Url::parse("http://x").expect("a URL");
        url.query_pairs_mut().append_pair("search", wanted);
        let found = browser.reads(&format!("{path}?{}", url.query().expect("a query"))).await.has_status(200);
        assert!(found.text.contains("1.25") && !found.text.contains("too much"), "{wanted}: {}", found.text);
    }
    let file = browser.reads(&format!("{path}.csv?status=settled")).await.has_status(200);
    assert!(file.header("content-type").is_some_and(|kind| kind.starts_with("text/csv")));
    assert!(file.text.contains("'=SUM(") && !file.text.contains("too much"), "{}", file.text);
    browser.reads(&format!("{path}?since=yesterday")).await.has_status(400);
    // What a date picker sends, without seconds and with; and its value again.
    for (since, picked) in [
        ("2026-01-31T12:00", "2026-01-31T12:00:00"),
        ("2026-01-31T12:00:07", "2026-01-31T12:00:07"),
        ("2026-01-31T12:00:07Z", "2026-01-31T12:00:07"),
        ("2026-01-31", "2026-01-31T00:00:00"),
    ] {
        let page = browser.reads(&format!("{path}?since={since}")).await.has_status(200).says("too much");
        page.says(&format!(r#"type="datetime-local" step="1" value="{picked}""#));
        let file = browser.reads(&format!("{path}.csv?since={since}")).await.has_status(200);
        assert!(file.text.contains("too much"), "{}", file.text);
    }
    let later = browser.reads(&format!("{path}?since=2999-01-31T12:00")).await.has_status(200);
    later.says("No entry matches these filters.");
    browser
        .reads(&format!("/dashboard/accounts/{}", agent.id))
        .await
        .says("Spent in 24 hours: <strong>1.25 USDC");
}

#[tokio::test]
async fn spending_is_summed_over_24_hours_and_over_30_days() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    let says = async |day: &str, month: &str| {
        let browser = signed_in(&agent.operator).await;
        let page = browser.reads(&format!("/dashboard/accounts/{}", agent.id)).await.has_status(200);
        page.says(&format!("Spent in 24 hours: <strong>{day} USDC</strong>"))
            .says(&format!("Spent in 30 days: <strong>{month} USDC</strong>"))
            .says(&format!("Spent in 30 days: {month} USDC in all; most: "));
    };
    agent.pays("4").to(&payee).await.is_settled();
    says("4.00", "4.00").await;
    stands_at(&agent, start + 20 * DAY).await;
    agent.pays("2.5").to(&payee).await.is_settled();
    says("2.50", "6.50").await;
    stands_at(&agent, start + 31 * DAY).await;
    says("0.00", "2.50").await;
}

#[tokio::test]
async fn a_key_says_when_it_was_last_used() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let path = agent.path("/keys");
    for name in ["idle", "used"] {
        let made = operator.client.post(&path, &json!({ "name": name })).await.has_status(201);
        if name == "used" {
            operator.client.with_key(made.text_of("key")).get(&agent.path("")).await.has_status(200);
        }
    }
    // Uses are written down every minute and at a stop.
    assert!(app.stops(Duration::from_secs(60)).await);
    app.starts();
    let operator = operator.reconnected();
    let listed = operator.client.get(&path).await.has_status(200);
    let keys = listed["data"].as_array().expect("a list");
    let used_at = keys.iter().find_map(|key| key["last_used_at"].as_str()).expect("one was used");
    let browser = signed_in(&operator).await;
    let page = browser.reads(&format!("/dashboard/accounts/{}/keys", agent.id)).await.has_status(200).text;
    let row = |name: &str| {
        let rest = page.split(&format!("<bdi>{name}</bdi>")).nth(1).expect("the key is listed");
        rest.split("</tr>").next().expect("its row ends").to_owned()
    };
    assert!(row("idle").contains("never") && !row("used").contains("never"), "{page}");
    assert!(
        row("used").contains(&format!(r#"<td data-label="Last used"><time datetime="{used_at}""#)),
        "{used_at}: {}",
        row("used")
    );
}

/// The address of the next page, which the button "Older" leads to.
fn older(page: &str) -> Option<String> {
    let (before, _) = page.split_once(r#"">Older</a>"#)?;
    let (_, address) = before.rsplit_once(r#"href=""#)?;
    Some(address.replace("&#38;", "&").replace("&amp;", "&"))
}

#[tokio::test]
async fn search_goes_on_until_the_whole_history_was_searched() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "9").await;
    let payee = operator.creates_account("Bea").await;
    agent.sets_policy(json!({ "max_single_transfer": 5 })).await;
    let first = agent.pays("1.25").to(&payee).memo("needle first").await.is_settled();
    for number in 0..260 {
        let memo = if number % 2 == 0 { format!("needle {number}.") } else { format!("hay {number}.") };
        agent.pays("6").to(&payee).memo(&memo).await.is_error(402, "policy_violation");
    }
    let browser = signed_in(&operator).await;
    let mut next = Some(format!("/dashboard/accounts/{}/history?search=Needle", agent.id));
    let (mut pages, mut found) = (0, Vec::new());
    while let Some(address) = next {
        let page = browser.reads(&address).await.has_status(200);
        assert!(!page.text.contains("hay "), "{}", page.text);
        let here = (0..260).filter(|number| page.text.contains(&format!("needle {number}.")));
        found.extend(here);
        next = older(&page.text);
        pages += 1;
        assert_eq!(next.is_none(), page.text.contains(first.text_of("tx_signature")), "{}", page.text);
    }
    found.sort_unstable();
    assert_eq!(found, (0..260).step_by(2).collect::<Vec<_>>(), "each once");
    assert_eq!(pages, 2);
}

#[tokio::test]
async fn transfers_show_every_check_and_a_preview_pays_nothing() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "9").await;
    let payee = operator.creates_account("Bea").await;
    agent.sets_policy(json!({ "max_single_transfer": 5 })).await;
    let refused = agent.pays("6").to(&payee).memo("\"><img src=x>").await.is_error(402, "policy_violation");
    let browser = signed_in(&operator).await;
    let id = refused.text_of("transfer_id");
    browser.reads("/dashboard/transfers?status=rejected").await.says(id);
    browser.reads("/dashboard/transfers?status=settled").await.says("No transfer matches");
    let one = browser.reads(&format!("/dashboard/transfers/{id}")).await.has_status(200);
    assert!(!one.text.contains("<img"), "{}", one.text);
    one.says("max_single_transfer").says("refuses");
    let page_of = async |transfer: &str| browser.reads(&format!("/dashboard/transfers/{transfer}")).await;
    let settled = agent.pays("0.5").to(&payee).await.is_settled();
    page_of(settled.text_of("transfer_id")).await.says("Every rule passed before it was signed");
    let failed = agent.pays("0.5").field("to", json!("nobody")).await.is_error(422, "invalid_recipient");
    page_of(failed.text_of("transfer_id")).await.says("neither an account id nor a Solana address");
    let asks = async |amount: &str, to: &str| {
        let fields = [("from", agent.id.as_str()), ("to", to), ("amount", amount)];
        browser.sends_form("/dashboard/preview", &fields).await
    };
    asks("5", &payee.id).await.has_status(200).says("It would be paid.");
    asks("6", &payee.id).await.has_status(200).says("It would not be paid").says("refuses");
    asks("-1", &payee.id).await.has_status(400).says(r#"id="wrong-amount""#);
    asks("1", "nobody").await.has_status(422).says(r#"id="wrong-to""#);
    assert_eq!(agent.balance_micros().await, 8_500_000);
}

#[tokio::test]
async fn transfers_in_every_state_show_what_each_rule_said_by_which_version_of_the_policy() {
    let settings = AppSettings { deadline_seconds: 1, commitment: "finalized", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "3").await;
    let payee = operator.creates_account("Bea").await;
    agent
        .sets_policy(
            json!({ "max_single_transfer": 5, "require_memo": true, "allowed_counterparties": [payee.id] }),
        )
        .await;
    let browser = signed_in(&operator).await;
    let page_of = async |transfer: &str| {
        browser.reads(&format!("/dashboard/transfers/{transfer}")).await.has_status(200)
    };
    let row = |rule: &str, verdict: &str, allowed: &str| {
        format!(
            "<th scope=\"row\">{rule}</th>\n<td><span class=\"tag {verdict}</span></td>\n<td{allowed}</td>"
        )
    };
    let rules = |page: purser_tests::Answer, single: &str, balance: &str| {
        page.says(&row("paused", "ok\">passed", ">No"))
            .says(&row("require_memo", "ok\">passed", ">Yes"))
            .says(&row("allowed_counterparties", "ok\">passed", ">1 recipient"))
            .says(&row("max_single_transfer", "ok\">passed", &format!(">{single}")))
            .says(&row("max_daily_spend", "ok\">passed", ">No limit"))
            .says(&row("balance", balance, " class=\"faint\">&ndash;"));
    };
    let paid = agent.pays("2").to(&payee).memo("tea").await.has_status(202);
    let paid = paid.text_of("transfer_id");
    let submitted =
        page_of(paid).await.says("Every rule passed before it was signed, by version 2 of the policy");
    submitted.says("The chain checks each again.");
    crate::transfers::settles(&agent, paid).await;
    // What a version allowed is known once its transaction was read.
    until("what it allowed is on record", async || {
        !page_of(paid).await.text.contains("what that allowed is not on record here")
    })
    .await;
    agent
        .sets_policy(
            json!({ "max_single_transfer": 4, "require_memo": true, "allowed_counterparties": [payee.id] }),
        )
        .await;
    let settled = page_of(paid).await;
    rules(settled.says("by version 2 of the policy, and again on the chain."), "5.00 USDC", "ok\">passed");
    let short = agent.pays("4").to(&payee).memo("tea").await.is_error(402, "insufficient_balance");
    let short = short.text_of("transfer_id");
    until("its limit is shown", async || page_of(short).await.text.contains("4.00 USDC</td>")).await;
    let failed = page_of(short).await.says("Every rule of the policy passed, by version 3 of the policy.");
    rules(failed.says("less than the 4.00 USDC of this payment"), "4.00 USDC", "no\">failed");
    let nowhere =
        agent.pays("1").field("to", json!("nobody")).memo("tea").await.is_error(422, "invalid_recipient");
    let unjudged = page_of(nowhere.text_of("transfer_id")).await;
    assert!(!unjudged.text.contains("Table of checks"), "{}", unjudged.text);
    unjudged.says("It failed before the policy had allowed or refused it.");
    let refused = agent.pays("5").to(&payee).memo("tea").await.is_error(402, "policy_violation");
    page_of(refused.text_of("transfer_id")).await.says("By version 3 of the policy.").says("refuses");
}

#[tokio::test]
async fn limits_are_a_bar_with_what_is_left_and_when_the_oldest_frees() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "9").await;
    let payee = operator.creates_account("Bea").await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}", agent.id);
    browser.reads(&path).await.says("No daily limit.");
    agent.sets_policy(json!({ "max_daily_spend": 8 })).await;
    agent.pays("2").to(&payee).await.is_settled();
    let limits = operator.client.get(&agent.path("/limits")).await.has_status(200);
    let frees_at = limits["max_daily_spend"]["frees_at"].as_str().expect("something counts").to_owned();
    browser
        .reads(&path)
        .await
        .says(r#"aria-label="25 % of the daily limit is used""#)
        .says("2.00 of 8.00 USDC used")
        .says("6.00 left")
        .says("Frees up from")
        .says(&format!(r#"<time class="exact" datetime="{frees_at}""#));
}

/// Every page for something that an operator owns.
fn pages(account: &str, transfer: &str, webhook: &str, event: &str) -> Vec<String> {
    let account = format!("/dashboard/accounts/{account}");
    let below = ["", "/keys", "/settings", "/policy", "/policy/versions", "/history", "/history.csv"]
        .map(|below| format!("{account}{below}"));
    let others = [
        format!("/dashboard/transfers/{transfer}"),
        format!("/dashboard/webhooks/{webhook}"),
        format!("/dashboard/webhooks/{webhook}/deliveries/{event}"),
    ];
    below.into_iter().chain(others).collect()
}

/// Every form for something that an operator owns.
fn forms(account: &str, webhook: &str, event: &str, key: &str) -> Vec<(String, Vec<(&'static str, String)>)> {
    let (account, webhook) =
        (format!("/dashboard/accounts/{account}"), format!("/dashboard/webhooks/{webhook}"));
    let version = || vec![("expected_version", "1".to_owned())];
    vec![
        (format!("{account}/pause"), vec![("paused", "true".to_owned())]),
        (format!("{account}/halt"), vec![]),
        (format!("{account}/policy"), version()),
        (format!("{account}/policy"), [version(), vec![("step", "change".to_owned())]].concat()),
        (format!("{account}/policy/drop"), vec![]),
        (format!("{account}/keys"), vec![]),
        (format!("{account}/keys/revoke"), vec![("key", key.to_owned())]),
        (format!("{webhook}/replay"), vec![("event", event.to_owned())]),
        (format!("{webhook}/replay"), vec![("since", "2020-01-01T00:00:00Z".to_owned())]),
        (format!("{webhook}/status"), vec![("status", "disabled".to_owned())]),
        (format!("{webhook}/status"), vec![("status", "deleted".to_owned())]),
        (format!("{webhook}/test"), vec![]),
        (format!("{webhook}/rotate"), vec![]),
    ]
}

#[tokio::test]
async fn another_operators_things_are_not_there() {
    let owner = Operator::shared().await;
    let agent = owner.creates_account_with("Ada", "5").await;
    let payee = owner.creates_account("Bea").await;
    let body = json!({ "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"] });
    let webhook = owner.client.post("/v1/webhooks", &body).await.has_status(201);
    let paid = agent.pays("1").to(&payee).await.is_settled();
    let key = owner.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    let events = owner.client.get("/v1/events").await.has_status(200);
    let events = events["data"].as_array().expect("a list");
    let settled = events.iter().find(|event| event["type"] == "transfer.settled").expect("announced");
    let (webhook, event) = (webhook.text_of("id"), settled["id"].as_str().expect("an id"));
    let own: Browser = signed_in(&owner).await;
    let strange: Browser = signed_in(&owner.app().new_operator().await).await;
    for path in pages(&agent.id, paid.text_of("transfer_id"), webhook, event) {
        own.reads(&path).await.has_status(200);
        let unseen = strange.reads(&path).await.has_status(404);
        assert!(
            !unseen.text.contains("Ada") && !unseen.text.contains("127.0.0.1:9"),
            "{path}: {}",
            unseen.text
        );
        let nowhere = strange.reads(&path.replace("_0", "_x")).await.has_status(404);
        assert_eq!(unseen.text, nowhere.text, "{path}");
    }
    let progress = format!("/dashboard/webhooks/{webhook}/replay?of=1");
    strange.reads(&progress).await.has_status(404);
    for (path, fields) in forms(&agent.id, webhook, event, key.text_of("id")) {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        strange.sends_form(&path, &fields).await.has_status(404);
    }
    let preview = [("from", agent.id.as_str()), ("to", payee.id.as_str()), ("amount", "1")];
    strange
        .sends_form("/dashboard/preview", &preview)
        .await
        .has_status(400)
        .says("is not one of your accounts");
    let filtered =
        strange.reads(&format!("/dashboard/transfers?account_id={}", agent.id)).await.has_status(200);
    filtered.says("No transfer matches");
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(owner.client.get(&format!("/v1/webhooks/{webhook}")).await["status"], "enabled");
}

#[tokio::test]
async fn accounts_are_searched_sorted_and_in_pages_that_one_can_jump_to() {
    let operator = Operator::shared().await.app().new_operator().await;
    let browser = signed_in(&operator).await;
    let rich = operator.creates_account_with("Rich =1+1 <b>", "9").await;
    let poor = operator.creates_account_with("poor", "2").await;
    let names = async |query: &str| {
        let page = browser.reads(&format!("/dashboard/accounts{query}")).await.has_status(200);
        let rows = page.text.split("<th scope=\"row\">").skip(1).map(|row| {
            let name = row.split("<bdi>").nth(1).and_then(|rest| rest.split("</bdi>").next());
            name.expect("a name").to_owned()
        });
        rows.collect::<Vec<_>>()
    };
    let shown = "Rich =1+1 &#60;b&#62;";
    assert_eq!(names("").await, ["poor", shown]);
    assert_eq!(names("?sort=balance").await, [shown, "poor"]);
    assert_eq!(names("?sort=name").await, ["poor", shown]);
    for search in ["RICH", &rich.id, &rich.token_account.to_string()[..8], "%3Cb%3E", "1%2B1"] {
        assert_eq!(names(&format!("?search={search}")).await, [shown], "{search}");
    }
    // Three letters are somewhere in the addresses of others too.
    for search in ["nobody", &rich.id[10..14], &rich.address.to_string()[10..14]] {
        let path = format!("/dashboard/accounts?search={search}");
        browser.reads(&path).await.says("No account has that");
    }
    for page in ["2", "0", "-1", "99999999999999999999", "x"] {
        assert_eq!(names(&format!("?page={page}")).await.len(), 2, "{page}");
    }
    // The links keep what was searched.
    browser
        .reads("/dashboard/accounts?search=a%26b&sort=name")
        .await
        .says("search=a%26b&#38;sort=name&#38;status=active");
    rich.pays("1").to(&poor).memo("=1+1").await.is_settled();
    let file =
        async |query: &str| browser.reads(&format!("/dashboard/history.csv{query}")).await.has_status(200);
    until("all of it is there", async || file("").await.text.lines().count() == 3).await;
    let all = file("").await;
    assert!(all.text.contains(&format!("\"{}\",\"Rich =1+1 <b>\",\"ent_", rich.id)), "{}", all.text);
    assert!(all.text.contains("'=1+1"), "{}", all.text);
    assert_eq!(file("?type=transfer").await.text.lines().count(), 2);
    assert_eq!(file("?since=2999-01-01T00:00:00Z").await.text.lines().count(), 1);
    browser.reads("/dashboard/history.csv?since=yesterday").await.has_status(400);
    let stranger = signed_in(&Operator::shared().await.app().new_operator().await).await;
    assert_eq!(stranger.reads("/dashboard/history.csv").await.text.lines().count(), 1);
}
