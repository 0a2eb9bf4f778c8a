//! Budgets and caps for 30 days on the dashboard: seen, compared, changed, and what the admin types where it alone may.

use purser_tests::{Agent, Browser, Operator};
use serde_json::{Value, json};

use crate::dashboard::signed_in;
use crate::dashboard_accounts::field;
use crate::dashboard_many::confirms;
use crate::loosening::agent_with_delay;

const MANY: &str = "/dashboard/accounts/change";

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

/// Looks at what a form would change, and confirms that.
async fn looks_and_confirms(
    browser: &Browser,
    path: &str,
    fields: &[(&str, &str)],
    says: &[&str],
) -> purser_tests::Answer {
    let mut look = browser.sends_form(path, fields).await.has_status(200).says("What this changes");
    for text in says {
        look = look.says(text);
    }
    let seen = field(&look.text, "compared");
    let confirm = [fields, &[("step", "change"), ("compared", seen.as_str())]].concat();
    browser.sends_form(path, &confirm).await
}

/// The newest action of this kind.
async fn newest(operator: &Operator, name: &str) -> Value {
    operator.client.get(&format!("/v1/actions?action={name}")).await.has_status(200)["data"][0].clone()
}

async fn binds(agent: &Agent, bounds: Value) {
    agent.operator.client.patch(&agent.path("/policy"), &bounds).await.has_status(200);
}

async fn policy_of(agent: &Agent) -> Value {
    agent.operator.client.get(&agent.path("/policy")).await.has_status(200).body
}

#[tokio::test]
async fn a_budget_shows_its_use_and_its_accounts_and_gets_other_caps_that_were_compared() {
    let operator = an_operator().await;
    let browser = signed_in(&operator).await;
    let create = format!("anchor run budget-create -- --operator {} --budget-id 1", operator.address);
    browser.reads("/dashboard/budgets").await.says("There is no budget").says(&create);
    let budget = operator.makes_budget(1, "10", Some("100")).await;
    let path = format!("/dashboard/budgets/{budget}");
    let list = browser.reads("/dashboard/budgets").await.has_status(200);
    list.says(&format!("href=\"{path}\">Budget 1</a>")).says("--budget-id 2 ");
    browser.reads(&path).await.has_status(200).says("None so far.");
    let (ada, ben) = (operator.creates_account_with("Ada", "9").await, operator.creates_account("Ben").await);
    binds(&ada, json!({ "budget_id": budget })).await;
    ada.pays("2.5").to(&ben).await.is_settled();
    let page = browser.reads(&path).await.has_status(200);
    let page = page.says("2.50 of 10.00 USDC in 24 hours").says("7.50 left");
    let page = page.says("25 % of the cap for 24 hours is used").says("2.50 of 100.00 USDC in 30 days");
    let page = page.says("<bdi>Ada</bdi>").says("anchor run budget-close");
    assert!(!page.text.contains("<bdi>Ben</bdi>"), "{}", page.text);
    page.says(r#"required value="10""#);

    for (field, value) in [("max_daily_spend", ""), ("max_daily_spend", "1,5"), ("max_30_day_spend", "ten")] {
        let asked = [("max_daily_spend", "10"), ("max_30_day_spend", "100")];
        let asked = asked.map(|(name, text)| (name, if name == field { value } else { text }));
        let refused = browser.sends_form(&path, &asked).await.has_status(400);
        refused.says(&format!(r#"id="wrong-{field}""#));
    }
    let asked = [("max_daily_spend", "20"), ("max_30_day_spend", "")];
    let rest = format!("/v1/budgets/{budget}");
    let look = browser.sends_form(&path, &asked).await.has_status(200);
    let look = look.says("10.00 USDC").says("20.00 USDC").says("No limit").says("in force at once");
    assert_eq!(operator.client.get(&rest).await["max_daily_spend"], 10, "a look changes nothing");
    // Somebody changes it meanwhile.
    operator.client.patch(&rest, &json!({ "max_daily_spend": 15 })).await.has_status(200);
    let seen = field(&look.text, "compared");
    let confirm = [&asked[..], &[("step", "change"), ("compared", seen.as_str())]].concat();
    browser
        .sends_form(&path, &confirm)
        .await
        .has_status(200)
        .says("Nothing was changed yet")
        .says("15.00 USDC");
    assert_eq!(operator.client.get(&rest).await["max_daily_spend"], 15);
    let done = looks_and_confirms(&browser, &path, &asked, &[]).await;
    done.leads_to(&format!("{path}?changed=1"));
    let stands = operator.client.get(&rest).await.has_status(200);
    assert_eq!((&stands["max_daily_spend"], &stands["max_30_day_spend"]), (&json!(20), &json!(null)));
    let action = newest(&operator, "update_budget").await;
    assert_eq!((&action["object_id"], &action["outcome"]), (&json!(budget), &json!("done")));
    assert_eq!(action["after"], json!({ "max_daily_spend": "20", "max_30_day_spend": "" }));
    assert!(action["tx_signature"].is_string(), "{action}");
    let signature = action["tx_signature"].as_str().expect("a signature").to_owned();
    let shown = browser.reads("/dashboard/actions?action=update_budget").await.has_status(200);
    let shown = shown.says(action["request_id"].as_str().expect("an id")).says(&format!("href=\"{path}\""));
    let link =
        shown.text.split("href=\"").find(|rest| rest.contains("explorer") && rest.contains(&signature));
    assert!(link.is_some(), "{}", shown.text);

    // Whoever else asks.
    let stranger = signed_in(&operator.app().new_operator().await).await;
    stranger.reads(&path).await.has_status(404);
    stranger.sends_form(&path, &asked).await.has_status(404);
    let made = operator.client.post("/v1/keys", &json!({ "scopes": ["read", "halt"] })).await.has_status(201);
    let reader = Browser::signed_in(&operator.app().base_url(), made.text_of("key")).await;
    reader.reads(&path).await.has_status(200);
    reader.sends_form(&path, &asked).await.has_status(403);
}

#[tokio::test]
async fn an_account_is_bound_by_its_form_and_nothing_that_was_not_shown_is_loosened() {
    let operator = an_operator().await;
    let agent = operator.creates_account("Ada").await;
    let budget = operator.makes_budget(1, "10", Some("100")).await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let form = browser.reads(&path).await.has_status(200).says("1: 10.00 in 24 h, 100.00 in 30 days").text;
    let version = field(&form, "expected_version");
    let asked = [
        ("expected_version", version.as_str()),
        ("max_30_day_spend", "50"),
        ("seen_max_30_day_spend", ""),
        ("budget_id", budget.as_str()),
        ("seen_budget_id", ""),
    ];
    let done =
        looks_and_confirms(&browser, &path, &asked, &["50.00 USDC", "Budget 1", "in force at once"]).await;
    done.leads_to(&format!("/dashboard/accounts/{}?changed=1", agent.id));
    let stands = policy_of(&agent).await;
    assert_eq!((&stands["max_30_day_spend"], &stands["budget_id"]), (&json!(50), &json!(budget)));
    let action = newest(&operator, "update_policy").await;
    assert_eq!(action["after"]["budget_id"], json!(budget), "{action}");
    assert!(action["tx_signature"].is_string() && action["after"]["seen_budget_id"].is_null(), "{action}");

    // It is filled in; what is not edited stays as somebody else leaves it.
    let form = browser.reads(&path).await.has_status(200).text;
    assert_eq!(field(&form, "seen_max_30_day_spend"), "50");
    assert!(form.contains(&format!(r#"<option value="{budget}" selected>"#)), "{form}");
    let unedited = [
        ("expected_version", version.as_str()),
        ("max_30_day_spend", "50"),
        ("seen_max_30_day_spend", "50"),
        ("budget_id", budget.as_str()),
        ("seen_budget_id", budget.as_str()),
        ("max_single_transfer", "5"),
    ];
    binds(&agent, json!({ "max_30_day_spend": 40 })).await;
    looks_and_confirms(&browser, &path, &unedited, &["40.00 USDC"]).await.has_status(303);
    assert_eq!(policy_of(&agent).await["max_30_day_spend"], 40);
    // A looser cap is not put over another one than was shown.
    let version = field(&browser.reads(&path).await.text, "expected_version");
    let raise =
        [("expected_version", version.as_str()), ("max_30_day_spend", "60"), ("seen_max_30_day_spend", "40")];
    let look = browser.sends_form(&path, &raise).await.has_status(200);
    binds(&agent, json!({ "max_30_day_spend": 30 })).await;
    let seen = field(&look.text, "compared");
    let confirm = [&raise[..], &[("step", "change"), ("compared", seen.as_str())]].concat();
    browser
        .sends_form(&path, &confirm)
        .await
        .has_status(200)
        .says("Nothing was changed yet")
        .says("30.00 USDC");
    assert_eq!(policy_of(&agent).await["max_30_day_spend"], 30);
    // And is lifted whole.
    let lift = [
        ("expected_version", version.as_str()),
        ("max_30_day_spend", ""),
        ("seen_max_30_day_spend", "30"),
        ("budget_id", ""),
        ("seen_budget_id", budget.as_str()),
    ];
    looks_and_confirms(&browser, &path, &lift, &["No limit", "None"]).await.has_status(303);
    let stands = policy_of(&agent).await;
    assert!(stands["max_30_day_spend"].is_null() && stands["budget_id"].is_null(), "{stands}");
    let wrong = [("expected_version", version.as_str()), ("budget_id", "bdg_1")];
    browser.sends_form(&path, &wrong).await.has_status(400).says(r#"id="wrong-budget_id""#);
}

#[tokio::test]
async fn under_a_delay_a_page_says_what_the_admin_types_and_a_raised_budget_waits() {
    let (operator, agent) = agent_with_delay(7_200).await;
    let budget = operator.makes_budget(1, "10", None).await;
    binds(&agent, json!({ "max_30_day_spend": 50, "budget_id": budget })).await;
    let browser = signed_in(&operator).await;
    let path = format!("/dashboard/accounts/{}/policy", agent.id);
    let version = field(&browser.reads(&path).await.text, "expected_version");
    let asked = [
        ("expected_version", version.as_str()),
        ("max_single_transfer", "10"),
        ("max_30_day_spend", "60"),
        ("seen_max_30_day_spend", "50"),
        ("budget_id", ""),
        ("seen_budget_id", budget.as_str()),
    ];
    let refused = browser.sends_form(&path, &asked).await.has_status(403).says("only its admin");
    let command =
        format!("anchor run set-bounds -- --account {} --max-30-days 60 --budget none --yes", agent.address);
    refused.says(&command);
    let many = [("what", "rules"), ("max_30_day_spend", "none")];
    let shown = browser.sends_form(MANY, &many).await.has_status(200);
    shown.says("--account ACCOUNT --max-30-days none --yes").says("Nothing would change.");
    assert_eq!(policy_of(&agent).await["max_30_day_spend"], 50);
    // Tightened with something that waits: it does not wait itself.
    let mixed = [
        ("expected_version", version.as_str()),
        ("max_single_transfer", "20"),
        ("max_30_day_spend", "40"),
        ("seen_max_30_day_spend", "50"),
    ];
    browser.sends_form(&path, &mixed).await.has_status(200).says("Only the 30-day limit and the budget");

    let page = format!("/dashboard/budgets/{budget}");
    let raise = [("max_daily_spend", "20"), ("max_30_day_spend", "")];
    let done = looks_and_confirms(&browser, &page, &raise, &["It takes effect 2 hours after"]).await;
    done.leads_to(&format!("{page}?waits=1"));
    browser
        .reads(&page)
        .await
        .says("Higher caps wait: 20.00 USDC in 24 hours")
        .says("10.00 USDC in 24 hours");
    operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    browser.sends_form(&page, &raise).await.has_status(403).says("It is halted");
}

#[tokio::test]
async fn many_accounts_are_bound_at_once() {
    let operator = an_operator().await;
    let agents = [operator.creates_account("Ada").await, operator.creates_account("Ben").await];
    let budget = operator.makes_budget(1, "10", None).await;
    let browser = signed_in(&operator).await;
    browser.reads(MANY).await.has_status(200).says(&format!(r#"<option value="{budget}">1: 10.00 in 24 h"#));
    let asked = [("what", "rules"), ("max_30_day_spend", "50"), ("budget_id", budget.as_str())];
    let page = browser.sends_form(MANY, &asked).await.has_status(200);
    let page = page.says("30-day limit").says("Budget 1").says("Change 2 accounts");
    let done = confirms(&browser, &format!("{MANY}/policy"), &page.text).await;
    assert!(done.contains("2 of 2 changed"), "{done}");
    for agent in &agents {
        let stands = policy_of(agent).await;
        assert_eq!((&stands["max_30_day_spend"], &stands["budget_id"]), (&json!(50), &json!(budget)));
    }
    let of_ada = operator.client.get(&format!("/v1/actions?object_id={}", agents[0].id)).await;
    let asked = &of_ada["data"][0]["after"];
    assert_eq!((&asked["max_30_day_spend"], &asked["budget_id"]), (&json!("50"), &json!(budget)));
    let lifted = [("what", "rules"), ("budget_id", "none")];
    let page = browser.sends_form(MANY, &lifted).await.has_status(200).says("Change 2 accounts");
    let done = confirms(&browser, &format!("{MANY}/policy"), &page.text).await;
    assert!(done.contains("2 of 2 changed"), "{done}");
    assert!(policy_of(&agents[1]).await["budget_id"].is_null());
}
