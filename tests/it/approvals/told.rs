//! What is told of an approval: what the payee got before, who approved it, and how it ended.

use futures::future::join_all;
use purser::error::PurserError;
use purser_tests::agent::all_at_once;
use purser_tests::clock::HostClock;
use purser_tests::{Proxy, Receiver};

use super::attacks::is_refused;
use super::*;
use crate::webhooks::registers;
use crate::window::{DAY, stands_at};

impl Scene {
    async fn approval_of(&self, asked: &Answer) -> Answer {
        let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
        self.operator.client.get(&path).await.has_status(200)
    }

    /// The approval, once it says who approved it.
    async fn approved(&self, asked: &Answer) -> Answer {
        until("it is known who approved it", async || {
            self.approval_of(asked).await["approved_by"].is_string()
        })
        .await;
        self.approval_of(asked).await
    }

    /// The approver lets it pass with its own wallet. Returns the signature of the grant's transaction.
    async fn approves(&self, asked: &Answer) -> String {
        let given = self.given_to(&page_of(asked), &self.approver.pubkey()).await.has_status(200);
        let sent = self.signs(&given).await;
        sent["result"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned()
    }

    /// The only one in this list.
    async fn one_in(&self, path: &str) -> Value {
        let listed = self.operator.client.get(path).await.has_status(200);
        let data = listed["data"].as_array().expect("a list");
        assert_eq!(data.len(), 1, "{path}: {}", listed.text);
        data[0].clone()
    }
}

#[tokio::test]
async fn payment_names_the_wallet_that_approved_it_wherever_it_is_shown() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let wallet = scene.approver.pubkey().to_string();
    let asked = scene.asks("a").await.has_status(202);
    let before = scene.approval_of(&asked).await;
    assert_eq!((&before["approved_by"], &before["grant_tx_signature"]), (&Value::Null, &Value::Null));
    assert_eq!(before["paid_before"], json!({ "count": 0, "usdc": "0.000000", "last_at": null }));
    let grant = scene.approves(&asked).await;
    scene.becomes(&asked, "used").await;
    let approval = scene.approved(&asked).await;
    let said = |shown: &Value| {
        assert_eq!((&shown["approved_by"], &shown["grant_tx_signature"]), (&json!(wallet), &json!(grant)));
    };
    said(&approval.body);
    assert!(approval["paid_before"].is_null(), "nobody is asked any more: {}", approval.text);
    assert_ne!(approval["tx_signature"], approval["grant_tx_signature"]);
    said(&scene.one_in("/v1/approvals").await);
    said(&scene.one_in("/v1/transfers").await);
    let id = asked.text_of("transfer_id");
    said(&scene.operator.client.get(&format!("/v1/transfers/{id}")).await.has_status(200).body);
    said(&scene.asks("a").await.has_status(200).body);
    // A payment that policy let pass was approved by nobody.
    scene.ada.sets_policy(json!({ "max_single_transfer": 40, "allowed_counterparties": null })).await;
    let plain = scene.ada.pays("1").to(&scene.payee).await.is_settled();
    assert!(plain.body.get("approved_by").is_none(), "{}", plain.text);

    let browser = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    let own = [format!("/dashboard/approvals/{id}"), format!("/dashboard/transfers/{id}")];
    for page in own.iter().map(String::as_str).chain(["/dashboard/approvals?state=any"]) {
        browser.reads(page).await.has_status(200).says(&wallet).says(&grant);
    }
    let shown = scene.app.client().get(&page_of(&asked)).await.has_status(200);
    assert!(shown.text.contains(&wallet), "{}", shown.text);
}

#[tokio::test]
async fn approvals_that_wait_are_read_for_in_a_few_calls_and_each_is_paid_or_void_all_the_same() {
    const ACCOUNTS: usize = 20;
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let behind =
        AppSettings { rpc_url: Some(proxy.url()), ws_url: Some(network.ws_url.clone()), ..settings() };
    let scene = Scene::on(network, &behind).await;
    let reads = || proxy.calls().get("getMultipleAccounts").copied().unwrap_or_default();
    let alone = {
        let before = reads();
        tokio::time::sleep(Duration::from_secs(10)).await;
        reads() - before
    };
    // As many as may wait: ten of each account.
    let others = join_all((0..ACCOUNTS).map(async |number| {
        let agent = scene.operator.creates_account(&format!("Agent {number}")).await;
        agent.holds("10").await;
        agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
        agent
    }))
    .await;
    let payments = others.iter().flat_map(|agent| (0..10).map(move |_| agent));
    let payments = payments.map(|agent| agent.pays("2").to(&scene.payee).field("approval", json!("request")));
    let waiting = all_at_once(payments).await;
    assert!(waiting.iter().all(|asked| asked.status == 202));
    let asked = scene.asks("a").await.has_status(202);
    let before = reads();
    tokio::time::sleep(Duration::from_secs(10)).await;
    // Each used to be read for by itself every 5 s: 40 calls a second.
    let added = (reads() - before).saturating_sub(alone);
    assert!(added <= 20, "{added} calls in 10 s, {alone} without any");

    // One is approved, the account of ten others is paused, and that of ten more gets another policy.
    scene.approves(&asked).await;
    let state = async |number: usize| {
        let path = format!("/v1/approvals/{}", waiting[number].text_of("transfer_id"));
        scene.operator.client.get(&path).await.text_of("state").to_owned()
    };
    others[0].sets_policy(json!({ "max_single_transfer": 1, "paused": true })).await;
    others[1].sets_policy(json!({ "max_single_transfer": 1.5 })).await;
    scene.becomes(&asked, "used").await;
    for number in 0..20 {
        until("it is void", async || state(number).await == "void").await;
    }
    assert_eq!((scene.paid().await, state(20).await.as_str()), (30_000_000, "pending"));
}

#[tokio::test]
async fn whoever_is_asked_sees_what_the_payee_got_before_however_it_is_named() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let bob = scene.operator.creates_account("Bob").await;
    let asks = async |to: &str, usdc: &str, key: &str| {
        let payment = scene.ada.pays(usdc).to(&to).memo("invoice 7").key(key);
        payment.field("approval", json!("request")).await.has_status(202)
    };
    let by_id = asks(&bob.id, "30", "a").await;
    scene.approves(&by_id).await;
    scene.becomes(&by_id, "used").await;
    let by_token_account = asks(&bob.token_account.to_string(), "2.5", "b").await;
    let once = scene.approval_of(&by_token_account).await["paid_before"].clone();
    assert_eq!((&once["count"], &once["usdc"]), (&json!(1), &json!("30.000000")));
    scene.approves(&by_token_account).await;
    scene.becomes(&by_token_account, "used").await;
    let again = asks(&bob.id, "30", "c").await;
    let twice = scene.approval_of(&again).await["paid_before"].clone();
    assert_eq!((&twice["count"], &twice["usdc"]), (&json!(2), &json!("32.500000")));
    assert!(twice["last_at"].as_str() >= once["last_at"].as_str(), "{once} {twice}");
    // What went to others is not among it.
    let elsewhere = scene.asks("d").await.has_status(202);
    assert_eq!(scene.approval_of(&elsewhere).await["paid_before"]["count"], 0);
    let browser = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    let page = format!("/dashboard/approvals/{}", again.text_of("transfer_id"));
    browser.reads(&page).await.has_status(200).says("2 times, 32.50 USDC in all, last on");
    let shown = scene.app.client().get(&page_of(&again)).await.has_status(200);
    assert!(shown.text.contains("2 times, 32.50 USDC in all"), "{}", shown.text);
}

#[tokio::test]
async fn approval_that_nobody_gives_expires_is_announced_and_the_same_request_asks_once_more() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..settings() };
    let scene = Scene::on(TestNetwork::own(), &settings).await;
    let receiver = Receiver::start();
    registers(&scene.operator, &receiver.url("/p"), &["approval.expired"]).await;
    let asked = scene.asks("a").await.has_status(202);
    let id = asked.text_of("transfer_id").to_owned();
    let now = scene.operator.chain.now().await;
    stands_at(&scene.ada, now + DAY - 600).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(scene.state_of(&asked).await, "pending", "not before its end");
    stands_at(&scene.ada, now + DAY + 60).await;
    scene.becomes(&asked, "expired").await;
    let delivered = receiver.waits_for("/p", 1).await[0].event();
    assert_eq!(
        (&delivered["type"], &delivered["data"]["transfer_id"]),
        (&json!("approval.expired"), &json!(id))
    );
    let listed = scene.one_in("/v1/events?type=approval.expired").await;
    assert_eq!((&listed["id"], &listed["data"]), (&delivered["id"], &delivered["data"]));

    // It is among the approvals and the transfers. No money moved, and policy's refusal was not the end: the history has nothing.
    let expired = scene.one_in("/v1/approvals?state=expired").await;
    assert_eq!((&expired["transfer_id"], &expired["approved_by"]), (&json!(id), &Value::Null));
    let failed = scene.one_in("/v1/transfers?status=failed").await;
    assert_eq!((&failed["transfer_id"], &failed["error"]), (&json!(id), &json!("approval_expired")));
    let history = async || {
        let path = scene.ada.path("/transactions?type=transfer");
        scene.operator.client.get(&path).await.has_status(200)["data"].clone()
    };
    assert_eq!(history().await, json!([]));

    let anew = scene.asks("a").await.has_status(202);
    assert_ne!(anew["transfer_id"], asked["transfer_id"]);
    scene.approves(&anew).await;
    scene.becomes(&anew, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
    assert_eq!(history().await[0]["transfer_id"], anew["transfer_id"]);
    assert_eq!(scene.state_of(&asked).await, "expired");
    assert_eq!(receiver.received("/p").len(), 1);
}

#[tokio::test]
async fn payment_past_what_an_approver_may_grant_in_a_day_is_approved_by_the_admin() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let (chain, admin) = (scene.operator.chain.clone(), scene.app.admin());
    let (program, wallet) = (chain.program(), scene.approver.pubkey());
    let sets = program.set_approver(admin.pubkey(), scene.operator.address, wallet, 40_000_000, 40_000_000);
    let set = chain.lands(sets, admin).await;
    assert!(matches!(set, DirectOutcome::Settled(_)), "{set:?}");
    let first = scene.asks("a").await.has_status(202);
    scene.approves(&first).await;
    scene.becomes(&first, "used").await;
    assert_eq!(scene.approved(&first).await["approved_by"], json!(wallet.to_string()));

    // 30 of 40 USDC are granted: the service pays for no grant that the program refuses, and the wallet's own is refused.
    let second = scene.asks("b").await.has_status(202);
    let given = scene.given_to(&page_of(&second), &wallet).await.has_status(200);
    let bytes = STANDARD.decode(given.text_of("transaction")).expect("base64");
    assert_eq!(bytes[0], 1, "the wallet alone signs");
    let sent = scene.signs(&given).await;
    assert!(is_refused(&sent, PurserError::ApproverLimitExceeded), "{sent}");
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!((scene.state_of(&second).await.as_str(), scene.paid().await), ("pending", 30_000_000));

    let (tag, terms) = scene.terms_of(&second).await;
    let (mine, at) = (admin.pubkey(), (scene.operator.address, scene.ada.address));
    let opened = chain.lands(program.open_grant(mine, mine, mine, at, tag, terms), admin).await;
    assert!(matches!(opened, DirectOutcome::Settled(_)), "{opened:?}");
    scene.becomes(&second, "used").await;
    assert_eq!(scene.paid().await, 60_000_000);
    assert_eq!(scene.approved(&second).await["approved_by"], json!(mine.to_string()));
}
