//! A person approves what policy refuses: with the two requests that a phone's wallet makes, on the embedded network, against the real
//! program. And what must not come of it.

mod attacks;
mod binding;
mod co_signed;
mod phone;
mod told;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_client::DraftAccounts;
use purser_client::purser::{Bounds, GrantPayee, GrantTerms};
use purser_policy::tag_of;
use purser_tests::wallet::{mints, signed_by};
use purser_tests::{
    Agent, Answer, AppSettings, Browser, DirectOutcome, Operator, TestApp, TestNetwork, until,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use std::sync::Arc;
use std::time::Duration;

use crate::mcp::asks_as;

const PUBLIC_URL: &str = "https://pay.example.com";

/// An operator with an approver, and an account that holds 100 USDC and may pay at most 1 to nobody but its friend.
struct Scene {
    app: Arc<TestApp>,
    operator: Operator,
    ada: Agent,
    approver: Keypair,
    payee: Pubkey,
}

impl Scene {
    async fn new() -> Self {
        Self::on(TestNetwork::own(), &settings()).await
    }

    async fn on(network: Arc<TestNetwork>, settings: &AppSettings) -> Self {
        let app = TestApp::start(network, settings).await;
        let operator = app.new_operator().await;
        let ada = operator.creates_account("Ada").await;
        let chain = operator.chain.clone();
        mints(&chain, "100", &ada.token_account).await;
        let friend = Keypair::new().pubkey().to_string();
        ada.sets_policy(json!({ "max_single_transfer": 1, "allowed_counterparties": [friend] })).await;
        let approver = Keypair::new();
        chain.funds(&approver.pubkey(), 1).await;
        let admin = app.admin();
        let sets = chain.program().set_approver(
            admin.pubkey(),
            operator.address,
            approver.pubkey(),
            50_000_000,
            200_000_000,
        );
        let set = chain.lands(sets, admin).await;
        assert!(matches!(set, DirectOutcome::Settled(_)), "{set:?}");
        let (payee, _) = chain.new_payee().await;
        Self { app, operator, ada, approver, payee }
    }

    /// Asks for a payment of 30 USDC, which policy refuses twice over.
    async fn asks(&self, key: &str) -> Answer {
        let payment = self.ada.pays("30").to(&self.payee).memo("invoice 7").key(key);
        payment.field("approval", json!("request")).await
    }

    async fn state_of(&self, asked: &Answer) -> String {
        let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
        self.operator.client.get(&path).await.text_of("state").to_owned()
    }

    async fn becomes(&self, asked: &Answer, state: &str) {
        until(state, async || self.state_of(asked).await == state).await;
    }

    /// The bytes that the wallet of this key is given to sign.
    /// Asks again where the link is followed too often.
    async fn given_to(&self, page: &str, wallet: &Pubkey) -> Answer {
        let body = json!({ "account": wallet.to_string() });
        loop {
            let given = self.app.client().post(&format!("{page}/pay"), &body).await;
            if given.status != 429 {
                return given;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Signs as the wallet, and sends.
    async fn signs(&self, given: &Answer) -> Value {
        let bytes = STANDARD.decode(given.text_of("transaction")).expect("base64");
        self.sends(&signed_by(&self.approver, &bytes).expect("its signature alone is missing")).await
    }

    async fn sends(&self, signed: &[u8]) -> Value {
        let options = json!({ "encoding": "base64", "preflightCommitment": "processed" });
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": [STANDARD.encode(signed), options],
        });
        let http = reqwest::Client::new();
        let sent = http.post(&self.operator.network().rpc_url).json(&call).send().await.expect("a node");
        sent.json().await.expect("JSON")
    }

    /// What a grant must say that covers what was asked, with its tag, which is the grant's id as well.
    async fn terms_of(&self, asked: &Answer) -> (u64, GrantTerms) {
        let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
        let approval = self.operator.client.get(&path).await.has_status(200);
        let number = |field: &str| approval["grant"][field].clone();
        let tag = number("tag").as_str().and_then(|tag| tag.parse().ok()).expect("a tag");
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(self.payee),
            amount: 30_000_000,
            expires_at: self.operator.chain.now().await + 3_600,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(tag),
            memo_hash: Some(Sha256::digest(b"invoice 7").into()),
            policy_version: number("policy_version").as_u64().and_then(|version| version.try_into().ok()),
        };
        (tag, terms)
    }

    /// After another start of the relayer, which listens elsewhere.
    fn reconnected(self) -> Self {
        let operator = self.operator.reconnected();
        let ada = Agent { operator: operator.clone(), ..self.ada };
        Self { operator, ada, ..self }
    }

    async fn paid(&self) -> u64 {
        self.operator.chain.usdc_micros(&self.payee).await
    }
}

/// Without a service that pays: approvers do.
const UNPAID: &str = "[quotas]\napprovals_per_operator_daily = 0\n";

fn settings() -> AppSettings {
    AppSettings {
        indexer_interval_ms: 200,
        server: "public_url = \"https://pay.example.com\"",
        ..AppSettings::default()
    }
}

/// The path of the page.
fn page_of(asked: &Answer) -> String {
    let url = asked.text_of("approval_url");
    url.strip_prefix(PUBLIC_URL).expect("at the public address").to_owned()
}

#[tokio::test]
async fn wallet_in_a_browser_may_ask_for_the_transaction_and_no_page_may_ask_for_anything_else() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let page = page_of(&scene.asks("in-a-browser").await.has_status(202));
    let client = scene.app.client();
    let preflight = async |path: &str| {
        let request =
            client.request(reqwest::Method::OPTIONS, path).header("origin", "https://wallet.example");
        let request = request.header("access-control-request-method", "POST");
        client.sends(request.header("access-control-request-headers", "content-type")).await
    };
    let allowed = preflight(&format!("{page}/pay")).await.has_status(204);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
    assert_eq!(allowed.header("access-control-allow-methods"), Some("GET, POST"));
    let headers = allowed.header("access-control-allow-headers");
    assert_eq!(headers, Some("content-type, accept, cache-control"));
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    // A wallet reads every answer that it may ask for, refusals included.
    let nobody = scene.given_to("/approve/none", &Pubkey::new_unique()).await.has_status(404);
    let wrong = client.post(&format!("{page}/pay"), &json!({ "account": 1 })).await.has_status(400);
    let stranger = scene.given_to(&page, &Pubkey::new_unique()).await.has_status(403);
    for answer in [nobody, wrong, stranger, scene.given_to(&page, &scene.approver.pubkey()).await] {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{}", answer.text);
    }
    for path in [page.as_str(), "/v1/transfers", "/v1/approvals", "/dashboard", "/dashboard/sign-in"] {
        let refused = preflight(path).await;
        assert_ne!(refused.status, 204, "{path}");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn phone_approves_a_payment_past_list_and_limit_and_it_is_paid_once() {
    let scene = Scene::new().await;
    let asked = scene.asks("invoice-7").await.has_status(202);
    assert_eq!(asked["status"], "pending_approval");
    assert_eq!(asked["error"], "policy_violation");
    let page = page_of(&asked);
    let shown = scene.app.client().get(&page).await.has_status(200);
    for word in ["30.00", "invoice 7", &scene.payee.to_string(), "never", "Ada"] {
        assert!(shown.text.contains(word), "{word} is missing in {}", shown.text);
    }
    // What a wallet asks first.
    let label = scene.app.client().get(&format!("{page}/pay")).await.has_status(200);
    assert!(label.text_of("label").starts_with("Purser: "));
    assert!(label.text_of("icon").starts_with("https://pay.example.com/"));
    assert_eq!(label.header("access-control-allow-origin"), Some("*"));

    let stranger = Keypair::new();
    let refused = scene.given_to(&page, &stranger.pubkey()).await.has_status(403);
    assert!(refused["message"].is_string() && refused["transaction"].is_null());
    assert_eq!(scene.given_to("/approve/none", &stranger.pubkey()).await.status, 404);
    let given = scene.given_to(&page, &scene.approver.pubkey()).await.has_status(200);
    let bytes = STANDARD.decode(given.text_of("transaction")).expect("base64");
    let memo = format!(
        "Purser: let {} pay 30.000000 USDC to the token account {} until ",
        scene.ada.address, scene.payee
    );
    assert!(String::from_utf8_lossy(&bytes).contains(&memo), "the wallet shows what it signs");

    // A thief on the way changes the payee in the terms: the service has not signed that. `attacks` has what the program says to it.
    let mut swapped = bytes.clone();
    let at = swapped.windows(32).rposition(|window| window == scene.payee.as_ref()).expect("the payee");
    swapped[at..at + 32].copy_from_slice(stranger.pubkey().as_ref());
    let swapped = signed_by(&scene.approver, &swapped).expect("its signature is missing");
    let sent = scene.sends(&swapped).await;
    assert!(sent["error"].is_object(), "{sent}");

    assert!(scene.signs(&given).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
    // The same again is the same payment, and the grant opens no other.
    let again = scene.asks("invoice-7").await.has_status(200);
    assert_eq!((&again["transfer_id"], &again["status"]), (&asked["transfer_id"], &json!("settled")));
    let other = scene.asks("invoice-8").await.has_status(202);
    assert_eq!(other["status"], "pending_approval");
    let browser = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    let path = format!("/dashboard/transfers/{}", asked.text_of("transfer_id"));
    let row = |rule: &str, by: &str| {
        format!("<th scope=\"row\">{rule}</th>\n<td><span class=\"tag ok\">passed</span>{by}</td>")
    };
    let by_grant = format!(" by the grant of <code>{}</code>", scene.approver.pubkey());
    let over = row("max_single_transfer", &by_grant);
    until("the page knows policy and approver", async || browser.reads(&path).await.text.contains(&over))
        .await;
    let page_of_it = browser.reads(&path).await.says(&row("allowed_counterparties", &by_grant));
    page_of_it.says(&row("paused", "")).says(&row("max_daily_spend", ""));
    let pending = browser.reads("/dashboard/approvals?state=pending").await.has_status(200);
    pending.says(other.text_of("transfer_id"));
    let path = format!("/dashboard/approvals/{}", other.text_of("transfer_id"));
    browser.reads(&path).await.has_status(200).says("What a grant must say");
    browser.sends_form(&format!("{path}/reject"), &[]).await.leads_to(&format!("{path}?rejected=1"));
    assert_eq!(scene.state_of(&other).await, "rejected");
    browser.reads(&path).await.has_status(200).says("The operator rejected it");
    assert_eq!(scene.given_to(&page, &scene.approver.pubkey()).await.status, 409);
    let shown = scene.app.client().get(&page).await.has_status(200);
    assert!(shown.text.contains("was approved and paid") && !shown.text.contains("solana:"));
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn forwarded_link_rejects_nothing_and_leads_to_the_sign_in() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let asked = scene.asks("forwarded").await.has_status(202);
    let (page, id) = (page_of(&asked), asked.text_of("transfer_id"));
    let shown = scene.app.client().get(&page).await.has_status(200).text;
    let reject = format!("/dashboard/approvals/{id}");
    assert!(shown.contains(&format!("href=\"{reject}\"")) && !shown.contains("<form"), "{shown}");
    let short = format!("{}\u{2026}", &scene.payee.to_string()[..4]);
    for words in [
        "<bdi>Ada</bdi> wants to pay 30.00 USDC to",
        "not on the account&#39;s list of allowed payees",
        &short,
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // Nobody is signed in: every way to the rejection is the sign-in, or nothing.
    let stranger = Browser::new(&scene.app.base_url());
    let next = format!("/dashboard/sign-in?next=%2Fdashboard%2Fapprovals%2F{id}");
    stranger.reads(&reject).await.leads_to(&next);
    stranger.sends_form(&format!("{reject}/reject"), &[]).await.leads_to("/dashboard/sign-in");
    for path in [page.clone(), format!("{page}/reject"), format!("{page}/pay")] {
        let status = stranger.sends_form(&path, &[("account", "x")]).await.status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    assert_eq!(scene.state_of(&asked).await, "pending");
    // Nor may another operator.
    let other = scene.app.new_operator().await;
    let other = Browser::signed_in(&scene.app.base_url(), other.client.key()).await;
    other.sends_form(&format!("{reject}/reject"), &[]).await.has_status(404);
    assert_eq!(scene.state_of(&asked).await, "pending");
    let own = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    own.reads(&reject).await.has_status(200).says(">Reject</button>");
    own.sends_form(&format!("{reject}/reject"), &[]).await.has_status(303);
    assert_eq!(scene.state_of(&asked).await, "rejected");
}

#[tokio::test]
async fn approvals_open_on_what_waits_with_its_count_on_every_page() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let browser = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    let none = browser.reads("/dashboard/approvals").await.says("No payment waits for approval");
    assert!(!none.text.contains(r#"class="count""#), "{}", none.text);
    let [first, second] = [scene.asks("1").await.has_status(202), scene.asks("2").await.has_status(202)];
    let path = format!("/dashboard/approvals/{}/reject", first.text_of("transfer_id"));
    browser.reads("/dashboard/keys").await.says(r#"<span class="count">2<"#);
    browser.sends_form(&path, &[]).await.has_status(303);
    let open = browser.reads("/dashboard/approvals").await.says(r#"<span class="count">1<"#);
    let (gone, waits) = (first.text_of("transfer_id"), second.text_of("transfer_id"));
    assert!(open.text.contains(waits) && !open.text.contains(gone), "{}", open.text);
    for (state, has) in [("any", [true, true]), ("rejected", [true, false]), ("pending", [false, true])] {
        let list = browser.reads(&format!("/dashboard/approvals?state={state}")).await.has_status(200).text;
        assert_eq!([list.contains(gone), list.contains(waits)], has, "{state}: {list}");
    }
}

#[tokio::test]
async fn grant_that_was_taken_back_pays_nothing_and_one_of_the_admin_does() {
    let scene = Scene::new().await;
    let chain = scene.operator.chain.clone();
    let asked = scene.asks("a").await.has_status(202);
    // The agent's account cannot be read for a while by nobody: the relayer looks every two seconds. Taken back in one
    // transaction with its opening, the grant is never in force when it looks.
    let (tag, terms) = scene.terms_of(&asked).await;
    let (program, admin) = (chain.program(), scene.app.admin());
    let (wallet, at) = (scene.approver.pubkey(), (scene.operator.address, scene.ada.address));
    let [memo, open] = program.approve(wallet, wallet, wallet, at, tag, terms);
    let remove = program.remove_approver(admin.pubkey(), scene.operator.address, wallet);
    let landed = chain.all_land(&[memo, open, remove], &[&scene.approver, admin]).await;
    assert!(matches!(landed, DirectOutcome::Settled(_)), "{landed:?}");
    // It would have been paid by now: the next look comes within two seconds.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!((scene.state_of(&asked).await.as_str(), scene.paid().await), ("pending", 0));
    assert_eq!(scene.given_to(&page_of(&asked), &wallet).await.status, 403, "it is no approver any more");

    // The grant's place is taken until it is closed; then the admin opens one, which needs no memo.
    let grant = program.grant_address(&scene.ada.address, tag);
    let close = program.close_grant(admin.pubkey(), scene.operator.address, grant, wallet);
    let mine = admin.pubkey();
    let open = program.open_grant(mine, mine, mine, at, tag, terms);
    let landed = chain.all_land(&[close, open], &[admin]).await;
    assert!(matches!(landed, DirectOutcome::Settled(_)), "{landed:?}");
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
    assert_ne!(tag_of(&[0; 16]), tag);
}

#[tokio::test]
async fn past_the_daily_limit_no_approver_is_asked_whatever_was_refused_before_it() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    scene
        .ada
        .sets_policy(
            json!({ "max_single_transfer": 1, "max_daily_spend": 20, "allowed_counterparties": null }),
        )
        .await;
    let asked = scene.asks("a").await.has_status(202);
    assert_eq!(asked.failed_checks(), ["max_single_transfer", "max_daily_spend"]);
    // Whoever is told of it learns that approvers need not be asked.
    let events = scene.operator.client.get("/v1/events?type=approval.requested").await.has_status(200);
    assert_eq!(events["data"][0]["data"]["needs_admin"], true, "{}", events.text);
    let page = page_of(&asked);
    let shown = scene.app.client().get(&page).await.has_status(200);
    assert!(
        shown.text.contains("approvers cannot go over it") && !shown.text.contains("solana:"),
        "{}",
        shown.text
    );
    assert_eq!(scene.given_to(&page, &scene.approver.pubkey()).await.status, 403);
    let browser = Browser::signed_in(&scene.app.base_url(), scene.operator.client.key()).await;
    let path = format!("/dashboard/approvals/{}", asked.text_of("transfer_id"));
    let read = browser.reads(&path).await.has_status(200).says("so only the admin can approve it");
    assert!(read.text.contains("anchor run grant-open") && !read.text.contains("anchor run approve"));

    // What the page prints, by the admin.
    let (tag, terms) = scene.terms_of(&asked).await;
    let (program, admin) = (scene.operator.chain.program(), scene.app.admin());
    let (mine, at) = (admin.pubkey(), (scene.operator.address, scene.ada.address));
    let terms = GrantTerms { beyond_daily_limit: true, memo_hash: None, policy_version: None, ..terms };
    let opened =
        scene.operator.chain.lands(program.open_grant(mine, mine, mine, at, tag, terms), admin).await;
    assert!(matches!(opened, DirectOutcome::Settled(_)), "{opened:?}");
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn account_that_pays_by_grants_alone_asks_for_every_payment() {
    let scene = Scene::new().await;
    let Scene { app, operator, ada, payee, .. } = &scene;
    let chain = &operator.chain;
    ada.sets_policy(json!({ "max_single_transfer": 50, "allowed_counterparties": null })).await;
    let admin = app.admin();
    let at = DraftAccounts { authority: admin.pubkey(), operator: operator.address, agent: ada.address };
    let refund = chain.agent(&ada.address).await.agent.rent_refund;
    let bounds = Bounds { by_grant_only: true, max_30_day_spend: Some(40_000_000), budget: None };
    let bound =
        chain.lands(chain.program().set_bounds(at, admin.pubkey(), refund, bounds, None), admin).await;
    assert!(matches!(bound, DirectOutcome::Settled(_)), "{bound:?}");

    let seen = chain.transactions_of(&ada.address).await;
    let preview = ada.previews("30").to(payee).await.has_status(200);
    assert_eq!((preview["allowed"].as_bool(), preview.failed_checks()), (Some(false), vec!["by_grant_only"]));
    let refused = ada.pays("30").to(payee).await.is_error(402, "policy_violation");
    assert_eq!((refused.failed_checks(), &refused["approvable"]), (vec!["by_grant_only"], &json!(true)));
    let past_the_cap = ada.pays("41").to(payee).await.is_error(402, "policy_violation");
    assert!(past_the_cap["approvable"].is_null(), "no grant waives the cap: {}", past_the_cap.text);
    assert_eq!(chain.transactions_of(&ada.address).await, seen, "nothing was signed");

    let asked = scene.asks("every payment").await.has_status(202);
    assert_eq!(asked["status"], "pending_approval");
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["error"].is_null());
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
    // The grant was for one payment.
    let next = ada.pays("1").to(payee).await.is_error(402, "policy_violation");
    assert_eq!(next.failed_checks(), ["by_grant_only"]);
}

#[tokio::test]
async fn approved_payment_is_paid_once_though_the_relayer_is_killed_again_and_again() {
    let scene = Scene::new().await;
    let asked = scene.asks("a").await.has_status(202);
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    scene.app.crashes();
    assert!(scene.signs(&given).await["result"].is_string());
    for _ in 0..3 {
        scene.app.starts();
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        scene.app.crashes();
    }
    scene.app.starts();
    let scene = scene.reconnected();
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn client_of_mcp_that_shows_pages_is_led_to_the_approval_and_others_get_its_link() {
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let key = scene.ada.new_key().await;
    let order = json!({
        "to": scene.payee.to_string(), "amount": "30", "memo": "invoice 7", "idempotency_key": "a", "approval": "request",
    });
    let call = |more: Value| {
        let mut call = json!({ "name": "send_transfer", "arguments": order });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        call
    };
    let shows = json!({ "elicitation": { "url": {} } });
    let led = asks_as(&key, shows.clone(), "tools/call", call(json!({}))).await.has_status(200);
    let result = &led["result"];
    assert_eq!(result["resultType"], "input_required", "{}", led.text);
    let page = &result["inputRequests"]["approval"];
    assert_eq!((&page["method"], &page["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    let url = page["params"]["url"].as_str().expect("a link");
    assert!(url.starts_with("https://pay.example.com/approve/"), "{url}");
    assert!(
        page["params"]["message"].as_str().is_some_and(|said| said.contains("30.000000")),
        "{}",
        led.text
    );

    // Whatever the user said, the same call is answered with what there is: it waits.
    for action in ["accept", "decline", "cancel"] {
        let said = json!({ "inputResponses": { "approval": { "action": action } } });
        let answer = asks_as(&key, shows.clone(), "tools/call", call(said)).await.has_status(200);
        let answer = crate::mcp::succeeds(&answer["result"]).clone();
        assert_eq!((&answer["status"], &answer["approval_url"]), (&json!("pending_approval"), &json!(url)));
    }
    // Whoever shows forms alone, or nothing, gets the link; so does the revision before.
    for capabilities in [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })] {
        let answer = asks_as(&key, capabilities, "tools/call", call(json!({}))).await.has_status(200);
        assert_eq!(crate::mcp::succeeds(&answer["result"])["approval_url"], json!(url));
    }
    let before = crate::mcp::asks(&key, "tools/call", call(json!({}))).await.has_status(200);
    assert_eq!(crate::mcp::succeeds(&before["result"])["status"], "pending_approval");

    let path = url.strip_prefix(PUBLIC_URL).expect("at the public address");
    let given = scene.given_to(path, &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["result"].is_string());
    let id = crate::mcp::succeeds(&before["result"])["transfer_id"].as_str().expect("an id").to_owned();
    until("it is settled", async || {
        let asked = json!({ "name": "get_transfer", "arguments": { "transfer_id": id } });
        let read = asks_as(&key, shows.clone(), "tools/call", asked).await.has_status(200);
        crate::mcp::succeeds(&read["result"])["status"] == "settled"
    })
    .await;
    let paid = asks_as(&key, shows, "tools/call", call(json!({}))).await.has_status(200);
    assert_eq!(crate::mcp::succeeds(&paid["result"])["replayed"], true);
    assert_eq!(scene.paid().await, 30_000_000);
}
