//! "Change many" on the dashboard, and tags there.

use purser_tests::clock::HostClock;
use purser_tests::{Agent, AppSettings, Browser, Operator, TestApp, TestNetwork, until};
use reqwest::Method;
use serde_json::json;

use crate::dashboard::signed_in;
use crate::dashboard_accounts::field;
use crate::loosening::loosens_after;

const PATH: &str = "/dashboard/accounts/change";

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

async fn tagged(operator: &Operator, name: &str) -> Agent {
    let body = json!({ "name": name, "tags": ["fleet"] });
    Agent::of(operator, &operator.client.post("/v1/accounts", &body).await.has_status(201))
}

/// The hidden fields of the form that carries out what a page shows.
fn shown(page: &str) -> [(&'static str, String); 3] {
    let unescaped = |name| field(page, name).replace("&#34;", "\"").replace("&quot;", "\"");
    ["once", "accounts", "change"].map(|name| (name, unescaped(name)))
}

/// Carries out what a page shows, and answers with what became of it.
pub async fn confirms(browser: &Browser, path: &str, page: &str) -> String {
    let fields = shown(page);
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut answer = browser.sends_form(path, &fields).await;
    // What takes longer leads to a page that says so, until it is done.
    if let Some(place) = answer.header("location").map(str::to_owned) {
        until("it is done", async || {
            answer = browser.reads(&place).await;
            !answer.text.contains("loads itself again")
        })
        .await;
    }
    answer.has_status(200).text
}

#[tokio::test]
async fn many_are_paused_or_halted_beyond_the_rate_of_the_key_and_nothing_else_is() {
    let settings = AppSettings { requests_per_second: 1, burst: 12, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let (ada, ben) = (tagged(&operator, "Ada").await, operator.creates_account("Ben").await);
    let browser = signed_in(&operator).await;
    until("the key is over its rate", async || browser.reads("/dashboard/keys").await.status == 429).await;
    let page = browser.sends_form(PATH, &[("tag", "fleet"), ("what", "pause")]).await.has_status(200).text;
    let paused = confirms(&browser, &format!("{PATH}/policy"), &page).await;
    assert!(paused.contains("1 of 1 changed"), "{paused}");
    let page = browser.sends_form(PATH, &[("search", "Ben"), ("what", "halt")]).await.has_status(200).text;
    let halted = confirms(&browser, &format!("{PATH}/halt"), &page).await;
    assert!(halted.contains("1 of 1 changed"), "{halted}");
    for what in ["unpause", "rules"] {
        let asked = [("what", what), ("require_memo", "yes")];
        let looks = async || browser.sends_form(PATH, &asked).await.status == 429;
        until("nothing else passes beyond the rate", looks).await;
    }
    for agent in [&ada, &ben] {
        let path = format!("/v1/accounts/{}", agent.id);
        until("it is stopped", async || operator.client.get(&path).await["status"] == "paused").await;
    }
}

#[tokio::test]
async fn accounts_with_a_tag_are_looked_at_and_then_changed_as_they_were_shown() {
    let operator = an_operator().await;
    let (ada, ben) = (tagged(&operator, "Ada <b>").await, tagged(&operator, "Ben").await);
    let other = operator.creates_account("Other").await;
    let browser = signed_in(&operator).await;
    browser
        .reads("/dashboard/accounts?search=fleet")
        .await
        .says("Ada &#60;b&#62;")
        .says("change?search=fleet");
    browser.reads(PATH).await.has_status(200).says("Which accounts");
    browser.sends_form(PATH, &[("tag", "fleet")]).await.has_status(400).says("changes nothing");
    browser
        .sends_form(PATH, &[("tag", "Fleet"), ("what", "pause")])
        .await
        .has_status(400)
        .says(r#"id="wrong-tag""#);
    let asked = [("tag", "fleet"), ("what", "rules"), ("max_daily_spend", "12.5"), ("reason", "spring")];
    let page = browser.sends_form(PATH, &asked).await.has_status(200).says("Daily limit").text;
    assert!(page.contains("Change 2 accounts") && !page.contains("Other"), "{page}");
    let stands = operator.client.get(&ada.path("/policy")).await;
    assert!(stands["max_daily_spend"].is_null(), "a look changes nothing: {}", stands.text);
    // Somebody changes one of them meanwhile.
    ben.sets_policy(json!({ "require_memo": true })).await;
    let done = confirms(&browser, &format!("{PATH}/policy"), &page).await;
    assert!(done.contains("1 of 2 changed; 1 failed"), "{done}");
    assert_eq!(operator.client.get(&ada.path("/policy")).await["max_daily_spend"], 12.5);
    for agent in [&ben, &other] {
        assert!(operator.client.get(&agent.path("/policy")).await["max_daily_spend"].is_null());
    }
    let actions = operator.client.get("/v1/actions?action=change_policies").await;
    let action = &actions["data"][0];
    assert_eq!(action["outcome"], "done", "{}", actions.text);
    let of_ada = operator.client.get(&format!("/v1/actions?object_id={}", ada.id)).await;
    assert_eq!(of_ada["data"][0]["after"], json!({ "max_daily_spend": "12.5", "reason": "spring" }));
    assert_eq!(of_ada["data"][0]["session_id"], action["session_id"]);
    assert_eq!(of_ada["data"][0]["request_id"], action["request_id"]);
}

#[tokio::test]
async fn many_are_paused_let_go_and_halted_by_whoever_may() {
    let operator = an_operator().await;
    let agents = [tagged(&operator, "Ada").await, tagged(&operator, "Ben").await];
    let browser = signed_in(&operator).await;
    for (what, status) in [("pause", "paused"), ("unpause", "active")] {
        let page =
            browser.sends_form(PATH, &[("search", "fLEET"), ("what", what)]).await.has_status(200).text;
        let done = confirms(&browser, &format!("{PATH}/policy"), &page).await;
        assert!(done.contains("2 of 2 changed"), "{done}");
        for agent in &agents {
            assert_eq!(operator.client.get(&agent.path("")).await["status"], status);
        }
    }
    let page = browser.sends_form(PATH, &[("tag", "fleet"), ("what", "halt")]).await.has_status(200);
    let page = page.says("Only the operator's admin").says("Halt 2 accounts").text;
    // A key without the scope looks, and halts nothing.
    let body = json!({ "scopes": ["read", "policy"] });
    let made = operator.client.post("/v1/keys", &body).await.has_status(201);
    let other = Browser::signed_in(&operator.app().base_url(), made.text_of("key")).await;
    other.sends_form(PATH, &[("tag", "fleet"), ("what", "halt")]).await.has_status(200);
    let fields = shown(&page);
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    other.sends_form(&format!("{PATH}/halt"), &fields).await.has_status(403);
    assert!(operator.client.get(&agents[0].path("")).await["halted"].is_null());
    let done = confirms(&browser, &format!("{PATH}/halt"), &page).await;
    assert!(done.contains("2 of 2 changed"), "{done}");
    for agent in &agents {
        assert_eq!(operator.client.get(&agent.path("")).await["halted"]["scope"], "account");
    }
}

#[tokio::test]
async fn accounts_whose_change_waits_are_counted_apart_from_those_that_are_changed() {
    let operator = an_operator().await;
    let agents = [tagged(&operator, "Ada").await, tagged(&operator, "Ben").await];
    for agent in &agents {
        agent.sets_policy(json!({ "paused": true })).await;
    }
    loosens_after(&operator, 7_200).await;
    let browser = signed_in(&operator).await;
    let page = browser.sends_form(PATH, &[("tag", "fleet"), ("what", "unpause")]).await.has_status(200).text;
    assert!(page.contains("2 hours"), "{page}");
    let done = confirms(&browser, &format!("{PATH}/policy"), &page).await;
    assert!(done.contains("0 of 2 changed; 2 wait until the time beside each"), "{done}");
    assert_eq!(operator.client.get(&agents[0].path("")).await["status"], "paused");
}

/// Every field that a page's forms show as filled in.
fn entered(page: &str) -> Vec<(String, String)> {
    let form =
        page.rsplit_once("<form method=\"post\" action=\"/dashboard/accounts/change\"").expect("the form").1;
    let inputs = form.split("<input ").skip(1).filter_map(|input| {
        let input = input.split('>').next()?;
        let attribute =
            |name: &str| Some(input.split_once(&format!("{name}=\""))?.1.split('"').next()?.to_owned());
        let is_off = attribute("type").as_deref() == Some("radio") && !input.contains(" checked");
        Some((attribute("name")?, attribute("value")?)).filter(|(_, value)| !is_off && !value.is_empty())
    });
    let selects = form.split("<select ").skip(1).filter_map(|select| {
        let name = select.split_once("name=\"")?.1.split('"').next()?;
        let chosen =
            select.split("</select>").next()?.split("<option").find(|option| option.contains(" selected"))?;
        Some((name.to_owned(), chosen.split_once("value=\"")?.1.split('"').next()?.to_owned()))
    });
    inputs.chain(selects).filter(|(name, _)| name != "once").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_entered_is_shown_again_after_a_change_that_was_interrupted() {
    for (asked, path) in [
        (
            vec![
                ("tag", "fleet"),
                ("what", "rules"),
                ("max_daily_spend", "7"),
                ("require_memo", "yes"),
                ("reason", "spring"),
            ],
            "policy",
        ),
        (vec![("tag", "fleet"), ("search", "agent"), ("what", "pause")], "policy"),
        (vec![("status", "active"), ("what", "halt")], "halt"),
    ] {
        let clock = HostClock::new();
        let sound = AppSettings { host_clock: Some(clock.clone()), ..AppSettings::default() };
        let environment = vec![("PURSER_CRASH_AT", "many.one:20".to_owned())];
        let dies = AppSettings { environment, ..sound.clone() };
        let app = TestApp::start(TestNetwork::shared().await, &dies).await;
        let operator = app.new_operator().await;
        for number in 0..24 {
            tagged(&operator, &format!("agent {number}")).await;
        }
        let browser = signed_in(&operator).await;
        let page = browser.sends_form(PATH, &asked).await.has_status(200).text;
        let before = entered(&page);
        for field in &asked {
            assert!(before.contains(&(field.0.to_owned(), field.1.to_owned())), "{field:?}: {before:?}");
        }
        // As a browser sends it: with every hidden field.
        let form = page.split(&format!("action=\"{PATH}/{path}\"")).nth(1).expect("a form to confirm");
        let form = form.split("</form>").next().expect("its end");
        let hidden: Vec<(String, String)> = form
            .split("type=\"hidden\" name=\"")
            .skip(1)
            .filter_map(|input| {
                let (name, rest) = input.split_once("\" value=\"")?;
                let value = rest.split('"').next()?.replace("&#34;", "\"").replace("&quot;", "\"");
                Some((name.to_owned(), value))
            })
            .collect();
        let request = browser.request(Method::POST, &format!("{PATH}/{path}"));
        // It may lead to the page that says how far it is, or die before.
        let sent = request.header("origin", app.base_url()).form(&hidden).send().await;
        let place =
            sent.ok().and_then(|sent| Some(sent.headers().get("location")?.to_str().ok()?.to_owned()));
        app.crashes();
        let risen = app.twin(&sound);
        clock.is_ahead(31);
        let place = place.unwrap_or_else(|| format!("{PATH}/{path}?working=lost"));
        let again = Browser::new(&risen.base_url());
        again.holds(browser.cookie().as_deref());
        let left = again.reads(&place).await.has_status(200).says("It was interrupted");
        assert_eq!(entered(&left.text), before, "{path}");
    }
}

#[tokio::test]
async fn tags_are_edited_on_the_page_of_their_account() {
    let operator = an_operator().await;
    let agent = tagged(&operator, "Ada").await;
    let browser = signed_in(&operator).await;
    let page = format!("/dashboard/accounts/{}", agent.id);
    browser.reads(&format!("{page}/settings")).await.has_status(200).says(r#"name="tags" value="fleet""#);
    let wrong = browser.sends_form(&format!("{page}/tags"), &[("tags", "eu EU")]).await.has_status(400);
    wrong.says(r#"id="wrong-tags""#);
    browser.sends_form(&format!("{page}/tags"), &[("tags", "eu, team:research")]).await.has_status(303);
    let account = operator.client.get(&agent.path("")).await;
    assert_eq!(account["tags"], json!(["eu", "team:research"]));
    browser.sends_form(&format!("{page}/tags"), &[("tags", "")]).await.has_status(303);
    assert_eq!(operator.client.get(&agent.path("")).await["tags"], json!([]));
    let actions = operator.client.get("/v1/actions?action=update_account").await;
    assert_eq!(actions["data"].as_array().map(Vec::len), Some(2), "{}", actions.text);
}
