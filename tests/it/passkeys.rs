//! Signing in to the dashboard with a passkey, and everybody who may not; and in a browser, by `tests/browser/passkeys.mjs`.

mod device;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use purser_tests::binaries::workspace;
use purser_tests::clock::{HostClock, iso_of};
use purser_tests::settings::Webhooks;
use purser_tests::turns::{BROWSER, Turn};
use purser_tests::{
    Answer, AppSettings, Browser, Client, Operator, TestApp, TestDatabase, TestNetwork, until,
};
use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::process::Command;

use self::device::Device;
use crate::dashboard_browser::chromium;

const SIGN_IN: &str = "/dashboard/sign-in/passkey";
const PASSKEYS: &str = "/dashboard/passkeys";
const NO_PASSKEY: &str = "This passkey is not valid";
const BEGIN_AGAIN: &str = "Begin again";

/// Where a browser on this machine has passkeys.
fn home(app: &TestApp) -> String {
    app.base_url().replace("127.0.0.1", "localhost")
}

/// A key of its own, with these fields of `POST /v1/keys`.
async fn a_key(operator: &Operator, fields: Value) -> Answer {
    operator.client.post("/v1/keys", &fields).await.has_status(201)
}

async fn signed_in(app: &TestApp, key: &str) -> Browser {
    Browser::signed_in(&home(app), key).await
}

/// The challenge of a page.
#[track_caller]
fn challenge_of(page: &Answer) -> Value {
    let (_, rest) = page.text.split_once("data-challenge=\"").unwrap_or_else(|| panic!("{}", page.text));
    let (text, _) = rest.split_once('"').expect("it ends");
    let text = text.replace("&#34;", "\"").replace("&quot;", "\"").replace("&#38;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn asks(browser: &Browser, path: &str) -> Value {
    challenge_of(&browser.reads(path).await.has_status(200))
}

async fn adds(browser: &Browser, device: &mut Device, name: &str) -> Answer {
    let made = device.makes(&asks(browser, PASSKEYS).await);
    browser.sends_form(PASSKEYS, &[("name", name), ("credential", &made)]).await
}

async fn sends(browser: &Browser, credential: &str) -> Answer {
    browser.sends_form(SIGN_IN, &[("credential", credential)]).await
}

/// Signs in with an answer to a new challenge.
async fn signs_in(browser: &Browser, device: &mut Device) -> Answer {
    let signed = device.signs(&asks(browser, SIGN_IN).await);
    sends(browser, &signed).await
}

/// An operator's key with a passkey on a device, and a browser in which nobody is signed in.
struct Scene {
    operator: Operator,
    key: Answer,
    /// Signed in with the key.
    owner: Browser,
    device: Device,
    browser: Browser,
}

impl Scene {
    async fn new(operator: Operator) -> Scene {
        Scene::with(operator, json!({ "name": "ops" })).await
    }

    async fn with(operator: Operator, fields: Value) -> Scene {
        let app = operator.app().clone();
        let key = a_key(&operator, fields).await;
        let owner = signed_in(&app, key.text_of("key")).await;
        let mut device = Device::at(&home(&app));
        adds(&owner, &mut device, "Ada's phone").await.leads_to("/dashboard/keys?added=1#passkeys");
        let browser = Browser::new(&home(&app));
        Scene { operator, key, owner, device, browser }
    }

    async fn shared() -> Scene {
        Scene::new(Operator::shared().await.app().new_operator().await).await
    }

    /// The id of the passkey, as the page of keys has it.
    async fn passkey_id(&self) -> String {
        let page = self.owner.reads("/dashboard/keys").await.has_status(200);
        let (_, rest) = page.text.split_once("name=\"passkey\" value=\"").expect("a passkey");
        rest.split('"').next().expect("an id").to_owned()
    }

    async fn actions(&self) -> Vec<Value> {
        let path = format!("/v1/actions?key_id={}", self.key.text_of("id"));
        let listed = self.operator.client.get(&path).await.has_status(200);
        listed["data"].as_array().expect("a list").clone()
    }
}

#[track_caller]
fn is_refused(answer: Answer, browser: &Browser) {
    answer.has_status(401).says(NO_PASSKEY);
    assert_eq!(browser.cookie(), None);
}

#[tokio::test]
async fn a_passkey_signs_in_as_its_key_until_it_is_removed() {
    let mut scene = Scene::shared().await;
    let page = scene.owner.reads("/dashboard/keys").await.has_status(200);
    page.says("Ada&#39;s phone").says("<span class=\"faint\">never</span>");
    let asked = scene.browser.reads("/dashboard/sign-in?next=%2Fdashboard%2Fwebhooks").await;
    asked.says("href=\"/dashboard/sign-in/passkey?next=%2Fdashboard%2Fwebhooks\"");
    let options = asks(&scene.browser, SIGN_IN).await;
    assert_eq!(options["publicKey"]["userVerification"], "required", "{options}");
    assert_eq!(options["publicKey"]["allowCredentials"], json!([]), "any of the device's: {options}");
    assert_eq!(options.get("mediation"), None, "{options}");
    let signed = scene.device.signs(&options);
    let fields = [("credential", signed.as_str()), ("next", "/dashboard/webhooks")];
    let opened = scene.browser.sends_form(SIGN_IN, &fields).await.leads_to("/dashboard/webhooks");
    let set: Vec<&str> =
        opened.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok()).collect();
    let session = set.iter().find(|line| line.starts_with("purser=")).expect("a session");
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(session.contains(attribute), "{session}");
    }
    assert_eq!(scene.browser.others(), BTreeMap::new(), "what belonged to the challenge is gone");
    let page = scene.browser.reads("/dashboard/keys").await.has_status(200);
    page.says("<span class=\"tag\">yours</span>").says("<span class=\"tag\">this one</span>");
    let id = scene.passkey_id().await;
    let did = scene.actions().await;
    let named: Vec<&str> = did.iter().filter_map(|action| action["action"].as_str()).collect();
    assert_eq!(named, ["sign_in", "add_passkey", "sign_in"], "{did:?}");
    assert_eq!((&did[0]["object_id"], &did[1]["made_id"]), (&json!(id), &json!(id)));
    assert_eq!(did[1]["after"], json!({ "name": "Ada's phone" }), "and not what the device said");
    // What its session does says so; what the key did before does not.
    let names: Vec<&Value> = did.iter().map(|action| &action["passkey_name"]).collect();
    assert_eq!(names, [&json!("Ada's phone"), &Value::Null, &Value::Null], "{did:?}");
    let page = scene.owner.reads("/dashboard/actions").await.has_status(200);
    page.says("signed in with the passkey <bdi>Ada&#39;s phone</bdi>");
    let log = scene.operator.app().log();
    let line = log.lines().find(|line| line.contains("signed in") && line.contains(&id)).expect("a line");
    assert!(line.contains(scene.key.text_of("id")), "{line}");

    scene.owner.sends_form("/dashboard/passkeys/remove", &[("passkey", &id)]).await;
    assert_eq!(scene.actions().await[0]["action"], "remove_passkey");
    assert_eq!(scene.actions().await[0]["object_id"], json!(id));
    // Also after it was removed, as that of a lost phone is.
    assert_eq!(scene.actions().await[1]["passkey_name"], "Ada's phone");
    let file = scene.owner.reads("/dashboard/actions.csv?action=sign_in").await.has_status(200);
    assert!(file.text.lines().nth(1).is_some_and(|line| line.ends_with(",\"Ada's phone\"")), "{}", file.text);
    let ended = scene.browser.reads("/dashboard").await;
    ended.leads_to("/dashboard/sign-in");
    scene.owner.reads("/dashboard").await.has_status(200);
    scene.browser.holds(None);
    is_refused(signs_in(&scene.browser, &mut scene.device).await, &scene.browser);
}

#[tokio::test]
async fn a_session_by_passkey_may_what_its_key_may() {
    let operator = Operator::shared().await.app().new_operator().await;
    let account = operator.creates_account("Ada").await;
    let mut scene = Scene::with(operator, json!({ "scopes": ["read"] })).await;
    signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
    let path = format!("/dashboard/accounts/{}", account.id);
    scene.browser.reads(&path).await.has_status(200);
    scene.browser.sends_form(&format!("{path}/pause"), &[("paused", "true")]).await.has_status(403);
    scene.browser.sends_form("/dashboard/stop-all", &[]).await.has_status(403);
}

#[tokio::test]
async fn what_a_device_signed_counts_once() {
    for counter in [Some(0), None] {
        let mut scene = Scene::shared().await;
        // One that does not count never did.
        if counter.is_none() {
            let mut device = Device::at(&home(scene.operator.app()));
            device.counter = None;
            adds(&scene.owner, &mut device, "no counter").await.has_status(303);
            scene.device = device;
        }
        let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
        let kept = scene.browser.others();
        sends(&scene.browser, &signed).await.leads_to("/dashboard");
        let thief = Browser::new(&home(scene.operator.app()));
        thief.holds_others(kept);
        is_refused(sends(&thief, &signed).await, &thief);
        // A challenge from before the passkey was used is no longer good for it.
        let early = scene.device.signs(&asks(&thief, SIGN_IN).await);
        let kept = thief.others();
        signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
        thief.holds_others(kept);
        is_refused(sends(&thief, &early).await, &thief);
    }
}

async fn one_of_many_at_once_signs_in(scene: &mut Scene, homes: &[String]) {
    let options = asks(&scene.browser, SIGN_IN).await;
    let signed = scene.device.signs(&options);
    let browsers: Vec<Browser> = (0..8)
        .map(|number| {
            let browser = Browser::new(&homes[number % homes.len()]);
            browser.holds_others(scene.browser.others());
            browser
        })
        .collect();
    let sent = browsers.iter().map(|browser| sends(browser, &signed));
    let mut statuses: Vec<u16> =
        futures::future::join_all(sent).await.into_iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 401, 401, 401, 401, 401, 401, 401]);
}

#[tokio::test]
async fn what_a_device_signed_counts_once_even_all_at_once() {
    let mut scene = Scene::shared().await;
    let homes = [home(scene.operator.app())];
    one_of_many_at_once_signs_in(&mut scene, &homes).await;
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let mut scene = Scene::new(app.new_operator().await).await;
    one_of_many_at_once_signs_in(&mut scene, &[home(&app)]).await;
}

/// A browser of a service that is reached at `https://pay.example.com`, whichever relayer answers.
async fn at_public_address(
    app: &TestApp,
    method: Method,
    path: &str,
    form: &[(&str, &str)],
    cookies: &str,
) -> Answer {
    let http = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
    let client = Client::over(http, &app.base_url(), None);
    let mut request = client.request(method.clone(), path);
    request = request.header("host", "pay.example.com").header("cookie", cookies);
    if method == Method::POST {
        request = request.header("origin", "https://pay.example.com").form(form);
    }
    client.sends(request).await
}

fn cookie_of(answer: &Answer, name: &str) -> String {
    let set = answer.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let mut pairs = set.filter_map(|line| line.split(';').next());
    pairs.find(|pair| pair.starts_with(&format!("{name}="))).expect("the cookie").to_owned()
}

#[tokio::test]
async fn two_relayers_share_challenges_and_passkeys_of_one_public_address() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings {
        database: Some(database),
        server: "public_url = \"https://pay.example.com\"\ntrusted_proxies = [\"127.0.0.1\"]",
        ..AppSettings::default()
    };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let key = [("key", operator.client.key())];
    let opened = at_public_address(&first, Method::POST, "/dashboard/sign-in", &key, "").await;
    let session = cookie_of(&opened.leads_to("/dashboard"), "__Host-purser");
    let mut device = Device::at("https://pay.example.com");
    let page = at_public_address(&first, Method::GET, PASSKEYS, &[], &session).await.has_status(200);
    let kept = cookie_of(&page, "__Host-purser-passkey");
    let made = device.makes(&challenge_of(&page));
    let form = [("name", "phone"), ("credential", made.as_str())];
    let cookies = format!("{session}; {kept}");
    at_public_address(&second, Method::POST, PASSKEYS, &form, &cookies).await.has_status(303);

    let page = at_public_address(&second, Method::GET, SIGN_IN, &[], "").await.has_status(200);
    let kept = cookie_of(&page, "__Host-purser-passkey");
    let signed = device.signs(&challenge_of(&page));
    let form = [("credential", signed.as_str())];
    let opened = at_public_address(&first, Method::POST, SIGN_IN, &form, &kept).await.leads_to("/dashboard");
    let session = cookie_of(&opened, "__Host-purser");
    at_public_address(&second, Method::GET, "/dashboard", &[], &session).await.has_status(200);
    at_public_address(&second, Method::POST, SIGN_IN, &form, &kept).await.has_status(401);
    // At any other address, it says where.
    let page = Browser::new(&second.base_url()).reads(SIGN_IN).await.has_status(200);
    page.says("https://pay.example.com/dashboard/sign-in/passkey");
}

#[tokio::test]
async fn a_challenge_is_good_for_what_it_was_made_for() {
    let mut scene = Scene::shared().await;
    let app = scene.operator.app().clone();
    // Another challenge than the one that was signed.
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    asks(&scene.browser, SIGN_IN).await;
    is_refused(sends(&scene.browser, &signed).await, &scene.browser);
    // One for making a passkey.
    let options = asks(&scene.owner, PASSKEYS).await;
    scene.browser.holds_others(scene.owner.others());
    let signed = scene.device.signs(&options);
    sends(&scene.browser, &signed).await.has_status(400).says(BEGIN_AGAIN);
    // None, and one that somebody changed.
    scene.browser.holds_others(BTreeMap::new());
    sends(&scene.browser, &signed).await.has_status(400).says(BEGIN_AGAIN);
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let (name, value) = scene.browser.others().pop_first().expect("a cookie");
    for at in (0..value.len()).step_by(7) {
        let mut changed = value.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).expect("text");
        let others = BTreeMap::from([(name.clone(), changed)]);
        scene.browser.holds_others(others);
        sends(&scene.browser, &signed).await.has_status(400).says(BEGIN_AGAIN);
    }
    assert_eq!(scene.browser.cookie(), None);

    // A passkey is made in the session that asked, for its key.
    let other_key = a_key(&scene.operator, json!({})).await;
    let stranger = app.new_operator().await;
    let mut device = Device::at(&home(&app));
    let made = device.makes(&asks(&scene.owner, PASSKEYS).await);
    let form = [("name", "phone"), ("credential", made.as_str())];
    let kept = scene.owner.others();
    for key in [scene.key.text_of("key"), other_key.text_of("key"), stranger.client.key()] {
        let elsewhere = signed_in(&app, key).await;
        elsewhere.holds_others(kept.clone());
        elsewhere.sends_form(PASSKEYS, &form).await.has_status(400).says(BEGIN_AGAIN);
    }
    // And not for one to sign in with.
    asks(&scene.browser, SIGN_IN).await;
    scene.owner.holds_others(scene.browser.others());
    scene.owner.sends_form(PASSKEYS, &form).await.has_status(400).says(BEGIN_AGAIN);
    // Once.
    scene.owner.holds_others(kept.clone());
    scene.owner.sends_form(PASSKEYS, &form).await.has_status(303);
    scene.owner.holds_others(kept.clone());
    scene.owner.sends_form(PASSKEYS, &form).await.has_status(400).says("is a passkey already");
    let page = scene.owner.reads("/dashboard/keys").await;
    assert_eq!(page.text.matches("name=\"passkey\"").count(), 2, "{}", page.text);
}

#[tokio::test]
async fn no_device_signs_in_that_did_not_sign_what_was_asked_where_it_was_asked() {
    type Change = fn(&mut Device);
    let changes: [(&str, Change); 9] = [
        ("another site", |device| device.origin = "https://evil.example".to_owned()),
        ("another port", |device| device.origin = "http://localhost:1".to_owned()),
        ("another scheme", |device| device.origin = device.origin.replace("http:", "https:")),
        ("another name", |device| device.rp_id = "127.0.0.1".to_owned()),
        ("nobody was there", |device| device.is_present = false),
        ("nobody was asked for a finger or a PIN", |device| device.is_verified = false),
        ("a passkey that is made", |device| device.kind = "webauthn.create"),
        ("another key pair", Device::forgets_its_key),
        ("another owner", |device| device.user = "A".repeat(22)),
    ];
    let mut scene = Scene::shared().await;
    for (what, change) in changes {
        let mut liar = scene.device.clone();
        change(&mut liar);
        let answer = signs_in(&scene.browser, &mut liar).await;
        assert_eq!((answer.status, scene.browser.cookie()), (401, None), "{what}: {}", answer.text);
        // Nor is such a passkey made, but where only the signature would say it.
        let mut liar = Device::at(&home(scene.operator.app()));
        change(&mut liar);
        if liar.kind.is_empty() && ["another key pair", "another owner"].contains(&what) {
            continue;
        }
        if liar.kind == "webauthn.create" {
            liar.kind = "webauthn.get";
        }
        adds(&scene.owner, &mut liar, "liar").await.has_status(400).says("not of the kind");
    }
    // A copy of the device that signed less often.
    let mut copy = scene.device.clone();
    signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
    signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
    scene.browser.holds(None);
    is_refused(signs_in(&scene.browser, &mut copy).await, &scene.browser);
    let log = scene.operator.app().log();
    assert!(log.lines().any(|line| line.contains("a passkey was refused")), "it is in the log");
}

#[tokio::test]
async fn a_passkey_ends_with_its_key_and_when_it_is_removed_between_the_two_steps() {
    let mut scene = Scene::shared().await;
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let id = scene.passkey_id().await;
    let removed = scene.owner.sends_form("/dashboard/passkeys/remove", &[("passkey", &id)]).await;
    removed.leads_to("/dashboard/keys?removed=1#passkeys");
    is_refused(sends(&scene.browser, &signed).await, &scene.browser);

    let mut scene = Scene::shared().await;
    let made = scene.device.clone();
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let making = scene.owner.reads(PASSKEYS).await.has_status(200);
    let revoked = format!("/v1/keys/{}", scene.key.text_of("id"));
    scene.operator.client.delete(&revoked).await.has_status(204);
    is_refused(sends(&scene.browser, &signed).await, &scene.browser);
    let mut device = made.clone();
    let new = device.makes(&challenge_of(&making));
    let form = [("name", "late"), ("credential", new.as_str())];
    scene.owner.sends_form(PASSKEYS, &form).await.leads_to("/dashboard/sign-in");
    let admin = signed_in(scene.operator.app(), scene.operator.client.key()).await;
    let page = admin.reads("/dashboard/keys").await.has_status(200);
    assert!(!page.text.contains("Ada&#39;s phone"), "{}", page.text);
}

#[tokio::test]
async fn a_challenge_and_a_key_expire() {
    let clock = HostClock::new();
    let settings = AppSettings { host_clock: Some(clock.clone()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let ends = iso_of(now.as_secs().cast_signed() + 3_600);
    let mut scene = Scene::with(app.new_operator().await, json!({ "expires_at": ends })).await;
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let made = Device::at(&home(&app)).makes(&asks(&scene.owner, PASSKEYS).await);
    clock.is_ahead(301);
    sends(&scene.browser, &signed).await.has_status(400).says(BEGIN_AGAIN);
    let form = [("name", "late"), ("credential", made.as_str())];
    scene.owner.sends_form(PASSKEYS, &form).await.has_status(400).says(BEGIN_AGAIN);
    signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
    // A clock that goes back makes no challenge of later good.
    let later = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    clock.is_ahead(0);
    scene.browser.holds(None);
    sends(&scene.browser, &later).await.has_status(400).says(BEGIN_AGAIN);
    clock.is_ahead(3_601);
    is_refused(signs_in(&scene.browser, &mut scene.device).await, &scene.browser);
}

#[tokio::test]
async fn a_passkey_signs_in_from_the_addresses_of_its_key_alone() {
    let settings = AppSettings { server: "trusted_proxies = [\"127.0.0.1\"]", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let key = a_key(&operator, json!({ "allowed_cidrs": ["203.0.113.0/24"] })).await;
    let browser = Browser::new(&home(&app));
    let from = async |address: &str, method: Method, path: &str, form: &[(&str, &str)]| {
        let request = browser.request(method, path).header("x-forwarded-for", address);
        let request = request.header("sec-fetch-site", "same-origin").header("origin", home(&app));
        browser.sends(request.form(form)).await
    };
    let sign_in = [("key", key.text_of("key"))];
    from("203.0.113.7", Method::POST, "/dashboard/sign-in", &sign_in).await.leads_to("/dashboard");
    let mut device = Device::at(&home(&app));
    let page = from("203.0.113.7", Method::GET, PASSKEYS, &[]).await.has_status(200);
    let made = device.makes(&challenge_of(&page));
    let form = [("name", "phone"), ("credential", made.as_str())];
    from("203.0.113.7", Method::POST, PASSKEYS, &form).await.has_status(303);
    browser.holds(None);
    for (address, status) in [("198.51.100.9", 403), ("203.0.113.8", 303)] {
        let page = from(address, Method::GET, SIGN_IN, &[]).await.has_status(200);
        let signed = device.signs(&challenge_of(&page));
        let answer = from(address, Method::POST, SIGN_IN, &[("credential", &signed)]).await;
        let answer = answer.has_status(status);
        if status == 403 {
            answer.says("allowed_cidrs");
            assert_eq!(browser.cookie(), None);
        }
    }
    assert!(browser.cookie().is_some());
}

#[tokio::test]
async fn no_other_page_makes_a_browser_sign_in_or_add_a_passkey() {
    let mut scene = Scene::shared().await;
    let own = home(scene.operator.app());
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let made = Device::at(&own).makes(&asks(&scene.owner, PASSKEYS).await);
    let id = scene.passkey_id().await;
    for headers in [
        &[][..],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
        &[("origin", own.as_str()), ("sec-fetch-site", "same-site")],
    ] {
        for (browser, path, form) in [
            (&scene.browser, SIGN_IN, [("credential", signed.as_str()), ("next", "")]),
            (&scene.owner, PASSKEYS, [("credential", made.as_str()), ("name", "eve")]),
            (&scene.owner, "/dashboard/passkeys/remove", [("passkey", id.as_str()), ("once", "1")]),
        ] {
            let mut request = browser.request(Method::POST, path).form(&form);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = browser.sends(request).await.has_status(403);
            answer.says("did not come from a page of the dashboard");
        }
    }
    assert_eq!(scene.browser.cookie(), None);
    // Whoever signs in is signed out of what the browser held before.
    let before = signed_in(scene.operator.app(), scene.operator.client.key()).await;
    let session = before.cookie().expect("signed in");
    signs_in(&before, &mut scene.device).await.leads_to("/dashboard");
    let other = Browser::new(&own);
    other.holds(Some(&session));
    other.reads("/dashboard").await.leads_to("/dashboard/sign-in");
}

#[tokio::test]
async fn strangers_learn_nothing_and_leave_nothing_behind() {
    let settings = AppSettings { sections: "[keys]\nunknown_per_second = 5", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let mut scene = Scene::new(app.new_operator().await).await;
    let rows = || {
        let file = rusqlite::Connection::open(app.folder().join("purser.db")).expect("opened");
        let count = |table: &str| -> i64 {
            let sql = format!("SELECT COUNT(*) FROM {table}");
            file.query_row(&sql, [], |row| row.get(0)).expect("a number")
        };
        ["sessions", "passkeys", "requests", "actions"].map(count)
    };
    let before = rows();
    // A passkey that is known and one that is not are refused alike.
    let mut texts = Vec::new();
    let mut unknown = Device::at(&home(&app));
    unknown.user.clone_from(&scene.device.user);
    let mut wrong = scene.device.clone();
    wrong.forgets_its_key();
    for device in [&mut unknown, &mut wrong] {
        let answer = signs_in(&scene.browser, device).await.has_status(401);
        let (begin, rest) = answer.text.split_once("data-challenge=").expect("the next challenge");
        let (_, end) = rest.split_once("\">").expect("its end");
        texts.push(format!("{begin}{end}"));
    }
    assert_eq!(texts[0], texts[1]);
    let mut refused = 0;
    for _ in 0..60 {
        let answer = signs_in(&scene.browser, &mut unknown).await;
        match answer.status {
            401 => {}
            429 => refused += 1,
            other => panic!("{other}: {}", answer.text),
        }
    }
    assert!(refused > 0, "unknown passkeys are looked up so often and no more");
    assert_eq!(rows(), before);
    // Whoever was known stays welcome.
    until("there is room for a first look", async || {
        signs_in(&scene.browser, &mut scene.device).await.status == 303
    })
    .await;
    for _ in 0..30 {
        signs_in(&scene.browser, &mut unknown).await;
    }
    signs_in(&scene.browser, &mut scene.device).await.leads_to("/dashboard");
}

#[tokio::test]
async fn an_answer_that_no_device_gives_is_refused_and_nothing_falls_over() {
    let mut scene = Scene::shared().await;
    let signed = scene.device.signs(&asks(&scene.browser, SIGN_IN).await);
    let mut texts: Vec<String> = ["", "{}", "[]", "null", "\u{0}", "{\"id\":1}"].map(str::to_owned).into();
    texts.extend((0..signed.len()).step_by(23).map(|at| signed[..at].to_owned()));
    let whole: Value = serde_json::from_str(&signed).expect("JSON");
    for field in ["authenticatorData", "clientDataJSON", "signature", "userHandle"] {
        for value in [json!(""), json!("AA"), json!("-_8"), json!(null), json!("A".repeat(9_000)), json!("%")]
        {
            let mut changed = whole.clone();
            changed["response"][field] = value;
            texts.push(changed.to_string());
        }
    }
    for text in &texts {
        asks(&scene.browser, SIGN_IN).await;
        let answer = sends(&scene.browser, text).await;
        assert!([400, 401].contains(&answer.status), "{}: {text}", answer.status);
    }
    assert_eq!(scene.browser.cookie(), None);
    let made = Device::at(&home(scene.operator.app())).makes(&asks(&scene.owner, PASSKEYS).await);
    let whole: Value = serde_json::from_str(&made).expect("JSON");
    let object = whole["response"]["attestationObject"].as_str().expect("text").to_owned();
    for at in (0..object.len()).step_by(5) {
        let mut changed = whole.clone();
        changed["response"]["attestationObject"] = json!(object[..at]);
        asks(&scene.owner, PASSKEYS).await;
        let fields = [("name", "x"), ("credential", &changed.to_string())];
        scene.owner.sends_form(PASSKEYS, &fields).await.has_status(400);
    }
    let log = scene.operator.app().log();
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test]
async fn a_key_has_so_many_passkeys_and_each_has_a_name() {
    let scene = Scene::shared().await;
    let app = scene.operator.app();
    for name in ["", " ", "\u{202e}x", &"x".repeat(201)] {
        adds(&scene.owner, &mut Device::at(&home(app)), name).await.has_status(400);
    }
    for number in 1..10 {
        adds(&scene.owner, &mut Device::at(&home(app)), &format!("<b>{number}")).await.has_status(303);
    }
    let options = asks(&scene.owner, PASSKEYS).await;
    let known = options["publicKey"]["excludeCredentials"].as_array().expect("a list");
    assert_eq!(known.len(), 10, "no device makes two for one key: {options}");
    assert_eq!(options["publicKey"]["authenticatorSelection"]["residentKey"], "required", "{options}");
    adds(&scene.owner, &mut Device::at(&home(app)), "eleven").await.has_status(400).says("at most 10");
    let page = scene.owner.reads("/dashboard/keys").await.says("&#60;b&#62;9");
    assert!(!page.text.contains("<b>9"), "{}", page.text);
    // What another device of another key says of itself is not taken as this one's.
    let other = signed_in(app, a_key(&scene.operator, json!({})).await.text_of("key")).await;
    let mut copy = Device::at(&home(app));
    copy.credential_id.clone_from(&scene.device.credential_id);
    adds(&other, &mut copy, "copy").await.has_status(400).says("is a passkey already");
}

#[tokio::test]
async fn a_key_removes_its_own_passkeys_and_those_of_keys_that_it_made() {
    let scene = Scene::shared().await;
    let app = scene.operator.app();
    let id = scene.passkey_id().await;
    let removes =
        async |browser: &Browser| browser.sends_form("/dashboard/passkeys/remove", &[("passkey", &id)]).await;
    let sibling = signed_in(app, a_key(&scene.operator, json!({})).await.text_of("key")).await;
    removes(&sibling).await.has_status(403);
    let page = sibling.reads("/dashboard/keys").await.says("Ada&#39;s phone");
    assert!(!page.text.contains(&format!("value=\"{id}\"")), "{}", page.text);
    let stranger = signed_in(app, app.new_operator().await.client.key()).await;
    removes(&stranger).await.has_status(404);
    let page = stranger.reads("/dashboard/keys").await;
    assert!(!page.text.contains("Ada&#39;s phone"), "{}", page.text);
    let unknown = [("passkey", "psk_01ARZ3NDEKTSV4RRFFQ69G5FAV")];
    scene.owner.sends_form("/dashboard/passkeys/remove", &unknown).await.has_status(404);
    scene.owner.sends_form("/dashboard/passkeys/remove", &[("passkey", "x")]).await.has_status(404);
    let maker = signed_in(app, scene.operator.client.key()).await;
    removes(&maker).await.leads_to("/dashboard/keys?removed=1#passkeys");
    removes(&maker).await.has_status(404);
}

#[tokio::test]
async fn a_service_without_passkeys_says_why() {
    for (settings, words) in [
        (AppSettings { webhooks: Webhooks::NotConfigured, ..AppSettings::default() }, "[webhooks]"),
        (
            AppSettings { server: "public_url = \"https://203.0.113.5\"", ..AppSettings::default() },
            "server.public_url",
        ),
    ] {
        let app = TestApp::start(TestNetwork::shared().await, &settings).await;
        let operator = app.new_operator().await;
        let browser = Browser::new(&home(&app));
        let page = browser.reads("/dashboard/sign-in").await.has_status(200);
        assert!(!page.text.contains("passkey"), "{}", page.text);
        browser.reads(SIGN_IN).await.has_status(200).says(words);
        let answer = sends(&browser, &Device::at(&home(&app)).signs(&json!({}))).await;
        answer.has_status(403);
        let owner = signed_in(&app, operator.client.key()).await;
        owner.reads(PASSKEYS).await.has_status(200).says(words);
        owner.sends_form(PASSKEYS, &[("name", "x"), ("credential", "{}")]).await.has_status(403);
    }
    let operator = Operator::shared().await;
    let elsewhere = Browser::new(&operator.app().base_url());
    let place = format!("{}{SIGN_IN}", home(operator.app()));
    elsewhere.reads(SIGN_IN).await.has_status(200).says(&place);
    let owner = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    owner.reads(PASSKEYS).await.has_status(200).says(&format!("{}{PASSKEYS}", home(operator.app())));
}

#[tokio::test]
async fn a_passkey_is_made_and_used_in_a_browser() {
    let modules = std::env::var_os("PURSER_NODE_MODULES").map(PathBuf::from);
    let modules = modules
        .filter(|modules| modules.join("playwright-core").exists() && modules.join("axe-core").exists());
    let (Some(modules), Some(chromium)) = (modules, chromium()) else {
        eprintln!("PURSER_NODE_MODULES or a Chromium is missing: no browser made a passkey");
        return;
    };
    let _turn = Turn::wait(BROWSER);
    let operator = Operator::shared().await.app().new_operator().await;
    let mut node = Command::new("node");
    node.arg(workspace().join("tests/browser/passkeys.mjs")).kill_on_drop(true);
    node.env("PURSER_NODE_MODULES", &modules).env("PURSER_CHROMIUM", chromium);
    node.env("PURSER_SITE", home(operator.app())).env("PURSER_OPERATOR_KEY", operator.client.key());
    let output = tokio::time::timeout(Duration::from_secs(110), node.output()).await;
    let output = output.expect("the script ends").expect("node starts");
    let (printed, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{complaint}");
    assert_eq!(printed.lines().count(), 5, "{printed}");
}
