//! A dashboard form that is sent twice: by two clicks, by going back and sending it again, or by another user.

use purser_tests::{Answer, Browser, Operator, Receiver};

use crate::dashboard::signed_in;
use crate::dashboard_accounts::field;

const REPLAYED: &str = "idempotent-replayed";

/// The `once` value of the forms on a page.
async fn name_on(browser: &Browser, path: &str) -> String {
    field(&browser.reads(path).await.has_status(200).text, "once")
}

async fn count(operator: &Operator, path: &str) -> usize {
    operator.client.get(path).await.has_status(200)["data"].as_array().expect("a list").len()
}

/// The content of the box that shows a secret.
fn secret(answer: &Answer) -> String {
    let shown = answer.text.split(r#"<p class="secret"><code>"#).nth(1).expect("a secret is shown");
    shown.split('<').next().expect("it ends").to_owned()
}

#[tokio::test]
async fn two_clicks_make_one_account_and_both_lead_to_it() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    let once = name_on(&browser, "/dashboard/accounts/new").await;
    let clicks_on = async |name: &str, once: &str| {
        let limits = [("max_single_transfer", "none"), ("max_daily_spend", "none"), ("allowed", "anyone")];
        let form = [&[("name", name), ("once", once)][..], &limits].concat();
        browser.sends_form("/dashboard/accounts", &form).await
    };
    let clicks = || clicks_on("Ada", &once);
    let (first, second) = tokio::join!(clicks(), clicks());
    assert_eq!((first.status, first.header("location")), (303, second.header("location")), "{}", second.text);
    assert_eq!(count(&operator, "/v1/accounts").await, 1);
    let again = clicks().await.has_status(303);
    assert_eq!((again.header("location"), again.header(REPLAYED)), (first.header("location"), Some("true")));
    // Other values are another request, even from the same page. So is a form from a reloaded page.
    clicks_on("Bea", &once).await.has_status(303);
    let anew = name_on(&browser, "/dashboard/accounts/new").await;
    clicks_on("Ada", &anew).await.has_status(303);
    assert_eq!(count(&operator, "/v1/accounts").await, 3);
}

#[tokio::test]
async fn key_that_is_asked_for_twice_is_one_and_shown_again_to_its_session_alone() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let browser = signed_in(&operator).await;
    let page = format!("/dashboard/accounts/{}", agent.id);
    let once = name_on(&browser, &format!("{page}/keys")).await;
    let (path, form) = (format!("{page}/keys"), [("name", "laptop"), ("once", once.as_str())]);
    let clicks = || browser.sends_form(&path, &form);
    let (first, second) = tokio::join!(clicks(), clicks());
    let key = secret(&first.has_status(200));
    assert_eq!(secret(&second.has_status(200)), key);
    let keys = format!("/v1/accounts/{}/keys", agent.id);
    assert_eq!(count(&operator, &keys).await, 1);
    operator.client.with_key(&key).get(&agent.path("")).await.has_status(200);
    // Another user with the same form makes another request.
    let other = signed_in(&operator).await;
    let others = other.sends_form(&path, &form).await.has_status(200);
    assert_ne!(secret(&others), key);
    assert_eq!(count(&operator, &keys).await, 2);
}

#[tokio::test]
async fn webhook_is_made_tested_and_rotated_once() {
    let operator = Operator::shared().await;
    let receiver = Receiver::start();
    let browser = signed_in(&operator).await;
    let once = name_on(&browser, "/dashboard/webhooks").await;
    let url = receiver.url("/hook");
    let form = [("url", url.as_str()), ("events", "transfer.settled"), ("once", &once)];
    let [first, second] = [
        browser.sends_form("/dashboard/webhooks", &form).await,
        browser.sends_form("/dashboard/webhooks", &form).await,
    ];
    assert_eq!(secret(&first), secret(&second));
    let listed = operator.client.get("/v1/webhooks").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{}", listed.text);
    let page = format!("/dashboard/webhooks/{}", listed["data"][0]["id"].as_str().expect("an id"));
    let once = name_on(&browser, &page).await;
    let named = [("once", once.as_str())];
    for _ in 0..2 {
        let path = format!("{page}/test");
        browser.sends_form(&path, &named).await.leads_to(&format!("{page}?tested=1"));
    }
    let path = format!("{page}/rotate");
    let rotate = || browser.sends_form(&path, &named);
    let rotated = secret(&rotate().await);
    assert_eq!(secret(&rotate().await), rotated);
    assert_ne!(rotated, secret(&first));
    // Another page makes another event.
    let once = name_on(&browser, &page).await;
    browser.sends_form(&format!("{page}/test"), &[("once", &once)]).await.has_status(303);
    receiver.waits_for("/hook", 2).await;
    let id = listed["data"][0]["id"].as_str().expect("an id");
    assert_eq!(count(&operator, &format!("/v1/webhooks/{id}/deliveries")).await, 2);
}

#[tokio::test]
async fn form_that_was_refused_is_corrected_under_its_name() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    let once = name_on(&browser, "/dashboard/accounts/new").await;
    let sends = async |name: &str, once: &str| {
        let limits = [("max_single_transfer", "none"), ("max_daily_spend", "none"), ("allowed", "anyone")];
        let form = [&[("name", name), ("once", once)][..], &limits].concat();
        browser.sends_form("/dashboard/accounts", &form).await
    };
    for _ in 0..2 {
        let refused = sends(" ", &once).await.has_status(400).says(r#"id="wrong-name""#);
        assert_eq!(refused.header(REPLAYED), None);
    }
    sends("Ada", &once).await.has_status(303);
    // A `once` value that we did not issue works too, whatever its length; one that is not text is refused.
    let long = "x".repeat(5_000);
    let first = sends("Bea", &long).await.has_status(303);
    assert_eq!(sends("Bea", &long).await.has_status(303).header("location"), first.header("location"));
    sends("Cid", "a\0b").await.has_status(400);
    assert_eq!(count(&operator, "/v1/accounts").await, 2);
}
