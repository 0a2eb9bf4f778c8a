//! The HTTP server, its services, a real database and the real chain crate over a scripted node.

mod accounts;
mod actions;
mod addresses;
mod answers;
mod approvals;
pub(in crate::http) mod bad_requests;
mod bulk;
mod decisions;
mod denials;
mod error_codes;
mod faults;
mod halts;
mod log;
mod names;
mod once;
mod paid_before;
mod pending;
mod policies;
mod refusals;
mod scopes;
mod transfers;
mod wallets;

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use tower::ServiceExt;
use utoipa::openapi::OpenApi;

use super::{HttpExtensions, HttpSettings, router};
use crate::web::TrustedProxies;
use crate::web::once::ANSWER_BYTES_MAX;
use purser_base::shares::Outgoing;
use purser_chain::scripted::ScriptedNetwork;
use purser_chain::{FileSigner, new_keypair};
use purser_model::wire::PolicyFields;
use purser_model::{
    Address, ApiKey, KeyHolder, KeyId, KeyRole, Network, Operator, OperatorId, OperatorName, PlainKey,
    Quotas, Scope, Scopes, SealingKey, SpendingPolicy, UsdcAmount,
};
use purser_service::{
    Chains, DenialParts, ExplorerUrl, NetworkParts, PendingLimits, ReadLimiter, RefusalLimits, Services,
    Setup, SystemClock, Tasks, WebhookParts,
};
use purser_store::Store;
use purser_webhooks::{Fetcher, SystemResolver};

/// A build without extensions.
pub(super) struct NoExtensions;

impl HttpExtensions for NoExtensions {}

/// Returns an answered policy that is open except for `fields`.
fn policy_with(fields: Value) -> Value {
    let open = serde_json::to_value(PolicyFields(SpendingPolicy::default()));
    let mut policy = open.expect("JSON");
    policy.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    policy
}

/// A described route that needs a key.
struct Described {
    method: String,
    path: String,
    scopes: Vec<Scope>,
    /// Agent keys open it for their own account.
    is_for_agents: bool,
}

fn described_routes() -> Vec<Described> {
    let document = serde_json::to_value(super::document(OpenApi::default())).expect("JSON");
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let Some(scopes) = operation["x-scopes"].as_array() else { continue };
            let scopes = scopes.iter().map(|scope| scope.as_str().expect("a word").parse().expect("a scope"));
            let keys = operation["security"].as_array().expect("a list");
            routes.push(Described {
                method: method.to_uppercase(),
                path: path.clone(),
                scopes: scopes.collect(),
                is_for_agents: keys.iter().any(|key| key.get("agent_key").is_some()),
            });
        }
    }
    assert!(routes.len() > 30);
    routes
}

/// One relayer. A second one over the same folder and chain is a second process.
pub(in crate::http) struct Relayer {
    router: Router,
    services: Services,
    tasks: Tasks,
    store: Store,
    chain: Arc<ScriptedNetwork>,
    folder: Arc<tempfile::TempDir>,
    key: String,
}

pub(in crate::http) struct Answer {
    pub status: StatusCode,
    headers: HeaderMap,
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
pub(super) const ACCOUNTS_MAX: u32 = 40;
/// How many changes a key may make in a day, those of limits and the others.
pub(super) const ACTIONS_MAX: u32 = 100;
fn settings() -> HttpSettings {
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

pub(super) const HEAD_INTERVAL: Duration = Duration::from_secs(3_600);

/// The same for every relayer of these tests.
fn denials_key() -> &'static [u8] {
    static KEY: OnceLock<Vec<u8>> = OnceLock::new();
    KEY.get_or_init(|| serde_json::from_str(&new_keypair().0).expect("numbers"))
}

/// The most refusals in a day.
const REFUSALS: RefusalLimits = RefusalLimits { per_account: 40, per_operator: 60 };
const PENDING: PendingLimits = PendingLimits { per_account: 20, per_operator: 30 };

impl Relayer {
    pub async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// One with another setup.
    async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::start_in(folder, network(), change).await
    }

    /// A relayer whose requests wait no longer than this.
    async fn with_deadline(deadline: Duration) -> Self {
        Self::with(|setup| setup.transfer_deadline = deadline).await
    }

    /// A second process over the same database and chain.
    async fn beside(&self) -> Self {
        Self::start_in(self.folder.clone(), self.chain.clone(), |_| ()).await
    }

    async fn start_in(
        folder: Arc<tempfile::TempDir>,
        chain: Arc<ScriptedNetwork>,
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
            denials: Some(DenialParts {
                key: Arc::new(FileSigner::from_bytes(denials_key()).expect("a keypair")),
                head_interval: Some(HEAD_INTERVAL),
            }),
            approval_links: None,
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
        let router = router(&services, settings(), &NoExtensions);
        let key = operator_key(&store, 9).await;
        Self { router, services, tasks, store, chain, folder, key }
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

    async fn answer(&self, request: Request<Body>) -> Answer {
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
    async fn answer_text(&self, request: Request<Body>) -> String {
        text_of(self.router.clone().oneshot(request).await.expect("infallible")).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &self.key, None).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &self.key, Some(&body.to_string())).await
    }

    async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &self.key, Some(&body.to_string())).await
    }

    async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &self.key, None).await
    }

    async fn put(&self, path: &str, body: &Value) -> Answer {
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
    async fn agent_key(&self, account: &str) -> String {
        let made = self.post(&format!("/v1/accounts/{account}/keys"), &json!({})).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
        made.body["key"].as_str().expect("text").to_owned()
    }

    /// The body of a transfer of 1.50 to payee 1.
    fn order(&self, from: &str, key: &str) -> Value {
        let to = self.chain.payee(1).to_string();
        json!({ "from": from, "to": to, "amount": "1.50", "idempotency_key": key })
    }
}

async fn text_of(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Waits until `what` holds; panics after 20 s.
async fn comes_about(what: impl Fn() -> bool) {
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
async fn operator_key(store: &Store, number: u8) -> String {
    let now = SystemClock::SYSTEM.now();
    let operator = Operator {
        id: OperatorId::from_bytes([number; 16]),
        network: Network::Test,
        name: OperatorName::parse("operator").expect("valid"),
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
