//! What tests of REST and of its extensions stand on: the HTTP server, its services, a real database and the real chain crate over
//! a scripted node.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;

use super::{HttpExtensions, HttpSettings, router};
use crate::web::TrustedProxies;
use crate::web::once::ANSWER_BYTES_MAX;
use purser_base::shares::Outgoing;
use purser_chain::scripted::ScriptedNetwork;
use purser_model::wire::PolicyFields;
use purser_model::{
    Address, ApiKey, KeyHolder, KeyId, KeyRole, Label, Network, Operator, OperatorId, PlainKey, Quotas,
    Scopes, SealingKey, SpendingPolicy, UsdcAmount,
};
use purser_service::{
    Chains, ExplorerUrl, NetworkParts, PendingLimits, ReadLimiter, RefusalLimits, Services, Setup,
    SystemClock, Tasks, WebhookParts,
};
use purser_store::Store;
use purser_webhooks::{Fetcher, SystemResolver};

/// A build without extensions.
pub struct NoExtensions;

impl HttpExtensions for NoExtensions {}

/// A build with an extension of REST.
struct OfRest(OpenApiRouter);

impl HttpExtensions for OfRest {
    fn rest(&self) -> OpenApiRouter {
        self.0.clone()
    }
}

/// Returns an answered policy that is open except for `fields`.
pub fn policy_with(fields: Value) -> Value {
    let open = serde_json::to_value(PolicyFields(SpendingPolicy::default()));
    let mut policy = open.expect("JSON");
    policy.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    policy
}

/// One relayer. A second one over the same folder and chain is a second process.
pub struct Relayer {
    pub router: Router,
    pub services: Services,
    pub tasks: Tasks,
    pub store: Store,
    pub chain: Arc<ScriptedNetwork>,
    pub folder: Arc<tempfile::TempDir>,
    pub extensions: fn(&Services) -> OpenApiRouter,
    pub key: String,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
    /// The body before it was parsed.
    pub text: String,
}

impl Answer {
    /// The status and the error's code.
    pub fn error(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["error"].as_str().unwrap_or("no error"))
    }
}

/// The quota of accounts per operator.
pub const ACCOUNTS_MAX: u32 = 40;
/// How many changes a key may make in a day, those of limits and the others.
pub const ACTIONS_MAX: u32 = 100;
pub fn settings() -> HttpSettings {
    HttpSettings {
        request_timeout: Duration::from_secs(20),
        requests_per_second: NonZeroU32::new(1_000).expect("positive"),
        burst: NonZeroU32::new(1_000).expect("positive"),
        operator_times: NonZeroU32::MIN,
        unknown_keys_per_second: NonZeroU32::new(1_000).expect("positive"),
        trusted_proxies: TrustedProxies::default(),
        public_url: "http://localhost".to_owned(),
        metrics: purser_base::metrics::Metrics::default(),
    }
}

/// The most refusals in a day.
pub const REFUSALS: RefusalLimits = RefusalLimits { per_account: 40, per_operator: 60 };
const PENDING: PendingLimits = PendingLimits { per_account: 20, per_operator: 30 };

impl Relayer {
    pub async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// One with another setup.
    pub async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        Self::with_rest(|_| OpenApiRouter::default(), change).await
    }

    /// One with the routes of an extension of REST.
    pub async fn with_rest(
        extensions: fn(&Services) -> OpenApiRouter,
        change: impl FnOnce(&mut Setup),
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::start_in(folder, network(), extensions, change).await
    }

    /// A relayer whose requests wait no longer than this.
    pub async fn with_deadline(deadline: Duration) -> Self {
        Self::with(|setup| setup.transfer_deadline = deadline).await
    }

    /// A second process over the same database and chain.
    pub async fn beside(&self) -> Self {
        Self::start_in(self.folder.clone(), self.chain.clone(), self.extensions, |_| ()).await
    }

    async fn start_in(
        folder: Arc<tempfile::TempDir>,
        chain: Arc<ScriptedNetwork>,
        extensions: fn(&Services) -> OpenApiRouter,
        change: impl FnOnce(&mut Setup),
    ) -> Self {
        let url = format!("sqlite://{}", folder.path().join("purser.db").display());
        let store = Store::open(&url).await.expect("a database");
        let tasks = Tasks::default();
        let explorer = ExplorerUrl::new("https://explorer.test/tx/{signature}");
        let mut setup = Setup {
            store: store.clone(),
            chains: Chains::new([NetworkParts { chain: chain.chain(&tasks), explorer }]),
            tasks: tasks.clone(),
            clock: SystemClock::SYSTEM,
            transfer_deadline: Duration::from_secs(5),
            pending: PENDING,
            refusals: REFUSALS,
            quotas: Quotas { accounts: ACCOUNTS_MAX, actions_daily: ACTIONS_MAX, ..Quotas::default() },
            approval_page: None,
            webhooks: WebhookParts {
                sealing_key: Some(Arc::new(SealingKey::parse(&"5e".repeat(32)).expect("a key"))),
                rules: Arc::default(),
                resolve: Arc::new(SystemResolver::default()),
            },
            fetch: Arc::new(
                Fetcher::new(Arc::new(SystemResolver::default()), Arc::default()).expect("TLS roots"),
            ),
            outgoing: Outgoing::of_files(1_024),
            read_limiter: ReadLimiter::new(NonZeroU32::new(1_000_000).expect("positive")),
            keys_max: 1_000,
            cell: None,
            retention: purser_model::Retention::of_days(1, 1, 1),
            metrics: purser_base::metrics::Metrics::default(),
        };
        change(&mut setup);
        let services = Services::new(setup);
        let router = router(&services, settings(), &OfRest(extensions(&services)));
        let key = operator_key(&store, 9).await;
        Self { router, services, tasks, store, chain, folder, extensions, key }
    }

    pub async fn send(&self, method: &str, path: &str, key: &str, body: Option<&str>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !key.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        if let Some(body) = body {
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::CONTENT_LENGTH, body.len());
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_owned()));
        self.answer(request.body(body).expect("a request")).await
    }

    pub async fn answer(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (status, headers) = (response.status(), response.headers().clone());
        let text = text_of(response).await;
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).expect("JSON"),
        };
        Answer { status, headers, body, text }
    }

    /// An answer that is no JSON.
    pub async fn answer_text(&self, request: Request<Body>) -> String {
        text_of(self.router.clone().oneshot(request).await.expect("infallible")).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &self.key, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &self.key, Some(&body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &self.key, Some(&body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &self.key, None).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &self.key, Some(&body.to_string())).await
    }

    /// A new account that holds 100 USDC.
    pub async fn account(&self) -> String {
        let created = self.post("/v1/accounts", &json!({ "name": "agent" })).await;
        assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
        let address: Address =
            created.body["solana_address"].as_str().expect("text").parse().expect("address");
        let mut script = self.chain.script();
        script.agents.get_mut(&address).expect("on chain").balance = UsdcAmount::from_micros(100_000_000);
        created.body["account_id"].as_str().expect("text").to_owned()
    }

    /// An agent key of the account.
    pub async fn agent_key(&self, account: &str) -> String {
        let made = self.post(&format!("/v1/accounts/{account}/keys"), &json!({})).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
        made.body["key"].as_str().expect("text").to_owned()
    }

    /// The body of a transfer of 1.50 to payee 1.
    pub fn order(&self, from: &str, key: &str) -> Value {
        let to = self.chain.payee(1).to_string();
        json!({ "from": from, "to": to, "amount": "1.50", "idempotency_key": key })
    }
}

async fn text_of(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Waits until `what` holds; panics after 20 s.
pub async fn comes_about(what: impl Fn() -> bool) {
    for _ in 0..4_000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come about within 20 s");
}

fn operator_address(number: u8) -> Address {
    Address::from_bytes([number; 32])
}

/// A network with the operators 8 and 9.
fn network() -> Arc<ScriptedNetwork> {
    ScriptedNetwork::new([8, 9].map(operator_address))
}

/// A new operator at an address of this number, and its key.
pub async fn operator_key(store: &Store, number: u8) -> String {
    let now = SystemClock::SYSTEM.now();
    let operator = Operator {
        id: OperatorId::from_bytes([number; 16]),
        network: Network::Test,
        name: Label::parse("operator").expect("valid"),
        address: operator_address(number),
        requires_reason: false,
        created_at: now,
    };
    // A second process finds the operator already there.
    let _ = store.operators.insert_operator(&operator).await;
    let plain = PlainKey::new(KeyRole::Operator, Network::Test, None, SystemClock::SYSTEM.random());
    let record = ApiKey {
        id: KeyId::new(now, SystemClock::SYSTEM.id_bits()),
        operator_id: operator.id,
        holder: KeyHolder::Operator,
        scopes: Scopes::ALL,
        made_by: None,
        name: None,
        hint: plain.hint(),
        created_at: now,
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
        allowed_cidrs: None,
    };
    store.keys.insert_key(&record, &plain.hash()).await.expect("a new key");
    plain.expose().to_owned()
}

/// Compares a committed file with what it should be, or writes it: with `PURSER_TEST_REWRITE=1`, to be read as a change
/// of the interface.
pub fn is_as_committed(path: &Path, now: &str) {
    if std::env::var_os("PURSER_TEST_REWRITE").is_some() {
        return std::fs::write(path, now).expect("a writable file");
    }
    let committed = std::fs::read_to_string(path).expect("a committed file");
    let lines = committed.lines().zip(now.lines()).enumerate();
    let differing: Vec<_> = lines.filter(|(_, (before, now))| before != now).take(20).collect();
    assert!(committed == now, "{} changed, see PURSER_TEST_REWRITE: {differing:#?}", path.display());
}

/// Sends the requests of a file, each with, below it, the status, the code, the parameter and the message of its answer, and compares
/// the answers: see [`is_as_committed`].
pub async fn bad_requests_are_answered(relayer: &Relayer, file: &Path) {
    let account = relayer.account().await;
    let webhook = json!({ "url": "https://192.0.43.8/", "events": ["transfer.settled"] });
    let webhook = relayer.post("/v1/webhooks", &webhook).await.body["id"].as_str().expect("an id").to_owned();
    let (mut now, mut key) = (String::new(), relayer.key.clone());
    let listed = std::fs::read_to_string(file).expect("a committed file");
    let requests = listed.lines().filter(|line| !line.starts_with(' '));
    for (at, request) in requests.enumerate() {
        if at % (ACTIONS_MAX as usize / 2) == 0 {
            key = operator_key(&relayer.store, 9).await;
        }
        let named = request.replace("$account", &account).replace("$webhook", &webhook);
        let mut parts = named.splitn(3, ' ');
        let (method, path) = (parts.next().expect("a method"), parts.next().expect("a path"));
        let answer = relayer.send(method, path, &key, parts.next()).await;
        let (status, code) = answer.error();
        assert!((400..500).contains(&status), "{request}: {}", answer.text);
        let text = |field: &str| answer.body[field].as_str().unwrap_or("-").replace(&account, "$account");
        let (param, message) = (text("param"), text("message"));
        writeln!(now, "{request}\n    {status} {code} {param}: {message}").expect("a text");
    }
    is_as_committed(file, &now);
}
