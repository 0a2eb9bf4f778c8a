//! Lists of the dashboard: filters that take an account's name, and pages of keys.

use purser_tests::{Browser, Operator};
use serde_json::json;

use crate::dashboard::signed_in;

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

fn rows(page: &str) -> usize {
    page.matches(r#"<th scope="row">"#).count()
}

#[tokio::test]
async fn a_filter_takes_an_accounts_name_id_or_address_and_asks_where_a_name_is_that_of_several() {
    let operator = an_operator().await;
    let ada = operator.creates_account_with("Research agent", "9").await;
    let twins =
        [operator.creates_account_with("Twin", "9").await, operator.creates_account_with("Twin", "9").await];
    for twin in &twins {
        twin.pays("1").to(&ada).await.is_settled();
    }
    ada.pays("2").to(&twins[0]).await.is_settled();
    let browser = signed_in(&operator).await;
    let list = async |path: &str, field: &str, typed: &str| {
        let mut url = reqwest::Url::parse("http://x").expect("a URL");
        url.query_pairs_mut().append_pair(field, typed);
        browser.reads(&format!("{path}?{}", url.query().expect("a query"))).await.has_status(200)
    };
    let [address, token_account] = [ada.address, ada.token_account].map(|at| at.to_string());
    for typed in ["Research agent", "rESEARCH AGENT", "research", &ada.id, &address, &token_account] {
        let found = list("/dashboard/transfers", "account_id", typed).await;
        assert_eq!(rows(&found.text), 1, "{typed}: {}", found.text);
        found.says(">2.00</td>");
        let found = list("/dashboard/actions", "object_id", typed).await.says("create account");
        assert_eq!(rows(&found.text), 1, "{typed}: {}", found.text);
        found.says(&format!("actions.csv?object_id={}", ada.id));
        list("/dashboard/approvals", "account_id", typed).await.says("No payment waits for approval");
    }
    // Of several it asks which, and keeps the other filters.
    for (path, field) in [
        ("/dashboard/transfers", "account_id"),
        ("/dashboard/approvals", "account_id"),
        ("/dashboard/actions", "object_id"),
    ] {
        let asks = list(path, field, "twin").await.says("2 accounts could be <bdi>twin</bdi>. Which one?");
        assert_eq!(rows(&asks.text), 0, "{}", asks.text);
        for twin in &twins {
            assert!(asks.text.contains(&format!("{path}?{field}={}", twin.id)), "{}", asks.text);
        }
        list(path, field, "Nobody's <b>")
            .await
            .says("No account is called <bdi>Nobody&#39;s &#60;b&#62;</bdi>");
    }
    let asks = browser.reads("/dashboard/transfers?account_id=twin&status=settled").await.has_status(200);
    let link = format!("/dashboard/transfers?status=settled&#38;account_id={}", twins[0].id);
    asks.says(&link);
    // What is no account is still found by its id.
    let key =
        operator.client.post("/v1/keys", &json!({ "name": "ops", "scopes": ["read"] })).await.has_status(201);
    let found = list("/dashboard/actions", "object_id", key.text_of("id")).await.says("create operator key");
    assert_eq!(rows(&found.text), 1, "{}", found.text);
    // Nor is another operator's account told by its name.
    let stranger = signed_in(&an_operator().await).await;
    let unknown = stranger.reads("/dashboard/transfers?account_id=twin").await.has_status(200);
    unknown.says("No account is called <bdi>twin</bdi>");
}

/// Every key of the list, from its first page on.
async fn all(browser: &Browser, first: &str) -> Vec<String> {
    let (mut found, mut path) = (Vec::new(), first.to_owned());
    loop {
        let page = browser.reads(&path).await.has_status(200).text;
        let table = page.split("<tbody>").nth(1).expect("a table").split("</tbody>").next().expect("it ends");
        let hints = table.split(r#"<th scope="row">"#).skip(1);
        found.extend(hints.map(|row| row.split("</th>").next().expect("it ends").to_owned()));
        let older = page
            .split("<a class=\"button\" href=\"")
            .find(|rest| rest.contains("cursor=") && rest.contains(">Older<"));
        let Some(older) = older.and_then(|rest| rest.split('"').next()) else { return found };
        path = older.replace("&#38;", "&").replace("&amp;", "&");
    }
}

#[tokio::test]
async fn every_key_is_on_a_page_and_who_may_revoke_it_does_so_there() {
    let operator = an_operator().await;
    let (browser, client) = (signed_in(&operator).await, &operator.client);
    let agent = operator.creates_account("Ada").await;
    let lead = client.post("/v1/keys", &json!({ "name": "lead" })).await.has_status(201);
    let by_lead = client.with_key(lead.text_of("key"));
    for number in 0..52 {
        let body = json!({ "name": format!("key {number}"), "scopes": ["read"] });
        by_lead.post("/v1/keys", &body).await.has_status(201);
        client.post(&agent.path("/keys"), &body).await.has_status(201);
    }
    let keys = all(&browser, "/dashboard/keys").await;
    assert_eq!(keys.len(), 54, "{keys:?}");
    for name in ["key 0", "key 51", "lead"] {
        assert!(keys.iter().any(|key| key.contains(&format!("<bdi>{name}</bdi>"))), "{name}: {keys:?}");
    }
    let of_agent = all(&browser, &format!("/dashboard/accounts/{}/keys", agent.id)).await;
    assert!(of_agent.len() == 52 && of_agent[51].contains("key 0"), "{of_agent:?}");
    // Their maker's maker is on another page than they are, and is named by them all the same.
    let first = browser.reads("/dashboard/keys").await.has_status(200).says("by <bdi>lead</bdi></span>");
    assert_eq!(first.text.matches("name=\"key\"").count(), 50, "{}", first.text);
    let led = Browser::signed_in(&operator.app().base_url(), lead.text_of("key")).await;
    let of_lead = led.reads("/dashboard/keys").await.has_status(200);
    assert_eq!(of_lead.text.matches("name=\"key\"").count(), 50);
    // Nobody revokes the key that made its own.
    let last = of_lead.text.split("href=\"").find(|rest| rest.contains("cursor=")).expect("older ones");
    let last = last.split('"').next().expect("an address").replace("&#38;", "&");
    let last = led.reads(&last).await.has_status(200).text;
    assert_eq!(last.matches("name=\"key\"").count(), 3, "{last}");
    browser.reads("/dashboard/keys?cursor=x").await.has_status(400);
}
