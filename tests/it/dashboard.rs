//! The dashboard in a browser without scripts: signing in and out, and who may send what.

use purser_tests::{Browser, Operator};
use reqwest::Method;
use serde_json::json;

pub async fn signed_in(operator: &Operator) -> Browser {
    Browser::signed_in(&operator.app().base_url(), operator.client.key()).await
}

#[tokio::test]
async fn an_operator_key_opens_the_dashboard_until_it_is_signed_out() {
    let operator = Operator::shared().await;
    let browser = Browser::new(&operator.app().base_url());
    browser.reads("/dashboard").await.leads_to("/dashboard/sign-in");
    let asked = browser.reads("/dashboard/webhooks?x=1").await;
    let sign_in = asked.leads_to("/dashboard/sign-in?next=%2Fdashboard%2Fwebhooks%3Fx%3D1");
    let path = sign_in.header("location").expect("a place").to_owned();
    browser.reads(&path).await.has_status(200).says(r#"name="next" value="/dashboard/webhooks?x=1""#);
    let fields = [("key", operator.client.key()), ("next", "/dashboard/webhooks?x=1")];
    let opened = browser.sends_form("/dashboard/sign-in", &fields).await.leads_to("/dashboard/webhooks?x=1");
    let set = opened.header("set-cookie").expect("a cookie");
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(attribute), "{set}");
    }
    browser.reads("/dashboard").await.has_status(200).says("Needs attention");
    let cookie = browser.cookie().expect("signed in");
    browser.sends_form("/dashboard/sign-out", &[]).await.leads_to("/dashboard/sign-in");
    assert_eq!(browser.cookie(), None);
    browser.holds(Some(&cookie));
    browser.reads("/dashboard").await.leads_to("/dashboard/sign-in");
}

#[tokio::test]
async fn no_other_key_opens_the_dashboard_and_the_page_says_why() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await.new_key().await;
    let browser = Browser::new(&operator.app().base_url());
    let (all_but_one, last) = operator.client.key().split_at(operator.client.key().len() - 1);
    let wrong = format!("{all_but_one}{}", if last == "x" { "y" } else { "x" });
    for (key, status, words) in [
        ("", 401, "is not valid"),
        ("nonsense", 401, "is not valid"),
        (wrong.as_str(), 401, "is not valid"),
        (agent.key(), 403, "needs an operator key"),
    ] {
        let answer = browser.sends_form("/dashboard/sign-in", &[("key", key)]).await;
        answer.has_status(status).says(words).says(r#"aria-describedby="wrong-key""#);
        assert_eq!(browser.cookie(), None);
    }
    let elsewhere = [("key", operator.client.key()), ("next", "https://evil.example/dashboard")];
    browser.sends_form("/dashboard/sign-in", &elsewhere).await.leads_to("/dashboard");
}

#[tokio::test]
async fn a_session_ends_with_its_key_and_is_new_at_every_sign_in() {
    let operator = Operator::shared().await;
    let app = operator.app();
    let created = app.runs(&["key", "create", "--operator", &operator.id]);
    let (id, key) = (created["id"].as_str().expect("an id"), created["key"].as_str().expect("a key"));
    let browser = Browser::signed_in(&app.base_url(), key).await;
    let first = browser.cookie().expect("signed in");
    browser.sends_form("/dashboard/sign-in", &[("key", key)]).await.leads_to("/dashboard");
    let second = browser.cookie().expect("signed in");
    assert_ne!(first, second, "nobody's session is taken over");
    let other = Browser::new(&app.base_url());
    other.holds(Some(&first));
    other.reads("/dashboard").await.leads_to("/dashboard/sign-in");
    browser.reads("/dashboard").await.has_status(200);
    app.runs(&["key", "revoke", id]);
    browser.reads("/dashboard").await.leads_to("/dashboard/sign-in");
}

#[tokio::test]
async fn a_session_is_bound_to_the_addresses_of_its_key() {
    let operator = Operator::shared().await;
    let app = operator.app();
    let created =
        app.runs(&["key", "create", "--operator", &operator.id, "--allowed-cidr", "203.0.113.0/24"]);
    let browser = Browser::new(&app.base_url());
    let key = created["key"].as_str().expect("a key");
    browser.sends_form("/dashboard/sign-in", &[("key", key)]).await.has_status(403).says("allowed_cidrs");
    assert_eq!(browser.cookie(), None);
}

#[tokio::test]
async fn form_that_no_page_of_ours_sent_is_refused() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let browser = signed_in(&operator).await;
    let own = operator.app().base_url();
    for headers in [
        &[][..],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
        &[("origin", own.as_str()), ("sec-fetch-site", "same-site")],
        &[("referer", own.as_str())],
    ] {
        for path in ["/dashboard/stop-all", "/dashboard/sign-out", "/dashboard/sign-in"] {
            let form = [("key", operator.client.key())];
            let mut request = browser.request(Method::POST, path).form(&form);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            browser.sends(request).await.has_status(403).says("did not come from a page of the dashboard");
        }
    }
    browser.reads("/dashboard").await.has_status(200);
    agent.pays("1").to(&operator.creates_account("Bea").await).await.is_settled();
    let json = browser.request(Method::POST, "/dashboard/stop-all").header("origin", &own);
    browser.sends(json.header("content-type", "text/plain").body("{}")).await;
}

#[tokio::test]
async fn a_form_that_is_too_large_or_none_is_refused() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    let own = operator.app().base_url();
    let post = || browser.request(Method::POST, "/dashboard/webhooks").header("origin", &own);
    let json = post().json(&json!({ "url": "https://example.com" }));
    browser.sends(json).await.has_status(415);
    browser.sends(post().form(&[("url", "x".repeat(70_000))])).await.has_status(413);
    browser.sends(post().form(&[("url", "a\0b")])).await.has_status(400);
    browser.reads("/dashboard/webhooks?status=%00").await.has_status(200);
    browser.reads("/dashboard/nowhere").await.has_status(404);
}

#[tokio::test]
async fn every_page_says_what_it_may_load_and_is_not_kept() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    for path in ["/dashboard", "/dashboard/webhooks", "/dashboard/sign-in", "/dashboard/stop-all"] {
        let answer = browser.reads(path).await.has_status(200);
        let policy = answer.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert!(
            !answer.text.contains(" style=")
                && !answer.text.contains(" onclick")
                && !answer.text.contains("http://"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn first_visit_loads_little() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    let page = browser.reads("/dashboard").await.has_status(200).text;
    let mut bytes = page.len();
    for asset in page.split(['"']).filter(|text| text.starts_with("/dashboard/assets/")) {
        let answer = browser.reads(asset).await.has_status(200);
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        bytes += answer.text.len();
    }
    assert!(bytes < 60_000, "{bytes} bytes, before they are compressed");
    browser.reads("/dashboard/assets/style-000000000000.css").await.has_status(404);
}

#[tokio::test]
async fn everything_stops_when_it_is_confirmed() {
    let operator = Operator::shared().await;
    let [payer, payee] =
        [operator.creates_account_with("Ada", "5").await, operator.creates_account("Bea").await];
    let browser = signed_in(&operator).await;
    browser.reads("/dashboard/stop-all").await.has_status(200).says("<strong>2 accounts</strong>");
    payer.pays("1").to(&payee).await.is_settled();
    browser.sends_form("/dashboard/stop-all", &[]).await.leads_to("/dashboard?stopped=1");
    payer.pays("1").to(&payee).await.is_error(402, "account_paused");
    browser.reads("/dashboard").await.says("Every account is halted by the policy authority");
    let home = browser.reads("/dashboard").await;
    assert!(!home.text.contains("Ada is halted"), "said once: {}", home.text);
}

#[tokio::test]
async fn path_that_leads_nowhere_is_a_page_and_not_json() {
    let operator = Operator::shared().await;
    let browser = signed_in(&operator).await;
    for path in ["/dashboard/nothing", "/dashboard/", "/dashboard/accounts/a/b/c", "/dashboard/assets/a/b"] {
        let answer = browser.reads(path).await.has_status(404).says("Not found").says("Go to the dashboard");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    }
    let other = operator.app().client().get("/nothing").await;
    other.is_error(404, "not_found");
}
